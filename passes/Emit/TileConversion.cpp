//===- TileConversion.cpp - Shared parts of the tile expansion ----------------------------===//

#include "passes/Emit/TileConversion.h"

#include "tileloom/Analysis/Roles.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

//===--------------------------------------------------------------------------------------===//
// Types
//===--------------------------------------------------------------------------------------===//

unsigned tileloom::emit::elementsPerValue(RankedTensorType type, unsigned registers) {
  unsigned bits = tile::elementBits(type.getElementType());
  unsigned elements = bits == 16 ? 2 : bits == 8 ? 4 : 1;
  return registers % elements ? 1 : elements;
}

Type tileloom::emit::scalarType(Type elementType) {
  if (tile::elementBits(elementType) == 8)
    return IntegerType::get(elementType.getContext(), 8);
  return elementType;
}

Type tileloom::emit::valueType(Type elementType, unsigned elements) {
  if (elements == 1)
    return scalarType(elementType);
  return VectorType::get({elements}, scalarType(elementType));
}

TileTypeConverter::TileTypeConverter(MLIRContext *context) {
  addConversion([](Type type) { return type; });
  Type shared = LLVM::LLVMPointerType::get(context, 3);
  addConversion([=](nv::MemDescType type) -> Type {
    return type.getSpace() == nv::MemorySpace::Smem ? shared
                                                    : IntegerType::get(type.getContext(), 32);
  });
  addConversion([](FloatType type) -> Type { return scalarType(type); });
  addConversion([=](nv::BarrierType) { return shared; });
  addConversion([=](warp::BufferType) { return shared; });
  addConversion(
      [](tile::DescType type) -> Type { return LLVM::LLVMPointerType::get(type.getContext()); });
  addConversion([this](RankedTensorType type,
                       SmallVectorImpl<Type> &results) -> std::optional<LogicalResult> {
    std::string error;
    const layout::RegisterLayout *layout = lookup(type, error);
    if (!layout)
      return failure();
    unsigned registers = layout->registersPerThread(), elements = elementsPerValue(type, registers);
    results.append(registers / elements, valueType(type.getElementType(), elements));
    return success();
  });
}

const layout::RegisterLayout *TileTypeConverter::lookup(RankedTensorType type,
                                                        std::string &error) const {
  std::unique_ptr<layout::RegisterLayout> &entry = layouts[type];
  if (!entry) {
    auto layout = registerLayout(type);
    if (!layout) {
      error = llvm::toString(layout.takeError());
      return nullptr;
    }
    entry = std::make_unique<layout::RegisterLayout>(std::move(*layout));
  }
  return entry.get();
}

const layout::RegisterLayout *TileTypeConverter::layoutOf(RankedTensorType type,
                                                          Location loc) const {
  std::string error;
  const layout::RegisterLayout *layout = lookup(type, error);
  if (!layout)
    emitError(loc) << "layout of " << type << ": " << error;
  return layout;
}

SmallVector<Value> tileloom::emit::unpack(OpBuilder &builder, Location loc, RankedTensorType type,
                                          ValueRange values) {
  SmallVector<Value> elements;
  for (Value value : values) {
    auto vector = dyn_cast<VectorType>(value.getType());
    if (!vector) {
      elements.push_back(value);
      continue;
    }
    for (int64_t i = 0; i < vector.getNumElements(); ++i)
      elements.push_back(LLVM::ExtractElementOp::create(
          builder, loc, value, arith::ConstantIntOp::create(builder, loc, i, 32).getResult()));
  }
  return elements;
}

