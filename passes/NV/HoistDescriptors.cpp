//===- HoistDescriptors.cpp - Descriptors to tensor maps ----------------------------------===//
//
// In: kernel arguments of type !tile.desc, used by copies whose views have layouts. Out: each such
// argument has `nv.tensor_map` = {box innermost first, swizzle in bytes, element}; the function has
// `tileloom.recipe` (docs/recipe.md). The box and swizzle follow from the views' layouts, which all
// uses of a descriptor must share. An argument with `nv.workspace` is the runtime's, not the user's. A
// descriptor that nothing uses stays an argument of the recipe, and is no parameter of the kernel: without
// a use its box and swizzle are not known.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/NV/Passes.h"

#include "dialects/NV/Packing.h"
#include "dialects/Tile/Kernel.h"
#include "dialects/Warp/Warp.h"
#include "tileloom/Analysis/TileLayouts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/BitVector.h"

#include <numeric>

namespace tileloom::nv {
#define GEN_PASS_DEF_NVHOISTDESCRIPTORS
#include "passes/NV/Passes.h.inc"
} // namespace tileloom::nv

using namespace mlir;
using namespace tileloom;

namespace {

std::string elementName(Type type) {
  if (isa<Float8E4M3FNType>(type))
    return "e4m3";
  if (isa<Float8E5M2Type>(type))
    return "e5m2";
  if (isa<Float8E8M0FNUType>(type))
    return "e8m0";
  if (isa<Float4E2M1FNType>(type))
    return "e2m1";
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

class RecipeBuilder {
public:
  RecipeBuilder(func::FuncOp function, StringRef chip)
      : function(function), builder(function.getContext()), chip(chip), unused(function.getNumArguments()) {}

  LogicalResult build() {
    for (BlockArgument argument : function.getArguments()) {
      unsigned index = argument.getArgNumber();
      std::string name = "arg" + std::to_string(index);
      if (auto named = function.getArgAttrOfType<StringAttr>(index, tile::argumentNameAttrName))
        name = named.str();
      if (isa<tile::DescType>(argument.getType())) {
        if (failed(addDescriptor(argument, name)))
          return failure();
      } else if (Attribute bytes = function.getArgAttr(index, nv::workspaceAttrName)) {
        addWorkspace(index, bytes);
      } else {
        addValue(argument, name);
      }
    }
    auto launch = function->getAttrOfType<warp::LaunchAttr>(warp::launchAttrName);
    FailureOr<DictionaryAttr> ctas = grid(launch);
    if (failed(ctas))
      return failure();
    auto attribute = [&](StringRef name, int64_t otherwise) -> Attribute {
      auto value = function->getAttrOfType<IntegerAttr>(name);
      return integer(value ? value.getInt() : otherwise);
    };
    Attribute geometry = dictionary({entry("grid", *ctas), entry("threads", attribute(nv::threadsAttrName, 128)),
                                     entry("cluster", builder.getI64ArrayAttr({launch ? launch.getCluster() : 1, 1, 1})),
                                     entry("shared_bytes", attribute(nv::sharedBytesAttrName, 0)),
                                     entry("cooperative", builder.getBoolAttr(false)),
                                     entry("dependent", builder.getBoolAttr(function->hasAttr(nv::dependentAttrName)))});
    function->setAttr(
        nv::recipeAttrName,
        dictionary(
            {entry("version", integer(1)), entry("kernel", text(function.getSymName())),
             entry("target", text(chip)), entry("arguments", builder.getArrayAttr(arguments)),
             entry("parameters", builder.getArrayAttr(parameters)), entry("launch", geometry)}));
    return function.eraseArguments(unused);
  }

private:
  NamedAttribute entry(StringRef name, Attribute value) {
    return builder.getNamedAttr(name, value);
  }
  Attribute integer(int64_t value) { return builder.getI64IntegerAttr(value); }
  Attribute text(StringRef value) { return builder.getStringAttr(value); }
  Attribute dictionary(ArrayRef<NamedAttribute> entries) {
    return builder.getDictionaryAttr(entries);
  }

  /// The argument whose tensor this one stands for (nv-resolve-boxes): mostly itself.
  int64_t sharedWith(BlockArgument argument) {
    auto same = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), tile::sameAsAttrName);
    return same ? same.getInt() : argument.getArgNumber();
  }

