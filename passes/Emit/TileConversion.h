//===- TileConversion.h - Shared parts of the tile expansion ---------------------*- C++ -*-===//
//
// What the pattern files of convert-tiles share: the type converter (one value for each 32-bit
// register of a thread), which thread of a role is executing, and address arithmetic that is linear
// over F2 in lane and warp.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_PASSES_EMIT_TILECONVERSION_H
#define TILELOOM_PASSES_EMIT_TILECONVERSION_H

#include "dialects/Warp/Warp.h"
#include "tileloom/Analysis/TileLayouts.h"
#include "tileloom/Layout/AccessPlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/DialectConversion.h"

namespace tileloom::emit {

/// Name of the symbol of dynamic shared memory.
inline constexpr llvm::StringLiteral sharedSymbol = "tileloom_shared";

class TileTypeConverter : public mlir::TypeConverter {
public:
  explicit TileTypeConverter(mlir::MLIRContext *context);

  /// The layout of a tensor type; computed once. Null (and an error at `loc`) if the type has none.
  const layout::RegisterLayout *layoutOf(mlir::RankedTensorType type, mlir::Location loc) const;

private:
  const layout::RegisterLayout *lookup(mlir::RankedTensorType type, std::string &error) const;
  mutable llvm::DenseMap<mlir::Type, std::unique_ptr<layout::RegisterLayout>> layouts;
};

/// The conversion of one operation, with the layouts at hand.
template <typename Op> class OpPattern : public mlir::OpConversionPattern<Op> {
public:
  OpPattern(TileTypeConverter &converter, mlir::MLIRContext *context)
      : mlir::OpConversionPattern<Op>(converter, context), converter(converter) {}
  using Adaptor = typename Op::Adaptor;
  using OneToN = typename mlir::OpConversionPattern<Op>::OneToNOpAdaptor;

protected:
  TileTypeConverter &converter;
};

/// Elements that share one 32-bit value: 2 for 16-bit types, 4 for 8-bit types, else 1.
unsigned elementsPerValue(mlir::RankedTensorType type, unsigned registers);
/// The type of such a value.
mlir::Type valueType(mlir::Type elementType, unsigned elements);
/// What one element is computed in (8-bit floats have no arithmetic: i8).
mlir::Type scalarType(mlir::Type elementType);

/// The elements of a thread's share of a tile, and back.
llvm::SmallVector<mlir::Value> unpack(mlir::OpBuilder &builder, mlir::Location loc,
                                      mlir::RankedTensorType type, mlir::ValueRange values);
llvm::SmallVector<mlir::Value> pack(mlir::OpBuilder &builder, mlir::Location loc,
                                    mlir::RankedTensorType type,
                                    llvm::ArrayRef<mlir::Value> elements);

/// Scalar arithmetic with constants folded where trivial.
struct Scalar {
  mlir::OpBuilder &builder;
  mlir::Location loc;

  mlir::Value i32(int64_t value);
  mlir::Value add(mlir::Value a, int64_t b);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value bitXor(mlir::Value a, mlir::Value b);
  mlir::Value bitAnd(mlir::Value a, int64_t b);
  mlir::Value shiftLeft(mlir::Value a, int64_t bits);
  mlir::Value shiftRight(mlir::Value a, int64_t bits);
  mlir::Value mul(mlir::Value a, int64_t b);
  /// `base` + `bytes` in shared memory.
  mlir::Value advance(mlir::Value base, mlir::Value bytes);
  mlir::Value advance(mlir::Value base, int64_t bytes);
};

/// The executing thread within the role (and its replica) that an operation belongs to.
struct ThreadPosition {
  ThreadPosition(mlir::OpBuilder &builder, mlir::Operation *op);

  mlir::Value thread, lane, warp; ///< in the replica, in the warp, in the replica
  mlir::Value replica;
  int64_t firstWarp = 0, warps = 1, replicas = 1;
  bool single = false; ///< the role runs in one thread
  /// True in one thread of each warp / of the replica. Not for single-thread roles.
  mlir::Value isFirstLane(mlir::OpBuilder &builder, mlir::Location loc);
  mlir::Value isFirstThread(mlir::OpBuilder &builder, mlir::Location loc);
};

/// The value of a function of lane and warp, with `xorConstant` XORed into its XORed part.
mlir::Value evaluate(mlir::OpBuilder &builder, mlir::Location loc,
                     const layout::ThreadFunction &function, const ThreadPosition &position,
                     int64_t xorConstant = 0);
/// The thread's part of the index of the elements that it holds along `dim`.
layout::ThreadFunction threadIndex(const layout::RegisterLayout &layout, unsigned dim);

/// The addresses of the accesses of one plan to shared memory: one for each distinct XOR, made
/// where it is first needed, and immediates.
class SharedAddresses {
public:
  SharedAddresses(mlir::OpBuilder &builder, mlir::Operation *op,
                  const layout::ThreadFunction &bytes, mlir::Value base)
      : position(builder, op), loc(op->getLoc()), bytes(bytes), base(base) {}
  mlir::Value at(mlir::OpBuilder &builder, const layout::SharedAccess &access);

