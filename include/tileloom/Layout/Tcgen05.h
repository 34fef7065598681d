//===- Tcgen05.h - Instruction shapes and descriptors of tcgen05.mma --------===//
//
// Which (kind, M, N, types, operand places) tcgen05.mma has, and the 32-bit instruction descriptor
// that says so to the hardware (PTX ISA 9.7.16.2.1 and 9.7.16.4.2). Where CUTLASS allows less than
// the PTX ISA, its set is kept: ptxas cannot see the descriptor, so nothing else would notice.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LAYOUT_TCGEN05_H
#define TILELOOM_LAYOUT_TCGEN05_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>

namespace tileloom::layout {

enum class Tcgen05Kind { F16, TF32, F8F6F4, I8, MXF8F6F4, MXF4, MXF4NVF4 };
enum class Tcgen05Type { F16, BF16, TF32, E4M3, E5M2, E2M3, E3M2, E2M1, U8, S8 };
enum class Tcgen05Accumulator { F16, F32, S32 };
enum class Tcgen05Scale { UE8M0, UE4M3 };

llvm::StringRef kindName(Tcgen05Kind kind);
llvm::StringRef typeName(Tcgen05Type type);
inline bool isBlockScaled(Tcgen05Kind kind) { return kind >= Tcgen05Kind::MXF8F6F4; }

struct Tcgen05Instruction {
  Tcgen05Kind kind = Tcgen05Kind::F16;
  Tcgen05Type a = Tcgen05Type::BF16, b = Tcgen05Type::BF16;
  Tcgen05Accumulator d = Tcgen05Accumulator::F32;
  int64_t m = 128, n = 256; ///< of the whole instruction: both CTAs of a pair together
  unsigned ctaGroup = 1;
  bool transposeA = false, transposeB = false; ///< M or N contiguous
  bool aInTensorMemory = false;
  Tcgen05Scale scale = Tcgen05Scale::UE8M0;
  /// Scale factors along K in one instruction: 1 (mxf8f6f4), 2, or 4 (mxf4nvf4 only).
  unsigned scalesPerStep = 1;

  /// Elements of K in one instruction.
  int64_t k() const;
  /// Fails, with what was found and what is needed, for a combination that the hardware lacks.
  llvm::Error verify() const;
  /// The descriptor; the ids say which byte of a word of scale factors is the first to use.
  uint32_t encode(unsigned scaleIdA = 0, unsigned scaleIdB = 0) const;
};

} // namespace tileloom::layout

#endif // TILELOOM_LAYOUT_TCGEN05_H
