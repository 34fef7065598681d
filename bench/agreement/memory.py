"""Loads and stores, atomics, matrices in shared memory, barriers, asynchronous copies without tensor maps, clusters."""

import numpy as np

from .case import Case, kernel

ADDRESS = "\tmad.lo.u32 %r1, %blk, {n}, %thr;\n\tmul.wide.u32 %rd1, %r1, 4;\n\tadd.s64 %rd2, %x, %rd1;\n\tadd.s64 %rd3, %out, %rd1;\n"


def words(seed, n):
    return np.random.default_rng(seed).integers(0, 1 << 32, n).astype(np.uint32)


def accesses():
    x = words(40, 1024)
    loads = [("s8", 1), ("u8", 1), ("s16", 2), ("u16", 2), ("b32", 4)]
    out = np.zeros((16, 64), np.uint32)
    body = "\tmul.wide.u32 %rd1, %thr, 16;\n\tadd.s64 %rd2, %x, %rd1;\n\tmul.wide.u32 %rd3, %thr, 4;\n\tadd.s64 %rd4, %out, %rd3;\n"
    stored = 0

    def store(register):
        nonlocal body, stored
        body += f"\tst.global.b32 [%rd4+{256 * stored}], {register};\n"
        stored += 1

    for t, size in loads:
        body += f"\tld.global.{t} %r5, [%rd2+{4 - size}];\n"
        store("%r5")
    body += "\tld.global.v2.u8 {%h1, %h2}, [%rd2+6];\n\tmov.b32 %r5, {%h1, %h2};\n"
    store("%r5")
    body += "\tld.global.nc.v4.u16 {%h1, %h2, %h3, %h4}, [%rd2+8];\n\tmov.b32 %r5, {%h4, %h2};\n"
    store("%r5")
    body += "\tld.global.v2.b64 {%rd10, %rd11}, [%rd2];\n\txor.b64 %rd12, %rd10, %rd11;\n\tmov.b64 {%r5, %r6}, %rd12;\n"
    store("%r5")
    store("%r6")
    body += ("\tst.shared.v4.b32 [%r7], {%r5, %r6, %r5, %r6};\n" if False else
             "\tmov.u32 %r7, buffer;\n\tshl.b32 %r8, %thr, 4;\n\tadd.s32 %r7, %r7, %r8;\n"
             "\tld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd2];\n\tst.shared.v4.b32 [%r7], {%r13, %r12, %r11, %r10};\n"
             "\tbar.sync 0;\n\txor.b32 %r9, %r8, 48;\n\tmov.u32 %r14, buffer;\n\tadd.s32 %r9, %r9, %r14;\n"
             "\tld.shared.s8 %r15, [%r9+3];\n\tld.shared.u16 %r16, [%r9+10];\n\tld.shared.b64 %rd13, [%r9+8];\n")
    store("%r15")
    store("%r16")
    body += "\tcvt.u32.u64 %r5, %rd13;\n"
    store("%r5")
    # Local memory by a computed index; constant memory; generic addresses.
    body += ("\tmov.u64 %rd14, stack;\n\tst.local.b32 [%rd14], %r10;\n\tst.local.b32 [%rd14+4], %r11;\n\tst.local.v2.b32 [%rd14+8], {%r12, %r13};\n"
             "\tand.b32 %r17, %thr, 3;\n\tmul.wide.u32 %rd15, %r17, 4;\n\tadd.s64 %rd15, %rd14, %rd15;\n\tld.local.b32 %r18, [%rd15];\n")
    store("%r18")
    body += "\tmov.u64 %rd16, table;\n\tand.b32 %r17, %thr, 7;\n\tmul.wide.u32 %rd15, %r17, 4;\n\tadd.s64 %rd16, %rd16, %rd15;\n\tld.const.b32 %r18, [%rd16];\n"
    store("%r18")
    body += ("\tcvta.local.u64 %rd17, %rd14;\n\tld.b32 %r19, [%rd17+8];\n\tcvt.u64.u32 %rd18, %r7;\n\tcvta.shared.u64 %rd18, %rd18;\n\tld.b32 %r20, [%rd18+4];\n"
             "\txor.b32 %r19, %r19, %r20;\n\tisspacep.shared %p1, %rd18;\n\tisspacep.local %p2, %rd17;\n\tisspacep.global %p3, %out;\n"
             "\tselp.b32 %r21, 1, 0, %p1;\n\tselp.b32 %r22, 2, 0, %p2;\n\tselp.b32 %r23, 4, 0, %p3;\n\tadd.s32 %r21, %r21, %r22;\n\tadd.s32 %r21, %r21, %r23;\n")
    store("%r19")
    store("%r21")
    declarations = ".const .align 4 .b32 table[8] = {3, 1, 4, 1, 5, 9, 2, 6};\n"
    registers = "\t.shared .align 16 .b8 buffer[1024];\n\t.local .align 16 .b8 stack[16];\n"
    yield Case("loads_and_stores", "memory", kernel(body, ["x", "out"], declarations, registers), [x, out], [out], block=64)


