"""The host's half of epilogue.py: checks what a chain of steps takes, and puts it into the form that the kernel wants."""

from ..dispatch.function import JITFunction
from ..language import dtypes
from . import arrays
from .overlap import is_same, share

READ = (*arrays.HALF, dtypes.float32, dtypes.float8e4nv, dtypes.float8e5)


class Chain:
    """Steps of kernel `name` for a result of `shape`, [M, N] or [batch, M, N]. result: its facts; by_elements: threads store its elements, not the copy
    engine. steps, operands: for the kernel. tensors: {name: facts}, updated: those of them that the steps write."""

    def __init__(self, name, shape, result, by_elements=False):
        self.name, self.shape, self.result, self.by_elements = name, tuple(shape), result, by_elements
        self._steps, self._operands, self.tensors, self.updated = [], [], {}, {}

    @property
    def steps(self):
        return tuple(self._steps)

    @property
    def operands(self):
        batch = self.shape[0] if len(self.shape) == 3 else None
        return (batch, *self.shape[-2:], *self._operands) if self._steps else ()

    def step(self, function, *operands):
        """function(value, *operands); operands: (name, number or tensor that broadcasts to the result)."""
        self._steps.append((function, tuple(self._operand(name, value) for name, value in operands)))

    def scale(self, name, value, axis):
        """Multiplies by a number, by a tensor of one element, or (axis -2, -1) by a vector of a factor for each row or column of the result."""
        vector = not arrays.is_number(value) and arrays.facts_of(value, self.name, name)
        if vector and len(vector.shape) == 1 and axis == -2:
            vector = vector._replace(shape=(*vector.shape, 1), strides=(*vector.strides, 1))
        if vector:
            arrays.require_type(vector, (dtypes.float32,), self.name, name)
            own = (1,) * (2 - len(vector.shape)) + tuple(vector.shape)
            wanted, needed = [(1, 1)], "a number, or one element"
            if axis is not None:
                wanted.append((self.shape[-2], 1) if axis == -2 else (1, self.shape[-1]))
                needed += f", or {self.shape[axis]} of them, one for each {'row' if axis == -2 else 'column'}"
            arrays.require(own[-2:] in wanted, self.name, name, f"has shape {list(vector.shape)}", needed)
        from .epilogue import multiply
        self._steps.append((multiply, (self._operand(name, value, vector or None),)))

    def amax(self, function, name, value, axis):
        """Updates a vector along an axis of the result with the largest absolute value."""
        found = arrays.facts_of(value, self.name, name)
        arrays.require_type(found, (dtypes.float32,), self.name, name)
        arrays.require_shape(found, (*self.shape[:-2], self.shape[axis]), self.name, name, "by the shapes of 'a' and 'b'")
        arrays.require(axis == -2 or found.shape[-1] < 2 or found.strides[-1] == 1, self.name, name, f"has strides {list(found.strides)}",
                       "a last stride of 1")
        self.tensors[name] = self.updated[name] = found
        self._operands += [arrays.as_int32(value), found.strides[-1], found.strides[0] if len(self.shape) == 3 else None]
        self._steps.append((function, ((len(self.shape) == 3, axis == -2, "amax"),)))

    def call(self, what, function, arguments=()):
        """A step that the user wrote."""
        arrays.require(isinstance(arguments, (tuple, list)), self.name, f"{what}_args", f"is of type {type(arguments).__name__}", "a tuple")
        self.step(self.function(what, function, 1 + len(arguments)), *((f"{what}_args[{index}]", value) for index, value in enumerate(arguments)))

    def function(self, what, function, count):
        """Checks that a user's function can be called with `count` arguments."""
        arrays.require(isinstance(function, JITFunction), self.name, what, f"is {function!r}", "a function with @tl.jit")
        required, most = sum(parameter.required for parameter in function.parameters), len(function.parameters)
        arrays.require(required <= count <= most, self.name, what, f"is {function.__name__}, which takes {required if required < most else most} "
                       f"{f'to {most} ' if required < most else ''}arguments", f"{count}: the value{' and epilogue_args' if count > 1 else ''}")
        return function

    def _operand(self, name, value, found=None):
        if arrays.is_number(value):
            self._operands += [float(value), None, None]
            return None
        found = found or arrays.facts_of(value, self.name, name)
        arrays.require_type(found, READ, self.name, name)
        if share(found, self.result):
            arrays.require(is_same(found, self.result), self.name, name, "shares memory with 'out', and is not the same", "'out' itself, or memory of its own")
            if self.by_elements:  # the threads that store an element are not those that read it
                copy = arrays.empty(value, found.shape, found.dtype)
                arrays.write(copy, value)
                value, found = copy, arrays.facts_of(copy, self.name, name)
        rank = len(self.shape)
        shape, strides = ((fill,) * (rank - len(found.shape)) + tuple(own) for fill, own in ((1, found.shape), (0, found.strides)))
        arrays.require(len(shape) == rank and all(own in (1, wanted) for own, wanted in zip(shape, self.shape)), self.name, name,
                       f"has shape {list(found.shape)}", f"one that broadcasts to {list(self.shape)}")
        # An extent of one that the result has, too, is no broadcast.
        missing = rank - len(found.shape)
        along = [axis >= missing and extent == wanted and (extent == 1 or step != 0)
                 for axis, (extent, step, wanted) in enumerate(zip(shape, strides, self.shape))]
        arrays.require(not along[-1] or shape[-1] == 1 or strides[-1] == 1, self.name, name, f"has strides {list(found.strides)}", "a last stride of 1")
        self.tensors[name] = found
        batch = rank == 3 and along[0]
        self._operands += [value, strides[-2] if along[-2] else None, strides[0] if batch else None]
        steps = [step * found.dtype.itemsize for step, own in zip(strides, along[:-1]) if own]
        fits = along[-1] and found.address % 16 == 0 and all(step % 16 == 0 for step in steps) and (along[-2] or not batch)
        return batch, along[-2], "copied" if fits else along[-1]
