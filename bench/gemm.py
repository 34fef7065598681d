"""`kernels.gemm` on a Hopper GPU, no schedule given, beside cuBLAS (torch.matmul, torch._scaled_mm), a persistent product in Triton, and PyTorch's
unfused operations, in one process. Results are checked first (fp64 on sampled rows, outputs poisoned with NaN), then timed as replays of captured
launches, interleaved, with the L2 cache flushed before each: medians, with quartiles in the JSON file.

    bench/gemm.py [--only bf16,fp16,tf32,fp8_tensor,fp8_row,layouts,epilogues] [--shapes REGEX] [--repeats N] [--no-triton] [--json FILE] [--plot PREFIX]

--plot writes PREFIX-ratio.png and PREFIX-roofline.png where there is matplotlib; bench/plot.py makes them from FILE elsewhere.
"""

import argparse
import functools
import math
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if "TILELOOM_INSTALLED" not in os.environ:
    sys.path.insert(0, os.path.join(ROOT, "python"))
sys.path.insert(0, os.path.join(ROOT, "bench"))

PEAK = {"bf16": 989.0, "fp16": 989.0, "tf32": 494.5, "fp8": 1979.0}  # TFLOP/s, dense, of an H200
LAYOUT_SHAPES = [(8192, 8192, 8192), (4096, 4096, 4096), (4096, 7168, 2048), (4096, 7168, 16384)]
FUSED = (4096, 14336, 4096)
LIMITS = {"bf16": 4e-3, "fp16": 1e-3, "tf32": 2e-3, "fp8": 5e-3}
SECTIONS = ("bf16", "fp16", "tf32", "fp8_tensor", "fp8_row", "layouts", "epilogues")


