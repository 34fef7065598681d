//===- CostModel.cpp - How long a tile program will take ----------------------------------===//
//
// One walk over the program: loops multiply what their bodies cost, and a loop with products takes
// in each iteration what its busiest unit needs. Scalars are evaluated with the arguments' values;
// what depends on the tile is taken at the middle tile.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Schedule/CostModel.h"

#include "tileloom/Schedule/Limits.h"
#include "tileloom/Schedule/ScalarValues.h"

#include "dialects/Tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mlir;

namespace tileloom::schedule {

Machine Machine::of(StringRef chip) {
  Machine machine;
  if (hasTensorMemory(chip)) { // B200, published rates; not measured
    machine.processors = 148;
    machine.macsPerClock = 4096;
    machine.clocksPerMicrosecond = 1700;
    machine.productWait = 0; // issued ahead by one thread
    machine.tensorMemory = true;
    machine.dramBytes = 7000e3;
    machine.dramBytesPerProcessor = 80e3;
  }
  return machine;
}

namespace {

/// What a piece of the program costs one CTA.
struct Cost {
  double products = 0; ///< clocks of the tensor core
  double dots = 0;     ///< products to wait for
  double copies = 0;   ///< bytes into shared memory
  double other = 0;    ///< clocks of everything that warps do
  double stores = 0;   ///< bytes out

  void add(const Cost &more, double times) {
    products += more.products * times;
    dots += more.dots * times;
    copies += more.copies * times;
    other += more.other * times;
    stores += more.stores * times;
  }
};

double elements(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getNumElements() : 0;
}
double bytesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return double(tensor.getNumElements()) * tensor.getElementTypeBitWidth() / 8;
}

class Walk {
public:
  Walk(func::FuncOp kernel, ArrayRef<std::optional<int64_t>> arguments, const Machine &machine)
      : kernel(kernel), machine(machine), evaluate(kernel, arguments) {
    auto schedule = kernel->getAttrOfType<tile::ScheduleAttr>(tile::scheduleAttrName);
    if (schedule) {
      replicas = schedule.integer("replicas").value_or(1);
      takesTurns = schedule.word("use") == StringRef("pingpong");
      stages = schedule.integer("stages").value_or(0);
      piece = schedule.integer("epilogue").value_or(0);
      reverse = schedule.word("order") == StringRef("reverse");
    }
  }

  Prediction run() {
    Prediction result;
    tile::ForEachTileOp tiles;
    kernel.walk([&](tile::ForEachTileOp op) { tiles = op; });
    result.tiles = 1;
    if (tiles)
      for (Value extent : tiles.getExtents())
        result.tiles *= std::max(0.0, evaluate(extent).value_or(1));
    Block &body = tiles ? tiles.getBody().front() : kernel.getBody().front();

    if (!planStages(body, result) || !checkRegisters(result))
      return result;
    Cost outside;
    double loops = 0;
    time(body, outside, loops, result);

    double turn = outside.stores / machine.storeBytes + outside.other +
                  (outside.products > 0 ? outside.products + machine.copyLatency : 0);
    result.turnClocks = turn;
    double perTile = takesTurns ? std::max(loops, turn) : loops + turn;
    result.waves = std::ceil(result.tiles / machine.processors);
    double clocks = result.waves * perTile + (takesTurns ? turn : 0) + machine.launch;
    double busy = std::min<double>(machine.processors, result.tiles);
    double dram = std::min(machine.dramBytes, busy * machine.dramBytesPerProcessor);
    result.bytes = through;
    // Tiles walk down a section of rows before the next column: sections whose streams fit L2, but
    // not shorter than three rounds of the machine, or each CTA gets tiles of one length (measured:
    // with one round a section, 0.64 of the speed).
    if (reverse && stream > 0) {
      double columns = evaluate(tiles.getExtents().back()).value_or(1);
      double fits = machine.cacheBytes / (2 * stream);
      double rounds = std::ceil(3 * machine.processors / std::max(columns, 1.0));
      result.raster = std::clamp<int64_t>(int64_t(std::max(fits, rounds)), 1, 64);
    }
    result.microseconds =
        std::max({clocks / machine.clocksPerMicrosecond, distinct / dram + machine.base,
                  through / machine.l2Bytes + machine.base});
    return result;
  }

private:
  double rows(double whole) const { return takesTurns ? whole : whole / replicas; }

