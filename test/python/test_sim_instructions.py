"""Instructions of sm_100a that no program of the compiler has, by hand, assembled by ptxas, against NumPy."""

import os
import re
import shutil
import subprocess

import numpy as np
import pytest

from tileloom import sim

HEAD = """.version 8.7
.target sm_100a
.address_size 64
.extern .shared .align 1024 .b8 memory[];
.visible .entry k(.param .u64 pin, .param .u64 pout{more})
{{
	.reg .pred %p<8>;
	.reg .b16 %h<8>;
	.reg .b32 %r<40>;
	.reg .b64 %rd<16>;
	.reg .b64 %in, %out;
	.reg .b32 %t;
	ld.param.u64 %in, [pin];
	ld.param.u64 %out, [pout];
	mov.u32 %t, %tid.x;
"""


def run(body, given, out, tmp_path, maps=(), shared=0, threads=32):
    """out after the kernel of one CTA; `body` has %in, %out, %t."""
    more = "".join(f", .param .align 64 .b8 map{i}[128]" for i in range(len(maps)))
    text = HEAD.format(more=more) + body + "\tret;\n}\n"
    ptxas = shutil.which("ptxas") or os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin", "ptxas")
    if os.access(ptxas, os.X_OK):
        (tmp_path / "k.ptx").write_text(text)
        subprocess.run([ptxas, "-arch=sm_100a", str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.cubin")], check=True)
    sim.Kernel(text).launch([given, out, *maps], block=(threads,), shared=shared).check()
    return out


def test_packed_f32(tmp_path):
    x = np.random.default_rng(1).standard_normal((32, 6)).astype(np.float32)
    body = "\tmul.wide.u32 %rd1, %t, 24;\n\tadd.s64 %rd1, %in, %rd1;\n\tmul.wide.u32 %rd2, %t, 32;\n\tadd.s64 %rd2, %out, %rd2;\n"
    body += "".join(f"\tld.global.b64 %rd{3 + i}, [%rd1+{8 * i}];\n" for i in range(3))
    for i, operation in enumerate(("add.rn.f32x2 %rd6, %rd3, %rd4", "mul.rn.f32x2 %rd6, %rd3, %rd4", "fma.rn.f32x2 %rd6, %rd3, %rd4, %rd5",
                                   "sub.rn.f32x2 %rd6, %rd3, %rd4")):
        body += f"\t{operation};\n\tst.global.b64 [%rd2+{8 * i}], %rd6;\n"
    found = run(body, x, np.zeros((32, 4, 2), np.float32), tmp_path)
    a, b, c = x[:, :2], x[:, 2:4], x[:, 4:]
    fused = (a.astype(np.float64) * b + c).astype(np.float32)  # 48 bits and an addition: double is enough here
    assert np.array_equal(found, np.stack([a + b, a * b, fused, a - b], 1))


@pytest.mark.parametrize("operation, wanted", [
    ("min", lambda x: np.nanmin(x)), ("max", lambda x: np.nanmax(x)), ("min.abs", lambda x: np.nanmin(np.abs(x))),
    ("max.abs", lambda x: np.nanmax(np.abs(x))), ("max.NaN", lambda x: np.float32("nan"))])
def test_redux_of_floats(operation, wanted, tmp_path):
    x = np.random.default_rng(2).standard_normal(32).astype(np.float32)
    x[7] = np.nan
    body = (f"\tmul.wide.u32 %rd1, %t, 4;\n\tadd.s64 %rd2, %in, %rd1;\n\tadd.s64 %rd3, %out, %rd1;\n\tld.global.b32 %r1, [%rd2];\n"
            f"\tredux.sync.{operation}.f32 %r2, %r1, 0xffffffff;\n\tst.global.b32 [%rd3], %r2;\n")
    assert np.array_equal(run(body, x, np.zeros(32, np.float32), tmp_path), np.full(32, wanted(x)), equal_nan=True)


def test_hints_change_nothing(tmp_path):
    body = ("\tmul.wide.u32 %rd1, %t, 4;\n\tadd.s64 %rd2, %in, %rd1;\n\tadd.s64 %rd3, %out, %rd1;\n\tmov.u64 %rd4, %clock64;\n"
            "\tgriddepcontrol.wait;\n\tprefetch.global.L2 [%rd2];\n\tprefetch.global.L1 [%rd2];\n\tcp.async.bulk.prefetch.L2.global [%in], 128;\n"
            "\tapplypriority.global.L2::evict_normal [%in], 128;\n\tld.global.nc.L1::no_allocate.L2::128B.b32 %r1, [%rd2];\n"
            "\tnanosleep.u32 100;\n\tgriddepcontrol.launch_dependents;\n\tmov.u64 %rd5, %clock64;\n\tmov.u64 %rd6, %globaltimer;\n"
            "\tsetp.gt.u64 %p1, %rd5, %rd4;\n\tselp.b32 %r2, %r1, 0, %p1;\n\tst.global.b32 [%rd3], %r2;\n")
    x = np.arange(1, 33, dtype=np.int32)
    assert np.array_equal(run(body, x, np.zeros(32, np.int32), tmp_path), x)


def test_bulk_store_of_some_bytes(tmp_path):
    """.cp_mask: bit i of the mask lets byte i of each 16 pass."""
    body = ("\tmul.wide.u32 %rd1, %t, 4;\n\tadd.s64 %rd2, %in, %rd1;\n\tld.global.b32 %r1, [%rd2];\n\tmov.u32 %r2, memory;\n\tshl.b32 %r3, %t, 2;\n"
            "\tadd.s32 %r3, %r2, %r3;\n\tst.shared.b32 [%r3], %r1;\n\tfence.proxy.async.shared::cta;\n\tbar.sync 0;\n\tsetp.ne.u32 %p1, %t, 0;\n"
            "\t@%p1 bra END;\n\tmov.b16 %h1, 0x8421;\n\tcp.async.bulk.global.shared::cta.bulk_group.cp_mask [%out], [%r2], 128, %h1;\n"
            "\tcp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;\nEND:\n")
    x = np.random.default_rng(3).integers(0, 256, 128).astype(np.uint8)
    found = run(body, x.view(np.int32), np.zeros(32, np.int32), tmp_path, shared=1024).view(np.uint8)
    assert np.array_equal(found, np.where(0x8421 >> np.arange(128) % 16 & 1, x, 0))


def tensor_memory(body, given, out, tmp_path, shared=0, columns=64):
    """`body` with columns of tensor memory at %r30, in a CTA of 128 threads; %p1: not thread 0, %r31: the lanes of the warp, mbarrier at [memory]."""
    start = ("\tsetp.ne.u32 %p1, %t, 0;\n\tsetp.ge.u32 %p2, %t, 32;\n\tmov.u32 %r29, memory;\n\t@%p1 bra INITED;\n\tmbarrier.init.shared.b64 [%r29], 1;\n"
             f"\tfence.mbarrier_init.release.cluster;\nINITED:\n\tbar.warp.sync -1;\n\t@%p2 bra HAVE;\n\tmov.b32 %r28, {columns};\n"
             "\ttcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r29+8], %r28;\nHAVE:\n\ttcgen05.fence::before_thread_sync;\n\tbar.sync 0;\n"
             "\ttcgen05.fence::after_thread_sync;\n\tld.shared.b32 %r30, [%r29+8];\n\tand.b32 %r31, %t, 96;\n\tshl.b32 %r31, %r31, 16;\n"
             "\tadd.s32 %r31, %r31, %r30;\n")
    end = ("\ttcgen05.fence::before_thread_sync;\n\tbar.sync 0;\n\t@%p2 bra DONE;\n\ttcgen05.fence::after_thread_sync;\n"
           f"\tmov.b32 %r28, {columns};\n\ttcgen05.dealloc.cta_group::1.sync.aligned.b32 %r30, %r28;\nDONE:\n")
    return run(start + body + end, given, out, tmp_path, shared=shared + 1024, threads=128)


def test_pack_and_unpack(tmp_path):
    """st.unpack::16b puts the halves of a register into two columns, ld sees them, ld.pack::16b brings them together again."""
    body = ("\tmul.wide.u32 %rd1, %t, 16;\n\tadd.s64 %rd2, %in, %rd1;\n\tadd.s64 %rd3, %rd1, %rd1;\n\tadd.s64 %rd3, %rd3, %rd1;\n"
            "\tadd.s64 %rd3, %out, %rd3;\n\tld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd2];\n"
            "\ttcgen05.st.sync.aligned.32x32b.x4.unpack::16b.b32 [%r31], {%r1, %r2, %r3, %r4};\n\ttcgen05.wait::st.sync.aligned;\n"
            "\ttcgen05.ld.sync.aligned.32x32b.x8.b32 {%r5, %r6, %r7, %r8, %r9, %r10, %r11, %r12}, [%r31];\n"
            "\ttcgen05.ld.sync.aligned.32x32b.x4.pack::16b.b32 {%r13, %r14, %r15, %r16}, [%r31];\n\ttcgen05.wait::ld.sync.aligned;\n"
            "\tst.global.v4.b32 [%rd3], {%r5, %r6, %r7, %r8};\n\tst.global.v4.b32 [%rd3+16], {%r9, %r10, %r11, %r12};\n"
            "\tst.global.v4.b32 [%rd3+32], {%r13, %r14, %r15, %r16};\n")
    x = np.random.default_rng(4).integers(0, 1 << 32, (128, 4)).astype(np.uint32)
    found = tensor_memory(body, x.view(np.int32), np.zeros((128, 12), np.int32), tmp_path).view(np.uint32)
    assert np.array_equal(found[:, :8], x.view(np.uint16).astype(np.uint32)) and np.array_equal(found[:, 8:], x)


SPLIT = 128  # columns between the halves of 16x32bx2
# Shape: registers for x1, the largest x, the columns from the first to the last, and the lane and column of register r of thread t (PTX ISA 9.7.16.2.3).
ACCESSES = {"32x32b": (1, 128, 1, lambda t, r: (t, r)), "16x64b": (1, 128, 2, lambda t, r: (t // 4 + 8 * (t & 1), (t >> 1 & 1) + 2 * r)),
            "16x128b": (2, 64, 4, lambda t, r: (t // 4 + 8 * (r & 1), t % 4 + 4 * (r >> 1))),
            "16x256b": (4, 32, 8, lambda t, r: (t // 4 + 8 * (r >> 1 & 1), 2 * (t % 4) + (r & 1) + 8 * (r >> 2))),
            "16x32bx2": (1, 128, 1, lambda t, r: (t % 16, r + SPLIT * (t // 16)))}


@pytest.mark.parametrize("shape, number", [(shape, 1 << i) for shape, (_, most, *_) in ACCESSES.items() for i in range(most.bit_length())])
def test_loads_and_stores_of_tensor_memory(shape, number, tmp_path):
    """Stored in the shape (its lanes and those 16 below), looked at by lanes, and loaded in the shape."""
    each, _, width, place = ACCESSES[shape]
    halves = 1 if shape == "32x32b" else 2
    split, columns = (f", {SPLIT}", 256) if shape == "16x32bx2" else ("", max(32, width * number))
    registers, count = each * number, columns + halves * each * number

    def vector(name, first, many):
        return "{" + ", ".join(f"%{name}{first + i}" for i in range(many)) + "}"

    def stores(name, many, at):
        return "".join(f"\tst.global.b32 [%rd3+{4 * (at + i)}], %{name}{i};\n" for i in range(many))
    body = (f"\t.reg .b32 %v<{halves * registers}>, %w<{max(32, registers)}>;\n\tmul.wide.u32 %rd1, %t, {4 * count};\n\tadd.s64 %rd3, %out, %rd1;\n"
            + "".join(f"\tmov.b32 %w{i}, 0;\n" for i in range(32)) + "".join(f"\tadd.s32 %v{i}, %t, {1000 * (i + 1)};\n" for i in range(halves * registers))
            + "".join(f"\ttcgen05.st.sync.aligned.32x32b.x32.b32 [%r31+{c}], {vector('w', 0, 32)};\n" for c in range(0, columns, 32)) + "\ttcgen05.wait::st.sync.aligned;\n")
    for half in range(halves):
        body += f"\ttcgen05.st.sync.aligned.{shape}.x{number}.b32 [%r31+{half << 20}]{split}, {vector('v', half * registers, registers)};\n"
    body += "\ttcgen05.wait::st.sync.aligned;\n"
    for c in range(0, columns, 32):
        body += f"\ttcgen05.ld.sync.aligned.32x32b.x32.b32 {vector('w', 0, 32)}, [%r31+{c}];\n\ttcgen05.wait::ld.sync.aligned;\n" + stores("w", 32, c)
    for half in range(halves):
        body += (f"\ttcgen05.ld.sync.aligned.{shape}.x{number}.b32 {vector('w', 0, registers)}, [%r31+{half << 20}]{split};\n\ttcgen05.wait::ld.sync.aligned;\n"
                 + stores("w", registers, columns + half * registers))
    found = tensor_memory(body, np.zeros(1, np.int32), np.zeros((128, count), np.int32), tmp_path, columns=columns)
    stored = np.arange(128)[:, None] + 1000 * (np.arange(halves * registers) + 1)
    wanted = np.zeros((128, columns), np.int32)
    for t in range(128):
        for i in range(halves * registers):
            lane, column = place(t % 32, i % registers)
            wanted[t // 32 * 32 + lane + 16 * (i // registers), column] = stored[t, i]
    assert np.array_equal(found[:, :columns], wanted) and np.array_equal(found[:, columns:], stored)


# Shape: rows and bytes of the source, and the lanes that a row goes to (PTX ISA 9.7.16.9.2).
COPIES = {"128x256b": (128, 32, lambda r: [r]), "128x128b": (128, 16, lambda r: [r]), "4x256b": (4, 32, lambda r: [32 * r]),
          "64x128b.warpx2::02_13": (64, 16, lambda r: [r, r + 64]), "64x128b.warpx2::01_23": (64, 16, lambda r: [r % 32 + 64 * (r // 32) + c for c in (0, 32)]),
          "32x128b.warpx4": (32, 16, lambda r: [r, r + 32, r + 64, r + 96])}


@pytest.mark.parametrize("shape", COPIES)
def test_copies_to_tensor_memory(shape, tmp_path):
    rows, size, lanes = COPIES[shape]
    # Shared memory: core matrices of 8 rows of 16 bytes, the halves of a row 2048 bytes apart.
    descriptor = 1 << 46 | 128 >> 4 << 32 | 2048 >> 4 << 16 | 1024 + 1024 >> 4
    body = ("\tmov.b32 %r1, 0;\n\ttcgen05.st.sync.aligned.32x32b.x8.b32 [%r31], {%r1, %r1, %r1, %r1, %r1, %r1, %r1, %r1};\n"
            "\ttcgen05.wait::st.sync.aligned;\n\tshl.b32 %r2, %t, 4;\n\tcvt.u64.u32 %rd1, %r2;\n\tadd.s64 %rd2, %in, %rd1;\n\tadd.s32 %r3, %r29, %r2;\n")
    for half in range(2):
        body += (f"\tld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%rd2+{2048 * half}];\n"
                 f"\tst.shared.v4.b32 [%r3+{1024 + 2048 * half}], {{%r4, %r5, %r6, %r7}};\n")
    body += ("\tfence.proxy.async.shared::cta;\n\ttcgen05.fence::before_thread_sync;\n\tbar.sync 0;\n\ttcgen05.fence::after_thread_sync;\n"
             f"\t@%p1 bra WAIT;\n\tmov.b64 %rd3, {descriptor};\n\ttcgen05.cp.cta_group::1.{shape} [%r30], %rd3;\n"
             "\ttcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r29];\nWAIT:\n"
             "\tmbarrier.try_wait.parity.shared.b64 %p3, [%r29], 0;\n\t@!%p3 bra WAIT;\n\ttcgen05.fence::after_thread_sync;\n"
             "\ttcgen05.ld.sync.aligned.32x32b.x8.b32 {%r8, %r9, %r10, %r11, %r12, %r13, %r14, %r15}, [%r31];\n\ttcgen05.wait::ld.sync.aligned;\n"
             "\tmul.wide.u32 %rd4, %t, 32;\n\tadd.s64 %rd4, %out, %rd4;\n\tst.global.v4.b32 [%rd4], {%r8, %r9, %r10, %r11};\n"
             "\tst.global.v4.b32 [%rd4+16], {%r12, %r13, %r14, %r15};\n")
    x = np.random.default_rng(5).integers(0, 256, (2, 128, 16)).astype(np.uint8)
    found = tensor_memory(body, x.view(np.int32), np.zeros((128, 8), np.int32), tmp_path, shared=4096).view(np.uint8)
    wanted = np.zeros((128, 32), np.uint8)
    for row in range(rows):
        for lane in lanes(row):
            wanted[lane, :size] = np.concatenate(x[:, row])[:size]
    assert np.array_equal(found, wanted)


def test_gather_and_scatter(tmp_path):
    """Four rows of a matrix into one tile, and the tile into four other rows."""
    body = ("\tmov.b64 %rd1, map0;\n\tcvta.param.u64 %rd1, %rd1;\n\tmov.u32 %r1, memory;\n\tsetp.ne.u32 %p1, %t, 0;\n\t@%p1 bra END;\n"
            "\tmbarrier.init.shared.b64 [%r1+1024], 1;\n\tfence.mbarrier_init.release.cluster;\n\tmbarrier.arrive.expect_tx.shared.b64 _, [%r1+1024], 256;\n"
            "\tmov.b32 %r2, 16;\n\tmov.b32 %r3, 9;\n\tmov.b32 %r4, 2;\n\tmov.b32 %r5, 30;\n\tmov.b32 %r6, 5;\n"
            "\tcp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3, %r4, %r5, %r6}], [%r1+1024];\n"
            "W:\n\tmbarrier.try_wait.parity.shared.b64 %p2, [%r1+1024], 0;\n\t@!%p2 bra W;\n"
            "\tmov.b64 %rd2, map1;\n\tcvta.param.u64 %rd2, %rd2;\n\tmov.b32 %r3, 1;\n\tmov.b32 %r4, 31;\n\tmov.b32 %r5, 0;\n\tmov.b32 %r6, 17;\n"
            "\tcp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%rd2, {%r2, %r3, %r4, %r5, %r6}], [%r1];\n"
            "\tcp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;\nEND:\n")
    x = np.random.default_rng(6).standard_normal((32, 64)).astype(np.float32)
    y = np.zeros_like(x)
    run(body, x, y, tmp_path, maps=[sim.tensor_map(x, box=(16, 1)), sim.tensor_map(y, box=(16, 1))], shared=2048)
    wanted = np.zeros_like(x)
    wanted[[1, 31, 0, 17], 16:32] = x[[9, 2, 30, 5], 16:32]
    assert np.array_equal(y, wanted)


def test_map_edited_to_another_type_fill_and_swizzle(tmp_path):
    """elemtype, fill_mode, swizzle_mode and swizzle_atomicity: a map of f16 becomes one of f32 with NaNs outside and 32-byte atoms."""
    edits = ["elemtype.shared::cta.b1024.b32 [%r1], 7", "fill_mode.shared::cta.b1024.b32 [%r1], 1", "swizzle_mode.shared::cta.b1024.b32 [%r1], 3",
             "swizzle_atomicity.shared::cta.b1024.b32 [%r1], 1", "global_dim.shared::cta.b1024.b32 [%r1], 0, 24", "box_dim.shared::cta.b1024.b32 [%r1], 0, 32"]
    body = ("\tmov.b64 %rd1, map0;\n\tcvta.param.u64 %rd1, %rd1;\n\tmov.u32 %r1, memory;\n\tmul.wide.u32 %rd2, %t, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n"
            "\tld.b32 %r2, [%rd3];\n\tshl.b32 %r3, %t, 2;\n\tadd.s32 %r3, %r1, %r3;\n\tst.shared.b32 [%r3], %r2;\n\tbar.warp.sync -1;\n\tsetp.ne.u32 %p1, %t, 0;\n"
            "\t@%p1 bra EDITED;\n" + "".join(f"\ttensormap.replace.tile.{e};\n" for e in edits) +
            "\tmbarrier.init.shared.b64 [%r1+128], 1;\n\tfence.mbarrier_init.release.cluster;\nEDITED:\n\tbar.warp.sync -1;\n\tadd.s64 %rd4, %in, 4096;\n"
            "\ttensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd4], [%r1], 128;\n\t@%p1 bra WAIT;\n"
            "\tfence.proxy.tensormap::generic.acquire.gpu [%rd4], 128;\n\tmbarrier.arrive.expect_tx.shared.b64 _, [%r1+128], 1024;\n\tmov.b32 %r4, 0;\n"
            "\tcp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1+1024], [%rd4, {%r4, %r4}], [%r1+128];\nWAIT:\n"
            "\tmbarrier.try_wait.parity.shared.b64 %p2, [%r1+128], 0;\n\t@!%p2 bra WAIT;\n\tshl.b32 %r5, %t, 5;\n\tadd.s32 %r6, %r1, %r5;\n"
            "\tld.shared.v4.b32 {%r8, %r9, %r10, %r11}, [%r6+1024];\n\tld.shared.v4.b32 {%r12, %r13, %r14, %r15}, [%r6+1040];\n"
            "\tcvt.u64.u32 %rd5, %r5;\n\tadd.s64 %rd6, %out, %rd5;\n\tst.global.v4.b32 [%rd6], {%r8, %r9, %r10, %r11};\n"
            "\tst.global.v4.b32 [%rd6+16], {%r12, %r13, %r14, %r15};\n")
    given = np.zeros(1056, np.float32)  # 32 rows of 32 floats, and room for the map
    given[:1024] = np.random.default_rng(7).standard_normal(1024)
    rows = given[:1024].view(np.float16).reshape(32, 64)
    found = run(body, given, np.zeros((8, 32), np.float32), tmp_path, maps=[sim.tensor_map(rows, box=(64, 8))], shared=4096)
    wanted = given[:1024].reshape(32, 32)[:8].copy()
    wanted[:, 24:] = np.full(1, 0x7FF77FF7, np.uint32).view(np.float32)
    atoms = wanted.reshape(8, 4, 8)  # 32-byte atoms of a 128-byte line: atom ^ (line % 4)
    wanted = np.stack([atoms[line, np.arange(4) ^ line % 4] for line in range(8)]).reshape(8, 32)
    assert np.array_equal(found.view(np.uint32), wanted.view(np.uint32))


def test_lop3_with_a_predicate(tmp_path):
    rng = np.random.default_rng(4)
    x = rng.integers(0, 1 << 32, (32, 3), dtype=np.uint32)
    x[::3] = 0  # results of zero
    table, rounds = 0x96, (("and", ""), ("and", "!"), ("or", ""), ("or", "!"))
    body = ("\tmul.wide.u32 %rd1, %t, 12;\n\tadd.s64 %rd1, %in, %rd1;\n\tmul.wide.u32 %rd2, %t, 32;\n\tadd.s64 %rd2, %out, %rd2;\n"
            "\tld.global.b32 %r1, [%rd1];\n\tld.global.b32 %r2, [%rd1+4];\n\tld.global.b32 %r3, [%rd1+8];\n\tand.b32 %r4, %t, 1;\n"
            "\tsetp.ne.u32 %p1, %r4, 0;\n")
    for i, (operation, negation) in enumerate(rounds):
        body += (f"\tlop3.{operation}.b32 %r5|%p2, %r1, %r2, %r3, {table}, {negation}%p1;\n\tselp.b32 %r6, 1, 0, %p2;\n"
                 f"\tst.global.v2.b32 [%rd2+{8 * i}], {{%r5, %r6}};\n")
    found = run(body, x, np.zeros((32, 4, 2), np.uint32), tmp_path)
    value, q = x[:, 0] ^ x[:, 1] ^ x[:, 2], np.arange(32) % 2 == 1
    for i, (operation, negation) in enumerate(rounds):
        other = ~q if negation else q
        assert np.array_equal(found[:, i, 0], value)
        assert np.array_equal(found[:, i, 1], (value != 0) & other if operation == "and" else (value != 0) | other)


@pytest.mark.parametrize("rounding", ["", ".rn"])
def test_conversions_between_the_two_halves(rounding, tmp_path):
    x = np.random.default_rng(5).integers(0, 1 << 16, 32).astype(np.uint16)
    x = np.where((x & 0x7C00) == 0x7C00, 0x3C01, x).astype(np.uint16)  # no infinities and NaNs
    body = ("\tmul.wide.u32 %rd1, %t, 2;\n\tadd.s64 %rd2, %in, %rd1;\n\tmul.wide.u32 %rd3, %t, 4;\n\tadd.s64 %rd3, %out, %rd3;\n"
            f"\tld.global.b16 %h1, [%rd2];\n\tcvt{rounding}.bf16.f16 %h2, %h1;\n\tcvt{rounding}.f16.bf16 %h3, %h2;\n"
            "\tst.global.b16 [%rd3], %h2;\n\tst.global.b16 [%rd3+2], %h3;\n")
    found = run(body, x, np.zeros((32, 2), np.uint16), tmp_path)
    bits = x.view(np.float16).astype(np.float32).view(np.uint32)
    wanted = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    assert np.array_equal(found[:, 0], wanted)
    with np.errstate(over="ignore"):
        assert np.array_equal(found[:, 1], (wanted.astype(np.uint32) << 16).view(np.float32).astype(np.float16).view(np.uint16))


ZEROS = ("\t.shared .align 16 .b8 s[512];\n\tmov.u32 %r1, s;\n\tshl.b32 %r2, %t, 4;\n\tadd.s32 %r3, %r1, %r2;\n"
         "\tmov.b32 %r4, 7;\n\tst.shared.v4.b32 [%r3], {{%r4, %r4, %r4, %r4}};\n\tbar.warp.sync -1;\n\tsetp.ne.u32 %p1, %t, 0;\n"
         "\tmov.b64 %rd3, {size};\n\t@!%p1 st.bulk.weak.shared::cta [%r1+{at}], %rd3, 0;\n{sync}"
         "\tld.shared.v4.b32 {{%r5, %r6, %r7, %r8}}, [%r3];\n\tmul.wide.u32 %rd1, %t, 16;\n\tadd.s64 %rd1, %out, %rd1;\n"
         "\tst.global.v4.b32 [%rd1], {{%r5, %r6, %r7, %r8}};\n")


def test_bulk_zeros(tmp_path):
    body = ZEROS.format(size=200, at=8, sync="\tbar.warp.sync -1;\n")
    wanted = np.full(128, 7, np.int32)
    wanted[2:52] = 0
    assert np.array_equal(run(body, np.zeros(1, np.int32), np.zeros(128, np.int32), tmp_path), wanted)


@pytest.mark.parametrize("size, at, sync, kind", [(200, 8, "", "race"), (196, 8, "\tbar.warp.sync -1;\n", "bad-size"),
                                                  (200, 4, "\tbar.warp.sync -1;\n", "misaligned"), (1 << 20, 8, "", "out-of-bounds")])
def test_bulk_zeros_that_are_wrong(size, at, sync, kind):
    text = HEAD.format(more="") + ZEROS.format(size=size, at=at, sync=sync) + "\tret;\n}\n"
    result = sim.Kernel(text).launch([np.zeros(1, np.int32), np.zeros(128, np.int32)], block=(32,))
    assert kind in {finding["kind"] for finding in result.findings}


REFUSED = {  # the forms that docs/simulator.md lists as refused when the module is loaded, and what the message must say
    ".im2col": ("cp.async.bulk.tensor.3d.shared::cta.global.im2col.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3, %r4}], [%r1], {%h1};", "im2col"),
    ".im2col_no_offs": ("cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group [%rd1, {%r2, %r3, %r4}], [%r1];", "im2col"),
    ".im2col::w": ("cp.async.bulk.tensor.3d.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3, %r4}], [%r1], {%h1};",
                   "im2col"),
    ".im2col::w::128": ("cp.async.bulk.tensor.3d.shared::cta.global.im2col::w::128.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3, %r4}], [%r1], "
                        "{%h1};", "im2col"),
    "mma.kind": ("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, "
                 "{%f1, %f2, %f3, %f4};", "sm_120a"),
    "mma.sp.kind": ("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, "
                    "{%r5, %r6, %r7, %r8}, {%f1, %f2, %f3, %f4}, %r9, 0;", "sm_120a"),
    "mma.m8n8k4": ("mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r7, %r8}, {%r1, %r2, %r3, %r4};", "m8n8"),
    "tcgen05.mma.ashift": ("tcgen05.mma.cta_group::1.kind::f16.ashift [%r1], [%r2], %rd1, %r3, %p1;", "ashift"),
    "tcgen05.ld.red": ("tcgen05.ld.red.sync.aligned.32x32b.x2.min.f32 {%f1, %f2}, %f3, [%r1];", "tcgen05.ld"),
    "cvt.scaled": ("cvt.rn.satfinite.scaled::n2::ue8m0.e4m3x2.f32 %h1, %f1, %f1, %h2;", "scale"),
    "fma.oob": ("fma.rn.oob.f16 %h1, %h2, %h3, %h4;", "oob"),
    "set.f16": ("set.eq.f16.f32 %h1, %f1, %f2;", "32 bits"),
    "shfl.nosync": ("shfl.up.b32 %r1, %r2, 1, 0;", "without .sync"),
    "vote.nosync": ("vote.all.pred %p1, %p2;", "without .sync"),
    "st.async.global": ("st.async.mmio.release.sys.global.b32 [%rd1], %r1;", "shared::cluster"),
    "red.async.global": ("red.async.mmio.release.sys.global.add.u32 [%rd1], %r1;", "shared::cluster"),
    "call.indirect": ("call (%r1), %rd1, (%r2);", "direct calls"),
    ".reg.v4": (".reg .v4 .b32 %v<2>;", "vector registers"),
}
MISUSED = [
    ("st.bulk.weak.shared::cta [%r1], 64, 1;", "zeros"),
    ("lop3.b32 %r1|%p1, %r2, %r3, %r4, 3, %p2;", "lop3"),
]


def refusal(text, before=""):
    head = HEAD.format(more="").replace(".visible .entry", before + ".visible .entry") + "\t.reg .f32 %f<8>;\n\t"
    with pytest.raises(Exception) as error:
        sim.Kernel(head + text + "\n\tret;\n}\n").launch([np.zeros(1), np.zeros(1)], block=(32,))
    return str(error.value), head.count("\n") + 1


@pytest.mark.parametrize("text, word", [*REFUSED.values(), *MISUSED], ids=[*REFUSED, *(text.split()[0] for text, _ in MISUSED)])
def test_refused_with_line_and_instruction(text, word):
    message, line = refusal(text)
    assert f"line {line}" in message and word in message and text.split()[0].split(".")[0] in message


def test_recursion_is_refused():
    message, _ = refusal("call again;", ".func again()\n{\n\tcall again;\n\tret;\n}\n")
    assert "recursion" in message


# All instructions of PTX ISA 9.0, by the first part of their names.
OPCODES = """abs activemask add addc alloca and applypriority atom bar barrier bfe bfi bfind bmsk bra brev brkpt brx call clusterlaunchcontrol clz cnot
copysign cos cp createpolicy cvt cvta discard div dp2a dp4a elect ex2 exit fence fma fns getctarank griddepcontrol isspacep istypep ld ldmatrix ldu lg2
lop3 mad mad24 madc mapa match max mbarrier membar min mma mov movmatrix mul mul24 multimem nanosleep neg not or pmevent popc prefetch prefetchu prmt rcp
red redux rem ret rsqrt sad selp set setmaxnreg setp shf shfl shl shr sin slct sqrt st stackrestore stacksave stmatrix sub subc suld suq sured sust szext
tanh tcgen05 tensormap testp tex tld4 trap txq vabsdiff vabsdiff2 vabsdiff4 vadd vadd2 vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 vote vset
vset2 vset4 vshl vshr vsub vsub2 vsub4 wgmma wmma xor""".split()


def test_refusals_are_those_of_the_docs():
    with open(os.path.join(os.path.dirname(__file__), "..", "..", "docs", "simulator.md")) as file:
        section = file.read().split("## Not simulated")[1]
    instructions, forms = (re.findall(r"`([\w.:]+)`", section.split(f"\n{begin}:")[1].split("\n\n")[0]) for begin in ("Instructions", "Forms"))

    def unknown(opcode):
        try:
            sim.Kernel(HEAD.format(more="") + f"\t{opcode}.b32 %r1, %r2;\n\tret;\n}}\n")
        except Exception as error:
            return "unknown instruction" in str(error)
        return False
    assert set(instructions) == {opcode for opcode in OPCODES if unknown(opcode)}
    whole = {"mma", "mma.sp", "set", "shfl", "vote", ".sync", "st.async", "red.async"}  # named in passing
    assert set(forms) - whole == {*REFUSED, "call.recursion"}


CALL = """.version 8.7
.target sm_90a
.address_size 64
.extern .func {declaration};
.global .align 1 .b8 text[4] = {{37, 117, 10, 0}};
.visible .entry k()
{{
  .reg .b64 %a;
  .reg .b32 %r;
  .local .align 8 .b8 values[8];
  st.local.b32 [values], 7;
  {{
    .param .b64 p0; .param .b64 p1; .param .b32 q;
    mov.b64 %a, text; cvta.global.u64 %a, %a; st.param.b64 [p0], %a;
    mov.b64 %a, values; cvta.local.u64 %a, %a; st.param.b64 [p1], %a;
    call.uni (q), vprintf, (p0, p1);
    ld.param.b32 %r, [q];
  }}
  ret;
}}
"""


def test_functions_of_the_driver(capfd):
    """By name and form: another function without a body is refused, as it was."""
    sim.Kernel(CALL.format(declaration="(.param .b32 r) vprintf (.param .b64 a, .param .b64 b)")).launch([], block=2).check()
    assert capfd.readouterr().out == "7\n7\n"
    with pytest.raises(sim.SimulatorError, match="'vprintf' has no body in this module"):
        sim.Kernel(CALL.format(declaration="(.param .b32 r) vprintf (.param .b64 a, .param .b32 b)"))
