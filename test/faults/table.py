"""The seeded faults: what is changed in which kernel, and the kinds of finding of which at least one must come.

`kinds` names the right checks only: a deadlock is no right answer where a byte count is wrong, nor a wrong result where a wait is missing.
`checks`: what --checks would be given. A fault that no rule of PTX forbids, but that computes the wrong thing, is found by comparing results
("wrong-result").
"""

import re

from fault import Fault
from mutate import (bits, both, by_warps, drop, drop_wait, edit, flip_parity, in_recipe, in_source, insert, keep_parity, move, move_to_join,
                    same_address, swap, test_once)
from places import (DESCRIPTOR, LOAD, MMA, PRODUCT, RELEASE, STORE, WAIT, ahead, arrivals, behind, closest, giver, inits, loads, on_ring_of,
                    waits, without)
from more import MORE
from others import OTHERS
from small import SMALL

PINGPONG, COOPERATIVE, MULTICAST = "gemm_pingpong", "gemm_cooperative", "gemm_multicast"
ATTENTION, FP8 = "attention_d128", "gemm_fp8_block_128x128"
TC, PAIR, MXF8, TC_ATTENTION = "gemm_tcgen05", "gemm_tcgen05_pair", "gemm_tcgen05_mxf8", "attention_tcgen05"

# Places of the pipelines: a wait for data, a wait for a free slot, the releases inside and behind the loop over k.
FULL, FREE = ahead(WAIT, PRODUCT), ahead(WAIT, LOAD)
IN_LOOP, LAST = closest(RELEASE, r"wgmma\.wait_group.* 1;"), closest(RELEASE, r"wgmma\.wait_group.* 0;")
WRAP = r"setp\.eq\.b32.*, \d+;"
TURN, MY_TURN = behind(r"bar\.arrive", PRODUCT), ahead(r"bar\.sync", FULL)
STAGED, WRITE = ahead(r"bar\.sync", STORE), ahead(r"bar\.sync", r"stmatrix")
OPERANDS, ACCUMULATOR, ACCUMULATOR_FREE = waits(LOAD), ahead(WAIT, r"tcgen05\.ld"), waits(RELEASE)
V_RELEASE = arrivals(ahead(WAIT, loads(2)))
WGMMA_WAIT = r"wgmma\.wait_group"
COMMIT = r"tcgen05\.commit"
FULL_COMMIT, FREE_COMMIT = on_ring_of(COMMIT, ACCUMULATOR), on_ring_of(COMMIT, FREE)
FROM_TENSOR_MEMORY = r"tcgen05\.mma\S*\s+\[%\w+\], \["  # products whose A lies there
# Its second product waits for its own accumulator last, the output, and before it for the probabilities.
OUTPUT_WAIT = ahead(WAIT, FROM_TENSOR_MEMORY)
PROBABILITIES_WAIT = without(ahead(WAIT, OUTPUT_WAIT), OUTPUT_WAIT)
OUTPUT_FENCE, PROBABILITIES_FENCE = (ahead(r"tcgen05\.fence::before", arrivals(one)) for one in (OUTPUT_WAIT, PROBABILITIES_WAIT))


def bytes_of(slot):
    """Changes how many bytes the arrival at a full barrier announces."""
    return edit(giver(r"mbarrier\.arrive\.expect_tx", r"\], (%r\d+);"), lambda line: re.sub(r"(\d+);", lambda m: f"{slot(int(m.group(1)))};", line))


def other_ring(change, place, **where):
    """The length of a ring, where an index wraps."""
    return edit(place, lambda line: re.sub(r", (\d+);", lambda m: f", {change(int(m.group(1)))};", line), **where)


