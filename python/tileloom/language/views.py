"""Views: tensors that bring shape, strides and type with them, read and written in boxes; and Triton's tensor descriptors.

A view is one `!tile.desc` argument of the kernel, whose box is that of its first use; other boxes go through `tile.rebox`. Its extents
and strides become scalar arguments when the program uses them, or constants where it needs them at compile time.
"""

from ..frontend.builder import tensor_type
from ..frontend.context import builder
from ..frontend.errors import ProgramError
from . import dtypes, semantic
from .values import constant_of, describe, shape_of, tensor


class dimension(tensor):
    """An extent of a view: a run-time int32, or a compile-time constant where the program needs one."""

    __slots__ = ("owner", "axis")

    def __init__(self, owner, axis):
        self.owner, self.axis = owner, axis
        self.dtype, self.shape, self.tiled = dtypes.int32, (), False
        self.bounds = self.reshaped = self.product = self.load = None

    @property
    def host(self):
        return ("argument", ("shape", self.owner.name, self.axis))

    @property
    def handle(self):
        attributes = ["tile.divisibility = 16 : i32"] if ("shape", self.owner.name, self.axis) in self.owner.divisible else ()
        return builder().argument(("shape", self.owner.name, self.axis), f"{self.owner.name}.shape[{self.axis}]", "i32", attributes)

    def make_dynamic(self):
        return tensor(self.handle, self.dtype, host=self.host)

    def make_static(self):
        return self.owner.static_extent(self.axis)


class descriptor:
    """What views and tensor descriptors share: boxes of a global tensor. `binding` names the kernel argument."""

    def __init__(self, name, dtype, rank, binding):
        self.name, self.dtype, self.rank, self.binding = name, dtype, rank, binding

    @property
    def description(self):
        return f"{self.dtype} view '{self.name}' of rank {self.rank}"

    def _box(self, box):
        """The SSA descriptor with this box, and its type."""
        type = f"!tile.desc<{'x'.join(map(str, box))}x{self.dtype.mlir}>"
        b = builder()
        source = b.argument(self.binding, self.name, type)
        own = b.argument_type(self.binding)
        if own == type:
            return source, type
        return b.value(f"tile.rebox {source} : {own} -> {type}"), type

    def _coordinates(self, coordinates, name):
        if not isinstance(coordinates, (tuple, list)):
            coordinates = (coordinates,)
        if len(coordinates) != self.rank:
            raise ProgramError(f"{name}: {len(coordinates)} coordinates for the {self.description}; needed {self.rank}")
        values = []
        for index, coordinate in enumerate(coordinates):
            value = semantic.to_tensor(coordinate)
            if value.shape or not value.dtype.is_int():
                raise ProgramError(f"{name}: coordinate {index} is {describe(value)}; needed an integer scalar")
            values.append(value)
        return values

    def _stack(self, places, box, name):
        """The boxes at several places, one above the other: [boxes * rows, columns]."""
        squeezed = [extent for extent in box if extent != 1]
        if len(squeezed) < 2:
            raise ProgramError(f"{name}: boxes one above the other of {list(box)}; needed boxes with rows")
        rows = len(places)
        for extent in squeezed[:-1]:
            rows *= extent
        coordinates = [coordinate for place in places for coordinate in self._coordinates(place, name)]
        desc, type = self._box(box)
        handles = ", ".join(semantic.cast(c, dtypes.int32).handle for c in coordinates)
        shape = (rows, squeezed[-1])
        return tensor(builder().value(f"tile.load {desc}[{handles}] : {type} -> {tensor_type(shape, self.dtype.mlir)}"), self.dtype, shape)

    def _load(self, coordinates, box, shape):
        desc, type = self._box(box)
        squeezed = tuple(extent for extent in shape if extent != 1) or (1,)
        if len(shape) != len(box):
            squeezed = shape  # the user's own shape of the tile
        handles = ", ".join(semantic.cast(c, dtypes.int32).handle for c in coordinates)

        def load(own):
            return tensor(builder().value(f"tile.load {desc}[{handles}] : {type} -> {tensor_type(own, self.dtype.mlir)}"), self.dtype, own)
        loaded = load(squeezed)
        loaded.load = lambda own: load(own) if _merges_rows(squeezed, own) else None
        from .shapes import _reshape
        return _reshape(loaded, shape)

    def _store(self, coordinates, box, value, name, kind=None):
        value = semantic.cast(semantic.to_tensor(value), self.dtype) if isinstance(value, (int, float)) else semantic.to_tensor(value)
        if value.dtype is not self.dtype:
            raise ProgramError(f"{name}: the value is {describe(value)}, the view has {self.dtype}; needed equal types: convert with "
                               f".to({self.name}.dtype)")
        from .shapes import _reshape
        squeezed = tuple(extent for extent in box if extent != 1) or (1,)
        if value.reshaped is not None and _merges_rows(squeezed, value.reshaped.shape):
            value = value.reshaped
        elif len(value.shape) == len(box):
            value = _reshape(value, squeezed)
        desc, type = self._box(box)
        handles = ", ".join(semantic.cast(c, dtypes.int32).handle for c in coordinates)
        operation = f"tile.store_reduce {kind}" if kind else "tile.store"
        builder().op(f"{operation} {value.handle} to {desc}[{handles}] : {tensor_type(value.shape, value.dtype.mlir)}, {type}")


    def atomic_add(self, coordinates, value):
        """Adds a tile to the box at `coordinates`, each element atomically (relaxed); elements outside the tensor are left alone."""
        self._combine("add", coordinates, value)

    def atomic_max(self, coordinates, value):
        """The larger of memory and the tile, as atomic_add."""
        self._combine("max", coordinates, value)

    def atomic_min(self, coordinates, value):
        self._combine("min", coordinates, value)

    def atomic_and(self, coordinates, value):
        self._combine("and", coordinates, value)

    def atomic_or(self, coordinates, value):
        self._combine("or", coordinates, value)

    def atomic_xor(self, coordinates, value):
        self._combine("xor", coordinates, value)

    def _combine(self, kind, coordinates, value):
        name = f"{self.name}.atomic_{kind}"
        integers, floats = "signed integers of 32 or 64 bits", {"add": (16, 32), "max": (16,), "min": (16,)}.get(kind, ())
        fits = self.dtype.bits in floats if self.dtype.is_floating() else (
            self.dtype.bits in (32, 64) and not (self.dtype.is_int_unsigned() and kind in ("max", "min")))
        if not fits:
            widths = " or ".join(map(str, floats))
            raise ProgramError(f"{name} on the {self.description}; needed {f'floats of {widths} bits or ' if floats else ''}{integers}")
        self.store(coordinates, value, kind)


