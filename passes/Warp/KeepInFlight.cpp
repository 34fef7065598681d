//===- KeepInFlight.cpp - A product in flight over the back edge of its loop --------------===//
//
// In: a loop of one product that accumulates, awaited at once, after which slots go back. Out: the
// first product before the loop; in the loop each product with at most one in flight, and after it
// the slots of the one before, whose tokens the loop carries; the last wait and releases after the
// loop, and after a turn that is passed on there.
//
// A slot is held while the next one is taken, so the ring needs two.
//
// Only an accumulator that nothing reads may be in flight over a back edge: else ptxas serialises
// the products (C7514).
//
//===--------------------------------------------------------------------------------------===//

#include "KeepInFlight.h"

#include "dialects/Warp/Warp.h"
#include "tileloom/Schedule/LinearForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

namespace {

struct Keeper {
  scf::ForOp loop;
  OpBuilder builder;
  Location loc;
  nv::WgmmaOp product;
  nv::WgmmaWaitOp wait;
  SmallVector<ReleaseOp> releases;
  unsigned sum = 0; // which carried value is accumulated

  explicit Keeper(scf::ForOp loop) : loop(loop), builder(loop), loc(loop.getLoc()) {}

  static int64_t depthOf(AcquireOp acquire) {
    auto ring = acquire.getRing().getDefiningOp<RingOp>();
    return ring.getBuffer().getType().getDepth();
  }

  bool match(std::string &why) {
    for (Operation &op : loop.getBody()->without_terminator()) {
      if (auto next = dyn_cast<nv::WgmmaOp>(op)) {
        if (product)
          return why = "more than one product", false;
        product = next;
      } else if (auto next = dyn_cast<nv::WgmmaWaitOp>(op)) {
        wait = next;
      } else if (auto release = dyn_cast<ReleaseOp>(op)) {
        auto acquire = release.getToken().getDefiningOp<AcquireOp>();
        if (!acquire)
          return why = "the token of an earlier iteration", false;
        if (depthOf(acquire) < 2)
          return why = "the only slot goes back before it is taken again", false;
        releases.push_back(release);
      } else if (op.getNumRegions()) {
        return why = "nested control flow", false;
      }
    }
    if (!product || !wait || wait.getPending() != 0 || wait.getInputs().size() != 1 ||
        wait.getInputs()[0] != product.getResult() || !product.getResult().hasOneUse())
      return why = "no product that is awaited at once", false;
    auto carried = dyn_cast_or_null<BlockArgument>(product.getC());
    if (!carried || carried.getOwner() != loop.getBody() || !carried.hasOneUse() ||
        !wait.getResult(0).hasOneUse() ||
        loop.getYieldedValues()[sum = carried.getArgNumber() - 1] != wait.getResult(0))
      return why = "the accumulator has other uses", false;
    for (ReleaseOp release : releases)
      if (release->isBeforeInBlock(wait))
        return why = "a slot goes back before the wait", false;
    return true;
  }

  /// One turn without its wait and releases.
  void emitTurn(IRMapping &mapping, bool first) {
    for (Operation &op : loop.getBody()->without_terminator()) {
      if (asksForFirst(&op))
        mapping.map(op.getResult(0), arith::ConstantIntOp::create(builder, loc, !first, 1));
      else if (&op != wait && !isa<ReleaseOp>(op))
        builder.clone(op, mapping);
    }
    mapping.map(wait.getResult(0), mapping.lookup(product.getResult()));
  }

  /// Whether `op` is false in the first iteration only.
  bool asksForFirst(Operation *op) {
    auto compare = dyn_cast<arith::CmpIOp>(op);
    return compare && compare.getPredicate() == arith::CmpIPredicate::ne &&
           compare.getLhs() == loop.getInductionVar() && compare.getRhs() == loop.getLowerBound();
  }

  void emitReleases(ValueRange tokens) {
    for (auto [release, token] : llvm::zip(releases, tokens)) {
      Operation *clone = builder.clone(*release);
      cast<ReleaseOp>(clone).getTokenMutable().assign(token);
    }
  }

  scf::ForOp run() {
    IRMapping first;
    first.map(loop.getInductionVar(), loop.getLowerBound());
    for (auto [argument, init] : llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs()))
      first.map(argument, init);
    emitTurn(first, true);
    SmallVector<Value> inits;
    for (Value value : loop.getYieldedValues())
      inits.push_back(first.lookupOrDefault(value));
    for (ReleaseOp release : releases)
      inits.push_back(first.lookup(release.getToken()));
    Value lower = builder.createOrFold<arith::AddIOp>(loc, loop.getLowerBound(), loop.getStep());
    auto next =
        scf::ForOp::create(builder, loc, lower, loop.getUpperBound(), loop.getStep(), inits);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(next.getBody());
      IRMapping mapping;
      for (auto [from, to] :
           llvm::zip(loop.getBody()->getArguments(), next.getBody()->getArguments()))
        mapping.map(from, to);
      emitTurn(mapping, false);
      nv::WgmmaWaitOp::create(builder, loc, TypeRange(), ValueRange(), Value(), 1);
      unsigned values = loop.getNumRegionIterArgs();
      emitReleases(next.getRegionIterArgs().drop_front(values));
      SmallVector<Value> yields;
      for (Value value : loop.getYieldedValues())
        yields.push_back(mapping.lookupOrDefault(value));
      for (ReleaseOp release : releases)
        yields.push_back(mapping.lookup(release.getToken()));
      scf::YieldOp::create(builder, loc, yields);
    }
    // The replicas' turn goes on as soon as the last product is issued.
    Operation *at = loop->getNextNode();
    while (isa_and_nonnull<PassOp>(at))
      at = at->getNextNode();
    if (at)
      builder.setInsertionPoint(at);
    else
      builder.setInsertionPointToEnd(loop->getBlock());
    Value raw = next.getResult(sum);
    auto last = nv::WgmmaWaitOp::create(builder, loc, TypeRange(raw.getType()), raw, Value(), 0);
    emitReleases(next.getResults().drop_front(loop.getNumResults()));
    for (auto [i, result] : llvm::enumerate(loop.getResults()))
      result.replaceAllUsesWith(i == sum ? last.getResult(0) : next.getResult(i));
    loop.erase();
    return next;
  }
};

} // namespace

std::optional<scf::ForOp> warp::keepInFlight(scf::ForOp loop, std::string &why) {
  Keeper keeper(loop);
  if (!schedule::runsAtLeastOnce(loop)) {
    why = "the loop may not run at all";
    return std::nullopt;
  }
  if (!keeper.match(why))
    return std::nullopt;
  return keeper.run();
}
