//===- Error.h - Errors of the simulator ------------------------*- C++ -*-===//
//
// A LoadError refuses a PTX module or a launch before anything runs; its text names the line, what
// was found and what was needed. What goes wrong while a kernel runs is a Finding (Findings.h).
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_SIMULATOR_ERROR_H
#define TILELOOM_SIMULATOR_ERROR_H

#include <cstdint>
#include <stdexcept>
#include <string>

namespace tileloom {
namespace sim {

struct LoadError : std::runtime_error {
  explicit LoadError(const std::string &message) : std::runtime_error(message) {}
  LoadError(uint32_t line, const std::string &message)
      : std::runtime_error("line " + std::to_string(line) + ": " + message) {}
};

} // namespace sim
} // namespace tileloom

#endif
