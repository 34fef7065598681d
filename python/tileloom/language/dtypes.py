"""Element types of the language, and how they combine.

A type knows its name for users (`float32`), its name in MLIR (`f32`), its kind and its width. Unsigned integers are signless in the
IR; the front end chooses the operation by the sign. `pointer_type` is the type of an address that knows what it points to.
"""

from ..runtime.errors import TileloomError


class dtype:
    """An element type: one of the module's constants, such as `tl.float32`."""

    __slots__ = ("name", "mlir", "kind", "bits", "element")

    def __init__(self, name, mlir, kind, bits, element=None):
        self.name, self.mlir, self.kind, self.bits = name, mlir, kind, bits
        self.element = element or mlir

    def __repr__(self):
        return f"tl.{self.name}"

    def __str__(self):
        return self.name

    def is_floating(self):
        return self.kind == "float"

    def is_int(self):
        return self.kind in ("int", "uint")

    def is_bool(self):
        return self.kind == "bool"

    def is_int_unsigned(self):
        return self.kind == "uint"

    def is_fp8(self):
        return self.kind == "float" and self.bits == 8

    def is_ptr(self):
        return False

    @property
    def scalar(self):
        return self

    @property
    def primitive_bitwidth(self):
        return self.bits

    @property
    def itemsize(self):
        return max(1, self.bits // 8)

    @property
    def memory(self):
        """The MLIR type of one element in memory: a bool is a byte."""
        return "i8" if self.kind == "bool" else self.mlir


class pointer_type(dtype):
    """The type of an address of elements of another type."""

    __slots__ = ("element_ty",)

    def __init__(self, element_ty):
        super().__init__(f"pointer<{element_ty.name}>", "i64", "pointer", 64)
        self.element_ty = element_ty

    def __repr__(self):
        return f"tl.pointer_type({self.element_ty!r})"

    def __eq__(self, other):
        return isinstance(other, pointer_type) and other.element_ty is self.element_ty

    def __hash__(self):
        return hash(("pointer", self.element_ty.name))

    def is_ptr(self):
        return True


int1 = dtype("int1", "i1", "bool", 1)
int8, int16, int32, int64 = (dtype(f"int{n}", f"i{n}", "int", n) for n in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (dtype(f"uint{n}", f"i{n}", "uint", n, f"u{n}") for n in (8, 16, 32, 64))
float16 = dtype("float16", "f16", "float", 16)
bfloat16 = dtype("bfloat16", "bf16", "float", 16)
float32 = dtype("float32", "f32", "float", 32)
float64 = dtype("float64", "f64", "float", 64)
float8e4nv = dtype("float8e4nv", "f8E4M3FN", "float", 8, "e4m3")
float8e5 = dtype("float8e5", "f8E5M2", "float", 8, "e5m2")
float8e8m0 = dtype("float8e8m0", "f8E8M0FNU", "float", 8, "e8m0")

ALL = (int1, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64, float8e4nv,
       float8e5, float8e8m0)
BY_ELEMENT = {t.element: t for t in ALL}  # the runtime's names (runtime/elements.py)
# How a signature may spell a type: this module's names, the runtime's, and Triton's.
_ALIASES = {**{t.name: t for t in ALL}, **BY_ELEMENT, "fp16": float16, "bf16": bfloat16, "fp32": float32, "fp64": float64,
            "fp8e4nv": float8e4nv, "fp8e5": float8e5, "float8_e4m3fn": float8e4nv, "float8_e5m2": float8e5, "bool": int1}


def named(name):
    """The type of a name such as "bf16", "float32", "torch.bfloat16" or "i32"; raises TileloomError."""
    found = name if isinstance(name, dtype) else _ALIASES.get(str(name).split(".")[-1])
    if found is None:
        raise TileloomError(f"element type {name!r} is not known; needed one of {', '.join(sorted(_ALIASES))}")
    return found


def of_python(value):
    """The type that a Python number has when it meets no tensor."""
    if isinstance(value, bool):
        return int1
    if isinstance(value, int):
        if -(1 << 31) <= value < 1 << 31:
            return int32
        if 0 <= value < 1 << 32:
            return uint32
        return uint64 if value >= 1 << 63 else int64
    size = abs(value)
    return float32 if size in (0.0, float("inf")) or value != value or 2.0 ** -126 <= size <= 2.0 ** 128 - 2.0 ** 104 else float64


def integer_promotion(a, b):
    """The common type of two integer or bool types: the wider one; unsigned wins at equal width."""
    if a.bits != b.bits:
        return a if a.bits > b.bits else b
    return a if a.is_int_unsigned() else b


def promotion(a, b, division=False):
    """The type in which an operation on two tensor types is computed (Triton's rule); None if they have none in common."""
    floats = a.is_floating() or b.is_floating()
    if float64 in (a, b):
        return float64
    if float32 in (a, b) or (division and floats):
        return float32
    if float16 in (a, b):
        return float16
    if bfloat16 in (a, b):
        return bfloat16 if a is b else float32
    if a.is_fp8() and b.is_fp8():
        return a if a is b else float16
    return None if floats else integer_promotion(a, b)


_KINDS = {"bool": 0, "int": 1, "uint": 1, "float": 2}


def weak_promotion(tensor, value, division=False):
    """The type in which a tensor type meets a Python number: the tensor's, unless the number is of a wider kind."""
    own = of_python(value)
    return promotion(tensor, tensor if _KINDS[own.kind] <= _KINDS[tensor.kind] else own, division)
