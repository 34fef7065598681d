//===- ExchangePatterns.cpp - Tiles that change threads -----------------------------------===//
//
// nv.convert_layout, nv.trans and nv.reshape, by what lib/Layout plans: other names for registers,
// shuffles inside each warp, or a store to scratch memory and loads by whoever needs the elements.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/SharedAccess.h"
#include "passes/Emit/TileConversion.h"

#include "tileloom/Analysis/Exchange.h"

#include <map>

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

namespace {

/// The elements of one tile by another numbering: what an exchange produces.
using Elements = SmallVector<Value>;

/// Shuffled words: `unit` neighbouring registers as one i32.
Elements toWords(OpBuilder &builder, Location loc, ArrayRef<Value> elements, unsigned unit) {
  Elements words;
  Type i32 = builder.getI32Type();
  for (size_t i = 0; i < elements.size(); i += unit) {
    Value value = elements[i];
    Type type = value.getType();
    unsigned bits = type.getIntOrFloatBitWidth();
    if (unit > 1) {
      Value vector =
          LLVM::PoisonOp::create(builder, loc, VectorType::get({static_cast<int64_t>(unit)}, type));
      for (unsigned k = 0; k < unit; ++k)
        vector = LLVM::InsertElementOp::create(builder, loc, vector, elements[i + k],
                                               Scalar{builder, loc}.i32(k));
      unsigned total = unit * bits;
      value = LLVM::BitcastOp::create(builder, loc, builder.getIntegerType(total), vector);
      if (total < 32)
        value = arith::ExtUIOp::create(builder, loc, i32, value);
    }
    words.push_back(value);
  }
  return words;
}

Elements fromWords(OpBuilder &builder, Location loc, ArrayRef<Value> words, Type type,
                   unsigned unit) {
  if (unit == 1)
    return Elements(words);
  Elements elements;
  unsigned total = unit * type.getIntOrFloatBitWidth();
  for (Value word : words) {
    if (total < 32)
      word = arith::TruncIOp::create(builder, loc, builder.getIntegerType(total), word);
    Value vector = LLVM::BitcastOp::create(
        builder, loc, VectorType::get({static_cast<int64_t>(unit)}, type), word);
    for (unsigned k = 0; k < unit; ++k)
      elements.push_back(
          LLVM::ExtractElementOp::create(builder, loc, vector, Scalar{builder, loc}.i32(k)));
  }
  return elements;
}

/// What varies with the lane is chosen by constants that have one bit for each lane.
class LaneChoice {
public:
  LaneChoice(OpBuilder &builder, Location loc, Value lane)
      : builder(builder), loc(loc), lane(lane) {}
  /// `value` in the lanes of `mask`, else `otherwise` (none: never read).
  Value choose(uint32_t mask, Value value, Value otherwise) {
    if (mask == ~0u || !otherwise)
      return value;
    Value &condition = conditions[mask];
    if (!condition)
      condition = tableBit(builder, loc, mask, lane);
    return arith::SelectOp::create(builder, loc, condition, value, otherwise);
  }

private:
  OpBuilder &builder;
  Location loc;
  Value lane;
  llvm::DenseMap<uint64_t, Value> conditions;
};

/// Lanes by the entry that the table has for them, in ascending order of entries.
std::map<unsigned, uint32_t> lanesByEntry(const std::array<uint16_t, 32> &table) {
  std::map<unsigned, uint32_t> lanes;
  for (unsigned lane = 0; lane < 32; ++lane)
    lanes[table[lane]] |= 1u << lane;
  return lanes;
}

Elements shuffle(OpBuilder &builder, Operation *op, const layout::ConversionPlan &plan,
                 ArrayRef<Value> elements, size_t resultCount) {
  Location loc = op->getLoc();
  Type type = elements.front().getType();
  Elements words = toWords(builder, loc, elements, plan.unit);
  Elements results(resultCount / plan.unit);
  ThreadPosition position(builder, op);
  LaneChoice choice(builder, loc, position.lane);
  for (const layout::ShuffleRound &round : plan.rounds) {
    Value sent;
    for (auto [word, lanes] : lanesByEntry(round.send))
      sent = choice.choose(lanes, words[word], sent);
    if (auto mask = round.xorMask()) {
      sent = *mask ? shuffleXor(builder, loc, sent, *mask) : sent;
    } else {
      layout::ThreadFunction from;
      for (unsigned bit = 0; bit < 5; ++bit)
        from.laneBases.push_back(round.from[1u << bit] ^ round.from[0]);
      sent =
          shuffleIndex(builder, loc, sent, evaluate(builder, loc, from, position, round.from[0]));
    }
    for (auto [word, lanes] : lanesByEntry(round.receive))
      results[word] = choice.choose(lanes, sent, results[word]);
  }
  return fromWords(builder, loc, results, type, plan.unit);
}

/// Writes a tile, meets, and reads it in another layout. i1 travels as bytes.
FailureOr<Elements> throughScratch(OpBuilder &builder, Operation *op, Value base,
                                   const layout::RegisterLayout &from,
                                   const layout::SharedLayout &stored,
                                   const layout::RegisterLayout &to,
                                   const layout::SharedLayout &loaded, Elements elements) {
  Location loc = op->getLoc();
  Type type = elements.front().getType(), byte = builder.getI8Type();
  bool isBit = type.isInteger(1);
  if (isBit)
    for (Value &value : elements)
      value = arith::ExtUIOp::create(builder, loc, byte, value);
  if (failed(storeShared(builder, op, {from, {}, stored, base}, elements, {})))
    return failure();
  createRoleBarrier(builder, op);
  Elements read(to.registersPerThread());
  if (failed(loadShared(builder, op, {to, {}, loaded, base}, isBit ? byte : type, /*packing=*/1,
                        read, read)))
    return failure();
  if (isBit)
    for (Value &value : read)
      value = arith::TruncIOp::create(builder, loc, type, value);
  return read;
}

template <typename Op> struct ConvertPattern : OpPattern<Op> {
  using OpPattern<Op>::OpPattern;
  using typename OpPattern<Op>::OneToN;

  LogicalResult matchAndRewrite(Op op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(op.getResult().getType());
    auto conversion = conversionOf(op);
    if (!conversion)
      return op.emitOpError() << llvm::toString(conversion.takeError());
    const layout::ConversionPlan &plan = conversion->plan;
    if (plan.kind == layout::ConversionPlan::InThread) {
      rewriter.replaceOpWithMultiple(
          op, ArrayRef<ValueRange>{chooseRegisters(rewriter, loc, op.getSource().getType(), type,
                                                   adaptor.getSource(), plan.registers)});
      return success();
    }
    Elements elements = unpack(rewriter, loc, op.getSource().getType(), adaptor.getSource());
    if (plan.kind == layout::ConversionPlan::Shuffle) {
      elements = shuffle(rewriter, op, plan, elements, conversion->to.registersPerThread());
    } else {
      if (!op.getScratch())
        return op.emitOpError("from ")
               << op.getSource().getType() << " to " << type
               << ": expected scratch memory, since elements change warps: run "
               << "nv-assign-scratch first";
      auto shared =
          exchangeLayout(conversion->from, conversion->to, scratchBits(type.getElementType()));
      if (!shared)
        return op.emitOpError() << llvm::toString(shared.takeError());
      FailureOr<Elements> moved =
          throughScratch(rewriter, op, adaptor.getScratch().front(), conversion->from, *shared,
                         conversion->to, *shared, elements);
      if (failed(moved))
        return failure();
      elements = *moved;
    }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{pack(rewriter, loc, type, elements)});
    return success();
  }
};

