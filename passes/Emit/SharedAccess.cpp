//===- SharedAccess.cpp - Register tiles to and from shared memory ------------------------===//

#include "passes/Emit/SharedAccess.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

namespace {

/// The elements at `registers` as one value of their total width.
Value gather(OpBuilder &builder, Location loc, ValueRange values, ArrayRef<Value> elements,
             ArrayRef<unsigned> registers, Type asType) {
  if (registers.size() == 1) {
    Value element = elements[registers[0]];
    return element.getType() == asType
               ? element
               : LLVM::BitcastOp::create(builder, loc, asType, element).getResult();
  }
  // A packed value that holds exactly these elements?
  auto packed = values.empty() ? VectorType() : dyn_cast<VectorType>(values.front().getType());
  if (packed && static_cast<size_t>(packed.getNumElements()) == registers.size()) {
    bool whole = registers[0] % registers.size() == 0;
    for (size_t i = 0; i < registers.size(); ++i)
      whole &= registers[i] == registers[0] + i;
    if (whole)
      return LLVM::BitcastOp::create(builder, loc, asType, values[registers[0] / registers.size()]);
  }
  auto vector =
      VectorType::get({static_cast<int64_t>(registers.size())}, elements[registers[0]].getType());
  Value value = LLVM::PoisonOp::create(builder, loc, vector);
  for (auto [i, reg] : llvm::enumerate(registers))
    value = LLVM::InsertElementOp::create(builder, loc, value, elements[reg],
                                          Scalar{builder, loc}.i32(i));
  return vector == asType ? value
                          : LLVM::BitcastOp::create(builder, loc, asType, value).getResult();
}

/// `access` with the register numbers of the whole tile.
SmallVector<SmallVector<unsigned, 16>> wordsOf(const layout::SharedAccess &access,
                                               const SharedTile &tile) {
  SmallVector<SmallVector<unsigned, 16>> words;
  for (ArrayRef<unsigned> word : access.words) {
    words.emplace_back();
    for (unsigned reg : word)
      words.back().push_back(tile.registers.empty() ? reg : tile.registers[reg]);
  }
  return words;
}

} // namespace

LogicalResult tileloom::emit::storeShared(OpBuilder &builder, Operation *op, const SharedTile &tile,
                                          ArrayRef<Value> elements, ValueRange packed) {
  auto plan = layout::sharedStorePlan(tile.regs, tile.shared);
  if (!plan)
    return op->emitOpError() << llvm::toString(plan.takeError());
  Location loc = op->getLoc();
  SharedAddresses addresses(builder, op, plan->laneBytes, tile.base);
  auto i32 = builder.getI32Type();
  auto storeMatrices = [&](OpBuilder &builder) {
    for (const layout::SharedAccess &access : plan->accesses) {
      SmallVector<Value> words;
      for (ArrayRef<unsigned> word : wordsOf(access, tile))
        words.push_back(gather(builder, loc, packed, elements, word, i32));
      NVVM::StMatrixOp::create(builder, loc, addresses.at(builder, access), words,
                               plan->transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row,
                               NVVM::LdStMatrixShapeAttr::get(builder.getContext(), 8, 8),
                               NVVM::LdStMatrixEltType::B16);
    }
  };
  auto store = [&](OpBuilder &builder) {
    if (plan->kind == layout::SharedAccessPlan::Matrix)
      return storeMatrices(builder);
    for (const layout::SharedAccess &access : plan->accesses) {
      SmallVector<unsigned, 16> run = wordsOf(access, tile).front();
      Type element = elements[run[0]].getType();
      Type asType =
          run.size() == 1 ? element : VectorType::get({static_cast<int64_t>(run.size())}, element);
      Value value = gather(builder, loc, packed, elements, run, asType);
      LLVM::StoreOp::create(builder, loc, value, addresses.at(builder, access), plan->vectorBytes);
    }
  };
  // Copies that other threads hold are not written again: that would be a race of equal values. All
  // lanes of a warp take part in the store of a matrix.
  Value primary = withoutCopies(builder, loc, plan->copyLanes, tile.regs.replicatedWarps(),
                                addresses.position);
  if (!primary) {
    store(builder);
    return success();
  }
  auto branch = scf::IfOp::create(builder, loc, primary, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  store(builder); // its addresses are made inside too
  return success();
}

LogicalResult tileloom::emit::loadShared(OpBuilder &builder, Operation *op, const SharedTile &tile,
                                         Type element, unsigned packing,
                                         MutableArrayRef<Value> elements,
                                         MutableArrayRef<Value> values) {
  auto plan = layout::sharedLoadPlan(tile.regs, tile.shared);
  if (!plan)
    return op->emitOpError() << llvm::toString(plan.takeError());
  Location loc = op->getLoc();
  Scalar math{builder, loc};
  SharedAddresses addresses(builder, op, plan->laneBytes, tile.base);
  auto i32 = builder.getI32Type();
  auto scatter = [&](ArrayRef<unsigned> run, Value word) {
    if (run.size() == 1) {
      elements[run[0]] = word.getType() == element
                             ? word
                             : LLVM::BitcastOp::create(builder, loc, element, word).getResult();
      return;
    }
    auto vector = VectorType::get({static_cast<int64_t>(run.size())}, element);
    Value unpacked = word.getType() == vector
                         ? word
                         : LLVM::BitcastOp::create(builder, loc, vector, word).getResult();
    bool whole = run.size() == packing && run[0] % packing == 0;
    for (size_t i = 0; i < run.size(); ++i)
      whole &= run[i] == run[0] + i;
    if (whole) {
      values[run[0] / packing] = unpacked;
      return;
    }
    for (auto [i, reg] : llvm::enumerate(run))
      elements[reg] = LLVM::ExtractElementOp::create(builder, loc, unpacked, math.i32(i));
  };
  for (const layout::SharedAccess &access : plan->accesses) {
    SmallVector<SmallVector<unsigned, 16>> runs = wordsOf(access, tile);
    if (plan->kind == layout::SharedAccessPlan::Matrix) {
      size_t count = runs.size();
      Type result = count == 1 ? Type(i32)
                               : Type(LLVM::LLVMStructType::getLiteral(
                                     builder.getContext(), SmallVector<Type>(count, i32)));
      Value words = NVVM::LdMatrixOp::create(
          builder, loc, result, addresses.at(builder, access), count,
          plan->transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row,
          NVVM::LdStMatrixShapeAttr::get(builder.getContext(), 8, 8), NVVM::LdStMatrixEltType::B16);
      for (auto [i, run] : llvm::enumerate(runs))
        scatter(run, count == 1 ? words
                                : LLVM::ExtractValueOp::create(builder, loc, words, i).getResult());
      continue;
    }
    ArrayRef<unsigned> run = runs.front();
    Type asType =
        run.size() == 1 ? element : VectorType::get({static_cast<int64_t>(run.size())}, element);
    scatter(run, LLVM::LoadOp::create(builder, loc, asType, addresses.at(builder, access),
                                      plan->vectorBytes));
  }
  return success();
}
