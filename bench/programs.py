"""The programs by hand in test/programs/warp on a Hopper GPU: ours, the vendor library's and, with --reference, known fast PTX, and the kernel
library with its own choice of tiles and schedule beside that PTX, in one process. Results are checked first (fp64 on sampled rows; outputs poisoned with
NaN), then timed as replays of captured launches in an order that is drawn anew for each repeat, with the L2 cache flushed between launches; medians.

    bench/programs.py [--reference DIR] [--json bench/results/h200-programs.json] [--quick]

DIR holds PTX kernels and a `reference.py` that launches them (gemm, gemm_fp8, attention).
"""

import argparse
import datetime
import importlib
import json
import math
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if "TILELOOM_INSTALLED" not in os.environ:
    sys.path.insert(0, os.path.join(ROOT, "python"))
sys.path.insert(0, os.path.join(ROOT, "bench"))
PROGRAMS = os.path.join(ROOT, "test", "programs", "warp")

import torch  # noqa: E402
from tileloom import compiler, kernels  # noqa: E402
from tileloom.runtime import Kernel  # noqa: E402

from measure import check, geometric_mean, relative_error, sorted_times  # noqa: E402

GEMM = {  # program: rows and columns of a tile, name of the reference
    "gemm_cooperative": (128, 256, "gemm_cooperative_128x256"),
    "gemm_pingpong": (64, 256, "gemm_pingpong_64x256"),
    "gemm_pingpong_128x192": (128, 192, "gemm_pingpong_128x192"),
    "gemm_small_m": (64, 64, "gemm_small_m"),
}
GEMM_SHAPES = [(8192, 8192, 8192), (4096, 4096, 4096), (4096, 7168, 2048), (4096, 4096, 7168), (4096, 24576, 1536),
               (4096, 32768, 512), (4096, 7168, 16384), (128, 4096, 7168)]
FP8 = {"gemm_fp8_block_192x128": (192, 128), "gemm_fp8_block_256x128": (256, 128), "gemm_fp8_block_128x256": (128, 256),
       "gemm_fp8_block_128x128": (128, 128)}
FP8_SHAPES = [(8192, 8192, 8192), (4096, 4096, 4096), (4096, 7168, 16384)]
ATTENTION_SHAPES = [(4, 4096, 16), (2, 8192, 16), (1, 16384, 16)]  # batch, length, heads
LIBRARY, LIBRARY_LENGTHS = "library", [(16, 1024), (8, 2048), (4, 4096), (2, 8192), (1, 16384)]  # batch, length


class Programs:
    """Compiled programs by name."""

    def __init__(self):
        self.kernels = {}

    def __getitem__(self, name):
        if name not in self.kernels:
            with open(os.path.join(PROGRAMS, name + ".mlir")) as file:
                text = file.read()
            compiled = compiler.compile(text, "sm_90a", name=name)
            self.kernels[name] = Kernel.load(compiled.cubin or compiled.ptx.encode(), compiled.recipe)
        return self.kernels[name]