struct ReshapePattern : OpPattern<nv::ReshapeOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::ReshapeOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto source = op.getSource().getType(), type = op.getResult().getType();
    if (auto registers = reshapeInThread(op)) {
      rewriter.replaceOpWithMultiple(
          op, ArrayRef<ValueRange>{
                  chooseRegisters(rewriter, loc, source, type, adaptor.getSource(), *registers)});
      return success();
    }
    const layout::RegisterLayout *from = converter.layoutOf(source, loc),
                                 *to = converter.layoutOf(type, loc);
    if (!from || !to)
      return failure();
    if (!op.getScratch())
      return op.emitOpError("expected scratch memory: run nv-assign-scratch first");
    unsigned bits = scratchBits(type.getElementType());
    auto stored = rowMajorLayout(source.getShape(), bits),
         loaded = rowMajorLayout(type.getShape(), bits);
    if (!stored || !loaded) {
      if (stored)
        return op.emitOpError() << llvm::toString(loaded.takeError());
      if (!loaded)
        llvm::consumeError(loaded.takeError());
      return op.emitOpError() << llvm::toString(stored.takeError());
    }
    FailureOr<Elements> moved =
        throughScratch(rewriter, op, adaptor.getScratch().front(), *from, *stored, *to, *loaded,
                       unpack(rewriter, loc, source, adaptor.getSource()));
    if (failed(moved))
      return failure();
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{pack(rewriter, loc, type, *moved)});
    return success();
  }
};

} // namespace

void tileloom::emit::populateExchangePatterns(TileTypeConverter &converter,
                                              RewritePatternSet &patterns) {
  patterns.add<ConvertPattern<nv::ConvertLayoutOp>, ConvertPattern<nv::TransOp>, ReshapePattern>(
      converter, patterns.getContext());
}