def _merges_rows(box, shape):
    """Whether neighbours among the extents of a box, the last one apart, are multiplied: the copy lies in shared memory as that tile would."""
    if not 2 <= len(shape) < len(box) or box[-1] != shape[-1]:
        return False
    rows = list(box[:-1])
    for extent in shape[:-1]:
        own = 1
        while rows and own < extent:
            own *= rows.pop(0)
        if own != extent:
            return False
    return not rows


class view(descriptor):
    """A parameter annotated `tl.view`."""

    def __init__(self, name, dtype, rank, extents=None, divisible=(), on_static=None):
        super().__init__(name, dtype, rank, ("view", name))
        self.extents = extents  # known extents (None: unknown), or None
        self.divisible, self._on_static = divisible, on_static

    @property
    def shape(self):
        return tuple(dimension(self, axis) for axis in range(self.rank))

    @property
    def ndim(self):
        return self.rank

    def static_extent(self, axis):
        extent = self.extents[axis] if self.extents is not None else None
        if extent is None:
            raise ProgramError(f"extent {axis} of the view '{self.name}' is needed at compile time, as it is the extent of a tile; "
                               f"needed: its value in the signature, such as {self.name}=(\"bf16\", (None, 64))")
        if self._on_static:
            self._on_static(self.name, axis)
        return extent

    def stride(self, axis):
        """Elements between neighbours along `axis` (int64)."""
        axis = constant_of(axis, "stride: axis")
        if not -self.rank <= axis < self.rank:
            raise ProgramError(f"stride: axis {axis} of the {self.description}; needed 0 to {self.rank - 1}")
        binding = ("stride", self.name, axis % self.rank)
        attributes = ["tile.divisibility = 16 : i32"] if binding in self.divisible else ()
        handle = builder().argument(binding, f"{self.name}.stride[{axis % self.rank}]", "i64", attributes)
        return tensor(handle, dtypes.int64, host=("argument", binding))

    @property
    def ptr(self):
        """The address of the first element, with pointer semantics."""
        from .values import pointer
        binding = ("address", self.name)
        attributes = [f"tile.pointer = {self.dtype.memory}", "tile.divisibility = 16 : i32"]
        base = builder().argument(binding, f"{self.name}.ptr", "i64", attributes[:1 + (binding in self.divisible)])
        return pointer(base, self.dtype, origin=binding)

    def load(self, coordinates, box):
        """The box at `coordinates` (elements); outside the tensor it reads as zero. A box shorter than the rank leaves out the
        dimensions that are indexed (extent one): see docs/language.md."""
        values = self._coordinates(coordinates, f"{self.name}.load")
        shape = shape_of(box, f"{self.name}.load: box")
        return self._load(values, self._full_box(coordinates, shape, f"{self.name}.load"), shape)

    def store(self, coordinates, value, kind=None):
        """Writes a tile at `coordinates`; elements outside the tensor are left out."""
        name = f"{self.name}.atomic_{kind}" if kind else f"{self.name}.store"
        values = self._coordinates(coordinates, name)
        value = semantic.to_tensor(value)
        if not value.shape:
            raise ProgramError(f"{name}: the value is {describe(value)}; needed a tile")
        self._store(values, self._full_box(coordinates, value.shape, name), value, name, kind)

    def _full_box(self, coordinates, box, name):
        """The box at full rank: the last extent is the last dimension's; the others go to those with tile offsets."""
        if len(box) == self.rank:
            return box
        if len(box) > self.rank:
            raise ProgramError(f"{name}: a box of {len(box)} extents {list(box)} for the {self.description}; needed at most {self.rank}")
        tiled = [axis for axis in range(self.rank - 1) if getattr(coordinates[axis], "tiled", False)]
        if len(tiled) != len(box) - 1:
            raise ProgramError(
                f"{name}: which dimensions the box {list(box)} covers is not clear: the last, and {len(box) - 1} of those whose coordinates "
                f"are tile offsets, of which there are {len(tiled)} ({', '.join(map(str, tiled)) or 'none'}); needed a box of all "
                f"{self.rank} extents, with 1 where one index is taken")
        full = [1] * self.rank
        full[-1] = box[-1]
        for axis, extent in zip(tiled, box):
            full[axis] = extent
        return tuple(full)