def atomics():
    x = words(41, 512)
    operations = ["add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32", "or.b32", "xor.b32", "inc.u32", "dec.u32"]
    # All threads on one word each: the result does not depend on the order (inc and dec: equal limits).
    sums = np.resize(np.array([0, 0, 0xFFFFFFFF, 0x7FFFFFFF, 0, 0x80000000, 0xFFFFFFFF, 0, 0, 0, 500], np.uint32), 11)
    body = ADDRESS.format(n=256) + "\tld.global.b32 %r2, [%rd2];\n"
    for i, operation in enumerate(operations):
        value = "300" if operation[:3] in ("inc", "dec") else "%r2"
        body += f"\tred.global.{operation} [%out+{4 * i}], {value};\n"
    yield Case("red_global", "atomics", kernel(body, ["x", "out"]), [x, sums], [sums], grid=2, block=256)
    # Each thread on its own word: old values come back.
    own, old = words(42, 512), np.zeros((16, 512), np.uint32)
    body = ADDRESS.format(n=256) + "\tadd.s64 %rd4, %own, %rd1;\n\tld.global.b32 %r2, [%rd2];\n"
    listed = operations + ["exch.b32"]
    for i, operation in enumerate(listed):
        body += f"\tatom.global.{operation} %r3, [%rd4], %r2;\n\tst.global.b32 [%rd3+{2048 * i}], %r3;\n\tadd.s32 %r2, %r2, 0x1234567;\n"
    body += "\tatom.global.cas.b32 %r3, [%rd4], %r2, 7;\n\tst.global.b32 [%rd3+24576], %r3;\n\tatom.cas.b32 %r3, [%rd4], %r3, 9;\n\tst.global.b32 [%rd3+26624], %r3;\n"
    yield Case("atom_global", "atomics", kernel(body, ["x", "own", "out"]), [x, own, old], [own, old], grid=2, block=256)
    # The same in shared memory.
    own, old = words(49, 256), np.zeros((15, 256), np.uint32)
    body = ADDRESS.format(n=0) + "\tadd.s64 %rd4, %own, %rd1;\n\tld.global.b32 %r2, [%rd2];\n\tld.global.b32 %r5, [%rd4];\n\tmov.u32 %r6, cell;\n\tshl.b32 %r7, %thr, 2;\n\tadd.s32 %r6, %r6, %r7;\n\tst.shared.b32 [%r6], %r5;\n"
    for i, operation in enumerate(listed):
        body += f"\tatom.shared.{operation} %r3, [%r6], %r2;\n\tst.global.b32 [%rd3+{1024 * i}], %r3;\n\tadd.s32 %r2, %r2, 0x1234567;\n"
    body += ("\tatom.shared.cas.b32 %r3, [%r6], %r2, 7;\n\tst.global.b32 [%rd3+12288], %r3;\n\tatom.shared.cas.b32 %r3, [%r6], %r3, 9;\n\tst.global.b32 [%rd3+13312], %r3;\n"
             "\tld.shared.b32 %r3, [%r6];\n\tst.global.b32 [%rd3+14336], %r3;\n")
    yield Case("atom_shared", "atomics", kernel(body, ["x", "own", "out"], registers="\t.shared .align 4 .b8 cell[1024];\n"), [x, own, old], [old], block=256)
    wide, back = np.random.default_rng(43).integers(0, 1 << 63, 256).astype(np.uint64), np.zeros((10, 256), np.uint64)
    body = "\tmul.wide.u32 %rd1, %thr, 8;\n\tadd.s64 %rd2, %x, %rd1;\n\tadd.s64 %rd3, %out, %rd1;\n\tshl.b64 %rd4, %rd1, 57;\n\tadd.s64 %rd4, %rd4, %rd1;\n"
    for i, operation in enumerate(["add.u64", "min.u64", "min.s64", "max.u64", "max.s64", "and.b64", "or.b64", "xor.b64", "exch.b64"]):
        body += f"\tatom.global.{operation} %rd5, [%rd2], %rd4;\n\tst.global.b64 [%rd3+{2048 * i}], %rd5;\n\tadd.s64 %rd4, %rd4, 0x123456789ABCD;\n"
    body += "\tatom.global.cas.b64 %rd5, [%rd2], %rd4, 7;\n\tst.global.b64 [%rd3+18432], %rd5;\n"
    yield Case("atom_global_64", "atomics", kernel(body, ["x", "out"]), [wide, back], [wide, back], block=256)
    from .case import f32_values, f64_values
    f, g = f32_values(np.random.default_rng(44), 256), f32_values(np.random.default_rng(45), 256)
    d = f64_values(np.random.default_rng(46), 256)
    r = np.zeros((6, 256), np.uint32)
    body = ("\tmul.wide.u32 %rd1, %thr, 4;\n\tadd.s64 %rd2, %x, %rd1;\n\tadd.s64 %rd3, %y, %rd1;\n\tadd.s64 %rd4, %out, %rd1;\n"
            "\tmul.wide.u32 %rd5, %thr, 8;\n\tadd.s64 %rd6, %z, %rd5;\n\tld.global.b32 %r2, [%rd3];\n\tld.global.b64 %rd7, [%rd6];\n"
            "\tatom.global.add.f32 %r3, [%rd2], %r2;\n\tst.global.b32 [%rd4], %r3;\n\tld.global.b32 %r4, [%rd2];\n\tst.global.b32 [%rd4+1024], %r4;\n"
            "\tst.global.b32 [%rd2], %r3;\n\tatom.global.add.noftz.f16x2 %r5, [%rd2], %r2;\n\tld.global.b32 %r4, [%rd2];\n\tst.global.b32 [%rd4+2048], %r4;\n"
            "\tst.global.b32 [%rd2], %r3;\n\tred.global.add.noftz.bf16x2 [%rd2], %r2;\n\tld.global.b32 %r4, [%rd2];\n\tst.global.b32 [%rd4+3072], %r4;\n"
            "\tred.global.add.f64 [%rd6], %rd7;\n\tmov.u32 %r6, cell;\n\tshl.b32 %r7, %thr, 2;\n\tadd.s32 %r6, %r6, %r7;\n\tst.shared.b32 [%r6], %r3;\n"
            "\tatom.shared.add.f32 %r8, [%r6], %r2;\n\tld.shared.b32 %r9, [%r6];\n\tst.global.b32 [%rd4+4096], %r9;\n\tst.global.b32 [%rd4+5120], %r8;\n")
    yield Case("atom_float", "atomics", kernel(body, ["x", "y", "z", "out"], registers="\t.shared .align 4 .b8 cell[1024];\n"), [f, g, d, r],
               [r, d], block=256)
    total, seen = np.zeros(16, np.uint32), np.zeros(512, np.uint32)
    body = ADDRESS.format(n=256) + ("\tmov.u32 %r10, cells;\n\tsetp.ge.u32 %p1, %thr, 16;\n\tshl.b32 %r11, %thr, 2;\n\tadd.s32 %r11, %r11, %r10;\n"
                                    "\t@!%p1 st.shared.b32 [%r11], 0;\n\tbar.sync 0;\n\tld.global.b32 %r2, [%rd2];\n\tand.b32 %r3, %r2, 15;\n\tshl.b32 %r3, %r3, 2;\n"
                                    "\tadd.s32 %r3, %r3, %r10;\n\tred.shared.add.u32 [%r3], 1;\n\tbar.sync 0;\n\t@%p1 bra END;\n"
                                    "\tld.shared.b32 %r4, [%r11];\n\tmul.wide.u32 %rd5, %thr, 4;\n\tadd.s64 %rd6, %total, %rd5;\n\tred.global.add.u32 [%rd6], %r4;\nEND:\n")
    yield Case("histogram", "atomics", kernel(body, ["x", "out", "total"], registers="\t.shared .align 4 .b8 cells[64];\n"), [x, seen, total],
               [total], grid=2, block=256)
    vector = f32_values(np.random.default_rng(47), 512)
    body = ("\tmul.wide.u32 %rd1, %thr, 16;\n\tadd.s64 %rd2, %x, %rd1;\n\tadd.s64 %rd3, %y, %rd1;\n\tld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd3];\n"
            "\tmov.b32 %f1, %r1;\n\tmov.b32 %f2, %r2;\n\tmov.b32 %f3, %r3;\n\tmov.b32 %f4, %r4;\n\tred.global.add.v4.f32 [%rd2], {%f1, %f2, %f3, %f4};\n"
            "\tred.global.add.v2.f32 [%rd2], {%f3, %f4};\n")
    other = f32_values(np.random.default_rng(48), 512)
    yield Case("red_vector", "atomics", kernel(body, ["x", "y"]), [vector, other], [vector], block=128)
    # f32 through generic addresses: subnormals of shared and of global memory.
    x, y, r = (f32_values(np.random.default_rng(seed), 256) for seed in (71, 72, 73))
    x[::2] &= np.uint32(0x807FFFFF)
    y[::3] &= np.uint32(0x80FFFFFF)
    r = np.zeros((4, 256), np.uint32)
    body = ("\tmul.wide.u32 %rd1, %thr, 4;\n\tadd.s64 %rd2, %x, %rd1;\n\tadd.s64 %rd3, %y, %rd1;\n\tadd.s64 %rd4, %out, %rd1;\n\tld.global.b32 %r1, [%rd2];\n"
            "\tld.global.b32 %r2, [%rd3];\n\tmov.u32 %r6, cell;\n\tshl.b32 %r7, %thr, 2;\n\tadd.s32 %r6, %r6, %r7;\n\tst.shared.b32 [%r6], %r1;\n\tcvt.u64.u32 %rd5, %r6;\n"
            "\tcvta.shared.u64 %rd5, %rd5;\n\tcvta.global.u64 %rd6, %rd2;\n\tatom.add.f32 %r3, [%rd5], %r2;\n\tatom.add.f32 %r4, [%rd6], %r2;\n\tst.global.b32 [%rd4], %r3;\n"
            "\tst.global.b32 [%rd4+1024], %r4;\n\tld.shared.b32 %r3, [%r6];\n\tld.global.b32 %r4, [%rd2];\n\tst.global.b32 [%rd4+2048], %r3;\n\tst.global.b32 [%rd4+3072], %r4;\n")
    yield Case("atom_float_generic", "atomics", kernel(body, ["x", "y", "out"], registers="\t.shared .align 4 .b8 cell[1024];\n"), [x, y, r], [r], block=256)
    # Halves and doubles, each operation on memory of its own: 8 bytes of a thread.
    operations = [f"red.global.{op}.noftz.v2.{t} [%rd3+{{at}}], {{{{%r1, %r2}}}}" for t in ("f16x2", "bf16x2") for op in ("add", "min", "max")]
    operations += [f"atom.global.add.noftz.{t} %h1, [%rd3+{{at}}], %h2" for t in ("f16", "bf16")] + ["atom.global.add.f64 %rd5, [%rd3+{at}], %rd4"]
    x, y = f64_values(np.random.default_rng(74), 256), np.stack([f64_values(np.random.default_rng(75 + i), 256) for i in range(len(operations))])
    for i in range(len(operations) - 1):
        y[i] = np.random.default_rng(90 + i).integers(0, 1 << 63, 256).astype(np.uint64) * np.uint64(2)
    x[::2] = y[0][::2] ^ np.uint64(0x1111000100010001)
    body = ("\tmul.wide.u32 %rd1, %thr, 8;\n\tadd.s64 %rd2, %x, %rd1;\n\tadd.s64 %rd3, %out, %rd1;\n\tld.global.b64 %rd4, [%rd2];\n\tmov.b64 {%r1, %r2}, %rd4;\n"
            "\tmov.b32 {%h2, %h3}, %r1;\n" + "".join(f"\t{op.format(at=2048 * i)};\n" for i, op in enumerate(operations)))
    yield Case("atom_half", "atomics", kernel(body, ["x", "out"]), [x, y], [y], block=256)


