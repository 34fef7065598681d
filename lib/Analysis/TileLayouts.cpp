//===- TileLayouts.cpp - From layout attributes to layouts --------------------------------===//

#include "tileloom/Analysis/TileLayouts.h"

#include "dialects/Tile/Verify.h"

using namespace mlir;
using namespace tileloom;
using layout::RegisterLayout;
using layout::SharedLayout;
using llvm::Expected;

static llvm::Error unknownLayout(Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream(text) << "expected a register layout, found ";
  if (attribute)
    llvm::raw_string_ostream(text) << attribute;
  else
    text += "none";
  return llvm::createStringError(text);
}

/// A slice says nothing about the extent of the dimension that it dropped; the map of the others
/// does not depend on it. Takes the smallest extent that the parent allows.
static Expected<RegisterLayout> sliceLayout(nv::SliceAttr slice, ArrayRef<int64_t> shape,
                                            unsigned bits) {
  for (int64_t extent : {1, 8, 16, 32, 64, 128, 256}) {
    SmallVector<int64_t> parentShape(shape);
    parentShape.insert(parentShape.begin() + slice.getDim(), extent);
    Expected<RegisterLayout> parent = registerLayout(slice.getParent(), parentShape, bits);
    if (!parent) {
      llvm::consumeError(parent.takeError());
      continue;
    }
    Expected<layout::SubLayout> result = layout::slice(*parent, slice.getDim());
    if (!result)
      return result.takeError();
    return result->layout;
  }
  return unknownLayout(slice);
}

Expected<RegisterLayout> tileloom::registerLayout(Attribute attribute, ArrayRef<int64_t> shape,
                                                  unsigned bits) {
  if (auto acc = dyn_cast_or_null<nv::WgmmaAccAttr>(attribute))
    return RegisterLayout::wgmmaAccumulator(shape, acc.getWarps());
  if (auto a = dyn_cast_or_null<nv::WgmmaAAttr>(attribute))
    return a.getPaired() ? RegisterLayout::wgmmaPairedA(shape, a.getWarps())
                         : RegisterLayout::wgmmaOperandA(shape, bits, a.getWarps());
  if (auto acc = dyn_cast_or_null<nv::MmaAccAttr>(attribute))
    return RegisterLayout::mmaAccumulator(shape, acc.getRows(), acc.getColumns());
  if (auto a = dyn_cast_or_null<nv::MmaAAttr>(attribute))
    return RegisterLayout::mmaOperandA(shape, bits, a.getRows(), a.getColumns());
  if (auto b = dyn_cast_or_null<nv::MmaBAttr>(attribute))
    return RegisterLayout::mmaOperandB(shape, bits, b.getRows(), b.getColumns());
  if (auto blocked = dyn_cast_or_null<nv::BlockedAttr>(attribute)) {
    SmallVector<unsigned> order(blocked.getOrder());
    return RegisterLayout::blocked(shape, blocked.getSizePerThread(), blocked.getThreadsPerWarp(),
                                   blocked.getWarpsPerRole(), order);
  }
  if (auto tmem = dyn_cast_or_null<nv::TmemLoadAttr>(attribute))
    return RegisterLayout::tmem(accessShape(tmem.getShape()), shape, tmem.getWarps(),
                                tmem.getBits());
  if (auto slice = dyn_cast_or_null<nv::SliceAttr>(attribute))
    return sliceLayout(slice, shape, bits);
  if (auto transposed = dyn_cast_or_null<nv::TransposedAttr>(attribute)) {
    if (shape.size() != 2)
      return unknownLayout(attribute);
    Expected<RegisterLayout> parent = registerLayout(transposed.getParent(), {shape[1], shape[0]}, bits);
    return parent ? layout::permuteDims(*parent, {1, 0}) : std::move(parent);
  }
  if (auto slot = dyn_cast_or_null<nv::RowSlotAttr>(attribute)) {
    SmallVector<int64_t> parentShape(shape);
    parentShape[0] *= slot.getCount();
    Expected<RegisterLayout> parent = registerLayout(slot.getParent(), parentShape, bits);
    if (!parent)
      return parent.takeError();
    Expected<layout::SubLayout> result =
        layout::rowSlot(*parent, 0, slot.getSlot(), slot.getCount());
    if (!result)
      return result.takeError();
    return result->layout;
  }
  return unknownLayout(attribute);
}