class tensor_descriptor(descriptor):
    """What `tl.make_tensor_descriptor` gives: a box shape is part of it."""

    def __init__(self, name, dtype, box, shape, strides, binding):
        super().__init__(name, dtype, len(box), binding)
        self.block_shape, self.shape, self.strides = box, shape, strides

    def load(self, offsets):
        """The block at `offsets`. A list of several offsets gives their blocks one above the other, as a tile of two dimensions."""
        if isinstance(offsets, (tuple, list)) and offsets and all(isinstance(own, (tuple, list)) for own in offsets):
            if len(offsets) > 1:
                return self._stack(offsets, self.block_shape, "descriptor.load")
            offsets = offsets[0]
        values = self._coordinates(offsets, "descriptor.load")
        return self._load(values, self.block_shape, self.block_shape)

    def store(self, offsets, value, kind=None):
        name = f"descriptor.atomic_{kind}" if kind else "descriptor.store"
        values = self._coordinates(offsets, name)
        value = semantic.to_tensor(value)
        if value.shape != self.block_shape:
            raise ProgramError(f"{name}: the value is {describe(value)}; needed the block shape {list(self.block_shape)}")
        self._store(values, self.block_shape, semantic.cast(value, self.dtype), name, kind)


def make_tensor_descriptor(base, shape, strides, block_shape, padding_option="zero"):
    """A descriptor of the tensor at `base` (a pointer argument, plus a uniform offset). Shape, strides and offset must follow from the
    kernel's arguments: the host makes the hardware's tensor map of them. The last stride is 1."""
    from .values import pointer
    name = "tl.make_tensor_descriptor"
    if not isinstance(base, pointer) or base.offsets is not None or base.origin is None:
        raise ProgramError(f"{name}: base is {describe(base)}; needed a pointer argument, plus a scalar offset at most")
    block = shape_of(block_shape, f"{name}: block_shape")
    if not (len(shape) == len(strides) == len(block)) or not 1 <= len(block) <= 5:
        raise ProgramError(f"{name}: {len(shape)} extents, {len(strides)} strides, {len(block)} block extents; needed 1 to 5 of each")
    offset = 0 if base.scalar is None else base.scalar.host
    facts = [("the offset of the base", offset)]
    for what, values in (("extent", shape), ("stride", strides)):
        for index, value in enumerate(values):
            value = semantic.operand(value)
            facts.append((f"{what} {index}", value if isinstance(value, int) else getattr(value, "host", None)))
    for what, expression in facts:
        if expression is None:
            raise ProgramError(f"{name}: {what} does not follow from the kernel's arguments alone, so the host cannot make the tensor map")
    if facts[-1][1] != 1 and not (isinstance(facts[-1][1], tuple) and facts[-1][1][0] == "argument"):
        raise ProgramError(f"{name}: the last stride is {facts[-1][1]}; needed 1")
    rank = len(block)
    expressions = [expression for _, expression in facts]
    binding = ("descriptor", base.origin, offset, tuple(expressions[1:1 + rank]), tuple(expressions[1 + rank:]), base.element.element)
    return tensor_descriptor(f"{base.origin[1]}.desc", base.element, block, shape, strides, binding)


def load_tensor_descriptor(desc, offsets):
    """desc.load(offsets)."""
    return _descriptor(desc, "tl.load_tensor_descriptor").load(offsets)


def store_tensor_descriptor(desc, offsets, value):
    """desc.store(offsets, value)."""
    _descriptor(desc, "tl.store_tensor_descriptor").store(offsets, value)


def _descriptor(desc, name):
    if not isinstance(desc, tensor_descriptor):
        raise ProgramError(f"{name}: desc is {describe(desc)}; needed what tl.make_tensor_descriptor gives")
    return desc