def matrices():
    x = words(50, 2048)
    out = np.zeros((8, 4, 32), np.uint32)
    load = ("\tmov.u32 %r1, buffer;\n\tshl.b32 %r2, %lan, 4;\n\tmul.wide.u32 %rd1, %lan, 16;\n\tadd.s64 %rd2, %x, %rd1;\n\tadd.s32 %r3, %r1, %r2;\n" +
            "".join(f"\tld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%rd2+{512 * i}];\n\tst.shared.v4.b32 [%r3+{512 * i}], {{%r4, %r5, %r6, %r7}};\n" for i in range(4)) +
            "\tbar.sync 0;\n\tmul.lo.u32 %r8, %lan, 48;\n\tadd.s32 %r8, %r8, %r1;\n\tmul.wide.u32 %rd3, %lan, 4;\n\tadd.s64 %rd4, %out, %rd3;\n")
    shapes = [(n, trans) for n in (1, 2, 4) for trans in ("", ".trans")]
    registers = ["{%r10}", "{%r10, %r11}", None, "{%r10, %r11, %r12, %r13}"]
    body = load
    for i, (n, trans) in enumerate(shapes):
        body += f"\tldmatrix.sync.aligned.m8n8.x{n}{trans}.shared.b16 {registers[n - 1]}, [%r8];\n"
        body += "".join(f"\tst.global.b32 [%rd4+{(4 * i + k) * 128}], %r{10 + k};\n" for k in range(n))
    yield Case("ldmatrix", "matrix moves", kernel(body, ["x", "out"], registers="\t.shared .align 16 .b8 buffer[2048];\n"), [x, out], [out])
    dump = np.zeros((6, 512), np.uint32)
    body = load + "\tld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd2];\n"
    for i, (n, trans) in enumerate(shapes):
        body += f"\tstmatrix.sync.aligned.m8n8.x{n}{trans}.shared.b16 [%r8], {registers[n - 1]};\n\tbar.sync 0;\n\tadd.s32 %r10, %r10, 0x10001;\n"
        body += "".join(f"\tld.shared.b32 %r14, [%r15+{128 * k}];\n\tst.global.b32 [%rd4+{2048 * i + 128 * k}], %r14;\n" for k in range(16)) + "\tbar.sync 0;\n"
    body = body.replace("\tbar.sync 0;\n\tmul.lo", "\tbar.sync 0;\n\tshl.b32 %r15, %lan, 2;\n\tadd.s32 %r15, %r15, %r1;\n\tmul.lo", 1)
    yield Case("stmatrix", "matrix moves", kernel(body, ["x", "out"], registers="\t.shared .align 16 .b8 buffer[2048];\n"), [x, dump], [dump])
    moved = np.zeros((1, 32), np.uint32)
    body = "\tmul.wide.u32 %rd1, %lan, 4;\n\tadd.s64 %rd2, %x, %rd1;\n\tadd.s64 %rd3, %out, %rd1;\n\tld.global.b32 %r1, [%rd2];\n\tmovmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1;\n\tst.global.b32 [%rd3], %r2;\n"
    yield Case("movmatrix", "matrix moves", kernel(body, ["x", "out"]), [x, moved], [moved])