  /// What all copies through a descriptor have in common.
  struct Copies {
    Operation *one = nullptr; ///< of them
    std::optional<layout::SharedLayout> layout;
    SmallVector<layout::TmaBox, 4> boxes;
    bool stored = false;
  };

  /// The copies through `argument`; an error names two that differ.
  FailureOr<Copies> copiesThrough(BlockArgument argument) {
    Copies copies;
    for (Operation *user : argument.getUsers()) {
      auto load = dyn_cast<nv::TmaLoadOp>(user);
      auto store = dyn_cast<nv::TmaStoreOp>(user);
      copies.stored |= static_cast<bool>(store);
      if (!load && !store)
        return user->emitOpError("descriptor: expected to be used by TMA copies only");
      auto view = load ? load.getView().getType() : store.getView().getType();
      auto shared = sharedLayout(view);
      if (!shared)
        return user->emitOpError("view: ") << llvm::toString(shared.takeError());
      auto own = tmaBoxes(view);
      if (!own)
        return user->emitOpError("box: ") << llvm::toString(own.takeError());
      if (copies.layout && (copies.layout->swizzle() != shared->swizzle() ||
                            copies.boxes.front().extents != own->front().extents))
        return copies.one->emitOpError(
                   "view layout: expected the same for all copies through one descriptor, found ")
               << copies.layout->str() << " here and " << shared->str() << " elsewhere";
      copies.layout = *shared;
      copies.boxes = *own;
      copies.one = user;
    }
    return copies;
  }

  /// The box of one copy in all dimensions of the descriptor, innermost first.
  FailureOr<SmallVector<int64_t>> boxOf(const Copies &copies, tile::DescType desc) {
    SmallVector<int64_t> box(copies.boxes.front().extents.begin(), copies.boxes.front().extents.end());
    // Rows that the view counts by fewer indices than the descriptor has: all of them are one box.
    SmallVector<int64_t> counted;
    for (int64_t extent : llvm::reverse(desc.getShape()))
      if (extent != 1)
        counted.push_back(extent);
    if (counted.size() > box.size()) {
      auto rowsOf = [](ArrayRef<int64_t> extents) {
        return std::accumulate(extents.begin() + 1, extents.end(), int64_t(1), std::multiplies<>());
      };
      if (rowsOf(box) != rowsOf(counted))
        return copies.one->emitOpError("box: expected all ")
               << rowsOf(counted) << " rows of " << desc << " in one copy, found " << rowsOf(box);
      box.resize(1);
      box.append(counted.begin() + 1, counted.end());
    }
    // Put the unit dimensions of the descriptor back.
    SmallVector<int64_t> full;
    size_t next = 0;
    for (int64_t extent : llvm::reverse(desc.getShape()))
      full.push_back(extent == 1 || next >= box.size() ? 1 : box[next++]);
    int64_t bits = full.front() * tile::elementBits(desc.getElementType());
    if (bits % 128) // CUDA driver API, cuTensorMapEncodeTiled: boxDim[0]
      return copies.one->emitOpError("box rows: expected a multiple of 16 bytes, found ")
             << full.front() << " elements of " << desc.getElementType();
    for (int64_t extent : full)
      if (extent > 256)
        return copies.one->emitOpError("box extent: expected at most 256 elements, found ") << extent;
    return full;
  }

  FailureOr<DictionaryAttr> tensorMap(BlockArgument argument) {
    auto desc = cast<tile::DescType>(argument.getType());
    FailureOr<Copies> copies = copiesThrough(argument);
    if (failed(copies))
      return failure();
    FailureOr<SmallVector<int64_t>> box = boxOf(*copies, desc);
    if (failed(box))
      return failure();
    SmallVector<NamedAttribute> map{
        entry("kind", text("tensor_map")), entry("argument", integer(sharedWith(argument))),
        entry("element", text(elementName(desc.getElementType()))),
        entry("box", builder.getI64ArrayAttr(*box)),
        entry("swizzle", integer(layout::swizzleWidth(copies->layout->swizzle()))),
        entry("interleave", text("none")),
        // Fetches of 256 bytes gained nothing anywhere, and where rows begin at no line of 128 bytes products took up to
        // 1.2 times as long (docs/notes/gemm.md).
        entry("l2_promotion", integer(128)), entry("fill", text("zero"))};
    if (copies->stored)
      map.push_back(entry("stored", builder.getBoolAttr(true)));
    return builder.getDictionaryAttr(map);
  }

