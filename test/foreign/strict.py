"""What the simulator's `strict` rules say of other compilers' kernels, which run on the hardware: PTX asks for it, and they do without
(docs/simulator.md). Nothing else may come, above all no proxy fence that is missing between a read and a copy."""

OMITTED = (  # kind, what its message says
    ("missing-proxy-fence", "after its initialisation at line"),  # fence.mbarrier_init; Triton has a barrier of the CTA there
    ("mbarrier", "phase parity is"),  # -1, for 1
    ("setmaxnreg", "has not executed the setmaxnreg before this one yet"),
)
WITHOUT_FENCES = ("tensor-race", "register-in-flight")  # kernels of tensor memory that have no tcgen05.fence and no wait::ld


def check(run, tensor_memory=False):
    """The kinds that were found; fails for one that is not known."""
    for finding in run.findings:
        kind, text = finding["kind"], finding["message"]
        known = any(kind == own and words in text for own, words in OMITTED) or tensor_memory and kind in WITHOUT_FENCES
        assert known, f"{kind}: {text}"
    return run.kinds
