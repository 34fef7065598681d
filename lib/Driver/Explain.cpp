//===- Explain.cpp - Schedules of a program and what the cost model says of them ----------===//
//
// For each way to use the warpgroups and each depth of the rings: the predicted time, or why the
// schedule cannot be used. Fields that the program's #tile.schedule has stay as they are.
//
//===--------------------------------------------------------------------------------------===//

#include "Explain.h"

#include "dialects/Tile/Tile.h"
#include "passes/Pipelines.h"
#include "tileloom/Schedule/CostModel.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace tileloom;

namespace {

struct Entry {
  tile::ScheduleAttr schedule;
  schedule::Prediction found;
  size_t place = 0; // among the candidates
};

/// Values of the kernel's scalar arguments in order; of other arguments nothing is known.
std::string bindNumbers(func::FuncOp kernel, llvm::StringRef text,
                        SmallVectorImpl<std::optional<int64_t>> &values) {
  SmallVector<llvm::StringRef> numbers;
  if (!text.empty())
    text.split(numbers, ',');
  unsigned next = 0;
  for (Type type : kernel.getArgumentTypes()) {
    values.emplace_back();
    int64_t number;
    if (!type.isIntOrIndex() || next == numbers.size() || numbers[next++] == "?")
      continue;
    if (numbers[next - 1].trim().getAsInteger(10, number))
      return ("--explain-schedule: '" + numbers[next - 1] + "' is no number; needed one or '?'")
          .str();
    values.back() = number;
  }
  if (next < numbers.size())
    return "--explain-schedule: " + std::to_string(numbers.size()) + " numbers; kernel '" +
           kernel.getSymName().str() + "' has " + std::to_string(next) + " scalar arguments";
  return {};
}

Entry judge(ModuleOp module, StringRef chip, ArrayRef<std::optional<int64_t>> values,
            ArrayRef<NamedAttribute> own) {
  OwningOpRef<ModuleOp> copy = module.clone();
  func::FuncOp kernel = explainedKernel(*copy);
  auto given = kernel->getAttrOfType<tile::ScheduleAttr>(tile::scheduleAttrName);
  NamedAttrList fields(own);
  if (given)
    for (NamedAttribute field : given.getFields())
      fields.set(field.getName(), field.getValue());
  MLIRContext *context = module.getContext();
  Entry entry;
  entry.schedule = tile::ScheduleAttr::get(context, fields.getDictionary(context));
  kernel->setAttr(tile::scheduleAttrName, entry.schedule);
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (entry.found.reason.empty())
      entry.found.reason = diagnostic.str();
    return success();
  });
  PassManager pm(context);
  buildPredictionStage(pm, {chip.str()});
  if (succeeded(pm.run(*copy)))
    entry.found = schedule::predict(kernel, values, schedule::Machine::of(chip));
  return entry;
}

} // namespace

func::FuncOp tileloom::explainedKernel(ModuleOp module) {
  func::FuncOp kernel;
  module.walk([&](func::FuncOp function) {
    if (!kernel && function->hasAttr(tile::kernelAttrName))
      kernel = function;
  });
  return kernel;
}

std::string tileloom::explainSchedule(ModuleOp module, StringRef chip, StringRef numbers,
                                      llvm::raw_ostream &os) {
  func::FuncOp kernel = explainedKernel(module);
  if (!kernel)
    return "--explain-schedule: no kernel in the program";
  SmallVector<std::optional<int64_t>> values;
  if (std::string problem = bindNumbers(kernel, numbers, values); !problem.empty())
    return problem;
  Builder builder(module.getContext());
  std::vector<Entry> entries;
  for (StringRef use : {"cooperative", "pingpong"})
    for (int64_t stages : {0, 2, 3, 4, 6, 8}) {
      SmallVector<NamedAttribute> own{builder.getNamedAttr("use", builder.getStringAttr(use))};
      if (stages)
        own.push_back(builder.getNamedAttr("stages", builder.getI64IntegerAttr(stages)));
      Entry entry = judge(module, chip, values, own);
      bool known = llvm::any_of(
          entries, [&](const Entry &other) { return other.schedule == entry.schedule; });
      entry.place = entries.size();
      if (!known)
        entries.push_back(std::move(entry));
    }
  llvm::sort(entries, [](const Entry &a, const Entry &b) {
    auto key = [](const Entry &entry) {
      return std::tuple(!entry.found.reason.empty(), entry.found.microseconds, entry.place);
    };
    return key(a) < key(b);
  });
  os << kernel.getSymName() << " on " << chip
     << "\npredicted us    tiles  waves  stages  clocks of products, copies, other work, turn of a "
        "tile  learned factor  schedule\n";
  for (const Entry &entry : entries) {
    const schedule::Prediction &found = entry.found;
    if (found.reason.empty())
      os << llvm::format("%12.1f %8.0f %6.0f %7d %10.0f %10.0f %10.0f %10.0f %8.3f  ",
                         found.microseconds, found.tiles, found.waves, int(found.stages),
                         found.productClocks, found.copyClocks, found.otherClocks, found.turnClocks, found.learned)
         << entry.schedule << "\n";
    else
      os << "           -  " << entry.schedule << ": " << found.reason << "\n";
  }
  return {};
}