def make_bench(options):
    """The Bench, in a function: --help needs no torch."""
    import torch
    from measure import Records, check, relative_error
    from tileloom import kernels

    types = {"bf16": torch.bfloat16, "fp16": torch.float16, "tf32": torch.float32}

    class Bench(Records):
        def add(self, functions, errors, name, shape, launch, out, sample, wanted, limit):
            """A function to time, after its result is checked on the sampled rows."""
            out.fill_(math.nan)
            launch()
            errors[name] = check(name, shape, relative_error(out[sample], wanted), limit)
            functions[name] = launch

        def product(self, kind, m, n, k):
            """The same product as torch.matmul's, NT."""
            dtype = types[kind]
            torch.backends.cuda.matmul.allow_tf32 = True
            a, b = (torch.randn(rows, k, device="cuda", dtype=dtype) for rows in (m, n))
            sample = torch.randint(0, m, (32,), device="cuda")
            wanted = _sampled(a, b, sample)
            functions, errors = {}, {}
            add = functools.partial(self.add, functions, errors)
            c, d, e = (torch.empty(m, n, device="cuda", dtype=dtype) for _ in range(3))
            add("tileloom", (m, n, k), functools.partial(kernels.gemm, a, b.T, c), c, sample, wanted, LIMITS[kind])
            add("cublas", (m, n, k), lambda: torch.mm(a, b.T, out=d), d, sample, wanted, LIMITS[kind])
            if not options.no_triton and kind == "bf16":
                import triton_gemm
                add("triton", (m, n, k), triton_gemm.gemm(a, b, e), e, sample, wanted, LIMITS[kind])
            self.done(f"gemm_{kind}", (m, n, k), functions, errors, ("cublas", "triton"), a.element_size(), c.element_size(), PEAK[kind])

        def scaled(self, rowwise, m, n, k):
            a, b = (torch.randn(rows, k, device="cuda").to(torch.float8_e4m3fn) for rows in (m, n))
            shapes = ((m, 1), (1, n)) if rowwise else ((), ())
            x, y = (torch.rand(shape, device="cuda") + 0.5 for shape in shapes)
            sample = torch.randint(0, m, (32,), device="cuda")
            wanted = _sampled(a, b, sample) * (x[sample] if rowwise else x).double() * y.double()
            functions, errors = {}, {}
            add = functools.partial(self.add, functions, errors)
            c, d = (torch.empty(m, n, device="cuda", dtype=torch.bfloat16) for _ in range(2))
            add("tileloom", (m, n, k), functools.partial(kernels.gemm, a, b.T, c, scale_a=x, scale_b=y), c, sample, wanted, LIMITS["fp8"])
            peer = functools.partial(torch._scaled_mm, a, b.T, x, y, out_dtype=torch.bfloat16, use_fast_accum=True)
            add("torch_row" if rowwise else "torch_tensor", (m, n, k), lambda: peer(out=d), d, sample, wanted, LIMITS["fp8"])
            self.done("gemm_fp8_row" if rowwise else "gemm_fp8_tensor", (m, n, k), functions, errors, ("torch_row", "torch_tensor"), 1, 2, PEAK["fp8"])

        def layouts(self, m, n, k):
            """All four layouts of the factors in one timing; NT is "tileloom", and the ratios of the others are to it."""
            sample = torch.randint(0, m, (32,), device="cuda")
            functions, errors = {}, {}
            for layout in ("NT", "NN", "TN", "TT"):
                a, b = torch.randn(m, k, device="cuda", dtype=torch.bfloat16), torch.randn(n, k, device="cuda", dtype=torch.bfloat16)
                x = a.T.contiguous().T if layout[0] == "T" else a
                y = b.T if layout[1] == "T" else b.T.contiguous()
                c = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
                name = "tileloom" if layout == "NT" else layout
                self.add(functions, errors, name, (m, n, k, layout), functools.partial(kernels.gemm, x, y, c), c, sample, _sampled(a, b, sample),
                         LIMITS["bf16"])
            self.done("gemm_layouts", (m, n, k), functions, errors, ("NN", "TN", "TT"), 2, 2, PEAK["bf16"])

        def epilogues(self, m, n, k):
            """Fused with bias and GELU, and with SwiGLU, against the plain product and PyTorch's operations one by one."""
            a = torch.randn(m, k, device="cuda", dtype=torch.bfloat16) / k**0.25
            b = torch.randn(n, k, device="cuda", dtype=torch.bfloat16) / k**0.25
            row = torch.randn(n, device="cuda", dtype=torch.bfloat16)
            sample = torch.randint(0, m, (32,), device="cuda")
            product = _sampled(a, b, sample)
            F = torch.nn.functional
            c, d = (torch.empty(m, n, device="cuda", dtype=torch.bfloat16) for _ in range(2))
            for name, activation, unfused, in (("gelu", "gelu", {}), ("gelu_tanh", "gelu_tanh", {"approximate": "tanh"})):
                functions, errors = {}, {}
                add = functools.partial(self.add, functions, errors)
                add("tileloom", name, functools.partial(kernels.gemm, a, b.T, c, bias=row, activation=activation), c, sample,
                    F.gelu(product + row.double(), **unfused), LIMITS["bf16"])
                add("plain", "plain", functools.partial(kernels.gemm, a, b.T, d), d, sample, product, LIMITS["bf16"])
                functions["torch_unfused"] = lambda unfused=unfused: F.gelu(F.linear(a, b, row), **unfused)
                self.done(f"gemm_bias_{name}", (m, n, k), functions, errors, ("torch_unfused", "plain"), 2, 2, PEAK["bf16"])
            half = torch.empty(m, n // 2, device="cuda", dtype=torch.bfloat16)
            gate, up = product[:, ::2], product[:, 1::2]
            functions, errors = {}, {}
            add = functools.partial(self.add, functions, errors)
            add("tileloom", "swiglu", functools.partial(kernels.gemm_swiglu, a, b.T, half), half, sample, F.silu(gate) * up, LIMITS["bf16"])
            add("plain", "plain", functools.partial(kernels.gemm, a, b.T, d), d, sample, product, LIMITS["bf16"])

            def unfused():
                x = F.linear(a, b)
                return F.silu(x[:, :n // 2]) * x[:, n // 2:]
            functions["torch_unfused"] = unfused
            self.done("gemm_swiglu", (m, n, k), functions, errors, ("torch_unfused", "plain"), 2, 1, PEAK["bf16"])

        def done(self, work, shape, functions, errors, peers, bytes_in, bytes_out, peak):
            m, n, k = shape
            moved = (m + n) * k * bytes_in + m * n * bytes_out
            self.record(work, "x".join(map(str, shape)), 2 * m * n * k, moved, functions, errors, peers, peak=peak)

    def _sampled(a, b, sample):
        """Rows of a @ b^T: in fp64, or in fp32 where that takes too long."""
        torch.backends.cuda.matmul.allow_tf32 = False
        wide = torch.float64 if b.numel() < 2**28 else torch.float32
        result = (a[sample].to(wide) @ b.to(wide).T).double()
        torch.backends.cuda.matmul.allow_tf32 = True
        return result

    return Bench(options.repeats)


def work_of(section, bench):
    from measure import GEMM_SHAPES
    if section == "layouts":
        return LAYOUT_SHAPES, bench.layouts
    if section == "epilogues":
        return [FUSED], bench.epilogues
    if section.startswith("fp8"):
        return GEMM_SHAPES, functools.partial(bench.scaled, section == "fp8_row")
    return GEMM_SHAPES, functools.partial(bench.product, section)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(SECTIONS))
    parser.add_argument("--shapes", help="only shapes, as 4096x7168x2048, that this regular expression finds")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--no-triton", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--plot", metavar="PREFIX")
    options = parser.parse_args()
    import torch
    torch.manual_seed(0)
    bench = make_bench(options)
    failures = 0
    for section in options.only.split(","):
        if section not in SECTIONS:
            parser.error(f"--only: {section!r}; needed some of {', '.join(SECTIONS)}")
        shapes, run = work_of(section, bench)
        failures += bench.run(section, run, shapes, options.shapes)
        if options.json:
            bench.write(options.json, "gemm.py")  # after each section: what was measured is kept
    bench.summary()
    if options.plot:
        from plot import plot
        plot(bench.rows, [], options.plot)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
