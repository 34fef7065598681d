//===- Products.cpp - Products of tiles to the tensor core of a target --------------------===//
//
// Hopper: nv.wgmma and the wait for it, in the role that owns the sum. The wait stands right behind
// the product; warp-pipeline-role moves them apart. Blackwell: TensorMemoryProducts.cpp.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Products.h"

#include "passes/Warp/Projection.h"
#include "tileloom/Schedule/Limits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace tileloom {

nv::MemDescType memoryType(RankedTensorType type, nv::MemorySpace space) {
  return nv::MemDescType::get(type.getContext(), type.getShape(), type.getElementType(),
                              Attribute(), space);
}

int64_t pieceColumns(RankedTensorType type, tile::ScheduleAttr schedule, bool tensorMemory) {
  std::optional<int64_t> widest = schedule ? schedule.integer("epilogue") : std::nullopt;
  // Of replicas that share columns each has its part of a piece.
  int64_t parts = schedule && schedule.dividesColumns() ? schedule.integer("replicas").value_or(1) : 1;
  return parts * tileloom::schedule::pieceColumns(type.getShape().back() / parts, type.getElementTypeBitWidth(), widest, tensorMemory);
}

ProductLowering::ProductLowering(func::FuncOp function, bool tensorMemory)
    : function(function), tensorMemory(tensorMemory) {}

StringAttr ProductLowering::roleOfUser(Operation *user) {
  if (auto role = user->getAttrOfType<StringAttr>(warp::inAttrName))
    return role;
  auto roles = function->getAttrOfType<ArrayAttr>(warp::rolesAttrName);
  return cast<StringAttr>(roles[0]); // the role of everything that is done in registers
}

/// Registers of each thread that a tile of `type` takes when `rows` rows of it fall to 128 threads.
static int64_t registersOf(RankedTensorType type, int64_t rows) {
  return rows * type.getDimSize(1) * type.getElementTypeBitWidth() / 32 / 128;
}

/// Whether a mask differs from row to row.
static bool dependsOnRows(Value mask) {
  SmallVector<Value> work{mask};
  llvm::SmallDenseSet<Value> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *def = value.getDefiningOp();
    if (!def || !isa<RankedTensorType>(value.getType()) || !seen.insert(value).second)
      continue;
    if (auto index = dyn_cast<nv::IndexOp>(def);
        index && index.getDim() == 0 && cast<RankedTensorType>(index.getType()).getRank() == 2)
      return true;
    if (auto broadcast = dyn_cast<nv::BroadcastOp>(def); broadcast && broadcast.getDim() == 1)
      return true;
    work.append(def->operand_begin(), def->operand_end());
  }
  return false;
}

bool ProductLowering::operandInRegisters(tile::LoadOp load) {
  if (tensorMemory)
    return false;
  // Only operand A, and only where it serves a whole loop of products.
  tile::DotOp product;
  for (Operation *user : load->getUsers()) {
    auto dot = dyn_cast<tile::DotOp>(user);
    if (!dot || dot.getA() != load.getResult() || dot.getB() == load.getResult() ||
        dot->getBlock() == load->getBlock())
      return false;
    product = dot;
  }
  if (!product || load.getType().getElementTypeBitWidth() != 16)
    return false;
  // What the loop holds at once: sums, operands made in registers, this one.
  auto schedule = function->getAttrOfType<tile::ScheduleAttr>(tile::scheduleAttrName);
  int64_t replicas = schedule ? schedule.integer("replicas").value_or(1) : 1;
  int64_t available = schedule::wideRegisters(replicas) - schedule::registersBesideSums;
  int64_t held = 0;
  if (schedule && schedule.word("use") == StringRef("pingpong"))
    replicas = 1;
  product->getParentOp()->walk([&](tile::DotOp dot) {
    auto result = cast<RankedTensorType>(dot.getType());
    int64_t rows = result.getDimSize(0) / replicas;
    held += registersOf(result, rows);
    auto a = cast<RankedTensorType>(dot.getA().getType());
    Value source = dot.getA();
    if (auto trans = source.getDefiningOp<tile::TransOp>())
      source = trans.getSource();
    if (!source.getDefiningOp<tile::LoadOp>() || source == load.getResult())
      held += registersOf(a, rows);
  });
  // One limit for each row is a register for each; with several of them 220 bytes were spilled (attention
  // with a window, 128 x 128).
  int64_t limits = 0;
  product->getParentOp()->walk([&](arith::CmpIOp compare) {
    auto type = dyn_cast<RankedTensorType>(compare.getType());
    limits += type && type.getRank() == 2 && dependsOnRows(compare);
  });
  return held <= available - (limits > 1 ? 16 : 0);
}

