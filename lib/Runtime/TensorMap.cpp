//===- TensorMap.cpp - From a tensor argument to a tensor map -------------===//
//
// The half of the rules of cuTensorMapEncodeTiled (cuda.h, CUDA 13.0) that depends on the tensor:
// address and stride alignment, extents, the unit innermost stride. The static half is in
// RecipeTensorMap.cpp.
//
//===----------------------------------------------------------------------===//
#include "tileloom/Runtime/TensorMap.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include <cstring>

namespace tileloom::runtime {

using llvm::Twine;

constexpr int64_t maxExtent = INT64_C(1) << 32;
constexpr int64_t maxStrideBytes = INT64_C(1) << 40;
// Beyond this many maps the cache starts again: it then holds addresses of freed tensors, mostly.
constexpr size_t maxCachedMaps = 4096;

llvm::Expected<TileloomTensorMap> makeTensorMap(const Recipe &recipe,
                                                const ParameterSpec &parameter,
                                                const TileloomArgument &argument) {
  const TensorMapSpec &spec = parameter.map;
  auto fail = [&](const Twine &text) {
    return makeError(ErrorKind::Argument, argumentPrefix(recipe, parameter.argument) + text);
  };
  TileloomTensorMap map = spec.fixed;
  unsigned rank = map.rank;
  int64_t bits = elementBits(spec.element);

  bool empty = false;
  for (unsigned axis = 0; axis < rank; ++axis)
    empty |= argument.shape[axis] == 0;
  if (empty) {
    for (unsigned i = 0; i < rank; ++i)
      map.extents[i] = i == 0 ? spec.innerMultiple : 1;
    for (unsigned i = 0; i + 1 < rank; ++i)
      map.strides[i] = 256;
    return map;
  }

  map.address = argument.value;
  if (map.address % spec.addressAlignment != 0 || map.address == 0)
    return fail("address is 0x" + Twine::utohexstr(map.address) + "; needed " +
                (map.address ? "a multiple of " + Twine(spec.addressAlignment) + " bytes for TMA"
                             : Twine("device memory")));

  int64_t natural = 0; // byte stride of a dimension packed over the ones inside
  for (unsigned i = 0; i < rank; ++i) {
    unsigned axis = spec.axes[i];
    int64_t extent = argument.shape[axis];
    int64_t stride = argument.strides[axis];
    if (extent > maxExtent)
      return fail("extent of dimension " + Twine(axis) + " is " + Twine(extent) +
                  "; needed at most 2^32");
    map.extents[i] = extent;
    if (i == 0) {
      if (stride != 1 && extent != 1)
        return fail("stride of dimension " + Twine(axis) + " is " + Twine(stride) +
                    " elements; needed 1, as TMA reads it in one run");
      if (extent % spec.innerMultiple != 0)
        return fail("extent of dimension " + Twine(axis) + " is " + Twine(extent) +
                    "; needed a multiple of " + Twine(spec.innerMultiple) + " for " +
                    elementName(spec.element) +
                    (spec.innerMultiple * bits == 128 ? ": stores end at 16 bytes" : ""));
      natural = llvm::alignTo(llvm::divideCeil(extent * bits, 8), spec.strideAlignment);
      continue;
    }
    // The stride of a dimension of extent 1 is never used, and frameworks put anything there.
    if (extent == 1) {
      map.strides[i - 1] = natural < maxStrideBytes ? natural : spec.strideAlignment;
      continue;
    }
    if (stride < 0)
      return fail("stride of dimension " + Twine(axis) + " is " + Twine(stride) +
                  "; needed 0 or more");
    if (stride >= maxStrideBytes * 8 / bits)
      return fail("stride of dimension " + Twine(axis) + " is " + Twine(stride) + " elements of " +
                  Twine(bits) + " bits; needed below 2^40 bytes");
    int64_t strideBits = stride * bits;
    if (strideBits % (spec.strideAlignment * 8) != 0)
      return fail("stride of dimension " + Twine(axis) + " is " + Twine(stride) + " elements (" +
                  Twine(strideBits / 8) + " bytes); needed a multiple of " +
                  Twine(spec.strideAlignment) + " bytes for TMA");
    map.strides[i - 1] = strideBits / 8;
    natural = extent < maxStrideBytes / std::max<int64_t>(strideBits / 8, 1)
                  ? strideBits / 8 * extent
                  : maxStrideBytes;
    natural = std::max<int64_t>(natural, spec.strideAlignment);
  }
  return map;
}

std::string describe(const TileloomTensorMap &map) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto list = [&](const char *name, auto *values, unsigned count) {
    os << ", " << name << " [";
    for (unsigned i = 0; i < count; ++i)
      os << (i ? ", " : "") << values[i];
    os << "]";
  };
  os << "address " << llvm::format_hex(map.address, 1) << ", type " << unsigned(map.dataType);
  list("extents", map.extents, map.rank);
  list("byte strides", map.strides, map.rank - 1);
  list("box", map.box, map.rank);
  os << ", swizzle " << unsigned(map.swizzle) << ", interleave " << unsigned(map.interleave);
  return text;
}

size_t TensorMapCache::Hash::operator()(const TileloomTensorMap &map) const {
  return llvm::xxh3_64bits(
      llvm::ArrayRef<uint8_t>(reinterpret_cast<const uint8_t *>(&map), sizeof(map)));
}

// Maps are built by copying and assigning whole fields of a struct without holes, so comparing
// bytes is exact.
bool TensorMapCache::Equal::operator()(const TileloomTensorMap &a,
                                       const TileloomTensorMap &b) const {
  return std::memcmp(&a, &b, sizeof(a)) == 0;
}

llvm::Error TensorMapCache::get(const TileloomTensorMap &map, unsigned char *out, Encode encode) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = entries.find(map);
  if (found == entries.end()) {
    EncodedTensorMap encoded = {};
    if (llvm::Error error = encode(map, encoded))
      return error;
    if (entries.size() >= maxCachedMaps)
      entries.clear();
    found = entries.emplace(map, encoded).first;
  }
  std::memcpy(out, found->second.bytes, sizeof(found->second.bytes));
  return llvm::Error::success();
}

} // namespace tileloom::runtime
