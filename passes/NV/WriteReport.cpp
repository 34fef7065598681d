//===- WriteReport.cpp - What the compiler decided, for its user --------------------------===//
//
// In: kernels at the end of the nv stage. Out: `tileloom.report` on each (docs/report.md): roles
// with warps and registers, rings with slots, bytes and arrivals, the shared memory map, the shapes
// of the products, the launch. Changes nothing else.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/NV/Passes.h"

#include "dialects/Warp/Warp.h"
#include "passes/NV/SharedStorage.h"
#include "tileloom/Analysis/Roles.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace tileloom::nv {
#define GEN_PASS_DEF_NVWRITEREPORT
#include "passes/NV/Passes.h.inc"
} // namespace tileloom::nv

using namespace mlir;
using namespace tileloom;

namespace {

struct ReportWriter {
  func::FuncOp function;
  Builder builder;

  explicit ReportWriter(func::FuncOp function)
      : function(function), builder(function.getContext()) {}

  NamedAttribute entry(StringRef name, Attribute value) {
    return builder.getNamedAttr(name, value);
  }
  NamedAttribute entry(StringRef name, int64_t value) {
    return entry(name, builder.getI64IntegerAttr(value));
  }
  NamedAttribute entry(StringRef name, const Twine &text) {
    return entry(name, builder.getStringAttr(text));
  }
  static std::string textOf(Type type) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return text;
  }

  ArrayAttr roles() {
    SmallVector<Attribute> rows;
    function.walk([&](warp::RoleOp role) {
      SmallVector<NamedAttribute> row{entry("name", role.getSymName()),
                                      entry("warps", static_cast<int64_t>(role.getWarps())),
                                      entry("replicas", static_cast<int64_t>(role.getReplicas()))};
      if (auto first = role->getAttrOfType<IntegerAttr>(nv::firstWarpAttrName))
        row.push_back(entry("first_warp", first.getInt()));
      if (std::optional<int64_t> registers = role.getRegisters())
        row.push_back(entry("registers", *registers));
      if (isSingleThreadRole(role))
        row.push_back(entry("single_thread", builder.getBoolAttr(true)));
      rows.push_back(builder.getDictionaryAttr(row));
    });
    return builder.getArrayAttr(rows);
  }

  /// Allocations that hold slots, and those that hold mbarriers.
  void memory(SmallVectorImpl<Attribute> &shared, SmallVectorImpl<Attribute> &rings) {
    function.walk([&](nv::AllocOp alloc) {
      int64_t bytes = alloc.getCount() * alloc.getStride();
      SmallVector<NamedAttribute> row{
          entry("name", alloc.getName().value_or("?")),
          entry("offset", static_cast<int64_t>(alloc.getOffset().value_or(0))),
          entry("bytes", bytes)};
      if (!isa<nv::BarrierType>(alloc.getBase().getType()))
        row.push_back(entry("slots", static_cast<int64_t>(alloc.getCount())));
      if (auto names = alloc->getAttrOfType<ArrayAttr>(nv::overAttrName))
        row.push_back(entry("over", names));
      shared.push_back(builder.getDictionaryAttr(row));
      for (Operation *user : alloc.getBase().getUsers())
        if (auto init = dyn_cast<nv::MBarrierInitOp>(user))
          rings.push_back(builder.getDictionaryAttr(
              {entry("name", alloc.getName().value_or("?")),
               entry("depth", static_cast<int64_t>(init.getStages())),
               entry("barriers", static_cast<int64_t>(init.getStages())),
               entry("arrivals", static_cast<int64_t>(init.getArrivals()))}));
    });
  }

  /// Products by shape, with how often each is written.
  ArrayAttr products() {
    llvm::MapVector<Attribute, int64_t> counts;
    function.walk([&](nv::WgmmaOp op) {
      auto result = cast<RankedTensorType>(op.getResult().getType());
      Type a = op.getA().getType();
      Type aElement = isa<nv::MemDescType>(a) ? cast<nv::MemDescType>(a).getElementType()
                                              : getElementTypeOrSelf(a);
      int64_t k = 256 / tile::elementBits(aElement);
      ++counts[builder.getDictionaryAttr(
          {entry("op", "wgmma"),
           entry("shape", "m64n" + Twine(result.getDimSize(1)) + "k" + Twine(k)),
           entry("a", textOf(aElement)), entry("b", textOf(op.getB().getType().getElementType())),
           entry("d", textOf(result.getElementType())),
           entry("a_in", isa<nv::MemDescType>(a) ? "shared" : "registers")})];
    });
    SmallVector<Attribute> rows;
    for (auto &[row, count] : counts) {
      NamedAttrList list(cast<DictionaryAttr>(row));
      list.set("count", builder.getI64IntegerAttr(count));
      rows.push_back(list.getDictionary(builder.getContext()));
    }
    return builder.getArrayAttr(rows);
  }

  void write() {
    SmallVector<Attribute> shared, rings;
    memory(shared, rings);
    NamedAttrList report;
    if (auto known = function->getAttrOfType<DictionaryAttr>(nv::reportAttrName))
      report = NamedAttrList(known);
    report.set("roles", roles());
    report.set("rings", builder.getArrayAttr(rings));
    report.set("shared", builder.getArrayAttr(shared));
    if (auto map = function->getAttrOfType<ArrayAttr>(nv::tensorColumnsAttrName))
      report.set("tensor", map);
    report.set("mma", products());
    SmallVector<NamedAttribute> launch;
    if (auto bytes = function->getAttrOfType<IntegerAttr>(nv::sharedBytesAttrName))
      launch.push_back(entry("shared_bytes", bytes.getInt()));
    if (auto attribute = function->getAttrOfType<warp::LaunchAttr>(warp::launchAttrName))
      launch.push_back(entry("grid", attribute.getPersistent() ? "persistent" : "one CTA a tile"));
    report.set("launch", builder.getDictionaryAttr(launch));
    function->setAttr(nv::reportAttrName, report.getDictionary(builder.getContext()));
  }
};

struct WriteReport : tileloom::nv::impl::NVWriteReportBase<WriteReport> {
  void runOnOperation() override {
    getOperation()->walk([](func::FuncOp function) {
      if (function->hasAttr(tile::kernelAttrName))
        ReportWriter(function).write();
    });
  }
};

} // namespace