SmallVector<Value> tileloom::emit::pack(OpBuilder &builder, Location loc, RankedTensorType type,
                                        ArrayRef<Value> elements) {
  unsigned count = elementsPerValue(type, elements.size());
  if (count == 1)
    return SmallVector<Value>(elements);
  Type vector = valueType(type.getElementType(), count);
  SmallVector<Value> values;
  for (size_t first = 0; first < elements.size(); first += count) {
    Value value = LLVM::PoisonOp::create(builder, loc, vector);
    for (unsigned i = 0; i < count; ++i)
      value = LLVM::InsertElementOp::create(
          builder, loc, value, elements[first + i],
          arith::ConstantIntOp::create(builder, loc, i, 32).getResult());
    values.push_back(value);
  }
  return values;
}

//===--------------------------------------------------------------------------------------===//
// Scalars
//===--------------------------------------------------------------------------------------===//

Value Scalar::i32(int64_t value) { return arith::ConstantIntOp::create(builder, loc, value, 32); }
Value Scalar::add(Value a, int64_t b) { return b ? add(a, i32(b)) : a; }
Value Scalar::add(Value a, Value b) { return arith::AddIOp::create(builder, loc, a, b); }
Value Scalar::bitXor(Value a, Value b) { return arith::XOrIOp::create(builder, loc, a, b); }
Value Scalar::bitAnd(Value a, int64_t b) { return arith::AndIOp::create(builder, loc, a, i32(b)); }
Value Scalar::shiftLeft(Value a, int64_t bits) {
  return bits ? arith::ShLIOp::create(builder, loc, a, i32(bits)).getResult() : a;
}
Value Scalar::shiftRight(Value a, int64_t bits) {
  return bits ? arith::ShRUIOp::create(builder, loc, a, i32(bits)).getResult() : a;
}
Value Scalar::mul(Value a, int64_t b) {
  return b == 1 ? a : arith::MulIOp::create(builder, loc, a, i32(b)).getResult();
}

Value Scalar::advance(Value base, Value bytes) {
  Type byte = builder.getI8Type();
  return LLVM::GEPOp::create(builder, loc, base.getType(), byte, base,
                             ArrayRef<LLVM::GEPArg>{bytes}, LLVM::GEPNoWrapFlags::inbounds);
}

Value Scalar::advance(Value base, int64_t bytes) {
  if (!bytes)
    return base;
  Type byte = builder.getI8Type();
  return LLVM::GEPOp::create(builder, loc, base.getType(), byte, base,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)},
                             LLVM::GEPNoWrapFlags::inbounds);
}

//===--------------------------------------------------------------------------------------===//
// Threads
//===--------------------------------------------------------------------------------------===//

ThreadPosition::ThreadPosition(OpBuilder &builder, Operation *op) {
  Location loc = op->getLoc();
  Scalar math{builder, loc};
  auto role = op->getParentOfType<warp::RoleOp>();
  assert(role && "only operations of a role have a thread position");
  firstWarp = role->getAttrOfType<IntegerAttr>(nv::firstWarpAttrName).getInt();
  warps = role.getWarps();
  replicas = role.getReplicas();
  single = isSingleThreadRole(role);
  Value tid =
      NVVM::ThreadIdXOp::create(builder, loc, builder.getI32Type(), LLVM::ConstantRangeAttr());
  lane = math.bitAnd(tid, 31);
  int64_t span = warps * 32;
  Value inRole =
      firstWarp % warps == 0 && llvm::isPowerOf2_64(span) ? tid : math.add(tid, -firstWarp * 32);
  if (llvm::isPowerOf2_64(span))
    thread = math.bitAnd(inRole, span - 1);
  else if (replicas == 1)
    thread = inRole;
  else
    thread = arith::RemUIOp::create(builder, loc, inRole, math.i32(span));
  warp = math.shiftRight(thread, 5);
}

Value ThreadPosition::isFirstLane(OpBuilder &builder, Location loc) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lane,
                               Scalar{builder, loc}.i32(0));
}

Value ThreadPosition::isFirstThread(OpBuilder &builder, Location loc) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, thread,
                               Scalar{builder, loc}.i32(0));
}

