//===- Reduce.h - Element reductions of bulk copies, red and atom
//---------------------------------===//
//
// One read-modify-write on a memory element, with the legality tables of cp.reduce.async.bulk
// (PTX ISA 9.7.9.25.4.2, 9.7.9.25.5.3). The caller supplies atomicity.
//
//===----------------------------------------------------------------------------------------------===//
#ifndef TILELOOM_SIMULATOR_REDUCE_H
#define TILELOOM_SIMULATOR_REDUCE_H

#include "tileloom/Simulator/TensorMap.h"

namespace tileloom::sim {

enum class ReduceOp : uint8_t { Add, Min, Max, Inc, Dec, And, Or, Xor };
enum class ReduceType : uint8_t { U32, S32, U64, S64, F16, BF16, F32, F64, B32, B64 };

unsigned reduceTypeBytes(ReduceType type);
const char *reduceOpName(ReduceOp op);
const char *reduceTypeName(ReduceType type);

/// Whether cp.reduce.async.bulk to global (or to shared::cluster) accepts the pair.
Error checkBulkReduce(ReduceOp op, ReduceType type, bool toShared);

/// The element type that a tensor reduction uses for a map's type; fails for what PTX excludes
/// (sub-byte types, 8- and 16-bit integers, f64, and operations the type lacks).
Error tensorReduceType(ReduceOp op, TmaType mapType, ReduceType &type);

/// New value of an element from its old value and the operand; patterns in the low bits. `ftz`
/// flushes subnormal f32 inputs and results: atom and red add.f32 on global memory do, and tensor
/// copies with a map of type FLOAT32_FTZ; cp.reduce.async.bulk does not, whatever PTX says (seen on
/// an H200, bulk_reduce_float).
uint64_t reduceElement(ReduceOp op, ReduceType type, uint64_t old, uint64_t operand, bool ftz);

/// Applies reduceElement to `bytes` of memory (a multiple of the element size).
void reduceSpan(ReduceOp op, ReduceType type, uint8_t *destination, const uint8_t *source,
                uint32_t bytes, bool ftz);

} // namespace tileloom::sim

#endif // TILELOOM_SIMULATOR_REDUCE_H
