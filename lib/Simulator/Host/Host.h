//===- Host.h - Tensors, files and kernel arguments on the host ---*- C++ -*-===//
//
// What kernel-sim needs around the machine: element types, .npy files, fills, comparison, and the
// parsing of --arg. Kept apart from the machine, which knows only bytes.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LIB_SIMULATOR_HOST_HOST_H
#define TILELOOM_LIB_SIMULATOR_HOST_HOST_H

#include "tileloom/Simulator/Formats.h"
#include "tileloom/Simulator/Simulator.h"
#include "tileloom/Simulator/TensorMap.h"

#include <string>
#include <vector>

namespace tileloom {
namespace sim {

enum class Element : uint8_t {
  I8,
  U8,
  I16,
  U16,
  I32,
  U32,
  I64,
  U64,
  F16,
  BF16,
  F32,
  F64,
  E4M3,
  E5M2,
  E2M1,
  I1
};
bool parseElement(const std::string &name, Element &e);
const char *elementName(Element e);
unsigned elementBytes(Element e); // e2m1: one byte holds two, counted as 1
double readElement(Element e, const uint8_t *p);
void writeElement(Element e, uint8_t *p, double v);
TmaType tmaTypeOf(Element e);

struct HostTensor {
  std::string name;
  Element element = Element::F32;
  std::vector<uint64_t> shape;
  std::vector<uint8_t> data;
  uint64_t address = 0; // device address once registered
  std::string outputFile;
  uint64_t count() const {
    uint64_t n = 1;
    for (uint64_t d : shape)
      n *= d;
    return n;
  }
  void resize() { data.assign(count() * elementBytes(element), 0); }
};

/// Reads a .npy file; 16-bit and 8-bit floats that NumPy lacks come as unsigned integers or 'V' and
/// take the element given by the caller. Throws LoadError.
void readNpy(const std::string &path, HostTensor &t, bool keepElement);
/// The bytes of a file as the elements of a tensor that has its shape.
void readRaw(const std::string &path, HostTensor &t);
void writeNpy(const std::string &path, const HostTensor &t);
/// "zeros", "random[:seed]", "fill:v", "iota", "@file.npy".
void fillTensor(HostTensor &t, const std::string &how);
/// Largest absolute and relative difference, and where.
struct Difference {
  double absolute = 0, relative = 0;
  uint64_t at = 0, mismatches = 0;
  double got = 0, want = 0;
};
Difference compareTensors(const HostTensor &got, const HostTensor &want, double tolerance);

/// Arguments of one launch, built from --arg texts (see docs/simulator.md).
class ArgumentList {
public:
  explicit ArgumentList(Memory &memory) : memory(memory) {}
  /// i32:5, i64:7, f32:1.5, buf:name:bf16:128x64:random, buf:name@file.npy, ref:name,
  /// tmap:name:box=64x128:swizzle=128...
  void add(const std::string &text) {
    std::vector<uint8_t> bytes = addValue(text);
    if (!bytes.empty())
      values.push_back(std::move(bytes));
  }
  /// The same, but the bytes are returned; empty for `tensor`.
  std::vector<uint8_t> addValue(const std::string &text);
  /// Lays the arguments out as the kernel declares them.
  std::vector<uint8_t> parameterBytes(const KernelInfo &kernel) const;
  HostTensor &tensor(const std::string &name);
  HostTensor &addTensor(std::unique_ptr<HostTensor> t);
  const std::vector<std::unique_ptr<HostTensor>> &all() const { return tensors; }

private:
  std::vector<uint8_t> tensorMap(const std::string &text);
  Memory &memory;
  std::vector<std::unique_ptr<HostTensor>> tensors;
  std::vector<std::vector<uint8_t>> values;
};

std::vector<std::string> splitText(const std::string &text, char at);
uint64_t parseInteger(const std::string &text, const std::string &what);

} // namespace sim
} // namespace tileloom

#endif
