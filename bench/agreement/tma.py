"""Tensor copies: swizzles, boxes over the edges, all ranks and types, multicast, stores, reductions, edited maps (PTX ISA 9.7.9.25.5)."""

import numpy as np

from .case import Case, Map, kernel

SIZE = {0: 1, 1: 2, 2: 4, 3: 4, 4: 8, 5: 8, 6: 2, 7: 4, 8: 8, 9: 2, 10: 4, 11: 4, 12: 4}
REGISTERS = "\t.shared .align 1024 .b8 tile[16384];\n\t.shared .align 8 .b8 bar[8];\n"
FILL = ("\tmov.u32 %r1, tile;\n\tmov.u32 %r2, bar;\n\tsetp.ne.u32 %p1, %thr, 0;\n\tshl.b32 %r3, %thr, 2;\n\tadd.s32 %r4, %r1, %r3;\n\tmov.b32 %r5, 0;\n"
        "FILL:\n\tst.shared.b32 [%r4], 0xABABABAB;\n\tadd.s32 %r4, %r4, 512;\n\tadd.s32 %r5, %r5, 1;\n\tsetp.ne.u32 %p2, %r5, 32;\n\t@%p2 bra FILL;\n"
        "\tfence.proxy.async.shared::cta;\n\t@%p1 bra READY;\n\tmbarrier.init.shared.b64 [%r2], 1;\n\tfence.mbarrier_init.release.cluster;\nREADY:\n")
DUMP = ("\tadd.s32 %r4, %r1, %r3;\n\tmad.lo.u32 %r6, %blk, 16384, %r3;\n\tcvt.u64.u32 %rd1, %r6;\n\tadd.s64 %rd2, %out, %rd1;\n\tmov.b32 %r5, 0;\n"
        "DUMP:\n\tld.shared.b32 %r7, [%r4];\n\tst.global.b32 [%rd2], %r7;\n\tadd.s32 %r4, %r4, 512;\n\tadd.s64 %rd2, %rd2, 512;\n\tadd.s32 %r5, %r5, 1;\n\tsetp.ne.u32 %p2, %r5, 32;\n\t@%p2 bra DUMP;\n")
TYPES = "Do copies with this map type change the values? Assumed: loads of both tf32 types round to nearest even, f32_ftz and stores change nothing."
COLUMN = "Must a box begin at a multiple of 16 bytes of its row? Assumed: yes, else the instruction is illegal."


def pattern(seed, elements, type):
    """Values of the type without NaNs and infinities, so that every conversion is defined."""
    rng = np.random.default_rng(seed)
    size = SIZE[type]
    if type in (6, 9):
        return ((rng.integers(0, 1 << 16, elements) & 0xBFFF)).astype(np.uint16)
    if type in (7, 10, 11, 12):
        bits = rng.integers(0, 1 << 32, elements).astype(np.uint32) & np.uint32(0xBFFFFFFF)
        bits[::7] &= np.uint32(0x807FFFFF)  # subnormals
        return bits
    return rng.integers(0, 256, elements * size).astype(np.uint8).view(f"u{size}")


