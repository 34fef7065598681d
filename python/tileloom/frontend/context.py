"""The builder of the kernel that this thread is compiling. Functions of the language find it here."""

import contextlib
import threading

from .errors import ProgramError

_state = threading.local()


def builder():
    found = getattr(_state, "builder", None)
    if found is None:
        raise ProgramError("functions of tileloom's language work only inside a function with @tl.jit")
    return found


@contextlib.contextmanager
def building(builder):
    outer = getattr(_state, "builder", None)
    _state.builder = builder
    try:
        yield builder
    finally:
        _state.builder = outer
