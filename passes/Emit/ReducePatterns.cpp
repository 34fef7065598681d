//===- ReducePatterns.cpp - Reductions of register tiles ----------------------------------===//
//
// In the thread, then across lanes by butterfly shuffles, then across warps: each warp writes its
// partial results to scratch memory, the role meets, and every thread combines those that it needs
// in the same order, so that all get the same bits. 16-bit floats are combined in fp32.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/TileConversion.h"

#include "tileloom/Analysis/Exchange.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

Value tileloom::emit::combine(OpBuilder &builder, Location loc, nv::ReduceKind kind, Value a,
                              Value b, arith::FastMathFlags flags) {
  bool isFloat = isa<FloatType>(a.getType());
  switch (kind) {
  case nv::ReduceKind::Add:
    if (isFloat)
      return arith::AddFOp::create(builder, loc, a, b,
                                   arith::FastMathFlagsAttr::get(builder.getContext(), flags));
    return arith::AddIOp::create(builder, loc, a, b);
  case nv::ReduceKind::Max:
    if (isFloat)
      return arith::MaxNumFOp::create(builder, loc, a, b);
    return arith::MaxSIOp::create(builder, loc, a, b);
  case nv::ReduceKind::Min:
    if (isFloat)
      return arith::MinNumFOp::create(builder, loc, a, b);
    return arith::MinSIOp::create(builder, loc, a, b);
  case nv::ReduceKind::Mul:
    if (isFloat)
      return arith::MulFOp::create(builder, loc, a, b);
    return arith::MulIOp::create(builder, loc, a, b);
  }
  llvm_unreachable("unknown reduction");
}

namespace {

/// Within a thread, sums of products may become FMAs. Not between lanes: each would round the other
/// one's product and not its own, and lanes would get different bits.
constexpr arith::FastMathFlags inThread = arith::FastMathFlags::contract;

/// Neighbours in pairs: the depth of the tree is what the thread waits for.
Value combineAll(OpBuilder &builder, Location loc, nv::ReduceKind kind, SmallVector<Value> values) {
  while (values.size() > 1) {
    SmallVector<Value> next;
    for (size_t i = 0; i + 1 < values.size(); i += 2)
      next.push_back(combine(builder, loc, kind, values[i], values[i + 1], inThread));
    if (values.size() % 2)
      next.push_back(values.back());
    values = next;
  }
  return values.front();
}

struct ReducePattern : OpPattern<nv::ReduceOp> {
  using OpPattern::OpPattern;

  LogicalResult matchAndRewrite(nv::ReduceOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto source = op.getSource().getType();
    auto plan = reducePlanOf(source, op.getDim());
    if (!plan)
      return op.emitOpError() << llvm::toString(plan.takeError());
    Location loc = op.getLoc();
    Type element = source.getElementType();
    bool isNarrow = element.isBF16() || element.isF16();
    if (!isNarrow && tile::elementBits(element) < 8)
      return op.emitOpError("element type: expected 8 bits or more, found ") << element;
    SmallVector<Value> elements = unpack(rewriter, loc, source, adaptor.getSource()), results;
    if (isNarrow)
      for (Value &value : elements)
        value = arith::ExtFOp::create(rewriter, loc, rewriter.getF32Type(), value);
    for (ArrayRef<unsigned> registers : plan->sources) {
      size_t chains = std::min<size_t>(std::max<uint64_t>(1, op.getChains()), registers.size());
      SmallVector<Value> partial;
      for (size_t i = 0; i < registers.size(); ++i) {
        Value value = elements[registers[i]];
        if (i < chains)
          partial.push_back(value);
        else
          partial[i % chains] =
              combine(rewriter, loc, op.getKind(), partial[i % chains], value, inThread);
      }
      Value value = combineAll(rewriter, loc, op.getKind(), partial);
      for (unsigned mask : plan->laneMasks)
        value = combine(rewriter, loc, op.getKind(), value, shuffleXor(rewriter, loc, value, mask));
      results.push_back(value);
    }
    if (!plan->warpSets.empty() && failed(acrossWarps(op, *plan, adaptor, results, rewriter)))
      return failure();
    if (isNarrow)
      for (Value &value : results)
        value = arith::TruncFOp::create(rewriter, loc, element, value);
    auto result = dyn_cast<RankedTensorType>(op.getResult().getType());
    if (result)
      results = pack(rewriter, loc, result, results);
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{results});
    return success();
  }

