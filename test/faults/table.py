"""The seeded faults: what is changed in which kernel, and the kinds of finding of which at least one must come.

`kinds` names the right checks only: a deadlock is no right answer where a byte count is wrong, nor a wrong result where a wait is missing.
`checks`: what --checks would be given. A fault that no rule of PTX forbids, but that computes the wrong thing, is found by comparing results
("wrong-result").
"""

import re

from mutate import both, drop, drop_wait, edit, flip_parity, in_recipe, insert, move, move_to_join, same_address, swap

TRY_WAIT = r"mbarrier\.try_wait"
RELEASE = r"mbarrier\.arrive\.shared"
LOAD = r"cp\.async\.bulk\.tensor.*mbarrier::complete_tx"
STORE = r"cp\.async\.bulk\.tensor.*bulk_group"


class Fault:
    def __init__(self, kernel, name, change, *kinds, checks=None):
        self.kernel, self.name, self.change, self.kinds, self.checks = kernel, name, change, kinds, checks

    @property
    def id(self):
        return f"{self.kernel}: {self.name}"


PINGPONG, COOPERATIVE, MULTICAST = "gemm_pingpong", "gemm_cooperative", "gemm_multicast"
ATTENTION, FP8 = "attention_d128", "gemm_fp8_block_128x128"
TC, PAIR, MXF8, TC_ATTENTION = "gemm_tcgen05", "gemm_tcgen05_pair", "gemm_tcgen05_mxf8", "attention_tcgen05"

