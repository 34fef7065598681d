//===- Report.cpp - Collect the report -----------------------------------------------------===//
//
// Everything in the report is a fact recorded by whoever decided it: passes (`tileloom.report` on
// the kernel), launch attributes, ptxas, the clock. docs/report.md is the schema.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Driver/Report.h"

#include "dialects/NV/NVNames.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace tileloom;
namespace json = llvm::json;

/// "gemm.py:12:3", or empty.
static std::string locationText(Location loc) {
  if (auto file = loc->findInstanceOf<FileLineColLoc>())
    return (file.getFilename().getValue() + ":" + llvm::Twine(file.getLine()) + ":" +
            llvm::Twine(file.getColumn()))
        .str();
  return {};
}

/// Threads, cluster and CTAs per SM from the attributes that PTX is printed from, where the passes
/// recorded none.
static void addLaunchAttributes(FunctionOpInterface kernel, json::Object &launch) {
  auto setFrom = [&](llvm::StringRef key, llvm::StringRef attribute) {
    if (Attribute value = kernel->getAttr(attribute); value && !launch.get(key))
      launch[key] = attributeToJson(value);
  };
  auto threads = kernel->getAttrOfType<DenseI32ArrayAttr>("nvvm.reqntid");
  if (!threads) // several programs of one warp in a CTA
    threads = kernel->getAttrOfType<DenseI32ArrayAttr>("nvvm.maxntid");
  if (threads && !launch.get("threads")) {
    int64_t product = 1;
    for (int32_t extent : threads.asArrayRef())
      product *= extent;
    launch["threads"] = product;
  }
  setFrom("cluster", "nvvm.cluster_dim");
  setFrom("min_ctas", "nvvm.minctasm");
  setFrom("max_registers", "nvvm.maxnreg");
}

static json::Object messageToJson(const PtxasMessage &message) {
  json::Object object{{"severity", toString(message.severity)},
                      {"text", json::fixUTF8(message.text)}};
  if (!message.code.empty())
    object["code"] = message.code;
  if (message.ptxLine != 0)
    object["ptx_line"] = message.ptxLine;
  if (message.source.line != 0)
    object["location"] = json::fixUTF8(message.source.file) + ":" +
                         std::to_string(message.source.line) + ":" +
                         std::to_string(message.source.column);
  return object;
}

static json::Object resourcesToJson(const PtxasReport &report, llvm::StringRef name) {
  json::Object object;
  if (const PtxasKernel *kernel = report.find(name))
    object = json::Object{{"registers", kernel->registers},
                          {"barriers", kernel->barriers},
                          {"stack_bytes", kernel->stackBytes},
                          {"spill_store_bytes", kernel->spillStoreBytes},
                          {"spill_load_bytes", kernel->spillLoadBytes},
                          {"shared_bytes", kernel->sharedBytes},
                          {"constant_bytes", kernel->constantBytes}};
  json::Array messages;
  for (const PtxasMessage &message : report.messages)
    if (message.function == name)
      messages.push_back(messageToJson(message));
  object["messages"] = std::move(messages);
  return object;
}

static json::Object ptxasToJson(const PtxasResult &ptxas,
                                llvm::ArrayRef<FunctionOpInterface> kernels) {
  json::Array messages;
  for (const PtxasMessage &message : ptxas.report.messages)
    if (llvm::none_of(kernels, [&](FunctionOpInterface kernel) {
          return kernel.getName() == message.function;
        }))
      messages.push_back(messageToJson(message));
  bool assembled = ptxas.state == PtxasResult::State::Assembled;
  return json::Object{{"state", assembled ? "assembled" : "failed"},
                      {"path", json::fixUTF8(ptxas.path)},
                      {"cubin_bytes", static_cast<int64_t>(ptxas.cubin.size())},
                      {"messages", std::move(messages)}};
}

json::Value tileloom::makeReport(ModuleOp module, llvm::StringRef target, const PtxasResult *ptxas,
                                 const StageTimes &times) {
  std::vector<FunctionOpInterface> functions = findKernels(module);
  json::Array kernels;
  for (FunctionOpInterface kernel : functions) {
    json::Object object;
    if (auto recorded = kernel->getAttrOfType<DictionaryAttr>(nv::reportAttrName))
      object = *attributeToJson(recorded).getAsObject();
    object["name"] = json::fixUTF8(kernel.getName());
    if (std::string location = locationText(kernel->getLoc()); !location.empty())
      object["location"] = json::fixUTF8(location);
    if (!object.getObject("launch"))
      object["launch"] = json::Object();
    addLaunchAttributes(kernel, *object.getObject("launch"));
    if (ptxas)
      object["ptxas"] = resourcesToJson(ptxas->report, kernel.getName());
    kernels.push_back(std::move(object));
  }
  json::Array order;
  for (const auto &[stage, ms] : times.entries)
    order.push_back(json::Object{{"stage", stage}, {"ms", ms}});
  json::Object report{{"version", 1},
                      {"target", target},
                      {"kernels", std::move(kernels)},
                      {"stages", std::move(order)},
                      {"total_ms", times.total()}};
  report["ptxas"] = ptxas ? json::Value(ptxasToJson(*ptxas, functions))
                          : json::Value(json::Object{{"state", "not assembled"}});
  return report;
}
