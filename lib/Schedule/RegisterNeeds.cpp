//===- RegisterNeeds.cpp - Whether the sums of a program have room ------------------------===//
//
// Sums and operands that the registers of a thread (or tensor memory) hold at once.
//
//===--------------------------------------------------------------------------------------===//

#include "RegisterNeeds.h"

#include "tileloom/Schedule/Engines.h"
#include "tileloom/Schedule/Limits.h"
#include "tileloom/Schedule/Traffic.h"

#include "dialects/Tile/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tileloom::schedule {

std::string refusedRegisters(func::FuncOp kernel, const Machine &machine, int64_t replicas, bool takesTurns, bool &overlaid) {
  std::string reason;
  auto schedule = kernel->getAttrOfType<tile::ScheduleAttr>(tile::scheduleAttrName);
  bool byColumns = schedule && schedule.dividesColumns();
  auto rows = [&](double whole) { return takesTurns ? whole : whole / replicas; };
  double held = 0, columns = 0, over = 0, overWidest = 0, widest = 0;
  bool computes = false;
  kernel.walk([&](tile::DotOp dot) {
    auto sum = cast<RankedTensorType>(dot.getType());
    double own = rows(sum.getDimSize(0)) * sum.getDimSize(1) / 128;
    held += own;
    widest = std::max(widest, own);
    columns += sum.getDimSize(1);
    Value a = dot.getA();
    if (auto trans = a.getDefiningOp<tile::TransOp>())
      a = trans.getSource();
    if (!a.getDefiningOp<tile::LoadOp>()) {
      auto type = cast<RankedTensorType>(a.getType());
      double bits = type.getElementTypeBitWidth();
      // Three warpgroups await each product, so most of what is made of a sum takes its place.
      computes = true;
      held += rows(type.getDimSize(0)) * type.getDimSize(1) * bits / 32 / 128 /
              (replicas > 2 ? 2 : 1);
      columns += type.getDimSize(1) * bits / 32;
      over += type.getDimSize(1) * bits / 32;
      overWidest = std::max<double>(overWidest, type.getDimSize(1));
    }
    double least = machine.tensorMemory ? 128 : 64;
    if ((byColumns ? sum.getDimSize(0) : rows(sum.getDimSize(0))) < least || (machine.tensorMemory && rows(sum.getDimSize(0)) > 128))
      reason = "rows of a product: " + llvm::utostr(uint64_t(sum.getDimSize(0)));
  });
  // What a sum meets after its loop is in registers beside it.
  kernel.walk([&](tile::LoadOp load) {
    bool operand = llvm::any_of(load->getUsers(), [](Operation *user) {
      auto trans = dyn_cast<tile::TransOp>(user);
      return isa<tile::DotOp>(user) || (trans && trans.isMatrix());
    });
    if (!isStreamed(load) && !operand)
      held += rows(load.getType().getDimSize(0)) * bytesOf(load.getType()) /
              load.getType().getDimSize(0) / 4 / 128;
  });
  if (machine.tensorMemory) {
    // Each block of rows has its own. What is made of a sum may lie over it.
    double blocks = takesTurns ? 1 : replicas;
    overlaid = columns * blocks > tensorMemoryColumns;
    if (overlaid)
      columns -= over;
    // A row of the sum is in registers as a whole then: 160 columns spilled 120 to 400 bytes beside another block's.
    if (overlaid && overWidest > 128)
      reason = "registers: " + llvm::utostr(uint64_t(overWidest)) + " columns of a sum under what is made of it";
    if (columns * blocks > tensorMemoryColumns)
      reason = "tensor memory: " + llvm::utostr(uint64_t(columns * blocks)) + " columns needed";
  } else {
    // The registers of an SM, shared by the warpgroups with products, less addresses and the
    // like.
    int64_t there = wideRegisters(replicas) - (replicas > 2 ? 28 : machine.otherRegisters);
    // Operands made of sums take moves where registers are scarce (D 128: 144 keys, 172 registers,
    // take no longer for each than 128; 160 keys, 184, 4 % longer, 176 keys, 196, 15 %; in 8 bits 192 keys, 184, 2 % shorter
    // full, 4 % longer causal).
    if (computes && replicas < 3)
      there = std::min<int64_t>(there, 180);
    // In turns (128 rows) ptxas serialised the products of one sum of 224 registers and spilled beside 208 where a bias is added; shared by two
    // warpgroups, 208 leave the role that copies 24 registers, which spills its places beside clusters, slices and `keep` (8 to 36 bytes), and
    // was the fastest tile for none of 63 products; of three warpgroups it refused 104 (C7602: at a launch of 512 threads each has 128).
    int64_t together = replicas > 2 ? 96 : widestSum;
    if (widest > together)
      reason = "registers: " + llvm::utostr(uint64_t(widest)) + " a thread for one sum, " +
                      llvm::utostr(together) + " there";
    if (held > there)
      reason = "registers: " + llvm::utostr(uint64_t(held)) +
                      " a thread for sums and operands, " + llvm::utostr(there) + " there";
  }
  return reason;
}

} // namespace tileloom::schedule
