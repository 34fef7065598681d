"""The kernel library (ordinary programs in the language, no hand-written schedule) on a Hopper GPU, beside cuBLAS, cuDNN, torch's grouped
product and Triton, in one process. Results are checked first (fp64 on sampled rows; outputs poisoned with NaN), then timed as replays of CUDA
graphs of one launch, interleaved, with the L2 cache flushed before each; medians.

    bench/language.py [--json bench/results/h200-language.json] [--only gemm,attention,grouped,softmax,layer_norm] [--search] [--repeats N]

--search also times every schedule of a list, and says which was best: what the cost model is judged by.
"""

import argparse
import concurrent.futures
import functools
import math
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if "TILELOOM_INSTALLED" not in os.environ:
    sys.path.insert(0, os.path.join(ROOT, "python"))
sys.path.insert(0, os.path.join(ROOT, "bench"))

import torch  # noqa: E402
from tileloom import kernels  # noqa: E402
from measure import GEMM_SHAPES, Records, check, relative_error  # noqa: E402

ATTENTION_SHAPES = [(b, s, h, h, d) for d, h in ((128, 16), (64, 32), (256, 8))
                    for b, s in ((16, 1024), (8, 2048), (4, 4096), (2, 8192), (1, 16384)) if d == 128 or s != 2048]
ATTENTION_SHAPES += [(2, 8192, 32, 8, 128)]
GROUPED_SHAPES = [(g, m, n, k) for n, k in ((4096, 7168), (7168, 2048), (6144, 7168), (7168, 3072)) for g, m in ((4, 8192), (8, 4096), (32, 256))]
ROWS = [(4096, n) for n in (256, 512, 1024, 2048, 4096, 8192, 16384)]

GEMM_SEARCH = [  # (BM, BN, BK, schedule)
    (128, 256, 64, {}), (256, 128, 64, {}), (128, 192, 64, {}), (128, 128, 64, {}), (256, 192, 64, {}), (192, 128, 64, {}), (192, 192, 64, {}),
    (64, 256, 64, {"use": "pingpong"}), (128, 128, 64, {"use": "pingpong"}), (128, 192, 64, {"use": "pingpong"}), (64, 192, 64, {"use": "pingpong"}),
    (64, 128, 64, {"use": "pingpong"}), (64, 32, 64, {}), (64, 48, 64, {}), (64, 64, 64, {}), (64, 96, 64, {}), (64, 128, 64, {}), (64, 64, 128, {}),
    (64, 128, 128, {}), (128, 64, 64, {}), (128, 32, 128, {}), (128, 64, 128, {}),
]

ATTENTION_SEARCH = {  # head dimension: (BM, BN, schedule)
    64: [(m, n, {}) for m in (128, 192) for n in (64, 80, 96, 112, 128, 160, 192)],
    128: [(m, n, {}) for m in (128, 192) for n in (64, 80, 96, 112, 128, 144, 160)],
    256: [(128, n, {}) for n in (48, 64, 80, 96, 112, 128)],
}


def name_of(candidate):
    *tile, schedule = candidate
    return "x".join(map(str, tile)) + "".join(f" {key}={value}" for key, value in schedule.items())


