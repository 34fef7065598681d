"""All cases, family after family."""

import re

from . import matrix, memory, scalars, sparse, tma, warps


def cases(pattern=""):
    """Those whose name matches; the matrix products are not made yet (case.Deferred)."""
    for module in (scalars, warps, memory, tma, matrix, sparse):
        yield from (case for case in module.cases() if re.search(pattern, case.name))
