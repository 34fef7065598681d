//===- TransposePatterns.cpp - Tiles of 8 bits, transposed in shared memory ----------------===//
//
// nv.local_transpose in units of 32 rows and 16 columns of the source: ldmatrix.x4.trans gives a thread pairs of rows of two
// neighbouring columns (2p, 2p + 1 for lane 4p + q); two byte permutations of two such registers give it four rows of each column,
// and stmatrix.x4 writes them as neighbours. Which four rows follows from the rows that the lanes of ldmatrix point at:
// 4q to 4q + 3, or, for a `paired` target, 2q, 2q + 1, 2q + 8, 2q + 9.
//
// Warps take the 16-byte columns of the source in turn. The matrices of stmatrix hold the even columns for four of their rows and the
// odd ones for the other four: columns of one parity would lie in half of the banks, whatever the swizzle.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/TileConversion.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

namespace {

/// Rows of a swizzled tile at a byte address that is a multiple of the swizzle's period.
struct Rows {
  const layout::SharedLayout &layout;
  Value base;

  Rows(const layout::SharedLayout &layout, Scalar math, Value pointer)
      : layout(layout), base(LLVM::PtrToIntOp::create(math.builder, math.loc, math.builder.getI32Type(), pointer)) {}

  int64_t width() const { return layout.atomBytes(); }
  /// 16-byte chunks in a row of an atom, and what the next atom adds.
  int64_t chunks() const { return width() / 16; }
  int64_t atomStride() const { return layout.rowCount() * width(); }
  /// The address of a chunk of the first atom. Another chunk of the same row differs by an XOR, the same chunk 8 rows on by a sum.
  Value at(Scalar math, Value row, Value chunk) const {
    Value plain = math.mul(row, width());
    int64_t lines = layout::swizzleWidth(layout.swizzle()) ? width() - 16 : 0;
    Value bytes = math.add(plain, math.shiftLeft(chunk, 4));
    if (lines)
      bytes = math.bitXor(bytes, math.bitAnd(math.shiftRight(plain, 3), lines));
    return math.add(base, bytes);
  }
};

struct TransposePattern : OpPattern<nv::LocalTransposeOp> {
  using OpPattern::OpPattern;

  LogicalResult matchAndRewrite(nv::LocalTransposeOp op, OneToN adaptor, ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto from = sharedLayout(op.getSource().getType()), to = sharedLayout(op.getTarget().getType());
    if (!from || !to) {
      std::string why = from ? "" : "source: " + llvm::toString(from.takeError());
      why += to ? "" : "target: " + llvm::toString(to.takeError());
      return op.emitOpError() << why;
    }
    if (from->major() != layout::Major::K || to->major() != layout::Major::K)
      return op.emitOpError("expected tiles as stored, found a transposed view");
    ThreadPosition position(rewriter, op);
    if (position.single)
      return op.emitOpError("expected a role of whole warps, found one of a single thread");

    Scalar math{rewriter, loc};
    Rows source(*from, math, adaptor.getSource().front()), target(*to, math, adaptor.getTarget().front());
    Value lane = position.lane, line = math.bitAnd(lane, 7), matrix = math.shiftRight(lane, 3);
    bool paired = cast<nv::SmemAttr>(op.getTarget().getType().getLayout()).getPaired();
    // ldmatrix: the row of 32 that this lane points at.
    Value row = math.add(math.shiftLeft(matrix, 3), line);
    if (!paired) {
      Value half = math.shiftLeft(math.shiftRight(matrix, 1), 4), pairs = math.shiftLeft(math.shiftRight(line, 1), 2);
      Value place = math.add(math.shiftLeft(math.bitAnd(matrix, 1), 1), math.bitAnd(line, 1));
      row = math.add(math.add(half, pairs), place);
    }
    // stmatrix: matrix 2 * chunk + parity of columns, the other parity in its rows from 4 on.
    Value odd = math.bitXor(math.bitAnd(matrix, 1), math.shiftRight(line, 2));
    Value column = math.add(math.add(math.shiftLeft(position.warp, 4), math.shiftLeft(line, 1)), odd);
    Value write = target.at(math, column, math.shiftRight(matrix, 1));
    Value flipped = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::uge, lane, math.i32(16));
    Value even = math.i32(0x6420), other = math.i32(0x7531);
    Value selectors[] = {arith::SelectOp::create(rewriter, loc, flipped, other, even),
                         arith::SelectOp::create(rewriter, loc, flipped, even, other)};

