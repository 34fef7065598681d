"""Runs PTX on the CPU with all checks, on NumPy arrays (include/tileloom-c/Simulator.h).

    from tileloom import sim
    kernel = sim.Kernel(ptx_text)                       # parses and decodes; SimulatorError names the line
    result = kernel.launch(grid=(8,), block=384, shared=229440,
                           args=[sim.tensor_map(a, box=(64, 128), swizzle=128), c, np.int32(512)])
    result.check()                                      # raises if anything was found

    result = sim.run_recipe(ptx_text, recipe_json, a, b, c)   # grid and parameters as the runtime computes them

Arrays are used in place: what the kernel stores is in them afterwards. Types of ml_dtypes (bfloat16, float8_*) work if that
package is installed; `as_element(array, "bf16")` gives a meaning to plain integer arrays.
"""

import ctypes
import json

from .runtime import elements, library
from .runtime.errors import BY_STATUS, TileloomError


class SimulatorError(TileloomError):
    """A module or launch that cannot be simulated."""


class KernelFault(TileloomError):
    """A run found something wrong with the kernel; `findings` has all of it."""

    def __init__(self, text, findings):
        super().__init__(text)
        self.findings = findings


class _Launch(ctypes.Structure):
    _fields_ = [
        ("kernel", ctypes.c_char_p), ("grid", ctypes.c_uint32 * 3), ("cluster", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3), ("sharedBytes", ctypes.c_uint32), ("parameterBytes", ctypes.c_uint32),
        ("parameters", ctypes.c_char_p), ("tensorMapOffsets", ctypes.POINTER(ctypes.c_uint32)),
        ("tensorMapCount", ctypes.c_uint32), ("checks", ctypes.c_char_p), ("seed", ctypes.c_uint64),
        ("maxSteps", ctypes.c_uint64), ("threads", ctypes.c_uint32), ("multiprocessors", ctypes.c_uint32),
        ("timeline", ctypes.c_uint32), ("fastMath", ctypes.c_uint32),
    ]


class _Argument(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_uint32), ("element", ctypes.c_uint32), ("device", ctypes.c_int32),
                ("rank", ctypes.c_uint32), ("value", ctypes.c_uint64), ("shape", ctypes.c_int64 * 8),
                ("strides", ctypes.c_int64 * 8)]


_TMA_TYPE = {"i8": 0, "u8": 0, "e4m3": 0, "e5m2": 0, "i1": 0, "i16": 1, "u16": 1, "u32": 2, "i32": 3, "u64": 4, "i64": 5,
             "f16": 6, "f32": 7, "f64": 8, "bf16": 9, "tf32": 11}
_SWIZZLE = {None: 0, 0: 0, 32: 1, 64: 2, 128: 3, "128a32": 4, "128a32f8": 5, "128a64": 6}
_lib = None


def _library():
    global _lib
    if _lib is None:
        lib = library.load()
        pointer = ctypes.c_void_p
        for name, result, arguments in (
                ("Create", pointer, []), ("Release", None, [pointer]), ("Error", ctypes.c_char_p, [pointer]),
                ("Load", ctypes.c_int, [pointer, ctypes.c_char_p, ctypes.c_size_t]),
                ("AddBuffer", ctypes.c_uint64, [pointer, ctypes.c_char_p, pointer, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int]),
                ("RemoveBuffer", None, [pointer, ctypes.c_uint64]),
                ("Run", ctypes.c_int, [pointer, ctypes.POINTER(_Launch)]),
                ("FindingsText", ctypes.c_char_p, [pointer]), ("FindingsJson", ctypes.c_char_p, [pointer]),
                ("Trace", ctypes.c_char_p, [pointer]), ("Summary", ctypes.c_char_p, [pointer]),
                ("Instructions", ctypes.c_uint64, [pointer]), ("Cycles", ctypes.c_uint64, [pointer])):
            function = getattr(lib, "tileloomSim" + name)
            function.restype, function.argtypes = result, arguments
        _lib = lib
    return _lib


class Element:
    """An array whose elements mean something that its dtype does not say: as_element(bits, "bf16")."""

    def __init__(self, array, element):
        if element not in elements.NUMBER:
            raise SimulatorError(f"unknown element {element!r}; known: {', '.join(elements.NAMES)}")
        self.array, self.element = array, element


as_element = Element


