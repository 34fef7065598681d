"""PTX by hand for block-scaled products of tcgen05 with tcgen05.cp, sm_100a: D[128][128] = (A * SFA) * (B * SFB)^T in f32.

One CTA of 128 threads. Operands and scales come by bulk copies, arranged beforehand: operands as core matrices of 8 rows of 16 bytes (K-major,
no swizzle; PTX ISA 9.7.16.3.3), one K step (32 bytes of each row) after the other; scales as blocks of 512 bytes, 128 rows of 4. Each block is
copied to tensor memory by tcgen05.cp.32x128b.warpx4 and used by the products of its K range.
"""

import sys

# name: kind, scale_vec, elements of a K step, scales of a K step, bits of an element, UE8M0
FORMS = {
    "mxfp8": ("mxf8f6f4", "1X", 32, 1, 8, True),
    "mxfp4": ("mxf4", "2X", 64, 2, 4, True),
    "nvfp4": ("mxf4nvf4", "4X", 64, 4, 4, False),
    "nvfp4_ue8m0": ("mxf4nvf4", "4X", 64, 4, 4, True),
    "nvfp4_2x": ("mxf4nvf4", "2X", 64, 2, 4, True),
}
M = N = 128


def instruction_descriptor(form, scale_id):
    """PTX ISA 9.7.16.4.2, tables of the block-scaled kinds."""
    kind, _, _, _, _, ue8m0 = FORMS[form]
    types = 0 if kind == "mxf8f6f4" else 1 << 7 | 1 << 10  # e4m3 = 0; e2m1 = 1
    return types | scale_id << 4 | (N >> 3) << 17 | (1 << 23 if ue8m0 else 0) | (M >> 7) << 27 | scale_id << 29


def steps_of(form, k):
    """(K steps, blocks of four scales, steps of a block)."""
    _, _, elements, scales, _, _ = FORMS[form]
    return k // elements, k // elements * scales // 4, 4 // scales


def ptx(form, k):
    kind, vector, _, scales, _, _ = FORMS[form]
    steps, blocks, per_block = steps_of(form, k)
    operand = 128 * 32 * steps
    scale = 512 * blocks
    offsets = {"a": 0, "b": operand, "sa": 2 * operand, "sb": 2 * operand + scale}
    total = 2 * operand + 2 * scale
    # Descriptors: constant 0b001 at bit 46; leading 128, stride 256 bytes; of scales: stride 128 bytes.
    matrix, table = 1 << 46 | 256 >> 4 << 32 | 128 >> 4 << 16, 1 << 46 | 128 >> 4 << 32
    lines = [f"""// {form}: written by test/Simulator/Inputs/block_scaled.py
.version 8.7
.target sm_100a
.address_size 64
.extern .shared .align 1024 .b8 memory[];
.visible .entry scaled(.param .u64 pa, .param .u64 pb, .param .u64 psa, .param .u64 psb, .param .u64 pd)
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
	ld.param.u64 %rd3, [psa];
	ld.param.u64 %rd4, [psb];
	ld.param.u64 %rd5, [pd];
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
	mbarrier.arrive.expect_tx.shared.b64 _, [%r3], {total};"""]
    for name, register, size in (("a", 1, operand), ("b", 2, operand), ("sa", 3, scale), ("sb", 4, scale)):
        lines.append(f"	add.s32 %r7, %r2, {offsets[name]};\n	cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                     f"[%r7], [%rd{register}], {size}, [%r3];")
    lines.append("""STARTED:
	@%p2 bra ALLOCATED;
	bar.warp.sync -1;
	mov.b32 %r8, 256;
	tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r5], %r8;
	tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
ALLOCATED:
	tcgen05.fence::before_thread_sync;
	bar.sync 0;
	tcgen05.fence::after_thread_sync;
	ld.shared.b32 %r9, [%r5];
	@%p1 bra WAIT;
LOADED:
	mbarrier.try_wait.parity.shared.b64 %p3, [%r3], 0;
	@!%p3 bra LOADED;
	shr.u32 %r10, %r2, 4;
	cvt.u64.u32 %rd10, %r10;""")
    for block in range(blocks):
        sfa, sfb = 128 + 8 * block, 132 + 8 * block
        for register, name, column in ((11, "sa", sfa), (12, "sb", sfb)):
            lines.append(f"	add.s64 %rd{register}, %rd10, {table + (offsets[name] + 512 * block >> 4)};\n	add.s32 %r{register}, %r9, {column};\n"
                         f"	tcgen05.cp.cta_group::1.32x128b.warpx4 [%r{register}], %rd{register};")
        for step in range(per_block):
            at = 4096 * (block * per_block + step) >> 4
            first = block == 0 and step == 0
            lines.append(f"	add.s64 %rd13, %rd10, {matrix + at};\n	add.s64 %rd14, %rd10, {matrix + (offsets['b'] >> 4) + at};\n"
                         f"	mov.b32 %r13, {instruction_descriptor(form, step * scales)};\n	setp.eq.u32 %p4, {int(first)}, 0;\n"
                         f"	tcgen05.mma.cta_group::1.kind::{kind}.block_scale.scale_vec::{vector} [%r9], %rd13, %rd14, %r13, [%r11], [%r12], %p4;")
    lines.append("""	tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r4];
WAIT:
	mbarrier.try_wait.parity.shared.b64 %p3, [%r4], 0;
	@!%p3 bra WAIT;
	tcgen05.fence::after_thread_sync;
	mul.wide.u32 %rd15, %r1, 512;
	add.s64 %rd16, %rd5, %rd15;""")
    for half in range(2):
        registers = [f"%r{20 + i}" for i in range(64)]
        lines.append(f"	add.s32 %r14, %r9, {64 * half};\n	tcgen05.ld.sync.aligned.32x32b.x64.b32 {{{', '.join(registers)}}}, [%r14];\n"
                     "	tcgen05.wait::ld.sync.aligned;")
        lines += [f"	st.global.v4.b32 [%rd16+{256 * half + 16 * i}], {{{', '.join(registers[4 * i:4 * i + 4])}}};" for i in range(16)]
    lines.append("""	tcgen05.fence::before_thread_sync;
	bar.sync 0;
	@%p2 bra END;
	tcgen05.fence::after_thread_sync;
	mov.b32 %r8, 256;
	tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r9, %r8;
END:
	ret;
}
""")
    return "\n".join(lines)


if __name__ == "__main__":
    print(ptx(sys.argv[1], int(sys.argv[2])))
