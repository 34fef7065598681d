//===- OperandStaging.cpp - Operands of products that are not copied by TMA ---------------===//
//
// The tensor core reads B, and on Blackwell both operands, from shared memory. TMA puts tiles that
// are loaded through descriptors there; others are written by threads:
// - what is computed from memory that the kernel does not write (pointers, masks, conversions) by a role
//   of its own, `gather`, which runs ahead of the products as the load role does;
// - what is computed from copies by that role too, if the cost model finds an iteration shorter
//   (Schedule/Producers.h): Hopper's warps that multiply would compute between products, each all
//   of B. Blackwell's are another role's, whose warps wait for the sums in any case;
// - what depends on products or atomic results by `math`, which has these values. Of such operands
//   only B: A goes to registers (Hopper) or tensor memory (Blackwell), which is shorter.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/OperandStaging.h"

#include "passes/Warp/Projection.h"
#include "passes/Warp/WrittenMemory.h"
#include "tileloom/Schedule/CostModel.h"
#include "tileloom/Schedule/Producers.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tileloom;

bool tileloom::isStack(Operation *op) {
  auto concat = dyn_cast<nv::ConcatOp>(op);
  return concat && concat.getDim() == 0 && llvm::all_of(concat.getInputs(), [](Value input) {
           return input.getDefiningOp<tile::LoadOp>() && input.hasOneUse();
         });
}

int64_t tileloom::rowBlocks(tile::DotOp dot) {
  auto kernel = dot->getParentOfType<FunctionOpInterface>();
  auto schedule = kernel ? kernel->getAttrOfType<tile::ScheduleAttr>(tile::scheduleAttrName) : tile::ScheduleAttr();
  return schedule && schedule.word("use") != StringRef("pingpong") ? schedule.integer("replicas").value_or(1) : 1;
}

bool tileloom::fitsTensorCore(tile::DotOp dot, bool tensorMemory) {
  auto a = cast<RankedTensorType>(dot.getA().getType());
  auto d = cast<RankedTensorType>(dot.getType());
  int64_t rows = d.getDimSize(0), columns = d.getDimSize(1);
  int64_t blocks = tensorMemory ? rowBlocks(dot) : 1;
  bool rowsFit = tensorMemory ? rows == 64 * blocks || rows == 128 * blocks : rows % 64 == 0;
  if (isa<IntegerType>(d.getElementType()) && columns > 24 && columns % 16)
    return false;
  return rowsFit && columns % (tensorMemory ? 16 : 8) == 0 && columns <= 256 &&
         a.getDimSize(1) * tile::elementBits(a.getElementType()) % 256 == 0;
}

