//===- TensorMemoryPatterns.cpp - Views of tensor memory, loads and stores ----------------===//
//
// Tiles of tensor memory are addresses: lane in the upper half, 32-bit column in the lower.
// lib/Layout plans tcgen05.ld and st for a register layout. An accumulator of 16-bit elements has
// one in each column, the low half of the word.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/TileConversion.h"

#include "dialects/PTX/PTX.h"
#include "tileloom/Layout/TmemAccessPlan.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

namespace {

struct BasePattern : OpPattern<nv::TmemBaseOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::TmemBaseOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::LoadOp>(op, rewriter.getI32Type(),
                                              adaptor.getAddress().front(), /*alignment=*/4);
    return success();
  }
};

struct ReservePattern : OpPattern<nv::TmemReserveOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::TmemReserveOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    // lower-roles gives it to one warp, and adds what belongs to it at the kernel's tail.
    auto group = op.getCtaGroup() == 2 ? NVVM::CTAGroupKind::CTA_2 : NVVM::CTAGroupKind::CTA_1;
    Value columns = Scalar{rewriter, op.getLoc()}.i32(op.getColumns());
    rewriter.replaceOpWithNewOp<NVVM::Tcgen05AllocOp>(op, adaptor.getAddress().front(), columns,
                                                      group);
    return success();
  }
};

struct ViewPattern : OpPattern<nv::TmemViewOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::TmemViewOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Scalar math{rewriter, op.getLoc()};
    Value slot = math.mul(adaptor.getSlot().front(), op.getStride());
    rewriter.replaceOp(op, math.add(math.add(adaptor.getBase().front(), slot), op.getColumn()));
    return success();
  }
};

struct ReinterpretPattern : OpPattern<nv::MemDescReinterpretOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::MemDescReinterpretOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto source = tensorMemoryLayout(op.getSource().getType()),
         result = tensorMemoryLayout(op.getResult().getType());
    if (!source || !result) {
      std::string message =
          llvm::toString(llvm::joinErrors(source.takeError(), result.takeError()));
      return op.emitOpError() << message;
    }
    int64_t end = op.getColumn() + result->columns();
    if (end > source->columns())
      return op.emitOpError("result: expected within the ")
             << source->columns() << " columns of the source, found columns " << op.getColumn()
             << " to " << end;
    rewriter.replaceOp(
        op, Scalar{rewriter, op.getLoc()}.add(adaptor.getSource().front(), op.getColumn()));
    return success();
  }
};

/// Registers of one instruction: ptxas refuses the largest, 128, where a thread has no more at the
/// kernel's entry (C7602), even if setmaxnreg gives the role more.
constexpr unsigned wordsPerInstruction = 64;

/// Elements in one 32-bit column.
int64_t perColumn(nv::MemDescType type) {
  auto tmem = cast<nv::TmemAttr>(type.getLayout());
  return tmem.getForm() == nv::TmemForm::Operand ? 32 / tile::elementBits(type.getElementType())
                                                 : 1;
}

/// The instructions that move a tile, and each one's address.
struct Transfer {
  layout::TmemAccessPlan plan;
  NVVM::Tcgen05LdStShape shape;
  int64_t perWord;
  Value base;

  static FailureOr<Transfer> get(Operation *op, RankedTensorType tensor, nv::MemDescType view,
                                 Value address, OpBuilder &builder) {
    auto attr = dyn_cast_or_null<nv::TmemLoadAttr>(tensor.getEncoding());
    if (!attr)
      return op->emitOpError("layout: expected #nv.tmem_load on the register tile, found ")
             << tensor;
    Transfer transfer;
    transfer.perWord = perColumn(view);
    auto plan = layout::tmemAccessPlan(accessShape(attr.getShape()), tensor.getShape(),
                                       attr.getWarps(), 32 / transfer.perWord, wordsPerInstruction);
    if (!plan)
      return op->emitOpError() << llvm::toString(plan.takeError());
    transfer.plan = std::move(*plan);
    switch (attr.getShape()) {
    case nv::TmemShape::S32x32b:
      transfer.shape = NVVM::Tcgen05LdStShape::SHAPE_32X32B;
      break;
    case nv::TmemShape::S16x64b:
      transfer.shape = NVVM::Tcgen05LdStShape::SHAPE_16X64B;
      break;
    case nv::TmemShape::S16x128b:
      transfer.shape = NVVM::Tcgen05LdStShape::SHAPE_16X128B;
      break;
    case nv::TmemShape::S16x256b:
      transfer.shape = NVVM::Tcgen05LdStShape::SHAPE_16X256B;
      break;
    }
    // A warp reaches the lanes of its quadrant only.
    Location loc = op->getLoc();
    Scalar math{builder, loc};
    ThreadPosition position(builder, op);
    Value quadrant = math.bitAnd(position.warp, 3);
    transfer.base = math.add(address, math.shiftLeft(quadrant, 21));
    if (transfer.plan.columnsPerWarpgroup)
      transfer.base = math.add(transfer.base, math.mul(math.shiftRight(position.warp, 2),
                                                       transfer.plan.columnsPerWarpgroup));
    return transfer;
  }

