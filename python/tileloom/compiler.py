"""Compiles programs (MLIR text) in this process, through the C API (include/tileloom-c/Compiler.h).

    compiled = compile(text, target="sm_90a", name="gemm.mlir")
    compiled.ptx, compiled.cubin, compiled.recipe, compiled.report

ctypes lets other Python threads run during a compilation, and every thread has its own warm compiler, so variants can be
compiled in parallel with a thread pool.
"""

import ctypes
import functools
import json
import os
import shutil
import sys
import threading

from .runtime import library as _runtime_library
from .runtime.errors import TileloomError

TARGETS = ("sm_90a", "sm_100a", "sm_103a")
STAGES = ("tile", "warp", "nv", "llvm", "llvmir")

_KINDS = {"tile": 0, "warp": 1, "nv": 2, "llvm": 3, "recipe": 4, "llvmir": 5, "ptx": 6, "cubin": 7}
_REPORT, _REPORT_TEXT, _DIAGNOSTICS = 8, 9, 10
_FLAG_REPORT, _FLAG_CUBIN_IF_POSSIBLE, _FLAG_WERROR_PTXAS, _FLAG_LINE_INFO, _FLAG_VERIFY, _FLAG_SAVE_PASSES = 1, 2, 4, 8, 16, 32


class CompileError(TileloomError):
    """A program that cannot be compiled. The text has the source locations."""


class _Options(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("target", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("emit", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("ptxas", ctypes.c_char_p),
        ("saveTemps", ctypes.c_char_p),
        ("ptxasTimeout", ctypes.c_uint32),
        ("lowerOptLevel", ctypes.c_uint32),
    ]


class Compiled:
    """What a compilation yielded.

    ptx: str, or None if not asked for. cubin: bytes, or None without ptxas. recipe: dict (docs/recipe.md), or None if not asked for.
    report: dict (docs/report.md), or None if not asked for; report_text: the same as tables. stages: dict of IR texts by stage name,
    those asked for. diagnostics: warnings of the compilation, "" if there were none.
    """

    def __init__(self, ptx, cubin, recipe, report, report_text, stages, diagnostics):
        self.ptx = ptx
        self.cubin = cubin
        self.recipe = recipe
        self.report = report
        self.report_text = report_text
        self.stages = stages
        self.diagnostics = diagnostics


_lock = threading.Lock()
_declared = None


def _library():
    global _declared
    with _lock:
        if _declared is None:
            library = _runtime_library.load()
            library.tileloomCompile.restype = ctypes.c_int32
            library.tileloomCompile.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(_Options),
                                                ctypes.POINTER(ctypes.c_void_p)]
            library.tileloomArtifactsGet.restype = ctypes.c_void_p
            library.tileloomArtifactsGet.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.POINTER(ctypes.c_size_t)]
            library.tileloomArtifactsRelease.restype = None
            library.tileloomArtifactsRelease.argtypes = [ctypes.c_void_p]
            _declared = library
    return _declared


def compile(text, target, *, name="<source>", ptx=True, recipe=True, cubin=None, report=False, stages=(), werror_ptxas=False,
            line_info=False, opt_level=3, ptxas=None, ptxas_timeout=300, save_temps=None, save_passes=False, verify=False):
    """Compiles `text` for `target` (one of TARGETS).

    ptx: False stops after the last of `stages`. recipe: also yield the launch recipe. cubin: True needs ptxas, None takes it if
    there is one, False does not run it (the driver then compiles the PTX at load). stages: names out of STAGES whose IR text to keep.
    ptxas: path of the program. ptxas_timeout: seconds. save_temps: directory for everything made on the way; save_passes: there also
    the IR after every pass. verify: check the IR after every pass, not only after every stage. Raises CompileError.
    """
    unknown = [stage for stage in stages if stage not in STAGES]
    if unknown:
        raise CompileError(f"unknown stage {unknown[0]!r} (stages: {', '.join(STAGES)})")
    if opt_level not in (0, 1, 2, 3):
        raise CompileError(f"opt_level is {opt_level!r}; needed 0, 1, 2 or 3")
    kinds = ["ptx"] * bool(ptx) + [*stages] + ["recipe"] * bool(recipe and ptx) + ["cubin"] * (cubin is True)
    flags = (_FLAG_REPORT * bool(report) | _FLAG_CUBIN_IF_POSSIBLE * bool(cubin is None and ptx) |
             _FLAG_WERROR_PTXAS * bool(werror_ptxas) | _FLAG_LINE_INFO * bool(line_info) |
             _FLAG_VERIFY * bool(verify) | _FLAG_SAVE_PASSES * bool(save_passes))
    emit = 0
    for kind in kinds:
        emit |= 1 << _KINDS[kind]
    options = _Options(ctypes.sizeof(_Options), _bytes(target), _bytes(name), emit, flags, _bytes(ptxas),
                       _bytes(save_temps), ptxas_timeout, 3 - opt_level)
    if ptxas is None and cubin is not False:
        options.ptxas = _bytes(_packaged_ptxas())
    source = _bytes(text)
    library = _library()
    handle = ctypes.c_void_p()
    status = library.tileloomCompile(source, len(source), ctypes.byref(options), ctypes.byref(handle))
    try:
        def get(kind):
            size = ctypes.c_size_t()
            address = library.tileloomArtifactsGet(handle, kind, ctypes.byref(size))
            return ctypes.string_at(address, size.value) if address else None

        def get_text(kind):
            found = get(kind)
            return None if found is None else found.decode(errors="replace")

        diagnostics = get_text(_DIAGNOSTICS) or ""
        if status != 0:
            raise CompileError(diagnostics.strip() or "the compilation failed without a message")
        recipe_text, report_json = get_text(_KINDS["recipe"]), get_text(_REPORT)
        return Compiled(
            ptx=get_text(_KINDS["ptx"]),
            cubin=get(_KINDS["cubin"]),
            recipe=json.loads(recipe_text) if recipe_text else None,
            report=json.loads(report_json) if report_json else None,
            report_text=get_text(_REPORT_TEXT),
            stages={stage: get_text(_KINDS[stage]) for stage in stages},
            diagnostics=diagnostics,
        )
    finally:
        library.tileloomArtifactsRelease(handle)


def _packaged_ptxas():
    """The ptxas of the package nvidia-cuda-nvcc on sys.path; None if there is one by the usual ways, or none at all.

    The library looks for the package too, but only this interpreter knows its own paths.
    """
    cuda = os.environ.get("CUDA_HOME")
    if os.environ.get("TILELOOM_PTXAS") or (cuda and os.path.exists(os.path.join(cuda, "bin", "ptxas"))):
        return None
    return None if shutil.which("ptxas") else _search(tuple(sys.path))


@functools.lru_cache(maxsize=8)
def _search(folders):
    for folder in folders:
        for package in ("cu13", "cuda_nvcc"):
            path = os.path.join(folder, "nvidia", package, "bin", "ptxas")
            if os.access(path, os.X_OK):
                return path
    return None


def _bytes(text):
    return None if text is None else str(text).encode()
