//===- AllocateTensorMemory.cpp - Places in tensor memory ---------------------------------===//
//
// In: nv.tmem.alloc without columns, nv.tmem.view on them. Out: every allocation has its column in
// one allocation of the whole kernel, which nv.tmem.reserve makes and frees; views start from
// nv.tmem.base, read once at each role's entry.
//
// Buffers are laid side by side, the largest first, but for those that are never used at the same
// time (nv-find-lifetimes), which may have the same columns. The hardware allocates powers of two of at
// least 32 columns, and a CTA has 512 (PTX ISA 9.7.16.7.1); a kernel that needs more is refused with a
// table of what takes the columns.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/NV/Passes.h"

#include "dialects/Warp/Warp.h"
#include "passes/NV/RingScopes.h"
#include "passes/NV/SharedStorage.h"
#include "tileloom/Schedule/Limits.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/MathExtras.h"

#include <map>

namespace tileloom::nv {
#define GEN_PASS_DEF_NVALLOCATETENSORMEMORY
#include "passes/NV/Passes.h.inc"
} // namespace tileloom::nv

using namespace mlir;
using namespace tileloom;

namespace {

constexpr int64_t smallestAllocation = 32;
/// Scale factors and 128-bit copies come in groups of four columns.
constexpr int64_t columnAlignment = 4;

int64_t columnsOf(nv::TmemAllocOp alloc) { return static_cast<int64_t>(alloc.getCount() * alloc.getStride()); }

/// The allocations, the largest first.
SmallVector<nv::TmemAllocOp> allocationsOf(func::FuncOp function) {
  std::multimap<int64_t, nv::TmemAllocOp> ordered;
  function.walk([&](nv::TmemAllocOp alloc) { ordered.insert({-columnsOf(alloc), alloc}); });
  return SmallVector<nv::TmemAllocOp>(llvm::make_second_range(ordered));
}

/// What lies in the columns of an allocation, for the report.
Attribute rowOf(nv::TmemAllocOp alloc, ArrayAttr over) {
  Builder builder(alloc.getContext());
  NamedAttrList row;
  row.set("name", builder.getStringAttr(alloc.getName().value_or("?")));
  row.set("column", builder.getI64IntegerAttr(*alloc.getColumn()));
  row.set("columns", builder.getI64IntegerAttr(columnsOf(alloc)));
  row.set("slots", builder.getI64IntegerAttr(alloc.getCount()));
  if (over)
    row.set("over", over);
  return row.getDictionary(alloc.getContext());
}

/// Views start from the address that the hardware wrote to `word`, read at the entry of each role.
void placeViews(func::FuncOp function, Value word) {
  function.walk([&](warp::RoleOp role) {
    Value base;
    role.walk([&](nv::TmemViewOp view) {
      auto alloc = view.getBase().getDefiningOp<nv::TmemAllocOp>();
      if (!alloc)
        return;
      if (!base) {
        OpBuilder entry = OpBuilder::atBlockBegin(&role.getBody().front());
        base = nv::TmemBaseOp::create(entry, function.getLoc(), entry.getI32Type(), word);
      }
      view.setColumn(view.getColumn() + *alloc.getColumn());
      view.getBaseMutable().assign(base);
    });
  });
}

LogicalResult allocate(func::FuncOp function) {
  SmallVector<nv::TmemAllocOp> allocs = allocationsOf(function);
  if (allocs.empty())
    return success();
  StoragePlacer placer = nv::placerFor(function);
  SmallVector<Attribute> map;
  for (nv::TmemAllocOp alloc : allocs) {
    alloc.setColumn(placer.place(nv::storageOf(alloc), llvm::alignTo(columnsOf(alloc), columnAlignment),
                                 columnAlignment));
    map.push_back(rowOf(alloc, nv::sharedWith(placer, ArrayRef(allocs))));
  }
  int64_t end = placer.end(), columns = std::max<int64_t>(smallestAllocation, llvm::PowerOf2Ceil(end));
  if (columns > schedule::tensorMemoryColumns) {
    InFlightDiagnostic diag = function.emitError("tensor memory: need ")
                              << end << " columns, have " << schedule::tensorMemoryColumns << ":";
    for (nv::TmemAllocOp alloc : allocs)
      diag << ' ' << alloc.getName().value_or("?") << ' ' << alloc.getCount() << " x "
           << alloc.getStride() << ';';
    return failure();
  }
  OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
  Location loc = function.getLoc();
  auto word = nv::AllocOp::create(builder, loc, nv::BarrierType::get(function.getContext()), 1, 4,
                                  4, IntegerAttr(), builder.getStringAttr("tensor_memory"));
  nv::TmemReserveOp::create(builder, loc, word.getBase(), columns, tcgen05Group(function));
  function->setAttr(nv::tensorColumnsAttrName, builder.getArrayAttr(map));
  placeViews(function, word.getBase());
  for (nv::TmemAllocOp alloc : allocs)
    alloc.erase();
  return success();
}

struct AllocateTensorMemory : tileloom::nv::impl::NVAllocateTensorMemoryBase<AllocateTensorMemory> {
  void runOnOperation() override {
    getOperation()->walk([&](func::FuncOp function) {
      if (failed(allocate(function)))
        signalPassFailure();
    });
  }
};

} // namespace
