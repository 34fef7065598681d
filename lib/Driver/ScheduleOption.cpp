//===- ScheduleOption.cpp - A schedule from the command line ------------------------------===//

#include "ScheduleOption.h"

#include "dialects/Tile/Tile.h"
#include "dialects/Warp/Warp.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

static FailureOr<tileloom::tile::ScheduleAttr> parseSchedule(ModuleOp module, StringRef text) {
  std::string problem;
  Attribute attribute;
  {
    ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
      if (problem.empty())
        problem = diagnostic.str();
      return success();
    });
    attribute = parseAttribute(text, module.getContext());
  }
  if (auto schedule = dyn_cast_if_present<tileloom::tile::ScheduleAttr>(attribute))
    return schedule;
  InFlightDiagnostic error = module.emitError("--schedule: expected #tile.schedule<...>, found '") << text << "'";
  if (!problem.empty())
    error << ": " << problem;
  return failure();
}

LogicalResult tileloom::applySchedule(ModuleOp module, StringRef text) {
  FailureOr<tile::ScheduleAttr> schedule = parseSchedule(module, text);
  if (failed(schedule))
    return failure();
  FunctionOpInterface withRoles;
  bool applied = false;
  module.walk([&](FunctionOpInterface function) {
    if (!function->hasAttr(tile::kernelAttrName))
      return;
    if (function->walk([](warp::SpecializeOp) { return WalkResult::interrupt(); }).wasInterrupted()) {
      withRoles = function;
      return;
    }
    NamedAttrList fields;
    if (auto own = function->getAttrOfType<tile::ScheduleAttr>(tile::scheduleAttrName))
      fields.append(own.getFields().getValue());
    for (NamedAttribute field : schedule->getFields())
      fields.set(field.getName(), field.getValue());
    function->setAttr(tile::scheduleAttrName,
                      tile::ScheduleAttr::get(module.getContext(), fields.getDictionary(module.getContext())));
    applied = true;
  });
  if (applied)
    return success();
  if (withRoles)
    return withRoles->emitOpError("--schedule: expected a kernel of tiles, found one with roles, which "
                                  "has its schedule already");
  return module.emitError("--schedule: expected a kernel of tiles, found no function with '")
         << tile::kernelAttrName << "'";
}