class Bench:
    def __init__(self, reference, repeats):
        self.reference, self.repeats, self.programs, self.rows, self.ratios = reference, repeats, Programs(), [], {}

    def known(self, kind, name, *tensors):
        """A launch of a reference kernel, which knows its tensors by address only."""
        launch = getattr(self.reference, kind)(name, *tensors)
        return lambda: (launch(), tensors)

    def record(self, work, shape, flops, functions, errors, peer):
        times = {name: own[len(own) // 2] for name, own in sorted_times(functions, self.repeats).items()}
        by_hand = [times[name] for name in times if name in errors and name != LIBRARY]
        ours = min(by_hand) if by_hand else times[LIBRARY]
        base = times.get(peer)
        references = [times[name] for name in times if name.startswith("reference:")]
        for name, ms in times.items():
            impl = name if name in (peer, LIBRARY) else "tileloom" if name in errors else "reference"
            self.rows.append({"work": work, "shape": shape, "impl": impl, "program": name, "ms": ms,
                              "tflops": flops / ms / 1e9, "gbps": None, "err": errors.get(name)})
        text = f"{work} {shape}: {flops / ours / 1e9:.0f} TFLOP/s"
        if base:
            text += f", {base / ours:.3f} x {peer}"
        if references:
            text += f", {min(references) / ours:.3f} x the best reference"
        if references and LIBRARY in times:
            ratio = min(references) / times[LIBRARY]
            self.ratios.setdefault(work, []).append(ratio)
            text += f", the library {ratio:.3f}" if by_hand else ""
        print(text, flush=True)

    def gemm(self, m, n, k):
        a, b = (torch.randn(rows, k, device="cuda", dtype=torch.bfloat16) for rows in (m, n))
        c = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
        sample = torch.randint(0, m, (64,), device="cuda")
        wanted = a[sample].double() @ b.double().T
        functions, errors = {"cublas": lambda: torch.mm(a, b.T, out=c)}, {}
        for name, (rows, columns, known) in GEMM.items():
            if (name == "gemm_small_m") != (m <= 128):
                continue
            out = torch.full((m, n), math.nan, device="cuda", dtype=torch.bfloat16)
            arguments = (a, b, out, -(-m // rows), -(-n // columns), -(-k // 64))
            kernel = self.programs[name]
            kernel(*arguments)
            errors[name] = check(name, (m, n, k), relative_error(out[sample], wanted), 4e-3)
            functions[name] = lambda kernel=kernel, arguments=arguments: kernel(*arguments)
            if self.reference:
                functions["reference:" + known] = self.known("gemm", known, a, b, torch.empty_like(out))
        if self.reference:
            chosen = torch.full((m, n), math.nan, device="cuda", dtype=torch.bfloat16)
            kernels.gemm(a, b.T, chosen)
            errors[LIBRARY] = check(LIBRARY, (m, n, k), relative_error(chosen[sample], wanted), 4e-3)
            functions[LIBRARY] = lambda: kernels.gemm(a, b.T, chosen)
        self.record("gemm_bf16", f"{m}x{n}x{k}", 2 * m * n * k, functions, errors, "cublas")

    def gemm_fp8(self, m, n, k):
        a, b = (torch.randn(rows, k, device="cuda").to(torch.float8_e4m3fn) for rows in (m, n))
        scale_a = torch.rand(k // 128, m, device="cuda") + 0.5
        scale_b = torch.rand(n // 128, k // 128, device="cuda") + 0.5
        sample = torch.randint(0, m, (64,), device="cuda")
        wide = scale_b.double().repeat_interleave(128, 0).repeat_interleave(128, 1)
        wanted = (a[sample].double() * scale_a.T[sample].double().repeat_interleave(128, 1)) @ (b.double() * wide).T
        functions, errors = {}, {}
        for name, (rows, columns) in FP8.items():
            out = torch.full((m, n), math.nan, device="cuda", dtype=torch.bfloat16)
            arguments = (a, b, scale_a, out, scale_b, -(-m // rows), -(-n // columns), k // 128)
            kernel = self.programs[name]
            kernel(*arguments)
            errors[name] = check(name, (m, n, k), relative_error(out[sample], wanted), 5e-3)
            functions[name] = lambda kernel=kernel, arguments=arguments: kernel(*arguments)
            if self.reference:
                known = name.replace("gemm_", "")
                functions["reference:" + known] = self.known("gemm_fp8", known, a, b, scale_a, scale_b, torch.empty_like(out))
        self.record("gemm_fp8_block", f"{m}x{n}x{k}", 2 * m * n * k, functions, errors, None)

    def attention(self, batch, length, heads, causal):
        q, k, v = (torch.randn(batch, length, heads, 128, device="cuda", dtype=torch.bfloat16) for _ in range(3))
        out = torch.full_like(q, math.nan)
        lse = torch.full((batch, heads, length), math.nan, device="cuda")
        pairs, tiles, scale = batch * heads, -(-length // 128), 128**-0.5 * math.log2(math.e)
        name = "attention_d128_causal" if causal else "attention_d128"
        kernel = self.programs[name]
        if causal:
            section = max(1, min(pairs, 1 << int(math.log2(max(1, (32 << 20) // (length * 128 * 4))))))
            arguments = (q, k, v, out, lse, heads, length, pairs, tiles, section, scale)
        else:
            arguments = (q, k, v, out, lse, heads, length, pairs, tiles, scale)
        kernel(*arguments)
        rows = torch.randint(0, length, (64,), device="cuda")
        scores = q[0, rows, 0].double() @ k[0, :, 0].double().T * 128**-0.5
        if causal:
            scores.masked_fill_(torch.arange(length, device="cuda")[None, :] > rows[:, None], -math.inf)
        wanted = scores.softmax(-1) @ v[0, :, 0].double()
        error = check(name, (batch, length), relative_error(out[0, rows, 0], wanted), 4e-3)
        check(name + " lse", (batch, length), (lse[0, 0, rows] - scores.logsumexp(-1)).abs().max().item(), 1e-4)
        functions, errors = {name: lambda: kernel(*arguments)}, {name: error}
        qt, kt, vt = (x.transpose(1, 2) for x in (q, k, v))

        def cudnn():
            with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.CUDNN_ATTENTION):
                torch.nn.functional.scaled_dot_product_attention(qt, kt, vt, is_causal=causal)

        functions["cudnn"] = cudnn
        if self.reference:
            known = f"attention_d128_{'causal' if causal else 'full'}_exact"
            functions["reference:" + known] = self.known("attention", known, q, k, v, torch.empty_like(out), torch.empty_like(lse))
        flops = 4 * batch * heads * length * length * 128 / (2 if causal else 1)
        self.record("attention_bf16", f"B{batch} S{length} H{heads} D128 {'causal' if causal else 'full'}", flops, functions, errors,
                    "cudnn")

    def library_attention(self, batch, length, heads, dim, causal):
        """The library's attention, as it chooses tile and schedule, beside the reference that rescales as it does."""
        q, k, v = (torch.randn(batch, length, heads, dim, device="cuda", dtype=torch.bfloat16) for _ in range(3))
        out = torch.full_like(q, math.nan)
        lse = torch.full((batch, heads, length), math.nan, device="cuda")
        mask, functions, errors = "causal" if causal else "full", {}, {}
        kernels.attention(q, k, v, out, causal=causal, lse=lse)
        rows = torch.randint(0, length, (64,), device="cuda")
        scores = q[0, rows, -1].double() @ k[0, :, -1].double().T * dim**-0.5
        if causal:
            scores.masked_fill_(torch.arange(length, device="cuda")[None, :] > rows[:, None], -math.inf)
        wanted = scores.softmax(-1) @ v[0, :, -1].double()
        errors[LIBRARY] = check(LIBRARY, (batch, length, dim), relative_error(out[0, rows, -1], wanted), 4e-3)
        functions[LIBRARY] = lambda: kernels.attention(q, k, v, out, causal=causal, lse=lse)
        for known in (f"attention_d{dim}_{mask}_lazy", f"attention_d{dim}_{mask}"):
            if known in self.reference.ATTENTION:
                functions["reference:" + known] = self.known("attention", known, q, k, v, torch.empty_like(out), torch.empty_like(lse))
        flops = 4 * batch * heads * length * length * dim / (2 if causal else 1)
        self.record(f"library_attention_d{dim}", f"B{batch} S{length} H{heads} D{dim} {mask}", flops, functions, errors, None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference", help="folder of known fast PTX with reference.py")
    parser.add_argument("--json", help="file to write the results to")
    parser.add_argument("--quick", action="store_true", help="one shape each")
    options = parser.parse_args()
    if not torch.cuda.is_available() or torch.cuda.get_device_capability()[0] != 9:
        raise SystemExit("bench/programs.py: needs a Hopper GPU (compute capability 9.0); found "
                         + (torch.cuda.get_device_name() if torch.cuda.is_available() else "none"))
    reference = None
    if options.reference:
        sys.path.insert(0, options.reference)
        reference = importlib.import_module("reference")
    torch.manual_seed(0)
    bench = Bench(reference, 10 if options.quick else 25)
    last = 1 if options.quick else None
    for shape in GEMM_SHAPES[:last]:
        bench.gemm(*shape)
    for shape in FP8_SHAPES[:last]:
        bench.gemm_fp8(*shape)
    for causal in (False, True):
        for shape in ATTENTION_SHAPES[1:2] if options.quick else ATTENTION_SHAPES:
            bench.attention(*shape, causal)
    if reference:
        for dim, heads in ((128, 16), (64, 32)):
            for causal in (False, True):
                for batch, length in LIBRARY_LENGTHS[:last]:
                    bench.library_attention(batch, length, heads, dim, causal)
    for work, ratios in bench.ratios.items():
        print(f"{work}: the library {geometric_mean(ratios):.3f} x the best reference, lowest {min(ratios):.3f}, {len(ratios)} shapes")
    if options.json:
        result = {
            "machine": torch.cuda.get_device_name(), "driver": os.popen("nvidia-smi --query-gpu=driver_version --format=csv,noheader").read().strip(),
            "versions": {"torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()},
            "date": datetime.date.today().isoformat(), "command": "bench/programs.py --reference DIR --json FILE",
            "rows": bench.rows,
        }
        with open(options.json, "w") as file:
            json.dump(result, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
