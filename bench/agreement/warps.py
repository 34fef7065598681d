"""Instructions among the lanes of a warp, divergence, special registers (PTX ISA 9.7.9.6, 9.7.13, 10)."""

import numpy as np

from .case import Case, elementwise, int_values, kernel
from .scalars import every

N = 1 << 12


def inputs(seed):
    rng = np.random.default_rng(seed)
    return [int_values(rng, N, 32) for _ in range(3)]


def masked(name, body, masks, outputs):
    """For each mask, the lanes in it run `body`, which sets %r10 and following; others store all ones."""
    out = np.zeros((len(masks), outputs, 32), np.uint32)
    text = "\tmov.b32 %r1, 1;\n\tshl.b32 %r1, %r1, %lan;\n\tmul.wide.u32 %rd1, %lan, 4;\n\tadd.s64 %rd2, %out, %rd1;\n"
    for i, mask in enumerate(masks):
        text += "".join(f"\tmov.b32 %r{10 + k}, -1;\n" for k in range(outputs))
        text += (f"\tand.b32 %r2, %r1, {mask:#x};\n\tsetp.eq.b32 %p1, %r2, 0;\n\t@%p1 bra SKIP{i};\n"
                 f"\t{body.format(mask=hex(mask))}\nSKIP{i}:\n\tbar.warp.sync -1;\n")
        text += "".join(f"\tst.global.b32 [%rd2+{(i * outputs + k) * 128}], %r{10 + k};\n" for k in range(outputs))
    return Case(name, "warp", kernel(text, ["out"]), [out], [out])