class Described:
    """The memory of an array as a tensor of another shape, for a tensor argument of a recipe. address: of its first element, on the host; strides in
    elements. It may reach beyond the array, as long as no copy does."""

    def __init__(self, array, address, shape, strides, element=None):
        if isinstance(array, Element):
            array, element = array.array, array.element
        self.array, self.address, self.shape, self.strides = array, address, tuple(shape), tuple(strides)
        self.element = element or _element_name(array)


class TensorMap:
    """A tensor map parameter over a whole array: dimensions reversed, box innermost first."""

    def __init__(self, array, box, swizzle=None, promotion=0, fill="zero", element=None):
        if isinstance(array, Element):
            array, element = array.array, array.element
        self.array = array
        self.element = element or _element_name(array)
        if self.element not in _TMA_TYPE:
            raise SimulatorError(f"a tensor map cannot have elements {self.element}")
        if swizzle not in _SWIZZLE:
            raise SimulatorError(f"swizzle {swizzle!r}; known: {list(_SWIZZLE)}")
        self.box, self.swizzle, self.promotion, self.fill = tuple(box), swizzle, promotion, fill

    def encode(self, address):
        rank = self.array.ndim
        if rank > library.MAX_MAP_RANK or len(self.box) != rank:
            raise SimulatorError(f"tensor map: array of rank {rank}, box {self.box}; needed equal ranks of at most 5")
        item = self.array.itemsize
        if self.array.strides[-1] != item:
            raise SimulatorError(f"tensor map: innermost stride is {self.array.strides[-1]} bytes; needed {item}")
        m = library.CTensorMap(address=address, rank=rank, dataType=_TMA_TYPE[self.element], swizzle=_SWIZZLE[self.swizzle],
                               l2Promotion={0: 0, 64: 1, 128: 2, 256: 3}[self.promotion],
                               fill=1 if self.fill == "nan" else 0, magic=0x50414D54)
        for i in range(5):
            m.extents[i] = self.array.shape[rank - 1 - i] if i < rank else 1
            m.box[i] = self.box[i] if i < rank else 1
        for i in range(1, rank):
            m.strides[i - 1] = self.array.strides[rank - 1 - i]
        return bytes(m)


tensor_map = TensorMap


def _element_name(array):
    number = elements.from_dtype(array.dtype)
    if number is None:
        raise SimulatorError(f"arrays of {array.dtype} are not known; needed a type of {', '.join(elements.NAMES)}")
    return elements.NAMES[number]


class Result:
    """What a run found: `findings` (dicts), `text`, instruction and cycle counts, and the timeline if asked for."""

    def __init__(self, findings, text, instructions, cycles, trace, summary):
        self.findings, self.text = findings, text
        self.instructions, self.cycles = instructions, cycles
        self.trace, self.summary = trace, summary

    @property
    def ok(self):
        return not self.findings

    def check(self):
        if self.findings:
            raise KernelFault(self.text, self.findings)
        return self


