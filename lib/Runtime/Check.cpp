//===- Check.cpp - Checks of arguments and launch limits ------------------===//
//
// The argument checks that apply whatever the argument is used for; what a tensor map asks of its
// tensor is checked where the map is made (TensorMap.cpp).
//
//===----------------------------------------------------------------------===//
#include "tileloom/Runtime/Check.h"

namespace tileloom::runtime {

using llvm::Twine;

static const char *kindName(uint32_t kind) {
  switch (kind) {
  case TILELOOM_TENSOR:
    return "a tensor";
  case TILELOOM_POINTER:
    return "a pointer";
  case TILELOOM_SCALAR:
    return "a scalar";
  }
  return "of an unknown kind";
}

static std::string deviceText(int32_t device) {
  if (device == TILELOOM_HOST)
    return "the CPU";
  if (device == TILELOOM_UNKNOWN_DEVICE)
    return "an unknown device";
  return ("CUDA device " + Twine(device)).str();
}

std::string argumentPrefix(const Recipe &recipe, unsigned index) {
  const ArgumentSpec &spec = recipe.arguments[index];
  std::string where = spec.location.empty() ? "" : " (" + spec.location + ")";
  return ("kernel '" + recipe.kernel + "', argument " + Twine(index) + " '" + spec.name + "'" +
          where + ": ")
      .str();
}

static llvm::Error fail(const Recipe &recipe, unsigned index, const Twine &text) {
  return makeError(ErrorKind::Argument, argumentPrefix(recipe, index) + text);
}

static llvm::Error checkFixed(const Recipe &recipe, unsigned index, const char *what,
                              llvm::ArrayRef<FixedValue> needed, const int64_t *found) {
  for (size_t axis = 0; axis < needed.size(); ++axis)
    if (needed[axis] >= 0 && found[axis] != needed[axis])
      return fail(recipe, index,
                  Twine(what) + " of dimension " + Twine(axis) + " is " + Twine(found[axis]) +
                      "; needed " + Twine(needed[axis]) + ", for which the kernel was specialised");
  return llvm::Error::success();
}

static llvm::Error checkTensor(const Recipe &recipe, unsigned index,
                               const TileloomArgument &found) {
  const ArgumentSpec &spec = recipe.arguments[index];
  if (found.rank != spec.rank)
    return fail(recipe, index, "rank is " + Twine(found.rank) + "; needed " + Twine(spec.rank));
  for (unsigned axis = 0; axis < spec.rank; ++axis)
    if (found.shape[axis] < 0)
      return fail(recipe, index,
                  "extent of dimension " + Twine(axis) + " is " + Twine(found.shape[axis]) +
                      "; needed 0 or more");
  if (llvm::Error error = checkFixed(recipe, index, "extent", spec.shape, found.shape))
    return error;
  return checkFixed(recipe, index, "stride", spec.strides, found.strides);
}

static llvm::Error checkPlace(const Recipe &recipe, unsigned index, const TileloomArgument &found,
                              int32_t device) {
  if (found.device == device)
    return llvm::Error::success();
  if (found.kind == TILELOOM_POINTER && found.device == TILELOOM_UNKNOWN_DEVICE)
    return llvm::Error::success();
  return fail(recipe, index,
              "is on " + deviceText(found.device) + "; needed on " +
                  (device == TILELOOM_UNKNOWN_DEVICE
                       ? std::string("a CUDA device")
                       : deviceText(device) + ", where the launch is"));
}

static llvm::Error checkOne(const Recipe &recipe, unsigned index, const TileloomArgument &found,
                            int32_t device) {
  const ArgumentSpec &spec = recipe.arguments[index];
  bool addressForPointer = spec.kind == TILELOOM_POINTER && found.kind == TILELOOM_TENSOR;
  if (found.kind != static_cast<uint32_t>(spec.kind) && !addressForPointer)
    return fail(recipe, index,
                Twine("is ") + kindName(found.kind) + "; needed " + kindName(spec.kind));

  bool elementUnknown = found.kind == TILELOOM_POINTER && found.element == TILELOOM_UNKNOWN_ELEMENT;
  if (!elementUnknown && !isCompatible(found.element, spec.element))
    return fail(recipe, index,
                "element type is " + elementName(found.element) + "; needed " +
                    elementName(spec.element));

  if (spec.kind == TILELOOM_SCALAR) {
    if (spec.divisible != 1) {
      int64_t value = scalarValue(found);
      if (value % static_cast<int64_t>(spec.divisible) != 0)
        return fail(recipe, index,
                    "is " + Twine(value) + "; needed a multiple of " + Twine(spec.divisible));
    }
    return llvm::Error::success();
  }
  if (llvm::Error error = checkPlace(recipe, index, found, device))
    return error;
  if (spec.divisible != 1 && found.value % spec.divisible != 0)
    return fail(recipe, index,
                "address 0x" + Twine::utohexstr(found.value) +
                    " is not aligned; needed a multiple of " + Twine(spec.divisible) + " bytes");
  if (spec.kind == TILELOOM_TENSOR)
    return checkTensor(recipe, index, found);
  return llvm::Error::success();
}

llvm::Error checkArguments(const Recipe &recipe, Arguments arguments, int32_t device) {
  if (arguments.size() != recipe.arguments.size()) {
    std::string names;
    for (const ArgumentSpec &spec : recipe.arguments)
      names += (names.empty() ? "" : ", ") + spec.name;
    return makeError(ErrorKind::Argument, "kernel '" + recipe.kernel +
                                              "': " + Twine(arguments.size()) +
                                              " arguments found; needed " +
                                              Twine(recipe.arguments.size()) + " (" + names + ")");
  }
  for (unsigned index = 0; index < arguments.size(); ++index)
    if (llvm::Error error = checkOne(recipe, index, arguments[index], device))
      return error;
  return llvm::Error::success();
}

llvm::Error checkDevice(const Recipe &recipe, const TileloomDevice &device,
                        llvm::StringRef deviceName) {
  auto failLaunch = [&](const Twine &text) {
    return makeError(ErrorKind::Launch, "kernel '" + recipe.kernel + "': " + text);
  };
  // PTX ISA 11.1.2 (.target): 'a' code runs on that architecture only, 'f' code on later members of
  // the family, plain code on any later device (as PTX) or within the major version (as a cubin).
  const TargetSpec &target = recipe.target;
  bool same = device.major == target.major && device.minor == target.minor;
  bool later =
      device.major > target.major || (device.major == target.major && device.minor >= target.minor);
  bool fits = target.suffix == 'a'   ? same
              : target.suffix == 'f' ? device.major == target.major && later
                                     : later;
  if (!fits)
    return failLaunch("compiled for " + target.name + "; " + deviceName + " is sm_" +
                      Twine(device.major) + Twine(device.minor));
  if (recipe.threads > static_cast<unsigned>(device.maxThreads))
    return failLaunch(Twine(recipe.threads) + " threads a block; " + deviceName + " allows " +
                      Twine(device.maxThreads));
  if (recipe.sharedBytes > static_cast<unsigned>(device.sharedBytes))
    return failLaunch(Twine(recipe.sharedBytes) + " bytes of shared memory a block; " + deviceName +
                      " allows " + Twine(device.sharedBytes));
  if (recipe.clusterSize() > 1 && device.major < 9)
    return failLaunch("a cluster of " + Twine(recipe.clusterSize()) + " CTAs; " + deviceName +
                      " has no clusters (needed sm_90 or later)");
  return llvm::Error::success();
}

} // namespace tileloom::runtime