def barriers():
    x, out = words(51, 256), np.zeros((6, 256), np.uint32)
    body = ADDRESS.format(n=256) + ("\tld.global.b32 %r2, [%rd2];\n\tand.b32 %r3, %r2, 1;\n\tsetp.eq.u32 %p1, %r3, 1;\n"
                                    "\tbar.red.popc.u32 %r4, 0, %p1;\n\tst.global.b32 [%rd3], %r4;\n\tbar.red.and.pred %p2, 0, %p1;\n\tselp.b32 %r5, 1, 0, %p2;\n\tst.global.b32 [%rd3+1024], %r5;\n"
                                    "\tbar.red.or.pred %p3, 0, !%p1;\n\tselp.b32 %r5, 1, 0, %p3;\n\tst.global.b32 [%rd3+2048], %r5;\n"
                                    "\tshr.u32 %r6, %thr, 7;\n\tadd.s32 %r6, %r6, 1;\n\tbar.red.popc.u32 %r4, %r6, 128, %p1;\n\tst.global.b32 [%rd3+3072], %r4;\n"
                                    # The second half produces, the first consumes.
                                    "\tmov.u32 %r7, cell;\n\tand.b32 %r8, %thr, 127;\n\tshl.b32 %r9, %r8, 2;\n\tadd.s32 %r7, %r7, %r9;\n\tsetp.ge.u32 %p4, %thr, 128;\n\t@%p4 bra MAKE;\n"
                                    "\tbar.sync 5, 256;\n\tld.shared.b32 %r10, [%r7];\n\tst.global.b32 [%rd3+4096], %r10;\n\tbra END;\nMAKE:\n\tmad.lo.u32 %r11, %r2, 3, %thr;\n\tst.shared.b32 [%r7], %r11;\n\tbar.arrive 5, 256;\nEND:\n")
    yield Case("named_barriers", "barriers", kernel(body, ["x", "out"], registers="\t.shared .align 4 .b8 cell[512];\n"), [x, out], [out], block=256)
    # mbarrier: what can be observed: pending counts of states, phases, drops.
    out = np.zeros(32, np.uint32)
    body = "\tsetp.ne.u32 %p1, %thr, 0;\n\t@%p1 bra END;\n\tmov.u32 %r1, bar;\n\tmbarrier.init.shared.b64 [%r1], 5;\n"
    stored = 0

    def pending(token):
        nonlocal body, stored
        body += f"\tmbarrier.pending_count.b64 %r2, {token};\n\tst.global.b32 [%out+{4 * stored}], %r2;\n"
        stored += 1

    def test(parity):
        nonlocal body, stored
        body += f"\tmbarrier.test_wait.parity.shared.b64 %p2, [%r1], {parity};\n\tselp.b32 %r2, 1, 0, %p2;\n\tst.global.b32 [%out+{4 * stored}], %r2;\n"
        stored += 1

    test(0)
    test(1)
    body += "\tmbarrier.arrive.noComplete.shared.b64 %rd1, [%r1], 2;\n"
    pending("%rd1")
    body += "\tmbarrier.arrive.noComplete.shared.b64 %rd2, [%r1], 1;\n"
    pending("%rd2")
    body += "\tmbarrier.arrive_drop.noComplete.shared.b64 %rd3, [%r1], 1;\n"
    pending("%rd3")
    body += "\tmbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], 64;\n\tmbarrier.arrive.shared.b64 %rd4, [%r1];\n"
    test(0)
    body += "\tmbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r1], 64;\n"
    test(0)
    test(1)
    body += f"\tmbarrier.test_wait.shared.b64 %p2, [%r1], %rd4;\n\tselp.b32 %r2, 1, 0, %p2;\n\tst.global.b32 [%out+{4 * stored}], %r2;\n"
    stored += 1
    body += "\tmbarrier.arrive.noComplete.shared.b64 %rd5, [%r1], 3;\n"
    pending("%rd5")
    body += "\tmbarrier.arrive.shared.b64 %rd6, [%r1];\n"
    test(1)
    test(0)
    body += "\tmbarrier.inval.shared.b64 [%r1];\nEND:\n"
    yield Case("mbarrier_states", "barriers", kernel(body, ["out"], registers="\t.shared .align 8 .b8 bar[8];\n"), [out], [out])


