//===- AxisInfo.cpp - Contiguity, divisibility and constancy of integers ------------------===//
//
// A sparse forward data-flow analysis (optimistic: what a loop carries keeps what its start and its
// step both have). Divisibility is capped at 2^30, so that products stay small.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Analysis/AxisInfo.h"

#include "AxisInfoRules.h"
#include "dialects/Tile/TileNames.h"

#include "mlir/Analysis/DataFlow/ConstantPropagationAnalysis.h"
#include "mlir/Analysis/DataFlow/DeadCodeAnalysis.h"
#include "mlir/Analysis/DataFlow/SparseAnalysis.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <numeric>

using namespace mlir;
using namespace tileloom;

//===--------------------------------------------------------------------------------------===//
// AxisInfo
//===--------------------------------------------------------------------------------------===//

AxisInfo AxisInfo::unknown(ArrayRef<int64_t> shape) {
  AxisInfo info;
  size_t rank = std::max<size_t>(1, shape.size());
  info.contiguity.assign(rank, 1);
  info.divisibility.assign(rank, 1);
  info.constancy.assign(rank, 1);
  return info;
}

AxisInfo AxisInfo::unknown(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return unknown(tensor ? tensor.getShape() : ArrayRef<int64_t>());
}

int64_t AxisInfo::divisibilityOfAll() const {
  // With a contiguous group only its first element is known to be divisible; any dimension along
  // which elements stand alone speaks for all of them.
  int64_t all = 1;
  for (size_t dim = 0; dim < rank(); ++dim)
    if (contiguity[dim] == 1)
      all = std::max(all, divisibility[dim]);
  return all;
}

int64_t AxisInfo::divisibilityOf(unsigned dim, int64_t size) const {
  // Smaller groups start inside the larger ones.
  return contiguity[dim] > size ? std::gcd(divisibility[dim], size) : divisibility[dim];
}

AxisInfo AxisInfo::join(const AxisInfo &a, const AxisInfo &b) {
  assert(a.rank() == b.rank() && "facts of values of different ranks");
  AxisInfo info = a;
  for (size_t dim = 0; dim < a.rank(); ++dim) {
    info.contiguity[dim] = std::gcd(a.contiguity[dim], b.contiguity[dim]);
    info.divisibility[dim] = std::gcd(a.divisibilityOf(dim, info.contiguity[dim]),
                                      b.divisibilityOf(dim, info.contiguity[dim]));
    info.constancy[dim] = std::gcd(a.constancy[dim], b.constancy[dim]);
  }
  if (a.constant != b.constant)
    info.constant = std::nullopt;
  return info;
}

void AxisInfo::print(llvm::raw_ostream &os) const {
  auto list = [&](const char *name, ArrayRef<int64_t> values) {
    os << name << " [";
    llvm::interleaveComma(values, os);
    os << ']';
  };
  list("contiguity", contiguity);
  list(", divisibility", divisibility);
  list(", constancy", constancy);
  if (constant)
    os << ", constant " << *constant;
}

//===--------------------------------------------------------------------------------------===//
// The analysis
//===--------------------------------------------------------------------------------------===//

namespace {

/// A lattice element: nothing yet, or facts.
struct Facts {
  std::optional<AxisInfo> info;

  bool operator==(const Facts &o) const { return info == o.info; }
  static Facts join(const Facts &a, const Facts &b) {
    if (!a.info || !b.info)
      return a.info ? a : b;
    return {AxisInfo::join(*a.info, *b.info)};
  }
  void print(llvm::raw_ostream &os) const {
    if (info)
      info->print(os);
    else
      os << "none yet";
  }
};

using FactsLattice = dataflow::Lattice<Facts>;

class Analysis : public dataflow::SparseForwardDataFlowAnalysis<FactsLattice> {
public:
  using SparseForwardDataFlowAnalysis::SparseForwardDataFlowAnalysis;

  LogicalResult visitOperation(Operation *op, ArrayRef<const FactsLattice *> operands,
                               ArrayRef<FactsLattice *> results) override {
    SmallVector<AxisInfo> infos;
    for (const FactsLattice *operand : operands) {
      if (!operand->getValue().info)
        return success(); // visited again once it is known
      infos.push_back(*operand->getValue().info);
    }
    for (auto [value, lattice] : llvm::zip(op->getResults(), results)) {
      std::optional<AxisInfo> info =
          op->getNumResults() == 1 ? axisInfoOf(op, infos) : std::nullopt;
      set(lattice, info ? *info : AxisInfo::unknown(value.getType()));
    }
    return success();
  }

  void setToEntryState(FactsLattice *lattice) override {
    Value value = lattice->getAnchor();
    AxisInfo info = AxisInfo::unknown(value.getType());
    if (auto argument = dyn_cast<BlockArgument>(value))
      if (auto function = dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp()))
        if (auto known = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(),
                                                                tile::divisibilityAttrName))
          info.divisibility[0] = powerOfTwoDivisor(known.getInt());
    set(lattice, info);
  }

  void visitNonControlFlowArguments(Operation *op, const RegionSuccessor &successor,
                                    ArrayRef<FactsLattice *> lattices,
                                    unsigned firstIndex) override {
    auto loop = dyn_cast<scf::ForOp>(op);
    if (!loop)
      return SparseForwardDataFlowAnalysis::visitNonControlFlowArguments(op, successor, lattices,
                                                                         firstIndex);
    const Facts &begin = getLatticeElementFor(getProgramPointBefore(op), loop.getLowerBound())
                             ->getValue(),
                &step = getLatticeElementFor(getProgramPointBefore(op), loop.getStep())->getValue();
    if (!begin.info || !step.info)
      return;
    AxisInfo info = AxisInfo::unknown(loop.getInductionVar().getType());
    info.divisibility[0] =
        std::gcd(begin.info->divisibilityOfAll(), step.info->divisibilityOfAll());
    for (FactsLattice *lattice : lattices)
      if (lattice->getAnchor() == loop.getInductionVar())
        set(lattice, info);
  }

private:
  void set(FactsLattice *lattice, const AxisInfo &info) {
    propagateIfChanged(lattice, lattice->join(Facts{info}));
  }
};

} // namespace

AxisInfoAnalysis::AxisInfoAnalysis(Operation *root)
    : solver(std::make_unique<DataFlowSolver>(DataFlowConfig().setInterprocedural(false))) {
  solver->load<dataflow::DeadCodeAnalysis>();
  solver->load<dataflow::SparseConstantPropagation>();
  solver->load<Analysis>();
  if (failed(solver->initializeAndRun(root)))
    solver.reset();
}

AxisInfo AxisInfoAnalysis::of(Value value) const {
  const FactsLattice *lattice = solver ? solver->lookupState<FactsLattice>(value) : nullptr;
  return lattice && lattice->getValue().info ? *lattice->getValue().info
                                             : AxisInfo::unknown(value.getType());
}

int64_t AxisInfoAnalysis::neighbours(Value pointer, Value offset, Value mask, unsigned dim,
                                     int64_t bytes) const {
  AxisInfo at = of(offset);
  int64_t aligned = of(pointer).divisibility[0], run = std::max<int64_t>(1, 16 / bytes);
  auto fits = [&](int64_t count) {
    return at.contiguity[dim] % count == 0 && at.divisibilityOf(dim, count) % count == 0 &&
           aligned % (count * bytes) == 0 && (!mask || of(mask).constancy[dim] % count == 0);
  };
  while (run > 1 && !fits(run))
    run /= 2;
  return run;
}
