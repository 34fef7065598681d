//===- AsyncOps.cpp - Operations that complete later ----------------------===//
//
// See AsyncOps.h.
//
//===----------------------------------------------------------------------===//
#include "AsyncOps.h"

#include <algorithm>

namespace tileloom {
namespace sim {

uint64_t AsyncQueue::push(AsyncOp op, std::mt19937_64 *random) {
  op.id = next++;
  // Random delays reach over many turns, so that later copies overtake earlier ones; some over very
  // many.
  op.due = round + 1;
  if (random) {
    uint64_t r = (*random)();
    op.due += (r >> 8) % (r % 8 ? 24 : 400);
  }
  ids.insert(op.id);
  uint64_t id = op.id;
  ops.push_back(std::move(op));
  return id;
}

bool AsyncQueue::waits(const AsyncOp &op) const {
  return std::any_of(op.after.begin(), op.after.end(), [&](uint64_t id) { return pending(id); });
}

void AsyncQueue::finish(size_t index) {
  AsyncOp op = std::move(ops[index]);
  ops.erase(ops.begin() + long(index));
  ids.erase(op.id);
  op.complete(); // may push new operations
}

bool AsyncQueue::tick() {
  ++round;
  bool any = false;
  for (size_t i = 0; i < ops.size();) {
    if (ops[i].due <= round && !waits(ops[i])) {
      finish(i);
      any = true;
    } else {
      ++i;
    }
  }
  return any;
}

bool AsyncQueue::completeOne() {
  for (size_t i = 0; i < ops.size(); ++i) {
    if (waits(ops[i]))
      continue;
    finish(i);
    return true;
  }
  return false;
}

const AsyncOp *AsyncQueue::findOfCta(uint32_t cta) const {
  for (const AsyncOp &op : ops)
    if (op.cta == cta)
      return &op;
  return nullptr;
}

} // namespace sim
} // namespace tileloom
