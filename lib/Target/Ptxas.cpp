//===- Ptxas.cpp - Find and run ptxas ------------------------------------------------------===//
//
// The input and the cubin live in a directory of their own under the system's temporary directory,
// removed when the function returns. The input keeps the name kernel.ptx, so that messages read the
// same every time.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Target/Ptxas.h"

#include "Subprocess.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;
using llvm::SmallString;

static std::string environment(const char *name) {
  return llvm::sys::Process::GetEnv(name).value_or("");
}

/// bin/ptxas of the nvidia-cuda-nvcc packages of the active virtual environment and of the user,
/// newest Python first. CUDA 12 packages unpack to nvidia/cuda_nvcc, CUDA 13 ones to nvidia/cu13.
static std::string findInPython() {
  std::vector<std::string> prefixes;
  if (std::string env = environment("VIRTUAL_ENV"); !env.empty())
    prefixes.push_back(env);
  if (std::string env = environment("CONDA_PREFIX"); !env.empty())
    prefixes.push_back(env);
  if (std::string home = environment("HOME"); !home.empty())
    prefixes.push_back(home + "/.local");
  prefixes.push_back("/usr/local");
  std::string found;
  for (const std::string &prefix : prefixes) {
    std::error_code code;
    for (fs::directory_iterator it(prefix + "/lib", code), end; !code && it != end;
         it.increment(code)) {
      if (!path::filename(it->path()).starts_with("python3"))
        continue;
      for (const char *packages : {"site-packages", "dist-packages"})
        for (const char *package : {"cu13", "cuda_nvcc"}) {
          SmallString<256> candidate(it->path());
          path::append(candidate, packages, "nvidia", package, "bin");
          path::append(candidate, "ptxas");
          if (fs::can_execute(candidate) && candidate.str() > found)
            found = candidate.str().str();
        }
    }
    if (!found.empty())
      return found;
  }
  return found;
}

/// The release of the CUDA toolkit whose ptxas is the first to know a PTX version (release notes of the
/// PTX ISA, chapter 13).
static llvm::StringRef firstRelease(llvm::StringRef ptxFeature) {
  return ptxFeature == "+ptx86" ? "12.7" : "12.9";
}

/// What is wrong where ptxas is older than the target or the PTX version, or empty.
static std::string tooOld(const std::string &ptxas, llvm::StringRef output, const tileloom::Chip &chip) {
  if (!output.contains("is not defined for option 'gpu-name'") && !output.contains("Unsupported .version"))
    return "";
  llvm::StringRef version = "of unknown release";
  tileloom::SubprocessResult run = tileloom::runSubprocess({ptxas, "--version"}, 10);
  if (size_t at = run.output.find("release "); at != std::string::npos)
    version = llvm::StringRef(run.output).substr(at).take_until([](char c) { return c == ','; });
  return ("'" + ptxas + "' (" + version + ") is too old for " + chip.name + "; needed release " +
          firstRelease(chip.ptxFeature) + " or later")
      .str();
}

namespace tileloom {

std::string findPtxas(const PtxasOptions &options) {
  if (!options.path.empty())
    return options.path;
  if (std::string given = environment("TILELOOM_PTXAS"); !given.empty())
    return given;
  if (std::string home = environment("CUDA_HOME"); !home.empty()) {
    std::string candidate = home + "/bin/ptxas";
    if (fs::can_execute(candidate))
      return candidate;
  }
  if (auto found = llvm::sys::findProgramByName("ptxas"))
    return *found;
  return findInPython();
}

PtxasResult runPtxas(llvm::StringRef ptx, const Chip &chip, const PtxasOptions &options) {
  PtxasResult result;
  result.path = findPtxas(options);
  if (result.path.empty())
    return result;
  result.state = PtxasResult::State::Failed;

  SmallString<128> directory;
  if (std::error_code code = fs::createUniqueDirectory("tileloom", directory)) {
    result.error = "cannot make a temporary directory: " + code.message();
    return result;
  }
  llvm::scope_exit cleanUp([&] { fs::remove_directories(directory); });
  std::string input = (directory + "/kernel.ptx").str(),
              output = (directory + "/kernel.cubin").str();
  {
    std::error_code code;
    llvm::raw_fd_ostream stream(input, code);
    stream << ptx;
    stream.close();
    if (code || stream.has_error()) {
      result.error = "cannot write " + input + ": " + (code ? code : stream.error()).message();
      stream.clear_error();
      return result;
    }
  }

  std::vector<std::string> command = {result.path, "-v", "-arch=" + chip.name.str()};
  if (options.lineInfo)
    command.push_back("-lineinfo");
  command.insert(command.end(), options.arguments.begin(), options.arguments.end());
  command.insert(command.end(), {input, "-o", output});
  SubprocessResult run = runSubprocess(command, options.timeoutSeconds);
  result.output = run.output;
  if (!run.started) {
    result.error = "cannot run '" + result.path + "': " + run.error;
    return result;
  }
  if (run.timedOut) {
    result.error =
        "'" + result.path + "' did not finish in " + std::to_string(options.timeoutSeconds) + " s";
    return result;
  }
  result.report = parsePtxasOutput(run.output);
  attachSourceLines(result.report, ptx);
  if (run.exitCode != 0) {
    result.error = tooOld(result.path, run.output, chip);
    if (result.error.empty() && !result.report.hasErrors())
      result.error = "'" + result.path + "' ended with " +
                     (run.signal ? "signal " + std::to_string(run.signal)
                                 : "exit status " + std::to_string(run.exitCode)) +
                     (run.output.empty() ? "" : ": " + run.output);
    return result;
  }
  auto cubin = llvm::MemoryBuffer::getFile(output);
  if (!cubin) {
    result.error = "'" + result.path + "' wrote no cubin: " + cubin.getError().message();
    return result;
  }
  result.cubin = (*cubin)->getBuffer().str();
  result.state = PtxasResult::State::Assembled;
  return result;
}

} // namespace tileloom