  LogicalResult acrossWarps(nv::ReduceOp op, const layout::ReducePlan &plan, OneToN adaptor,
                            SmallVectorImpl<Value> &results,
                            ConversionPatternRewriter &rewriter) const {
    if (!op.getScratch())
      return op.emitOpError("along dimension ")
             << op.getDim() << ": expected scratch memory, since warps share a result: run "
             << "nv-assign-scratch first";
    Location loc = op.getLoc();
    Scalar math{rewriter, loc};
    ThreadPosition position(rewriter, op);
    int64_t warps = position.warps, parts = plan.warpSets.front().distinct;
    SmallVector<int64_t> place(warps, -1); // which part a warp holds; -1: a copy
    for (const layout::ReducePlan::WarpSet &set : plan.warpSets) {
      if (set.distinct != parts)
        return op.emitOpError("expected as many warps for every result");
      for (unsigned i = 0; i < set.distinct; ++i)
        place[set.warps[i]] = i;
    }
    Type type = results.front().getType();
    int64_t bytes = scratchBits(type) / 8, count = plan.result.numElements();
    // The parts of one result side by side, for vector loads, unless there are many results.
    bool together = count <= 64;
    int64_t elementStride = together ? parts * bytes : bytes,
            partStride = together ? bytes : count * bytes;
    SmallVector<Value> offsets = flatIndices(rewriter, loc, plan.result, position);
    for (Value &offset : offsets)
      offset = math.mul(offset, elementStride);
    Value base = adaptor.getScratch().front();

    Value writes;
    auto require = [&](Value condition) {
      writes =
          writes ? arith::AndIOp::create(rewriter, loc, writes, condition).getResult() : condition;
    };
    if (unsigned lanes = plan.result.replicatedLanes())
      require(arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq,
                                    math.bitAnd(position.lane, lanes), math.i32(0)));
    uint64_t holders = 0;
    for (int64_t warp = 0; warp < warps; ++warp)
      holders |= uint64_t(place[warp] >= 0) << warp;
    if (llvm::is_contained(place, -1))
      require(tableBit(rewriter, loc, holders, position.warp));
    auto write = [&](OpBuilder &builder) {
      Scalar inner{builder, loc};
      Value part = inner.mul(tableEntry(builder, loc, place, position.warp), partStride);
      for (auto [value, offset] : llvm::zip(results, offsets))
        LLVM::StoreOp::create(builder, loc, value, inner.advance(inner.advance(base, part), offset),
                              bytes);
    };
    if (writes) {
      auto branch = scf::IfOp::create(rewriter, loc, writes, /*withElseRegion=*/false);
      OpBuilder inner = branch.getThenBodyBuilder();
      write(inner);
    } else {
      write(rewriter);
    }
    createRoleBarrier(rewriter, op);
    int64_t vector = together ? std::min<int64_t>(parts & -parts, 16 / bytes) : 1;
    for (auto [value, offset] : llvm::zip(results, offsets)) {
      SmallVector<Value> partial;
      Value first = math.advance(base, offset);
      for (int64_t part = 0; part < parts; part += vector) {
        Type unit = vector == 1 ? type : Type(VectorType::get({vector}, type));
        Value loaded = LLVM::LoadOp::create(rewriter, loc, unit,
                                            math.advance(first, part * partStride), vector * bytes);
        for (int64_t i = 0; i < vector; ++i)
          partial.push_back(
              vector == 1
                  ? loaded
                  : LLVM::ExtractElementOp::create(rewriter, loc, loaded, math.i32(i)).getResult());
      }
      value = combineAll(rewriter, loc, op.getKind(), partial);
    }
    return success();
  }
};

} // namespace

void tileloom::emit::populateReducePatterns(TileTypeConverter &converter,
                                            RewritePatternSet &patterns) {
  patterns.add<ReducePattern>(converter, patterns.getContext());
}
