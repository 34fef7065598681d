//===- MemoryPatterns.cpp - Shared memory accesses of tiles -----------------------------===//
//
// Tiles of shared memory are pointers, views of them byte offsets. A slice of a tile is written and
// read in pieces whose bytes lie as in a tile of their own (SharedAccess).
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/SharedAccess.h"
#include "passes/Emit/TileConversion.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

namespace {

struct AllocPattern : OpPattern<nv::AllocOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::AllocOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!op.getOffset())
      return op.emitOpError("expected an offset: run nv-allocate-shared first");
    Location loc = op.getLoc();
    Value base = LLVM::AddressOfOp::create(
        rewriter, loc, LLVM::LLVMPointerType::get(getContext(), 3), sharedSymbol);
    rewriter.replaceOp(op, Scalar{rewriter, loc}.advance(base, *op.getOffset()));
    return success();
  }
};

struct ViewPattern : OpPattern<nv::ViewOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::ViewOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Scalar math{rewriter, op.getLoc()};
    Value slot = math.advance(adaptor.getBase().front(),
                              math.mul(adaptor.getSlot().front(), op.getStride()));
    rewriter.replaceOp(op, math.advance(slot, op.getOffset()));
    return success();
  }
};

struct BarrierAtPattern : OpPattern<nv::BarrierAtOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::BarrierAtOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Scalar math{rewriter, op.getLoc()};
    rewriter.replaceOp(
        op, math.advance(adaptor.getBase().front(), math.mul(adaptor.getStage().front(), 8)));
    return success();
  }
};

struct TransPattern : OpPattern<nv::MemDescTransOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::MemDescTransOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, adaptor.getSource().front());
    return success();
  }
};

struct SlicePattern : OpPattern<nv::MemDescSliceOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::MemDescSliceOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (op.getSource().getType().getSpace() == nv::MemorySpace::Tmem) {
      FailureOr<Value> address =
          tensorSlice(op, adaptor.getSource().front(), adaptor.getOffsets(), rewriter);
      if (failed(address))
        return failure();
      rewriter.replaceOp(op, *address);
      return success();
    }
    auto layout = sharedLayout(op.getSource().getType());
    if (!layout)
      return op.emitOpError() << llvm::toString(layout.takeError());
    if (op.getSource().getType().getShape().size() == 1) {
      Scalar math{rewriter, op.getLoc()};
      Value bytes = math.mul(adaptor.getOffsets()[0].front(), layout->elementBits() / 8);
      rewriter.replaceOp(op, math.advance(adaptor.getSource().front(), bytes));
      return success();
    }
    // Rows are atomBytes apart; columns move by whole atoms, each rowCount rows long.
    Scalar math{rewriter, op.getLoc()};
    bool transposed = layout->major() == layout::Major::MN;
    ArrayRef<ValueRange> offsets = adaptor.getOffsets();
    if (offsets.size() != 2)
      return op.emitOpError("rank: expected 1 or 2, found ") << offsets.size();
    Value row = offsets[transposed ? 1 : 0].front(), column = offsets[transposed ? 0 : 1].front();
    int64_t atomElements = layout->atomBytes() * 8 / layout->elementBits();
    Value address = math.advance(adaptor.getSource().front(), math.mul(row, layout->atomBytes()));
    APInt known;
    if (matchPattern(column, m_ConstantInt(&known))) {
      if (known.getSExtValue() % atomElements)
        return op.emitOpError("column offset: expected a multiple of ")
               << atomElements << ", found " << known.getSExtValue();
      address = math.advance(address, known.getSExtValue() / atomElements * layout->rowCount() *
                                          layout->atomBytes());
    } else {
      Value atoms = arith::DivUIOp::create(rewriter, op.getLoc(), column, math.i32(atomElements));
      address = math.advance(address, math.mul(atoms, layout->rowCount() * layout->atomBytes()));
    }
    rewriter.replaceOp(op, address);
    return success();
  }
};

/// A part of a tile whose bytes lie as in a tile of its own: the whole, or one column of atoms of a
/// slice (the columns of a slice are as far apart as those of its allocation).
struct LocalPiece {
  layout::RegisterLayout regs;
  SmallVector<unsigned, 16> registers; // of the whole, by register of the piece
  layout::SharedLayout shared;
  int64_t byteOffset = 0;
};