def copies():
    x, out = words(52, 1024), np.zeros((4, 256), np.uint32)
    body = ("\tmov.u32 %r1, buffer;\n\tshl.b32 %r2, %thr, 4;\n\tadd.s32 %r3, %r1, %r2;\n\tmul.wide.u32 %rd1, %thr, 16;\n\tadd.s64 %rd2, %x, %rd1;\n\tadd.s64 %rd3, %out, %rd1;\n"
            "\tand.b32 %r4, %thr, 15;\n\tadd.s32 %r4, %r4, 1;\n\tmin.u32 %r4, %r4, 16;\n"
            "\tcp.async.cg.shared.global [%r3], [%rd2], 16;\n\tcp.async.commit_group;\n\tcp.async.ca.shared.global [%r3+1024], [%rd2], 16, %r4;\n\tcp.async.commit_group;\n"
            "\tcp.async.ca.shared.global [%r3+2048], [%rd2], 8;\n\tcp.async.ca.shared.global [%r3+2056], [%rd2+4], 4;\n\tcp.async.ca.shared.global [%r3+2060], [%rd2+8], 4, 0;\n"
            "\tcp.async.wait_group 1;\n\tcp.async.wait_all;\n\tsetp.lt.u32 %p1, %thr, 9;\n\tcp.async.ca.shared.global [%r3+3072], [%rd2], 16;\n\tcp.async.wait_all;\n\tbar.sync 0;\n")
    body += "".join(f"\tld.shared.v4.b32 {{%r5, %r6, %r7, %r8}}, [%r3+{1024 * i}];\n\tst.global.v4.b32 [%rd3+{1024 * i}], {{%r5, %r6, %r7, %r8}};\n" for i in range(4))
    yield Case("cp_async", "copies", kernel(body, ["x", "out"], registers="\t.shared .align 16 .b8 buffer[4096];\n"), [x, out], [out], block=64)
    start = ("\tmov.u32 %r1, buffer;\n\tmov.u32 %r2, bar;\n\tsetp.ne.u32 %p1, %thr, 0;\n\tshl.b32 %r3, %thr, 2;\n\tadd.s32 %r4, %r1, %r3;\n\tmul.wide.u32 %rd1, %thr, 4;\n"
             "\tadd.s64 %rd2, %x, %rd1;\n\tadd.s64 %rd3, %out, %rd1;\n")
    body = start + ("\t@%p1 bra READY;\n\tmbarrier.init.shared.b64 [%r2], 1;\n\tfence.mbarrier_init.release.cluster;\n\tmbarrier.arrive.expect_tx.shared.b64 _, [%r2], 1024;\n"
                    "\tcp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%x], 512, [%r2];\n"
                    "\tcp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1+512], [%x+1024], 496, [%r2];\n"
                    "\tcp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1+1008], [%x+2048], 16, [%r2];\nREADY:\n\tbar.sync 0;\n"
                    "WAIT:\n\tmbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0;\n\t@!%p2 bra WAIT;\n\tld.shared.b32 %r5, [%r4];\n\txor.b32 %r5, %r5, 0x55;\n\tst.shared.b32 [%r4], %r5;\n"
                    "\tfence.proxy.async.shared::cta;\n\tbar.sync 0;\n\t@%p1 bra END;\n\tcp.async.bulk.global.shared::cta.bulk_group [%out], [%r1], 1024;\n\tcp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;\nEND:\n")
    out = np.zeros(256, np.uint32)
    yield Case("cp_async_bulk", "copies", kernel(body, ["x", "out"], registers="\t.shared .align 128 .b8 buffer[1024];\n\t.shared .align 8 .b8 bar[8];\n"), [x, out],
               [out], block=256)
    # cp.async completing on an mbarrier: with and without its pending count raised.
    for suffix, count in (("", 1), (".noinc", 65)):
        body = start + (f"\t@%p1 bra READY;\n\tmbarrier.init.shared.b64 [%r2], {count};\nREADY:\n\tbar.sync 0;\n\tshl.b32 %r6, %thr, 4;\n\tadd.s32 %r7, %r1, %r6;\n\tmul.wide.u32 %rd4, %thr, 16;\n"
                        "\tadd.s64 %rd5, %x, %rd4;\n\tcp.async.cg.shared.global [%r7], [%rd5], 16;\n" + f"\tcp.async.mbarrier.arrive{suffix}.shared.b64 [%r2];\n"
                        "\tbar.sync 0;\n\t@%p1 bra WAIT;\n\tmbarrier.arrive.shared.b64 _, [%r2];\n"
                        "WAIT:\n\tmbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0;\n\t@!%p2 bra WAIT;\n"
                        "\txor.b32 %r8, %r4, 32;\n\tld.shared.b32 %r5, [%r8];\n\tst.global.b32 [%rd3], %r5;\n\tld.shared.b32 %r5, [%r8+512];\n\tst.global.b32 [%rd3+512], %r5;\n")
        out = np.zeros(256, np.uint32)
        yield Case(f"cp_async_mbarrier{suffix.replace('.', '_')}", "copies", kernel(body, ["x", "out"], registers="\t.shared .align 128 .b8 buffer[1024];\n\t.shared .align 8 .b8 bar[8];\n"),
                   [x, out], [out], block=64)
    # Reductions into global memory. Each operation has a range of its own.
    from .case import f32_values, f64_values
    rng = np.random.default_rng(53)
    operations = [f"{op}.{t}" for op, types in (("add", ("u32", "s32", "u64")), ("min", ("u32", "s32", "u64", "s64")), ("max", ("u32", "s32", "u64", "s64")),
                                               ("inc", ("u32",)), ("dec", ("u32",)), ("and", ("b32", "b64")), ("or", ("b32", "b64")), ("xor", ("b32", "b64")))
                  for t in types]
    body = start + "\tld.global.b32 %r5, [%rd2];\n\tst.shared.b32 [%r4], %r5;\n\tfence.proxy.async.shared::cta;\n\tbar.sync 0;\n\t@%p1 bra END;\n"
    body += "".join(f"\tcp.reduce.async.bulk.global.shared::cta.bulk_group.{op} [%out+{1024 * i}], [%r1], 1024;\n" for i, op in enumerate(operations))
    body += "\tcp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;\nEND:\n"
    registers = "\t.shared .align 128 .b8 buffer[1024];\n\t.shared .align 8 .b8 bar[8];\n"
    out = rng.integers(0, 1 << 32, (len(operations), 256)).astype(np.uint32)
    yield Case("bulk_reduce_integer", "copies", kernel(body, ["x", "out"], registers=registers), [x, out], [out], block=256)
    floats = ["add.f32", "add.noftz.f16", "min.f16", "max.f16", "add.noftz.bf16", "min.bf16", "max.bf16", "add.f64"]
    source = np.concatenate([f32_values(rng, 192), f64_values(rng, 32).view(np.uint32)])
    body = body[:body.index("\tcp.reduce")] + "".join(f"\tcp.reduce.async.bulk.global.shared::cta.bulk_group.{op} [%out+{1024 * i}], [%r1], 1024;\n" for i, op in
                                                      enumerate(floats)) + "\tcp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;\nEND:\n"
    out = np.stack([np.concatenate([f32_values(rng, 192), f64_values(rng, 32).view(np.uint32)]) for _ in floats])
    yield Case("bulk_reduce_float", "copies", kernel(body, ["x", "out"], registers=registers), [source, out], [out], block=256)


