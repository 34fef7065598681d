//===- MatrixTypes.h - PTX types of matrix operands --------------*- C++ -*-===//
//
// The element types that mma.sync and wgmma name in their modifiers, as those of the matrix unit.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LIB_SIMULATOR_MATRIXTYPES_H
#define TILELOOM_LIB_SIMULATOR_MATRIXTYPES_H

#include "Decoder.h"
#include "tileloom/Simulator/MatrixUnit.h"

namespace tileloom {
namespace sim {

/// False if the type is none of a matrix operand or accumulator.
inline bool matrixType(Ty t, MmaType &m) {
  static constexpr std::pair<Ty, MmaType> types[] = {
      {Ty::F16, MmaType::F16},   {Ty::BF16, MmaType::BF16}, {Ty::TF32, MmaType::TF32},
      {Ty::E4M3, MmaType::E4M3}, {Ty::E5M2, MmaType::E5M2}, {Ty::S8, MmaType::S8},
      {Ty::U8, MmaType::U8},     {Ty::F32, MmaType::F32},   {Ty::S32, MmaType::S32}};
  for (auto &[from, to] : types)
    if (from == t) {
      m = to;
      return true;
    }
  return false;
}

} // namespace sim
} // namespace tileloom

#endif
