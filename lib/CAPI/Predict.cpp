//===- Predict.cpp - C API of the cost model ----------------------------------------===//

#include "dialects/Tile/Tile.h"
#include "passes/Pipelines.h"
#include "tileloom-c/Compiler.h"
#include "tileloom/InitAll.h"
#include "tileloom/Schedule/CostModel.h"
#include "tileloom/Target/Chip.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringMap.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

using namespace mlir;
using namespace tileloom;

namespace {

void setReason(TileloomPrediction &prediction, llvm::StringRef text) {
  size_t length = std::min(text.size(), sizeof(prediction.reason) - 1);
  std::memcpy(prediction.reason, text.data(), length);
  prediction.reason[length] = 0;
}

/// Programs with their schedules assigned, in a context of their own. A choice asks for hundreds of predictions, and the choice for the
/// next shape for those of the same programs: parsing them is most of the work.
class PreparedPrograms {
public:
  /// None, and `message`, if something is wrong.
  func::FuncOp find(llvm::StringRef source, llvm::StringRef target, const char *schedule, std::string &message) {
    std::string key = (target + "\n" + (schedule ? schedule : "") + "\n" + source).str();
    if (auto known = kernels.find(key); known != kernels.end())
      return kernelOf(*known->second);
    if (!context || kernels.size() == most) { // it keeps the types and attributes of all programs
      kernels.clear();
      mlir::DialectRegistry registry;
      registerAllDialects(registry);
      context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
      context->printOpOnDiagnostic(false);
    }
    ScopedDiagnosticHandler handler(context.get(), [&](Diagnostic &diagnostic) {
      if (message.empty())
        message = diagnostic.str();
      return success();
    });
    OwningOpRef<ModuleOp> module = prepare(source, target, schedule, message);
    return module ? kernelOf(*(kernels[key] = std::move(module))) : func::FuncOp();
  }

private:
  static func::FuncOp kernelOf(ModuleOp module) {
    func::FuncOp kernel;
    module.walk([&](func::FuncOp function) {
      if (function->hasAttr(tile::kernelAttrName))
        kernel = function;
    });
    return kernel;
  }

  OwningOpRef<ModuleOp> prepare(llvm::StringRef source, llvm::StringRef target, const char *schedule, std::string &message) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(source, ParserConfig(context.get()));
    if (!module)
      return {};
    func::FuncOp kernel = kernelOf(*module);
    if (!kernel) {
      message = "no kernel in the program";
      return {};
    }
    if (schedule) {
      auto own = dyn_cast_or_null<tile::ScheduleAttr>(parseAttribute(schedule, context.get()));
      if (!own) {
        message = message.empty() ? "the schedule is not a #tile.schedule" : message;
        return {};
      }
      kernel->setAttr(tile::scheduleAttrName, own);
    }
    PassManager pm(context.get());
    buildPredictionStage(pm, {target.str()});
    if (failed(pm.run(*module)))
      return {};
    return module;
  }

  static constexpr unsigned most = 1024;
  std::unique_ptr<MLIRContext> context;
  llvm::StringMap<OwningOpRef<ModuleOp>> kernels;
};

int32_t predict(llvm::StringRef source, llvm::StringRef target, const char *schedule,
                llvm::ArrayRef<int64_t> values, TileloomPrediction &prediction) {
  if (!lookupChip(target)) {
    setReason(prediction, unknownChipMessage(target));
    return 1;
  }
  static thread_local PreparedPrograms programs;
  std::string message;
  func::FuncOp kernel = programs.find(source, target, schedule, message);
  if (!kernel) {
    setReason(prediction, message);
    return 1;
  }
  llvm::SmallVector<std::optional<int64_t>> arguments;
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
    arguments.push_back(i < values.size() && values[i] != INT64_MIN
                            ? std::optional<int64_t>(values[i])
                            : std::nullopt);
  schedule::Prediction found = schedule::predict(kernel, arguments, schedule::Machine::of(target));
  prediction.microseconds = found.microseconds;
  prediction.tiles = found.tiles;
  prediction.waves = found.waves;
  prediction.productClocks = found.productClocks;
  prediction.copyClocks = found.copyClocks;
  prediction.otherClocks = found.otherClocks;
  prediction.turnClocks = found.turnClocks;
  prediction.bytes = found.bytes;
  prediction.stages = found.stages;
  prediction.raster = found.raster;
  prediction.keep = int64_t(found.keep);
  prediction.split = found.split;
  prediction.cluster = found.cluster;
  prediction.multicast = found.cluster == 1 ? 0 : found.multicast == "rows" ? 1 : 2;
  prediction.learned = found.learned;
  static_assert(schedule::termCount <= sizeof(prediction.terms) / sizeof(double));
  prediction.termCount = schedule::termCount;
  std::copy(found.terms.begin(), found.terms.end(), prediction.terms);
  setReason(prediction, found.reason);
  return 0;
}

} // namespace

int32_t tileloomPredict(const char *source, size_t size, const char *target, const char *schedule,
                        const int64_t *values, size_t count, TileloomPrediction *prediction) {
  if (!prediction)
    return 1;
  *prediction = {};
  if (!source || !target || (count && !values)) {
    setReason(*prediction, "an argument is a null pointer");
    return 1;
  }
  try {
    return predict(llvm::StringRef(source, size), target, schedule, {values, count}, *prediction);
  } catch (const std::exception &error) {
    setReason(*prediction, error.what());
    return 1;
  }
}
