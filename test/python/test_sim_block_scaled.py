"""Block-scaled products of tcgen05 by hand (test/Simulator/Inputs/block_scaled.py): assembled by ptxas for sm_100a, and right in the simulator.

There is no silicon here to ask, so the layout of the scales comes from a source of its own: CUTLASS's scale factor atom
(include/cutlass/detail/sm100_blockscaled_layout.hpp, Sm1xxBlockScaledBasicChunk), the CuTe layout
((32, 4), (V, 4)) : ((16, 4), (0, 1)) from (row, k) of 128 rows and 4 blocks of V elements to bytes, which `cute` below evaluates.
"""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from tileloom import testing

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Simulator", "Inputs"))

import block_scaled  # noqa: E402


def cute(shape, stride, index):
    """The offset of a linear index in a CuTe layout (modes from the left, fastest first)."""
    if isinstance(shape, int):
        return index * stride
    offset = 0
    for s, d in zip(shape, stride):
        size = int(np.prod(np.array(s))) if not isinstance(s, int) else s
        offset += cute(s, d, index % size)
        index //= size
    return offset


def scale_byte(row, k, vector):
    """Byte of the scale of element (row, k) in its 512-byte block."""
    rows, columns = ((32, 4), (16, 4)), ((vector, 4), (0, 1))
    return cute(*rows, row) + cute(*columns, k)


def test_scale_atom():
    """The example of CUTLASS's documentation: rows 0, 32, 64, 96 lie side by side, 4 bytes each; row 1 is 16 bytes further."""
    assert [scale_byte(r, 0, 32) for r in (0, 32, 64, 96, 1, 33, 31, 127)] == [0, 4, 8, 12, 16, 20, 496, 508]
    assert [scale_byte(5, k, 16) for k in (0, 15, 16, 47, 63)] == [80, 80, 81, 82, 83]


def e4m3(byte):
    exponent, fraction = byte >> 3 & 15, byte & 7
    value = np.where(exponent == 0, fraction * 2.0**-9, (8 + fraction) * 2.0**(exponent - 10.0))
    return np.where(byte & 0x80, -value, value)


E2M1 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6, 0, -.5, -1, -1.5, -2, -3, -4, -6])


def operand(rng, form, k):
    """(bytes as core matrices, scales as blocks, values)."""
    _, _, elements, scales, bits, ue8m0 = block_scaled.FORMS[form]
    vector = elements // scales
    if bits == 8:
        data = (rng.integers(0, 2, (128, k)) << 7 | rng.integers(0x20, 0x50, (128, k))).astype(np.uint8)
        values = e4m3(data)
    else:
        codes = rng.integers(0, 16, (128, k)).astype(np.uint8)
        data, values = codes[:, ::2] | codes[:, 1::2] << 4, E2M1[codes]
    if ue8m0:
        table = rng.integers(120, 134, (128, k // vector)).astype(np.uint8)
        factors = 2.0**(table.astype(np.float64) - 127)
    else:
        table = rng.integers(0x28, 0x48, (128, k // vector)).astype(np.uint8)
        factors = e4m3(table)
    # rows of 8, core matrices of 16 bytes, K steps of 32 bytes -> step, row group, half, row
    cores = data.reshape(16, 8, -1, 2, 16).transpose(2, 0, 3, 1, 4)
    blocks = np.zeros((k // vector // 4, 512), np.uint8)
    for row in range(128):
        for block in range(k // vector):
            blocks[block // 4, scale_byte(row, block % 4 * vector, vector)] = table[row, block]
    return np.ascontiguousarray(cores).ravel(), blocks.ravel(), values * np.repeat(factors, vector, 1)


@pytest.mark.parametrize("k", [128, 512])
@pytest.mark.parametrize("form", block_scaled.FORMS)
def test_block_scaled(form, k, tmp_path):
    text = block_scaled.ptx(form, k)
    ptxas = shutil.which("ptxas") or os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin", "ptxas")
    if os.access(ptxas, os.X_OK):
        source = tmp_path / "kernel.ptx"
        source.write_text(text)
        subprocess.run([ptxas, "-arch=sm_100a", str(source), "-o", str(tmp_path / "kernel.cubin")], check=True)
    rng = np.random.default_rng(k)
    (a, sa, x), (b, sb, y) = operand(rng, form, k), operand(rng, form, k)
    run = testing.simulate(text, None, a, b, sa, sb, np.zeros((128, 128), np.float32), shared=65536 * 2 + 16384, seeds=3).check()
    wanted = x @ y.T
    assert np.abs(run.outputs[4] - wanted).max() / np.abs(wanted).max() < 1e-6
    assert run.deterministic


def test_wrong_scale_id_is_seen():
    """The identifiers matter: one step off gives another product, or scales that nobody copied."""
    rng = np.random.default_rng(1)
    (a, sa, x), (b, sb, y) = operand(rng, "mxfp8", 128), operand(rng, "mxfp8", 128)
    good = block_scaled.instruction_descriptor("mxfp8", 0)
    text = block_scaled.ptx("mxfp8", 128).replace(f"mov.b32 %r13, {good};", f"mov.b32 %r13, {block_scaled.instruction_descriptor('mxfp8', 1)};")
    run = testing.simulate(text, None, a, b, sa, sb, np.zeros((128, 128), np.float32), shared=65536 * 2 + 16384)
    assert np.abs(run.outputs[4] - x @ y.T).max() > 1e-3 * np.abs(x @ y.T).max()