/// Sum over the set bits of `value` of their bases, by XOR within `xorMask` and addition outside:
/// one masked shift for each distance between input and output bit.
static void evaluateBits(Scalar &math, Value value, ArrayRef<int64_t> bases, int64_t xorMask,
                         Value &exclusive, Value &added) {
  llvm::SmallMapVector<int, int64_t, 8> masks, addMasks;
  for (auto [bit, base] : llvm::enumerate(bases))
    for (int out = 0; out < 63; ++out)
      if (base >> out & 1)
        (xorMask >> out & 1 ? masks : addMasks)[out - static_cast<int>(bit)] |= int64_t(1) << bit;
  auto part = [&](std::pair<int, int64_t> entry) {
    Value masked = math.bitAnd(value, entry.second);
    return entry.first >= 0 ? math.shiftLeft(masked, entry.first)
                            : math.shiftRight(masked, -entry.first);
  };
  for (auto entry : masks)
    exclusive = exclusive ? math.bitXor(exclusive, part(entry)) : part(entry);
  for (auto entry : addMasks)
    added = added ? math.add(added, part(entry)) : part(entry);
}

Value tileloom::emit::evaluate(OpBuilder &builder, Location loc,
                               const layout::ThreadFunction &function,
                               const ThreadPosition &position, int64_t xorConstant) {
  Scalar math{builder, loc};
  Value exclusive, added;
  evaluateBits(math, position.lane, function.laneBases, function.xorMask, exclusive, added);
  evaluateBits(math, position.warp, function.warpBases, function.xorMask, exclusive, added);
  if (!exclusive)
    exclusive = math.i32(xorConstant);
  else if (xorConstant)
    exclusive = math.bitXor(exclusive, math.i32(xorConstant));
  Value sum = added ? math.add(exclusive, added) : exclusive;
  if (function.groupWarps) {
    Value group =
        arith::DivUIOp::create(builder, loc, position.warp, math.i32(function.groupWarps));
    sum = math.add(sum, math.mul(group, function.groupStride));
  }
  return sum;
}

layout::ThreadFunction tileloom::emit::threadIndex(const layout::RegisterLayout &layout,
                                                   unsigned dim) {
  layout::ThreadFunction function;
  for (unsigned bit = 0; bit < layout::RegisterLayout::laneBits; ++bit)
    function.laneBases.push_back(layout.indexOf(0, 1u << bit, 0)[dim]);
  for (unsigned bit = 1; bit < layout.coreWarps(); bit <<= 1)
    function.warpBases.push_back(layout.indexOf(0, 0, bit)[dim]);
  if (layout.warps() > layout.coreWarps()) {
    function.groupWarps = layout.coreWarps();
    function.groupStride = layout.indexOf(0, 0, layout.coreWarps())[dim];
  }
  return function;
}

void tileloom::emit::createIssued(OpBuilder &builder, Operation *op, nv::Issuer issuer,
                                  llvm::function_ref<void(OpBuilder &)> body) {
  ThreadPosition position(builder, op);
  if (position.single || issuer == nv::Issuer::All)
    return body(builder);
  Value condition = issuer == nv::Issuer::Warp || position.warps == 1
                        ? position.isFirstLane(builder, op->getLoc())
                        : position.isFirstThread(builder, op->getLoc());
  auto branch = scf::IfOp::create(builder, op->getLoc(), condition, /*withElseRegion=*/false);
  OpBuilder inner = branch.getThenBodyBuilder();
  body(inner);
}

Value tileloom::emit::callIntrinsic(OpBuilder &builder, Location loc, StringRef name, Type result,
                                    ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(builder, loc, result, builder.getStringAttr(name), operands)
      .getResult(0);
}

void tileloom::emit::callIntrinsic(OpBuilder &builder, Location loc, StringRef name,
                                   ValueRange operands) {
  LLVM::CallIntrinsicOp::create(builder, loc, builder.getStringAttr(name), operands);
}
