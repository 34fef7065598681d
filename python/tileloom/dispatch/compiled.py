"""A compiled kernel: its texts, its code, its recipe; made from a tile program through the caches."""

import copy
import json
import os
import re

from .. import compiler
from ..frontend import errors
from ..runtime.errors import ArgumentError
from ..runtime.kernel import Kernel
from . import cache

_HIDDEN_SPILLS = 16
_OPTIONS = ("line_info", "opt_level", "werror_ptxas")


class CompiledKernel:
    """tile, warp, nv, llvm, llvmir: IR texts (str). ptx: str. cubin: bytes, or None without ptxas. recipe: dict. report: dict, and
    report_text. bindings: what each argument of the recipe is, in terms of the function's parameters. diagnostics: warnings."""

    def __init__(self, program, target, options, parts):
        self.program, self.target, self._options = program, target, options
        self.name, self.bindings, self.has_tile_loop = program.name, program.bindings, program.has_tile_loop
        self.ptx = parts["ptx"].decode()
        self.cubin = parts.get("cubin") or None
        self.recipe = json.loads(parts["recipe"])
        if not self.has_tile_loop and "launch" in self.recipe and "given" not in self.recipe["launch"]["grid"]:
            self.recipe["launch"]["grid"] = {"given": True}  # program_id counts in the caller's grid
        self.diagnostics = parts.get("diagnostics", b"").decode()
        self._stages = None
        self._kernel = None

    def __repr__(self):
        return f"<kernel {self.name} for {self.target}>"

    def leaving(self, multiprocessors):
        """The same code, launched so that it leaves so many multiprocessors to other kernels."""
        if not self.has_tile_loop:
            raise ArgumentError(f"kernel '{self.name}': sm_margin is given for a kernel whose grid the caller gives; needed one with tl.tiles")
        if isinstance(multiprocessors, bool) or not hasattr(multiprocessors, "__index__") or not 0 <= multiprocessors <= 1024:
            raise ArgumentError(f"kernel '{self.name}': sm_margin is {multiprocessors!r}; needed an int from 0 to 1024")
        other = copy.copy(self)
        grid = {**self.recipe["launch"]["grid"], "margin": int(multiprocessors)}
        other.recipe = {**self.recipe, "launch": {**self.recipe["launch"], "grid": grid}}
        other._kernel = None
        return other

    def slowed_down(self):
        """What ptxas says that makes the kernel slow, or None: serialised products, or more spills than a loop hides (16 bytes in attention
        cost nothing on an H200, 900 in a GEMM three quarters of its speed)."""
        found = re.search(r"ptxas: C75\d\d: [^\n]*", self.diagnostics)
        spilled = re.search(r"spills registers: (\d+) bytes of stores", self.diagnostics)
        return found.group() if found else spilled.group() if spilled and int(spilled.group(1)) > _HIDDEN_SPILLS else None

    @property
    def tile(self):
        return self.program.text

    def _stage(self, name):
        if self._stages is None:
            self._stages = run_compiler(self.program, self.target, self._options, report=True, cubin=None,
                                        stages=("warp", "nv", "llvm", "llvmir"))
        return self._stages.stages[name] if name in self._stages.stages else getattr(self._stages, name)

    warp = property(lambda self: self._stage("warp"))
    nv = property(lambda self: self._stage("nv"))
    llvm = property(lambda self: self._stage("llvm"))
    llvmir = property(lambda self: self._stage("llvmir"))
    report = property(lambda self: self._stage("report"))
    report_text = property(lambda self: self._stage("report_text"))

    @property
    def kernel(self):
        """The kernel as the runtime loads it."""
        if self._kernel is None:
            self._kernel = Kernel(self.cubin or self.ptx.encode(), json.dumps(self.recipe).encode())
        return self._kernel


def run_compiler(program, target, options, **more):
    """compiler.compile on a program, with errors that show the user's source."""
    dump = os.environ.get("TILELOOM_DUMP")
    if dump:
        os.makedirs(dump, exist_ok=True)
        with open(os.path.join(dump, f"{program.name}.tile.mlir"), "w") as file:
            file.write(program.text)
    try:
        return compiler.compile(program.text, target, name=f"{program.name}.tile.mlir", save_temps=dump or None,
                                save_passes=bool(dump), **options, **more)
    except compiler.CompileError as error:
        raise errors.from_compiler(str(error), program) from None


def compile_program(program, target, options=None, assemble=True):
    """The CompiledKernel of a tile program, from the disk cache if it is there. assemble: make a cubin too, if there is a ptxas."""
    options = dict(options or {})
    unknown = [name for name in options if name not in _OPTIONS]
    if unknown:
        raise errors.CompilationError(f"unknown option {unknown[0]!r}; known: {', '.join(_OPTIONS)}")
    name = cache.key(program.text, target, (assemble, sorted(options.items())))
    use_cache = not os.environ.get("TILELOOM_DUMP")
    parts = cache.load(name) if use_cache else None
    if parts is None or not {"ptx", "recipe"} <= parts.keys():
        made = run_compiler(program, target, options, cubin=None if assemble else False)
        parts = {"ptx": made.ptx.encode(), "recipe": json.dumps(made.recipe).encode(), "cubin": made.cubin or b"",
                 "diagnostics": made.diagnostics.encode()}
        if use_cache:
            cache.store(name, parts)
    return CompiledKernel(program, target, options, parts)
