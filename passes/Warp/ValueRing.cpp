//===- ValueRing.cpp - A ring for scalars ------------------------------------------------===//

#include "passes/Warp/ValueRing.h"

#include "dialects/NV/NV.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

static constexpr int64_t slotBits = 128;

/// Flags and indices have no form in memory of their own.
static Type storedType(Type type) {
  if (type.isInteger(1))
    return IntegerType::get(type.getContext(), 8);
  if (type.isIndex())
    return IntegerType::get(type.getContext(), 64);
  return type;
}

bool ValueRing::takes(Type type) {
  if (!type.isIntOrIndexOrFloat())
    return false;
  unsigned bits = storedType(type).getIntOrFloatBitWidth();
  return bits % 8 == 0 && bits <= 64;
}

bool tileloom::isValueBuffer(BufferType type) {
  return type.getSpace() == Space::Smem && type.getViews().size() == 1 &&
         type.getViews()[0].getNumElements() * type.getViews()[0].getElementTypeBitWidth() ==
             slotBits;
}

ValueRing::ValueRing(OpBuilder &builder, Location loc, Type type, StringRef name, int64_t slots)
    : type(type), stored(storedType(type)) {
  auto view = RankedTensorType::get({slotBits / stored.getIntOrFloatBitWidth()}, stored);
  auto bufferType = BufferType::get(builder.getContext(), slots, {view}, Space::Smem);
  auto buffer = BufferOp::create(builder, loc, bufferType, /*per_replica=*/false);
  auto ringType = RingType::get(builder.getContext());
  auto freeOp = RingOp::create(builder, loc, ringType, buffer, true, Scope::Cta);
  auto readyOp = RingOp::create(builder, loc, ringType, buffer, false, Scope::Cta);
  buffer->setAttr("name", builder.getStringAttr(name));
  freeOp->setAttr("name", builder.getStringAttr(name + "_free"));
  readyOp->setAttr("name", builder.getStringAttr(name + "_ready"));
  free = freeOp;
  ready = readyOp;
}

Value ValueRing::slot(OpBuilder &builder, Location loc, Value token) const {
  auto view =
      nv::MemDescType::get(builder.getContext(), {slotBits / stored.getIntOrFloatBitWidth()},
                           stored, Attribute(), nv::MemorySpace::Smem);
  return SlotOp::create(builder, loc, TypeRange{view}, token).getViews()[0];
}

void ValueRing::send(OpBuilder &builder, Location loc, ValueRange values) const {
  assert(values.size() * stored.getIntOrFloatBitWidth() <= slotBits && "the values fit a slot");
  SmallVector<Value> sent;
  for (Value value : values) {
    if (type.isIndex())
      value = arith::IndexCastOp::create(builder, loc, stored, value);
    else if (type != stored)
      value = arith::ExtUIOp::create(builder, loc, stored, value);
    sent.push_back(value);
  }
  Value token = AcquireOp::create(builder, loc, free);
  Value view = slot(builder, loc, token);
  for (auto [index, value] : llvm::enumerate(sent)) {
    Value place = arith::ConstantIntOp::create(builder, loc, index, 32);
    nv::ScalarStoreOp::create(builder, loc, value, view, place);
  }
  ReleaseOp::create(builder, loc, token, ready, ReleaseKind::Generic);
}

SmallVector<Value> ValueRing::receive(OpBuilder &builder, Location loc, unsigned count) const {
  Value token = AcquireOp::create(builder, loc, ready);
  Value view = slot(builder, loc, token);
  SmallVector<Value> values;
  for (unsigned index = 0; index < count; ++index) {
    Value place = arith::ConstantIntOp::create(builder, loc, index, 32);
    values.push_back(nv::ScalarLoadOp::create(builder, loc, stored, view, place));
  }
  ReleaseOp::create(builder, loc, token, free, ReleaseKind::Generic);
  for (Value &value : values) {
    if (type.isIndex())
      value = arith::IndexCastOp::create(builder, loc, type, value);
    else if (type != stored)
      value = arith::TruncIOp::create(builder, loc, type, value);
  }
  return values;
}
