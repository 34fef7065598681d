//===- ReportText.cpp - The report as aligned tables ---------------------------------------===//
//
// Works from the JSON alone, so that text and JSON cannot disagree. A table's columns are the keys
// of its rows: the known ones first, in reading order, then any other, so that a pass can record
// more without a change here.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Driver/Report.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

namespace json = llvm::json;
using llvm::StringRef;

/// Reading order of the columns that have one.
static constexpr StringRef columnOrder[] = {
    "name",   "stage",  "ms",       "op",        "shape", "a",     "b",
    "d",      "warps",  "replicas", "registers", "depth", "bytes", "scope",
    "offset", "column", "columns",  "stages",    "role",  "kind",  "barriers",
};

/// One cell: numbers with at most one decimal, lists as 1x2x3, objects as key=value.
static std::string cellText(const json::Value &value) {
  if (auto boolean = value.getAsBoolean())
    return *boolean ? "yes" : "no";
  if (auto integer = value.getAsInteger())
    return std::to_string(*integer);
  if (auto number = value.getAsNumber())
    return llvm::formatv("{0:F1}", *number).str();
  if (auto text = value.getAsString())
    return text->str();
  std::string text;
  if (const json::Array *array = value.getAsArray()) {
    for (const json::Value &element : *array)
      text += (text.empty() ? "" : " x ") + cellText(element);
  } else if (const json::Object *object = value.getAsObject()) {
    for (const auto &entry : *object)
      text += (text.empty() ? "" : " ") + entry.first.str() + "=" + cellText(entry.second);
  }
  return text.empty() ? "-" : text;
}

static std::vector<std::string> columnsOf(const json::Array &rows) {
  std::vector<std::string> known, others;
  auto anyHas = [&](StringRef key) {
    return llvm::any_of(rows, [&](const json::Value &row) {
      return row.getAsObject() && row.getAsObject()->get(key);
    });
  };
  for (StringRef key : columnOrder)
    if (anyHas(key))
      known.push_back(key.str());
  for (const json::Value &row : rows)
    if (const json::Object *object = row.getAsObject())
      for (const auto &entry : *object)
        if (!llvm::is_contained(known, entry.first.str()) &&
            !llvm::is_contained(others, entry.first.str()))
          others.push_back(entry.first.str());
  llvm::sort(others); // objects have no order
  known.insert(known.end(), others.begin(), others.end());
  return known;
}

static bool isNumeric(const json::Array &rows, StringRef key) {
  return llvm::all_of(rows, [&](const json::Value &row) {
    const json::Object *object = row.getAsObject();
    const json::Value *value = object ? object->get(key) : nullptr;
    return !value || value->getAsNumber();
  });
}

/// Rows that are not objects are printed as they are.
static void printTable(llvm::raw_ostream &os, StringRef title, const json::Array &rows) {
  if (rows.empty())
    return;
  os << "  " << title << "\n";
  std::vector<std::string> columns = columnsOf(rows);
  std::vector<std::vector<std::string>> cells(1, columns);
  for (const json::Value &row : rows) {
    const json::Object *object = row.getAsObject();
    if (!object) {
      os << "    " << cellText(row) << "\n";
      continue;
    }
    cells.emplace_back();
    for (const std::string &column : columns) {
      const json::Value *value = object->get(column);
      cells.back().push_back(value ? cellText(*value) : "-");
    }
  }
  for (std::vector<std::string> &line : cells) {
    if (columns.empty())
      break;
    std::string text;
    for (size_t i = 0; i < columns.size(); ++i) {
      size_t width = 0;
      for (const std::vector<std::string> &other : cells)
        width = std::max(width, other[i].size());
      StringRef cell = line[i];
      text += "  ";
      text += isNumeric(rows, columns[i])
                  ? llvm::formatv("{0}{1}", std::string(width - cell.size(), ' '), cell).str()
                  : llvm::formatv("{0}{1}", cell, std::string(width - cell.size(), ' ')).str();
    }
    os << "  " << StringRef(text).rtrim() << "\n";
  }
}

static void printLine(llvm::raw_ostream &os, StringRef title, const json::Object &object) {
  std::vector<std::string> parts;
  for (const auto &entry : object)
    if (entry.second.kind() != json::Value::Null)
      parts.push_back(entry.first.str() + " " + cellText(entry.second));
  llvm::sort(parts);
  if (!parts.empty())
    os << "  " << title << ": " << llvm::join(parts, ", ") << "\n";
}

static void printMessages(llvm::raw_ostream &os, const json::Object &owner) {
  const json::Array *messages = owner.getArray("messages");
  for (const json::Value &value : messages ? *messages : json::Array()) {
    const json::Object *message = value.getAsObject();
    if (!message)
      continue;
    os << "  ptxas " << message->getString("severity").value_or("info") << ": ";
    if (auto code = message->getString("code"))
      os << *code << ": ";
    os << message->getString("text").value_or("");
    if (auto location = message->getString("location"))
      os << " (" << *location << ")";
    os << "\n";
  }
}

static void printResources(llvm::raw_ostream &os, const json::Object &ptxas) {
  if (auto registers = ptxas.getInteger("registers"))
    os << "  ptxas: " << *registers << " registers, "
       << ptxas.getInteger("spill_store_bytes").value_or(0) << " + "
       << ptxas.getInteger("spill_load_bytes").value_or(0) << " bytes spilled (stores + loads), "
       << ptxas.getInteger("stack_bytes").value_or(0) << " bytes stack, "
       << ptxas.getInteger("barriers").value_or(0) << " barriers, "
       << ptxas.getInteger("shared_bytes").value_or(0) << " bytes static shared memory\n";
  printMessages(os, ptxas);
}

static void printKernel(llvm::raw_ostream &os, const json::Object &kernel) {
  os << "kernel " << kernel.getString("name").value_or("?");
  if (auto location = kernel.getString("location"))
    os << " (" << *location << ")";
  os << "\n";
  if (const json::Object *launch = kernel.getObject("launch"))
    printLine(os, "launch", *launch);
  static constexpr std::pair<StringRef, StringRef> tables[] = {
      {"roles", "roles"},          {"rings", "rings"},          {"mma", "matrix multiplies"},
      {"shared", "shared memory"}, {"tensor", "tensor memory"},
  };
  for (auto [key, title] : tables)
    if (const json::Array *rows = kernel.getArray(key))
      printTable(os, title, *rows);
  if (const json::Object *ptxas = kernel.getObject("ptxas"))
    printResources(os, *ptxas);
}

std::string tileloom::formatReport(const json::Value &value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  const json::Object *report = value.getAsObject();
  if (!report)
    return text;
  os << "target " << report->getString("target").value_or("?") << "\n";
  if (const json::Array *kernels = report->getArray("kernels"))
    for (const json::Value &kernel : *kernels)
      if (const json::Object *object = kernel.getAsObject())
        printKernel(os, *object);
  if (const json::Object *ptxas = report->getObject("ptxas")) {
    os << "ptxas: " << ptxas->getString("state").value_or("not assembled");
    if (auto path = ptxas->getString("path"))
      os << " by " << *path;
    if (auto bytes = ptxas->getInteger("cubin_bytes"))
      os << ", " << *bytes << " bytes";
    os << "\n";
    printMessages(os, *ptxas);
  }
  if (const json::Array *stages = report->getArray("stages")) {
    json::Array rows = *stages;
    if (auto total = report->getNumber("total_ms"))
      rows.push_back(json::Object{{"stage", "total"}, {"ms", *total}});
    printTable(os, "milliseconds of wall time", rows);
  }
  return text;
}
