//===- CrossThread.cpp - What the threads of a role tell each other -----------------------===//
//
// Shuffles of any type, the barrier of a role, tables indexed by lane or warp, and which elements
// the executing thread holds.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/TileConversion.h"

#include "dialects/Warp/Warp.h"


#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

/// Applies `move` to the 32-bit words of a value.
static Value byWords(OpBuilder &builder, Location loc, Value value,
                     llvm::function_ref<Value(Value)> move) {
  Type type = value.getType(), i32 = builder.getI32Type();
  unsigned bits = type.getIntOrFloatBitWidth();
  if (bits == 32)
    return move(value);
  Type integer = builder.getIntegerType(bits);
  auto bitcast = [&](Type to, Value from) {
    return from.getType() == to ? from
                                : LLVM::BitcastOp::create(builder, loc, to, from).getResult();
  };
  if (bits < 32) {
    Value word = arith::ExtUIOp::create(builder, loc, i32, bitcast(integer, value));
    return bitcast(type, arith::TruncIOp::create(builder, loc, integer, move(word)));
  }
  // In integers: of a vector LLVM would leave a word undefined that a mask drops later, and add to it before.
  Value whole = bitcast(integer, value), result;
  for (unsigned shift = 0; shift < bits; shift += 32) {
    Value amount = arith::ConstantIntOp::create(builder, loc, integer, shift);
    Value word = arith::TruncIOp::create(builder, loc, i32, shift ? Value(arith::ShRUIOp::create(builder, loc, whole, amount)) : whole);
    Value wide = arith::ExtUIOp::create(builder, loc, integer, move(word));
    result = shift ? Value(arith::OrIOp::create(builder, loc, result, arith::ShLIOp::create(builder, loc, wide, amount))) : wide;
  }
  return bitcast(type, result);
}

static Value shuffle(OpBuilder &builder, Location loc, Value value, Value operand,
                     NVVM::ShflKind kind) {
  Scalar math{builder, loc};
  return byWords(builder, loc, value, [&](Value word) -> Value {
    return NVVM::ShflOp::create(builder, loc, word.getType(), math.i32(-1), word, operand,
                                math.i32(31), kind, UnitAttr());
  });
}

Value tileloom::emit::shuffleXor(OpBuilder &builder, Location loc, Value value, unsigned mask) {
  return shuffle(builder, loc, value, Scalar{builder, loc}.i32(mask), NVVM::ShflKind::bfly);
}

Value tileloom::emit::shuffleIndex(OpBuilder &builder, Location loc, Value value, Value from) {
  return shuffle(builder, loc, value, from, NVVM::ShflKind::idx);
}

Value tileloom::emit::shuffleShift(OpBuilder &builder, Location loc, Value value, int64_t lanes,
                                   bool down) {
  // .up clamps at lane 0, .down and the others at lane 31 (PTX ISA 9.7.9.6).
  Scalar math{builder, loc};
  return byWords(builder, loc, value, [&](Value word) -> Value {
    return NVVM::ShflOp::create(builder, loc, word.getType(), math.i32(-1), word, math.i32(lanes),
                                math.i32(down ? 31 : 0),
                                down ? NVVM::ShflKind::down : NVVM::ShflKind::up, UnitAttr());
  });
}

void tileloom::emit::createRoleBarrier(OpBuilder &builder, Operation *op) {
  Location loc = op->getLoc();
  Scalar math{builder, loc};
  auto role = op->getParentOfType<warp::RoleOp>();
  if (role.getWarps() == 1) {
    NVVM::SyncWarpOp::create(builder, loc, math.i32(-1));
    return;
  }
  Value id = math.i32(role->getAttrOfType<IntegerAttr>(nv::barrierAttrName).getInt());
  if (role.getReplicas() > 1)
    id = math.add(warp::ReplicaIndexOp::create(builder, loc, builder.getI32Type()), id);
  NVVM::BarrierOp::create(builder, loc, TypeRange(), id, math.i32(role.getWarps() * 32),
                          NVVM::BarrierReductionAttr(), Value());
}

Value tileloom::emit::tableBit(OpBuilder &builder, Location loc, uint64_t table, Value index) {
  bool wide = table >> 32;
  Type type = wide ? builder.getI64Type() : builder.getI32Type();
  Value bits = arith::ConstantIntOp::create(builder, loc, type, static_cast<int64_t>(table));
  Value by = wide ? arith::ExtUIOp::create(builder, loc, type, index).getResult() : index;
  Value shifted = arith::ShRUIOp::create(builder, loc, bits, by);
  return arith::TruncIOp::create(builder, loc, builder.getI1Type(), shifted);
}