  Value wordAddress(OpBuilder &builder, Location loc, const layout::TmemAccess &access) const {
    return Scalar{builder, loc}.add(base, (int64_t(access.laneOffset) << 16) + access.columnOffset);
  }
  Value address(OpBuilder &builder, Location loc, const layout::TmemAccess &access) const {
    return tensorPointer(builder, loc, wordAddress(builder, loc, access));
  }
  StringRef shapeName() const {
    switch (shape) {
    case NVVM::Tcgen05LdStShape::SHAPE_16X64B:
      return "16x64b";
    case NVVM::Tcgen05LdStShape::SHAPE_16X128B:
      return "16x128b";
    case NVVM::Tcgen05LdStShape::SHAPE_16X256B:
      return "16x256b";
    default:
      return "32x32b";
    }
  }
};

Value cast32(OpBuilder &builder, Location loc, Type type, Value word) {
  return type == word.getType() ? word
                                : LLVM::BitcastOp::create(builder, loc, type, word).getResult();
}

/// A word to or from one narrow element in its low bits.
Value widen(OpBuilder &builder, Location loc, Value element, int64_t bits) {
  Value narrow = cast32(builder, loc, builder.getIntegerType(bits), element);
  return bits == 32
             ? narrow
             : arith::ExtUIOp::create(builder, loc, builder.getI32Type(), narrow).getResult();
}
Value narrow(OpBuilder &builder, Location loc, Value word, Type element, int64_t bits) {
  if (bits < 32)
    word = arith::TruncIOp::create(builder, loc, builder.getIntegerType(bits), word);
  return cast32(builder, loc, element, word);
}

struct LoadPattern : OpPattern<nv::TmemLoadOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::TmemLoadOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(op.getResult().getType());
    auto transfer =
        Transfer::get(op, type, op.getView().getType(), adaptor.getView().front(), rewriter);
    if (failed(transfer))
      return failure();
    Type element = scalarType(type.getElementType());
    int64_t bits = tile::elementBits(type.getElementType());
    size_t registers = 0;
    for (const layout::TmemAccess &access : transfer->plan.accesses)
      registers += access.words.size() * access.words.front().size();
    SmallVector<Value> elements(registers);
    unsigned packing = elementsPerValue(type, registers);
    SmallVector<Value> values(registers / packing);
    bool narrowed = transfer->perWord == 1 && bits < 32;
    Type wordType = transfer->perWord == 1 && !narrowed ? element : Type(rewriter.getI32Type());
    for (const layout::TmemAccess &access : transfer->plan.accesses) {
      SmallVector<Type> types(access.words.size(), wordType);
      SmallVector<Value> words(ptx::TmemLoadOp::create(rewriter, loc, types, transfer->shapeName(),
                                                       access.count,
                                                       transfer->wordAddress(rewriter, loc, access))
                                   .getResults());
      if (narrowed) // to take an element out of its word is to read the word
        words = ptx::TmemWaitLoadOp::create(rewriter, loc, TypeRange(ValueRange(words)), words)
                    .getResults();
      for (auto [i, word] : llvm::enumerate(access.words)) {
        if (transfer->perWord == 1)
          elements[word[0]] = narrowed ? narrow(rewriter, loc, words[i], element, bits) : words[i];
        else
          values[word[0] / packing] =
              cast32(rewriter, loc, valueType(type.getElementType(), packing), words[i]);
      }
    }
    if (transfer->perWord == 1)
      values = pack(rewriter, loc, type, elements);
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{values});
    return success();
  }
};

