//===- InstructionDescriptor.cpp - Decoding of tcgen05 instruction descriptors
//--------------------===//
//
// Two bit layouts (plain and block-scaled kinds) and the shape rules of PTX ISA 9.7.16, Table 39.
//
//===----------------------------------------------------------------------------------------------===//
#include "tileloom/Simulator/InstructionDescriptor.h"

using namespace tileloom::sim;

namespace {
using D = InstructionDescriptor;

unsigned field(uint32_t bits, unsigned high, unsigned low) {
  return (bits >> low) & ((1u << (high - low + 1)) - 1);
}
std::string num(unsigned value) { return std::to_string(value); }

struct Decoder {
  MmaKind kind;
  uint32_t bits;
  const MmaForm &form;
  D &d;

  Error fail(const std::string &what) const {
    char buffer[16];
    std::snprintf(buffer, sizeof(buffer), "0x%08x", bits);
    return std::string("instruction descriptor ") + buffer + " for .kind::" + mmaKindName(kind) +
           ": " + what;
  }
  Error zero(unsigned high, unsigned low) const {
    if (!field(bits, high, low))
      return {};
    return fail("bits " + num(high) + ":" + num(low) + " are " + num(field(bits, high, low)) +
                ", needs 0");
  }

  Error type(const char *name, unsigned code, MmaType &out) const {
    static constexpr MmaType narrow[] = {MmaType::E4M3, MmaType::E5M2, MmaType::F32,
                                         MmaType::E2M3, MmaType::E3M2, MmaType::E2M1};
    switch (kind) {
    case MmaKind::F16:
      if (code > 1)
        return fail(std::string(name) + " type is " + num(code) + ", needs 0 (f16) or 1 (bf16)");
      out = code ? MmaType::BF16 : MmaType::F16;
      return {};
    case MmaKind::TF32:
      if (code != 2)
        return fail(std::string(name) + " type is " + num(code) + ", needs 2 (tf32)");
      out = MmaType::TF32;
      return {};
    case MmaKind::F8F6F4:
    case MmaKind::MXF8F6F4:
      if (code > 5 || code == 2)
        return fail(std::string(name) + " type is " + num(code) +
                    ", needs 0 (e4m3), 1 (e5m2), 3 (e2m3), 4 (e3m2) or 5 (e2m1)");
      out = narrow[code];
      return {};
    case MmaKind::I8:
      if (code > 1)
        return fail(std::string(name) + " type is " + num(code) + ", needs 0 (u8) or 1 (s8)");
      out = code ? MmaType::S8 : MmaType::U8;
      return {};
    case MmaKind::MXF4:
    case MmaKind::MXF4NVF4:
      if (code != 1)
        return fail(std::string(name) + " type is " + num(code) + ", needs 1 (e2m1)");
      out = MmaType::E2M1;
      return {};
    }
    return fail("unknown kind");
  }

  Error plain() {
    for (auto range : {std::pair<unsigned, unsigned>{6, 6}, {23, 23}, {29, 29}})
      if (Error error = zero(range.first, range.second); !error.empty())
        return error;
    d.sparsitySelector = uint8_t(field(bits, 1, 0));
    if (d.sparsitySelector && (!d.sparse || kind == MmaKind::I8 || kind == MmaKind::F8F6F4))
      return fail("sparsity selector is " + num(d.sparsitySelector) + ", needs 0 here");
    // PTX gives the field two bits; CUTLASS, the only text with the layout, knows two columns.
    if (d.sparsitySelector > 1)
      return fail("sparsity selector is " + num(d.sparsitySelector) + ", needs 0 or 1");
    d.saturate = field(bits, 3, 3);
    if (d.saturate && kind != MmaKind::I8)
      return fail("bit 3 (saturate) is set, it is for i8 only");
    unsigned dType = field(bits, 5, 4);
    bool dOk = kind == MmaKind::I8 ? dType == 2 : kind == MmaKind::TF32 ? dType == 1 : dType <= 1;
    if (!dOk)
      return fail("D type is " + num(dType) + ", needs " +
                  (kind == MmaKind::I8     ? "2 (s32)"
                   : kind == MmaKind::TF32 ? "1 (f32)"
                                           : "0 (f16) or 1 (f32)"));
    d.dType = dType == 2 ? MmaType::S32 : dType ? MmaType::F32 : MmaType::F16;
    if (Error error = type("A", field(bits, 9, 7), d.aType); !error.empty())
      return error;
    if (Error error = type("B", field(bits, 12, 10), d.bType); !error.empty())
      return error;
    if (kind == MmaKind::F16 && d.aType != d.bType)
      return fail("A and B must have the same type");
    if (d.dType == MmaType::F16 && d.aType == MmaType::BF16)
      return fail("D type f16 needs f16 inputs, found bf16");
    if (kind == MmaKind::I8 && field(bits, 14, 13))
      return fail("negation of A or B is not available");
    d.m = field(bits, 28, 24) << 4;
    static constexpr uint8_t shifts[] = {0, 8, 16, 32};
    d.maxBShift = shifts[field(bits, 31, 30)];
    if (d.maxBShift && !form.ws)
      return fail("bits 31:30 (B shift) are set, they are for .ws only");
    return {};
  }