  ThreadPosition position;

private:
  mlir::Location loc;
  const layout::ThreadFunction &bytes;
  mlir::Value base;
  llvm::DenseMap<int64_t, mlir::Value> known;
};

/// True in the threads that hold an element first, of those that differ in the given bits of lane
/// and warp; null if no bits are given.
mlir::Value withoutCopies(mlir::OpBuilder &builder, mlir::Location loc, unsigned lanes,
                          unsigned warps, const ThreadPosition &position);

/// The indices along `dim` of the elements that the executing thread holds, as i32.
llvm::SmallVector<mlir::Value> indicesAlong(mlir::OpBuilder &builder, mlir::Location loc,
                                            const layout::RegisterLayout &layout, unsigned dim,
                                            const ThreadPosition &position);
/// The same as row-major numbers.
llvm::SmallVector<mlir::Value> flatIndices(mlir::OpBuilder &builder, mlir::Location loc,
                                           const layout::RegisterLayout &layout,
                                           const ThreadPosition &position);
/// The elements at `registers` of a thread's share of a tile, as that of a tile of type `result`.
llvm::SmallVector<mlir::Value> chooseRegisters(mlir::OpBuilder &builder, mlir::Location loc,
                                               mlir::RankedTensorType source,
                                               mlir::RankedTensorType result,
                                               mlir::ValueRange values,
                                               llvm::ArrayRef<unsigned> registers);

/// Bit `index` of a constant, and entry `index` of a table of numbers below 2^8 (negative: any).
mlir::Value tableBit(mlir::OpBuilder &builder, mlir::Location loc, uint64_t table,
                     mlir::Value index);
mlir::Value tableEntry(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<int64_t> table,
                       mlir::Value index);

/// The value that lane ^ mask, or lane `from`, has. Any integer or float type of up to 64 bits.
mlir::Value shuffleXor(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                       unsigned mask);
mlir::Value shuffleIndex(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                         mlir::Value from);
/// The value that the lane `lanes` before (or with `down` after) the executing one has.
mlir::Value shuffleShift(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                         int64_t lanes, bool down);
/// Meets all threads of the replica that `op` belongs to.
void createRoleBarrier(mlir::OpBuilder &builder, mlir::Operation *op);
/// One step of a reduction; `flags` are those of a float addition.
mlir::Value combine(mlir::OpBuilder &builder, mlir::Location loc, nv::ReduceKind kind,
                    mlir::Value a, mlir::Value b,
                    mlir::arith::FastMathFlags flags = mlir::arith::FastMathFlags::none);

/// CTAs of a cluster: the executing one's rank, that of the even one of its pair, and how many
/// there are.
mlir::Value ctaRank(mlir::OpBuilder &builder, mlir::Location loc);
mlir::Value leaderRank(mlir::OpBuilder &builder, mlir::Location loc);
int64_t clusterSizeOf(mlir::Operation *op);
/// The address in the shared::cluster window of what is at `address` in the CTA of rank `rank`.
mlir::Value mapToCta(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value address,
                     mlir::Value rank);
/// A shared address as one of another space with the same bits: the shared::cta window lies in the
/// shared::cluster one (PTX ISA 6.4.1), and a cast would go through generic addresses.
mlir::Value sameBits(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value address,
                     unsigned space);

/// A pointer to tensor memory `columns` after `address`, and the address of a slice.
mlir::Value tensorPointer(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value address,
                          int64_t columns = 0);
llvm::FailureOr<mlir::Value> tensorSlice(nv::MemDescSliceOp op, mlir::Value source,
                                         llvm::ArrayRef<mlir::ValueRange> offsets,
                                         mlir::OpBuilder &builder);

/// Runs `body` in the threads that `issuer` names.
void createIssued(mlir::OpBuilder &builder, mlir::Operation *op, nv::Issuer issuer,
                  llvm::function_ref<void(mlir::OpBuilder &)> body);

/// LLVM's name of a scope.
llvm::StringRef syncScopeOf(nv::MemScope scope);

/// Calls an LLVM intrinsic.
mlir::Value callIntrinsic(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef name,
                          mlir::Type result, mlir::ValueRange operands);
void callIntrinsic(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef name,
                   mlir::ValueRange operands);

void populateElementwisePatterns(TileTypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateSplatPatterns(TileTypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateShapePatterns(TileTypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateReducePatterns(TileTypeConverter &converter, mlir::RewritePatternSet &patterns);
/// `root`: what is converted, whose sums share registers.
void populatePartialPatterns(TileTypeConverter &converter, mlir::RewritePatternSet &patterns, mlir::Operation *root);
void populateScanPatterns(TileTypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateExchangePatterns(TileTypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateIndexedPatterns(TileTypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateMmaPatterns(TileTypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateCpAsyncPatterns(TileTypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateMemoryPatterns(TileTypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateTransposePatterns(TileTypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateGlobalPatterns(TileTypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateAsyncPatterns(TileTypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateAtomicPatterns(TileTypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateClusterPatterns(TileTypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateTcgen05Patterns(TileTypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateTensorMemoryPatterns(TileTypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateWgmmaPatterns(TileTypeConverter &converter, mlir::RewritePatternSet &patterns);

} // namespace tileloom::emit

#endif // TILELOOM_PASSES_EMIT_TILECONVERSION_H
