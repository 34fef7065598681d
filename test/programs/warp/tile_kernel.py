"""The text of small kernels of one role, for simulate_tiles.py, and their run in the simulator."""

import pathlib
import subprocess
import tempfile

import numpy as np

from simulate_tcgen05 import e4m3_values, from_bf16

DTYPES = {"f32": np.float32, "i32": np.int32, "i64": np.int64, "i16": np.int16, "i8": np.int8, "bf16": np.uint16, "f16": np.float16,
          "e4m3": np.uint8}
MLIR = {"e4m3": "f8E4M3FN"}


class Kernel:
    """The text of a kernel: pointers are arguments, tiles are loaded and stored whole, row by row."""

    def __init__(self, warps):
        self.warps, self.arguments, self.lines, self.count = warps, [], [], 0
        self.outputs = []
        self.head = ""  # what stands before the role: buffers, rings

    def fresh(self):
        self.count += 1
        return f"%v{self.count}"

    def emit(self, text, results=1):
        name = self.fresh()
        self.lines.append(f"{name} = {text}" if results else text)
        return name

    def type(self, shape, element):
        return f"tensor<{'x'.join(map(str, shape))}x{MLIR.get(element, element)}>"

    def offsets(self, shape, strides=None):
        """Row-major element numbers, or with the given strides."""
        if strides is None:
            strides = [int(np.prod(shape[d + 1:])) for d in range(len(shape))]
        total = None
        for d, stride in enumerate(strides):
            t = self.type(shape, "i32")
            index = self.emit(f"nv.index dim({d}) : {t}")
            if stride != 1:
                constant = self.emit(f"arith.constant dense<{stride}> : {t}")
                index = self.emit(f"arith.muli {index}, {constant} overflow<nsw> : {t}")
            total = index if total is None else self.emit(f"arith.addi {total}, {index} overflow<nsw> : {t}")
        return total

    def pointer(self, name, element, array):
        self.arguments.append((name, element, array))
        return "%" + name

    def load(self, name, array, element, shape=None, strides=None, mask=None):
        shape = shape or array.shape
        pointer = self.pointer(name, element, array)
        at, suffix = self.offsets(shape, strides), ""
        if mask is not None:  # the first `mask` elements of the last dimension
            t = self.type(shape, "i32")
            index = self.emit(f"nv.index dim({len(shape) - 1}) : {t}")
            limit = self.emit(f"arith.constant dense<{mask}> : {t}")
            inside = self.emit(f"arith.cmpi slt, {index}, {limit} : {t}")
            suffix = f" mask({inside} : {self.type(shape, 'i1')})"
        return self.emit(f"nv.global_load {pointer}[{at}]{suffix} : {self.type(shape, 'i32')} -> {self.type(shape, element)}")

    def store(self, value, shape, element, expected, tolerance=0.0, strides=None):
        name = f"out{len(self.outputs)}"
        expected = np.asarray(expected)
        pointer = self.pointer(name, element, np.zeros(expected.shape, DTYPES[element]))
        at = self.offsets(shape, strides)
        self.lines.append(f"nv.global_store {value} to {pointer}[{at}] : {self.type(shape, element)}, {self.type(shape, 'i32')}")
        self.outputs.append((name, element, expected, tolerance))

    def store_scalar(self, value, element, expected, tolerance=0.0):
        name = f"out{len(self.outputs)}"
        pointer = self.pointer(name, element, np.zeros(1, DTYPES[element]))
        zero = self.emit("arith.constant 0 : i64")
        self.lines.append(f"nv.global_store {value} to {pointer}[{zero}] : {element}, i64")
        self.outputs.append((name, element, np.array([expected]), tolerance))

    def text(self):
        arguments = ", ".join(f"%{n}: i64 {{tile.name = \"{n}\", tile.pointer = {MLIR.get(e, e)}, tile.divisibility = 16 : i32}}"
                              for n, e, _ in self.arguments)
        body = "\n      ".join(self.lines)
        return f"""func.func @kernel({arguments})
    attributes {{tile.kernel, warp.launch = #warp.launch<persistent = false>, nv.grid = [1]}} {{
  {self.head}warp.specialize {{
    warp.role @main warps({self.warps}) {{
      {body}
    }}
  }}
  return
}}
"""


def decode(array, element):
    if element == "bf16":
        return from_bf16(np.asarray(array).view(np.uint16))
    if element == "e4m3":
        return e4m3_values()[np.asarray(array).view(np.uint8)]
    return array


def run(kernel, options, target="sm_90a"):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        source, ptx, recipe = folder / "kernel.mlir", folder / "kernel.ptx", folder / "kernel.json"
        source.write_text(kernel.text())
        for artifact, path in ("ptx", ptx), ("recipe", recipe):
            outcome = subprocess.run([options.opt, source, "--target=" + target, "--emit=" + artifact, "-o", path], capture_output=True,
                                     text=True)
            if outcome.returncode:
                return outcome.stderr
        command = [options.sim, ptx, "--recipe", recipe, "--quiet"]
        for name, element, array in kernel.arguments:
            np.save(folder / (name + ".npy"), array)
            command += ["--arg", f"buf:{name}:{element}@{folder}/{name}.npy"]
        for name, *_ in kernel.outputs:
            command += ["--out", f"{name}={folder}/{name}.out.npy"]
        outcome = subprocess.run(command, capture_output=True, text=True)
        if outcome.returncode:
            return outcome.stdout + outcome.stderr
        for name, element, expected, tolerance in kernel.outputs:
            out = decode(np.load(folder / f"{name}.out.npy"), element)
            out = out.reshape(expected.shape).astype(np.float64)
            difference = np.abs(out - expected)
            scale = np.abs(expected).max() if tolerance else 1
            if not difference.max() <= tolerance * scale:
                return f"{name}: error {difference.max() / max(scale, 1e-30):.3g} at {np.unravel_index(difference.argmax(), expected.shape)}"
    return ""