  Error scaled() {
    bool four = kind != MmaKind::MXF8F6F4;
    for (auto range : {std::pair<unsigned, unsigned>{1, 0}, {3, 3}, {6, 6}, {26, 24}})
      if (Error error = zero(range.first, range.second); !error.empty())
        return error;
    d.scaleIdB = uint8_t(field(bits, 5, 4));
    d.scaleIdA = uint8_t(field(bits, 30, 29));
    if (four && field(bits, 12, 12))
      return zero(12, 12);
    if (Error error = type("A", field(bits, 9, 7), d.aType); !error.empty())
      return error;
    if (Error error = type("B", four ? field(bits, 11, 10) : field(bits, 12, 10), d.bType);
        !error.empty())
      return error;
    if (four && field(bits, 16, 15))
      return fail("A and B must be K-major (bits 16:15 are 0)");
    bool ue8m0 = field(bits, 23, 23);
    if (!ue8m0 && kind != MmaKind::MXF4NVF4)
      return fail("scale type is 0 (ue4m3), needs 1 (ue8m0)");
    d.scaleType = ue8m0 ? Format::UE8M0 : Format::UE4M3;
    d.m = field(bits, 28, 27) << 7;
    if (field(bits, 31, 31))
      return fail(four ? "bit 31 selects K = 96, which exists on sm_103a only"
                       : "bit 31 is 1, needs 0");
    return scaleVector();
  }

  Error scaleVector() {
    unsigned vector = form.scaleVector;
    if (!vector)
      vector = kind == MmaKind::MXF8F6F4 ? 1 : kind == MmaKind::MXF4 ? 2 : 0;
    bool ok = kind == MmaKind::MXF8F6F4 ? vector == 1
              : kind == MmaKind::MXF4   ? vector == 2
                                        : vector == 2 || vector == 4;
    if (!ok)
      return fail("scale vector is " + num(vector) + "X, needs " +
                  (kind == MmaKind::MXF8F6F4 ? "1X"
                   : kind == MmaKind::MXF4   ? "2X"
                                             : "2X or 4X (the qualifier is mandatory)"));
    if (vector == 2 && d.scaleType == Format::UE4M3)
      return fail("ue4m3 scales need scale_vec::4X, found 2X");
    d.scalesPerRow = uint8_t(vector);
    unsigned step = vector; // 1X: any byte, 2X: 0 or 2, 4X: 0
    for (unsigned id : {d.scaleIdA, d.scaleIdB})
      if (id % step)
        return fail("scale factor id is " + num(id) + ", scale_vec::" + num(vector) +
                    "X needs a multiple of " + num(step));
    return {};
  }

