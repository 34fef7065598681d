"""All cases, family after family."""

from . import matrix, memory, scalars, tma, warps


def cases():
    for module in (scalars, warps, memory, tma, matrix):
        yield from module.cases()
