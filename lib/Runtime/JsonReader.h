//===- JsonReader.h - Reading JSON with errors that name the place --------===//
//
// A cursor over a parsed JSON value that remembers its path ("parameters[2].box[0]") and the first
// error. Readers may go on after an error: they get defaults, and the caller looks at the error
// once, at the end.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_RUNTIME_JSONREADER_H
#define TILELOOM_RUNTIME_JSONREADER_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace tileloom::runtime {

class JsonReader {
public:
  JsonReader(const llvm::json::Value *value, std::string path, std::string *error)
      : value(value), path(std::move(path)), error(error) {}

  bool present() const { return value != nullptr; }
  bool isObject() const { return value && value->getAsObject(); }
  bool isNull() const { return value && value->getAsNull(); }
  bool failed() const { return !error->empty(); }

  /// Records "recipe: PATH is FOUND; needed NEEDED" unless an earlier error stands.
  void fail(const llvm::Twine &needed) const;

  /// Member `key` of an object; absent if the object lacks it.
  JsonReader operator[](llvm::StringRef key) const;
  /// The elements of an array.
  std::vector<JsonReader> items(size_t least, size_t most) const;
  /// Fails if the object has a member outside `known`: a misspelt key must not pass for a default.
  void onlyKeys(llvm::ArrayRef<llvm::StringRef> known) const;

  int64_t integer(int64_t least, int64_t most) const;
  int64_t integerOr(int64_t standard, int64_t least, int64_t most) const;
  /// An integer, or `standard` for the string `word`; -1, which no caller accepts, for anything
  /// else.
  int64_t integerOrWord(llvm::StringRef word, int64_t standard) const;
  bool booleanOr(bool standard) const;
  std::string string() const;
  std::string stringOr(llvm::StringRef standard) const;

private:
  const llvm::json::Value *value;
  std::string path;
  std::string *error;
};

/// False if brackets nest deeper than any recipe does. The JSON parser recurses, so hostile text is
/// refused first.
bool nestingIsShallow(llvm::StringRef json);

} // namespace tileloom::runtime
#endif // TILELOOM_RUNTIME_JSONREADER_H
