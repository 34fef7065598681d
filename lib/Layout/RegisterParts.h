//===- RegisterParts.h - A register layout taken apart ----------------------===//
//
// The editable form behind slices, slots and sub-tiles: core bits and repeats as lists, each
// register digit with the source registers that it stands for. Edit, then build: the result comes
// with its registers.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LIB_LAYOUT_REGISTERPARTS_H
#define TILELOOM_LIB_LAYOUT_REGISTERPARTS_H

#include "tileloom/Layout/RegisterLayout.h"
#include "llvm/ADT/STLExtras.h"

namespace tileloom::layout {

/// A layout in pieces.
struct Parts {
  struct Bit {
    llvm::SmallVector<int64_t, 4> image; ///< per dimension
    unsigned source = 0;                 ///< register bits: register number that the bit stood for
  };
  struct Digit {
    Repeat repeat;
    llvm::SmallVector<unsigned, 8> sources; ///< register repeats: one source offset per copy
  };
  llvm::SmallVector<unsigned, 4> dimBits;
  llvm::SmallVector<Bit, 8> registers, lanes, warps;
  llvm::SmallVector<Digit, 4> digits; ///< innermost first
  unsigned base = 0;                  ///< source register of register 0

  explicit Parts(const RegisterLayout &layout);
  llvm::Expected<SubLayout> build() const;

  /// The register bit that alone makes bit `position` of `dim`, and nothing else; -1 if none.
  int pureRegisterBit(unsigned dim, unsigned position) const;
  /// Removes that bit position from `dim`: higher positions move down.
  void dropPosition(unsigned dim, unsigned position);
  void dropDim(unsigned dim);
  /// Turns the top bit of `dim` into (part of) its innermost repeat.
  bool peel(unsigned dim);
  /// Turns a factor two of the innermost repeat of `dim` into a core register bit.
  bool absorb(unsigned dim);
  /// Innermost repeat along dim, or digits.end().
  Digit *innermost(unsigned dim) {
    return llvm::find_if(digits, [&](const Digit &digit) { return digit.repeat.dim == int(dim); });
  }
};

} // namespace tileloom::layout

#endif // TILELOOM_LIB_LAYOUT_REGISTERPARTS_H
