//===- Elements.cpp - Element types and .npy files ------------------------===//
//
// See Host.h. The .npy format is NumPy's version 1 and 2: a dictionary in text, then the data.
//
//===----------------------------------------------------------------------===//
#include "Host.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <random>

namespace tileloom {
namespace sim {

namespace {
struct Row {
  Element element;
  const char *name;
  unsigned bytes;
  const char *npy;
  TmaType tma;
};
const Row rows[] = {{Element::I8, "i8", 1, "|i1", TmaType::U8},
                    {Element::U8, "u8", 1, "|u1", TmaType::U8},
                    {Element::I16, "i16", 2, "<i2", TmaType::U16},
                    {Element::U16, "u16", 2, "<u2", TmaType::U16},
                    {Element::I32, "i32", 4, "<i4", TmaType::S32},
                    {Element::U32, "u32", 4, "<u4", TmaType::U32},
                    {Element::I64, "i64", 8, "<i8", TmaType::S64},
                    {Element::U64, "u64", 8, "<u8", TmaType::U64},
                    {Element::F16, "f16", 2, "<f2", TmaType::F16},
                    {Element::BF16, "bf16", 2, "<u2", TmaType::BF16},
                    {Element::F32, "f32", 4, "<f4", TmaType::F32},
                    {Element::F64, "f64", 8, "<f8", TmaType::F64},
                    {Element::E4M3, "e4m3", 1, "|u1", TmaType::U8},
                    {Element::E5M2, "e5m2", 1, "|u1", TmaType::U8},
                    {Element::E2M1, "e2m1", 1, "|u1", TmaType::U8},
                    {Element::I1, "i1", 1, "|b1", TmaType::U8}};
const Row &row(Element e) {
  for (const Row &r : rows)
    if (r.element == e)
      return r;
  return rows[0];
}
bool floatFormat(Element e, Format &f) {
  switch (e) {
  case Element::F16:
    f = Format::F16;
    return true;
  case Element::BF16:
    f = Format::BF16;
    return true;
  case Element::F32:
    f = Format::F32;
    return true;
  case Element::F64:
    f = Format::F64;
    return true;
  case Element::E4M3:
    f = Format::E4M3;
    return true;
  case Element::E5M2:
    f = Format::E5M2;
    return true;
  default:
    return false;
  }
}
} // namespace

bool parseElement(const std::string &name, Element &e) {
  for (const Row &r : rows)
    if (name == r.name) {
      e = r.element;
      return true;
    }
  return false;
}
const char *elementName(Element e) { return row(e).name; }
unsigned elementBytes(Element e) { return row(e).bytes; }
TmaType tmaTypeOf(Element e) { return row(e).tma; }

double readElement(Element e, const uint8_t *p) {
  uint64_t v = 0;
  std::memcpy(&v, p, elementBytes(e));
  Format f;
  if (floatFormat(e, f))
    return decode(f, v);
  switch (e) {
  case Element::I8:
    return int8_t(v);
  case Element::I16:
    return int16_t(v);
  case Element::I32:
    return int32_t(v);
  case Element::I64:
    return double(int64_t(v));
  default:
    return double(v);
  }
}

void writeElement(Element e, uint8_t *p, double d) {
  Format f;
  uint64_t v;
  if (floatFormat(e, f))
    v = encode(f, d);
  else
    v = d < 0 ? uint64_t(int64_t(d)) : uint64_t(d);
  std::memcpy(p, &v, elementBytes(e));
}

static std::string contentsOf(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw LoadError("cannot open '" + path + "'");
  return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
}

void readRaw(const std::string &path, HostTensor &t) {
  std::string all = contentsOf(path);
  uint64_t needed = t.count() * elementBytes(t.element);
  if (all.size() != needed)
    throw LoadError("'" + path + "' has " + std::to_string(all.size()) + " bytes; buffer '" + t.name +
                    "' needs " + std::to_string(needed));
  t.data.assign(all.begin(), all.end());
}

void readNpy(const std::string &path, HostTensor &t, bool keepElement) {
  std::string all = contentsOf(path);
  if (all.size() < 12 || std::memcmp(all.data(), "\x93NUMPY", 6) != 0)
    throw LoadError("'" + path + "' is not a .npy file");
  size_t at = 10, length = uint8_t(all[8]) | uint8_t(all[9]) << 8;
  if (all[6] >= 2) {
    at = 12;
    length |= size_t(uint8_t(all[10])) << 16 | size_t(uint8_t(all[11])) << 24;
  }
  std::string header = all.substr(at, length);
  size_t data = at + length;
  auto valueOf = [&](const char *key) {
    size_t k = header.find(key);
    if (k == std::string::npos)
      throw LoadError("'" + path + "' has no " + key);
    return header.substr(header.find(':', k) + 1);
  };
  if (valueOf("'fortran_order'").find("True") < valueOf("'fortran_order'").find(','))
    throw LoadError("'" + path + "' is in Fortran order; C order is needed");
  std::string shape = valueOf("'shape'");
  shape = shape.substr(shape.find('(') + 1);
  shape = shape.substr(0, shape.find(')'));
  t.shape.clear();
  for (const std::string &part : splitText(shape, ','))
    if (part.find_first_of("0123456789") != std::string::npos)
      t.shape.push_back(std::strtoull(part.c_str(), nullptr, 10));
  std::string descr = valueOf("'descr'");
  size_t q = descr.find('\'');
  descr = descr.substr(q + 1, descr.find('\'', q + 1) - q - 1);
  unsigned bytes = unsigned(std::strtoul(descr.c_str() + 2, nullptr, 10));
  if (!keepElement) {
    bool found = false;
    for (const Row &r : rows)
      if (descr.substr(1) == std::string(r.npy).substr(1) && r.element != Element::BF16) {
        t.element = r.element;
        found = true;
        break;
      }
    if (!found)
      throw LoadError("'" + path + "' has elements '" + descr +
                      "'; name the element, as in buf:a:bf16@" + path);
  }
  if (bytes != elementBytes(t.element))
    throw LoadError("'" + path + "' has elements of " + std::to_string(bytes) + " bytes, " +
                    elementName(t.element) + " has " + std::to_string(elementBytes(t.element)));
  if (all.size() - data < t.count() * bytes)
    throw LoadError("'" + path + "' is too short for its shape");
  t.data.assign(all.begin() + long(data), all.begin() + long(data + t.count() * bytes));
}

void writeNpy(const std::string &path, const HostTensor &t) {
  std::string shape;
  for (uint64_t d : t.shape)
    shape += std::to_string(d) + ", ";
  std::string header = std::string("{'descr': '") + row(t.element).npy +
                       "', 'fortran_order': False, 'shape': (" + shape + "), }";
  while ((header.size() + 11) % 64)
    header += ' ';
  header += '\n';
  std::ofstream out(path, std::ios::binary);
  out.write("\x93NUMPY\x01\x00", 8);
  char length[2] = {char(header.size() & 0xFF), char(header.size() >> 8)};
  out.write(length, 2);
  out.write(header.data(), long(header.size()));
  out.write(reinterpret_cast<const char *>(t.data.data()), long(t.data.size()));
  if (!out)
    throw LoadError("cannot write '" + path + "'");
}

void fillTensor(HostTensor &t, const std::string &how) {
  unsigned bytes = elementBytes(t.element);
  if (how == "zeros" || how.empty()) {
    t.resize();
  } else if (how.compare(0, 6, "random") == 0) {
    t.resize();
    uint64_t seed = 0x1234;
    for (char c : t.name)
      seed = seed * 131 + uint8_t(c);
    if (how.size() > 7)
      seed = parseInteger(how.substr(7), "the seed of random");
    std::mt19937_64 engine(seed);
    // Uniform in [-1, 1), by hand: the standard distributions differ between libraries.
    Format f;
    bool isFloat = floatFormat(t.element, f);
    for (uint64_t i = 0, n = t.count(); i < n; ++i) {
      uint64_t r = engine();
      double v = isFloat ? double(int64_t(r) >> 11) * 0x1p-52 : double(r % 16);
      writeElement(t.element, t.data.data() + i * bytes, v);
    }
  } else if (how == "iota") {
    t.resize();
    for (uint64_t i = 0, n = t.count(); i < n; ++i)
      writeElement(t.element, t.data.data() + i * bytes, double(i));
  } else if (how.compare(0, 5, "fill=") == 0) {
    t.resize();
    for (uint64_t i = 0, n = t.count(); i < n; ++i)
      writeElement(t.element, t.data.data() + i * bytes, std::strtod(how.c_str() + 5, nullptr));
  } else {
    throw LoadError("unknown contents '" + how + "' of buffer '" + t.name +
                    "'; known: zeros, random[=seed], iota, fill=VALUE, @file.npy");
  }
}

Difference compareTensors(const HostTensor &got, const HostTensor &want, double tolerance) {
  Difference d;
  if (got.shape != want.shape)
    throw LoadError("shapes of '" + got.name + "' and its reference differ");
  unsigned gb = elementBytes(got.element), wb = elementBytes(want.element);
  for (uint64_t i = 0, n = got.count(); i < n; ++i) {
    double g = readElement(got.element, got.data.data() + i * gb);
    double w = readElement(want.element, want.data.data() + i * wb);
    double a = std::fabs(g - w);
    if (std::isnan(g) != std::isnan(w))
      a = INFINITY;
    else if (std::isnan(g) || g == w)
      a = 0;
    d.mismatches += a > tolerance * (1 + std::fabs(w));
    if (a > d.absolute) {
      d.absolute = a;
      d.at = i;
      d.got = g;
      d.want = w;
    }
    d.relative = std::max(d.relative, a / std::max(std::fabs(w), 1e-30));
  }
  return d;
}

} // namespace sim
} // namespace tileloom