def load(name, type, dims, box, coordinates, swizzle=0, fill=0, offset=0, smem=0, question=None, pitch=None, refused=False, source=None):
    """Loads a box into shared memory that held 0xAB, and stores all of it to global memory. pitch: bytes of a row, if not dense."""
    size, rank = SIZE[type], len(dims)
    strides, step = [], pitch or -(-dims[0] * size // 16) * 16
    for extent in dims[1:]:
        strides.append(step)
        step *= extent
    source = pattern(len(name), max(step, dims[0] * size) // size + 64, type) if source is None else source
    out = np.zeros(4096, np.uint32)
    bytes = size * int(np.prod(box))
    body = (FILL + "\tbar.sync 0;\n\t@%p1 bra WAIT;\n" +
            f"\tmbarrier.arrive.expect_tx.shared.b64 _, [%r2], {bytes};\n" +
            f"\tcp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1+{smem}], [%map, {{{', '.join(map(str, coordinates))}}}], [%r2];\n" +
            "WAIT:\n\tmbarrier.try_wait.parity.shared.b64 %p3, [%r2], 0;\n\t@!%p3 bra WAIT;\n" + DUMP)
    return Case(name, "TMA loads", kernel(body, [("map", "map"), "out"], registers=REGISTERS),
                [Map(source, type, dims, box, strides, swizzle, fill, offset), out], [out], block=128, question=question, refused=refused)


def loads():
    for swizzle, width, text in ((0, 128, "none"), (1, 32, "32"), (2, 64, "64"), (3, 128, "128")):
        yield load(f"swizzle_{text}", 9, (96, 80), (width // 2, 64), (16, 8), swizzle)
    yield load("swizzle_128_not_on_its_pattern", 9, (96, 80), (64, 32), (0, 0), 3, smem=384,
               question="Is the pattern a function of the absolute address? Assumed: yes, address bits 4-6 ^= bits 7-9.")
    narrow = "Pitch of rows narrower than the swizzle. Assumed: the span of the swizzle; only the bytes of the box are counted."
    for swizzle, inner, text in ((1, 16, "32"), (2, 32, "64"), (3, 32, "128"), (3, 64, "128_half"), (2, 16, "64_quarter")):
        yield load(f"narrow_box_{text}", 0, (256, 64), (inner, 40), (32, 3), swizzle, question=narrow)
    yield load("narrow_box_rank_3", 6, (64, 20, 9), (8, 7, 5), (16, 3, 2), 2, question=narrow)
    yield load("narrow_box_edge", 9, (90, 20), (16, 32), (80, -3), 3, question=narrow)
    yield load("narrow_box_not_on_its_pattern", 0, (256, 64), (32, 40), (32, 3), 3, smem=384, question=narrow)
    yield load("rank_1", 2, (500,), (256,), (100,))
    yield load("rank_3", 6, (64, 20, 9), (32, 7, 5), (8, 3, 2), 2)
    yield load("rank_4", 0, (64, 9, 8, 7), (32, 3, 5, 4), (16, 2, 1, 3), 1)
    yield load("rank_5", 7, (16, 6, 5, 4, 3), (8, 3, 2, 3, 2), (4, 1, 2, 0, 1))
    tx = "Bytes of a box over the edge. Assumed: those of the whole box (fewer would hang)."
    yield load("edge_high", 9, (90, 70), (64, 32), (56, 50), 3, question=tx)
    yield load("edge_low", 9, (90, 70), (64, 32), (-16, -5), 3, question=tx)
    yield load("edge_outside", 9, (90, 70), (64, 32), (200, 5), 3, question=tx)
    yield load("edge_odd_extent", 0, (83, 33), (64, 32), (48, 8), 2, pitch=96)
    yield load("edge_rank_4", 6, (24, 5, 4, 3), (16, 4, 3, 3), (16, 3, -1, 1))
    for x, type, text in ((60, 9, "bf16"), (-4, 9, "bf16_low"), (2, 7, "f32"), (3, 0, "u8")):
        yield load(f"column_{text}", type, (96, 70), (32, 32), (x, 5), question=COLUMN, refused=True)
    nan = "Bit pattern of the NaN fill. Assumed: 0x7FF7 in every 16 bits, whatever the type."
    for type, text in ((6, "f16"), (9, "bf16"), (7, "f32"), (8, "f64"), (11, "tf32")):
        yield load(f"nan_fill_{text}", type, (40, 20), (16, 8), (32, 16), fill=1, question=nan)
    for type, text in ((10, "f32_ftz"), (11, "tf32"), (12, "tf32_ftz")):
        yield load(f"type_{text}", type, (64, 64), (32, 32), (16, 8), 3,
                   question=TYPES)
    special = np.random.default_rng(33).choice(np.array([0x7F800000, 0x7F800001, 0x7FA57A80, 0x7FC00000, 0x7FFFFFFF, 0xFFC01234, 0x7F7FFFFF, 0x3F801000, 0x3F803000,
                                                         0x00001000, 0x00801FFF, 0x80000FFF], np.uint32), 64 * 65)
    for type, text in ((10, "f32_ftz"), (11, "tf32"), (12, "tf32_ftz")):
        yield load(f"special_{text}", type, (64, 64), (32, 32), (16, 8), 3, source=special, question=TYPES)
    for type, text in ((1, "u16"), (3, "s32"), (4, "u64"), (8, "f64")):
        yield load(f"type_{text}", type, (64, 40), (16, 16), (8, 8))


def store(name, type, dims, box, coordinates, swizzle=0, reduce=None, pitch=None, question=None, refused=False):
    """Stores, or adds, a box of known values into a tensor whose other elements must stay."""
    size, rank = SIZE[type], len(dims)
    strides, step = [], pitch or -(-dims[0] * size // 16) * 16
    for extent in dims[1:]:
        strides.append(step)
        step *= extent
    target = pattern(len(name) + 1, step // size, type)
    x = pattern(len(name) + 2, 8192 // size, type).view(np.uint32)
    operation = f"cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{reduce}.tile.bulk_group" if reduce else \
        f"cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group"
    body = ("\tmov.u32 %r1, tile;\n\tsetp.ne.u32 %p1, %thr, 0;\n\tshl.b32 %r3, %thr, 2;\n\tadd.s32 %r4, %r1, %r3;\n\tcvt.u64.u32 %rd1, %r3;\n\tadd.s64 %rd2, %x, %rd1;\n" +
            "".join(f"\tld.global.b32 %r5, [%rd2+{512 * i}];\n\tst.shared.b32 [%r4+{512 * i}], %r5;\n" for i in range(16)) +
            "\tfence.proxy.async.shared::cta;\n\tbar.sync 0;\n\t@%p1 bra END;\n" +
            f"\t{operation} [%map, {{{', '.join(map(str, coordinates))}}}], [%r1];\n\tcp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;\nEND:\n")
    return Case(name, "TMA stores", kernel(body, [("map", "map"), "x"], registers=REGISTERS), [Map(target, type, dims, box, strides, swizzle), x],
                [target], block=128, question=question, refused=refused)


def stores():
    for swizzle, width, text in ((0, 128, "none"), (1, 32, "32"), (2, 64, "64"), (3, 128, "128")):
        yield store(f"store_swizzle_{text}", 9, (96, 80), (width // 2, 32), (16, 8), swizzle)
    for swizzle, inner, text in ((1, 8, "32"), (2, 8, "64"), (3, 32, "128")):
        yield store(f"store_narrow_box_{text}", 9, (96, 80), (inner, 32), (16, 8), swizzle,
                    question="Pitch of rows narrower than the swizzle. Assumed: the span of the swizzle.")
    yield store("reduce_narrow_box", 2, (96, 80), (8, 16), (16, 8), 3, reduce="add")
    for type, text in ((10, "f32_ftz"), (11, "tf32"), (12, "tf32_ftz")):
        yield store(f"store_type_{text}", type, (64, 64), (32, 32), (16, 8), 3, question=TYPES)
    ragged = "Right edge not a multiple of 16 bytes: where does a store end? Assumed: at the next 16 bytes, with what is in shared memory."
    yield store("store_ragged_bf16", 9, (37, 20), (32, 16), (24, 8), 2, pitch=128, question=ragged)
    yield store("store_ragged_u8", 0, (45, 20), (32, 16), (32, 8), 1, pitch=64, question=ragged)
    yield store("store_ragged_f32", 7, (19, 12), (16, 16), (8, 4), 2, pitch=128, question=ragged)
    low = "Negative coordinates of a store. Assumed: illegal."
    for x, y, text in ((-8, 0, "column"), (0, -4, "row")):
        yield store(f"store_negative_{text}", 9, (64, 40), (32, 16), (x, y), 2, question=low, refused=True)
    yield store("store_column_4", 9, (64, 40), (32, 16), (4, 4), 2, question=COLUMN, refused=True)
    yield store("store_rank_3", 6, (64, 20, 9), (32, 7, 5), (48, 16, 6), 2)
    for type, text, operations in ((2, "u32", ("add", "min", "max", "inc", "dec", "and", "or", "xor")), (3, "s32", ("add", "min", "max")),
                                   (4, "u64", ("add", "min", "max")), (6, "f16", ("add", "min", "max")), (9, "bf16", ("add", "min", "max")),
                                   (7, "f32", ("add",)), (10, "f32_ftz", ("add",))):
        for operation in operations:
            yield store(f"reduce_{operation}_{text}", type, (32, 24), (16, 16), (24, 12), reduce=operation)


def multicast():
    source, out = pattern(60, 96 * 64, 9), np.zeros(2 * 4096, np.uint32)
    body = (FILL + "\tbarrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;\n\tmov.u32 %r8, %cluster_ctarank;\n\t@%p1 bra WAIT;\n"
            "\tmbarrier.arrive.expect_tx.shared.b64 _, [%r2], 8192;\n\tshl.b32 %r9, %r8, 12;\n\tadd.s32 %r9, %r9, %r1;\n\tshl.b32 %r10, %r8, 5;\n\tmov.b16 %h1, 3;\n"
            "\tcp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%r9], [%map, {16, %r10}], [%r2], %h1;\n"
            "WAIT:\n\tmbarrier.try_wait.parity.shared.b64 %p3, [%r2], 0;\n\t@!%p3 bra WAIT;\n" + DUMP + "\tbarrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;\n")
    yield Case("multicast", "TMA loads", kernel(body, [("map", "map"), "out"], registers=REGISTERS, cluster=2),
               [Map(source, 9, (96, 64), (64, 32), (192,), 3), out], [out], grid=2, block=128, cluster=2)
    source, out = pattern(62, 96 * 64, 9), np.zeros(2 * 4096, np.uint32)
    body = (FILL + "\tmov.u32 %r8, %cluster_ctarank;\n\t@%p1 bra STARTED;\n\tsetp.eq.u32 %p4, %r8, 1;\n\t@%p4 mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 4096;\n"
            "STARTED:\n\tbarrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;\n\t@%p1 bra ISSUED;\n\tsetp.eq.u32 %p4, %r8, 1;\n\t@%p4 bra ISSUED;\n\tmov.b16 %h1, 2;\n"
            "\tcp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%map, {16, 8}], [%r2], %h1;\n"
            "ISSUED:\n\tsetp.eq.u32 %p4, %r8, 0;\n\t@%p4 bra END;\n"
            "WAIT:\n\tmbarrier.try_wait.parity.shared.b64 %p3, [%r2], 0;\n\t@!%p3 bra WAIT;\nEND:\n" + DUMP + "\tbarrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;\n")
    yield Case("multicast_to_another", "TMA loads", kernel(body, [("map", "map"), "out"], registers=REGISTERS, cluster=2),
               [Map(source, 9, (96, 64), (64, 32), (192,), 3), out], [out], grid=2, block=128, cluster=2,
               question="May the issuing CTA be missing in the mask? Assumed: yes.")


def edited(name, bytes, replace="", question=None):
    """A map copied to shared memory, edited, published, used: another address, box, stride and swizzle, and what `replace` sets."""
    source, scratch, out = pattern(61, 128 * 64, 9), np.zeros(64, np.uint32), np.zeros(4096, np.uint32)
    body = ("\tmov.u32 %r20, copy;\n\tshl.b32 %r21, %thr, 2;\n\tadd.s32 %r22, %r20, %r21;\n\tcvt.u64.u32 %rd3, %r21;\n\tadd.s64 %rd4, %map, %rd3;\n\tsetp.ge.u32 %p4, %thr, 32;\n"
            "\t@%p4 bra COPIED;\n\tld.param.b32 %r23, [map];\n\tld.b32 %r23, [%rd4];\n\tst.shared.b32 [%r22], %r23;\n\tbar.warp.sync -1;\n\tsetp.ne.u32 %p5, %thr, 0;\n\t@%p5 bra EDITED;\n"
            "\tadd.s64 %rd5, %x, 1024;\n\ttensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r20], %rd5;\n"
            "\ttensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r20], 0, 512;\n\ttensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r20], 1, 20;\n"
            "\ttensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r20], 0, 32;\n\ttensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r20], 2;\n" +
            (f"\ttensormap.replace.tile.{replace};\n" if replace else "") +
            "EDITED:\n\tbar.warp.sync -1;\n\ttensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%scratch], [%r20], 128;\n"
            "COPIED:\n" + FILL + "\tbar.sync 0;\n\t@%p1 bra WAIT;\n\tfence.proxy.tensormap::generic.acquire.gpu [%scratch], 128;\n"
            f"\tmbarrier.arrive.expect_tx.shared.b64 _, [%r2], {bytes};\n"
            "\tcp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%scratch, {8, 2}], [%r2];\n"
            "WAIT:\n\tmbarrier.try_wait.parity.shared.b64 %p3, [%r2], 0;\n\t@!%p3 bra WAIT;\n" + DUMP)
    body = body.replace("\tld.param.b32 %r23, [map];\n", "")
    return Case(name, "TMA loads", kernel(body, [("map", "map"), "x", "scratch", "out"], registers=REGISTERS + "\t.shared .align 128 .b8 copy[128];\n"),
               [Map(source, 9, (96, 64), (64, 32), (192,), 3), source, scratch, out], [out], block=128, question=question)


def cases():
    for family in (loads, stores, multicast):
        yield from family()
    yield edited("edited_map", 2048)
    yield edited("edited_element_stride", 1024, "element_stride.shared::cta.b1024.b32 [%r20], 1, 2",
                 "Bytes of a box with an element stride. Assumed: those of the elements that are copied.")
