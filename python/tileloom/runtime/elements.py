"""Element types: their numbers in the C API, and their names in torch, NumPy and DLPack."""

import struct

NAMES = ("i1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64",
         "e4m3", "e5m2", "e2m1", "e8m0", "tf32")
NUMBER = {name: number for number, name in enumerate(NAMES)}

# torch's names; those that the installed torch lacks are left out. float4_e2m1fn_x2 counts pairs.
_TORCH = {
    "bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8",
    "uint16": "u16", "uint32": "u32", "uint64": "u64", "float16": "f16", "bfloat16": "bf16",
    "float32": "f32", "float64": "f64", "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2",
    "float8_e8m0fnu": "e8m0", "float4_e2m1fn_x2": "e2m1",
}


def torch_table(torch):
    """{torch dtype: element number} for the torch that is loaded."""
    return {getattr(torch, name): NUMBER[element] for name, element in _TORCH.items()
            if hasattr(torch, name)}


# NumPy type strings without byte order. Types of ml_dtypes are told by name instead.
_TYPESTR = {"b1": "i1", "i1": "i8", "i2": "i16", "i4": "i32", "i8": "i64", "u1": "u8", "u2": "u16",
            "u4": "u32", "u8": "u64", "f2": "f16", "f4": "f32", "f8": "f64"}
_NAMED = {"bfloat16": "bf16", "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2", "float8_e8m0fnu": "e8m0"}


def from_typestr(typestr):
    """Element number and bytes for "<f4" and the like; (None, bytes) for a type that has no element."""
    name = _TYPESTR.get(typestr[1:]) if typestr[:1] in "<|=" else None
    digits = typestr[2:]
    return (NUMBER[name] if name else None), (int(digits) if digits.isdigit() else None)


def from_dtype(dtype):
    """Element number for a NumPy dtype, also one of ml_dtypes; None if there is none."""
    named = _NAMED.get(dtype.name)
    return NUMBER[named] if named else from_typestr(dtype.str)[0]


# DLDataType codes of dlpack.h: int, uint, float, bfloat and bool, then the fp8 and fp4 types.
_DLPACK = {
    (0, 8): "i8", (0, 16): "i16", (0, 32): "i32", (0, 64): "i64",
    (1, 8): "u8", (1, 16): "u16", (1, 32): "u32", (1, 64): "u64",
    (2, 16): "f16", (2, 32): "f32", (2, 64): "f64", (4, 16): "bf16", (6, 8): "i1",
    (10, 8): "e4m3", (12, 8): "e5m2", (14, 8): "e8m0", (17, 4): "e2m1",
}


def from_dlpack(code, bits):
    name = _DLPACK.get((code, bits))
    return NUMBER[name] if name else None


_INTEGER_RANGE = {"i1": (0, 1), **{f"i{n}": (-(1 << (n - 1)), (1 << (n - 1)) - 1) for n in (8, 16, 32, 64)},
                  **{f"u{n}": (0, (1 << n) - 1) for n in (8, 16, 32, 64)}}
_FLOAT_FORMAT = {"f16": ("<e", "<H"), "f32": ("<f", "<I"), "f64": ("<d", "<Q")}


def is_integer(name):
    return name in _INTEGER_RANGE


def integer_range(name):
    """The least and the largest value; signless integers are read as signed."""
    return _INTEGER_RANGE[name]


def float_bits(name, value):
    """Bits of `value` rounded to the float type; raises OverflowError if it is finite and does not fit."""
    if name == "bf16":
        bits = struct.unpack("<I", struct.pack("<f", value))[0]
        if value != value:
            return 0x7FC0
        return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16  # to nearest, ties to even
    pack, unpack = _FLOAT_FORMAT[name]
    return struct.unpack(unpack, struct.pack(pack, value))[0]