Expected<RegisterLayout> tileloom::registerLayout(RankedTensorType type) {
  return registerLayout(type.getEncoding(), type.getShape(),
                        tile::elementBits(type.getElementType()));
}

Expected<SharedLayout> tileloom::sharedLayout(nv::MemDescType type) {
  auto smem = dyn_cast_or_null<nv::SmemAttr>(type.getLayout());
  if (!smem)
    return llvm::createStringError("expected a shared memory layout on the tile, found none");
  SmallVector<int64_t> shape = squeezeShape(type.getShape());
  if (smem.getTransposed())
    std::swap(shape[shape.size() - 2], shape[shape.size() - 1]);
  if (smem.getRows() && shape.size() >= 2)
    shape[shape.size() - 2] = smem.getRows();
  Expected<layout::Swizzle> swizzle = layout::swizzleFromBytes(smem.getSwizzle());
  if (!swizzle)
    return swizzle.takeError();
  unsigned bits = tile::elementBits(type.getElementType());
  if (bits == 4 && shape.back() % 2 == 0) { // two in a byte, in K order
    bits = 8;
    shape.back() /= 2;
  }
  Expected<SharedLayout> result = SharedLayout::create(shape, bits, *swizzle);
  if (!result || !smem.getTransposed())
    return result;
  return result->transposed();
}

Expected<SmallVector<layout::TmaBox, 4>> tileloom::tmaBoxes(nv::MemDescType type) {
  Expected<SharedLayout> whole = sharedLayout(type);
  if (!whole)
    return whole.takeError();
  SmallVector<int64_t> shape = squeezeShape(type.getShape());
  int64_t perByte = tile::elementBits(type.getElementType()) == 4 ? 2 : 1;
  shape.back() /= perByte;
  bool slice = whole->shape() != ArrayRef<int64_t>(shape) && whole->major() == layout::Major::K;
  Expected<SharedLayout> part =
      slice ? SharedLayout::create(shape, whole->elementBits(), whole->swizzle()) : *whole;
  if (!part)
    return part.takeError();
  Expected<SmallVector<layout::TmaBox, 4>> boxes = part->tmaBoxes();
  if (!boxes)
    return boxes.takeError();
  for (layout::TmaBox &box : *boxes) {
    // Columns of atoms are as far apart as in the allocation.
    box.byteOffset += box.origin[0] / box.extents[0] * (whole->rowCount() - part->rowCount()) *
                      whole->atomBytes();
    box.extents[0] *= perByte;
    box.origin[0] *= perByte;
  }
  return boxes;
}

Expected<layout::TensorMemoryLayout> tileloom::tensorMemoryLayout(nv::MemDescType type) {
  auto tmem = dyn_cast_or_null<nv::TmemAttr>(type.getLayout());
  if (!tmem)
    return llvm::createStringError("expected a tensor memory layout on the tile, found none");
  int64_t rows = type.getShape()[0], columns = type.getShape()[1];
  switch (tmem.getForm()) {
  case nv::TmemForm::Accumulator:
    return layout::TensorMemoryLayout::accumulator(rows, columns, /*ctaGroup=*/1);
  case nv::TmemForm::Operand:
    return layout::TensorMemoryLayout::operandA(
        rows, columns, tile::elementBits(type.getElementType()), /*ctaGroup=*/1);
  case nv::TmemForm::Scales:
    return layout::TensorMemoryLayout::scalesB(rows, columns);
  }
  llvm_unreachable("unknown form");
}

layout::TmemShape tileloom::accessShape(nv::TmemShape shape) {
  return static_cast<layout::TmemShape>(shape);
}

nv::TmemLoadAttr tileloom::tensorMemoryRegisters(nv::MemDescType type, int64_t warps) {
  auto tmem = dyn_cast_or_null<nv::TmemAttr>(type.getLayout());
  bool packed = tmem && tmem.getForm() == nv::TmemForm::Operand;
  // The 16-lane shape whose fragments are those of wgmma: stmatrix can write them on.
  if (type.getShape()[0] == 64)
    return nv::TmemLoadAttr::get(type.getContext(), warps, nv::TmemShape::S16x256b,
                                 packed ? tile::elementBits(type.getElementType()) : 32);
  return nv::TmemLoadAttr::get(type.getContext(), warps, nv::TmemShape::S32x32b, 32);
}

SmallVector<int64_t> tileloom::squeezeShape(ArrayRef<int64_t> shape) {
  return tile::squeeze(shape);
}
