//===- Staging.cpp - Keeping a unit busy while waiting ------------------------------------===//
//
// List scheduling in the clock of the issuing warps. Pieces that feed the critical unit are taken
// slot by slot: the rows begun are finished first, which ends the lives of their registers.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Schedule/Staging.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace tileloom::schedule;

Staging tileloom::schedule::stagePieces(ArrayRef<Piece> pieces) {
  unsigned count = pieces.size();
  SmallVector<bool> done(count, false), late(count, false), feeds(count, false);
  for (unsigned i = 0; i < count; ++i)
    late[i] =
        pieces[i].late || any_of(pieces[i].needs, [&](unsigned other) { return late[other]; });
  for (unsigned i = count; i-- > 0;)
    if (pieces[i].critical > 0 || feeds[i])
      for (unsigned other : pieces[i].needs)
        feeds[other] = true;
  auto isReady = [&](unsigned i) {
    return !done[i] && !late[i] && all_of(pieces[i].needs, [&](unsigned o) { return done[o]; });
  };
  auto pick = [&](auto wanted) {
    unsigned best = count;
    for (unsigned i = 0; i < count; ++i)
      if (isReady(i) && wanted(i) && (best == count || pieces[i].slot < pieces[best].slot))
        best = i;
    return best;
  };
  Staging result;
  double now = 0, free = 0; // the warps; the critical unit
  while (true) {
    auto critical = [&](unsigned i) { return pieces[i].critical > 0; };
    auto feeding = [&](unsigned i) { return feeds[i] && !critical(i); };
    auto any = [](unsigned) { return true; };
    unsigned next = now >= free ? pick(critical) : count;
    if (next == count)
      next = pick(feeding);
    if (next == count)
      next = pick([&](unsigned i) { return !critical(i); });
    if (next == count)
      next = pick(any);
    if (next == count)
      break;
    now += pieces[next].other;
    if (critical(next))
      free = std::max(free, now) + pieces[next].critical;
    done[next] = true;
    result.before.push_back(next);
  }
  for (unsigned i = 0; i < count; ++i)
    if (!done[i])
      result.after.push_back(i);
  return result;
}