FailureOr<Value> ProductLowering::memoryOf(OpBuilder &builder, Value operand) {
  if (Value view = memory.lookup(operand))
    return view;
  if (auto trans = operand.getDefiningOp<tile::TransOp>()) {
    FailureOr<Value> view = memoryOf(builder, trans.getSource());
    if (succeeded(view)) {
      auto type = cast<RankedTensorType>(operand.getType());
      return Value(nv::MemDescTransOp::create(builder, trans.getLoc(), memoryType(type), *view));
    }
  }
  return failure();
}

LogicalResult ProductLowering::lowerToWgmma(tile::DotOp dot) {
  OpBuilder builder(dot);
  Location loc = dot.getLoc();
  auto a = cast<RankedTensorType>(dot.getA().getType());
  auto b = cast<RankedTensorType>(dot.getB().getType());
  if (a.getDimSize(0) % 64)
    return dot.emitOpError("rows: expected a multiple of 64, found ") << a.getDimSize(0);
  if (b.getDimSize(1) % 8 || b.getDimSize(1) > 256)
    return dot.emitOpError("columns: expected a multiple of 8 up to 256, found ")
           << b.getDimSize(1);
  if (b.getElementType().isInteger(8) && b.getDimSize(1) > 24 && b.getDimSize(1) % 16)
    return dot.emitOpError("columns: expected 8, 16, 24 or a multiple of 16 for integers, found ")
           << b.getDimSize(1);
  FailureOr<Value> right = memoryOf(builder, dot.getB());
  if (failed(right))
    return dot.emitOpError(
        "b: expected a tile in shared memory, found one computed in registers");
  FailureOr<Value> left = memoryOf(builder, dot.getA());
  Value leftValue = succeeded(left) ? *left : dot.getA();
  StringAttr role = roleOfUser(dot);
  auto product = nv::WgmmaOp::create(builder, loc, dot.getType(), leftValue, *right, dot.getAcc(),
                                     dot.getUseAcc(), /*satfinite=*/false);
  auto wait = nv::WgmmaWaitOp::create(builder, loc, TypeRange{dot.getType()},
                                      ValueRange{product.getResult()}, Value(),
                                      builder.getI64IntegerAttr(0));
  for (Operation *op : {product.getOperation(), wait.getOperation()})
    op->setAttr(warp::inAttrName, role);
  if (auto trans = leftValue.getDefiningOp<nv::MemDescTransOp>())
    trans->setAttr(warp::inAttrName, role);
  ends[dot] = wait;
  dot.getResult().replaceAllUsesWith(wait.getResult(0));
  return success();
}

LogicalResult ProductLowering::lowerToRegisters(tile::DotOp dot) {
  OpBuilder builder(dot);
  Location loc = dot.getLoc();
  auto a = cast<RankedTensorType>(dot.getA().getType());
  int64_t rows = a.getDimSize(0), columns = dot.getType().getDimSize(1), k = a.getDimSize(1), unit = 256 / a.getElementTypeBitWidth();
  if (rows % 16 || columns % 8 || k % unit)
    return dot.emitOpError("shapes: expected rows a multiple of 16, columns of 8 and K of ")
           << unit << ", found " << rows << ", " << columns << " and " << k;
  Value sum = dot.getAcc();
  if (!sum || dot.getUseAcc()) {
    auto type = cast<RankedTensorType>(dot.getType());
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    sum = sum ? arith::SelectOp::create(builder, loc, dot.getUseAcc(), sum, zero).getResult() : zero;
  }
  auto product = nv::MmaOp::create(builder, loc, dot.getType(), dot.getA(), dot.getB(), sum);
  product->setAttr(warp::inAttrName, roleOfUser(dot));
  dot.replaceAllUsesWith(product.getResult());
  dot.erase();
  return success();
}

LogicalResult ProductLowering::lower() {
  SmallVector<tile::DotOp> dots;
  function.walk([&](tile::DotOp dot) { dots.push_back(dot); });
  for (tile::DotOp dot : dots)
    if (failed(roleOfUser(dot) == mainRole ? lowerToRegisters(dot) : tensorMemory ? lowerToTensorMemory(dot) : lowerToWgmma(dot)))
      return failure();
  return success();
}

void ProductLowering::eraseProducts() {
  for (auto [dot, wait] : ends)
    dot->erase();
  ends.clear();
}

Operation *ProductLowering::endOf(Operation *user, Value token, warp::ReleaseKind &kind) {
  Operation *end = ends.lookup(user);
  if (!end)
    return nullptr;
  // Did the product read the slot, or registers loaded from it?
  Operation *product = tensorMemory ? end : end->getOperand(0).getDefiningOp();
  for (Value operand : product->getOperands()) {
    while (auto trans = operand.getDefiningOp<nv::MemDescTransOp>())
      operand = trans.getSource();
    auto slot = operand.getDefiningOp<warp::SlotOp>();
    if (slot && slot.getToken() == token) {
      kind = tensorMemory ? warp::ReleaseKind::Tcgen05 : warp::ReleaseKind::Wgmma;
      return end;
    }
  }
  return nullptr;
}

} // namespace tileloom