FAULTS = [
    # A pipeline of TMA loads and wgmma: waits, arrivals, byte counts.
    Fault(PINGPONG, "consumer does not wait for its first slot", drop_wait(FULL, 0), "race"),
    Fault(PINGPONG, "consumer does not wait for the slots in its loop", drop_wait(FULL, 1), "race"),
    Fault(PINGPONG, "producer does not wait for free slots", drop_wait(FREE), "race", "mbarrier"),
    Fault(PINGPONG, "consumer waits for the wrong parity", flip_parity(FULL), "race", "deadlock"),
    Fault(PINGPONG, "producer starts with the wrong parity", flip_parity(FREE), "deadlock"),
    Fault(PINGPONG, "slot never released in the loop", drop(IN_LOOP), "deadlock"),
    Fault(PINGPONG, "last slot of a tile never released", drop(LAST), "deadlock"),
    Fault(PINGPONG, "turn never given to the other consumer", drop(TURN), "deadlock"),
    Fault(PINGPONG, "slot released before the wgmmas that read it are waited for",
          move_to_join(r"wgmma\.wait_group.*1;", 0), "race"),
    Fault(PINGPONG, "wait_group leaves one group more in flight", swap(r"wgmma\.wait_group.* 1;", r"1;", "2;"), "race"),
    Fault(PINGPONG, "expect_tx of 16 bytes too many", bytes_of(lambda n: n + 16), "transaction-count"),
    Fault(PINGPONG, "expect_tx of one operand only", bytes_of(lambda n: n // 5), "race", "transaction-count"),
    Fault(PINGPONG, "arrive without expect_tx", swap(r"mbarrier\.arrive\.expect_tx", r"\.expect_tx(.*), %r\d+;", r"\1;"), "race",
          "transaction-count"),
    Fault(PINGPONG, "expect_tx and arrival missing", drop(r"mbarrier\.arrive\.expect_tx"), "transaction-count"),
    Fault(PINGPONG, "load of B missing", drop(loads(1)), "transaction-count"),
    Fault(PINGPONG, "A loaded over B", edit(loads(1), lambda line: (
        re.sub(r"\[(%r\d+)\+\d+\]", r"[\1]", line, count=1))), "uninitialised"),
    Fault(PINGPONG, "consumer's ring one slot shorter", other_ring(lambda n: n - 1, behind(WRAP, FULL), number=1), "race", "deadlock",
          "barrier-lapped"),
    Fault(PINGPONG, "producer's ring one slot shorter", other_ring(lambda n: n - 1, behind(WRAP, FREE)), "race", "deadlock"),
    Fault(PINGPONG, "both rings one slot longer than the barriers", both(
        other_ring(lambda n: n + 1, behind(WRAP, FREE), every=True), other_ring(lambda n: n + 1, behind(WRAP, FULL), every=True)),
          "mbarrier", "out-of-bounds", "deadlock"),
    Fault(PINGPONG, "barrier of a free slot counts one arrival more", swap(inits(RELEASE), r", %r\d+;", ", 5;"), "deadlock"),
    Fault(PINGPONG, "barrier of a free slot counts one arrival less", swap(inits(RELEASE), r", %r\d+;", ", 3;"), "race",
          "mbarrier"),
    Fault(PINGPONG, "no CTA barrier after the initialisation of mbarriers", drop(r"bar\.sync\s+0;"), "race"),
    Fault(PINGPONG, "a barrier is not initialised", drop(inits(LOAD), 1), "mbarrier"),
    Fault(PINGPONG, "a barrier is initialised twice", edit(inits(LOAD), lambda line: line + "\n" + line, 1), "mbarrier"),
    Fault(PINGPONG, "no fence after the initialisation", drop(r"fence\.mbarrier_init"), "missing-proxy-fence", checks="all,strict"),
    # wgmma.
    Fault(PINGPONG, "no wgmma.fence before the first wgmma", drop(ahead(r"wgmma\.fence", PRODUCT), 0), "missing-wgmma-fence"),
    Fault(PINGPONG, "no commit in the loop", drop(ahead(r"wgmma\.commit", r"wgmma\.wait_group.* 1;")), "race", "register-in-flight"),
    Fault(PINGPONG, "no wait before the accumulators are read", drop(r"wgmma\.wait_group.* 0;", 0), "register-in-flight"),
    Fault(PINGPONG, "accumulators converted before the wait", move(r"cvt\.rn\.bf16x2", 0, before=r"wgmma\.wait_group.* 0;"),
          "register-in-flight"),
    Fault(PINGPONG, "first wgmma adds to what was there", swap(behind(PRODUCT, FULL), r"p, 1, 1|0, 1, 1, 0, 0", "1, 1, 1, 0, 0", 0),
          "uninitialised", "wrong-result"),
    Fault(PINGPONG, "B read with twice its stride", edit(giver(PRODUCT, r"\}, %rd\d+, (%rd\d+),", 0, DESCRIPTOR), lambda line: (
        re.sub(r"(\d+)\}", lambda m: f"{int(m.group(1)) + 64}}}", line))), "race", "uninitialised",
          "out-of-bounds"),
    Fault(PINGPONG, "A read with a 64-byte swizzle", edit(giver(PRODUCT, r"\}, (%rd\d+),", 0, DESCRIPTOR), lambda line: (
        re.sub(r"(\d+)\}", lambda m: f"{(int(m.group(1)) & ~(7 << 29) | 2 << 30) - (1 << 32)}}}", line))), "swizzle-mismatch"),
    # Epilogue: stmatrix, proxy fence, TMA store.
    Fault(PINGPONG, "no proxy fence before the TMA store", drop(ahead(r"fence\.proxy\.async", STORE), 0), "missing-proxy-fence"),
    Fault(PINGPONG, "no barrier before the TMA store", drop(STAGED, 0), "race"),
    Fault(PINGPONG, "no barrier before the staging buffer is written again", drop(WRITE, 1), "race"),
    Fault(PINGPONG, "TMA store still reads the staging buffer", drop(ahead(r"cp\.async\.bulk\.wait_group\.read", r"stmatrix"), 1), "race"),
    Fault(PINGPONG, "TMA store not committed", drop(behind(r"cp\.async\.bulk\.commit_group", STORE), 0), "race"),
    Fault(PINGPONG, "last TMA store not committed", drop(behind(r"cp\.async\.bulk\.commit_group", STORE), -1), "exit-pending"),
    Fault(PINGPONG, "CTA ends while its TMA store reads", drop(r"cp\.async\.bulk\.wait_group\s+0", 0), "exit-pending"),
    Fault(PINGPONG, "barrier counts 96 threads", swap(STAGED, "128", "96", 0), "named-barrier"),
    Fault(PINGPONG, "barrier counts both consumers", swap(r"bar\.sync\s+%r\d+, 128", "128", "256", every=True), "deadlock"),
    Fault(PINGPONG, "both consumers use one barrier", swap(r"bar\.sync\s+%r\d+, 128", r"%r\d+, ", "1, ", every=True), "race",
          "uninitialised"),
    Fault(PINGPONG, "stmatrix writes a tile over another", same_address(r"stmatrix", 1), "uninitialised",
          "wrong-result"),
    # Registers.
    Fault(PINGPONG, "consumers ask for more registers than there are", swap(r"setmaxnreg\.inc", r"\d+;", "248;"), "deadlock"),
    Fault(PINGPONG, "producer keeps its registers", drop(r"setmaxnreg\.dec"), "deadlock"),
    Fault(PINGPONG, "dec asks for more than the warp has", swap(r"setmaxnreg\.dec", r"\d+;", "240;"), "setmaxnreg"),
    # The launch recipe.
    Fault(PINGPONG, "box of A half as high", in_recipe("parameters", 0, "box", value=[64, 32]), "transaction-count"),
    Fault(PINGPONG, "tensor map of A without swizzle", in_recipe("parameters", 0, "swizzle", value=0), "swizzle-mismatch"),
    Fault(PINGPONG, "tensor map of C without swizzle", in_recipe("parameters", 2, "swizzle", value=0), "wrong-result"),
    Fault(PINGPONG, "too little shared memory", in_recipe("launch", "shared_bytes", value=lambda bytes: bytes - 32), "out-of-bounds"),
    Fault(PINGPONG, "one warpgroup of threads missing", in_recipe("launch", "threads", value=256), "refused"),
    # Clusters and multicast.
    Fault(MULTICAST, "no cluster barrier after the initialisation",
          both(drop(r"barrier\.cluster\.arrive"), drop(r"barrier\.cluster\.wait")), "race", "mbarrier"),
    Fault(MULTICAST, "wait without arrive at the last cluster barrier", drop(r"barrier\.cluster\.arrive", -1), "cluster-barrier"),
    Fault(MULTICAST, "multicast to one CTA only", swap(r"multicast::cluster", r"(, %rs\d+)", ", 1"), "transaction-count"),
    Fault(MULTICAST, "multicast mask names a third CTA", swap(r"multicast::cluster", r"(, %rs\d+)", ", 7"), "bad-multicast"),
    Fault(MULTICAST, "slots released in the own CTA only", edit(r"mapa", lambda line: re.sub(
        r"\t(mapa.*), %r\d+;", r"\t{ .reg .b32 %own; mov.u32 %own, %cluster_ctarank; \1, %own; }", line)), "deadlock", "race"),
    Fault(MULTICAST, "remote release missing", drop(r"mbarrier\.arrive\.shared::cluster"), "deadlock"),
    Fault(MULTICAST, "slot released through a CTA that does not exist", swap(r"mapa", r", %r\d+;", ", 5;", 0), "out-of-bounds"),
    Fault(MULTICAST, "no fence after the initialisation", drop(r"fence\.mbarrier_init"), "missing-proxy-fence", checks="all,strict"),
    # Attention: a chain of two products, A in registers.
    Fault(ATTENTION, "no wgmma.fence before the scores are computed again", drop(ahead(r"wgmma\.fence", PRODUCT), 1), "missing-wgmma-fence"),
    Fault(ATTENTION, "no wgmma.fence before the last product", drop(ahead(r"wgmma\.fence", ahead(PRODUCT, STORE))), "missing-wgmma-fence"),
    Fault(ATTENTION, "scores read before their product is done", swap(r"wgmma\.wait_group.* 1;", "1;", "2;"), "register-in-flight"),
    Fault(ATTENTION, "output read before its product is done", drop(ahead(r"wgmma\.wait_group", V_RELEASE), -1), "register-in-flight"),
    Fault(ATTENTION, "V released while its product reads it", move_to_join(
        without(ahead(WGMMA_WAIT, V_RELEASE), ahead(WGMMA_WAIT, STORE))), "race"),
    Fault(ATTENTION, "V not waited for", drop_wait(waits(loads(2))), "race"),
    Fault(ATTENTION, "Q not waited for", drop_wait(waits(loads(0))), "race"),
    Fault(ATTENTION, "half of Q not loaded", drop(loads(0), 1), "transaction-count"),
    Fault(ATTENTION, "half of K not loaded", drop(loads(1), 1), "transaction-count"),
    # FP8 with scales read by ordinary loads.
    Fault(FP8, "scales read before the slot is full", drop_wait(waits(LOAD)), "race"),
    Fault(FP8, "slot with scales never released", drop(arrivals(ahead(WAIT, LOAD))), "deadlock"),
    # tcgen05.
    Fault(TC, "accumulator read before the commit is waited for", drop_wait(ACCUMULATOR), "tensor-race"),
    Fault(TC, "no fence::after_thread_sync before tcgen05.ld", drop(ahead(r"tcgen05\.fence::after", r"tcgen05\.ld")), "tensor-race"),
    Fault(TC, "no fence::before_thread_sync before the accumulator is released", drop(ahead(r"tcgen05\.fence::before", RELEASE)), "tensor-race"),
    Fault(TC, "no wait::ld before the loaded registers are used", drop(r"tcgen05\.wait::ld"), "register-in-flight"),
    Fault(TC, "matrix unit does not wait for a free accumulator", drop_wait(ACCUMULATOR_FREE), "tensor-race"),
    Fault(TC, "operands not waited for", drop_wait(OPERANDS), "race", "uninitialised"),
    Fault(TC, "commit of the accumulator missing", drop(FULL_COMMIT), "deadlock"),
    Fault(TC, "commit of the slot missing", drop(FREE_COMMIT), "deadlock"),
    Fault(TC, "commit of the slot before the products", move(FREE_COMMIT, 0, before=MMA, anchor=0), "race"),
    Fault(TC, "accumulator never released", drop(RELEASE), "deadlock"),
    Fault(TC, "no dealloc", drop(r"tcgen05\.dealloc"), "tensor-leak"),
    Fault(TC, "dealloc twice", edit(r"tcgen05\.dealloc", lambda line: line + "\n" + line), "tensor-alloc"),
    Fault(TC, "dealloc of half the columns", swap(r"tcgen05\.dealloc", r", %r\d+;", ", 256;"), "tensor-alloc"),
    Fault(TC, "tensor memory freed while it is read", insert(
        "\t{ .reg .b32 %a, %n; .reg .pred %done; mov.u32 %a, %tid.x; setp.ge.u32 %done, %a, 32; mov.b32 %a, 0; "
        "mov.b32 %n, 512; @!%done tcgen05.dealloc.cta_group::1.sync.aligned.b32 %a, %n; }",
        r"tcgen05\.wait::ld"), "tensor-race"),
    Fault(TC, "half the columns allocated", swap(r"tcgen05\.alloc", r", %r\d+;", ", 256;"), "tensor-bounds"),
    Fault(TC, "columns not a power of two", swap(r"tcgen05\.alloc", r", %r\d+;", ", 384;"), "tensor-alloc"),
    Fault(TC, "alloc after relinquish_alloc_permit", move(r"tcgen05\.relinquish", 0, before=r"tcgen05\.alloc"), "tensor-alloc"),
    Fault(TC, "first product adds to what was there", both(
        insert("\t.reg .pred %add;\n\tsetp.eq.u32 %add, 0, 0;", MMA), edit(MMA, lambda line: re.sub(r"%p\d+;", "%add;", line))), "uninitialised"),
    Fault(TC, "descriptor without its constant bits", edit(giver(MMA, r"\], (%rd\d+),", 0, DESCRIPTOR), lambda line: (
        re.sub(r"(\d+)\}", lambda m: f"{int(m.group(1)) & ~(7 << 14)}}}", line))), "descriptor"),
    Fault(TC, "tensor map of B with another swizzle", both(in_recipe("parameters", 1, "swizzle", value=0)), "swizzle-mismatch"),
    Fault(PAIR, "commit reaches one CTA of the pair only", swap(FREE_COMMIT, r"%rs\d+;", "1;"), "deadlock"),
    Fault(PAIR, "mixed cta_group", swap(r"tcgen05\.alloc", "cta_group::2", "cta_group::1"), "cta-group"),
    Fault(PAIR, "no CTA of the pair waits for a free accumulator", drop_wait(ahead(WAIT, ahead(OPERANDS, MMA))), "tensor-race"),
    Fault(MXF8, "scales not copied to tensor memory", drop(r"tcgen05\.cp", 0), "uninitialised"),
    Fault(TC_ATTENTION, "no wait::st before the probabilities are used", drop(ahead(r"tcgen05\.wait::st", arrivals(PROBABILITIES_WAIT))),
          "missing-tcgen05-wait"),
    Fault(TC_ATTENTION, "probabilities used before they are there", drop_wait(PROBABILITIES_WAIT), "tensor-race"),
    Fault(TC_ATTENTION, "no fence::after before the second product", both(*[drop(ahead(r"tcgen05\.fence::after", FROM_TENSOR_MEMORY))] * 2),
          "tensor-race"),
    # Waits that are no waits, parities, places of operands.
    Fault(PINGPONG, "first slot tested once, not waited for", test_once(FULL), "race"),
    Fault(PINGPONG, "free slot tested once", test_once(FREE), "race", "mbarrier"),
    Fault(PINGPONG, "consumer does not wait for its turn", drop(MY_TURN), "race"),
    Fault("gemm_small_m", "consumer does not wait for its turn", drop(MY_TURN), "race"),
    Fault(PINGPONG, "consumer waits twice for its turn", edit(MY_TURN, lambda line: line + "\n" + line), "deadlock"),
    Fault(PINGPONG, "turn given by another barrier", swap(TURN, r"%r\d+,", "9,"), "deadlock"),
    Fault(PINGPONG, "consumer's parity stays when its ring wraps", keep_parity(FULL), "race", "barrier-lapped"),
    Fault(PINGPONG, "producer's parity stays when its ring wraps", keep_parity(FREE), "deadlock", "mbarrier", "barrier-lapped"),
    Fault(PINGPONG, "slot released twice", edit(IN_LOOP, lambda line: line + "\n" + re.sub(r"%rd\d+", "_", line, count=1)),
          "barrier-lapped", "race"),
    Fault(PINGPONG, "barrier of a full slot counts two arrivals", swap(inits(LOAD), r", %r\d+;", ", 2;", 1), "deadlock"),
    Fault(PINGPONG, "both loads count on another slot's barrier", edit(LOAD, lambda line: (
        re.sub(r"\+(\d+)\];", lambda m: f"+{int(m.group(1)) + 8}];", line))), "transaction-count"),
    Fault(PINGPONG, "slots overlap", edit(giver(LOAD, r"\[(%r\d+)"), lambda line: (
        re.sub(r", (\d+), ", lambda m: f", {int(m.group(1)) - 4096}, ", line))), "race", "uninitialised"),
    Fault(PINGPONG, "coordinates of A swapped", swap(loads(0), r"\{(%r\d+), (%r\d+)\}", r"{\2, \1}"), "wrong-result"),
    Fault(PINGPONG, "A and B of a wgmma swapped", swap(r"wgmma\.mma_async.*\}, %rd\d+, %rd\d+,", r"\}, (%rd\d+), (%rd\d+),", r"}, \2, \1,", 1), "wrong-result"),
    Fault(PINGPONG, "descriptor differs in one warp", edit(r"wgmma\.mma_async", lambda line: (
        "\t{ .reg .b64 %mine; .reg .b32 %warp; mov.u32 %warp, %tid.x; and.b32 %warp, %warp, 32; cvt.u64.u32 %mine, %warp; "
        f"add.s64 %mine, %mine, {re.search(r'}, (%rd[0-9]+),', line).group(1)}; {re.sub(r'}, %rd[0-9]+,', '}, %mine,', line.strip())} }}")),
          "descriptor"),
    Fault(PINGPONG, "commit by three warps of four", by_warps(r"wgmma\.commit", "ne"), "race"),
    Fault(ATTENTION, "scores waited for by one group less", edit(r"wgmma\.wait_group.* 0;", lambda line: line.replace(" 0;", " 1;")),
          "register-in-flight"),
    Fault(PINGPONG, "accumulators not set, first product adds to them", drop(r"mov\.b32\s+%r\d+, 0"), "uninitialised"),
    # Fences and barriers of the epilogue, for some threads or on the last round only.
    Fault(PINGPONG, "proxy fence of global memory before the TMA store", swap(r"fence\.proxy\.async", r"shared::cta", "global"),
          "missing-proxy-fence"),
    Fault(PINGPONG, "no proxy fence before the last TMA store", drop(ahead(r"fence\.proxy\.async", STORE), -1), "missing-proxy-fence"),
    Fault(PINGPONG, "proxy fence by one warp of four", by_warps(r"fence\.proxy\.async", "eq"), "missing-proxy-fence"),
    Fault(PINGPONG, "barrier before the TMA store without one warp", by_warps(STAGED, "ne"), "race", "deadlock"),
    Fault(PINGPONG, "stmatrix 8 bytes off", edit(r"stmatrix", lambda line: re.sub(r"\[(%r\d+)\]", r"[\1+8]", line)), "misaligned"),
    Fault(PINGPONG, "TMA store to the transposed place", swap(STORE, r"\{(%r\d+), (%r\d+)\}", r"{\2, \1}", 0), "race", "wrong-result"),
    Fault(PINGPONG, "setmaxnreg by three warps of four", by_warps(r"setmaxnreg\.inc", "ne"), "setmaxnreg"),
    Fault(PINGPONG, "setmaxnreg of two values in a warpgroup",
          by_warps(r"setmaxnreg\.inc", "ne", otherwise="setmaxnreg.inc.sync.aligned.u32 224;"), "setmaxnreg"),
    # Multicast.
    Fault(MULTICAST, "both CTAs load for the second only", swap(r"multicast::cluster", r"(, %rs\d+)", ", 2"), "transaction-count"),
    Fault(MULTICAST, "both halves of B to one place", in_source(r"multicast::cluster", r"\[(%r\d+)", r", %r\d+;", ", 0;"), "uninitialised"),
    Fault(MULTICAST, "multicast before the other CTA's slot is free", drop_wait(FREE), "race", "mbarrier"),
    Fault(MULTICAST, "cluster barrier after the initialisation not waited for", drop(r"barrier\.cluster\.wait", 0), "cluster-barrier"),
    # tcgen05.
    Fault(TC, "accumulator tested once", test_once(ACCUMULATOR), "tensor-race"),
    Fault(TC, "loads of another warp's lanes", swap(r"tcgen05\.ld", r"\[(%r\d+)\]", r"[\1+2097152]"), "tensor-lane"),
    Fault(TC, "one product a column further", swap(r"tcgen05\.mma", r"\[(%r\d+)\]", r"[\1+1]", 1), "uninitialised"),
    Fault(TC, "no fence::after behind both waits of the matrix unit", both(*[drop(ahead(r"tcgen05\.fence::after", MMA))] * 2), "tensor-race"),
    Fault(TC, "instruction descriptor with half of N", in_source(MMA, r"%rd\d+, (%r\d+), %p", r"(\d+);", lambda m: (
        f"{int(m.group(1)) ^ (32 ^ 16) << 17};")), "uninitialised", "wrong-result"),
    Fault(TC, "every lane issues the products", edit(ahead(r"elect\.sync", MMA), lambda line: (
        f"{line}\n\tsetp.eq.u32 {re.search(r'[|](%p[0-9]+)', line).group(1)}, 0, 0;"), number=0), "tcgen05-issue"),
    Fault(MXF8, "scales copied behind the product that needs them", move(r"tcgen05\.cp", 0, after=r"tcgen05\.mma"), "uninitialised"),
    Fault(MXF8, "scales of another step", bits(giver(MMA, r"%rd\d+, %rd\d+, (%r\d+),", 1), 1 << 29), "wrong-result"),
    Fault(PAIR, "accumulator released in a CTA that does not exist", drop(r"mapa", 0), "uninitialised", "out-of-bounds"),
    Fault(TC_ATTENTION, "softmax without fence::before", drop(PROBABILITIES_FENCE), "tensor-race"),
    Fault(TC_ATTENTION, "rescaled output without fence::before", drop(OUTPUT_FENCE, 0), "tensor-race"),
    Fault(TC_ATTENTION, "last output of a tile without fence::before", drop(OUTPUT_FENCE, -1), "tensor-race"),
] + MORE + OTHERS + SMALL