  Error shape() const {
    unsigned m = d.m, n = d.n;
    bool pair = form.ctaGroup == 2, scaledKind = isBlockScaled(kind);
    if (form.ctaGroup != 1 && form.ctaGroup != 2)
      return fail("cta_group is " + num(form.ctaGroup) + ", needs 1 or 2");
    if (form.ws && (pair || scaledKind))
      return fail(".ws needs cta_group::1 and a kind without block scaling");
    bool mOk = pair         ? m == 256 || (m == 128 && !(scaledKind && d.sparse))
               : scaledKind ? m == 128
               : form.ws    ? m == 32 || m == 64 || m == 128
                            : m == 64 || m == 128;
    if (!mOk)
      return fail("M is " + num(m) + ", needs " +
                  (pair         ? (scaledKind && d.sparse ? "256" : "128 or 256")
                   : scaledKind ? "128"
                   : form.ws    ? "32, 64 or 128"
                                : "64 or 128"));
    if (form.ws) {
      if (n != 64 && n != 128 && !(n == 256 && !d.sparse))
        return fail("N is " + num(n) + ", .ws needs 64, 128" + (d.sparse ? "" : " or 256"));
      return {};
    }
    unsigned low = pair ? 16 : 8, step = pair ? 16 : 8;
    if (kind == MmaKind::I8) {
      if (pair)
        low = step = 32;
      else if (n != 8 && n != 24)
        step = 16;
    }
    if (n < low || n > 256 || n % step)
      return fail("N is " + num(n) + ", needs " +
                  (kind == MmaKind::I8 && !pair
                       ? "8, 16, 24, 32 or a multiple of 16 up to 256"
                       : num(low) + " to 256 in steps of " + num(pair ? low : 8)));
    bool byteB = d.containerBytesB == 1;
    if (byteB && d.bMajor == Major::MN && n % (pair ? 32 : 16))
      return fail("N is " + num(n) + ", an MN-major 8-bit B needs a multiple of " +
                  (pair ? "32" : "16"));
    return {};
  }

  Error run() {
    d = D();
    d.kind = kind;
    d.sparse = field(bits, 2, 2);
    if (d.sparse != form.sparse)
      return fail(std::string("bit 2 (sparse) is ") + (d.sparse ? "1" : "0") +
                  " in tcgen05.mma" + (form.sparse ? ".sp" : ""));
    d.n = field(bits, 22, 17) << 3;
    d.negateA = field(bits, 13, 13);
    d.negateB = field(bits, 14, 14);
    d.aMajor = field(bits, 15, 15) ? Major::MN : Major::K;
    d.bMajor = field(bits, 16, 16) ? Major::MN : Major::K;
    if (Error error = isBlockScaled(kind) ? scaled() : plain(); !error.empty())
      return error;
    bool four = kind == MmaKind::MXF4 || kind == MmaKind::MXF4NVF4;
    uint8_t container = kind == MmaKind::F16 ? 2 : kind == MmaKind::TF32 ? 4 : four ? 0 : 1;
    d.containerBytesA = d.containerBytesB = container;
    d.k = (kind == MmaKind::F16    ? 16
           : kind == MmaKind::TF32 ? 8
           : four                  ? 64
                                   : 32) *
          (d.sparse ? 2 : 1);
    if (form.aInTmem && d.aMajor == Major::MN)
      return fail("A in tensor memory must be K-major, bit 15 is set");
    auto subByte = [](MmaType t) {
      return t == MmaType::E2M3 || t == MmaType::E3M2 || t == MmaType::E2M1;
    };
    // Sources disagree on MN-major for 4- and 6-bit elements, so a program must not rely on it.
    if ((d.aMajor == Major::MN && subByte(d.aType)) || (d.bMajor == Major::MN && subByte(d.bType)))
      return fail("4- and 6-bit operands must be K-major");
    return shape();
  }
};
} // namespace

const char *tileloom::sim::mmaKindName(MmaKind kind) {
  static const char *const names[] = {"f16",      "tf32", "f8f6f4",  "i8",
                                      "mxf8f6f4", "mxf4", "mxf4nvf4"};
  return unsigned(kind) < 7 ? names[unsigned(kind)] : "invalid";
}

Error tileloom::sim::decodeInstructionDescriptor(MmaKind kind, uint32_t bits, const MmaForm &form,
                                                 InstructionDescriptor &descriptor) {
  return Decoder{kind, bits, form, descriptor}.run();
}
