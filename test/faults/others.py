"""Seeded faults of another kind: the right statement for the wrong slot, or by the wrong threads. One warp, one lane or one CTA does what all have
to do, or all do what one has to."""

import re

from fault import Fault
from mutate import by_warps, drop, edit, move, swap
from places import LOAD, MMA, PRODUCT, RELEASE, STORE, WAIT, ahead, arrivals, behind, closest, loads, on_ring_of, waits

PINGPONG, MULTICAST, ATTENTION = "gemm_pingpong", "gemm_multicast", "attention_d128"
TC, PAIR = "gemm_tcgen05", "gemm_tcgen05_pair"
FULL, FREE, STAGED = ahead(WAIT, PRODUCT), ahead(WAIT, LOAD), ahead(r"bar\.sync", STORE)
IN_LOOP = closest(RELEASE, r"wgmma\.wait_group.* 1;")
ACCUMULATOR, COMMIT = ahead(WAIT, r"tcgen05\.ld"), r"tcgen05\.commit"


def further_on(place, distance, number=0):
    """The statement's (first) address, `distance` bytes further on."""
    return edit(place, lambda line: re.sub(r"\[([^\[\]{},+]+)(?:\+(\d+))?\]", lambda m: f"[{m.group(1)}+{int(m.group(2) or 0) + distance}]", line, count=1),
                number)


def where(condition, place, number=0, otherwise=""):
    """The statement under a predicate %mine that `condition` sets (it has %n); for the others `otherwise`."""
    return edit(place, lambda line: (f"\t{{ .reg .pred %mine; .reg .b32 %n; {condition} @%mine {line.strip()} "
                                     f"{'@!%mine ' + otherwise(line) if otherwise else ''} }}"), number)


LOW_LANES = "mov.u32 %n, %laneid; setp.lt.u32 %mine, %n, 16;"
FIRST_LANE = "mov.u32 %n, %laneid; setp.eq.u32 %mine, %n, 0;"
FIRST_WARP = "mov.u32 %n, %tid.x; and.b32 %n, %n, 96; setp.eq.u32 %mine, %n, 0;"
FIRST_CTA = "mov.u32 %n, %cluster_ctarank; setp.eq.u32 %mine, %n, 0;"


def as_done(line):
    """A wait that is over."""
    return f"setp.eq.b32 {re.search('%p[0-9]+', line).group()}, 0, 0;"


def to_rank(rank):
    """Addresses in the CTA that `rank` makes %own of, in every mapa."""
    return edit(r"mapa", lambda line: re.sub(r"(mapa\S*\s+%r\d+, %r\d+), %r\d+;", rf"{{ .reg .b32 %own; mov.u32 %own, %cluster_ctarank; {rank} \1, %own; }}", line),
                every=True)


OTHERS = [
    # Another slot's barrier.
    Fault(PINGPONG, "consumer waits for the next slot's barrier", further_on(FULL, 8, 1), "race", "deadlock"),
    Fault(PINGPONG, "producer waits for the next slot's barrier", further_on(FREE, 8), "deadlock", "race"),
    Fault(PINGPONG, "slot released on the next slot's barrier", further_on(IN_LOOP, 8), "deadlock", "race"),
    Fault(TC, "commit frees the next slot", further_on(on_ring_of(COMMIT, FREE), 8), "deadlock"),
    # By too few or too many.
    Fault(PINGPONG, "barriers initialised by every lane", edit(ahead(r"elect\.sync", r"mbarrier\.init"), lambda line: (
        f"{line}\n\tsetp.eq.u32 {re.search(r'[|](%p[0-9]+)', line).group(1)}, 0, 0;")), "mbarrier", "race"),
    Fault(PINGPONG, "election among 16 lanes", swap(ahead(r"elect\.sync", LOAD), "-1;", "65535;"), "bad-membermask"),
    Fault(PINGPONG, "slots waited for by one warp of four", where(FIRST_WARP, FULL, 1, as_done), "race"),
    Fault(PINGPONG, "slots released by three warps of four", by_warps(IN_LOOP, "ne"), "deadlock"),
    Fault(PINGPONG, "staged tile announced, but not waited for", swap(STAGED, r"bar\.sync", "bar.arrive", 0), "race", "named-barrier"),
    Fault(PINGPONG, "one store more may still read the staging buffer", swap(
        ahead(r"cp\.async\.bulk\.wait_group\.read", r"stmatrix"), r"0;", "1;", 1), "race"),
    Fault(PINGPONG, "products committed behind their wait", move(ahead(r"wgmma\.commit", r"wgmma\.wait_group.* 1;"), 0, after=r"wgmma\.wait_group.* 1;"), "race"),
    Fault(ATTENTION, "vote of half a warp", swap(r"vote\.sync", "-1;", "65535;"), "bad-membermask"),
    Fault(ATTENTION, "Q read before it is waited for", move(r"ldmatrix", 0, before=waits(loads(0))), "race", "uninitialised"),
    # Clusters.
    Fault(MULTICAST, "one CTA multicasts for both", where(FIRST_CTA, r"multicast::cluster"), "transaction-count", "deadlock"),
    Fault(MULTICAST, "both CTAs release in the other one", to_rank("xor.b32 %own, %own, 1;"), "race"),
    Fault(PAIR, "each CTA releases its own accumulator", to_rank(""), "deadlock"),
    Fault(PAIR, "commit of the accumulator reaches the issuer only", edit(on_ring_of(COMMIT, ACCUMULATOR), lambda line: re.sub(
        r"\.multicast::cluster(.*), %rs\d+;", r"\1;", line)), "deadlock"),
    # Tensor memory.
    Fault(TC, "accumulator waited for by one warp of four", where(FIRST_WARP, ACCUMULATOR, 0, as_done), "tensor-race"),
    Fault(TC, "accumulator released by three warps of four", by_warps(arrivals(ahead(WAIT, ahead(waits(LOAD), MMA))), "ne"), "deadlock"),
    Fault(TC, "address of tensor memory read without a barrier", drop(behind(r"bar\.sync", r"tcgen05\.alloc")), "race"),
    Fault(TC, "alloc by one lane", where(FIRST_LANE, r"tcgen05\.alloc"), "diverged"),
    Fault(TC, "accumulator read by half a warp", where(LOW_LANES, r"tcgen05\.ld"), "diverged"),
    Fault("stealing", "answer's bytes expected twice", edit(r"expect_tx", lambda line: line + "\n" + line), "mbarrier", "transaction-count"),
]
