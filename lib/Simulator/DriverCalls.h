//===- DriverCalls.h - Functions that the driver links into kernels -*- C++ -*-===//

#ifndef TILELOOM_LIB_SIMULATOR_DRIVERCALLS_H
#define TILELOOM_LIB_SIMULATOR_DRIVERCALLS_H

#include "Ast.h"
#include "Program.h"

namespace tileloom {
namespace sim {

/// What runs a call of a function that the module only declares: `Instr::list` are the places in local
/// memory of its results, then of its parameters. Null if the driver has no such function here, or one of
/// another form.
Handler driverFunction(const Function &declared);

} // namespace sim
} // namespace tileloom

#endif
