"""Kernels: loading, launching, and evaluating a launch without a GPU."""

import ctypes
import json
import os
import sys
from dataclasses import dataclass
from typing import List, Optional, Tuple

from . import elements, library
from .arguments import PACK, bytes_as_fp4, describe, tensor, unpacked
from .errors import BY_STATUS, ArgumentError, RecipeError, TileloomError
from .library import HOST, POINTER, SCALAR, TENSOR

_KINDS = {"tensor": TENSOR, "pointer": POINTER, "scalar": SCALAR}
_PAIRS = elements.NUMBER["e2m1"]
_ARGUMENT_BYTES = len(PACK[0](0, 0, 0, 0, 0))


@dataclass(frozen=True)
class Device:
    """The limits of a device, for `Kernel.evaluate`. Ordinal -1 stands for host memory, as a simulator has it."""

    major: int
    minor: int
    multiprocessors: int
    shared_bytes: int = 232448
    max_threads: int = 1024
    ordinal: int = HOST

    @staticmethod
    def named(target: str) -> "Device":
        """A full chip of "sm_90a" (H100/H200 SXM: 132 multiprocessors) or "sm_100a" (B200: 148)."""
        known = {"sm_90a": (9, 0, 132), "sm_100a": (10, 0, 148)}
        if target not in known:
            raise ArgumentError(f"device {target!r} is not known; needed one of {', '.join(known)}")
        return Device(*known[target])


@dataclass(frozen=True)
class TensorMap:
    """The numbers given to cuTensorMapEncodeTiled; dimension 0 is the innermost, enumerations are the driver's."""

    address: int
    extents: Tuple[int, ...]
    strides: Tuple[int, ...]  # bytes, of dimensions 1 and up
    box: Tuple[int, ...]
    data_type: int
    interleave: int
    swizzle: int
    l2_promotion: int
    fill: int


@dataclass(frozen=True)
class Parameter:
    kind: str  # "value", "tensor_map" or "workspace"
    offset: int
    size: int
    bytes: bytes
    tensor_map: Optional[TensorMap] = None
    workspace_bytes: int = 0
    zero: bool = False


@dataclass(frozen=True)
class Launch:
    """A computed launch; `grid` has a zero extent if nothing is to be launched."""

    grid: Tuple[int, int, int]
    cluster: Tuple[int, int, int]
    threads: int
    shared_bytes: int
    cooperative: bool
    dependent: bool
    parameters: List[Parameter]
    bytes: bytes


class _Argument:
    """What the recipe says about one argument, as far as Python needs it."""

    __slots__ = ("kind", "element", "element_name", "prefix")

    def __init__(self, kernel, index, json_argument):
        self.kind = _KINDS[json_argument["kind"]]
        self.element_name = json_argument["element"]
        self.element = elements.NUMBER[self.element_name]
        location = json_argument.get("location")
        where = f" ({location})" if location else ""
        self.prefix = f"kernel '{kernel}', argument {index} '{json_argument['name']}'{where}: "


class _Torch:
    """What a launch needs of torch, looked up once."""

    def __init__(self, torch):
        self.Tensor = torch.Tensor
        self.elements = elements.torch_table(torch)
        raw = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
        self.current_stream = raw or (lambda device: torch.cuda.current_stream(device).cuda_stream)
        self.current_device = torch.cuda.current_device


_torch = None


def _find_torch():
    """torch if the program has imported it; it is never imported from here."""
    global _torch
    if _torch is None:
        module = sys.modules.get("torch")
        # A torch that is still being imported by another thread lacks its later attributes.
        if module is not None and hasattr(module, "Tensor") and hasattr(module, "cuda"):
            _torch = _Torch(module)
    return _torch


def _stream_number(stream):
    """The CUstream of an int, or of a stream object of torch, CuPy or `__cuda_stream__`."""
    if isinstance(stream, int):
        return stream
    for name in ("cuda_stream", "ptr"):
        number = getattr(stream, name, None)
        if isinstance(number, int):
            return number
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        return int((protocol() if callable(protocol) else protocol)[1])
    raise ArgumentError(f"stream is of type {type(stream).__name__}; needed an integer, or a stream object of torch, "
                        "CuPy or the __cuda_stream__ protocol")


