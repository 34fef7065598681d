//===- TensorMap.cpp - Rules, opaque form and byte counts of tensor maps
//--------------------------===//
//
// The checks follow cuTensorMapEncodeTiled (cuda.h of CUDA 13.0). The opaque form is a packed
// struct of ours with a magic number and a mask of the fields that have been set, because
// tensormap.replace may start from a zero-filled buffer.
//
//===----------------------------------------------------------------------------------------------===//
#include "tileloom/Simulator/TensorMap.h"

#include <cstring>

using namespace tileloom::sim;

namespace {
struct TypeInfo {
  const char *name;
  uint8_t bits;
  bool floating;
};
constexpr TypeInfo types[] = {
    {"UINT8", 8, false},         {"UINT16", 16, false},      {"UINT32", 32, false},
    {"INT32", 32, false},        {"UINT64", 64, false},      {"INT64", 64, false},
    {"FLOAT16", 16, true},       {"FLOAT32", 32, true},      {"FLOAT64", 64, true},
    {"BFLOAT16", 16, true},      {"FLOAT32_FTZ", 32, true},  {"TFLOAT32", 32, true},
    {"TFLOAT32_FTZ", 32, true},  {"16U4_ALIGN8B", 4, false}, {"16U4_ALIGN16B", 4, false},
    {"16U6_ALIGN16B", 6, false},
};

std::string num(uint64_t value) { return std::to_string(value); }

std::string hex(uint64_t value) {
  char buffer[20];
  std::snprintf(buffer, sizeof(buffer), "0x%llx", static_cast<unsigned long long>(value));
  return buffer;
}

// The opaque form. Little-endian host; every byte is named so that replace can edit it.
struct Blob {
  uint32_t magic;
  uint32_t fieldsSet; // bit TmaField, indexed fields: one bit per ordinal from `indexedBit`
  uint64_t globalAddress;
  uint64_t globalStride[4];
  uint32_t globalDim[5]; // 0 stands for 2^32
  uint16_t boxDim[5];
  uint8_t elementStride[5];
  uint8_t rankMinusOne, type, interleave, swizzle, atomicity, l2Promotion, fill;
  uint8_t reserved[128 - 4 - 4 - 8 - 32 - 20 - 10 - 5 - 7];
};
static_assert(sizeof(Blob) == tensorMapBytes, "the opaque form has 128 bytes");

constexpr uint32_t blobMagic = 0x544D4C54; // "TLMT"

// Bits of fieldsSet: 0..6 single fields, then 5 box, 5 dim, 4 stride, 5 element stride.
constexpr unsigned scalarBit(TmaField field) {
  switch (field) {
  case TmaField::GlobalAddress:
    return 0;
  case TmaField::Rank:
    return 1;
  case TmaField::ElementType:
    return 2;
  case TmaField::InterleaveLayout:
    return 3;
  case TmaField::SwizzleMode:
    return 4;
  case TmaField::SwizzleAtomicity:
    return 5;
  default:
    return 6; // FillMode
  }
}
constexpr unsigned boxBit = 7, dimBit = 12, strideBit = 17, elementStrideBit = 21;

Error missing(const char *what, unsigned dim) {
  return std::string("tensor map built by tensormap.replace from a zero-filled buffer: ") + what +
         (dim < 5 ? " of dimension " + num(dim) : std::string()) + " was never set";
}

bool padded(TmaType type) { return type == TmaType::U4Align16 || type == TmaType::U6Align16; }
} // namespace

unsigned tileloom::sim::elementBits(TmaType type) { return types[unsigned(type) & 15].bits; }
const char *tileloom::sim::tmaTypeName(TmaType type) { return types[unsigned(type) & 15].name; }
bool tileloom::sim::isFloating(TmaType type) { return types[unsigned(type) & 15].floating; }

const char *tileloom::sim::swizzleName(Swizzle mode) {
  static const char *const names[] = {
      "NONE", "32B", "64B", "128B", "128B_ATOM_32B", "128B_ATOM_32B_FLIP_8B", "128B_ATOM_64B"};
  return unsigned(mode) < 7 ? names[unsigned(mode)] : "invalid";
}

