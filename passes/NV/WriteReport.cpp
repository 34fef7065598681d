//===- WriteReport.cpp - What the compiler decided, for its user --------------------------===//
//
// In: kernels at the end of the nv stage. Out: `tileloom.report` on each (docs/report.md): roles
// with warps and registers, rings with their buffer, its bytes and the arrivals, the memory maps, the
// shapes of the products, the launch. Changes nothing else.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/NV/Passes.h"

#include "dialects/NV/Tcgen05.h"
#include "dialects/Warp/Warp.h"
#include "passes/NV/SharedStorage.h"
#include "tileloom/Analysis/Roles.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace tileloom::nv {
#define GEN_PASS_DEF_NVWRITEREPORT
#include "passes/NV/Passes.h.inc"
} // namespace tileloom::nv

using namespace mlir;
using namespace tileloom;

namespace {

/// Of a column of tensor memory: 32 bits in each of 128 lanes.
constexpr int64_t columnBytes = 512;

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

  /// Bytes of all slots of a buffer by its name, in shared or in tensor memory.
  llvm::StringMap<int64_t> slotBytes() {
    llvm::StringMap<int64_t> bytes;
    function.walk([&](nv::AllocOp alloc) {
      if (alloc.getName() && !isa<nv::BarrierType>(alloc.getBase().getType()))
        bytes[*alloc.getName()] = alloc.getCount() * alloc.getStride();
    });
    if (auto map = function->getAttrOfType<ArrayAttr>(nv::tensorColumnsAttrName))
      for (auto row : map.getAsRange<DictionaryAttr>()) {
        auto name = row.getAs<StringAttr>("name");
        auto columns = row.getAs<IntegerAttr>("columns");
        if (name && columns)
          bytes[name.getValue()] = columns.getInt() * columnBytes;
      }
    return bytes;
  }

  /// Allocations that hold slots, and those that hold mbarriers.
  void memory(SmallVectorImpl<Attribute> &shared, SmallVectorImpl<Attribute> &rings) {
    llvm::StringMap<int64_t> bytesOf = slotBytes();
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
        if (auto init = dyn_cast<nv::MBarrierInitOp>(user)) {
          SmallVector<NamedAttribute> ring{
              entry("name", alloc.getName().value_or("?")),
              entry("depth", static_cast<int64_t>(init.getStages())),
              entry("barriers", static_cast<int64_t>(init.getStages())),
              entry("arrivals", static_cast<int64_t>(init.getArrivals()))};
          if (auto slots = alloc->getAttrOfType<StringAttr>(nv::slotsAttrName)) {
            ring.push_back(entry("buffer", slots));
            ring.push_back(entry("bytes", bytesOf.lookup(slots.getValue())));
          }
          rings.push_back(builder.getDictionaryAttr(ring));
        }
    });
  }

  static Type elementOf(Value value) {
    Type type = value.getType();
    return isa<nv::MemDescType>(type) ? cast<nv::MemDescType>(type).getElementType()
                                      : getElementTypeOrSelf(type);
  }

  /// Where an operand of a product lies.
  static StringRef placeOf(Value value) {
    auto view = dyn_cast<nv::MemDescType>(value.getType());
    if (!view)
      return "registers";
    return view.getSpace() == nv::MemorySpace::Tmem ? "tensor" : "shared";
  }

  SmallVector<NamedAttribute> product(StringRef op, const Twine &shape, Value a, Value b, Type d) {
    return {entry("op", op),
            entry("shape", shape),
            entry("a", textOf(elementOf(a))),
            entry("b", textOf(elementOf(b))),
            entry("d", textOf(d)),
            entry("a_in", placeOf(a))};
  }

  /// M x N x K of one instruction of tcgen05, of both CTAs of a pair together.
  template <typename Op>
  SmallVector<NamedAttribute> tensorProduct(Op op) {
    auto instruction = nv::instructionOf(op);
    if (!instruction) { // its expansion says so at the place
      llvm::consumeError(instruction.takeError());
      return {};
    }
    auto row = product("tcgen05." + layout::kindName(instruction->kind).str(),
                       "m" + Twine(instruction->m) + "n" + Twine(instruction->n) + "k" +
                           Twine(instruction->k()),
                       op.getA(), op.getB(), op.getD().getType().getElementType());
    row.push_back(entry("ctas", static_cast<int64_t>(instruction->ctaGroup)));
    return row;
  }

  /// Products by the shape of their instructions, with how many operations there are of each; an
  /// operation multiplies whole tiles by several instructions.
  ArrayAttr products() {
    llvm::MapVector<Attribute, int64_t> counts;
    function.walk([&](Operation *op) {
      SmallVector<NamedAttribute> row;
      if (auto mma = dyn_cast<nv::WgmmaOp>(op)) {
        auto result = cast<RankedTensorType>(mma.getResult().getType());
        int64_t k = 256 / tile::elementBits(elementOf(mma.getA()));
        row = product("wgmma", "m64n" + Twine(result.getDimSize(1)) + "k" + Twine(k), mma.getA(),
                      mma.getB(), result.getElementType());
      } else if (auto mma = dyn_cast<nv::MmaOp>(op)) {
        int64_t k = 256 / tile::elementBits(elementOf(mma.getA()));
        row = product("mma", "m16n8k" + Twine(k), mma.getA(), mma.getB(),
                      elementOf(mma.getResult()));
      } else if (auto mma = dyn_cast<nv::Tcgen05MmaOp>(op)) {
        row = tensorProduct(mma);
      } else if (auto mma = dyn_cast<nv::Tcgen05MmaScaledOp>(op)) {
        row = tensorProduct(mma);
        row.push_back(entry("scale", textOf(mma.getScaleA().getType().getElementType()) + " per " +
                                         std::to_string(mma.getBlock())));
      }
      if (!row.empty())
        ++counts[builder.getDictionaryAttr(row)];
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
