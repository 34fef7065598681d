//===- Schedule.cpp - #tile.schedule ------------------------------------------------------===//
//
// The fields of a schedule, each with the values that it takes; parsing, printing, verification.
//
//===--------------------------------------------------------------------------------------===//

#include "dialects/Tile/Tile.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tileloom::tile;

namespace {

/// A field of #tile.schedule and the values that it takes.
struct Field {
  StringRef name;
  enum { Integer, Number, Flag, Word } kind;
  int64_t least, most;                    // of integers
  std::initializer_list<StringRef> words; // of words
};

const Field fields[] = {
    {"replicas", Field::Integer, 1, 4, {}},
    {"use", Field::Word, 0, 0, {"cooperative", "pingpong"}},
    {"stages", Field::Integer, 1, 32, {}},
    {"registers", Field::Integer, 24, 256, {}},
    {"raster", Field::Integer, 1, 16384, {}},
    {"order", Field::Word, 0, 0, {"forward", "reverse"}},
    {"scheduler", Field::Word, 0, 0, {"static", "dynamic"}},
    {"persistent", Field::Flag, 0, 0, {}},
    {"specialize", Field::Word, 0, 0, {"auto", "on", "off"}},
    {"warps", Field::Integer, 1, 32, {}},
    {"skew", Field::Word, 0, 0, {"auto", "late", "off"}},
    {"operands", Field::Word, 0, 0, {"auto", "math", "gather"}},
    {"fraction", Field::Number, 0, 1, {}},
    {"guard", Field::Word, 0, 0, {"auto", "off"}},
    {"epilogue", Field::Integer, 8, 256, {}},
    {"speculate", Field::Word, 0, 0, {"auto", "on", "off"}},
    {"turns", Field::Word, 0, 0, {"auto", "off"}},
    {"pending", Field::Integer, 0, 1, {}},
    {"buffers", Field::Integer, 1, 4, {}},
    {"split", Field::Integer, 1, 64, {}},
    {"dependent", Field::Flag, 0, 0, {}},
    {"keep", Field::Word, 0, 0, {"none", "rows", "columns"}},
    {"cluster", Field::Integer, 1, 8, {}},
    {"multicast", Field::Word, 0, 0, {"rows", "columns"}},
    {"divide", Field::Word, 0, 0, {"rows", "columns"}},
};

} // namespace

Attribute ScheduleAttr::parse(AsmParser &parser, Type) {
  NamedAttrList entries;
  SMLoc loc = parser.getCurrentLocation();
  auto parseEntry = [&]() -> ParseResult {
    std::string name;
    Attribute value;
    if (parser.parseKeywordOrString(&name) || parser.parseEqual() || parser.parseAttribute(value))
      return failure();
    entries.push_back(NamedAttribute(parser.getBuilder().getStringAttr(name), value));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseEntry))
    return {};
  if (entries.findDuplicate()) {
    parser.emitError(loc, "schedule: expected each field once, found '")
        << entries.findDuplicate()->getName().strref() << "' twice";
    return {};
  }
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    entries.getDictionary(parser.getContext()));
}

void ScheduleAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(getFields(), printer, [&](NamedAttribute entry) {
    printer << entry.getName().strref() << " = ";
    if (auto integer = dyn_cast<IntegerAttr>(entry.getValue());
        integer && integer.getType().isInteger(64))
      printer << integer.getInt();
    else
      printer << entry.getValue();
  });
  printer << '>';
}

/// An error for a field whose value is not one it takes.
static LogicalResult verifyField(function_ref<InFlightDiagnostic()> emitError, const Field &field,
                                 Attribute value) {
  auto expected = [&](const auto &...what) {
    InFlightDiagnostic error = emitError() << "schedule: field '" << field.name << "': expected ";
    (error << ... << what) << ", found " << value;
    return failure();
  };
  switch (field.kind) {
  case Field::Integer: {
    auto integer = dyn_cast<IntegerAttr>(value);
    if (integer && !isa<BoolAttr>(value) && integer.getInt() >= field.least &&
        integer.getInt() <= field.most)
      return success();
    return expected("an integer from ", field.least, " to ", field.most);
  }
  case Field::Number: {
    auto number = dyn_cast<FloatAttr>(value);
    if (number && number.getValueAsDouble() >= field.least &&
        number.getValueAsDouble() <= field.most)
      return success();
    return expected("a number from ", field.least, " to ", field.most);
  }
  case Field::Flag:
    return isa<BoolAttr>(value) ? success() : expected("true or false");
  case Field::Word: {
    auto word = dyn_cast<StringAttr>(value);
    if (word && llvm::is_contained(field.words, word.getValue()))
      return success();
    return expected("one of ", llvm::join(field.words, ", "));
  }
  }
  llvm_unreachable("all kinds handled");
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   DictionaryAttr values) {
  for (NamedAttribute entry : values) {
    const Field *field = llvm::find_if(
        fields, [&](const Field &known) { return known.name == entry.getName().strref(); });
    if (field == std::end(fields)) {
      InFlightDiagnostic error = emitError() << "schedule: unknown field '"
                                             << entry.getName().strref() << "'; known are ";
      llvm::interleaveComma(fields, error, [&](const Field &known) { error << known.name; });
      return error;
    }
    if (failed(verifyField(emitError, *field, entry.getValue())))
      return failure();
  }
  auto warps = values.getAs<IntegerAttr>("warps");
  if (warps && (warps.getInt() & (warps.getInt() - 1)))
    return emitError() << "schedule: field 'warps': expected 1, 2, 4, 8, 16 or 32, found "
                       << warps.getInt();
  auto cluster = values.getAs<IntegerAttr>("cluster");
  int64_t ctas = cluster ? cluster.getInt() : 1;
  if (ctas & (ctas - 1))
    return emitError() << "schedule: field 'cluster': expected 1, 2, 4 or 8, found " << ctas;
  if (ctas == 1 && values.get("multicast"))
    return emitError() << "schedule: field 'multicast': expected cluster = 2, 4 or 8 beside it, found "
                       << (cluster ? "cluster = 1" : "none");
  return success();
}

bool ScheduleAttr::dividesColumns() const { return word("divide") == StringRef("columns") && word("use") != StringRef("pingpong"); }

std::optional<int64_t> ScheduleAttr::integer(StringRef name) const {
  auto value = getFields().getAs<IntegerAttr>(name);
  return value ? std::optional<int64_t>(value.getInt()) : std::nullopt;
}

std::optional<StringRef> ScheduleAttr::word(StringRef name) const {
  auto value = getFields().getAs<StringAttr>(name);
  return value ? std::optional<StringRef>(value.getValue()) : std::nullopt;
}