Value tileloom::emit::tableEntry(OpBuilder &builder, Location loc, ArrayRef<int64_t> table,
                                 Value index) {
  Scalar math{builder, loc};
  auto fits = [&](auto function) {
    for (auto [i, entry] : llvm::enumerate(table))
      if (entry >= 0 && entry != function(static_cast<int64_t>(i)))
        return false;
    return true;
  };
  // Some bits of the index, as where warps tile dimensions.
  int64_t size = llvm::PowerOf2Ceil(table.size());
  for (int64_t shift = 0; (1 << shift) < size || shift == 0; ++shift)
    for (int64_t mask = 0; mask < size; mask = 2 * mask + 1)
      if (fits([&](int64_t i) { return i >> shift & mask; }))
        return mask ? math.bitAnd(math.shiftRight(index, shift), mask) : math.i32(0);
  // Else bytes of a constant, eight at a time.
  Value result;
  for (size_t first = 0; first < table.size(); first += 8) {
    uint64_t bytes = 0;
    for (size_t i = first; i < std::min(table.size(), first + 8); ++i)
      bytes |= static_cast<uint64_t>(std::max<int64_t>(0, table[i])) << 8 * (i - first);
    Type i64 = builder.getI64Type();
    Value constant = arith::ConstantIntOp::create(builder, loc, i64, static_cast<int64_t>(bytes));
    Value shift =
        arith::ExtUIOp::create(builder, loc, i64, math.shiftLeft(math.bitAnd(index, 7), 3));
    Value entry =
        math.bitAnd(arith::TruncIOp::create(builder, loc, builder.getI32Type(),
                                            arith::ShRUIOp::create(builder, loc, constant, shift)),
                    255);
    if (!result) {
      result = entry;
      continue;
    }
    Value later =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge, index, math.i32(first));
    result = arith::SelectOp::create(builder, loc, later, entry, result);
  }
  return result;
}

SmallVector<Value> tileloom::emit::indicesAlong(OpBuilder &builder, Location loc,
                                                const layout::RegisterLayout &layout, unsigned dim,
                                                const ThreadPosition &position) {
  Scalar math{builder, loc};
  Value base = evaluate(builder, loc, threadIndex(layout, dim), position);
  // What lanes and warps contribute at most: register parts that meet it are XORed, others added.
  int64_t threadBits = 0;
  for (unsigned bit = 0; bit < layout::RegisterLayout::laneBits; ++bit)
    threadBits |= layout.indexOf(0, 1u << bit, 0)[dim];
  for (unsigned warp = 0; warp < layout.warps(); ++warp)
    threadBits |= layout.indexOf(0, 0, warp)[dim];
  SmallVector<Value> values;
  llvm::DenseMap<int64_t, Value> known;
  auto noWrap = arith::IntegerOverflowFlags::nsw | arith::IntegerOverflowFlags::nuw;
  for (unsigned reg = 0; reg < layout.registersPerThread(); ++reg) {
    int64_t own = layout.indexOf(reg, 0, 0)[dim];
    Value &value = known[own];
    if (!value && (own & threadBits))
      value = math.bitXor(base, math.i32(own));
    else if (!value) // without wrapping, so that widening it leaves base + constant
      value =
          own ? arith::AddIOp::create(builder, loc, base, math.i32(own), noWrap).getResult() : base;
    values.push_back(value);
  }
  return values;
}

SmallVector<Value> tileloom::emit::flatIndices(OpBuilder &builder, Location loc,
                                               const layout::RegisterLayout &layout,
                                               const ThreadPosition &position) {
  Scalar math{builder, loc};
  SmallVector<Value> flat(layout.registersPerThread());
  int64_t stride = 1;
  for (unsigned dim = layout.rank(); dim-- > 0; stride *= layout.shape()[dim]) {
    if (layout.shape()[dim] == 1)
      continue;
    SmallVector<Value> along = indicesAlong(builder, loc, layout, dim, position);
    for (auto [sum, index] : llvm::zip(flat, along)) {
      Value part = math.mul(index, stride);
      sum = sum ? math.add(sum, part) : part;
    }
  }
  for (Value &value : flat)
    if (!value)
      value = math.i32(0);
  return flat;
}

SmallVector<Value> tileloom::emit::chooseRegisters(OpBuilder &builder, Location loc,
                                                   RankedTensorType source, RankedTensorType result,
                                                   ValueRange values,
                                                   ArrayRef<unsigned> registers) {
  unsigned packing = elementsPerValue(result, registers.size());
  auto packed = dyn_cast<VectorType>(values.front().getType());
  // Whole packed values stay packed.
  bool whole = packing == (packed ? packed.getNumElements() : 1);
  for (size_t i = 0; whole && i < registers.size(); ++i)
    whole = registers[i] % packing == i % packing &&
            registers[i] / packing == registers[i - i % packing] / packing;
  SmallVector<Value> chosen;
  if (whole) {
    for (size_t i = 0; i < registers.size(); i += packing)
      chosen.push_back(values[registers[i] / packing]);
    return chosen;
  }
  SmallVector<Value> elements = unpack(builder, loc, source, values);
  for (unsigned reg : registers)
    chosen.push_back(elements[reg]);
  return pack(builder, loc, result, chosen);
}

Value SharedAddresses::at(OpBuilder &builder, const layout::SharedAccess &access) {
  Scalar math{builder, loc};
  Value &address = known[access.xorBytes];
  if (!address)
    address = math.advance(base, evaluate(builder, loc, bytes, position, access.xorBytes));
  return math.advance(address, access.addBytes);
}

Value tileloom::emit::withoutCopies(OpBuilder &builder, Location loc, unsigned lanes,
                                    unsigned warps, const ThreadPosition &position) {
  Scalar math{builder, loc};
  Value copies;
  if (lanes)
    copies = math.bitAnd(position.lane, lanes);
  if (warps) {
    Value part = math.bitAnd(position.warp, warps);
    copies = copies ? arith::OrIOp::create(builder, loc, copies, part).getResult() : part;
  }
  if (!copies)
    return {};
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, copies, math.i32(0));
}
