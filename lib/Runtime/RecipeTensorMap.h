//===- RecipeTensorMap.h - The tensor maps of a recipe --------------------===//
//
// Parses one `tensor_map` parameter and checks everything about it that does not depend on the
// argument, by the rules of cuTensorMapEncodeTiled (cuda.h).
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_RUNTIME_RECIPETENSORMAP_H
#define TILELOOM_RUNTIME_RECIPETENSORMAP_H

#include "JsonReader.h"
#include "tileloom/Runtime/Recipe.h"

namespace tileloom::runtime {

TensorMapSpec parseTensorMap(const JsonReader &json, const ArgumentSpec &argument);

} // namespace tileloom::runtime
#endif // TILELOOM_RUNTIME_RECIPETENSORMAP_H
