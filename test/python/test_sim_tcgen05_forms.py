"""Products of tcgen05 by hand: all types, sparse, weight-stationary (test/Simulator/Inputs/tcgen05_product.py), assembled by ptxas for
sm_100a, against NumPy.

There is no silicon here to ask. The layout of the sparsity metadata comes from a source of its own: CUTLASS's tmem_e_frg and tmem_e_frg_ws
(include/cute/atom/mma_traits_sm100_frag.hpp), CuTe layouts from (row, k) to lane + 128 * unit, whose unit is 4 / chunk bits of a lane.
The column masks are the four examples of PTX ISA 9.7.16.4.3.
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

from tcgen05_product import Product, instruction_descriptor, ptx  # noqa: E402
from test_sim_block_scaled import E2M1, cute, e4m3  # noqa: E402

# kind: bits of an element, stored elements of an instruction, types of A and B in the descriptor, type of D
KINDS = {"f16": (16, 16, 1 << 7 | 1 << 10, 1), "tf32": (32, 8, 2 << 7 | 2 << 10, 1), "f8f6f4": (8, 32, 0, 1), "i8": (8, 32, 1 << 7 | 1 << 10, 2),
         "mxf8f6f4": (8, 32, 0, 1), "mxf4": (4, 64, 1 << 7 | 1 << 10, 1)}


def assemble(text, tmp_path):
    ptxas = shutil.which("ptxas") or os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin", "ptxas")
    if os.access(ptxas, os.X_OK):
        source = tmp_path / "kernel.ptx"
        source.write_text(text)
        subprocess.run([ptxas, "-arch=sm_100a", str(source), "-o", str(tmp_path / "kernel.cubin")], check=True)


def operand(rng, kind, rows, k):
    """(bytes [rows, ...], values): small numbers, of which every sum is exact."""
    bits = KINDS[kind][0]
    if kind == "i8":
        data = rng.integers(-128, 128, (rows, k)).astype(np.int8)
        return data.view(np.uint8), data.astype(np.float64)
    if bits == 8:
        data = (rng.integers(0, 2, (rows, k)) << 7 | rng.integers(0x30, 0x50, (rows, k))).astype(np.uint8)
        return data, e4m3(data)
    if bits == 4:
        codes = rng.integers(0, 16, (rows, k)).astype(np.uint8)
        return codes[:, ::2] | codes[:, 1::2] << 4, E2M1[codes]
    values = rng.integers(-16, 17, (rows, k)).astype(np.float32)
    raw = values.view(np.uint8).reshape(rows, k, 4)[:, :, 2 if bits == 16 else 0:]
    return np.ascontiguousarray(raw).reshape(rows, -1), values.astype(np.float64)


def cores(data, row_bytes):
    """[rows, steps * row_bytes] -> step, row group, 16 bytes of the row, row in the group."""
    rows = data.shape[0]
    return np.ascontiguousarray(data.reshape(rows // 8, 8, -1, row_bytes // 16, 16).transpose(2, 0, 3, 1, 4)).ravel()


def spread(rng, bits, stored, chunks):
    """Random metadata: (codes [rows, chunks], places of the stored elements [rows, elements])."""
    rows = stored.shape[0]
    if bits == 32:
        bit = rng.integers(0, 2, (rows, chunks))
        return np.where(bit, 0b1110, 0b0100), bit + 2 * np.arange(chunks)
    first = rng.integers(0, 3, (rows, chunks))
    second = first + 1 + rng.integers(0, 3 - first)
    width = 2 if bits == 4 else 1  # pairs
    place = np.stack([first, second], 2)[..., None] * width + np.arange(width) + 4 * width * np.arange(chunks)[:, None, None]
    return first | second << 2, place.reshape(rows, -1)


def metadata_units(kind, m):
    """The CuTe layout of the metadata of an instruction, ((row modes), (k modes)), and the bits of a unit."""
    bits = KINDS[kind][0]
    if bits <= 8:
        return ((m,), (1,)), ((64 if bits == 8 else 128,), (128,)), (1 if bits == 8 else 0.5)
    half = 16 if bits == 16 else 8
    return ((8, 2, m // 16), (1, 128 * half, 16)), ((half, 2), (128, 8)), (1 if bits == 16 else 2)


def metadata_table(kind, m, codes, chunk, selector):
    (row_shape, row_stride), (k_shape, k_stride), unit = metadata_units(kind, m)
    table = np.zeros((128, 16), np.uint32)
    for row in range(m):
        for c in range(codes.shape[1]):
            at = cute(row_shape, row_stride, row) + cute(k_shape, k_stride, c * chunk)
            lane, bit = at % 128, int(at // 128 * unit)
            for copy in range(lane, 128, m):  # parts of .ws hold a copy each
                table[copy, bit // 32 + selector] |= np.uint32(int(codes[row, c]) << bit % 32)
    return table


def result(run, kind, m, n, ws):
    """D as a matrix: layouts D, E and G of PTX ISA 9.7.16.10.5."""
    words = run.outputs[3]
    words = words.view(np.int32).astype(np.float64) if kind == "i8" else words.view(np.float32).astype(np.float64)
    parts = 128 // m if ws else 1
    return words[:, :n // parts].reshape(parts, 128 // parts, n // parts).transpose(1, 0, 2).reshape(128 // parts, n)[:m]


SPARSE = ([(kind, 128, n, selector, False) for kind, n, selector in (("f16", 64, 0), ("f16", 256, 1), ("tf32", 64, 0), ("tf32", 128, 1),
                                                                     ("f8f6f4", 128, 0), ("i8", 64, 0), ("mxf8f6f4", 64, 0), ("mxf4", 64, 0))] +
          [(kind, m, 128, 0, True) for kind in ("f16", "tf32", "f8f6f4", "i8") for m in (128, 64, 32)])


@pytest.mark.parametrize("kind, m, n, selector, ws", SPARSE)
def test_sparse(kind, m, n, selector, ws, tmp_path):
    bits, stored, types, d = KINDS[kind]
    rng = np.random.default_rng(m + n)
    a, values = operand(rng, kind, m, 2 * stored)  # two instructions, the same metadata for both
    b, y = operand(rng, kind, n, 4 * stored)
    chunk = 2 if bits == 32 else 8 if bits == 4 else 4
    codes, places = spread(rng, bits, values[:, :stored], 2 * stored // chunk)
    x = np.zeros((m, 4 * stored))
    for step in range(2):
        np.put_along_axis(x, places + 2 * stored * step, values[:, stored * step:stored * (step + 1)], 1)
    table = metadata_table(kind, m, codes, chunk, selector)
    scaled = kind.startswith("mx")
    if scaled:
        table[:, 4:12] = 0x7F7F7F7F + 0x01010101 * 2  # each operand times 4
        x, y = x * 4, y * 4
    idesc = instruction_descriptor(kind, m, n, types, True, selector, d)
    text = ptx(kind, m, n, idesc, [Product(0, False), Product(1, True)], sparse=True, ws=ws)
    assemble(text, tmp_path)
    run = testing.simulate(text, None, cores(a, 32), cores(b, 64), table, np.full((128, 256), 0xFFFFFFFF, np.uint32), shared=65536 * 2,
                           seeds=2).check()
    assert np.array_equal(result(run, kind, m, n, ws), x @ y.T)


def small_float(codes, exponent, fraction, bias):
    e, f = codes >> fraction & ((1 << exponent) - 1), codes & ((1 << fraction) - 1)
    value = np.where(e == 0, f * 2.0**(1 - bias - fraction), (f + (1 << fraction)) * 2.0**(e - bias - fraction))
    return np.where(codes >> (exponent + fraction) & 1, -value, value)


def narrow_operand(rng, name, rows, k):
    """Elements of kind::f8f6f4 in shared memory: 16 of 6 bits in 12 bytes and of 4 bits in 8, then padding (PTX ISA 9.7.16.10.4.4)."""
    if name in ("e4m3", "e5m2"):
        codes = (rng.integers(0, 2, (rows, k)) << 7 | rng.integers(0x30, 0x48, (rows, k))).astype(np.uint8)
        return codes, e4m3(codes) if name == "e4m3" else small_float(codes.astype(int), 5, 2, 15)
    bits = 4 if name == "e2m1" else 6
    codes = rng.integers(0, 1 << bits, (rows, k))
    one_by_one = (codes[..., None] >> np.arange(bits) & 1).reshape(rows, k // 16, 16 * bits)
    data = np.full((rows, k // 16, 16), 0xEE, np.uint8)  # the padding does not matter
    data[..., :2 * bits] = np.packbits(one_by_one, axis=-1, bitorder="little")
    exponent, fraction, bias = {"e2m3": (2, 3, 1), "e3m2": (3, 2, 3), "e2m1": (2, 1, 1)}[name]
    return data.reshape(rows, k), small_float(codes, exponent, fraction, bias)


@pytest.mark.parametrize("a_type, b_type", [("e4m3", "e5m2"), ("e5m2", "e2m1"), ("e2m3", "e3m2"), ("e2m1", "e2m3"), ("e3m2", "e4m3")])
def test_types_of_f8f6f4(a_type, b_type, tmp_path):
    code = {"e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5}
    rng = np.random.default_rng(len(a_type) + code[b_type])
    (a, x), (b, y) = narrow_operand(rng, a_type, 128, 64), narrow_operand(rng, b_type, 48, 64)
    text = ptx("f8f6f4", 128, 48, instruction_descriptor("f8f6f4", 128, 48, code[a_type] << 7 | code[b_type] << 10), [Product(0, False), Product(1, True)])
    assemble(text, tmp_path)
    run = testing.simulate(text, None, cores(a, 32), cores(b, 32), np.zeros((128, 16), np.uint32), np.zeros((128, 256), np.uint32),
                           shared=65536).check()
    assert np.array_equal(result(run, "f8f6f4", 128, 48, False), x @ y.T)


@pytest.mark.parametrize("kind, n", [("f16", 80), ("tf32", 16), ("i8", 32), ("i8", 256)])
def test_dense(kind, n, tmp_path):
    _, stored, types, d = KINDS[kind]
    rng = np.random.default_rng(n)
    (a, x), (b, y) = operand(rng, kind, 128, 2 * stored), operand(rng, kind, n, 2 * stored)
    text = ptx(kind, 128, n, instruction_descriptor(kind, 128, n, types, d=d), [Product(0, False), Product(1, True)])
    assemble(text, tmp_path)
    run = testing.simulate(text, None, cores(a, 32), cores(b, 32), np.zeros((128, 16), np.uint32), np.zeros((128, 256), np.uint32),
                           shared=65536).check()
    assert np.array_equal(result(run, kind, 128, n, False), x @ y.T)


def test_scaled_input(tmp_path):
    """scale-input-d: what D holds counts a quarter in the second product."""
    rng = np.random.default_rng(8)
    (a, x), (b, y) = operand(rng, "f16", 128, 32), operand(rng, "f16", 64, 32)
    text = ptx("f16", 128, 64, instruction_descriptor("f16", 128, 64, KINDS["f16"][2]), [Product(0, False), Product(1, True)])
    text = text.replace("%p4;\n\ttcgen05.commit", "%p4, 2;\n\ttcgen05.commit")
    assemble(text, tmp_path)
    run = testing.simulate(text, None, cores(a, 32), cores(b, 32), np.zeros((128, 16), np.uint32), np.zeros((128, 256), np.uint32),
                           shared=65536).check()
    assert np.array_equal(result(run, "f16", 128, 64, False), x[:, :16] @ y[:, :16].T / 4 + x[:, 16:] @ y[:, 16:].T)


def test_bad_metadata_is_seen():
    bits, stored, types, d = KINDS["f16"]
    rng = np.random.default_rng(1)
    (a, _), (b, _) = operand(rng, "f16", 128, stored), operand(rng, "f16", 64, 2 * stored)
    table = np.full((128, 16), 0x44444444, np.uint32)
    table[9, 0] ^= 0x00400000  # lane 9: rows 1 and 9, columns 16 and up; here row 9, its second chunk of these
    text = ptx("f16", 128, 64, instruction_descriptor("f16", 128, 64, types, True), [Product(0, False)], sparse=True)
    run = testing.simulate(text, None, cores(a, 32), cores(b, 64), table, np.zeros((128, 256), np.uint32), shared=65536 * 2)
    assert run.kinds == {"sparse-metadata"}
    assert "row 9 of A, columns 20 to 23: the code is 0b0000" in run.text


def mask(starts=(0, 0, 0, 0), first=(0, 0, 0, 0), on=1, skip=0, use=0, shift=0):
    """The descriptor; fields of sub-mask 0 first."""
    return (sum(s << 8 * i for i, s in enumerate(starts)) | sum(f << 32 + i for i, f in enumerate(first)) | on << 39 | skip << 40 | use << 48 | shift << 56)


# M, descriptor, and for each sub-mask (value first, skipped, the bits as PTX prints them, lowest last); the spans are of 3 zeros and 4 of B.
EXAMPLES = [
    (128, mask(on=0, skip=4, use=3), [(0, 0, "")]),
    (128, mask(skip=2, use=3), [(0, 0, "11100001110000")]),
    (64, mask(first=(1, 0, 0, 0), skip=2, use=3), [(1, 0, "11100001110000111"), (0, 0, "000011100001110000")]),
    (32, mask((0, 1, 2, 1), (1, 1, 0, 0), skip=2, use=3, shift=2),
     [(1, 0, "00001110000111"), (1, 1, "0000111000011"), (0, 2, "111000011100"), (0, 1, "1110000111000")]),
]


@pytest.mark.parametrize("m, descriptor, examples", EXAMPLES)
@pytest.mark.parametrize("kind", ["f16", "f8f6f4", "i8"])
def test_column_mask(kind, m, descriptor, examples, tmp_path):
    bits, stored, types, d = KINDS[kind]
    n, shift, rng = 128, descriptor >> 56, np.random.default_rng(m)
    zero = []
    for first, skipped, printed in examples:
        spans = (("1110000" if first else "0000111") * n)[skipped:] if printed else "0" * n
        assert spans.startswith(printed[::-1])
        zero += [c == "1" for c in spans[:n // len(examples)]]
    a, x = operand(rng, kind, m, 2 * stored)
    b, y = operand(rng, kind, n + 8, 2 * stored)
    y = np.where(np.array(zero)[:, None], 0, y[shift:n + shift])
    products = [Product(0, False, mask=descriptor), Product(1, True, mask=descriptor)]
    text = ptx(kind, m, n + 8, instruction_descriptor(kind, m, n, types, d=d), products, ws=True)
    assemble(text, tmp_path)
    run = testing.simulate(text, None, cores(a, 32), cores(b, 32), np.zeros((128, 16), np.uint32), np.full((128, 256), 0xFFFFFFFF, np.uint32),
                           shared=65536 * 2, seeds=2).check()
    assert np.array_equal(result(run, kind, m, n, True), x @ y.T)


def test_column_mask_out_of_range():
    text = ptx("f16", 32, 128, instruction_descriptor("f16", 32, 128, KINDS["f16"][2]), [Product(0, False, mask=mask(shift=17))], ws=True)
    run = testing.simulate(text, None, np.zeros(1024, np.uint8), np.zeros(4096, np.uint8), np.zeros((128, 16), np.uint32),
                           np.zeros((128, 256), np.uint32), shared=65536 * 2)
    assert "the column shift is 17, M = 32 allows up to 16" in run.text


@pytest.mark.parametrize("first, second, wanted", [
    (".collector::b1::fill", ".collector::b1::lastuse", ""),
    (".collector::b1::fill", ".collector::b2::use", "collector buffer b2 is used, but no collector::b2::fill before it is still valid"),
    (".collector::b0::fill", ".collector::b0::use", ""),
    (".collector::b0::discard", ".collector::b0::use", "collector buffer b0 is used"),
])
def test_collector(first, second, wanted, tmp_path):
    """B stays in a collector buffer: the same descriptor, another column mask."""
    rng = np.random.default_rng(3)
    (a, x), (b, y) = operand(rng, "f16", 128, 16), operand(rng, "f16", 64, 16)
    products = [Product(0, False, first), Product(0, True, second)]
    text = ptx("f16", 128, 64, instruction_descriptor("f16", 128, 64, KINDS["f16"][2]), products, ws=True)
    assemble(text, tmp_path)
    run = testing.simulate(text, None, cores(a, 32), cores(b, 32), np.zeros((128, 16), np.uint32), np.zeros((128, 256), np.uint32),
                           shared=65536 * 2)
    assert np.array_equal(result(run, "f16", 128, 64, True), 2 * x @ y.T)
    assert run.kinds == ({"collector"} if wanted else set()) and wanted in run.text


def test_other_operand_in_the_collector():
    rng = np.random.default_rng(4)
    (a, _), (b, _) = operand(rng, "f16", 128, 32), operand(rng, "f16", 64, 32)
    products = [Product(0, False, ".collector::a::fill"), Product(1, True, ".collector::a::lastuse")]
    text = ptx("f16", 128, 64, instruction_descriptor("f16", 128, 64, KINDS["f16"][2]), products)
    run = testing.simulate(text, None, cores(a, 32), cores(b, 32), np.zeros((128, 16), np.uint32), np.zeros((128, 256), np.uint32),
                           shared=65536 * 2)
    assert run.kinds == {"collector"} and "collector buffer a holds another operand: it was filled at line" in run.text
