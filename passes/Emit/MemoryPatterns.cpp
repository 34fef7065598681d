//===- MemoryPatterns.cpp - Shared memory accesses of tiles -----------------------------===//
//
// Tiles of shared memory are pointers; lib/Layout plans stmatrix, ldmatrix or vector accesses for a
// tile. All accesses of a plan share one thread-dependent address, one XOR for each distinct
// constant, and immediates.
//
//===--------------------------------------------------------------------------------------===//

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

/// The addresses of a plan's accesses.
class PlanAddresses {
public:
  PlanAddresses(OpBuilder &builder, Operation *op, const layout::SharedAccessPlan &plan, Value base)
      : builder(builder), loc(op->getLoc()), plan(plan), base(base), position(builder, op) {}
  Value at(const layout::SharedAccess &access) {
    Scalar math{builder, loc};
    Value &address = known[access.xorBytes];
    if (!address)
      address =
          math.advance(base, evaluate(builder, loc, plan.laneBytes, position, access.xorBytes));
    return math.advance(address, access.addBytes);
  }

private:
  OpBuilder &builder;
  Location loc;
  const layout::SharedAccessPlan &plan;
  Value base;
  llvm::DenseMap<int64_t, Value> known;

public:
  ThreadPosition position;
};

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
  auto packed = dyn_cast<VectorType>(values.front().getType());
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

