//===- Predict.cpp - C API of the cost model ----------------------------------------===//

#include "ThreadContext.h"
#include "dialects/Tile/Tile.h"
#include "passes/Pipelines.h"
#include "tileloom-c/Compiler.h"
#include "tileloom/Schedule/CostModel.h"
#include "tileloom/Target/Chip.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <cstring>

using namespace mlir;
using namespace tileloom;

namespace {

void setReason(TileloomPrediction &prediction, llvm::StringRef text) {
  size_t length = std::min(text.size(), sizeof(prediction.reason) - 1);
  std::memcpy(prediction.reason, text.data(), length);
  prediction.reason[length] = 0;
}

int32_t predict(llvm::StringRef source, llvm::StringRef target, const char *schedule,
                llvm::ArrayRef<int64_t> values, TileloomPrediction &prediction) {
  if (!lookupChip(target)) {
    setReason(prediction, unknownChipMessage(target));
    return 1;
  }
  MLIRContext &context = threadContext();
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (message.empty())
      message = diagnostic.str();
    return success();
  });
  auto fail = [&](llvm::StringRef text) {
    setReason(prediction, text);
    return 1;
  };
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(source, ParserConfig(&context));
  if (!module)
    return fail(message);
  func::FuncOp kernel;
  module->walk([&](func::FuncOp function) {
    if (function->hasAttr(tile::kernelAttrName))
      kernel = function;
  });
  if (!kernel)
    return fail("no kernel in the program");
  if (schedule) {
    Attribute attribute = parseAttribute(schedule, &context);
    auto own = dyn_cast_or_null<tile::ScheduleAttr>(attribute);
    if (!own)
      return fail(message.empty() ? "the schedule is not a #tile.schedule" : message);
    kernel->setAttr(tile::scheduleAttrName, own);
  }
  PassManager pm(&context);
  buildPredictionStage(pm, {target.str()});
  if (failed(pm.run(*module)))
    return fail(message);
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
