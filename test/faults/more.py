"""More seeded faults of the compiled kernels: wrong numbers in otherwise whole protocols, fences and arrivals in the wrong place, and what a
warp leaves out because its lanes seem to run together."""

import re

from fault import Fault
from mutate import both, by_lane, drop, drop_wait, edit, in_source, insert, keep_between_tiles, move, swap
from places import (DESCRIPTOR, LOAD, MMA, PRODUCT, RELEASE, STORE, WAIT, ahead, arrivals, behind, closest, giver, inits, loads, on_ring_of, waits, within,
                    without)

PINGPONG, MULTICAST, ATTENTION, FP8 = "gemm_pingpong", "gemm_multicast", "attention_d128", "gemm_fp8_block_128x128"
TC, PAIR, MXF8, TC_ATTENTION = "gemm_tcgen05", "gemm_tcgen05_pair", "gemm_tcgen05_mxf8", "attention_tcgen05"
FULL, FREE = ahead(WAIT, PRODUCT), ahead(WAIT, LOAD)
ACCUMULATOR, COMMIT = ahead(WAIT, r"tcgen05\.ld"), r"tcgen05\.commit"
CLUSTER_END = both(drop(r"barrier\.cluster\.arrive", -1), drop(r"barrier\.cluster\.wait", -1))
WARP_SYNC = r"bar\.warp\.sync"
BEFORE = r"tcgen05\.fence::before"
PROXY_FENCE = r"fence\.proxy\.async"
READS_FENCE = without(PROXY_FENCE, ahead(PROXY_FENCE, STORE))  # between ordinary reads of a slot and its release to copies


def number(place, change, **where):
    """Another last number of a statement."""
    return edit(place, lambda line: re.sub(r"(-?\d+)(\}?;)", lambda m: f"{change(int(m.group(1)))}{m.group(2)}", line), **where)


def bytes_expected(change):
    return number(giver(r"mbarrier\.arrive\.expect_tx", r"\], (%r\d+);"), change)


def barrier_of(line):
    return re.search(r"\[.*?\]", line).group()


def invalidated(init, before):
    """The first barrier of a ring is no more, before another statement."""
    return lambda ptx, recipe: insert(f"\tmbarrier.inval.shared.b64 {barrier_of(ptx.split(chr(10))[init(ptx)[0]])};", before)(ptx, recipe)


def beyond(place, group, line_number=0):
    """A tile coordinate far outside."""
    return edit(place, lambda line: re.sub(r"\{(%r\d+), (%r\d+)\}", lambda m: "{" + ", ".join(
        "1048576" if i == group else m.group(i) for i in (1, 2)) + "}", line), line_number)


def by_one_lane(place, number=0):
    """Only the first lane of each warp executes the statement."""
    return edit(place, lambda line: ("\t{ .reg .pred %one; .reg .b32 %lane; mov.u32 %lane, %laneid; setp.eq.u32 %one, %lane, 0; "
                                     f"@%one {line.strip()} }}"), number)


def unfenced(kernel, name, **options):
    return Fault(kernel, name, drop(READS_FENCE, options.pop("number", 0)), "missing-proxy-fence", **options)


def freed_by_warp(warp):
    """The branch around the dealloc is taken by all warps but that one."""
    return edit(ahead(r"@%p\d+ bra", r"tcgen05\.dealloc"), lambda line: (
        "\t{ .reg .pred %mine; .reg .b32 %warp; mov.u32 %warp, %tid.x; shr.u32 %warp, %warp, 5; "
        f"setp.ne.u32 %mine, %warp, {warp}; {re.sub('@%p[0-9]+', '@%mine', line.strip())} }}"))