FailureOr<SmallVector<LocalPiece, 1>> piecesOf(Operation *op, const layout::RegisterLayout &regs,
                                               nv::MemDescType view) {
  auto shared = sharedLayout(view);
  if (!shared)
    return op->emitOpError() << llvm::toString(shared.takeError());
  SmallVector<LocalPiece, 1> pieces;
  SmallVector<int64_t> shape = squeezeShape(view.getShape());
  if (shared->shape() == ArrayRef<int64_t>(shape)) {
    pieces.push_back(
        {regs, llvm::to_vector<16>(llvm::seq<unsigned>(0, regs.registersPerThread())), *shared, 0});
    return pieces;
  }
  if (shared->major() != layout::Major::K)
    return op->emitOpError("slice of a transposed tile: expected rows of the tile as stored");
  int64_t atom = shared->atomBytes() * 8 / shared->elementBits();
  for (int64_t column = 0; column < shape[1]; column += atom) {
    auto part = layout::columns(regs, column, atom);
    auto layout =
        layout::SharedLayout::create({shape[0], atom}, shared->elementBits(), shared->swizzle());
    if (!part || !layout)
      return op->emitOpError() << llvm::toString(part ? layout.takeError() : part.takeError());
    pieces.push_back({part->layout, part->registers, *layout,
                      column / atom * shared->rowCount() * shared->atomBytes()});
  }
  return pieces;
}

SharedTile tileOf(const LocalPiece &piece, Value base, OpBuilder &builder, Operation *op) {
  return {piece.regs, piece.registers, piece.shared,
          Scalar{builder, op->getLoc()}.advance(base, piece.byteOffset)};
}

struct LocalStorePattern : OpPattern<nv::LocalStoreOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::LocalStoreOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getValue().getType());
    const layout::RegisterLayout *regs = converter.layoutOf(type, op.getLoc());
    if (!regs)
      return failure();
    auto pieces = piecesOf(op, *regs, op.getView().getType());
    if (failed(pieces))
      return failure();
    SmallVector<Value> elements = unpack(rewriter, op.getLoc(), type, adaptor.getValue());
    for (const LocalPiece &piece : *pieces)
      if (failed(storeShared(rewriter, op, tileOf(piece, adaptor.getView().front(), rewriter, op),
                             elements, adaptor.getValue())))
        return failure();
    rewriter.eraseOp(op);
    return success();
  }
};

struct LocalLoadPattern : OpPattern<nv::LocalLoadOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::LocalLoadOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getResult().getType());
    const layout::RegisterLayout *regs = converter.layoutOf(type, op.getLoc());
    if (!regs)
      return failure();
    auto pieces = piecesOf(op, *regs, op.getView().getType());
    if (failed(pieces))
      return failure();
    unsigned registers = regs->registersPerThread(), packing = elementsPerValue(type, registers);
    SmallVector<Value> elements(registers), values(registers / packing);
    for (const LocalPiece &piece : *pieces)
      if (failed(loadShared(rewriter, op, tileOf(piece, adaptor.getView().front(), rewriter, op),
                            scalarType(type.getElementType()), packing, elements, values)))
        return failure();
    for (unsigned i = 0; i < values.size(); ++i)
      if (!values[i])
        values[i] = packing == 1 ? elements[i]
                                 : pack(rewriter, op.getLoc(), type,
                                        ArrayRef<Value>(elements).slice(i * packing, packing))[0];
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{values});
    return success();
  }
};

/// Shared memory scalars.
struct ScalarLoadPattern : OpPattern<nv::ScalarLoadOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::ScalarLoadOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Scalar math{rewriter, op.getLoc()};
    int64_t bytes = tile::elementBits(op.getView().getType().getElementType()) / 8;
    Value address =
        math.advance(adaptor.getView().front(), math.mul(adaptor.getIndex().front(), bytes));
    Type type = op.getResult().getType();
    Value loaded = LLVM::LoadOp::create(rewriter, op.getLoc(), type, address, bytes);
    // One value for all lanes, which ptxas cannot see: loops and addresses made from it would leave
    // the uniform registers.
    if (!ThreadPosition(rewriter, op).single && (type.isInteger(32) || type.isF32()))
      loaded = NVVM::ShflOp::create(rewriter, op.getLoc(), type, math.i32(-1), loaded, math.i32(0),
                                    math.i32(31), NVVM::ShflKind::idx, UnitAttr());
    rewriter.replaceOp(op, loaded);
    return success();
  }
};

struct ScalarStorePattern : OpPattern<nv::ScalarStoreOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::ScalarStoreOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Scalar math{rewriter, op.getLoc()};
    int64_t bytes = tile::elementBits(op.getView().getType().getElementType()) / 8;
    Value address =
        math.advance(adaptor.getView().front(), math.mul(adaptor.getIndex().front(), bytes));
    createIssued(rewriter, op, nv::Issuer::Role, [&](OpBuilder &builder) {
      LLVM::StoreOp::create(builder, op.getLoc(), adaptor.getValue().front(), address, bytes);
    });
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void tileloom::emit::populateMemoryPatterns(TileTypeConverter &converter,
                                            RewritePatternSet &patterns) {
  patterns.add<AllocPattern, ViewPattern, BarrierAtPattern, TransPattern, SlicePattern,
               LocalStorePattern, LocalLoadPattern, ScalarLoadPattern, ScalarStorePattern>(
      converter, patterns.getContext());
}