def _grid(extents):
    """Three extents as the C API takes them."""
    extents = (*extents, 1, 1)[:max(3, len(extents))]
    if len(extents) != 3 or not all(isinstance(extent, int) and 0 <= extent < 1 << 32 for extent in extents):
        raise ArgumentError(f"grid is {extents}; needed one to three integers from 0 to 2^32-1")
    return (ctypes.c_uint32 * 3)(*extents)


def _read(source, what):
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source)
    if isinstance(source, (str, os.PathLike)):
        with open(source, "rb") as file:
            return file.read()
    raise ArgumentError(f"{what} is of type {type(source).__name__}; needed a path or bytes")


def _recipe_text(recipe, name):
    """The JSON of one recipe. A program with several kernels has a list of them; `name` chooses."""
    if isinstance(recipe, str) and recipe.lstrip()[:1] in ("{", "["):
        recipe = recipe.encode()
    elif not isinstance(recipe, (dict, list)):
        recipe = _read(recipe, "the recipe")
    if isinstance(recipe, bytes):
        if name is None and recipe.lstrip()[:1] != b"[":
            return recipe  # the usual case, read by the C layer
        try:
            recipe = json.loads(recipe)
        except ValueError as error:
            raise RecipeError(f"recipe: not JSON: {error}") from None
    recipes = recipe if isinstance(recipe, list) else [recipe]
    names = [entry.get("kernel") if isinstance(entry, dict) else None for entry in recipes]
    if name is None and len(recipes) == 1:
        return json.dumps(recipes[0]).encode()
    if names.count(name) != 1:
        found = ", ".join(repr(entry) for entry in names)
        raise RecipeError(f"recipe: kernel {name!r} is not one of {found}; needed: the name of one of them")
    return json.dumps(recipes[names.index(name)]).encode()


