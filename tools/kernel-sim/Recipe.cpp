#include "Options.h"
namespace tileloom { namespace sim {
void applyRecipe(const ToolOptions &, ArgumentList &, Launch &) { throw LoadError("recipes are not read yet"); }
}}
