//===- AssignSchedule.cpp - What a schedule leaves open -----------------------------------===//
//
// In: a tile kernel, perhaps with a #tile.schedule. Out: the same with every field that later
// passes read: `use`, `replicas` (and `divide`, where these share columns), `pending`, `raster`, `order`, `scheduler`, `specialize`, and how
// results of tiles that are taken in turn leave (`epilogue`, `buffers`), what a cluster shares (`multicast`).
//
// The rows of the tallest product decide how many warpgroups share a tile: 64 rows are the least
// that a warpgroup multiplies, and 128 the most whose sums its registers hold beside anything else. Where the sums of
// three would not fit the registers of four warpgroups at launch (192 rows of more than 192 columns), two share the columns.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Tile/Passes.h"

#include "dialects/NV/NV.h"
#include "dialects/Tile/Tile.h"
#include "tileloom/Schedule/ClusterLoads.h"
#include "tileloom/Schedule/Limits.h"
#include "tileloom/Schedule/Monotone.h"
#include "tileloom/Schedule/TileWork.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace tileloom::tile {
#define GEN_PASS_DEF_TILEASSIGNSCHEDULE
#include "passes/Tile/Passes.h.inc"
} // namespace tileloom::tile

using namespace mlir;
using namespace tileloom;
using namespace tileloom::tile;

namespace {

/// Whether later tiles of the innermost extent have more work: their loops run longer.
bool growsAlongLastExtent(FunctionOpInterface kernel) {
  bool grows = false;
  kernel->walk([&](ForEachTileOp tiles) {
    Value last = tiles.getBody().front().getArguments().back();
    tiles.walk([&](scf::ForOp loop) {
      std::optional<int> lower = tileloom::schedule::directionOf(loop.getLowerBound(), last);
      std::optional<int> upper = tileloom::schedule::directionOf(loop.getUpperBound(), last);
      grows |= lower && upper && *lower <= 0 && *upper >= 0 && *lower != *upper;
    });
  });
  return grows;
}

/// Whether CTAs may draw their tiles from a counter; else `why`.
bool canDraw(FunctionOpInterface kernel, bool cooperative, StringRef &why) {
  bool tiles = false, loads = false;
  kernel->walk([&](Operation *op) {
    tiles |= isa<ForEachTileOp>(op);
    loads |= isa<LoadOp>(op);
  });
  why = !tiles        ? "a loop over tiles"
        : !loads       ? "a tile that is loaded through a descriptor: the role that loads draws"
        : !cooperative ? "use = \"cooperative\": replicas that take turns know their tiles ahead"
                       : "";
  return why.empty();
}

/// Whether a loop has a product of another product's result: of work that lies between the two.
bool hasChainedProducts(FunctionOpInterface kernel) {
  bool chained = false;
  kernel->walk([&](scf::ForOp loop) {
    llvm::SmallPtrSet<Operation *, 32> ofProducts;
    for (Operation &op : *loop.getBody()) {
      bool uses = llvm::any_of(op.getOperands(), [&](Value operand) { return ofProducts.contains(operand.getDefiningOp()); });
      auto dot = dyn_cast<DotOp>(op);
      chained |= dot && (ofProducts.contains(dot.getA().getDefiningOp()) || ofProducts.contains(dot.getB().getDefiningOp()));
      if (dot || uses)
        ofProducts.insert(&op);
    }
  });
  return chained;
}

/// What the CTAs of a cluster share: of what rows and columns of tiles have in common, that of which they load more.
StringRef largestShare(FunctionOpInterface kernel, int64_t ctas) {
  int64_t bytes[] = {0, 0};
  StringRef shares[] = {"columns", "rows"};
  kernel->walk([&](ForEachTileOp tiles) {
    for (auto [share, sum] : llvm::zip(shares, bytes))
      if (std::optional<unsigned> extent = tileloom::schedule::clusterExtent(tiles, share))
        for (LoadOp load : tileloom::schedule::sharedLoads(tiles, *extent, ctas))
          sum += load.getType().getNumElements() * load.getType().getElementTypeBitWidth();
  });
  return shares[bytes[1] > bytes[0]];
}

/// Rows of a block of tensor memory, which one warpgroup reads.
constexpr int64_t tensorMemoryLanes = 128;

/// Whether a product's result is among what `value` is computed from.
bool dependsOnProduct(Value value) {
  SmallVector<Value> work{value};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!work.empty()) {
    Operation *def = work.pop_back_val().getDefiningOp();
    if (!def || !seen.insert(def).second)
      continue;
    if (isa<DotOp>(def) || def->getNumRegions())
      return true;
    llvm::append_range(work, def->getOperands());
  }
  return false;
}