static Error validateDims(const TensorMap &map) {
  uint64_t align = map.interleave == TmaInterleave::B32 || padded(map.type) ? 32 : 16;
  for (unsigned i = 0; i < map.rank; ++i) {
    std::string at = "[" + num(i) + "]";
    if (map.globalDim[i] == 0 || map.globalDim[i] > (uint64_t(1) << 32))
      return "globalDim" + at + " is " + num(map.globalDim[i]) + ", needs 1 to 2^32";
    if (map.boxDim[i] == 0 || map.boxDim[i] > 256)
      return "boxDim" + at + " is " + num(map.boxDim[i]) + ", needs 1 to 256";
    bool strideUsed = i > 0 || map.interleave != TmaInterleave::None;
    if (strideUsed && (map.elementStride[i] == 0 || map.elementStride[i] > 8))
      return "elementStrides" + at + " is " + num(map.elementStride[i]) + ", needs 1 to 8";
    if (i == 0)
      continue;
    uint64_t stride = map.globalStride[i - 1];
    std::string name = "globalStrides[" + num(i - 1) + "] (dimension " + num(i) + ")";
    if (stride % align)
      return name + " is " + num(stride) + " bytes, needs a multiple of " + num(align);
    if (stride >= (uint64_t(1) << 40))
      return name + " is " + num(stride) + " bytes, needs less than 2^40";
  }
  return {};
}

static Error validatePacked(const TensorMap &map) {
  if (padded(map.type)) {
    if (map.globalDim[0] % 128)
      return "globalDim[0] is " + num(map.globalDim[0]) + ", " + tmaTypeName(map.type) +
             " needs a multiple of 128";
    if (map.boxDim[0] != 128)
      return "boxDim[0] is " + num(map.boxDim[0]) + ", " + tmaTypeName(map.type) +
             " needs exactly 128";
    bool swizzleOk = map.swizzle == Swizzle::None || map.swizzle == Swizzle::B128 ||
                     map.swizzle == Swizzle::B128Atom32 ||
                     (map.type == TmaType::U6Align16 && map.swizzle == Swizzle::B128Atom64);
    if (!swizzleOk)
      return std::string("swizzle ") + swizzleName(map.swizzle) + " is not available for " +
             tmaTypeName(map.type);
    if (map.interleave != TmaInterleave::None)
      return std::string(tmaTypeName(map.type)) + " needs interleave NONE";
  }
  if (map.type == TmaType::U4Align8 && map.globalDim[0] % 2)
    return "globalDim[0] is " + num(map.globalDim[0]) + ", 16U4_ALIGN8B needs an even count";
  return {};
}

Error tileloom::sim::validate(const TensorMap &map, std::string *warnings) {
  if (map.rank < 1 || map.rank > 5)
    return "rank is " + num(map.rank) + ", needs 1 to 5";
  if (unsigned(map.type) > 15)
    return "data type code is " + num(unsigned(map.type)) + ", needs 0 to 15";
  if (unsigned(map.swizzle) > 6)
    return "swizzle code is " + num(unsigned(map.swizzle)) + ", needs 0 to 6";
  if (unsigned(map.interleave) > 2 || unsigned(map.l2Promotion) > 3 || unsigned(map.fill) > 1)
    return "interleave, L2 promotion or fill code out of range: " + num(unsigned(map.interleave)) +
           ", " + num(unsigned(map.l2Promotion)) + ", " + num(unsigned(map.fill));
  if (map.interleave != TmaInterleave::None && map.rank < 3)
    return "rank is " + num(map.rank) + ", an interleaved map needs at least 3";
  uint64_t align = map.interleave == TmaInterleave::B32 || padded(map.type) ? 32 : 16;
  if (map.globalAddress % align)
    return "globalAddress is " + hex(map.globalAddress) + ", needs a multiple of " + num(align);
  if (Error error = validateDims(map); !error.empty())
    return error;
  if (Error error = validatePacked(map); !error.empty())
    return error;
  if (map.interleave == TmaInterleave::B32 && map.swizzle != Swizzle::B32)
    return std::string("swizzle is ") + swizzleName(map.swizzle) + ", interleave 32B needs 32B";
  uint64_t innerBits = uint64_t(map.boxDim[0]) * elementBits(map.type);
  if (map.interleave == TmaInterleave::None) {
    if (innerBits % 128)
      return "the inner box is " + num(map.boxDim[0]) + " elements of " +
             num(elementBits(map.type)) + " bits, needs a multiple of 16 bytes";
    uint64_t innerBytes = padded(map.type) ? map.boxDim[0] : innerBits / 8;
    uint32_t width = swizzleWidth(map.swizzle);
    if (width && innerBytes > width)
      return "the inner box is " + num(innerBytes) + " bytes, swizzle " + swizzleName(map.swizzle) +
             " allows at most " + num(width);
  }
  if (map.fill == TmaFill::NaN && !isFloating(map.type))
    return std::string("the NaN fill needs a floating-point type, found ") + tmaTypeName(map.type);
  if (warnings && map.swizzle != Swizzle::None && map.globalAddress % 128)
    *warnings = "globalAddress is " + hex(map.globalAddress) +
                ", the CUDA guide asks for 128-byte alignment with a swizzle";
  return {};
}