  /// Shared memory left for the copies of innermost loops decides how many are in flight.
  bool planStages(Block &body, Prediction &result) {
    double fixed = 0, perStage = 0;
    kernel.walk([&](tile::LoadOp load) {
      (load->getParentOfType<scf::ForOp>() ? perStage : fixed) += bytesOf(load.getType());
    });
    double staging = 0;
    kernel.walk([&](Operation *store) {
      if (!isa<tile::StoreOp, tile::StoreReduceOp>(store))
        return;
      auto type = cast<RankedTensorType>(store->getOperand(0).getType());
      double columns = type.getShape().back();
      double widest = piece ? double(piece) : 2048.0 / type.getElementTypeBitWidth();
      double share = std::min(1.0, widest / columns);
      staging = std::max(staging, bytesOf(type) * share * (takesTurns ? replicas : 1));
    });
    fixed += staging;
    int64_t fit = perStage > 0 ? int64_t((sharedBytes - fixed) / perStage) : 1;
    int64_t wanted = stages ? stages : std::min(fit, deepestRing);
    result.stages = wanted;
    if (wanted < 1 || wanted > fit || fixed > sharedBytes) {
      result.reason = "shared memory: " +
                      llvm::utostr(uint64_t(std::max<int64_t>(wanted, 1) * perStage + fixed)) +
                      " bytes needed, " + llvm::utostr(sharedBytes) + " there";
      return false;
    }
    int64_t products = 0;
    kernel.walk([&](tile::DotOp) { ++products; });
    // With several products the slots of one are filled while the other is at work.
    if (perStage > 0 && wanted < 2 && products < 2) {
      result.reason = "one stage: copies cannot run ahead";
      return false;
    }
    return true;
  }

  /// Sums and operands that the registers of a thread (or tensor memory) hold at once.
  bool checkRegisters(Prediction &result) {
    double held = 0, columns = 0;
    kernel.walk([&](tile::DotOp dot) {
      auto sum = cast<RankedTensorType>(dot.getType());
      held += rows(sum.getDimSize(0)) * sum.getDimSize(1) / 128;
      columns += sum.getDimSize(1);
      Value a = dot.getA();
      if (auto trans = a.getDefiningOp<tile::TransOp>())
        a = trans.getSource();
      if (!a.getDefiningOp<tile::LoadOp>()) {
        auto type = cast<RankedTensorType>(a.getType());
        double bits = type.getElementTypeBitWidth();
        held += rows(type.getDimSize(0)) * type.getDimSize(1) * bits / 32 / 128;
        columns += type.getDimSize(1) * bits / 32;
      }
      double least = machine.tensorMemory ? 128 : 64;
      if (rows(sum.getDimSize(0)) < least || (machine.tensorMemory && sum.getDimSize(0) > 128))
        result.reason = "rows of a product: " + llvm::utostr(uint64_t(sum.getDimSize(0)));
    });
    if (machine.tensorMemory) {
      if (columns > tensorMemoryColumns)
        result.reason = "tensor memory: " + llvm::utostr(uint64_t(columns)) + " columns needed";
    } else {
      // The registers of an SM, shared by the warpgroups with products, less addresses and the
      // like.
      int64_t there = wideRegisters(replicas) - (replicas > 2 ? 30 : machine.otherRegisters);
      if (held > there)
        result.reason = "registers: " + llvm::utostr(uint64_t(held)) +
                        " a thread for sums and operands, " + llvm::utostr(there) + " there";
    }
    return result.reason.empty();
  }

  double tripsOf(scf::ForOp loop) {
    std::optional<double> lower = evaluate(loop.getLowerBound());
    std::optional<double> upper = evaluate(loop.getUpperBound());
    std::optional<double> step = evaluate(loop.getStep());
    if (!lower || !upper || !step || *step <= 0)
      return 8;
    return std::max(0.0, std::ceil((*upper - *lower) / *step));
  }