struct StorePattern : OpPattern<nv::TmemStoreOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::TmemStoreOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(op.getValue().getType());
    auto transfer =
        Transfer::get(op, type, op.getView().getType(), adaptor.getView().front(), rewriter);
    if (failed(transfer))
      return failure();
    int64_t bits = tile::elementBits(type.getElementType());
    ValueRange values = adaptor.getValue();
    SmallVector<Value> elements;
    if (transfer->perWord == 1)
      elements = unpack(rewriter, loc, type, values);
    for (const layout::TmemAccess &access : transfer->plan.accesses) {
      SmallVector<Value> words;
      for (ArrayRef<unsigned> word : access.words)
        words.push_back(transfer->perWord == 1 ? widen(rewriter, loc, elements[word[0]], bits)
                                               : cast32(rewriter, loc, rewriter.getI32Type(),
                                                        values[word[0] / transfer->perWord]));
      Value stored = words.front();
      if (words.size() > 1) {
        stored = LLVM::PoisonOp::create(
            rewriter, loc, VectorType::get({int64_t(words.size())}, rewriter.getI32Type()));
        for (auto [i, word] : llvm::enumerate(words))
          stored = LLVM::InsertElementOp::create(rewriter, loc, stored, word,
                                                 Scalar{rewriter, loc}.i32(i));
      }
      NVVM::Tcgen05StOp::create(rewriter, loc, /*unpack=*/false, transfer->shape,
                                transfer->address(rewriter, loc, access), stored, Value());
    }
    rewriter.eraseOp(op);
    return success();
  }
};

struct WaitLoadPattern : OpPattern<nv::TmemWaitLoadOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::TmemWaitLoadOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    SmallVector<Value> words;
    for (ValueRange input : adaptor.getInputs())
      for (Value value : input)
        words.push_back(isa<VectorType>(value.getType())
                            ? cast32(rewriter, loc, rewriter.getI32Type(), value)
                            : value);
    auto wait = ptx::TmemWaitLoadOp::create(rewriter, loc, TypeRange(ValueRange(words)), words);
    SmallVector<SmallVector<Value>> results;
    size_t next = 0;
    for (ValueRange input : adaptor.getInputs()) {
      results.emplace_back();
      for (Value value : input)
        results.back().push_back(cast32(rewriter, loc, value.getType(), wait.getResult(next++)));
    }
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }
};

struct WaitStorePattern : OpPattern<nv::TmemWaitStoreOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::TmemWaitStoreOp op, OneToN,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::Tcgen05WaitOp>(op, NVVM::Tcgen05WaitKind::STORE);
    return success();
  }
};

} // namespace

FailureOr<Value> tileloom::emit::tensorSlice(nv::MemDescSliceOp op, Value source,
                                             ArrayRef<ValueRange> offsets, OpBuilder &builder) {
  Scalar math{builder, op.getLoc()};
  nv::MemDescType from = op.getSource().getType(), to = op.getResult().getType();
  APInt row;
  if (from.getShape()[0] != to.getShape()[0] ||
      !matchPattern(offsets[0].front(), m_ConstantInt(&row)) || !row.isZero())
    return op.emitOpError("rows: expected all ")
           << from.getShape()[0] << " of a tile in tensor memory, found " << to.getShape()[0]
           << " from another row";
  int64_t packed = perColumn(from);
  APInt column;
  if (matchPattern(offsets[1].front(), m_ConstantInt(&column))) {
    if (column.getSExtValue() % packed)
      return op.emitOpError("column offset: expected a multiple of ")
             << packed << ", found " << column.getSExtValue();
    return math.add(source, column.getSExtValue() / packed);
  }
  return math.add(source, math.shiftRight(offsets[1].front(), llvm::Log2_64(packed)));
}

void tileloom::emit::populateTensorMemoryPatterns(TileTypeConverter &converter,
                                                  RewritePatternSet &patterns) {
  patterns.add<BasePattern, ReservePattern, ViewPattern, ReinterpretPattern, LoadPattern,
               StorePattern, WaitLoadPattern, WaitStorePattern>(converter, patterns.getContext());
}