/// Whether warpgroups may each have some of `rows` rows: nothing goes across them (what else keeps rows together, warp-split-replicas finds).
bool rowsAreApart(FunctionOpInterface kernel, int64_t rows) {
  bool apart = true;
  kernel->walk([&](Operation *op) {
    auto type = op->getNumOperands() ? dyn_cast<RankedTensorType>(op->getOperand(0).getType()) : RankedTensorType();
    if (!type || !llvm::is_contained(type.getShape(), rows))
      return;
    auto reduce = dyn_cast<ReduceOp>(op);
    auto dot = dyn_cast<DotOp>(op);
    bool across = reduce && type.getDimSize(reduce.getDim()) == rows && (type.getRank() == 1 || reduce.getDim() == 0);
    apart &= !across && !isa<ScanOp, ReshapeOp>(op) && !(dot && dependsOnProduct(dot.getB()));
  });
  return apart;
}

/// Whether `parts` warpgroups may each have some of `columns` columns, the last dimension: nothing goes across them.
bool columnsAreApart(FunctionOpInterface kernel, int64_t columns, int64_t parts) {
  bool apart = !hasChainedProducts(kernel);
  kernel->walk([&](Operation *op) {
    auto type = op->getNumOperands() ? dyn_cast<RankedTensorType>(op->getOperand(0).getType()) : RankedTensorType();
    if (!type || !llvm::is_contained(type.getShape(), columns))
      return;
    auto reduce = dyn_cast<ReduceOp>(op);
    // Parts of a sum that are used together (a gate and what goes through it) are different columns.
    apart &= !(reduce && type.getDimSize(reduce.getDim()) == columns) && !isa<ScanOp, ReshapeOp, nv::ExtractOp>(op);
    // Copies store multiples of 16 bytes.
    if (isa<StoreOp, StoreReduceOp>(op) && type.getShape().back() == columns)
      apart &= columns / parts * type.getElementTypeBitWidth() % 128 == 0;
  });
  return apart;
}

class ScheduleAssigner {
public:
  ScheduleAssigner(FunctionOpInterface kernel, bool tensorMemory)
      : kernel(kernel), tensorMemory(tensorMemory), builder(kernel.getContext()) {
    if (auto given = kernel->getAttrOfType<ScheduleAttr>(scheduleAttrName))
      fields = NamedAttrList(given.getFields());
    kernel->walk([&](DotOp dot) {
      ++products;
      auto sum = cast<RankedTensorType>(dot.getType());
      int64_t own = sum.getDimSize(0);
      columns = std::max(columns, sum.getDimSize(1));
      if (own > rows) {
        rows = own;
        tallest = dot;
      }
    });
  }

  LogicalResult run() {
    setDefault("use", "cooperative");
    cooperative = cast<StringAttr>(fields.get("use")).getValue() == "cooperative";
    if (failed(assignReplicas()))
      return failure();
    assignOrder();
    if (!tensorMemory && tallest) {
      setDefault("pending", 1);
      // One replica stores while the other multiplies: what little shared memory the pieces take is
      // another stage of the loop (64 x 256: five instead of four).
      if (!cooperative && !fields.get("epilogue") && !fields.get("buffers")) {
        setDefault("epilogue", 32);
        setDefault("buffers", 2);
      }
    }
    setDefault("specialize", "auto");
    auto cluster = dyn_cast_if_present<IntegerAttr>(fields.get("cluster"));
    if (cluster && cluster.getInt() > 1)
      setDefault("multicast", builder.getStringAttr(largestShare(kernel, cluster.getInt())));
    if (failed(assignScheduler()))
      return failure();
    kernel->setAttr(scheduleAttrName, ScheduleAttr::get(kernel.getContext(),
                                                        fields.getDictionary(kernel.getContext())));
    return success();
  }

private:
  void setDefault(StringRef name, Attribute value) {
    if (!fields.get(name))
      fields.set(name, value);
  }
  void setDefault(StringRef name, const char *value) { setDefault(name, builder.getStringAttr(value)); }
  void setDefault(StringRef name, int64_t value) { setDefault(name, builder.getI64IntegerAttr(value)); }

  LogicalResult assignReplicas() {
    int64_t replicas = cooperative ? (rows % 192 == 0 && rows > 0 ? 3 : rows >= 128 ? 2 : 1) : 2;
    bool asked = fields.get("replicas") || fields.get("divide");
    if (!asked && tilesAreTall()) {
      setDefault("divide", "columns");
      replicas = 2;
    }
    auto divide = dyn_cast_if_present<StringAttr>(fields.get("divide"));
    bool byColumns = divide && divide.getValue() == "columns";
    if (byColumns && (tensorMemory || !cooperative))
      return kernel.emitOpError("schedule: divide = \"columns\" expected ")
             << (tensorMemory ? "sums in registers: of tensor memory warps have rows" : "use = \"cooperative\": replicas that share each tile") << ", found none";
    if (byColumns)
      replicas = 2;
    if (tensorMemory) // sums that no warp holds, in as many lanes
      replicas = cooperative && rows % tensorMemoryLanes == 0 && rowsAreApart(kernel, rows) ? std::max<int64_t>(rows / tensorMemoryLanes, 1) : 1;
    if (!asked)
      kernel->setAttr(replicasChosenAttrName, builder.getUnitAttr());
    setDefault("replicas", replicas);
    replicas = cast<IntegerAttr>(fields.get("replicas")).getInt();
    if (byColumns)
      return verifyColumns(replicas);
    if (cooperative && tallest && rows >= 64 && rows % (64 * replicas))
      return tallest.emitOpError("rows: expected a multiple of ")
             << 64 * replicas << " (64 for each of replicas = " << replicas << "), found " << rows;
    return success();
  }

