"""Warm calls of the wrappers without their checks.

What a wrapper does with torch tensors on a GPU follows from their shapes, strides, types, devices and alignment, and from the other arguments: it checks
them, and launches kernels with the tensors, views of these, new tensors, and numbers. `remembered` writes down for each combination what one call
launched, as a function of the tensors, and calls that function from then on. A call that does anything else (a copy by torch, a tensor whose
origin is not known, arguments that are one memory) is made in full every time, as is any call with arrays or tensors on the CPU.
"""

import functools
import sys
import threading

from ..dispatch import function as dispatch

_MOST = 1024  # combinations that a wrapper keeps
_PLAIN = (int, float, bool, str, type(None))


class _Unknown(Exception):
    """Something that a later call cannot make again."""


class _Trace:
    """What one call of a wrapper does. tensors: its arguments, flat."""

    def __init__(self, tensors):
        self.tensors, self.lines, self.new, self.constants, self.repeatable = tensors, [], [], {}, True

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name

    def created(self, tensor, shape, zeros):
        if self.repeatable:
            torch = sys.modules["torch"]
            made = self.constant(torch.zeros if zeros else torch.empty)
            self.lines.append(f"n{len(self.new)} = {made}({self.constant(tuple(shape))}, dtype={self.constant(tensor.dtype)}, device=t[0].device)")
            self.new.append(tensor)

    def launched(self, kernel, grid, arguments, keywords):
        if self.repeatable:
            try:
                own = ", ".join([self.constant(grid), *map(self.expression, arguments), *(f"{name}={self.expression(value)}" for name, value in keywords.items())])
                self.lines.append(f"{self.constant(kernel._launch)}({own})")
            except _Unknown:
                self.repeatable = False

    def expression(self, value):
        """Source text for a value of this call, in terms of t, the tensors of a later one."""
        if isinstance(value, sys.modules["torch"].Tensor):
            return self._tensor(value)
        if type(value) in (tuple, list):
            return "(" + "".join(self.expression(one) + ", " for one in value) + ")"
        if type(value) is dict or type(value) in _PLAIN or isinstance(value, (dispatch.JITFunction, dispatch.constexpr)) or _is_handle(value):
            return self.constant(value)
        raise _Unknown

    def _tensor(self, value):
        for letter, known in (("t[{}]", self.tensors), ("n{}", self.new)):
            for index, tensor in enumerate(known):
                if tensor is value:
                    return letter.format(index)
        # A view that starts where an argument does: no two arguments do at the same place.
        for index, tensor in enumerate(self.tensors):
            if tensor.data_ptr() == value.data_ptr() and tensor.get_device() == value.get_device():
                retyped = "" if tensor.dtype == value.dtype else f".view({self.constant(value.dtype)})"
                if tensor.element_size() == value.element_size():
                    return f"t[{index}]{retyped}.as_strided({self.constant(tuple(value.shape))}, {self.constant(tuple(value.stride()))})"
        raise _Unknown

    def function(self, result):
        """A function of the tensors of a later call that does what this one did; None if there is none."""
        try:
            lines = [*self.lines, f"return {self.expression(result)}"]
        except _Unknown:
            return None
        if not self.repeatable:
            return None
        scope = dict(self.constants)
        exec("def again(t):\n" + "".join(f"  {line}\n" for line in lines), scope)
        return scope["again"]


class _Current(threading.local):
    trace = None


_current = _Current()


def created(tensor, shape, zeros=False):
    """Called for each tensor that a wrapper makes."""
    if _current.trace is not None and hasattr(tensor, "data_ptr"):
        _current.trace.created(tensor, shape, zeros)


def copied():
    """Called where a wrapper lets torch or NumPy copy elements."""
    if _current.trace is not None:
        _current.trace.repeatable = False


def _launched(kernel, grid, arguments, keywords):
    if _current.trace is not None:
        _current.trace.launched(kernel, grid, arguments, keywords)


dispatch.watch_launches(_launched)


def _is_handle(value):
    """Types of elements and streams, which are the same object or equal in a later call with the same key."""
    torch = sys.modules["torch"]
    return isinstance(value, (torch.dtype, torch.cuda.Stream))


def _key(arguments, keywords):
    """(everything that a wrapper's choices depend on, the tensors)."""
    torch = sys.modules["torch"]
    parts, tensors, places = [], [], set()

    def add(value):
        kind = type(value)
        if kind is torch.Tensor or kind is torch.nn.Parameter:
            place = value.data_ptr()
            if value.get_device() < 0 or place in places:
                raise _Unknown
            places.add(place)
            tensors.append(value)
            parts.append((value.dtype, value.shape, value.stride(), value.get_device(), place & 127))
        elif kind in _PLAIN:
            parts.append((kind, value or repr(value)))  # 0.0 and -0.0 are equal
        elif kind is tuple or kind is list:
            parts.append((kind, len(value)))
            for one in value:
                add(one)
        elif kind is dict:
            for name, one in value.items():
                parts.append(name)
                add(one)
        elif isinstance(value, dispatch.JITFunction) or _is_handle(value):
            parts.append(value)
        else:
            raise _Unknown

    for value in arguments:
        add(value)
    add(keywords)
    return tuple(parts), tensors


def remembered(wrapper):
    """The wrapper, with warm calls of tensors on a GPU as this module says."""
    known = {}

    @functools.wraps(wrapper)
    def call(*arguments, **keywords):
        if _current.trace is not None or "torch" not in sys.modules:
            return wrapper(*arguments, **keywords)
        try:
            key, tensors = _key(arguments, keywords)
        except _Unknown:
            return wrapper(*arguments, **keywords)
        again = known.get(key, _current)
        if again is None or not tensors:
            return wrapper(*arguments, **keywords)
        if again is not _current:
            return again(tensors)
        trace = _current.trace = _Trace(tensors)
        try:
            result = wrapper(*arguments, **keywords)
        finally:
            _current.trace = None
        if len(known) >= _MOST:
            known.clear()
        known[key] = trace.function(result)
        return result
    return call