class Bench(Records):
    def __init__(self, arguments):
        super().__init__(arguments.repeats)
        self.search = arguments.search

    def gemm(self, m, n, k):
        a, b = (torch.randn(rows, k, device="cuda", dtype=torch.bfloat16) for rows in (m, n))
        c = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
        sample = torch.randint(0, m, (64,), device="cuda")
        wanted = (a[sample].double() @ b.double().T) if n * k < 2**28 else (a[sample].float() @ b.float().T).double()
        functions, errors = {"cublas": lambda: torch.mm(a, b.T, out=c)}, {}

        def add(name, **options):
            out = torch.full((m, n), math.nan, device="cuda", dtype=torch.bfloat16)
            launch = functools.partial(kernels.gemm, a, b.T, out, **options)
            try:
                launch()
            except Exception as error:
                if name == "tileloom":
                    raise
                print(f"  {name}: {str(error).splitlines()[0][:150]}")
                return
            errors[name] = check(name, (m, n, k), relative_error(out[sample], wanted), 4e-3)
            functions[name] = launch

        add("tileloom")
        if self.search:
            for candidate in GEMM_SEARCH:
                bm, bn, bk, schedule = candidate
                if m <= 128 and bm * bn > 128 * 128 or m > 128 and bm * bn < 64 * 256:
                    continue
                add("tileloom:" + name_of(candidate), BM=bm, BN=bn, BK=bk, schedule=schedule)
        self.record("gemm_bf16", f"{m}x{n}x{k}", 2 * m * n * k, None, functions, errors, "cublas")

    def attention(self, batch, length, heads, groups, d, causal):
        q = torch.randn(batch, length, heads, d, device="cuda", dtype=torch.bfloat16)
        k, v = (torch.randn(batch, length, groups, d, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        out = torch.full_like(q, math.nan)
        lse = torch.empty(batch, heads, length, device="cuda", dtype=torch.float32)
        launch = functools.partial(kernels.attention, q, k, v, out, causal=causal, lse=lse)
        launch()
        qt, kt, vt = (t.transpose(1, 2) for t in (q, k, v))
        # fp64 on the last head of the first batch
        rows = torch.randint(0, length, (64,), device="cuda")
        group = (heads - 1) // (heads // groups)
        scores = qt[0, -1, rows].double() @ kt[0, group].double().T * d**-0.5
        if causal:
            scores = scores.masked_fill(torch.arange(length, device="cuda")[None] > rows[:, None], -math.inf)
        wanted = torch.softmax(scores, -1) @ vt[0, group].double()
        errors = {"tileloom": check("attention", (batch, length, heads, groups, d, causal), relative_error(out[0, rows, heads - 1], wanted), 5e-3)}
        from torch.nn.attention import SDPBackend, sdpa_kernel

        def cudnn():
            with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                torch.nn.functional.scaled_dot_product_attention(qt, kt, vt, is_causal=causal, enable_gqa=heads != groups)

        functions = {"tileloom": launch, "cudnn": cudnn}
        for bm, bn, schedule in ATTENTION_SEARCH[d] if self.search else ():
            name = "tileloom:" + name_of((bm, bn, schedule))
            own = torch.full_like(q, math.nan)
            variant = functools.partial(kernels.attention, q, k, v, own, causal=causal, lse=lse, BM=bm, BN=bn, schedule=schedule)
            try:
                variant()
            except Exception as error:
                print(f"  {name}: {' '.join(str(error).split())[:200]}")
                continue
            errors[name] = check(name, (batch, length, d), relative_error(own[0, rows, heads - 1], wanted), 5e-3)
            functions[name] = variant
        shape = f"B{batch} S{length} H{heads}/{groups} D{d} {'causal' if causal else 'full'}"
        flops = 4 * batch * heads * length * length * d // (2 if causal else 1)
        self.record("attention_bf16", shape, flops, None, functions, errors, "cudnn")

    def grouped(self, groups, rows, n, k):
        generator = torch.Generator().manual_seed(rows)
        counts = [max(128, int(rows * (0.7 + 0.6 * torch.rand((), generator=generator).item())) // 128 * 128) for _ in range(groups)]
        m = sum(counts)
        a = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
        b = torch.randn(groups, n, k, device="cuda", dtype=torch.bfloat16)
        labels = torch.repeat_interleave(torch.arange(groups, dtype=torch.int32), torch.tensor(counts)).cuda()
        ends = torch.tensor(counts).cumsum(0).to(torch.int32).cuda()
        out = torch.full((m, n), math.nan, device="cuda", dtype=torch.bfloat16)
        launch = functools.partial(kernels.grouped_gemm_contiguous, a, b, labels, out)
        launch()
        sample = torch.randint(0, m, (32,), device="cuda")
        wanted = torch.stack([a[i].double() @ b[labels[i]].double().T for i in sample.tolist()])
        errors = {"tileloom": check("grouped", (groups, rows, n, k), relative_error(out[sample], wanted), 4e-3)}
        functions = {"tileloom": launch, "torch_grouped": lambda: torch._grouped_mm(a, b.transpose(1, 2), offs=ends)}
        self.record("grouped_bf16_contiguous", f"G{groups} m~{rows} N{n} K{k}", 2 * m * n * k, None, functions, errors, "torch_grouped")

    def row_kernel(self, work, rows, columns, run, wanted, triton_kernel, torch_kernel, vectors):
        """Rows in several sets of tensors: where they lie is worth as much as what kernels of 8 to 20 us differ by."""
        errors, sets = {}, []
        for _ in range(5):
            x = torch.randn(rows, columns, device="cuda", dtype=torch.bfloat16)
            others = [torch.randn(columns, device="cuda", dtype=torch.bfloat16) for _ in range(vectors)]
            out = torch.full_like(x, math.nan)
            launch = functools.partial(run, x, *others, out)
            launch()
            errors["tileloom"] = check(work, (rows, columns), relative_error(out, wanted(x.double(), *(other.double() for other in others))), 4e-3)
            sets.append({"tileloom": launch, "triton": triton_kernel(x, *others, torch.empty_like(x)), "torch": functools.partial(torch_kernel, x, *others)})
        self.record(work, f"{rows}x{columns}", None, 4 * x.numel(), sets, errors, ("triton", "torch"), often=4)

    def softmax(self, rows, columns):
        import triton_rows
        reference = functools.partial(torch.softmax, dim=1)
        self.row_kernel("softmax", rows, columns, kernels.softmax, reference, triton_rows.softmax, reference, 0)

    def layer_norm(self, rows, columns):
        import triton_rows

        def reference(x, weight, bias):
            return torch.nn.functional.layer_norm(x, (columns,), weight, bias)
        self.row_kernel("layernorm", rows, columns, kernels.layer_norm, reference, triton_rows.layer_norm, reference, 2)


def warm(search, only):
    """Compiles the variants of the search side by side."""
    if not search:
        return

    def gemm(bm, bn, bk, schedule):
        x = torch.randn(256, 256, device="cuda", dtype=torch.bfloat16)
        kernels.gemm(x, x.T, BM=bm, BN=bn, BK=bk, schedule=schedule)

    def attention(d, causal, bm, bn, schedule):
        x = torch.randn(1, 256, 2, d, device="cuda", dtype=torch.bfloat16)
        kernels.attention(x, x, x, causal=causal, BM=bm, BN=bn, schedule=schedule)

    work = [(gemm, candidate) for candidate in GEMM_SEARCH] if "gemm" in only else []
    if "attention" in only:
        work += [(attention, (d, causal, *c)) for d, list_ in ATTENTION_SEARCH.items() for c in list_ for causal in (False, True)]

    def one(item):
        try:
            item[0](*item[1])
        except Exception:
            pass

    with concurrent.futures.ThreadPoolExecutor(14) as pool:
        list(pool.map(one, work))
    torch.cuda.synchronize()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json")
    parser.add_argument("--only", default="gemm,attention,grouped,softmax,layer_norm")
    parser.add_argument("--search", action="store_true")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--shapes", help="only shapes that this regular expression finds in, as in (2, 8192")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    bench = Bench(arguments)
    warm(arguments.search, arguments.only)
    work = {"gemm": GEMM_SHAPES, "attention": [(*s, c) for s in ATTENTION_SHAPES for c in (False, True)], "grouped": GROUPED_SHAPES,
            "softmax": ROWS, "layer_norm": ROWS}
    failures = sum(bench.run(name, getattr(bench, name), work[name], arguments.shapes) for name in arguments.only.split(","))
    bench.summary()
    if arguments.json:
        bench.write(arguments.json, "language.py")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
