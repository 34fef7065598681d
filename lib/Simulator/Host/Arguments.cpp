//===- Arguments.cpp - Kernel arguments from text -------------------------===//
//
// Parses --arg of kernel-sim. See docs/simulator.md for the forms.
//
//===----------------------------------------------------------------------===//
#include "Host.h"

#include <cstdlib>
#include <cstring>

namespace tileloom {
namespace sim {

std::vector<std::string> splitText(const std::string &text, char at) {
  std::vector<std::string> parts;
  size_t pos = 0;
  while (true) {
    size_t next = text.find(at, pos);
    parts.push_back(text.substr(pos, next == std::string::npos ? next : next - pos));
    if (next == std::string::npos)
      return parts;
    pos = next + 1;
  }
}

uint64_t parseInteger(const std::string &text, const std::string &what) {
  char *end = nullptr;
  bool negative = !text.empty() && text[0] == '-';
  uint64_t v = std::strtoull(text.c_str() + negative, &end, 0);
  if (text.empty() || *end)
    throw LoadError(what + " must be an integer, found '" + text + "'");
  return negative ? 0 - v : v;
}

HostTensor &ArgumentList::tensor(const std::string &name) {
  std::string known;
  for (auto &t : tensors) {
    if (t->name == name)
      return *t;
    known += " " + t->name;
  }
  throw LoadError("no buffer is called '" + name + "'; known:" + known);
}

HostTensor &ArgumentList::addTensor(std::unique_ptr<HostTensor> t) {
  t->address = memory.add(t->name, t->data.data(), t->data.size());
  tensors.push_back(std::move(t));
  return *tensors.back();
}

static std::vector<uint64_t> parseShape(const std::string &text, const std::string &what) {
  std::vector<uint64_t> shape;
  for (const std::string &p : splitText(text, 'x'))
    shape.push_back(parseInteger(p, what));
  return shape;
}

template <class T> static std::vector<uint8_t> bytesOfValue(T v) {
  std::vector<uint8_t> b(sizeof v);
  std::memcpy(b.data(), &v, sizeof v);
  return b;
}

std::vector<uint8_t> ArgumentList::addValue(const std::string &text) {
  size_t colon = text.find(':');
  std::string kind = text.substr(0, colon);
  std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (kind == "buf" || kind == "tensor") { // tensor: registered, not a parameter
    auto t = std::make_unique<HostTensor>();
    size_t at = rest.find('@');
    std::vector<std::string> parts = splitText(rest.substr(0, at), ':');
    t->name = parts[0];
    if (t->name.empty())
      throw LoadError("--arg " + text + ": the buffer needs a name");
    bool named = parts.size() > 1;
    if (named && !parseElement(parts[1], t->element))
      throw LoadError("--arg " + text + ": unknown element type '" + parts[1] + "'");
    bool file = at != std::string::npos;
    if (parts.size() > 2)
      t->shape = parseShape(parts[2], "the shape of '" + t->name + "'");
    else if (!file)
      throw LoadError("--arg " + text +
                      ": needed buf:NAME:ELEMENT:SHAPE[:CONTENTS], buf:NAME[:ELEMENT]@FILE.npy or "
                      "buf:NAME:ELEMENT:SHAPE@FILE");
    if (file && parts.size() > 2)
      readRaw(rest.substr(at + 1), *t);
    else if (file)
      readNpy(rest.substr(at + 1), *t, named);
    else
      fillTensor(*t, parts.size() > 3 ? parts[3] : "zeros");
    HostTensor &added = addTensor(std::move(t));
    return kind == "buf" ? bytesOfValue(added.address) : std::vector<uint8_t>();
  }
  if (kind == "ref")
    return bytesOfValue(tensor(rest).address);
  if (kind == "tmap")
    return tensorMap(rest);
  {
    Element e;
    if (!parseElement(kind, e))
      throw LoadError("--arg " + text + ": unknown kind '" + kind +
                      "'; known: buf, tensor, ref, tmap, i8 ... u64, f16, bf16, f32, f64");
    std::vector<uint8_t> b(elementBytes(e), 0);
    char *end = nullptr;
    double v = std::strtod(rest.c_str(), &end);
    if (e == Element::F16 || e == Element::BF16 || e == Element::F32 || e == Element::F64) {
      if (rest.empty() || *end)
        throw LoadError("--arg " + text + ": '" + rest + "' is not a number");
      writeElement(e, b.data(), v);
    } else {
      uint64_t i = parseInteger(rest, "--arg " + text);
      std::memcpy(b.data(), &i, b.size());
    }
    return b;
  }
}

/// NAME:box=64x128[:dims=..][:strides=..][:swizzle=128][:type=bf16][:promotion=256][:fill=nan]
/// [:interleave=0][:elementstrides=..][:offset=bytes]; dims and box innermost first, strides in
/// bytes of all dimensions but the innermost. Defaults: the whole buffer, densely.
std::vector<uint8_t> ArgumentList::tensorMap(const std::string &text) {
  std::vector<std::string> parts = splitText(text, ':');
  HostTensor &t = tensor(parts[0]);
  TensorMap map;
  map.globalAddress = t.address;
  map.type = tmaTypeOf(t.element);
  map.rank = uint32_t(t.shape.size());
  if (map.rank < 1 || map.rank > 5)
    throw LoadError("tmap of '" + t.name + "': rank " + std::to_string(map.rank) +
                    "; 1 to 5 are possible");
  uint64_t stride = elementBytes(t.element);
  for (unsigned i = 0; i < map.rank; ++i) {
    map.globalDim[i] = t.shape[map.rank - 1 - i];
    if (i)
      map.globalStride[i - 1] = stride;
    stride *= map.globalDim[i];
  }
  for (size_t p = 1; p < parts.size(); ++p) {
    size_t eq = parts[p].find('=');
    std::string key = parts[p].substr(0, eq),
                value = eq == std::string::npos ? "" : parts[p].substr(eq + 1);
    std::string what = key + " of the tensor map of '" + t.name + "'";
    std::vector<uint64_t> list;
    if (key == "box" || key == "dims" || key == "strides" || key == "elementstrides")
      list = parseShape(value, what);
    if (key == "box") {
      for (size_t i = 0; i < list.size() && i < 5; ++i)
        map.boxDim[i] = uint32_t(list[i]);
    } else if (key == "dims") {
      map.rank = uint32_t(list.size());
      for (size_t i = 0; i < list.size() && i < 5; ++i)
        map.globalDim[i] = list[i];
    } else if (key == "strides") {
      for (size_t i = 0; i < list.size() && i < 4; ++i)
        map.globalStride[i] = list[i];
    } else if (key == "elementstrides") {
      for (size_t i = 0; i < list.size() && i < 5; ++i)
        map.elementStride[i] = uint32_t(list[i]);
    } else if (key == "swizzle") {
      map.swizzle = value == "0" || value == "none" ? Swizzle::None
                    : value == "32"                 ? Swizzle::B32
                    : value == "64"                 ? Swizzle::B64
                    : value == "128"                ? Swizzle::B128
                    : value == "128a32"             ? Swizzle::B128Atom32
                    : value == "128a32f8"           ? Swizzle::B128Atom32Flip8
                    : value == "128a64"
                        ? Swizzle::B128Atom64
                        : throw LoadError(what + ": '" + value +
                                          "'; known: none, 32, 64, 128, 128a32, 128a32f8, 128a64");
    } else if (key == "type") {
      Element e;
      if (value == "u4a8")
        map.type = TmaType::U4Align8;
      else if (value == "u4a16")
        map.type = TmaType::U4Align16;
      else if (value == "u6a16")
        map.type = TmaType::U6Align16;
      else if (value == "tf32")
        map.type = TmaType::TF32;
      else if (parseElement(value, e))
        map.type = tmaTypeOf(e);
      else
        throw LoadError(what + ": unknown element type '" + value + "'");
    } else if (key == "fill") {
      map.fill = value == "nan" ? TmaFill::NaN : TmaFill::Zero;
    } else if (key == "promotion") {
      map.l2Promotion = value == "64"    ? TmaL2Promotion::B64
                        : value == "128" ? TmaL2Promotion::B128
                        : value == "256" ? TmaL2Promotion::B256
                                         : TmaL2Promotion::None;
    } else if (key == "interleave") {
      map.interleave = value == "16"   ? TmaInterleave::B16
                       : value == "32" ? TmaInterleave::B32
                                       : TmaInterleave::None;
    } else if (key == "offset") {
      map.globalAddress += parseInteger(value, what);
    } else {
      throw LoadError("unknown field '" + key + "' of the tensor map of '" + t.name + "'");
    }
  }
  std::string error = validate(map);
  if (!error.empty())
    throw LoadError("tensor map of '" + t.name + "': " + error);
  std::vector<uint8_t> blob(tensorMapBytes);
  encode(map, blob.data());
  return blob;
}

std::vector<uint8_t> ArgumentList::parameterBytes(const KernelInfo &kernel) const {
  if (values.size() != kernel.parameters.size())
    throw LoadError("found " + std::to_string(values.size()) + " arguments, kernel '" +
                    kernel.name + "' has " + std::to_string(kernel.parameters.size()) +
                    " parameters");
  std::vector<uint8_t> bytes(kernel.parameterBytes, 0);
  for (size_t i = 0; i < values.size(); ++i) {
    const Parameter &p = kernel.parameters[i];
    if (values[i].size() != p.size)
      throw LoadError("argument " + std::to_string(i) + " has " + std::to_string(values[i].size()) +
                      " bytes, parameter '" + p.name + "' needs " + std::to_string(p.size));
    std::memcpy(bytes.data() + p.offset, values[i].data(), p.size);
  }
  return bytes;
}

} // namespace sim
} // namespace tileloom
