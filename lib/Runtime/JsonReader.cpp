//===- JsonReader.cpp - Reading JSON with errors that name the place ------===//
//
// Typed access to a JSON value with range checks.
//
//===----------------------------------------------------------------------===//
#include "JsonReader.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace tileloom::runtime {

static std::string describe(const llvm::json::Value *value) {
  if (!value)
    return "missing";
  std::string text;
  llvm::raw_string_ostream(text) << *value;
  if (text.size() > 60)
    text = text.substr(0, 57) + "...";
  return text;
}

void JsonReader::fail(const llvm::Twine &needed) const {
  if (error->empty())
    *error = ("recipe: " + llvm::Twine(path.empty() ? "the text" : path) + " is " +
              describe(value) + "; needed " + needed)
                 .str();
}

JsonReader JsonReader::operator[](llvm::StringRef key) const {
  std::string below = path.empty() ? key.str() : path + "." + key.str();
  const llvm::json::Object *object = value ? value->getAsObject() : nullptr;
  return JsonReader(object ? object->get(key) : nullptr, below, error);
}

std::vector<JsonReader> JsonReader::items(size_t least, size_t most) const {
  std::vector<JsonReader> result;
  const llvm::json::Array *array = value ? value->getAsArray() : nullptr;
  if (!array || array->size() < least || array->size() > most) {
    fail("an array of " + llvm::Twine(least) +
         (least == most ? llvm::Twine("") : ".." + llvm::Twine(most)) + " values");
    return result;
  }
  for (auto [index, item] : llvm::enumerate(*array))
    result.emplace_back(&item, path + "[" + std::to_string(index) + "]", error);
  return result;
}

void JsonReader::onlyKeys(llvm::ArrayRef<llvm::StringRef> known) const {
  const llvm::json::Object *object = value ? value->getAsObject() : nullptr;
  if (!object)
    return fail("an object");
  for (const auto &member : *object)
    if (!llvm::is_contained(known, llvm::StringRef(member.first)))
      return (*this)[member.first].fail("no such key (known: " + llvm::join(known, ", ") + ")");
}

int64_t JsonReader::integer(int64_t least, int64_t most) const {
  std::optional<int64_t> number = value ? value->getAsInteger() : std::nullopt;
  if (number && *number >= least && *number <= most)
    return *number;
  fail("an integer " + llvm::Twine(least) + ".." + llvm::Twine(most));
  return least;
}

int64_t JsonReader::integerOr(int64_t standard, int64_t least, int64_t most) const {
  return present() ? integer(least, most) : standard;
}

int64_t JsonReader::integerOrWord(llvm::StringRef word, int64_t standard) const {
  if (value && value->getAsString() == word)
    return standard;
  std::optional<int64_t> number = value ? value->getAsInteger() : std::nullopt;
  return number.value_or(-1);
}

bool JsonReader::booleanOr(bool standard) const {
  if (!present())
    return standard;
  std::optional<bool> flag = value->getAsBoolean();
  if (!flag)
    fail("true or false");
  return flag.value_or(standard);
}

std::string JsonReader::string() const {
  std::optional<llvm::StringRef> text = value ? value->getAsString() : std::nullopt;
  if (!text)
    fail("a string");
  return text.value_or("").str();
}

std::string JsonReader::stringOr(llvm::StringRef standard) const {
  return present() ? string() : standard.str();
}

bool nestingIsShallow(llvm::StringRef json) {
  constexpr unsigned limit = 64;
  unsigned depth = 0;
  bool inString = false;
  for (size_t i = 0; i < json.size(); ++i) {
    char c = json[i];
    if (inString) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        inString = false;
    } else if (c == '"') {
      inString = true;
    } else if (c == '[' || c == '{') {
      if (++depth > limit)
        return false;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return true;
}

} // namespace tileloom::runtime