  /// `loops`: clocks of the loops with products; `outside`: what is between them.
  void time(Block &block, Cost &outside, double &loops, Prediction &result) {
    for (Operation &op : block)
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        Cost body;
        double inner = 0;
        time(*loop.getBody(), body, inner, result);
        double trips = tripsOf(loop);
        if (body.dots > 0 || body.copies > 0)
          loops += trips * (inner + iteration(body, trips, result));
        else
          outside.add(body, trips);
      } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
        time(branch.getThenRegion().front(), outside, loops, result);
      } else {
        one(&op, outside);
      }
  }

  /// Clocks of one iteration of a loop with copies or products.
  double iteration(const Cost &body, double trips, Prediction &result) {
    bool alone = takesTurns || replicas == 1;
    double wait = machine.productWait * body.dots *
                  (takesTurns ? 2
                   : alone    ? 1
                              : machine.sharedWait);
    // Work of the warps runs beside a product only if there is another product to run beside, and
    // only if no other replica waits for the turn.
    bool beside = body.dots == 0 || (body.dots > 1 && !takesTurns);
    // Products and other work overlap across replicas; a warpgroup alone overlaps with itself only
    // where it waits (measured: 1, 2 and 3 warpgroups).
    double apart = !beside || body.dots == 0 ? 0 : alone ? 0.6 : replicas == 2 ? 0.2 : 0.13;
    double products = body.products + wait;
    double together = beside
                          ? std::max(products, body.other) + apart * std::min(products, body.other)
                          : products + body.other;
    double clocks =
        std::max({together, body.copies / machine.copyBytes, machine.copyLatency / result.stages});
    // Copies come late now and then: two slots do not hide that (measured 1.13 to 1.28), three
    // almost do. With several products each slot is held for a part of the iteration only.
    if (body.dots == 1)
      clocks *= result.stages == 2 ? 1.2 : result.stages == 3 ? 1.01 : 1;
    else
      clocks *= result.stages == 1 ? 1.1 : 1;
    result.productClocks += body.products * trips;
    result.copyClocks += body.copies / machine.copyBytes * trips;
    result.otherClocks += body.other * trips;
    return clocks;
  }

  void one(Operation *op, Cost &cost) {
    if (auto dot = dyn_cast<tile::DotOp>(op)) {
      auto a = cast<RankedTensorType>(dot.getA().getType());
      double n = cast<RankedTensorType>(dot.getType()).getDimSize(1);
      double bits = a.getElementTypeBitWidth();
      double issues = a.getDimSize(0) / 64.0 * a.getDimSize(1) * bits / 256;
      double issue = std::max(64 * 16 * n / machine.macsPerClock,
                              machine.productBase + n * machine.productPerColumn);
      cost.products += issues * issue;
      cost.dots += 1;
    } else if (auto load = dyn_cast<tile::LoadOp>(op)) {
      cost.copies += bytesOf(load.getType());
      countTraffic(load);
    } else if (isa<tile::StoreOp, tile::StoreReduceOp>(op)) {
      cost.stores += bytesOf(op->getOperand(0).getType());
      countTraffic(op);
    } else if (auto gather = dyn_cast<tile::GatherOp>(op)) {
      cost.other += elements(gather.getType()) / 32;
    } else if (auto scatter = dyn_cast<tile::ScatterOp>(op)) {
      cost.other += elements(scatter.getValue().getType()) / 32;
    } else if (op->getNumResults() == 1) {
      // Exponentials and their like: 16 a clock. The rest: 128, but masks are split off the loops,
      // and products with sums become one instruction: what is left of it measured as half.
      double count = std::max(elements(op->getResult(0).getType()),
                              op->getNumOperands() ? elements(op->getOperand(0).getType()) : 0);
      bool special = isa<math::ExpOp, math::Exp2Op, math::LogOp, math::Log2Op, math::TanhOp,
                         math::RsqrtOp, math::SqrtOp, math::SinOp, math::CosOp>(op);
      bool moves = isa<tile::BroadcastOp, tile::ExpandDimsOp, tile::SplatOp, tile::TransOp,
                       tile::ReshapeOp, tile::IotaOp, arith::ConstantOp>(op);
      bool masks = isa<arith::SelectOp, arith::CmpIOp, arith::AndIOp, arith::OrIOp>(op);
      cost.other += moves || masks ? 0
                                   : count / (special                   ? 16
                                              : isa<tile::ReduceOp>(op) ? 128
                                                                        : 256);
    }
  }

  /// Bytes of a box over all tiles and iterations: all of them go through L2, those of different
  /// places through DRAM.
  void countTraffic(Operation *op) {
    Type type = isa<tile::LoadOp>(op) ? op->getResult(0).getType() : op->getOperand(0).getType();
    double all = bytesOf(type), own = all;
    llvm::DenseSet<Value> sources;
    for (Value operand : op->getOperands())
      if (operand.getType().isInteger(32))
        collect(operand, sources);
    for (Operation *parent = op->getParentOp(); parent != kernel; parent = parent->getParentOp()) {
      if (auto loop = dyn_cast<scf::ForOp>(parent)) {
        double trips = tripsOf(loop);
        all *= trips;
        own *= sources.contains(loop.getInductionVar()) ? trips : 1;
      } else if (auto tiles = dyn_cast<tile::ForEachTileOp>(parent)) {
        for (auto [index, extent] : llvm::zip(tiles.getBody().getArguments(), tiles.getExtents())) {
          double count = evaluate(extent).value_or(1);
          all *= count;
          own *= sources.contains(index) ? count : 1;
        }
      }
    }
    if (isa<tile::LoadOp>(op)) {
      through += all;
      if (auto loop = op->getParentOfType<scf::ForOp>())
        stream += bytesOf(type) * tripsOf(loop);
    }
    distinct += own;
  }

  void collect(Value value, llvm::DenseSet<Value> &sources) {
    if (!sources.insert(value).second)
      return;
    if (Operation *def = value.getDefiningOp())
      for (Value operand : def->getOperands())
        collect(operand, sources);
  }

  func::FuncOp kernel;
  const Machine &machine;
  ScalarValues evaluate;
  int64_t replicas = 1, stages = 0, piece = 0;
  bool takesTurns = false, reverse = false;
  double stream = 0; // bytes that one (middle) tile loads in loops
  double through = 0, distinct = 0;
};

} // namespace

Prediction predict(func::FuncOp kernel, ArrayRef<std::optional<int64_t>> arguments,
                   const Machine &machine) {
  return Walk(kernel, arguments, machine).run();
}

} // namespace tileloom::schedule
