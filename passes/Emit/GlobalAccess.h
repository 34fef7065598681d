//===- GlobalAccess.h - Single accesses to global memory -------------------------*- C++ -*-===//
//
// A run of neighbouring elements as one load, store or reduction of a thread: plain operations that
// LLVM may move and share, or assembly under a predicate. As branches, masked accesses would wait
// for each other.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_PASSES_EMIT_GLOBALACCESS_H
#define TILELOOM_PASSES_EMIT_GLOBALACCESS_H

#include "passes/Emit/TileConversion.h"

namespace tileloom::emit {

/// Elements of one access as the words that its instruction moves: 8 to 32 bits each, 64 for wide
/// elements. i1 travels as a byte.
struct Words {
  Words(mlir::Type element, size_t count);
  mlir::Type type(mlir::OpBuilder &builder) const { return builder.getIntegerType(wordBits); }
  llvm::SmallVector<mlir::Value> from(mlir::OpBuilder &builder, mlir::Location loc,
                                      llvm::ArrayRef<mlir::Value> elements) const;
  llvm::SmallVector<mlir::Value> to(mlir::OpBuilder &builder, mlir::Location loc,
                                    llvm::ArrayRef<mlir::Value> values) const;

  mlir::Type element;
  size_t count, words;
  unsigned wordBits;
};

/// On assembly: "load" or "store", if that is all it does to memory.
inline constexpr llvm::StringLiteral accessAttrName = "tileloom.access";

/// pointer + offset * element bytes, in global memory.
mlir::Value globalAddress(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value pointer,
                          mlir::Value offset, mlir::Type element);

/// Reads words; where `mask` (if any) is false the result is `others`, or zeros if that is empty.
llvm::SmallVector<mlir::Value> loadWords(mlir::OpBuilder &builder, mlir::Location loc,
                                         const Words &words, mlir::Value address, mlir::Value mask,
                                         llvm::ArrayRef<mlir::Value> others, bool invariant,
                                         std::optional<nv::CacheHint> cache);
void storeWords(mlir::OpBuilder &builder, mlir::Location loc, const Words &words,
                mlir::Value address, mlir::Value mask, llvm::ArrayRef<mlir::Value> values,
                std::optional<nv::CacheHint> cache);
/// red.global of neighbouring elements, in one instruction.
void reduceElements(mlir::OpBuilder &builder, mlir::Location loc, nv::ReduceKind kind,
                    llvm::ArrayRef<mlir::Value> elements, mlir::Value address, mlir::Value mask);

} // namespace tileloom::emit

#endif // TILELOOM_PASSES_EMIT_GLOBALACCESS_H