  /// Three warpgroups with rows of such a tile could not hold its sums: each would have more than 96 registers of the 128 that a launch
  /// of four gives a thread, which ptxas refuses.
  bool tilesAreTall() const {
    constexpr int64_t most = 192;
    return cooperative && !tensorMemory && rows == 192 && columns > most && columns % (2 * leastColumns()) == 0 && columnsAreApart(kernel, columns, 2);
  }

  /// Columns of an operand B that begin where a matrix descriptor can: 8 where they are rows in memory, else a span of the narrowest swizzle.
  int64_t leastColumns() const {
    int64_t least = 8;
    kernel->walk([&](DotOp dot) {
      auto trans = dot.getB().getDefiningOp<TransOp>();
      if (!trans || !trans.getSource().getDefiningOp<LoadOp>())
        least = std::max<int64_t>(least, 256 / cast<RankedTensorType>(dot.getB().getType()).getElementTypeBitWidth());
    });
    return least;
  }

  LogicalResult verifyColumns(int64_t replicas) {
    LogicalResult result = success();
    kernel->walk([&](DotOp dot) {
      int64_t own = cast<RankedTensorType>(dot.getType()).getDimSize(1);
      if (succeeded(result) && own % (leastColumns() * replicas))
        result = dot.emitOpError("columns: expected a multiple of ")
                 << leastColumns() * replicas << " (" << leastColumns() << " for each of replicas = " << replicas << "), found " << own;
    });
    return result;
  }

  /// Which tiles are walked together, and from which end.
  void assignOrder() {
    // Longest first: the last tiles of a launch are then the shortest.
    if (growsAlongLastExtent(kernel)) {
      setDefault("order", "reverse");
      setDefault("raster", 8);
    }
    // Rows that choose what they load (groups) share it with few neighbours (4 against 16 rows, groups
    // of two tiles: 1.10 to 1.19 times as fast; long groups: the same).
    bool chosen = false;
    kernel->walk([&](ForEachTileOp tiles) { chosen = tileloom::schedule::placesAreRead(tiles); });
    if (chosen)
      setDefault("raster", 4);
    // One product a tile reads two operands that its neighbours share: walk a block of tiles, of 2048
    // rows (with 64 rows a tile, 32 were 1.01 to 1.03 times as fast as 16). With more products, the
    // tiles of a row share what the innermost loop streams.
    int64_t together = std::clamp<int64_t>(2048 / std::max<int64_t>(rows, 1), 1, 256);
    setDefault("raster", products == 1 ? together : 1);
  }

  /// Equal tiles are dealt out in turn, which needs no counter; tiles of different length are drawn. So are those of chained
  /// products, which take long and not the same time on each SM (attention without masks on an H200: head dimension 128 1.005 to
  /// 1.013 times as fast drawn, 64 0.997 to 1.017, 256 1.001 to 1.007, 8 bits 0.997 to 1.009).
  LogicalResult assignScheduler() {
    StringRef why;
    bool can = canDraw(kernel, cooperative, why);
    if (auto given = dyn_cast_if_present<StringAttr>(fields.get("scheduler"))) {
      if (given.getValue() == "dynamic" && !can)
        return kernel.emitOpError("schedule: scheduler = \"dynamic\" expected ")
               << why << ", found none";
      return success();
    }
    auto cluster = dyn_cast_if_present<IntegerAttr>(fields.get("cluster"));
    can &= !cluster || cluster.getInt() == 1; // whose CTAs would draw each for itself
    bool differ = false;
    kernel->walk([&](ForEachTileOp tiles) { differ = tileloom::schedule::tilesDiffer(tiles); });
    differ |= !tensorMemory && hasChainedProducts(kernel);
    setDefault("scheduler", can && differ ? "dynamic" : "static");
    return success();
  }

  FunctionOpInterface kernel;
  bool tensorMemory, cooperative = true;
  Builder builder;
  NamedAttrList fields;
  int64_t rows = 0, columns = 0, products = 0; ///< of the tallest and the widest product, and how many there are
  DotOp tallest;
};

struct AssignSchedule : tileloom::tile::impl::TileAssignScheduleBase<AssignSchedule> {
  using TileAssignScheduleBase::TileAssignScheduleBase;

  void runOnOperation() override {
    getOperation()->walk([&](FunctionOpInterface function) {
      bool tiles = function->hasAttr(kernelAttrName) &&
                   function
                       ->walk([](Operation *op) {
                         return isa_and_present<TileDialect>(op->getDialect())
                                    ? WalkResult::interrupt()
                                    : WalkResult::advance();
                       })
                       .wasInterrupted();
      if (tiles && failed(ScheduleAssigner(function, tileloom::schedule::hasTensorMemory(chip)).run()))
        signalPassFailure();
    });
  }
};

} // namespace