class Kernel:
    """A compiled kernel. Make it with `Kernel.load`; call it to launch.

    It stays loaded until `release` is called, also after the object is gone: a captured graph may still hold it.
    """

    def __init__(self, image: Optional[bytes], recipe: bytes):
        self._handle = None
        self._library = library.load()
        self._launch = self._library.tileloomKernelLaunchGrid
        handle = ctypes.c_void_p()
        status = self._library.tileloomKernelCreate(image, len(image or b""), recipe, len(recipe),
                                                    ctypes.byref(handle))
        self._handle = handle.value
        if status:
            try:
                self._fail(status)
            finally:
                self.release()
        parsed = json.loads(recipe)
        self.name = parsed["kernel"]
        self.target = parsed["target"]
        self._arguments = [_Argument(self.name, index, argument)
                           for index, argument in enumerate(parsed["arguments"])]

    @classmethod
    def load(cls, image, recipe=None, name=None) -> "Kernel":
        """`image`: a path to, or the bytes of, a cubin or PTX; None for a kernel that is only evaluated.
        `recipe`: a path, JSON text, bytes or a dict; by default the file beside `image` with the suffix .json.
        `name`: which kernel, if the recipe is a list of several."""
        if recipe is None:
            if not isinstance(image, (str, os.PathLike)):
                raise RecipeError("no recipe given; needed one, as the image is not a path with a .json beside it")
            recipe = os.path.splitext(os.fspath(image))[0] + ".json"
        return cls(None if image is None else _read(image, "the image"), _recipe_text(recipe, name))

    def __repr__(self):
        return f"<Kernel {self.name} for {self.target}>"

    def _fail(self, status):
        text = self._library.tileloomKernelError(self._handle).decode("utf-8", "replace")
        raise BY_STATUS.get(status, TileloomError)(text)

    def _check_loaded(self):
        if self._handle is None:
            raise TileloomError(f"kernel '{self.name}' was released")

    def _pack(self, values, stream, torch):
        """The argument structs as bytes, and the first CUDA device among torch tensors (or -1)."""
        if len(values) != len(self._arguments):
            return bytes(_ARGUMENT_BYTES * len(values)), -1  # the C layer reports the number
        parts = []
        place = -1
        table = torch.elements if torch else None
        Tensor = torch.Tensor if torch else ()
        for value, spec in zip(values, self._arguments):
            if not isinstance(value, Tensor):
                parts.append(describe(value, stream, spec))
                continue
            shape, strides, device = value.shape, value.stride(), value.get_device()
            element = table.get(value.dtype)
            if spec.element == _PAIRS:
                if element == _PAIRS:
                    shape, strides = unpacked(shape, strides, spec)
                else:
                    element, shape, strides = bytes_as_fp4(element, shape, strides, spec)
            if place < 0:
                place = device
            rank = len(shape)
            if element is None or rank > library.MAX_RANK:
                parts.append(tensor(element, device, value.data_ptr(), shape, strides, spec))
            else:
                parts.append(PACK[rank](TENSOR, element, device, rank, value.data_ptr(), *shape, *strides))
        return b"".join(parts), place

    def __call__(self, *values, grid=None, stream=None):
        """Launches on `stream`, on a `grid` of up to three extents if the recipe leaves that to the caller. The default stream is
        torch's current one if torch is in use, else the legacy one. Raises ArgumentError, LaunchError or DriverError; returns at once otherwise."""
        self._check_loaded()
        torch = _torch or _find_torch()
        number = None if stream is None else _stream_number(stream)
        packed, device = self._pack(values, number, torch)
        if number is None:
            number = torch.current_stream(device) if device >= 0 else 0
        status = self._launch(self._handle, packed, len(values), grid and _grid(grid), number)
        if status:
            self._fail(status)

    def preload(self, device: Optional[int] = None):
        """Loads the kernel on a device (by default the current one) ahead of its first launch."""
        self._check_loaded()
        status = self._library.tileloomKernelPreload(self._handle, -1 if device is None else device)
        if status:
            self._fail(status)

    def evaluate(self, *values, device: Device, grid=None) -> Launch:
        """The launch that these arguments (and this grid) ask for, computed without a GPU. With ordinal -1, the default,
        tensors are host arrays."""
        self._check_loaded()
        packed, _ = self._pack(values, None, _find_torch())
        limits = library.CDevice(device.ordinal, device.major, device.minor, device.multiprocessors,
                                 device.shared_bytes, device.max_threads)
        result = ctypes.POINTER(library.CLaunch)()
        status = self._library.tileloomKernelEvaluateGrid(self._handle, ctypes.byref(limits), packed, len(values),
                                                          grid and _grid(grid), ctypes.byref(result))
        if status:
            self._fail(status)
        try:
            return _copy_launch(result.contents)
        finally:
            self._library.tileloomLaunchRelease(result)

    def release(self):
        """Unloads the kernel and frees its workspaces. Nothing may run it any more, and no captured graph hold it."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._library.tileloomKernelRelease(handle)


def _copy_launch(c) -> Launch:
    data = ctypes.string_at(c.bytes, c.parameterBytes) if c.parameterBytes else b""
    parameters = []
    for index in range(c.parameterCount):
        p = c.parameters[index]
        own = data[p.offset:p.offset + p.size]
        tensor_map = None
        if p.kind == 1 and any(own):
            m = library.CTensorMap.from_buffer_copy(own)
            tensor_map = TensorMap(m.address, tuple(m.extents[:m.rank]), tuple(m.strides[:m.rank - 1]),
                                   tuple(m.box[:m.rank]), m.dataType, m.interleave, m.swizzle, m.l2Promotion, m.fill)
        parameters.append(Parameter(("value", "tensor_map", "workspace")[p.kind], p.offset, p.size, own, tensor_map,
                                    p.workspaceBytes, bool(p.zero)))
    return Launch(tuple(c.grid), tuple(c.cluster), c.threads, c.sharedBytes, bool(c.cooperative), bool(c.dependent),
                  parameters, data)