void tileloom::sim::encode(const TensorMap &map, uint8_t blob[tensorMapBytes]) {
  Blob b = {};
  b.magic = blobMagic;
  b.fieldsSet = ~0u;
  b.globalAddress = map.globalAddress;
  for (unsigned i = 0; i < 5; ++i) {
    b.globalDim[i] = uint32_t(map.globalDim[i]);
    b.boxDim[i] = uint16_t(map.boxDim[i]);
    b.elementStride[i] = uint8_t(map.elementStride[i]);
    if (i < 4)
      b.globalStride[i] = map.globalStride[i];
  }
  b.rankMinusOne = uint8_t(map.rank - 1);
  b.type = uint8_t(map.type);
  b.interleave = uint8_t(map.interleave);
  // Mode and atomicity apart, as the device edits them: 128B with atom 0..3.
  b.swizzle = map.swizzle > Swizzle::B128 ? 3 : uint8_t(map.swizzle);
  b.atomicity = map.swizzle > Swizzle::B128 ? uint8_t(map.swizzle) - 3 : 0;
  b.l2Promotion = uint8_t(map.l2Promotion);
  b.fill = uint8_t(map.fill);
  std::memcpy(blob, &b, sizeof(b));
}

Error tileloom::sim::decode(const uint8_t blob[tensorMapBytes], TensorMap &map) {
  Blob b;
  std::memcpy(&b, blob, sizeof(b));
  if (b.magic != blobMagic)
    return "these 128 bytes hold no tensor map (first word " + hex(b.magic) +
           "); it must come from the host's encoder or from tensormap.replace";
  if (b.rankMinusOne > 4)
    return "tensor map has rank " + num(b.rankMinusOne + 1u) + ", needs 1 to 5";
  if (!(b.fieldsSet & 1))
    return missing("global_address", 5);
  TensorMap result;
  result.rank = b.rankMinusOne + 1u;
  for (unsigned i = 0; i < result.rank; ++i) {
    if (!(b.fieldsSet >> (boxBit + i) & 1))
      return missing("box_dim", i);
    if (!(b.fieldsSet >> (dimBit + i) & 1))
      return missing("global_dim", i);
    if (i > 0 && !(b.fieldsSet >> (strideBit + i - 1) & 1))
      return missing("global_stride", i);
    if (i > 0 && !(b.fieldsSet >> (elementStrideBit + i) & 1))
      return missing("element_stride", i);
    result.boxDim[i] = b.boxDim[i];
    result.globalDim[i] = b.globalDim[i] ? b.globalDim[i] : uint64_t(1) << 32;
    result.elementStride[i] = b.elementStride[i];
    if (i > 0)
      result.globalStride[i - 1] = b.globalStride[i - 1];
  }
  result.globalAddress = b.globalAddress;
  result.type = TmaType(b.type);
  result.interleave = TmaInterleave(b.interleave);
  if (b.atomicity && b.swizzle != 3)
    return "tensor map has swizzle atomicity " + num(b.atomicity) + " with swizzle mode " +
           num(b.swizzle) + ", which needs 128B";
  result.swizzle = b.atomicity ? Swizzle(3 + b.atomicity) : Swizzle(b.swizzle);
  result.l2Promotion = TmaL2Promotion(b.l2Promotion);
  result.fill = TmaFill(b.fill);
  if (Error error = validate(result); !error.empty())
    return "tensor map is invalid: " + error;
  map = result;
  return {};
}

bool tileloom::sim::typeFromPtxCode(unsigned code, TmaType &type) {
  // The driver puts FLOAT64 and BFLOAT16 before FLOAT32_FTZ, PTX after it.
  static constexpr TmaType fromPtx[] = {
      TmaType::U8,      TmaType::U16,      TmaType::U32,       TmaType::S32,
      TmaType::U64,     TmaType::S64,      TmaType::F16,       TmaType::F32,
      TmaType::F32Ftz,  TmaType::F64,      TmaType::BF16,      TmaType::TF32,
      TmaType::TF32Ftz, TmaType::U4Align8, TmaType::U4Align16, TmaType::U6Align16};
  if (code > 15)
    return false;
  type = fromPtx[code];
  return true;
}

