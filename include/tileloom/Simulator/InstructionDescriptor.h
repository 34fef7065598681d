//===- InstructionDescriptor.h - The 32-bit instruction descriptor of tcgen05.mma
//-----------------===//
//
// Decodes the descriptor of every kind and checks reserved bits, types and the shapes of the kind,
// cta_group and .ws form (PTX ISA 9.7.16.4.2, Table 39).
//
//===----------------------------------------------------------------------------------------------===//
#ifndef TILELOOM_SIMULATOR_INSTRUCTIONDESCRIPTOR_H
#define TILELOOM_SIMULATOR_INSTRUCTIONDESCRIPTOR_H

#include "tileloom/Simulator/Descriptor.h"
#include "tileloom/Simulator/MatrixUnit.h"

namespace tileloom::sim {

enum class MmaKind : uint8_t { F16, TF32, F8F6F4, I8, MXF8F6F4, MXF4, MXF4NVF4 };

const char *mmaKindName(MmaKind kind);
inline bool isBlockScaled(MmaKind kind) { return kind >= MmaKind::MXF8F6F4; }

/// How the instruction is written around the descriptor.
struct MmaForm {
  unsigned ctaGroup = 1; ///< 1 or 2
  bool ws = false;
  bool aInTmem = false;
  bool sparse = false; ///< .sp
  unsigned scaleVector =
      0; ///< 1, 2, 4 for scale_vec::NX (block32 = 1X or 2X, block16 = 4X); 0 = default
};

struct InstructionDescriptor {
  MmaKind kind = MmaKind::F16;
  MmaType aType = MmaType::F16, bType = MmaType::F16;
  MmaType dType = MmaType::F32; ///< F16, F32 or S32
  unsigned m = 0, n = 0, k = 0; ///< k of one instruction, doubled when sparse
  Major aMajor = Major::K, bMajor = Major::K;
  bool negateA = false, negateB = false, saturate = false, sparse = false;
  uint8_t sparsitySelector = 0;
  uint8_t maxBShift = 0; ///< .ws: 0, 8, 16 or 32
  Format scaleType = Format::UE8M0;
  uint8_t scaleIdA = 0, scaleIdB = 0;
  uint8_t scalesPerRow = 0; ///< SFs per row of one instruction: 1, 2 or 4; 0 = not scaled
  /// Bytes of shared memory that one element of A or B takes: 4, 2 or 1; 0 for two per byte.
  uint8_t containerBytesA = 0, containerBytesB = 0;
};

/// Decodes and validates; the message names the field, its value and the legal values.
Error decodeInstructionDescriptor(MmaKind kind, uint32_t bits, const MmaForm &form,
                                  InstructionDescriptor &descriptor);

} // namespace tileloom::sim

#endif // TILELOOM_SIMULATOR_INSTRUCTIONDESCRIPTOR_H