  /// A descriptor: the host passes the tensor, and no parameter of the kernel stands for it but its tensor map.
  LogicalResult addDescriptor(BlockArgument argument, StringRef name) {
    unsigned index = argument.getArgNumber();
    auto desc = cast<tile::DescType>(argument.getType());
    if (sharedWith(argument) == index)
      arguments.push_back(dictionary({entry("name", text(name)), entry("kind", text("tensor")),
                                      entry("element", text(elementName(desc.getElementType()))),
                                      entry("rank", integer(desc.getShape().size()))}));
    if (argument.use_empty()) {
      unused.set(index);
      return success();
    }
    FailureOr<DictionaryAttr> map = tensorMap(argument);
    if (failed(map))
      return failure();
    function.setArgAttr(index, nv::tensorMapAttrName, *map);
    parameters.push_back(*map);
    return success();
  }

  void addWorkspace(unsigned index, Attribute bytes) {
    bool zero = !function.getArgAttr(index, nv::unsetAttrName);
    parameters.push_back(dictionary({entry("kind", text("workspace")), entry("bytes", bytes),
                                     entry("zero", builder.getBoolAttr(zero))}));
  }

  /// A pointer or a scalar.
  void addValue(BlockArgument argument, StringRef name) {
    unsigned index = argument.getArgNumber();
    auto element = function.getArgAttrOfType<TypeAttr>(index, tile::pointerAttrName);
    SmallVector<NamedAttribute> entries{
        entry("name", text(name)), entry("kind", text(element ? "pointer" : "scalar")),
        entry("element", text(elementName(element ? element.getValue() : argument.getType())))};
    // What the code relies on is checked at launch.
    if (auto divisor = function.getArgAttrOfType<IntegerAttr>(index, tile::divisibilityAttrName);
        divisor && divisor.getInt() > 1)
      entries.push_back(entry("divisible", integer(divisor.getInt())));
    arguments.push_back(dictionary(entries));
    parameters.push_back(
        dictionary({entry("kind", text("argument")), entry("argument", integer(index))}));
  }

  /// How many CTAs a launch has.
  FailureOr<DictionaryAttr> grid(warp::LaunchAttr launch) {
    bool persistent = launch && launch.getPersistent();
    SmallVector<NamedAttribute> grid{entry("persistent", builder.getBoolAttr(persistent)),
                                     entry("per_sm", integer(launch ? launch.getPerSm() : 1))};
    if (auto extents = function->getAttrOfType<ArrayAttr>(nv::tilesAttrName))
      grid.push_back(entry("tiles", extents));
    if (launch && !persistent) // nothing here says how many programs the caller wants
      grid.assign({entry("given", builder.getBoolAttr(true))});
    if (auto packed = function->getAttrOfType<IntegerAttr>(nv::packedAttrName))
      grid.push_back(entry("packed", packed));
    if (auto extents = function->getAttrOfType<ArrayAttr>(nv::gridAttrName)) {
      if (extents.empty() || extents.size() > 3 || persistent)
        return function.emitOpError("'")
               << nv::gridAttrName
               << "': expected 1 to 3 extents on a kernel that is not persistent, found "
               << extents;
      grid.assign({entry("persistent", builder.getBoolAttr(false))});
      for (auto [axis, extent] : llvm::enumerate(extents))
        grid.push_back(entry(StringRef("xyz").substr(axis, 1), extent));
    }
    return builder.getDictionaryAttr(grid);
  }

  func::FuncOp function;
  Builder builder;
  StringRef chip;
  SmallVector<Attribute> arguments, parameters; ///< of the recipe
  llvm::BitVector unused;                       ///< arguments of the kernel that it needs no parameter for
};

struct HoistDescriptors : tileloom::nv::impl::NVHoistDescriptorsBase<HoistDescriptors> {
  using NVHoistDescriptorsBase::NVHoistDescriptorsBase;

  void runOnOperation() override {
    getOperation()->walk([&](func::FuncOp function) {
      if (function->hasAttr(tile::kernelAttrName) && failed(RecipeBuilder(function, chip).build()))
        signalPassFailure();
    });
  }
};

} // namespace