MORE = [
    # Slots that ordinary loads read and TMA refills. Where wgmma.fence waits for the loads, only the letter of PTX asks for the fence.
    unfenced("gemm_fp8_rows", "factors released without a proxy fence"),
    unfenced("gemm_bias", "bias released without a proxy fence"),
    unfenced("gemm_residual_tcgen05", "residual released without a proxy fence"),
    Fault("gemm_fp8_rows", "proxy fence before the factors are read", move(READS_FENCE, 0, before=r"ld\.shared\.v2"), "missing-proxy-fence"),
    Fault("gemm_bias", "proxy fence behind the release", move(READS_FENCE, 0, after=closest(RELEASE, READS_FENCE)), "missing-proxy-fence"),
    Fault("gemm_bias", "proxy fence of global memory before the release", swap(READS_FENCE, "shared::cta", "global"), "missing-proxy-fence"),
    Fault("gemm_residual_tcgen05", "proxy fence by one lane before the release", by_one_lane(READS_FENCE), "missing-proxy-fence"),
    # Tensor memory: what one lane says for all, and the end.
    Fault(TC_ATTENTION, "fence of the probabilities by one lane", by_one_lane(behind(BEFORE, r"tcgen05\.st.*x16")), "tensor-race"),
    Fault(TC_ATTENTION, "fence of the rescaled output by one lane", by_one_lane(behind(BEFORE, r"tcgen05\.st.*x32")), "tensor-race"),
    Fault(TC_ATTENTION, "one lane releases the probabilities of all", drop(behind(WARP_SYNC, behind(BEFORE, r"tcgen05\.st.*x16"))), "tensor-race"),
    Fault(TC_ATTENTION, "one lane releases the rescaled output of all", drop(behind(WARP_SYNC, behind(BEFORE, r"tcgen05\.st.*x32"))), "tensor-race"),
    Fault(TC_ATTENTION, "fence of the probabilities before they are stored", move(behind(BEFORE, r"tcgen05\.st.*x16"), 0, before=r"tcgen05\.st.*x16"),
          "tensor-race"),
    Fault(TC_ATTENTION, "rescaled output stored before it has been loaded", move(behind(r"tcgen05\.wait::ld", r"tcgen05\.ld.*x32"), 0, after=behind(
        r"tcgen05\.st.*x32", r"tcgen05\.ld.*x32")), "missing-tcgen05-wait", "register-in-flight"),
    Fault(TC_ATTENTION, "tensor memory freed without the last barrier", drop(ahead(r"bar\.sync\s+0;", r"tcgen05\.dealloc")), "tensor-race",
          "tensor-bounds"),
    Fault(TC, "tensor memory freed by another warp, without the last barrier", both(
        drop(ahead(r"bar\.sync\s+0;", r"tcgen05\.dealloc")), freed_by_warp(5)), "tensor-race", "tensor-bounds"),
    unfenced(ATTENTION, "Q released without a proxy fence", checks="all,strict"),
    unfenced(FP8, "scales in the loop released without a proxy fence", checks="all,strict"),
    unfenced(FP8, "last scales released without a proxy fence", number=-1, checks="all,strict"),
    Fault(PINGPONG, "parity of a tile's first slot stays the same", keep_between_tiles(FULL), "race", "deadlock", "barrier-lapped"),
    Fault(PINGPONG, "proxy fence before the tile is staged", move(ahead(r"fence\.proxy\.async", STORE), 0, before=r"stmatrix"),
          "missing-proxy-fence"),
    Fault(PINGPONG, "rows of A half as far apart", number(giver(PRODUCT, r"\}, (%rd\d+),", 0, DESCRIPTOR), lambda n: n - 32), "wrong-result"),
    Fault(PINGPONG, "two lanes load", by_lane(ahead(r"elect\.sync", LOAD), "lt", 2), "mbarrier", "transaction-count"),
    Fault(PINGPONG, "one barrier for the turn and for the staged tile", swap(ahead(r"bar\.sync", STORE), r"%r\d+,", "14,", every=True),
          "named-barrier", "deadlock", "race"),
    Fault(PINGPONG, "both consumers stage by one barrier", swap(ahead(r"bar\.sync", STORE), r"%r\d+,", "13,"), "named-barrier", "race"),
    Fault(PINGPONG, "both consumers write behind one barrier", swap(ahead(r"bar\.sync", r"stmatrix"), r"%r\d+,", "13,"), "named-barrier", "race"),
    Fault(PINGPONG, "rows of A past the end", beyond(loads(0), 2), "wrong-result"),
    Fault(PINGPONG, "tile stored past the end", beyond(STORE, 2), "wrong-result"),
    Fault(PINGPONG, "registers not a multiple of eight", number(r"setmaxnreg\.inc", lambda n: n - 4), "setmaxnreg", "refused"),
    Fault(PINGPONG, "first products not committed", drop(closest(r"wgmma\.commit", FULL)),
          "register-in-flight", "race"),
    Fault(PINGPONG, "full barrier initialised again in the loop", edit(r"mbarrier\.arrive\.expect_tx", lambda line: (
        f"\t{{ .reg .b32 %one; mov.b32 %one, 1; mbarrier.init.shared.b64 {barrier_of(line)}, %one; }}\n{line}")),
          "mbarrier"),
    Fault(PINGPONG, "barriers invalidated before the last wait", invalidated(inits(LOAD), before=r"setmaxnreg\.inc"), "mbarrier"),
    Fault(PINGPONG, "slot released without release semantics", edit(RELEASE, lambda line: re.sub(
        r"arrive\.shared(::cta)?\.b64\s+(\S+),", r"arrive.relaxed.cta.shared::cta.b64 \2,", line), every=True), "race"),
    Fault(PINGPONG, "slot waited for without acquire semantics", edit(FULL, lambda line: line.replace(
        "try_wait.parity.shared", "try_wait.parity.relaxed.cta.shared::cta"), every=True), "race"),
    Fault(MULTICAST, "bytes of the other CTA's half not expected", bytes_expected(lambda n: n - 16384), "transaction-count"),
    Fault(MULTICAST, "bytes of both CTAs' copies of A expected", bytes_expected(lambda n: n + 16384), "transaction-count"),
    Fault(MULTICAST, "slot released in the first CTA twice", swap(r"mapa", r", %r\d+;", ", 0;"), "deadlock", "mbarrier", "barrier-lapped",
          "race"),
    Fault(MULTICAST, "free slot counts one CTA's consumers only", swap(inits(FREE), r", %r\d+;", ", 2;", every=True), "race", "mbarrier",
          "barrier-lapped"),
    Fault(MULTICAST, "CTA ends while the other still arrives", both(CLUSTER_END, drop_wait(without(waits(FREE), FREE), every=True)),
          "remote-exited", "exit-pending"),
    Fault(MULTICAST, "remote release relaxed", swap(r"mbarrier\.arrive\.shared::cluster", r"arrive\.shared::cluster",
                                                   "arrive.relaxed.cluster.shared::cluster"), "race"),
    Fault(MULTICAST, "cluster barrier relaxed after the initialisation", both(
        swap(r"barrier\.cluster\.arrive", r"arrive", "arrive.relaxed"), drop(r"fence\.mbarrier_init")), "race"),
    Fault(FP8, "scales released while other lanes of the warp read them", drop(ahead(WARP_SYNC, arrivals(FREE)), every=True), "race"),
    Fault(FP8, "first sums added before their product is done", drop(r"wgmma\.wait_group", 0), "register-in-flight"),
    Fault(TC, "commit of the accumulator before its last product", move(on_ring_of(COMMIT, ACCUMULATOR), 0, before=MMA), "tensor-race",
          "uninitialised", "mbarrier", "barrier-lapped"),
    Fault(TC, "epilogue reads the other accumulator", edit(r"tcgen05\.ld", lambda line: re.sub(r"\[(%r\d+)\]", r"[\1+256]", line)),
          "tensor-race", "uninitialised", "tensor-bounds"),
    Fault(TC, "instruction descriptor with M of 64", in_source(MMA, r"%rd\d+, (%r\d+), %p", r"(\d+);", lambda m: (
        f"{int(m.group(1)) & ~(31 << 24) | 4 << 24};")), "uninitialised", "wrong-result", "descriptor"),
    Fault(TC, "second step of A in the wrong place", edit(giver(MMA, r"\], (%rd\d+),", 2), lambda line: re.sub(r"(\d+);", "8192;", line)),
          "race", "uninitialised", "wrong-result", "out-of-bounds"),
    Fault(TC, "accumulator released before its loads have arrived", both(
        drop(r"tcgen05\.wait::ld"), insert("\ttcgen05.wait::ld.sync.aligned;", r"tcgen05\.dealloc")), "register-in-flight"),
    Fault(PAIR, "commit reaches the other CTA only", swap(on_ring_of(COMMIT, FREE), r"%rs\d+;", "2;"), "deadlock", "mbarrier"),
    Fault(PAIR, "bytes of one CTA expected", bytes_expected(lambda n: n // 2), "transaction-count", "race"),
    Fault(PAIR, "dealloc by one CTA's rules", swap(r"tcgen05\.dealloc", "cta_group::2", "cta_group::1"), "cta-group"),
    Fault(PAIR, "load signals the own CTA's barrier", swap(ahead(r"mapa", LOAD), r", %r\d+;", ", 1;"), "deadlock", "transaction-count",
          "mbarrier"),
    Fault(MXF8, "operands not waited for", drop_wait(waits(LOAD)), "race", "uninitialised"),
    Fault(MXF8, "scales copied to columns further on", edit(r"tcgen05\.cp", lambda line: line.replace("+256]", "+288]")),
          "uninitialised", "wrong-result", "tensor-race", "tensor-bounds"),
    Fault(TC_ATTENTION, "scores read before their product is done", drop_wait(ahead(WAIT, r"tcgen05\.ld.*x64"), 0), "tensor-race"),
    Fault(TC_ATTENTION, "output read before its product is done", drop_wait(
        within(ahead(WAIT, r"tcgen05\.ld.*x64"), waits(COMMIT)), -1), "tensor-race"),
    Fault(TC_ATTENTION, "Q not waited for", drop_wait(waits(loads(0)), 0), "race", "uninitialised"),
    Fault(TC_ATTENTION, "half of V not loaded", drop(loads(2), 1), "transaction-count"),
    Fault(TC_ATTENTION, "rescaled output not waited for", drop_wait(ahead(WAIT, r"tcgen05\.mma\S*\s+\[%\w+\], \[")), "tensor-race"),
]
