//===- GlobalPatterns.cpp - Global memory accesses of tiles and scalars --------===//
//
// nv.global_load, nv.global_store and nv.atomic_add: one access for each element that a thread
// holds, 64-bit offsets. An element that several threads hold is written by one of them.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/TileConversion.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

namespace {

/// pointer + offset * element bytes, in global memory.
Value globalAddress(OpBuilder &builder, Location loc, Value pointer, Value offset, Type element) {
  Type global = LLVM::LLVMPointerType::get(builder.getContext(), 1);
  Value base = LLVM::IntToPtrOp::create(builder, loc, global, pointer);
  return LLVM::GEPOp::create(builder, loc, global, scalarType(element), base,
                             ArrayRef<LLVM::GEPArg>{offset});
}

struct GlobalLoadPattern : OpPattern<nv::GlobalLoadOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::GlobalLoadOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto tensor = dyn_cast<RankedTensorType>(op.getResult().getType());
    Type element = tensor ? tensor.getElementType() : op.getResult().getType();
    unsigned bytes = std::max(1u, tile::elementBits(element) / 8);
    auto read = [&](OpBuilder &inner, Value address) -> Value {
      auto load = LLVM::LoadOp::create(inner, loc, scalarType(element), address, bytes);
      load.setInvariant(op.getInvariant());
      return load;
    };
    SmallVector<Value> loaded;
    for (auto [i, offset] : llvm::enumerate(adaptor.getOffset())) {
      Value address = globalAddress(rewriter, loc, adaptor.getPointer().front(), offset, element);
      if (!op.getMask()) {
        loaded.push_back(read(rewriter, address));
        continue;
      }
      Value mask = adaptor.getMask()[adaptor.getMask().size() == 1 ? 0 : i];
      auto branch = scf::IfOp::create(rewriter, loc, TypeRange{scalarType(element)}, mask,
                                      /*withElseRegion=*/true);
      OpBuilder inner = branch.getThenBodyBuilder();
      scf::YieldOp::create(inner, loc, read(inner, address));
      OpBuilder other = branch.getElseBodyBuilder();
      scf::YieldOp::create(other, loc,
                           LLVM::ZeroOp::create(other, loc, scalarType(element)).getResult());
      loaded.push_back(branch.getResult(0));
    }
    if (!tensor)
      rewriter.replaceOp(op, loaded);
    else
      rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{pack(rewriter, loc, tensor, loaded)});
    return success();
  }
};

struct GlobalStorePattern : OpPattern<nv::GlobalStoreOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::GlobalStoreOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Scalar math{rewriter, loc};
    auto tensor = dyn_cast<RankedTensorType>(op.getValue().getType());
    if (!tensor) {
      createIssued(rewriter, op, nv::Issuer::Role, [&](OpBuilder &builder) {
        storeMasked(builder, op, adaptor.getValue().front(), adaptor, 0);
      });
      rewriter.eraseOp(op);
      return success();
    }
    const layout::RegisterLayout *layout = converter.layoutOf(tensor, loc);
    if (!layout)
      return failure();
    ThreadPosition position(rewriter, op);
    SmallVector<Value> elements = unpack(rewriter, loc, tensor, adaptor.getValue());
    Value primary;
    if (unsigned lanes = layout->replicatedLanes())
      primary = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq,
                                      math.bitAnd(position.lane, lanes), math.i32(0));
    if (unsigned warps = layout->replicatedWarps()) {
      Value first = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq,
                                          math.bitAnd(position.warp, warps), math.i32(0));
      primary = primary ? arith::AndIOp::create(rewriter, loc, primary, first).getResult() : first;
    }
    auto store = [&](OpBuilder &builder) {
      for (auto [i, element] : llvm::enumerate(elements))
        if (layout->isPrimary(i, 0, 0))
          storeMasked(builder, op, element, adaptor, i);
    };
    if (primary) {
      auto branch = scf::IfOp::create(rewriter, loc, primary, /*withElseRegion=*/false);
      OpBuilder inner = branch.getThenBodyBuilder();
      store(inner);
    } else {
      store(rewriter);
    }
    rewriter.eraseOp(op);
    return success();
  }

  static void storeMasked(OpBuilder &builder, nv::GlobalStoreOp op, Value value, OneToN adaptor,
                          size_t index) {
    Location loc = op.getLoc();
    Type element = getElementTypeOrSelf(op.getValue().getType());
    auto store = [&](OpBuilder &inner) {
      Value offset = adaptor.getOffset()[adaptor.getOffset().size() == 1 ? 0 : index];
      Value address = globalAddress(inner, loc, adaptor.getPointer().front(), offset, element);
      LLVM::StoreOp::create(inner, loc, value, address,
                            std::max(1u, tile::elementBits(element) / 8));
    };
    if (!op.getMask())
      return store(builder);
    Value mask = adaptor.getMask()[adaptor.getMask().size() == 1 ? 0 : index];
    auto branch = scf::IfOp::create(builder, loc, mask, /*withElseRegion=*/false);
    OpBuilder inner = branch.getThenBodyBuilder();
    store(inner);
  }
};

struct AtomicAddPattern : OpPattern<nv::AtomicAddOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::AtomicAddOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type element = op.getValue().getType();
    Value address = globalAddress(rewriter, loc, adaptor.getPointer().front(),
                                  adaptor.getOffset().front(), element);
    auto kind = isa<FloatType>(element) ? LLVM::AtomicBinOp::fadd : LLVM::AtomicBinOp::add;
    rewriter.replaceOpWithNewOp<LLVM::AtomicRMWOp>(op, kind, address, adaptor.getValue().front(),
                                                   LLVM::AtomicOrdering::monotonic, "device");
    return success();
  }
};

} // namespace

void tileloom::emit::populateGlobalPatterns(TileTypeConverter &converter,
                                            RewritePatternSet &patterns) {
  patterns.add<GlobalLoadPattern, GlobalStorePattern, AtomicAddPattern>(converter,
                                                                        patterns.getContext());
}
