//===- RingInputs.h - The scalars that decide trip counts -----------------------*- C++ -*-===//
//
// Loop bounds, branch conditions and skip counts are computed from kernel arguments, launch indices
// and loads. Inputs finds the leaves of these computations, and for each the values worth trying:
// trip counts around 0 and around multiples of the ring depths for inner loops, 0 to 3 for loops
// over tiles. A Valuation picks one value for each.
//
// Everything between leaf and bound is then computed, not matched, so that a bound means the same
// in all roles however each of them spells it.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_ANALYSIS_RINGINPUTS_H
#define TILELOOM_ANALYSIS_RINGINPUTS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <optional>

namespace tileloom::rings {

struct Leaf {
  enum Kind {
    Argument, ///< one value for the whole kernel
    Function, ///< a value that depends on operands only (a load of a table): the same for all roles
    Counter,  ///< an atomic counter: 0, 1, 2, …
    Data      ///< unknown, possibly different each time and in each replica
  };
  Kind kind;
  mlir::Value value; ///< a representative, for messages
  bool decidesWhile = false;
  bool received = false; ///< read from a slot that the program writes: the trace knows the value
  llvm::SmallVector<int64_t> candidates;
};

/// The position of the chosen value in each leaf's candidates.
using Valuation = llvm::SmallVector<int32_t>;

class Inputs {
public:
  using IsRing = llvm::function_ref<bool(mlir::Operation *)>;
  using RingDepth = llvm::function_ref<int64_t(mlir::Operation *)>;

  /// `isRing` tells the operations whose order matters: control flow without any inside decides
  /// nothing. `tripLimit` leaves out trip counts of inner loops from there on (0: none).
  void analyze(mlir::Operation *root, IsRing isRing, RingDepth ringDepth, int64_t tripLimit);

  /// Whether a constant trip count reaches `tripLimit`.
  bool exceedsLimit() const { return constantTripsExceedLimit; }

  bool relevant(mlir::Value value) const { return marks.contains(value); }
  const Leaf *leafOf(mlir::Value value) const;
  llvm::ArrayRef<Leaf> getLeaves() const { return leaves; }

  /// The value of a leaf; `context` varies it for leaves that are not arguments.
  int64_t valueOf(mlir::Value value, const Valuation &valuation, uint64_t context) const;

  /// All combinations, smaller values first; at most `limit`, in which case each leaf is varied
  /// alone and all together. `complete` says which.
  std::vector<Valuation> enumerate(size_t limit, bool &complete) const;

private:
  struct Mark {
    double unit = 1; ///< what a leaf has to grow by for one more trip; below one behind a multiplication
    int64_t mostTiles = 3;
    bool tile = false, inner = false, extra = false;
    double least = 0; ///< the smallest unit of a number of tiles; larger ones count a share of them
    llvm::SmallVector<int64_t, 2> depths;

    /// Of a branch's condition.
    static Mark condition() {
      Mark mark;
      mark.extra = true;
      return mark;
    }
  };
  llvm::DenseMap<mlir::Value, Mark> marks;
  llvm::DenseMap<mlir::Value, int32_t> leafIndex;
  llvm::SmallVector<Leaf> leaves;
  /// What is written to an element of a buffer.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, llvm::SmallVector<mlir::Value, 1>> sent;
  llvm::SmallDenseSet<mlir::Value> whileConditions;
  bool constantTripsExceedLimit = false;

  void mark(mlir::Value value, const Mark &how);
  void markSources(mlir::BlockArgument argument, const Mark &how);
  void markOperands(mlir::Operation *op, const Mark &how);
  static Mark markOf(mlir::Operation *op, IsRing isRing, RingDepth ringDepth);
  void markControl(mlir::Operation *op, Mark how, int64_t tripLimit);
  bool merge(mlir::Value value, const Mark &how);
  llvm::ArrayRef<mlir::Value> sentTo(mlir::Operation *load) const;
  void addLeaf(mlir::Value value, llvm::StringMap<int32_t> &functions);
  void addCandidates(Leaf &leaf, mlir::Value value, int64_t tripLimit);
};

/// An integer operation of arith on known operands: which it is, told once, and its widths.
struct ScalarOp {
  enum Kind : uint8_t { None, Add, Sub, Mul, DivU, DivS, CeilDivU, CeilDivS, FloorDivS, RemU, RemS, MinS, MaxS, MinU, MaxU,
                        And, Or, Xor, ShL, ShRU, ShRS, ZeroExtend, Keep, Compare, Select };
  Kind kind = None;
  uint8_t width = 0, resultWidth = 0, predicate = 0;
  explicit operator bool() const { return kind != None; }

  /// None for other operations.
  static ScalarOp of(mlir::Operation *op);
  /// The result, sign-extended to 64 bits.
  int64_t evaluate(llvm::ArrayRef<int64_t> operands) const;
};

/// Launch indices, constants and the like, whose value does not have to be tried: that of one CTA,
/// or one cluster, that gets all tiles.
std::optional<int64_t> fixedValue(mlir::Operation *op, int64_t replica, int64_t cta, int64_t ctas);

} // namespace tileloom::rings

#endif // TILELOOM_ANALYSIS_RINGINPUTS_H