namespace {

/// Whether `value` follows from arguments and memory that the kernel only reads (and, with
/// `copies`, from tiles that are copied), so that any role can compute it.
bool followsFromMemory(Value value, const WrittenMemory &written, bool copies = false) {
  SmallVector<Value> work{value};
  llvm::DenseSet<Value> seen;
  auto push = [&](Value next) {
    if (seen.insert(next).second)
      work.push_back(next);
  };
  auto carried = [&](scf::ForOp loop, unsigned index) {
    push(loop.getInitArgs()[index]);
    push(loop.getYieldedValues()[index]);
  };
  auto passed = [&](scf::WhileOp loop, unsigned index, bool before) {
    push(loop.getConditionOp().getCondition());
    push(before ? loop.getInits()[index] : loop.getConditionOp().getArgs()[index]);
    if (before)
      push(loop.getYieldOp().getOperand(index));
  };
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(next)) {
      if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp())) {
        for (Value bound : {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
          push(bound);
        if (argument.getArgNumber() > 0)
          carried(loop, argument.getArgNumber() - 1);
      } else if (auto loop = dyn_cast<scf::WhileOp>(argument.getOwner()->getParentOp())) {
        passed(loop, argument.getArgNumber(), argument.getOwner() == loop.getBeforeBody());
      }
      continue;
    }
    Operation *def = next.getDefiningOp();
    unsigned index = cast<OpResult>(next).getResultNumber();
    if (isa<tile::DotOp, tile::AtomicOp, tile::ToSharedOp>(def) ||
        (!copies && isa<tile::LoadOp>(def)))
      return false;
    if (auto gather = dyn_cast<tile::GatherOp>(def); gather && written.isWritten(gather))
      return false;
    if (auto loop = dyn_cast<scf::ForOp>(def)) {
      for (Value bound : {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
        push(bound);
      carried(loop, index);
      continue;
    }
    if (auto loop = dyn_cast<scf::WhileOp>(def)) {
      passed(loop, index, /*before=*/false);
      continue;
    }
    if (auto branch = dyn_cast<scf::IfOp>(def)) {
      push(branch.getCondition());
      for (Region *region : branch.getRegions())
        push(region->front().getTerminator()->getOperand(index));
    } else if (def->getNumRegions()) {
      return false;
    }
    for (Value operand : def->getOperands())
      push(operand);
  }
  return true;
}

class OperandStager {
public:
  OperandStager(func::FuncOp function, const schedule::Machine &machine)
      : function(function), written(function), machine(machine) {
    if (auto schedule = function->getAttrOfType<tile::ScheduleAttr>(tile::scheduleAttrName)) {
      replicas = schedule.integer("replicas").value_or(1);
      takesTurns = schedule.word("use") == StringRef("pingpong");
      wanted = schedule.word("operands").value_or("auto");
    }
  }

  bool run() {
    SmallVector<tile::DotOp> dots;
    function.walk([&](tile::DotOp dot) { dots.push_back(dot); });
    for (tile::DotOp dot : dots)
      for (bool isB : {false, true})
        stage(dot, dot->getOpOperand(isB ? 1 : 0), isB);
    function.walk([&](tile::ToSharedOp op) {
      if (isAhead(op))
        separate(op->getOpOperand(0));
    });
    return gathers;
  }

private:
  static bool isAhead(Operation *op) {
    auto shared = dyn_cast<tile::ToSharedOp>(op);
    return shared && shared->getAttrOfType<StringAttr>(warp::inAttrName).getValue() == gatherRole;
  }

  /// Whether all that uses an operation's results, through pure code, is made ahead.
  static bool leadsAheadOnly(Operation *op) {
    llvm::SetVector<Operation *> reached;
    reached.insert(op);
    for (size_t i = 0; i < reached.size(); ++i)
      for (Operation *user : reached[i]->getUsers()) {
        if (isAhead(user))
          continue;
        if (!isPure(user) || user->getNumRegions() || user->hasTrait<OpTrait::IsTerminator>())
          return false;
        reached.insert(user);
      }
    return true;
  }

  /// What an operand that is made ahead is computed from, and other roles use as well, again: a copied tile has one reader, whose role all of the
  /// code on it belongs to.
  void separate(OpOperand &use) {
    Operation *def = use.get().getDefiningOp();
    if (!def || isa<tile::LoadOp, tile::ToSharedOp>(def) || !isPure(def) || def->getNumRegions() ||
        !followsFromCopies(def))
      return;
    if (!leadsAheadOnly(def)) {
      Operation *&again = separated[def];
      bool fresh = !again;
      if (fresh)
        again = OpBuilder(def).clone(*def);
      use.set(again->getResult(cast<OpResult>(use.get()).getResultNumber()));
      if (!fresh)
        return;
      def = again;
    }
    for (OpOperand &operand : def->getOpOperands())
      separate(operand);
  }

  static bool followsFromCopies(Operation *op) {
    llvm::SetVector<Operation *> reached;
    reached.insert(op);
    for (size_t i = 0; i < reached.size(); ++i)
      for (Value operand : reached[i]->getOperands())
        if (Operation *def = operand.getDefiningOp()) {
          if (isa<tile::LoadOp>(def))
            return true;
          reached.insert(def);
        }
    return false;
  }

  void stage(tile::DotOp dot, OpOperand &operand, bool isB) {
    Value value = operand.get(), source = value;
    auto trans = value.getDefiningOp<tile::TransOp>();
    if (trans)
      source = trans.getSource();
    Operation *def = source.getDefiningOp();
    bool viewed = static_cast<bool>(trans); // the product sees the stored tile transposed
    // Elements of 16 bits are read from either order of dimensions, with K first if rows have a swizzle or are one core matrix wide; others with
    // K last only.
    auto stored = cast<RankedTensorType>(source.getType());
    int64_t bits = tile::elementBits(stored.getElementType()), row = stored.getShape().back() * bits / 8;
    bool anyOrder = bits == 16 && (viewed == isB || row % 32 == 0 || row == 16);
    if (def && (isa<tile::ToSharedOp>(def) || isStack(def)))
      return;
    bool load = isa_and_nonnull<tile::LoadOp>(def);
    if (load && (anyOrder || viewed == isB))
      return;
    bool ahead = load || followsFromMemory(source, written) || isMadeAhead(source) || worthRole(dot, source, isB);
    if (!isB && !ahead)
      return;
    if (!anyOrder && viewed != isB) {
      source = value;
      if (isB)
        source = transposed(source);
      viewed = isB;
    }
    Value slot = toShared(source, ahead, dot.getLoc());
    operand.set(viewed ? transposed(slot) : slot);
  }

  /// Whether another product has it made ahead already: the copies that it follows from have one reader.
  bool isMadeAhead(Value source) const {
    Value made = staged.lookup(source);
    return made && made.getDefiningOp()->getAttrOfType<StringAttr>(warp::inAttrName).getValue() == gatherRole;
  }

  bool worthRole(tile::DotOp dot, Value source, bool isB) const {
    if (wanted == mathRole || !followsFromMemory(source, written, /*copies=*/true))
      return false;
    auto cost = schedule::producerCost(dot, source, isB, replicas, takesTurns, machine);
    return wanted == gatherRole ? cost.possible : !machine.tensorMemory && cost.wantsRole();
  }

  static Value transposed(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(llvm::reverse(type.getShape()));
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    return tile::TransOp::create(builder, value.getLoc(),
                                 RankedTensorType::get(shape, type.getElementType()), value);
  }

  Value toShared(Value source, bool ahead, Location loc) {
    Value &known = staged[source];
    if (known)
      return known;
    OpBuilder builder(source.getContext());
    builder.setInsertionPointAfterValue(source);
    auto op = tile::ToSharedOp::create(builder, loc, source.getType(), source);
    op->setAttr(warp::inAttrName, builder.getStringAttr(ahead ? gatherRole : mathRole));
    gathers |= ahead;
    return known = op.getResult();
  }

  func::FuncOp function;
  WrittenMemory written;
  const schedule::Machine &machine;
  bool takesTurns = false;
  int64_t replicas = 1;
  StringRef wanted = "auto";
  llvm::DenseMap<Value, Value> staged;
  llvm::DenseMap<Operation *, Operation *> separated;
  bool gathers = false;
};

} // namespace

bool tileloom::stageOperands(func::FuncOp function, const schedule::Machine &machine) {
  return OperandStager(function, machine).run();
}
