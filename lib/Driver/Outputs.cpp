//===- Outputs.cpp - Where kernel-opt writes what it made ----------------------------------===//
//
// Files are written to a temporary name and renamed, so that a failure leaves no half-written
// cubin.
//
//===--------------------------------------------------------------------------------------===//

#include "Outputs.h"

#include "tileloom/Driver/Report.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace tileloom;
namespace fs = llvm::sys::fs;

static std::vector<Artifact> listOf(const ArtifactSet &set) {
  std::vector<Artifact> list;
  for (unsigned i = 0; i < artifactCount; ++i)
    if (set.contains(static_cast<Artifact>(i)))
      list.push_back(static_cast<Artifact>(i));
  return list;
}

static std::string writeFile(const std::string &path, llvm::StringRef text) {
  if (llvm::StringRef parent = llvm::sys::path::parent_path(path); !parent.empty())
    if (std::error_code code = fs::create_directories(parent))
      return "cannot make directory '" + parent.str() + "': " + code.message();
  llvm::Error error = llvm::writeToOutput(path, [&](llvm::raw_ostream &os) {
    os << text;
    return llvm::Error::success();
  });
  return error ? "cannot write " + llvm::toString(std::move(error)) : std::string();
}

std::string Outputs::check(const ArtifactSet &set) const {
  std::vector<Artifact> list = listOf(set);
  if (list.size() > 1 && usesStdout())
    return "several --emit kinds need -o with a file or a directory";
  if (set.contains(Artifact::Cubin) && usesStdout() && llvm::outs().is_displayed())
    return "a cubin is binary and is not written to a terminal: give -o";
  return {};
}

std::string Outputs::fileFor(Artifact artifact, bool several) const {
  llvm::SmallString<256> file(path);
  if (llvm::StringRef(path).ends_with("/") || fs::is_directory(path)) {
    llvm::sys::path::append(file, stem + "." + artifactExtension(artifact).str());
  } else if (several) {
    llvm::sys::path::replace_extension(file, artifactExtension(artifact));
  }
  return file.str().str();
}

std::string Outputs::write(const ArtifactSet &set, const CompileResult &result) const {
  std::vector<Artifact> list = listOf(set);
  for (Artifact artifact : list) {
    if (usesStdout()) {
      llvm::outs() << result.get(artifact);
      llvm::outs().flush();
      continue;
    }
    if (std::string problem = writeFile(fileFor(artifact, list.size() > 1), result.get(artifact));
        !problem.empty())
      return problem;
  }
  if (result.reportJson.empty())
    return {};
  std::string report = result.reportJson;
  if (!reportAsJson) {
    llvm::Expected<llvm::json::Value> value = llvm::json::parse(result.reportJson);
    if (!value)
      return llvm::toString(value.takeError());
    report = formatReport(*value);
  }
  if (!reportFile.empty() && reportFile != "-")
    return writeFile(reportFile, report);
  (usesStdout() && !list.empty() ? llvm::errs() : llvm::outs()) << report;
  return {};
}
