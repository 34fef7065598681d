"""PTX by hand for products of tcgen05.mma of one CTA, sm_100a: dense, sparse (.sp), weight stationary (.ws) with column masks, block-scaled.

One CTA of 128 threads. Operands come by bulk copies as core matrices of 8 rows of 16 bytes (K-major, no swizzle; PTX ISA 9.7.16.3.3), one
instruction's K range after the other: 32 bytes of each row, 64 of B if A is sparse. What has to be in tensor memory beforehand (metadata,
scales) is an array of 16 words for each lane, stored at column 256 by tcgen05.st. The whole result, 128 lanes by 256 columns, is written out.
"""

TABLE = 256  # column of the array; metadata in its columns 0 to 3, scales of A from 4, of B from 8
SCALES = {"mxf8f6f4": ".block_scale.scale_vec::1X", "mxf4": ".block_scale.scale_vec::2X"}


class Product:
    """One instruction. step: its K range; adds: to what D holds; qualifiers, such as ".collector::b0::fill"; mask: the column mask, or None."""

    def __init__(self, step, adds, qualifiers="", mask=None):
        self.step, self.adds, self.qualifiers, self.mask = step, adds, qualifiers, mask


def instruction_descriptor(kind, m, n, types=0, sparse=False, selector=0, d=1):
    """PTX ISA 9.7.16.4.2; types: of A and B, at bits 7 and 10."""
    if kind.startswith("mx"):
        return types | sparse << 2 | (n >> 3) << 17 | 1 << 23 | (m >> 7) << 27
    return types | selector | sparse << 2 | d << 4 | (n >> 3) << 17 | (m >> 4) << 24


def ptx(kind, m, rows_b, idesc, products, sparse=False, ws=False):
    """rows_b: rows of B in memory, N or more."""
    steps = 1 + max(p.step for p in products)
    row_b = 64 if sparse else 32
    a_bytes, b_bytes = m * 32, rows_b * row_b
    b_at, total = a_bytes * steps, (a_bytes + b_bytes) * steps
    # Descriptors: constant 0b001 at bit 46; leading 128 bytes; stride: the core matrices of 8 rows.
    a_desc, b_desc = (1 << 46 | stride >> 4 << 32 | 128 >> 4 << 16 for stride in (256, 8 * row_b))
    text = f"""// written by test/Simulator/Inputs/tcgen05_product.py
.version 8.7
.target sm_100a
.address_size 64
.extern .shared .align 1024 .b8 memory[];
.visible .entry product(.param .u64 pa, .param .u64 pb, .param .u64 ptable, .param .u64 pd)
.reqntid 128, 1, 1
{{
	.reg .pred %p<8>;
	.reg .b32 %r<180>;
	.reg .b64 %rd<32>;
	.shared .align 8 .b8 full[8];
	.shared .align 8 .b8 done[8];
	.shared .align 4 .b8 where[4];
	ld.param.u64 %rd1, [pa];
	ld.param.u64 %rd2, [pb];
	ld.param.u64 %rd3, [ptable];
	ld.param.u64 %rd4, [pd];
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, memory;
	mov.u32 %r3, full;
	mov.u32 %r4, done;
	mov.u32 %r5, where;
	shr.u32 %r6, %r1, 5;
	setp.ne.u32 %p1, %r1, 0;
	setp.ne.u32 %p2, %r6, 0;
	@%p1 bra STARTED;
	mbarrier.init.shared.b64 [%r3], 1;
	mbarrier.init.shared.b64 [%r4], 1;
	fence.mbarrier_init.release.cluster;
	mbarrier.arrive.expect_tx.shared.b64 _, [%r3], {total};
	cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], {a_bytes * steps}, [%r3];
	add.s32 %r7, %r2, {b_at};
	cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r7], [%rd2], {b_bytes * steps}, [%r3];
STARTED:
	@%p2 bra ALLOCATED;
	bar.warp.sync -1;
	mov.b32 %r8, 512;
	tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r5], %r8;
	tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
ALLOCATED:
	tcgen05.fence::before_thread_sync;
	bar.sync 0;
	tcgen05.fence::after_thread_sync;
	ld.shared.b32 %r9, [%r5];
	shl.b32 %r10, %r6, 21;
	add.s32 %r11, %r9, %r10;
	mul.wide.u32 %rd5, %r1, 64;
	add.s64 %rd6, %rd3, %rd5;
"""
    words = [f"%r{20 + i}" for i in range(16)]
    text += "".join(f"\tld.global.v4.b32 {{{', '.join(words[4 * i:4 * i + 4])}}}, [%rd6+{16 * i}];\n" for i in range(4))
    text += f"""	tcgen05.st.sync.aligned.32x32b.x16.b32 [%r11+{TABLE}], {{{', '.join(words)}}};
	tcgen05.wait::st.sync.aligned;
	tcgen05.fence::before_thread_sync;
	bar.sync 0;
	tcgen05.fence::after_thread_sync;
	@%p1 bra WAIT;
LOADED:
	mbarrier.try_wait.parity.shared.b64 %p3, [%r3], 0;
	@!%p3 bra LOADED;
	shr.u32 %r10, %r2, 4;
	cvt.u64.u32 %rd10, %r10;
	mov.b32 %r13, {idesc};
"""
    scales = SCALES.get(kind, "")
    for p in products:
        text += (f"\tadd.s64 %rd13, %rd10, {a_desc + (a_bytes * p.step >> 4)};\n"
                 f"\tadd.s64 %rd14, %rd10, {b_desc + (b_at + b_bytes * p.step >> 4)};\n\tsetp.eq.u32 %p4, {int(p.adds)}, 1;\n")
        tail = ""
        if p.mask is not None:
            text, tail = text + f"\tmov.b64 %rd15, {p.mask};\n", ", %rd15"
        text += (f"\ttcgen05.mma{'.ws' if ws else ''}{'.sp' if sparse else ''}.cta_group::1.kind::{kind}{scales}{p.qualifiers} "
                 f"[%r9], %rd13, %rd14,{f' [%r9+{TABLE}],' if sparse else ''} %r13, "
                 f"{f'[%r9+{TABLE + 4}], [%r9+{TABLE + 8}], ' if scales else ''}%p4{tail};\n")
    text += """	tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r4];
WAIT:
	mbarrier.try_wait.parity.shared.b64 %p3, [%r4], 0;
	@!%p3 bra WAIT;
	tcgen05.fence::after_thread_sync;
	mul.wide.u32 %rd15, %r1, 1024;
	add.s64 %rd16, %rd4, %rd15;
"""
    columns = (idesc >> 17 & 63) * 8 // (128 // m if ws else 1)
    for at in range(0, columns, 16):
        text += (f"\ttcgen05.ld.sync.aligned.32x32b.x16.b32 {{{', '.join(words)}}}, [%r11+{at}];\n\ttcgen05.wait::ld.sync.aligned;\n" +
                 "".join(f"\tst.global.v4.b32 [%rd16+{4 * at + 16 * i}], {{{', '.join(words[4 * i:4 * i + 4])}}};\n" for i in range(4)))
    return text + """	tcgen05.fence::before_thread_sync;
	bar.sync 0;
	@%p2 bra END;
	tcgen05.fence::after_thread_sync;
	mov.b32 %r8, 512;
	tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r9, %r8;
END:
	ret;
}
"""
