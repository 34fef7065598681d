//===- Reconvergence.cpp - Where diverged threads meet again --------------===//
//
// The immediate post-dominator of each conditional branch, over the control flow graph of the
// decoded kernel. Blocks that end in a trap are left out: they never come back, and would otherwise
// make "the end" the only common place. Algorithm: Cooper, Harvey, Kennedy on the reversed graph.
//
//===----------------------------------------------------------------------===//
#include "Decoder.h"

#include <algorithm>

namespace tileloom {
namespace sim {

namespace {
struct Block {
  uint32_t first, last;
  std::vector<uint32_t> next, previous;
  bool traps = false;
};
} // namespace

static std::vector<Block> findBlocks(const Program &p, std::vector<uint32_t> &blockOf) {
  size_t n = p.code.size();
  std::vector<uint8_t> leader(n + 1, 0);
  leader[0] = 1;
  for (size_t i = 0; i < n; ++i) {
    const Instr &in = p.code[i];
    if (in.flags & FlagBranch && in.target < n)
      leader[in.target] = 1;
    if (in.flags & FlagIndirect)
      for (uint32_t t : p.jumpTables[size_t(in.imm)])
        leader[t] = 1;
    if (in.flags & (FlagBranch | FlagExit | FlagIndirect | FlagTrap))
      leader[i + 1] = 1;
  }
  std::vector<Block> blocks;
  blockOf.assign(n + 1, 0);
  for (size_t i = 0; i < n; ++i) {
    if (leader[i])
      blocks.push_back({uint32_t(i), uint32_t(i), {}, {}, false});
    blocks.back().last = uint32_t(i);
    blockOf[i] = uint32_t(blocks.size() - 1);
  }
  return blocks;
}

void findJoins(Program &p) {
  std::vector<uint32_t> blockOf;
  std::vector<Block> blocks = findBlocks(p, blockOf);
  uint32_t exit = uint32_t(blocks.size());
  blocks.push_back({uint32_t(p.code.size()), uint32_t(p.code.size()), {}, {}, false});
  auto edge = [&](uint32_t from, uint32_t to) {
    blocks[from].next.push_back(to);
    blocks[to].previous.push_back(from);
  };
  for (uint32_t b = 0; b < exit; ++b) {
    const Instr &in = p.code[blocks[b].last];
    bool conditional = in.guard >= 0;
    if (in.flags & FlagTrap && !conditional) {
      blocks[b].traps = true;
      continue;
    }
    if (in.flags & FlagBranch && in.target < p.code.size())
      edge(b, blockOf[in.target]);
    else if (in.flags & FlagBranch)
      edge(b, exit);
    if (in.flags & FlagIndirect)
      for (uint32_t t : p.jumpTables[size_t(in.imm)])
        edge(b, blockOf[t]);
    if (in.flags & FlagExit && !conditional)
      edge(b, exit);
    if (conditional || !(in.flags & (FlagBranch | FlagExit | FlagIndirect)))
      if (b + 1 < exit)
        edge(b, b + 1);
  }
  // Postorder of the reversed graph from the exit.
  std::vector<int32_t> order(blocks.size(), -1), dominator(blocks.size(), -1);
  std::vector<uint32_t> sequence;
  std::vector<std::pair<uint32_t, size_t>> stack{{exit, 0}};
  std::vector<uint8_t> visited(blocks.size(), 0);
  visited[exit] = 1;
  while (!stack.empty()) {
    uint32_t block = stack.back().first;
    if (stack.back().second < blocks[block].previous.size()) {
      uint32_t next = blocks[block].previous[stack.back().second++];
      if (!visited[next]) {
        visited[next] = 1;
        stack.push_back({next, 0});
      }
    } else {
      order[block] = int32_t(sequence.size());
      sequence.push_back(block);
      stack.pop_back();
    }
  }
  dominator[exit] = int32_t(exit);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = sequence.size(); i-- > 0;) {
      uint32_t b = sequence[i];
      if (b == exit)
        continue;
      int32_t best = -1;
      for (uint32_t s : blocks[b].next) {
        if (order[s] < 0 || dominator[s] < 0)
          continue;
        if (best < 0) {
          best = int32_t(s);
          continue;
        }
        uint32_t x = uint32_t(best), y = s;
        while (x != y) {
          while (order[x] < order[y])
            x = uint32_t(dominator[x]);
          while (order[y] < order[x])
            y = uint32_t(dominator[y]);
        }
        best = int32_t(x);
      }
      if (best != dominator[b]) {
        dominator[b] = best;
        changed = true;
      }
    }
  }
  for (uint32_t b = 0; b < exit; ++b) {
    Instr &in = p.code[blocks[b].last];
    if (!(in.flags & (FlagBranch | FlagIndirect)) || dominator[b] < 0)
      continue;
    uint32_t d = uint32_t(dominator[b]);
    in.join = d == exit ? ~0u : blocks[d].first;
  }
}

} // namespace sim
} // namespace tileloom