FAULTS = [
    # A pipeline of TMA loads and wgmma: waits, arrivals, byte counts.
    Fault(PINGPONG, "consumer does not wait for its first slot", drop_wait(0), "race"),
    Fault(PINGPONG, "consumer does not wait for the slots in its loop", drop_wait(1), "race"),
    Fault(PINGPONG, "producer does not wait for free slots", drop_wait(2), "race", "mbarrier"),
    Fault(PINGPONG, "consumer waits for the wrong parity", flip_parity(0), "race", "deadlock"),
    Fault(PINGPONG, "producer starts with the wrong parity", flip_parity(2), "deadlock"),
    Fault(PINGPONG, "slot never released in the loop", drop(RELEASE, 0), "deadlock"),
    Fault(PINGPONG, "last slot of a tile never released", drop(RELEASE, 1), "deadlock"),
    Fault(PINGPONG, "turn never given to the other consumer", drop(r"bar\.arrive", 1), "deadlock"),
    Fault(PINGPONG, "slot released before the wgmmas that read it are waited for",
          move_to_join(r"wgmma\.wait_group.*1;", 0), "race"),
    Fault(PINGPONG, "wait_group leaves one group more in flight", swap(r"wgmma\.wait_group.* 1;", r"1;", "2;"), "race"),
    Fault(PINGPONG, "expect_tx of 16 bytes too many", swap(r"mov\.b32.*, 40960;", "40960", "40976"), "transaction-count"),
    Fault(PINGPONG, "expect_tx of one operand only", swap(r"mov\.b32.*, 40960;", "40960", "8192"), "race", "transaction-count"),
    Fault(PINGPONG, "arrive without expect_tx", swap(r"mbarrier\.arrive\.expect_tx", r"\.expect_tx(.*), %r\d+;", r"\1;"), "race",
          "transaction-count"),
    Fault(PINGPONG, "expect_tx and arrival missing", drop(r"mbarrier\.arrive\.expect_tx"), "transaction-count"),
    Fault(PINGPONG, "load of B missing", drop(LOAD, 1), "transaction-count"),
    Fault(PINGPONG, "A loaded over B", swap(LOAD, r"\[(%r\d+)\+8192\]", r"[\1]", 1), "uninitialised"),
    Fault(PINGPONG, "consumer's ring one slot shorter", swap(r"setp\.eq\.b32.*, 5;", "5;", "4;", 1), "race", "deadlock",
          "barrier-lapped"),
    Fault(PINGPONG, "producer's ring one slot shorter", swap(r"setp\.eq\.b32.*, 5;", "5;", "4;", 2), "race", "deadlock"),
    Fault(PINGPONG, "both rings one slot longer than the barriers", both(swap(r"setp\.eq\.b32.*, 5;", "5;", "6;", every=True)),
          "mbarrier", "out-of-bounds", "deadlock"),
    Fault(PINGPONG, "barrier of a free slot counts one arrival more", swap(r"mbarrier\.init", r", %r\d+;", ", 5;", 0), "deadlock"),
    Fault(PINGPONG, "barrier of a free slot counts one arrival less", swap(r"mbarrier\.init", r", %r\d+;", ", 3;", 0), "race",
          "mbarrier"),
    Fault(PINGPONG, "no CTA barrier after the initialisation of mbarriers", drop(r"bar\.sync\s+0;"), "race"),
    Fault(PINGPONG, "a barrier is not initialised", drop(r"mbarrier\.init", 6), "mbarrier"),
    Fault(PINGPONG, "a barrier is initialised twice", edit(r"mbarrier\.init", lambda line: line + "\n" + line, 6), "mbarrier"),
    Fault(PINGPONG, "no fence after the initialisation", drop(r"fence\.mbarrier_init"), "missing-proxy-fence", checks="all,strict"),
    # wgmma.
    Fault(PINGPONG, "no wgmma.fence before the first wgmma", drop(r"wgmma\.fence", 0), "missing-wgmma-fence"),
    Fault(PINGPONG, "no commit in the loop", drop(r"wgmma\.commit", 1), "race", "register-in-flight"),
    Fault(PINGPONG, "no wait before the accumulators are read", drop(r"wgmma\.wait_group.* 0;", 0), "register-in-flight"),
    Fault(PINGPONG, "accumulators converted before the wait", move(r"cvt\.rn\.bf16x2", 0, before=r"wgmma\.wait_group.* 0;"),
          "register-in-flight"),
    Fault(PINGPONG, "first wgmma adds to what was there", swap(r"wgmma\.mma_async", r"p, 1, 1|0, 1, 1, 0, 0", "1, 1, 1, 0, 0", 0),
          "uninitialised", "wrong-result"),
    Fault(PINGPONG, "B read with twice its stride", swap(r"mov\.b64 %rd\d+, \{", "1073741888", "1073741952", 0), "race", "uninitialised",
          "out-of-bounds"),
    Fault(PINGPONG, "A read with a 64-byte swizzle", swap(r"mov\.b64 %rd\d+, \{", "1073741888", "-2147483584", 1), "swizzle-mismatch"),
    # Epilogue: stmatrix, proxy fence, TMA store.
    Fault(PINGPONG, "no proxy fence before the TMA store", drop(r"fence\.proxy\.async", 0), "missing-proxy-fence"),
    Fault(PINGPONG, "no barrier before the TMA store", drop(r"bar\.sync\s+%r\d+, 128", 1), "race"),
    Fault(PINGPONG, "no barrier before the staging buffer is written again", drop(r"bar\.sync\s+%r\d+, 128", 2), "race"),
    Fault(PINGPONG, "TMA store still reads the staging buffer", drop(r"cp\.async\.bulk\.wait_group\.read", 1), "race"),
    Fault(PINGPONG, "TMA store not committed", drop(r"cp\.async\.bulk\.commit_group", 0), "race"),
    Fault(PINGPONG, "last TMA store not committed", drop(r"cp\.async\.bulk\.commit_group", 3), "exit-pending"),
    Fault(PINGPONG, "CTA ends while its TMA store reads", drop(r"cp\.async\.bulk\.wait_group\s+0", 0), "exit-pending"),
    Fault(PINGPONG, "barrier counts 96 threads", swap(r"bar\.sync\s+%r\d+, 128", "128", "96", 1), "named-barrier"),
    Fault(PINGPONG, "barrier counts both consumers", swap(r"bar\.sync\s+%r\d+, 128", "128", "256", every=True), "deadlock"),
    Fault(PINGPONG, "both consumers use one barrier", swap(r"bar\.sync\s+%r\d+, 128", r"%r\d+, ", "1, ", every=True), "race",
          "uninitialised"),
    Fault(PINGPONG, "stmatrix writes a tile over another", same_address(r"stmatrix", 1), "uninitialised",
          "wrong-result"),
    # Registers.
    Fault(PINGPONG, "consumers ask for more registers than there are", swap(r"setmaxnreg\.inc", "232", "248"), "deadlock"),
    Fault(PINGPONG, "producer keeps its registers", drop(r"setmaxnreg\.dec"), "deadlock"),
    Fault(PINGPONG, "dec asks for more than the warp has", swap(r"setmaxnreg\.dec", "24;", "240;"), "setmaxnreg"),
    # The launch recipe.
    Fault(PINGPONG, "box of A half as high", in_recipe("parameters", 0, "box", value=[64, 32]), "transaction-count"),
    Fault(PINGPONG, "tensor map of A without swizzle", in_recipe("parameters", 0, "swizzle", value=0), "swizzle-mismatch"),
    Fault(PINGPONG, "tensor map of C without swizzle", in_recipe("parameters", 2, "swizzle", value=0), "wrong-result"),
    Fault(PINGPONG, "too little shared memory", in_recipe("launch", "shared_bytes", value=221280 - 32), "out-of-bounds"),
    Fault(PINGPONG, "one warpgroup of threads missing", in_recipe("launch", "threads", value=256), "refused"),
    # Clusters and multicast.
    Fault(MULTICAST, "no cluster barrier after the initialisation",
          both(drop(r"barrier\.cluster\.arrive"), drop(r"barrier\.cluster\.wait")), "race", "mbarrier"),
    Fault(MULTICAST, "wait without arrive at the last cluster barrier", drop(r"barrier\.cluster\.arrive", 1), "cluster-barrier"),
    Fault(MULTICAST, "multicast to one CTA only", swap(LOAD, r"(, %rs\d+)", ", 1", 1), "transaction-count"),
    Fault(MULTICAST, "multicast mask names a third CTA", swap(LOAD, r"(, %rs\d+)", ", 7", 1), "bad-multicast"),
    Fault(MULTICAST, "slots released in the own CTA only", edit(r"mapa", lambda line: re.sub(
        r"\t(mapa.*), %r\d+;", r"\t{ .reg .b32 %own; mov.u32 %own, %cluster_ctarank; \1, %own; }", line)), "deadlock", "race"),
    Fault(MULTICAST, "remote release missing", drop(r"mbarrier\.arrive\.shared::cluster"), "deadlock"),
    Fault(MULTICAST, "slot released through a CTA that does not exist", swap(r"mapa", r", %r\d+;", ", 5;", 0), "out-of-bounds"),
    Fault(MULTICAST, "no fence after the initialisation", drop(r"fence\.mbarrier_init"), "missing-proxy-fence", checks="all,strict"),
    # Attention: a chain of two products, A in registers.
    Fault(ATTENTION, "no wgmma.fence before the scores are computed again", drop(r"wgmma\.fence", 1), "missing-wgmma-fence"),
    Fault(ATTENTION, "no wgmma.fence before the last product", drop(r"wgmma\.fence", 3), "missing-wgmma-fence"),
    Fault(ATTENTION, "scores read before their product is done", swap(r"wgmma\.wait_group.* 1;", "1;", "2;"), "register-in-flight"),
    Fault(ATTENTION, "output read before its product is done", drop(r"wgmma\.wait_group.* 0;", 2), "register-in-flight"),
    Fault(ATTENTION, "V released while its product reads it", move_to_join(r"wgmma\.wait_group.* 0;", 1), "race"),
    Fault(ATTENTION, "V not waited for", drop_wait(3), "race"),
    Fault(ATTENTION, "Q not waited for", drop_wait(0), "race"),
    Fault(ATTENTION, "half of Q not loaded", drop(LOAD, 3), "transaction-count"),
    # FP8 with scales read by ordinary loads.
    Fault(FP8, "scales read before the slot is full", drop_wait(0), "race"),
    Fault(FP8, "slot with scales never released", drop(RELEASE, 0), "deadlock"),
    # tcgen05.
    Fault(TC, "accumulator read before the commit is waited for", drop_wait(0), "tensor-race"),
    Fault(TC, "no fence::after_thread_sync before tcgen05.ld", drop(r"tcgen05\.fence::after", 1), "tensor-race"),
    Fault(TC, "no fence::before_thread_sync before the accumulator is released", drop(r"tcgen05\.fence::before", 1), "tensor-race"),
    Fault(TC, "no wait::ld before the loaded registers are used", drop(r"tcgen05\.wait::ld"), "register-in-flight"),
    Fault(TC, "matrix unit does not wait for a free accumulator", drop_wait(2), "tensor-race"),
    Fault(TC, "operands not waited for", drop_wait(3), "race", "uninitialised"),
    Fault(TC, "commit of the accumulator missing", drop(r"tcgen05\.commit", 0), "deadlock"),
    Fault(TC, "commit of the slot missing", drop(r"tcgen05\.commit", 1), "deadlock"),
    Fault(TC, "commit of the slot before the products", move(r"tcgen05\.commit", 1, before=r"tcgen05\.mma", anchor=0), "race"),
    Fault(TC, "accumulator never released", drop(RELEASE, 0), "deadlock"),
    Fault(TC, "no dealloc", drop(r"tcgen05\.dealloc"), "tensor-leak"),
    Fault(TC, "dealloc twice", edit(r"tcgen05\.dealloc", lambda line: line + "\n" + line), "tensor-alloc"),
    Fault(TC, "dealloc of half the columns", swap(r"tcgen05\.dealloc", r", %r\d+;", ", 256;"), "tensor-alloc"),
    Fault(TC, "tensor memory freed while it is read", insert(
        "\t{ .reg .b32 %a, %n; mov.b32 %a, 0; mov.b32 %n, 512; @!%p4 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %a, %n; }",
        r"tcgen05\.wait::ld"), "tensor-race"),
    Fault(TC, "half the columns allocated", swap(r"tcgen05\.alloc", r", %r\d+;", ", 256;"), "tensor-bounds"),
    Fault(TC, "columns not a power of two", swap(r"tcgen05\.alloc", r", %r\d+;", ", 384;"), "tensor-alloc"),
    Fault(TC, "alloc after relinquish_alloc_permit", move(r"tcgen05\.relinquish", 0, before=r"tcgen05\.alloc"), "tensor-alloc"),
    Fault(TC, "first product adds to what was there", swap(r"tcgen05\.mma", r"%p18;", "%p19;"), "uninitialised"),
    Fault(TC, "descriptor without its constant bits", swap(r"mov\.b64 %rd\d+, \{", "1073758272", "1073741888", 0), "descriptor"),
    Fault(TC, "tensor map of B with another swizzle", both(in_recipe("parameters", 1, "swizzle", value=0)), "swizzle-mismatch"),
    Fault(PAIR, "commit reaches one CTA of the pair only", insert("\tmov.b16 %rs1, 1;", r"tcgen05\.commit", 1), "deadlock"),
    Fault(PAIR, "mixed cta_group", swap(r"tcgen05\.alloc", "cta_group::2", "cta_group::1"), "cta-group"),
    Fault(PAIR, "no CTA of the pair waits for a free accumulator", drop_wait(2), "tensor-race"),
    Fault(MXF8, "scales not copied to tensor memory", drop(r"tcgen05\.cp", 0), "uninitialised"),
    Fault(TC_ATTENTION, "no wait::st before the probabilities are used", drop(r"tcgen05\.wait::st", 1), "missing-tcgen05-wait"),
    Fault(TC_ATTENTION, "probabilities used before they are there", drop_wait(18), "tensor-race"),
    Fault(TC_ATTENTION, "no fence::after before the second product", both(drop(r"tcgen05\.fence::after", 10), drop(r"tcgen05\.fence::after", 10)),
          "tensor-race"),
    # Small kernels: barriers, cp.async, bulk copies, clusters, st.async, atomics.
    Fault("block_sum", "no barrier between write and read", drop(r"bar\.sync"), "race"),
    Fault("block_sum", "diverged warp at an aligned barrier", swap(r"bar\.sync 0;", r"bar", "@!%p1 bar"), "diverged"),
    Fault("block_sum", "one partial sum too many read", swap(r"setp\.ge\.u32", "8;", "9;"), "out-of-bounds", "uninitialised"),
    Fault("block_sum", "partial sums 2 bytes off", swap(r"st\.shared", r"\[%r10\]", "[%r10+2]"), "misaligned"),
    Fault("block_sum", "result stored, not added", swap(r"red\.global", r"red\.global\.add\.s32", "st.global.s32"), "race"),
    Fault("block_sum", "past the end of the input", swap(r"mad\.lo", "256", "257"), "out-of-bounds"),
    Fault("cp_async_ring", "wait_group one too large", swap(r"cp\.async\.wait_group", "1;", "2;"), "race"),
    Fault("cp_async_ring", "group not committed", drop(r"cp\.async\.commit_group", 1), "race"),
    Fault("cp_async_ring", "no barrier before the slot is used again", drop(r"bar\.sync 1"), "race"),
    Fault("cp_async_ring", "barrier counts half the threads", swap(r"bar\.sync 1", "64", "32"), "race"),
    Fault("bulk_copy", "copy 16 bytes short", swap(r"cp\.async\.bulk\.shared", "2048, ", "2032, ", 1), "transaction-count"),
    Fault("bulk_copy", "copy size not a multiple of 16", swap(r"cp\.async\.bulk\.shared", "2048, ", "2040, ", 1), "bad-size"),
    Fault("bulk_copy", "bulk store not waited for", drop(r"wait_group 0"), "exit-pending"),
    Fault("bulk_copy", "slot loaded while its store reads it", drop(r"wait_group\.read"), "race"),
    Fault("bulk_copy", "no proxy fence before the store", drop(r"fence\.proxy"), "missing-proxy-fence"),
    Fault("bulk_copy", "store over the live barrier", swap(r"st\.shared\.v4", r"\[%r11\]", "[%r3]"), "mbarrier-overwritten"),
    Fault("bulk_copy", "no fence after the initialisation", drop(r"fence\.mbarrier_init"), "missing-proxy-fence", checks="all,strict"),
    Fault("warp_exchange", "no bar.warp.sync between write and read", drop(r"bar\.warp\.sync", 0), "race"),
    Fault("warp_exchange", "no bar.warp.sync behind cp.async", drop(r"bar\.warp\.sync", 1), "race"),
    Fault("neighbours", "no cluster barrier before the remote read",
          both(drop(r"barrier\.cluster\.arrive"), drop(r"barrier\.cluster\.wait")), "race"),
    Fault("neighbours", "first arrive relaxed", swap(r"barrier\.cluster\.arrive\.release", "release", "relaxed"), "race"),
    Fault("neighbours", "CTA ends while another reads it",
          both(drop(r"barrier\.cluster\.arrive", 1), drop(r"barrier\.cluster\.wait", 1)), "remote-exited"),
    Fault("neighbours", "rank of the next CTA not wrapped", drop(r"and\.b32 %r9"), "out-of-bounds"),
    Fault("neighbours", "wrong CTA rank", swap(r"add\.s32 %r9", "1;", "2;"), "wrong-result"),
    Fault("neighbours", "remote address used as a local one", swap(r"ld\.shared::cluster", "shared::cluster", "shared"), "out-of-bounds"),
    Fault("transposed", "no barrier before the turned tile is read", drop(r"bar\.sync 0", 1), "race"),
    Fault("transposed", "load not waited for", drop_wait(0), "race"),
    Fault("transposed", "tile at an address that TMA cannot use", swap(LOAD, r"\[%r2\]", "[%r2+16]"), "tensor-map", "misaligned"),
    Fault("transposed", "every lane issues the copy", swap(r"@!%p2 bra", "@!%p2 bra READY", "// all"), "mbarrier", "race",
          "transaction-count"),
    Fault("produced", "remote barrier expects fewer bytes", swap(r"expect_tx", "1024", "1008"), "race", "transaction-count"),
    Fault("produced", "message not waited for", drop_wait(0), "race"),
    Fault("produced", "no fence before the ticket", drop(r"membar", 0), "race"),
    Fault("produced", "no fence behind the ticket", drop(r"membar", 1), "race"),
    Fault("produced", "ticket not atomic", swap(r"atom\.global", r"atom\.global\.add\.u32 (%r\d+), (\[%rd3\]), 1;",
                                               r"ld.global.b32 \1, \2; st.global.b32 \2, 1;"), "race"),
]