def cases():
    shuffles = [f"shfl.sync.{mode}.b32 %d|%q, %a, {b}, {c}, -1; @!%q xor.b32 %d, %d, 0x80000000;"
                for mode, cs in (("up", (0x0, 0x1800, 0x1000)), ("down", (0x1F, 0x181F, 0x1C1F, 0x0F)), ("bfly", (0x1F, 0x101F, 0x07)),
                                 ("idx", (0x1F, 0x181F, 0x0A, 0x1E1F))) for c in cs for b in (0, 1, 5, 16, 31, 33, "%lan")]
    yield elementwise("shfl", "warp", shuffles, inputs(30))
    yield elementwise("vote", "warp", ["setp.lt.u32 %q, %a, %b; " + text for text in (
        "vote.sync.all.pred %q, %q, -1; selp.b32 %d, 1, 0, %q;", "vote.sync.any.pred %q, %q, -1; selp.b32 %d, 1, 0, %q;",
        "vote.sync.uni.pred %q, %q, -1; selp.b32 %d, 1, 0, %q;", "vote.sync.ballot.b32 %d, %q, -1;",
        "vote.sync.ballot.b32 %d, !%q, -1;", "activemask.b32 %d;")], inputs(31))
    few = [x & 3 for x in inputs(32)]
    few[1][:64] = 7
    yield elementwise("match", "warp", ["match.any.sync.b32 %d, %a, -1;", "match.all.sync.b32 %d|%q, %b, -1; @%q xor.b32 %d, %d, 1;",
                                        "{ .reg .b64 %w; cvt.u64.u32 %w, %c; match.any.sync.b64 %d, %w, -1; }"], few)
    yield elementwise("redux", "warp", every("redux.sync.{0}.{1} %d, %a, -1;", ["add", "min", "max"], ["u32", "s32"]) +
                      every("redux.sync.{0}.b32 %d, %a, -1;", ["and", "or", "xor"]), inputs(33))
    masks = [0xFFFFFFFF, 0xFFFF0000, 0x0000FF00, 0x80000000, 0x00000001, 0xAAAAAAAA, 0x55555555, 0x00010010, 0xF000000F, 0x7FFFFFFE]
    elect = masked("elect", "elect.sync %r10|%p2, {mask}; selp.b32 %r11, 1, 0, %p2;", masks, 2)
    elect.question = "Which lane of the mask is elected? Assumed: the lowest."
    yield elect
    yield masked("masked_warp_operations", "add.s32 %r3, %lan, 100; redux.sync.add.u32 %r10, %r3, {mask}; "
                 "setp.gt.u32 %p3, %lan, 7; vote.sync.ballot.b32 %r11, %p3, {mask}; match.any.sync.b32 %r12, %r3, {mask}; "
                 "activemask.b32 %r13;", [m for m in masks if m != 0xFFFFFFFF], 3)
    # Divergence: nested branches, a loop with a trip count of its own in every lane, a switch.
    body = """
	mul.wide.u32 %rd1, %thr, 4;
	add.s64 %rd2, %x, %rd1;
	add.s64 %rd3, %out, %rd1;
	ld.global.b32 %r1, [%rd2];
	mov.b32 %r2, 0;
	and.b32 %r1, %r1, 0x3FF;
	add.s32 %r1, %r1, 1;
COLLATZ:
	setp.eq.u32 %p1, %r1, 1;
	@%p1 bra ONE;
	and.b32 %r3, %r1, 1;
	setp.eq.u32 %p2, %r3, 0;
	@%p2 bra EVEN;
	mad.lo.u32 %r1, %r1, 3, 1;
	bra NEXT;
EVEN:
	shr.u32 %r1, %r1, 1;
NEXT:
	add.s32 %r2, %r2, 1;
	bra COLLATZ;
ONE:
	bar.warp.sync -1;
	and.b32 %r4, %r2, 3;
TABLE: .branchtargets L0, L1, L2, L3;
	brx.idx %r4, TABLE;
L0:
	mad.lo.u32 %r2, %r2, 5, 1;
	bra JOIN;
L1:
	xor.b32 %r2, %r2, 0xFF;
	bra JOIN;
L2:
	shl.b32 %r2, %r2, 3;
L3:
	add.s32 %r2, %r2, 77;
JOIN:
	bar.warp.sync -1;
	shfl.sync.bfly.b32 %r5, %r2, 1, 31, -1;
	add.s32 %r2, %r2, %r5;
	st.global.b32 [%rd3], %r2;
"""
    x = inputs(34)[0][:256].copy()
    out = np.zeros(256, np.uint32)
    yield Case("divergence", "control", kernel(body, ["x", "out"]), [x, out], [out], block=256)
    call = """
.func (.param .b32 result) twist(.param .b32 u, .param .b32 v)
{
	.reg .b32 %t<5>;
	ld.param.b32 %t0, [u];
	ld.param.b32 %t1, [v];
	mad.lo.u32 %t2, %t0, 17, %t1;
	xor.b32 %t3, %t2, %t0;
	st.param.b32 [result], %t3;
	ret;
}
"""
    body = "\tmul.wide.u32 %rd1, %thr, 4;\n\tadd.s64 %rd2, %out, %rd1;\n"
    for i, (u, v) in enumerate((("%thr", "%lan"), ("%r1", "%thr"))):
        body += (f"\t{{ .param .b32 p0; .param .b32 p1; .param .b32 q; st.param.b32 [p0], {u}; st.param.b32 [p1], {v};\n"
                 f"\tcall (q), twist, (p0, p1);\n\tld.param.b32 %r{i + 1}, [q]; }}\n")
    body += "\tst.global.b32 [%rd2], %r2;\n"
    out = np.zeros(64, np.uint32)
    yield Case("call", "control", kernel(body, ["out"], call), [out], [out], block=64)
    names = ["tid.x", "ntid.x", "ctaid.x", "nctaid.x", "laneid", "cluster_ctarank", "cluster_nctarank", "cluster_ctaid.x", "clusterid.x",
             "nclusterid.x", "lanemask_eq", "lanemask_le", "lanemask_lt", "lanemask_ge", "lanemask_gt", "tid.y", "ntid.y", "ctaid.y",
             "dynamic_smem_size", "total_smem_size"]
    out = np.zeros((len(names), 4, 64), np.uint32)
    body = "\tmad.lo.u32 %r1, %blk, 64, %thr;\n\tmul.wide.u32 %rd1, %r1, 4;\n\tadd.s64 %rd2, %out, %rd1;\n"
    body += "".join(f"\tmov.u32 %r2, %{name};\n\tst.global.b32 [%rd2+{1024 * i}], %r2;\n" for i, name in enumerate(names))
    yield Case("special_registers", "control", kernel(body, ["out"], cluster=2), [out], [out], grid=4, block=64, cluster=2)
    # Register pools: two warpgroups trade registers, many live values in one.
    body = "\tshr.u32 %r1, %thr, 7;\n\tsetp.eq.u32 %p1, %r1, 0;\n\t@%p1 bra FEW;\n\tsetmaxnreg.inc.sync.aligned.u32 208;\n"
    body += "".join(f"\tmad.lo.u32 %r{20 + i}, %thr, {i * 7 + 3}, {i};\n" for i in range(120))
    body += "".join(f"\tmad.lo.u32 %r{20 + i}, %r{20 + (i + 61) % 120}, 5, %r{20 + i};\n" for i in range(120))
    body += "\tmov.b32 %r2, 0;\n" + "".join(f"\txor.b32 %r2, %r2, %r{20 + i};\n" for i in range(120))
    body += "\tbra STORE;\nFEW:\n\tsetmaxnreg.dec.sync.aligned.u32 40;\n\tmul.lo.u32 %r2, %thr, 3;\nSTORE:\n\tmul.wide.u32 %rd1, %thr, 4;\n\tadd.s64 %rd2, %out, %rd1;\n\tst.global.b32 [%rd2], %r2;\n"
    out = np.zeros(256, np.uint32)
    yield Case("setmaxnreg", "control", kernel(body, ["out"], extra="\n.maxntid 256, 1, 1\n.minnctapersm 1\n.maxnreg 128"), [out], [out],
               block=256)