Error tileloom::sim::replaceField(uint8_t blob[tensorMapBytes], TmaField field, unsigned ordinal,
                                  uint64_t value) {
  Blob b;
  std::memcpy(&b, blob, sizeof(b));
  if (b.magic != blobMagic) {
    static const uint8_t zeros[tensorMapBytes] = {};
    if (std::memcmp(blob, zeros, tensorMapBytes) != 0)
      return "tensormap.replace on 128 bytes that are neither a tensor map nor zero-filled";
    b.magic = blobMagic;
  }
  auto bad = [&](const char *name, const char *range) {
    return std::string("tensormap.replace.") + name + ": value is " + num(value) + ", needs " +
           range;
  };
  unsigned bit = scalarBit(field), limit = field == TmaField::GlobalStride ? 4 : 5;
  bool indexed = field == TmaField::BoxDim || field == TmaField::GlobalDim ||
                 field == TmaField::GlobalStride || field == TmaField::ElementStride;
  if (indexed && ordinal >= limit)
    return "tensormap.replace: ordinal is " + num(ordinal) + ", needs 0 to " + num(limit - 1);
  switch (field) {
  case TmaField::GlobalAddress:
    b.globalAddress = value;
    break;
  case TmaField::Rank:
    if (value > 4)
      return bad("rank", "0 to 4 (rank - 1)");
    b.rankMinusOne = uint8_t(value);
    break;
  case TmaField::BoxDim:
    if (value == 0 || value > 256)
      return bad("box_dim", "1 to 256");
    b.boxDim[ordinal] = uint16_t(value);
    bit = boxBit + ordinal;
    break;
  case TmaField::GlobalDim:
    if (value == 0 || value > 0xFFFFFFFFu)
      return bad("global_dim", "1 to 2^32-1");
    b.globalDim[ordinal] = uint32_t(value);
    bit = dimBit + ordinal;
    break;
  case TmaField::GlobalStride:
    b.globalStride[ordinal] = value;
    bit = strideBit + ordinal;
    break;
  case TmaField::ElementStride:
    if (value == 0 || value > 8)
      return bad("element_stride", "1 to 8");
    b.elementStride[ordinal] = uint8_t(value);
    bit = elementStrideBit + ordinal;
    break;
  case TmaField::ElementType: {
    TmaType type;
    if (!typeFromPtxCode(value > 255 ? 255 : unsigned(value), type))
      return bad("elemtype", "0 to 15");
    b.type = uint8_t(type);
    break;
  }
  case TmaField::InterleaveLayout:
    if (value > 2)
      return bad("interleave_layout", "0 to 2");
    b.interleave = uint8_t(value);
    break;
  case TmaField::SwizzleMode:
    if (value > 3)
      return bad("swizzle_mode", "0 to 3 (4, 96B, exists on sm_103a only)");
    b.swizzle = uint8_t(value);
    break;
  case TmaField::SwizzleAtomicity:
    if (value > 3)
      return bad("swizzle_atomicity", "0 to 3");
    b.atomicity = uint8_t(value);
    break;
  case TmaField::FillMode:
    if (value > 1)
      return bad("fill_mode", "0 or 1");
    b.fill = uint8_t(value);
    break;
  }
  b.fieldsSet |= 1u << bit;
  std::memcpy(blob, &b, sizeof(b));
  return {};
}

// Bytes of `count` elements of dimension 0 in shared memory (with gaps) or as transferred.
static uint32_t rowBytes(const TensorMap &map, bool gaps) {
  uint32_t count = map.extent(0);
  return padded(map.type) && gaps ? count : count * elementBits(map.type) / 8;
}

static uint32_t boxRows(const TensorMap &map) {
  uint32_t rows = 1;
  for (unsigned i = 1; i < map.rank; ++i)
    rows *= map.extent(i);
  return rows;
}

uint32_t tileloom::sim::sharedRowPitch(const TensorMap &map) {
  uint32_t bytes = rowBytes(map, true), width = swizzleWidth(map.swizzle);
  return bytes < width ? width : bytes;
}

uint32_t tileloom::sim::sharedBoxBytes(const TensorMap &map) {
  return sharedRowPitch(map) * boxRows(map);
}

uint32_t tileloom::sim::transactionBytes(const TensorMap &map) {
  return rowBytes(map, false) * boxRows(map);
}

uint32_t tileloom::sim::gather4TransactionBytes(const TensorMap &map) {
  return 4 * rowBytes(map, false);
}
