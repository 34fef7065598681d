//===- Engines.cpp - What operations cost, and on which unit ------------------------------===//
//
// Rates of sm_90 for each clock of an SM: dense products 2048 multiply-adds of 16-bit elements
// (CUDA programming guide: 4 tensor cores of 512), arithmetic 128 lanes, comparisons, minima,
// maxima and conversions 64, special functions 16, shuffles 32 (CUDA programming guide, throughput
// of native arithmetic instructions, compute capability 9.0). Latencies are measured orders of
// magnitude.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Schedule/Engines.h"

#include "dialects/NV/NV.h"
#include "dialects/Warp/Warp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::schedule;

static constexpr double multiplyAdds = 2048, aluLanes = 128, halfLanes = 64, specialLanes = 16,
                        shuffleLanes = 32, tensorDrain = 60, shuffleLatency = 25, memoryBytes = 128;

static double elementsOf(Operation *op) {
  double elements = 0;
  auto count = [&](TypeRange types) {
    for (Type type : types)
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        elements = std::max(elements, static_cast<double>(tensor.getNumElements()));
  };
  count(op->getOperandTypes());
  count(op->getResultTypes());
  return elements;
}

static OpCost productCost(nv::WgmmaOp op) {
  auto result = op.getResult().getType();
  auto b = op.getB().getType();
  double depth = b.getShape()[0], bits = tile::elementBits(b.getElementType());
  double busy = static_cast<double>(result.getNumElements()) * depth * bits / 16 / multiplyAdds;
  return {Engine::Tensor, busy, busy + tensorDrain};
}

OpCost schedule::costOf(Operation *op) {
  if (auto product = dyn_cast<nv::WgmmaOp>(op))
    return productCost(product);
  double elements = elementsOf(op);
  if (isa<math::Exp2Op, math::ExpOp, math::Log2Op, math::LogOp, math::TanhOp, math::SinOp,
          math::CosOp, math::RsqrtOp, math::SqrtOp, math::ErfOp, arith::DivFOp>(op) &&
      elements)
    return {Engine::Special, elements / specialLanes, elements / specialLanes + 30};
  if (auto reduce = dyn_cast<nv::ReduceOp>(op)) {
    double rate = reduce.getKind() == nv::ReduceKind::Add ? aluLanes : halfLanes;
    return {Engine::Alu, elements / rate, elements / rate + 2 * shuffleLatency};
  }
  if (isa<nv::WarpAnyOp>(op))
    return {Engine::Lanes, elements / shuffleLanes, shuffleLatency};
  if (isa<nv::LocalLoadOp, nv::LocalStoreOp>(op))
    return {Engine::Memory, elements * 2 / memoryBytes, elements * 2 / memoryBytes + 30};
  if (isa<warp::AcquireOp>(op))
    return {Engine::Memory, 10, 20};
  if (auto branch = dyn_cast<scf::IfOp>(op)) { // the longer way; a guarded one is rarely taken
    double busy = 10;
    return {Engine::Alu, busy, busy};
  }
  if (!elements || isa<nv::BroadcastOp, nv::SplatOp, nv::RowSlotOp, nv::JoinRowSlotsOp,
                       nv::ExtractOp, nv::ConcatOp, nv::ConvertLayoutOp, arith::ConstantOp>(op))
    return {};
  bool half =
      isa<arith::MaxNumFOp, arith::MinNumFOp, arith::MaximumFOp, arith::MinimumFOp, arith::TruncFOp,
          arith::ExtFOp, arith::CmpFOp, arith::CmpIOp, arith::SelectOp>(op);
  double busy = elements / (half ? halfLanes : aluLanes);
  return {Engine::Alu, busy, busy + 5};
}

int64_t schedule::registersOf(Type type, int64_t threads) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return 0;
  int64_t bits = std::max<int64_t>(8, tile::elementBits(tensor.getElementType()));
  return llvm::divideCeil(tensor.getNumElements() * bits, 32 * threads);
}