    // Each warp every `warps`-th chunk of 16 columns.
    int64_t warps = position.warps, columns = from->contiguousExtent() / 16;
    bool aligned = llvm::isPowerOf2_64(source.chunks()) && source.chunks() % warps == 0;
    Value firstRead = aligned ? source.at(math, row, position.warp) : Value();
    for (int64_t first = 0; first < columns; first += warps) {
      Value chunk = math.add(position.warp, first);
      OpBuilder inner(rewriter);
      if (first + warps > columns) {
        Value inside = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt, chunk, math.i32(columns));
        inner = scf::IfOp::create(rewriter, loc, inside, /*withElseRegion=*/false).getThenBodyBuilder();
      }
      Scalar within{inner, loc};
      Value read;
      if (aligned) {
        read = within.add(within.bitXor(firstRead, within.i32(first % source.chunks() * 16)), first / source.chunks() * source.atomStride());
      } else {
        Value count = within.i32(source.chunks());
        Value atom = arith::DivUIOp::create(inner, loc, chunk, count), place = arith::RemUIOp::create(inner, loc, chunk, count);
        read = within.add(source.at(within, row, place), within.mul(atom, source.atomStride()));
      }
      exchange(inner, loc, source, target, read, within.add(write, 16 * first * target.width()), selectors);
    }
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// All rows of 16 columns of the source.
  static void exchange(OpBuilder &builder, Location loc, const Rows &source, const Rows &target, Value read, Value write,
                       ArrayRef<Value> selectors) {
    Scalar math{builder, loc};
    Type i32 = builder.getI32Type(), pointer = LLVM::LLVMPointerType::get(builder.getContext(), 3);
    auto words = LLVM::LLVMStructType::getLiteral(builder.getContext(), SmallVector<Type>(4, i32));
    auto shape = NVVM::LdStMatrixShapeAttr::get(builder.getContext(), 8, 8);
    auto address = [&](Value bytes, int64_t offset) {
      return math.advance(LLVM::IntToPtrOp::create(builder, loc, pointer, bytes), offset);
    };
    for (int64_t block = 0; block < source.layout.rowCount() / 32; ++block) {
      Value loaded = NVVM::LdMatrixOp::create(builder, loc, words, address(read, 32 * block * source.width()), 4, NVVM::MMALayout::col,
                                              shape, NVVM::LdStMatrixEltType::B16);
      SmallVector<Value> stored;
      for (int64_t half : {0, 1}) {
        Value low = LLVM::ExtractValueOp::create(builder, loc, loaded, 2 * half);
        Value high = LLVM::ExtractValueOp::create(builder, loc, loaded, 2 * half + 1);
        for (Value selector : selectors)
          stored.push_back(NVVM::PermuteOp::create(builder, loc, i32, low, high, selector, NVVM::PermuteMode::DEFAULT));
      }
      int64_t chunk = 2 * block, inAtom = chunk % target.chunks() * 16;
      Value bytes = inAtom ? math.bitXor(write, math.i32(inAtom)) : write;
      NVVM::StMatrixOp::create(builder, loc, address(bytes, chunk / target.chunks() * target.atomStride()), stored, NVVM::MMALayout::row,
                               shape, NVVM::LdStMatrixEltType::B16);
    }
  }
};

} // namespace

void tileloom::emit::populateTransposePatterns(TileTypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<TransposePattern>(converter, patterns.getContext());
}