class Kernel:
    """A loaded PTX module."""

    def __init__(self, ptx):
        self._lib = _library()
        self._sim = self._lib.tileloomSimCreate()
        text = ptx.encode() if isinstance(ptx, str) else bytes(ptx)
        if self._lib.tileloomSimLoad(self._sim, text, len(text)):
            raise SimulatorError(self._error())

    def __del__(self):
        if getattr(self, "_sim", None):
            self._lib.tileloomSimRelease(self._sim)
            self._sim = None

    def _error(self):
        return self._lib.tileloomSimError(self._sim).decode()

    def launch(self, args, grid=(1,), block=None, cluster=None, shared=0, entry=None, names=None, **options):
        """Runs one launch. `args`, in the order of the kernel's parameters: arrays (their address), TensorMap, NumPy scalars,
        or bytes. Options: checks, seed, max_steps, threads, multiprocessors, timeline, fast_math."""
        buffers, parameters, maps = {}, bytearray(), []
        try:
            for i, a in enumerate(args):
                data = self._argument(a, names[i] if names else f"argument {i}", buffers)
                align = 64 if isinstance(a, TensorMap) else max(1, min(len(data), 16))
                parameters.extend(b"\0" * (-len(parameters) % align))
                if isinstance(a, TensorMap):
                    maps.append(len(parameters))
                parameters.extend(data)
            result = self._run(bytes(parameters), maps, grid, block, cluster, shared, entry, options)
            _check_read_only(buffers)
            return result
        finally:
            for address, *_ in buffers.values():
                self._lib.tileloomSimRemoveBuffer(self._sim, address)

    def _buffer(self, array, name, buffers):
        start, end = _byte_bounds(array, name)
        size, read_only = max(end - start, 1), array.__array_interface__["data"][1]
        key = (start, end, read_only)
        if key not in buffers:
            copy = ctypes.create_string_buffer(ctypes.string_at(start, end - start), size) if read_only else None
            address = self._lib.tileloomSimAddBuffer(self._sim, name.encode(), ctypes.addressof(copy) if read_only else start, size, 0, 1)
            if not address:
                raise SimulatorError(self._error())
            buffers[key] = address, array, name, copy
        return buffers[key][0] + array.__array_interface__["data"][0] - start

    def _argument(self, a, name, buffers):
        if isinstance(a, (bytes, bytearray)):
            return bytes(a)
        if isinstance(a, TensorMap):
            return a.encode(self._buffer(a.array, name, buffers))
        if isinstance(a, Element):
            a = a.array
        if hasattr(a, "__array_interface__") and getattr(a, "ndim", 0):
            return self._buffer(a, name, buffers).to_bytes(8, "little")
        if hasattr(a, "tobytes"):  # a NumPy scalar
            return a.tobytes()
        raise SimulatorError(f"{name} is {type(a).__name__}; needed an array, a TensorMap, a NumPy scalar or bytes")

    def _run(self, parameters, maps, grid, block, cluster, shared, entry, options):
        launch = _Launch()
        launch.kernel = entry.encode() if entry else None
        for field, value in (("grid", grid), ("block", block), ("cluster", cluster)):
            value = (value,) if isinstance(value, int) else tuple(value or ())
            for i, v in enumerate(value):
                getattr(launch, field)[i] = v
        launch.sharedBytes = shared
        launch.parameters, launch.parameterBytes = parameters, len(parameters)
        launch.tensorMapOffsets = (ctypes.c_uint32 * max(1, len(maps)))(*maps)
        launch.tensorMapCount = len(maps)
        checks = options.pop("checks", None)
        launch.checks = checks.encode() if checks is not None else None
        for name, field in (("seed", "seed"), ("max_steps", "maxSteps"), ("threads", "threads"),
                            ("multiprocessors", "multiprocessors"), ("timeline", "timeline"), ("fast_math", "fastMath")):
            setattr(launch, field, int(options.pop(name, 0)))
        if options:
            raise SimulatorError(f"unknown options: {', '.join(options)}")
        lib, sim = self._lib, self._sim
        if lib.tileloomSimRun(sim, ctypes.byref(launch)) == 2:
            raise SimulatorError(self._error())
        text = lib.tileloomSimFindingsText(sim).decode()
        findings = json.loads(lib.tileloomSimFindingsJson(sim).decode())
        return Result(findings, text, lib.tileloomSimInstructions(sim), lib.tileloomSimCycles(sim),
                      lib.tileloomSimTrace(sim).decode() if launch.timeline else None,
                      lib.tileloomSimSummary(sim).decode() if launch.timeline else None)


def _check_read_only(buffers):
    """The kernel had copies of read-only arrays, so that the host would not fault."""
    for (start, end, _), (_, _, name, copy) in buffers.items():
        if copy is not None and copy.raw[:end - start] != ctypes.string_at(start, end - start):
            raise SimulatorError(f"argument '{name}' is a read-only array, and the kernel stores to it")


def _byte_bounds(array, name):
    """First and one past the last byte of an array with any non-negative strides."""
    start = array.__array_interface__["data"][0]
    if array.size == 0:
        return start, start
    if any(s < 0 for s in array.strides):
        raise SimulatorError(f"argument '{name}': the strides are {array.strides} bytes; needed none below 0")
    return start, start + sum((n - 1) * s for n, s in zip(array.shape, array.strides)) + array.itemsize