def clusters():
    x, out = words(54, 512), np.zeros((4, 4, 128), np.uint32)
    body = ("\tmov.u32 %r1, cell;\n\tmov.u32 %r2, bar;\n\tshl.b32 %r3, %thr, 2;\n\tadd.s32 %r4, %r1, %r3;\n\tmov.u32 %r5, %cluster_ctarank;\n\tmad.lo.u32 %r6, %blk, 128, %thr;\n"
            "\tmul.wide.u32 %rd1, %r6, 4;\n\tadd.s64 %rd2, %x, %rd1;\n\tadd.s64 %rd3, %out, %rd1;\n\tld.global.b32 %r7, [%rd2];\n\tst.shared.b32 [%r4], %r7;\n\tst.shared.b32 [%r4+512], 0;\n"
            "\tsetp.ne.u32 %p1, %thr, 0;\n\t@%p1 bra READY;\n\tmbarrier.init.shared.b64 [%r2], 1;\n\tfence.mbarrier_init.release.cluster;\n\tmbarrier.arrive.expect_tx.shared.b64 _, [%r2], 1024;\nREADY:\n"
            "\tbarrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;\n"
            # Read from the next CTA, add to the one after, in its shared memory; send both ways by st.async and red.async.
            "\tadd.s32 %r8, %r5, 1;\n\tand.b32 %r8, %r8, 3;\n\tmapa.shared::cluster.u32 %r9, %r4, %r8;\n\tld.shared::cluster.b32 %r10, [%r9];\n\tst.global.b32 [%rd3], %r10;\n"
            "\tadd.s32 %r11, %r5, 2;\n\tand.b32 %r11, %r11, 3;\n\tmapa.shared::cluster.u32 %r12, %r4, %r11;\n\tred.shared::cluster.add.u32 [%r12+512], %r7;\n"
            "\tatom.shared::cluster.add.u32 %r13, [%r12+512], 1;\n\tmapa.shared::cluster.u32 %r14, %r2, %r8;\n"
            "\tst.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r9+1024], %r7, [%r14];\n"
            "\tred.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r9+1536], %r7, [%r14];\n"
            "\tbarrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;\nWAIT:\n\tmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r2], 0;\n\t@!%p2 bra WAIT;\n"
            "\tld.shared.b32 %r15, [%r4+512];\n\tst.global.b32 [%rd3+2048], %r15;\n\tld.shared.b32 %r16, [%r4+1024];\n\tst.global.b32 [%rd3+4096], %r16;\n"
            "\tld.shared.b32 %r17, [%r4+1536];\n\tst.global.b32 [%rd3+6144], %r17;\n\tbarrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;\n")
    body = body.replace("\tst.shared.b32 [%r4+512], 0;\n", "\tst.shared.b32 [%r4+512], 0;\n\tst.shared.b32 [%r4+1536], 5;\n")
    yield Case("cluster_memory", "clusters", kernel(body, ["x", "out"], registers="\t.shared .align 16 .b8 cell[2048];\n\t.shared .align 8 .b8 bar[8];\n", cluster=4),
               [x, out], [out], grid=4, block=128, cluster=4)
    out = np.zeros((2, 256), np.uint32)
    body = ("\tmov.u32 %r1, cell;\n\tmov.u32 %r2, bar;\n\tshl.b32 %r3, %thr, 2;\n\tadd.s32 %r4, %r1, %r3;\n\tmov.u32 %r5, %cluster_ctarank;\n\tmul.wide.u32 %rd1, %thr, 4;\n\tadd.s64 %rd2, %x, %rd1;\n"
            "\tmad.lo.u32 %r6, %blk, 256, %thr;\n\tmul.wide.u32 %rd4, %r6, 4;\n\tadd.s64 %rd3, %out, %rd4;\n\tsetp.ne.u32 %p1, %thr, 0;\n\t@%p1 bra READY;\n"
            "\tmbarrier.init.shared.b64 [%r2], 1;\n\tfence.mbarrier_init.release.cluster;\n\tmbarrier.arrive.expect_tx.shared.b64 _, [%r2], 1024;\nREADY:\n\tbarrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;\n"
            "\tsetp.ne.u32 %p2, %r5, 0;\n\tor.pred %p3, %p1, %p2;\n\t@%p3 bra WAIT;\n\tmov.b16 %h1, 3;\n"
            "\tcp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%x], 512, [%r2], %h1;\n"
            # From this CTA's memory into the other's, and into the own from global memory.
            "\tcp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1+512], [%x+512], 512, [%r2], %h1;\n"
            "WAIT:\n\tmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p4, [%r2], 0;\n\t@!%p4 bra WAIT;\n\tld.shared.b32 %r7, [%r4];\n\tst.global.b32 [%rd3], %r7;\n"
            "\tbarrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;\n")
    yield Case("bulk_multicast", "clusters", kernel(body, ["x", "out"], registers="\t.shared .align 128 .b8 cell[1024];\n\t.shared .align 8 .b8 bar[8];\n", cluster=2),
               [x, out], [out], grid=2, block=256, cluster=2)
    x, out = words(58, 4), np.zeros((4, 4), np.uint32)
    body = ("\tmov.u32 %r1, cell;\n\tand.b32 %r2, %thr, 3;\n\tmapa.shared::cluster.u32 %r3, %r1, %r2;\n\tgetctarank.shared::cluster.u32 %r4, %r3;\n\tcvt.u64.u32 %rd1, %r3;\n"
            "\tcvta.shared::cluster.u64 %rd2, %rd1;\n\tgetctarank.u64 %r5, %rd2;\n\tshl.b32 %r5, %r5, 8;\n\tor.b32 %r4, %r4, %r5;\n\tmapa.u64 %rd3, %rd2, %r2;\n\tcvta.to.shared::cluster.u64 %rd4, %rd3;\n"
            "\tcvt.u32.u64 %r6, %rd4;\n\tgetctarank.shared::cluster.u32 %r6, %r6;\n\tshl.b32 %r6, %r6, 16;\n\tor.b32 %r4, %r4, %r6;\n\tsetp.ge.u32 %p1, %thr, 4;\n\t@%p1 bra END;\n\tmad.lo.u32 %r7, %blk, 4, %thr;\n"
            "\tmul.wide.u32 %rd5, %r7, 4;\n\tadd.s64 %rd6, %out, %rd5;\n\tst.global.b32 [%rd6], %r4;\nEND:\n")
    yield Case("cluster_ranks", "clusters", kernel(body, ["x", "out"], registers="\t.shared .align 16 .b8 cell[64];\n", cluster=4), [x, out], [out], grid=4, cluster=4)
    # Reductions into the other CTA's memory, each operation on 256 bytes of its own.
    operations = [f"{op}.{t}" for op, types in (("add", ("u32", "s32", "u64")), ("min", ("u32", "s32")), ("max", ("u32", "s32")), ("inc", ("u32",)), ("dec", ("u32",)),
                                               ("and", ("b32",)), ("or", ("b32",)), ("xor", ("b32",))) for t in types]
    x, y, n = words(56, 128), words(57, 128 * len(operations)), len(operations)
    body = ("\tmov.u32 %r1, cell;\n\tmov.u32 %r2, bar;\n\tshl.b32 %r3, %thr, 2;\n\tadd.s32 %r4, %r1, %r3;\n\tmad.lo.u32 %r5, %blk, 64, %thr;\n\tmul.wide.u32 %rd1, %r5, 4;\n"
            "\tadd.s64 %rd2, %x, %rd1;\n\tld.global.b32 %r6, [%rd2];\n\tst.shared.b32 [%r4], %r6;\n" + f"\tmad.lo.u32 %r5, %blk, {64 * n}, %thr;\n\tmul.wide.u32 %rd1, %r5, 4;\n\tadd.s64 %rd3, %y, %rd1;\n" +
            "".join(f"\tld.global.b32 %r6, [%rd3+{256 * i}];\n\tst.shared.b32 [%r4+{256 * (i + 1)}], %r6;\n" for i in range(n)) +
            f"\tsetp.ne.u32 %p1, %thr, 0;\n\t@%p1 bra READY;\n\tmbarrier.init.shared.b64 [%r2], 1;\n\tmbarrier.arrive.expect_tx.shared.b64 _, [%r2], {256 * n};\n\tfence.mbarrier_init.release.cluster;\nREADY:\n"
            "\tfence.proxy.async;\n\tbarrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;\n\t@%p1 bra WAIT;\n\txor.b32 %r7, %blk, 1;\n\tmapa.shared::cluster.u32 %r8, %r1, %r7;\n\tmapa.shared::cluster.u32 %r9, %r2, %r7;\n" +
            "".join(f"\tcp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{op} [%r8+{256 * (i + 1)}], [%r1], 256, [%r9];\n" for i, op in enumerate(operations)) +
            "WAIT:\n\tmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p4, [%r2], 0;\n\t@!%p4 bra WAIT;\n" +
            "".join(f"\tld.shared.b32 %r6, [%r4+{256 * (i + 1)}];\n\tst.global.b32 [%rd3+{256 * i}], %r6;\n" for i in range(n)) +
            "\tbarrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;\n")
    yield Case("bulk_reduce_cluster", "clusters", kernel(body, ["x", "y"], registers=f"\t.shared .align 128 .b8 cell[{256 * (n + 1)}];\n\t.shared .align 8 .b8 bar[8];\n",
                                                         cluster=2), [x, y], [y], grid=2, block=64, cluster=2)


def cases():
    for family in (accesses, atomics, matrices, barriers, copies, clusters):
        yield from family()
