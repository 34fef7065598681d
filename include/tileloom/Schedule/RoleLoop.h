//===- RoleLoop.h - The loop of a role as a graph --------------------------------*- C++ -*-===//
//
// A loop whose body is written as if products were synchronous: each nv.wgmma directly awaited with
// pending(0). The graph takes a product apart into issue and retire, and has an edge for every
// order that any schedule of the body must keep.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_SCHEDULE_ROLELOOP_H
#define TILELOOM_SCHEDULE_ROLELOOP_H

#include "dialects/NV/NV.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tileloom::schedule {

/// View: free to repeat where it is needed (views of slots, constants, scalar arithmetic).
enum class NodeKind { Sync, View, Acquire, Release, Issue, Retire };

struct Node {
  NodeKind kind;
  mlir::Operation *op; // of a retire: the wait
  int partner = -1;    // of an issue its retire, and the other way round
};

/// `to` in iteration i comes after `from` in iteration i - distance; if `data`, it reads its
/// result.
struct Edge {
  unsigned from, to, distance;
  bool data = false;
};

struct RoleLoop {
  mutable mlir::scf::ForOp loop; // a handle: what it names may change
  llvm::SmallVector<Node> nodes; // in program order
  llvm::SmallVector<Edge> edges;
  llvm::DenseMap<mlir::Operation *, unsigned> nodeOf; // a wait: its retire node

  /// None, with the reason, if the body has something that only its own order explains.
  static std::optional<RoleLoop> build(mlir::scf::ForOp loop, std::string &why);

  /// The node that `value` comes from: in the same iteration (distance 0), or through a carried
  /// value from the one before (distance 1). None for values from outside the loop.
  struct Source {
    unsigned node, distance;
  };
  std::optional<Source> sourceOf(mlir::Value value) const;

  llvm::SmallVector<unsigned> products() const; // issue nodes
  mlir::Value yielded(mlir::BlockArgument argument) const;
  /// True if the waited value of a product is only the accumulator of the next product.
  bool isChained(unsigned retire) const;
};

} // namespace tileloom::schedule

#endif // TILELOOM_SCHEDULE_ROLELOOP_H