def run_recipe(ptx, recipe, *arguments, multiprocessors=132, **options):
    """Runs a kernel as its launch recipe (docs/recipe.md; text or dict) says, on arrays and Python numbers."""
    lib = _library()
    kernel = Kernel(ptx)
    text = recipe if isinstance(recipe, str) else json.dumps(recipe)
    described = json.loads(text)
    specs = described.get("arguments", [])
    if len(specs) != len(arguments):
        raise SimulatorError(f"found {len(arguments)} arguments, the recipe has {len(specs)}")
    handle = ctypes.c_void_p()
    status = lib.tileloomKernelCreate(None, 0, text.encode(), len(text.encode()), ctypes.byref(handle))
    buffers, result = {}, ctypes.POINTER(library.CLaunch)()

    def check(status):
        if status:
            raise BY_STATUS.get(status, TileloomError)(lib.tileloomKernelError(handle).decode())

    try:
        check(status)
        values = (_Argument * max(1, len(arguments)))()
        for value, spec, a in zip(values, specs, arguments):
            _bind(kernel, value, spec, a, buffers)
        sm = described.get("target", "sm_90a").split("_")[-1].rstrip("af")
        device = library.CDevice(ordinal=library.HOST, major=int(sm[:-1]), minor=int(sm[-1]),
                                 multiprocessors=multiprocessors, sharedBytes=232448, maxThreads=1024)
        check(lib.tileloomKernelEvaluate(handle, ctypes.byref(device), bytes(values), len(arguments), ctypes.byref(result)))
        launch = result.contents
        if 0 in tuple(launch.grid):
            return Result([], "", 0, 0, None, None)
        parameters = bytearray(ctypes.string_at(launch.bytes, launch.parameterBytes))
        maps, keep = [], []
        for i in range(launch.parameterCount):
            p = launch.parameters[i]
            if p.kind == 1:
                maps.append(p.offset)
                tensor_map = library.CTensorMap.from_buffer(parameters, p.offset)
                if not tensor_map.address:  # an empty tensor: zeros stand in for it, as in the runtime
                    zeros = ctypes.create_string_buffer(256)
                    keep.append(zeros)
                    tensor_map.address = lib.tileloomSimAddBuffer(kernel._sim, f"empty {i}".encode(), ctypes.addressof(zeros), 256, 0, 1)
                del tensor_map
            elif p.kind == 2:
                space = ctypes.create_string_buffer(max(1, p.workspaceBytes))
                keep.append(space)
                address = lib.tileloomSimAddBuffer(kernel._sim, f"workspace {i}".encode(), ctypes.addressof(space),
                                                   max(1, p.workspaceBytes), 0, 1)
                parameters[p.offset:p.offset + 8] = address.to_bytes(8, "little")
        outcome = kernel._run(bytes(parameters), maps, tuple(launch.grid), launch.threads, tuple(launch.cluster),
                              launch.sharedBytes, described.get("kernel"), {"multiprocessors": multiprocessors, **options})
        _check_read_only(buffers)
        return outcome
    finally:
        if result:
            lib.tileloomLaunchRelease(result)
        lib.tileloomKernelRelease(handle)


def _bind(kernel, value, spec, a, buffers):
    """Fills in one TileloomArgument."""
    element = None
    if isinstance(a, Element):
        a, element = a.array, a.element
    value.device = library.HOST
    if isinstance(a, Described):
        value.kind, value.element, value.rank = library.TENSOR, elements.NUMBER[a.element], len(a.shape)
        for i, (extent, step) in enumerate(zip(a.shape, a.strides)):
            value.shape[i], value.strides[i] = extent, step
        value.value = kernel._buffer(a.array, spec.get("name", "argument"), buffers) + a.address - a.array.__array_interface__["data"][0]
        return
    if hasattr(a, "__array_interface__") and getattr(a, "ndim", 0):
        value.kind = library.TENSOR if spec["kind"] == "tensor" else library.POINTER
        value.element = elements.NUMBER[element or _element_name(a)]
        value.rank = a.ndim
        for i in range(a.ndim):
            value.shape[i], value.strides[i] = a.shape[i], a.strides[i] // a.itemsize
        value.value = kernel._buffer(a, spec.get("name", "argument"), buffers)
        return
    value.kind = library.SCALAR
    value.element = elements.NUMBER[spec["element"]]
    name = spec["element"]
    if elements.is_integer(name):
        least, most = elements.integer_range(name)
        if not least <= int(a) <= most:
            raise SimulatorError(f"argument '{spec.get('name', '')}': is {int(a)}; needed {least}..{most} ({name})")
    value.value = int(a) & 0xFFFFFFFFFFFFFFFF if elements.is_integer(name) else elements.float_bits(name, float(a))