/// `access` with the register numbers of the whole tile.
SmallVector<SmallVector<unsigned, 16>> wordsOf(const layout::SharedAccess &access,
                                               const LocalPiece &piece) {
  SmallVector<SmallVector<unsigned, 16>> words;
  for (ArrayRef<unsigned> word : access.words) {
    words.emplace_back();
    for (unsigned reg : word)
      words.back().push_back(piece.registers[reg]);
  }
  return words;
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
      if (failed(store(op, piece, adaptor, elements, rewriter)))
        return failure();
    rewriter.eraseOp(op);
    return success();
  }

  LogicalResult store(nv::LocalStoreOp op, const LocalPiece &piece, OneToN adaptor,
                      ArrayRef<Value> elements, ConversionPatternRewriter &rewriter) const {
    auto plan = layout::sharedStorePlan(piece.regs, piece.shared);
    if (!plan)
      return op.emitOpError() << llvm::toString(plan.takeError());
    Location loc = op.getLoc();
    Scalar math{rewriter, loc};
    PlanAddresses addresses(rewriter, op, *plan,
                            math.advance(adaptor.getView().front(), piece.byteOffset));
    ValueRange values = adaptor.getValue();
    auto i32 = rewriter.getI32Type();
    if (plan->kind == layout::SharedAccessPlan::Matrix) {
      for (const layout::SharedAccess &access : plan->accesses) {
        SmallVector<Value> words;
        for (ArrayRef<unsigned> word : wordsOf(access, piece))
          words.push_back(gather(rewriter, loc, values, elements, word, i32));
        NVVM::StMatrixOp::create(rewriter, loc, addresses.at(access), words,
                                 plan->transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row,
                                 NVVM::LdStMatrixShapeAttr::get(getContext(), 8, 8),
                                 NVVM::LdStMatrixEltType::B16);
      }
      return success();
    }
    auto store = [&](OpBuilder &builder) {
      for (const layout::SharedAccess &access : plan->accesses) {
        SmallVector<unsigned, 16> run = wordsOf(access, piece).front();
        Type element = elements[run[0]].getType();
        Type asType = run.size() == 1
                          ? element
                          : VectorType::get({static_cast<int64_t>(run.size())}, element);
        Value value = gather(builder, loc, values, elements, run, asType);
        LLVM::StoreOp::create(builder, loc, value, addresses.at(access), plan->vectorBytes);
      }
    };
    // Copies that other threads hold need not be written again.
    Value copies;
    if (plan->copyLanes)
      copies = math.bitAnd(addresses.position.lane, plan->copyLanes);
    if (plan->copyWarps) {
      Value warps = math.bitAnd(addresses.position.warp, plan->copyWarps);
      copies = copies ? arith::OrIOp::create(rewriter, loc, copies, warps).getResult() : warps;
    }
    if (!copies) {
      store(rewriter);
      return success();
    }
    Value primary =
        arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq, copies, math.i32(0));
    auto branch = scf::IfOp::create(rewriter, loc, primary, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(branch.thenBlock());
    store(rewriter); // its addresses are made inside too
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
      if (failed(load(op, piece, adaptor.getView().front(), packing, elements, values, rewriter)))
        return failure();
    for (unsigned i = 0; i < values.size(); ++i)
      if (!values[i])
        values[i] = packing == 1 ? elements[i]
                                 : pack(rewriter, op.getLoc(), type,
                                        ArrayRef<Value>(elements).slice(i * packing, packing))[0];
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{values});
    return success();
  }

  /// Fills `values` where a loaded word is one of them, else `elements`.
  LogicalResult load(nv::LocalLoadOp op, const LocalPiece &piece, Value base, unsigned packing,
                     SmallVectorImpl<Value> &elements, SmallVectorImpl<Value> &values,
                     ConversionPatternRewriter &rewriter) const {
    auto plan = layout::sharedLoadPlan(piece.regs, piece.shared);
    if (!plan)
      return op.emitOpError() << llvm::toString(plan.takeError());
    Location loc = op.getLoc();
    Scalar math{rewriter, loc};
    PlanAddresses addresses(rewriter, op, *plan, math.advance(base, piece.byteOffset));
    Type element = scalarType(cast<RankedTensorType>(op.getResult().getType()).getElementType());
    auto i32 = rewriter.getI32Type();
    auto scatter = [&](ArrayRef<unsigned> run, Value word) {
      if (run.size() == 1) {
        elements[run[0]] = word.getType() == element
                               ? word
                               : LLVM::BitcastOp::create(rewriter, loc, element, word).getResult();
        return;
      }
      auto vector = VectorType::get({static_cast<int64_t>(run.size())}, element);
      Value unpacked = word.getType() == vector
                           ? word
                           : LLVM::BitcastOp::create(rewriter, loc, vector, word).getResult();
      bool whole = run.size() == packing && run[0] % packing == 0;
      for (size_t i = 0; i < run.size(); ++i)
        whole &= run[i] == run[0] + i;
      if (whole) {
        values[run[0] / packing] = unpacked;
        return;
      }
      for (auto [i, reg] : llvm::enumerate(run))
        elements[reg] = LLVM::ExtractElementOp::create(rewriter, loc, unpacked, math.i32(i));
    };
    for (const layout::SharedAccess &access : plan->accesses) {
      SmallVector<SmallVector<unsigned, 16>> runs = wordsOf(access, piece);
      if (plan->kind == layout::SharedAccessPlan::Matrix) {
        size_t count = runs.size();
        Type result = count == 1 ? Type(i32)
                                 : Type(LLVM::LLVMStructType::getLiteral(
                                       getContext(), SmallVector<Type>(count, i32)));
        Value words = NVVM::LdMatrixOp::create(
            rewriter, loc, result, addresses.at(access), count,
            plan->transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row,
            NVVM::LdStMatrixShapeAttr::get(getContext(), 8, 8), NVVM::LdStMatrixEltType::B16);
        for (auto [i, run] : llvm::enumerate(runs))
          scatter(run, count == 1
                           ? words
                           : LLVM::ExtractValueOp::create(rewriter, loc, words, i).getResult());
        continue;
      }
      ArrayRef<unsigned> run = runs.front();
      Type asType =
          run.size() == 1 ? element : VectorType::get({static_cast<int64_t>(run.size())}, element);
      scatter(run,
              LLVM::LoadOp::create(rewriter, loc, asType, addresses.at(access), plan->vectorBytes));
    }
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
