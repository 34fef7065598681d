//===- Staging.h - Keeping a unit busy while waiting ------------------------------*- C++ -*-===//
//
// The order of small pieces of synchronous work before a wait: knows what each piece costs on which
// unit and what it needs, nothing of operations.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_SCHEDULE_STAGING_H
#define TILELOOM_SCHEDULE_STAGING_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace tileloom::schedule {

/// Work on one row slot. `critical`: clocks on the unit to be kept busy; `other`: clocks during
/// which the warps issue it; `slot`: which rows (pieces of all rows: none). A `late` piece comes
/// after the wait even if it could come before.
struct Piece {
  double critical = 0, other = 0;
  unsigned slot = 0;
  bool late = false;
  llvm::SmallVector<unsigned> needs;
};

struct Staging {
  llvm::SmallVector<unsigned> before, after; // the wait
};

/// Lists the pieces so that the critical unit starts early and stays busy: a piece for it as soon
/// as it has nothing to do, else what the next such piece needs, else any other work. What needs a
/// late piece is late as well. Pieces are in an order that respects their needs.
Staging stagePieces(llvm::ArrayRef<Piece> pieces);

} // namespace tileloom::schedule

#endif // TILELOOM_SCHEDULE_STAGING_H
