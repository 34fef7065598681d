"""Attention on a Hopper GPU: dense beside cuDNN, torch's flash backend and Triton; every argument beside the dense kernel; sequences of different lengths;
decoding, few queries. One process; results are checked first (fp64 on sampled rows, outputs poisoned with NaN), then timed as replays of captured launches, interleaved,
with the L2 cache flushed before each; medians.

    bench/attention.py [--only SECTION,...] [--shapes REGEX] [--repeats N] [--no-triton] [--json FILE [--resume]] [--plot FILE.png]   (SECTIONS below)
    bench/attention.py --from FILE --plot FILE.png      the plot of a results file, without a GPU (matplotlib)

FILE is written after each section, with what there is. --resume keeps the rows that it has, but for those that this run makes again: the sections of one
machine may be recorded by several commands. Each row has the number of its run in "runs".

--plot draws TFLOP/s against length for each head dimension. Of windows and chunks only the keys that are seen count.
"""

import argparse
import functools
import json
import math
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if "TILELOOM_INSTALLED" not in os.environ:
    sys.path.insert(0, os.path.join(ROOT, "python"))
sys.path.insert(0, os.path.join(ROOT, "bench"))

from attention_shapes import SECTIONS  # noqa: E402
from plot import lengths as plot_lengths  # noqa: E402


def make_bench(options):
    """The Bench, in a function: --from needs neither torch nor a GPU."""
    import attention_arguments
    import tileloom as tl
    import torch
    from attention_arguments import below
    from measure import Records, check, compile_ahead, relative_error
    from tileloom import kernels
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    def randn(*shape, dtype=torch.bfloat16):
        return torch.randn(shape, device="cuda", dtype=dtype)

    def sdpa(backend, q, k, v, causal):
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))

        def launch():
            with sdpa_kernel(backend):
                return scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1])
        return launch

    def wanted_rows(q, k, v, rows, change=lambda scores, i, n: scores):
        """fp64, of some rows of the last head of the first sequence. change: of scaled scores."""
        T, D = k.shape[1], q.shape[-1]
        scores = q[0, rows, -1].double() @ k[0, :, -1].double().T * D**-0.5
        i, n = rows[:, None] + T - q.shape[1], torch.arange(T, device="cuda")[None]
        return torch.softmax(change(scores, i, n), -1) @ v[0, :, -1].double()

    class Bench(Records):
        def add(self, functions, errors, name, shape, launch, out, sample, wanted, limit=6e-3):
            """A function to time, after its result is checked."""
            out.fill_(math.nan)
            launch()
            errors[name] = check(name, shape, relative_error(sample(out), wanted), limit)
            functions[name] = launch

        def dense(self, batch, length, heads, groups, d, causal):
            q, k, v = randn(batch, length, heads, d), randn(batch, length, groups, d), randn(batch, length, groups, d)
            rows = torch.randint(0, length, (64,), device="cuda")
            wanted = wanted_rows(q, k, v, rows, below if causal else lambda scores, i, n: scores)
            shape = f"B{batch} S{length} H{heads}/{groups} D{d} {'causal' if causal else 'full'}"
            functions, errors = {}, {}
            out, lse = torch.empty_like(q), torch.empty(batch, heads, length, device="cuda")
            add = functools.partial(self.add, functions, errors)
            add("tileloom", shape, functools.partial(kernels.attention, q, k, v, out, causal=causal, lse=lse), out, lambda o: o[0, rows, -1], wanted)
            for name, backend in (("cudnn", SDPBackend.CUDNN_ATTENTION), ("fa2", SDPBackend.FLASH_ATTENTION)):
                launch = sdpa(backend, q, k, v, causal)
                try:
                    errors[name] = relative_error(launch().transpose(1, 2)[0, rows, -1], wanted)
                    functions[name] = launch
                except RuntimeError as error:
                    print(f"  {name}: {str(error).splitlines()[0][:100]}")
            if not options.no_triton:
                import triton_attention
                own = torch.empty_like(q)
                add("triton", shape, triton_attention.attention(q, k, v, own, causal, d**-0.5), own, lambda o: o[0, rows, -1], wanted)
            flops = 4 * batch * heads * length * length * d // (2 if causal else 1)
            self.record("attention_bf16", shape, flops, None, functions, errors, ("cudnn", "fa2", "triton"))

        def arguments(self, batch, length, heads, d):
            """Each argument, its time against that of the plain kernel with the same keys to see; flops of what is seen."""
            q, k, v = (randn(batch, length, heads, d) for _ in range(3))
            rows = torch.randint(0, length, (64,), device="cuda")
            full, lower = length * length, length * (length + 1) // 2
            cases = attention_arguments.dense(length, heads, d)
            functions, errors, flops = {}, {}, {}
            for name, (given, change, pairs) in cases.items():
                out = torch.empty_like(q)
                launch = functools.partial(kernels.attention, q, k, v, out, lse=torch.empty(batch, heads, length, device="cuda"), **given)
                if change is None:
                    scores = below(q[0, rows, -1].double() @ k[0, :, -1].double().T * d**-0.5, rows[:, None], torch.arange(length, device="cuda")[None])
                    weights = torch.softmax(torch.cat([scores, given["sinks"][-1].double().expand(64, 1)], 1), -1)[:, :-1]
                    wanted = weights @ v[0, :, -1].double()
                else:
                    wanted = wanted_rows(q, k, v, rows, change)
                self.add(functions, errors, name, name, launch, out, lambda o: o[0, rows, -1], wanted)
                flops[name] = 4 * batch * heads * pairs * d
            for dk, dv, dtype in ((96, 96, torch.bfloat16), (192, 192, torch.bfloat16), (192, 128, torch.bfloat16), (128, 128, torch.float16)):
                for causal in (False, True):
                    x, y, z = (randn(batch, length, heads, own, dtype=dtype) for own in (dk, dk, dv))
                    name = f"D {dk}/{dv} {'fp16 ' if dtype is torch.float16 else ''}{'causal' if causal else 'full'}"
                    out = torch.empty_like(z)
                    launch = functools.partial(kernels.attention, x, y, z, out, causal=causal, lse=torch.empty(batch, heads, length, device="cuda"))
                    wanted = wanted_rows(x, y, z, rows, below if causal else lambda s, i, n: s)
                    self.add(functions, errors, name, name, launch, out, lambda o: o[0, rows, -1], wanted)
                    flops[name] = 2 * batch * heads * (lower if causal else full) * (dk + dv)
            self.record_all("attention_arguments", f"B{batch} S{length} H{heads} D{d}", flops, functions, errors)

        def record_all(self, work, shape, flops, functions, errors):
            """One timing of many of our own: a row and a line for each."""
            functions = {f"tileloom:{name}": function for name, function in functions.items()}
            first = next(iter(functions))
            functions = {"tileloom": functions[first], **functions}
            times = self.record(work, shape, flops[first[9:]], None, functions, {f"tileloom:{n}": e for n, e in errors.items()}, (), variants=True)
            for row in self.rows:
                if row["work"] == work and row["shape"] == shape and row.get("schedule") in flops:
                    row["case"] = row.pop("schedule")
                    row["tflops"] = flops[row["case"]] / row["ms"] / 1e9
            for name in flops:
                print(f"  {name}: {times['tileloom:' + name] * 1e3:.1f} us, {flops[name] / times['tileloom:' + name] / 1e9:.0f} TFLOP/s", flush=True)

        def fp8(self, batch, length, heads, d, causal):
            """8-bit elements beside our own 16-bit kernel. Rounding p alone gives an error of 0.025 to 0.027, without a threshold of 0.022."""
            wide = [randn(batch, length, heads, d) for _ in range(3)]
            q, k, v = (t.to(torch.float8_e4m3fn) for t in wide)
            rows = torch.randint(0, length, (64,), device="cuda")
            wanted = wanted_rows(q.float(), k.float(), v.float(), rows, below if causal else lambda scores, i, n: scores)
            shape = f"B{batch} S{length} H{heads} D{d} {'causal' if causal else 'full'}"
            functions, errors = {}, {}
            for bn in (None, 128, 160, 192):
                out, lse = torch.empty_like(wide[0]), torch.empty(batch, heads, length, device="cuda")
                launch = functools.partial(kernels.attention, q, k, v, out, causal=causal, lse=lse, **({"BN": bn} if bn else {}))
                name = f"tileloom:BN={bn}" if bn else "tileloom"
                self.add(functions, errors, name, shape, launch, out, lambda o: o[0, rows, -1], wanted, 0.03)
            ones = {f"{own}_descale": torch.ones(batch, heads, device="cuda") for own in "qkv"}
            for name, given, limit in (("rescale_threshold 0", {"rescale_threshold": 0}, 0.025), ("descales", ones, 0.03)):
                out, lse = torch.empty_like(wide[0]), torch.empty(batch, heads, length, device="cuda")
                launch = functools.partial(kernels.attention, q, k, v, out, causal=causal, lse=lse, **given)
                self.add(functions, errors, f"tileloom:{name}", shape, launch, out, lambda o: o[0, rows, -1], wanted, limit)
            flat, starts = [t.view(batch * length, heads, d) for t in (q, k, v)], torch.arange(batch + 1, device="cuda", dtype=torch.int32) * length
            out, lse = torch.empty_like(wide[0]), torch.empty(batch, heads, length, device="cuda")
            launch = functools.partial(kernels.attention_varlen, *flat, out.view(batch * length, heads, d), cu_seqlens_q=starts, cu_seqlens_k=starts,
                                       max_seqlen_q=length, max_seqlen_k=length, causal=causal, lse=lse.view(heads, batch * length))
            self.add(functions, errors, "tileloom:varlen", shape, launch, out, lambda o: o[0, rows, -1], wanted, 0.03)
            functions["bf16"] = functools.partial(kernels.attention, *wide, torch.empty_like(wide[0]), causal=causal, lse=torch.empty_like(lse))
            self.record("attention_fp8", shape, 4 * batch * heads * length * length * d // (2 if causal else 1), None, functions, errors, ("bf16",))

        def varlen(self, kind, total, heads, groups, d, causal):
            """Packed sequences: of equal lengths beside the dense kernel, and of mixed ones, beside torch's varlen flash attention."""
            length = 4096
            lengths = [length] * (total // length) if kind == "equal" else [4096, 300, 7000, 129, 2500, total - 14025]
            starts = torch.tensor([0, *lengths]).cumsum(0).to(torch.int32).cuda()
            q, k, v = randn(total, heads, d), randn(total, groups, d), randn(total, groups, d)
            out, lse, longest = torch.empty_like(q), torch.empty(heads, total, device="cuda"), max(lengths)
            launch = functools.partial(kernels.attention_varlen, q, k, v, out, lse=lse, cu_seqlens_q=starts, cu_seqlens_k=starts, max_seqlen_q=longest,
                                       max_seqlen_k=longest, causal=causal)
            n = lengths[0]
            rows = torch.randint(0, n, (64,), device="cuda")
            first = [t[None, :n] for t in (q, k, v)]
            wanted = wanted_rows(*first, rows, below if causal else lambda s, i, n: s)
            shape = f"{len(lengths)} sequences, {kind}, {total} rows H{heads}/{groups} D{d} {'causal' if causal else 'full'}"
            functions, errors = {}, {}
            self.add(functions, errors, "tileloom", shape, launch, out, lambda o: o[rows, -1], wanted)
            if kind == "equal":
                own = torch.empty_like(out)
                used = torch.tensor(lengths, device="cuda", dtype=torch.int32)
                self.add(functions, errors, "tileloom:seqused_q, seqused_k", shape, functools.partial(launch.func, q, k, v, own, **launch.keywords, seqused_q=used,
                                                                                                     seqused_k=used), own, lambda o: o[rows, -1], wanted)
                dense = [t.view(len(lengths), length, -1, d) for t in (q, k, v)]
                functions["dense"] = functools.partial(kernels.attention, *dense, torch.empty_like(dense[0]),
                                                       lse=torch.empty(len(lengths), heads, length, device="cuda"),
                                                       causal=causal)
            elif heads == groups:
                functions["fa2"] = lambda: torch.ops.aten._flash_attention_forward(q, k, v, starts, starts, longest, longest, 0.0, causal, False)
            pairs = sum(n * (n + 1) // 2 if causal else n * n for n in lengths)
            self.record("attention_varlen", shape, 4 * heads * pairs * d, None, functions, errors, ("dense", "fa2"), variants=True)

        def cache(self, batch, length, heads, groups, d):
            """Each argument of attention_kvcache beside the kernel over dense tensors, with the same keys to see."""
            q, k, v = randn(batch, 1, heads, d), randn(batch, length, groups, d), randn(batch, length, groups, d)
            wanted = wanted_rows(q, k, v, torch.zeros(1, dtype=torch.int64, device="cuda"))
            lengths = torch.full((batch,), length, device="cuda", dtype=torch.int32)
            shape = f"B{batch} Sq1 Sk{length} H{heads}/{groups} D{d}"
            functions, errors, lse = {}, {}, torch.empty(batch, heads, 1, device="cuda")
            cases = {"tileloom": (kernels.attention, (k, v), {})}
            cases.update({f"tileloom:{name}": (kernels.attention_kvcache, *own) for name, own in attention_arguments.cache(q, k, v, lengths).items()})
            for name, (function, tensors, given) in cases.items():
                out = torch.empty_like(q)
                self.add(functions, errors, name, shape, functools.partial(function, q, *tensors, out, lse=lse, **given), out, lambda o: o[0, :, -1], wanted)
            times = self.record("decode_arguments", shape, None, 2 * (2 * q.numel() + 2 * k.numel()), functions, errors, (), variants=True)
            for name, ms in times.items():
                print(f"  {name}: {ms * 1e3:.1f} us, {times['tileloom'] / ms:.3f} x dense", flush=True)

        def decode(self, batch, length, heads, groups, d, few=False):
            q, k, v = randn(batch, 1, heads, d), randn(batch, length, groups, d), randn(batch, length, groups, d)
            wanted = wanted_rows(q, k, v, torch.zeros(1, dtype=torch.int64, device="cuda"))
            lengths = torch.full((batch,), length, device="cuda", dtype=torch.int32)
            shape = f"B{batch} Sq1 Sk{length} H{heads}/{groups} D{d}"
            functions, errors = {}, {}
            lse = torch.empty(batch, heads, 1, device="cuda")

            def add(name, *caches, **given):
                out = torch.empty_like(q)
                launch = functools.partial(kernels.attention_kvcache, q, *caches, out, lse=lse, **given)
                self.add(functions, errors, name, shape, launch, out, lambda o: o[0, :, -1], wanted)
            add("tileloom", k, v, cache_seqlens=lengths)
            for page in (64, 16, 1) if not few else ():
                count = batch * length // page
                order = torch.randperm(count, device="cuda")
                pools = [torch.empty(count, page, groups, d, device="cuda", dtype=q.dtype) for _ in range(2)]
                for pool, own in zip(pools, (k, v)):
                    pool[order] = own.view(count, page, groups, d)
                add(f"tileloom:paged {page}", *pools, cache_seqlens=lengths, page_table=order.view(batch, -1).to(torch.int32))
            eighths = [t.to(torch.float8_e4m3fn) for t in (q, k, v)]
            rounded = wanted_rows(*(t.float() for t in eighths), torch.zeros(1, dtype=torch.int64, device="cuda"))
            out = torch.empty_like(q)
            self.add(functions, errors, "tileloom:float8", shape, functools.partial(kernels.attention_kvcache, *eighths, out, lse=lse, cache_seqlens=lengths),
                     out, lambda o: o[0, :, -1], rounded, 0.04)
            plan = kernels.get_scheduler_metadata(lengths, max_seqlen_q=1, max_seqlen_k=length, num_heads=heads, num_heads_k=groups, headdim=d)
            add("tileloom:scheduler_metadata", k, v, cache_seqlens=lengths, scheduler_metadata=plan)
            if not few:
                angles = torch.zeros(length + 1, d // 2, device="cuda")
                wide = [torch.cat([t, torch.zeros_like(t[:, :8])], 1) for t in (k, v)]
                shorter = lengths - 1
                add("tileloom:append, rotary", *wide, cache_seqlens=shorter, k_new=k[:, -1:].clone(), v_new=v[:, -1:].clone(), rotary_cos=angles.cos(),
                    rotary_sin=angles.sin(), rotary_interleaved=False)
            for name, backend in (("cudnn", SDPBackend.CUDNN_ATTENTION), ("fa2", SDPBackend.FLASH_ATTENTION)):
                launch = sdpa(backend, q, k, v, False)
                try:
                    errors[name] = relative_error(launch().transpose(1, 2)[0, :, -1], wanted)
                    functions[name] = launch
                except RuntimeError as error:
                    print(f"  {name}: {str(error).splitlines()[0][:100]}")
            bytes_ = 2 * (2 * q.numel() + 2 * k.numel())
            self.record("decode_bf16", shape, None, bytes_, functions, errors, ("cudnn", "fa2"), variants=True)

        def few(self, *shape):
            """Decoding of few sequences: keys in parts."""
            self.decode(*shape, True)

        def short(self, batch, queries, length, heads, groups, d):
            """Few queries of dense tensors: the choice beside one part, and beside a tile for each head."""
            q, k, v = randn(batch, queries, heads, d), randn(batch, length, groups, d), randn(batch, length, groups, d)
            rows = torch.arange(queries, device="cuda")
            wanted = wanted_rows(q, k, v, rows)
            shape = f"B{batch} Sq{queries} Sk{length} H{heads}/{groups} D{d}"
            functions, errors = {}, {}
            starts = [torch.arange(batch + 1, device="cuda", dtype=torch.int32) * own for own in (queries, length)]
            flat = [t.view(-1, *t.shape[2:]) for t in (q, k, v)]
            launches, lse = {}, torch.empty(batch, heads, queries, device="cuda")
            for name, given in (("tileloom", {}), ("tileloom:num_splits 1", {"num_splits": 1}), ("tileloom:pack_gqa off", {"pack_gqa": False})):
                out = torch.empty_like(q)
                launches[name] = out, functools.partial(kernels.attention, q, k, v, out, lse=lse, **given)
            out = torch.empty_like(q)
            launches["tileloom:varlen"] = out, functools.partial(
                kernels.attention_varlen, *flat, out.view(flat[0].shape), lse=torch.empty(heads, batch * queries, device="cuda"), cu_seqlens_q=starts[0],
                cu_seqlens_k=starts[1], max_seqlen_q=queries, max_seqlen_k=length)
            compile_ahead(launch for _, launch in launches.values())
            for name, (out, launch) in launches.items():
                self.add(functions, errors, name, shape, launch, out, lambda o: o[0, rows, -1], wanted)
            for name, backend in (("cudnn", SDPBackend.CUDNN_ATTENTION), ("fa2", SDPBackend.FLASH_ATTENTION)):
                launch = sdpa(backend, q, k, v, False)
                try:
                    errors[name] = relative_error(launch().transpose(1, 2)[0, rows, -1], wanted)
                    functions[name] = launch
                except RuntimeError as error:
                    print(f"  {name}: {str(error).splitlines()[0][:100]}")
            self.record("attention_short", shape, None, 2 * (2 * q.numel() + 2 * k.numel()), functions, errors, ("cudnn", "fa2"), variants=True)

        def search(self, batch, length, heads, d, causal):
            """The model's choice beside tiles and fields of the schedule, those that fit."""
            q, k, v = (randn(batch, length, heads, d) for _ in range(3))
            shape = f"B{batch} S{length} H{heads} D{d} {'causal' if causal else 'full'}"
            out, lse, functions = torch.empty_like(q), torch.empty(batch, heads, length, device="cuda"), {}
            tiles = [(bm, bn) for bm in (128, 192) for bn in (48, 64, 80, 96, 112, 128, 144, 160, 176) if bm * (bn + d) <= 128 * 320 and d + bn >= 160]
            fields = ({}, {"turns": "off"}, {"skew": "off"}, {"stages": 2}, {"stages": 3}, {"guard": "off"})
            launches = {name: functools.partial(kernels.attention, q, k, v, out, causal=causal, lse=lse, **given)
                        for name, given in (("tileloom", {}), *((f"tileloom:{bm}x{bn} {field}", {"BM": bm, "BN": bn, "schedule": field})
                                                                for bm, bn in tiles for field in fields))}
            compile_ahead(launches.values())
            for name, launch in launches.items():
                try:
                    launch()
                    functions[name] = launch
                except tl.TileloomError as error:
                    print(f"  {name}: {str(error).splitlines()[0][-100:]}")
            flops = 4 * batch * heads * length * length * d // (2 if causal else 1)
            self.record("attention_search", shape, flops, None, functions, {}, ())

        def latent(self, batch, length, heads):
            """576 columns, of which 512 are the values, too."""
            q, k = randn(batch, 1, heads, 576), randn(batch, length, 1, 576)
            lengths, out = torch.full((batch,), length, device="cuda", dtype=torch.int32), torch.empty(batch, 1, heads, 512, device="cuda", dtype=q.dtype)
            wanted = wanted_rows(q, k.expand(-1, -1, heads, -1), k[..., :512].expand(-1, -1, heads, -1), torch.zeros(1, dtype=torch.int64, device="cuda"))
            shape = f"B{batch} Sq1 Sk{length} H{heads}/1 D576/512"
            functions, errors = {}, {}
            launch = functools.partial(kernels.attention_kvcache, q, k, k[..., :512], out, cache_seqlens=lengths)
            self.add(functions, errors, "tileloom", shape, launch, out, lambda o: o[0, :, -1], wanted)
            apart = [t.contiguous() for t in (q[..., 512:], k[..., 512:], k[..., :512], q[..., :512])]
            launch = functools.partial(kernels.attention_kvcache, *apart[:3], out, qv=apart[3], cache_seqlens=lengths, softmax_scale=576**-0.5)
            self.add(functions, errors, "tileloom:qv", shape, launch, out, lambda o: o[0, :, -1], wanted)
            eighths = [t.to(torch.float8_e4m3fn) for t in (q, k)]
            rounded = [t.float() for t in eighths]
            wanted = wanted_rows(rounded[0], *(rounded[1][..., :end].expand(-1, -1, heads, -1) for end in (576, 512)),
                                 torch.zeros(1, dtype=torch.int64, device="cuda"))
            launch = functools.partial(kernels.attention_kvcache, *eighths, eighths[1][..., :512], out, cache_seqlens=lengths)
            self.add(functions, errors, "tileloom:float8", shape, launch, out, lambda o: o[0, :, -1], wanted, 0.04)
            self.record("decode_latent", shape, 2 * batch * heads * length * (576 + 512), None, functions, errors, (), variants=True)

        def unequal(self, lengths, heads, groups, d):
            """Sequences of very different lengths: the host's choice without lengths, 8 parts for each, and a plan."""
            batch, longest = len(lengths), max(lengths)
            q, k, v = randn(batch, 1, heads, d), randn(batch, longest, groups, d), randn(batch, longest, groups, d)
            own = torch.tensor(lengths, device="cuda", dtype=torch.int32)
            first = [t[:, :lengths[0]] for t in (k, v)]
            wanted = wanted_rows(q, *first, torch.zeros(1, dtype=torch.int64, device="cuda"))
            plan = kernels.get_scheduler_metadata(own, max_seqlen_q=1, max_seqlen_k=longest, num_heads=heads, num_heads_k=groups, headdim=d)
            shape = f"{batch} sequences of {min(lengths)} to {longest} H{heads}/{groups} D{d}"
            functions, errors = {}, {}
            for name, given in (("tileloom", {"scheduler_metadata": plan}), ("tileloom:no plan", {}), ("tileloom:8 splits", {"num_splits": 8})):
                out = torch.empty_like(q)
                launch = functools.partial(kernels.attention_kvcache, q, k, v, out, cache_seqlens=own, **given)
                self.add(functions, errors, name, shape, launch, out, lambda o: o[0, :, -1], wanted)
            self.record("decode_unequal", shape, None, 4 * sum(lengths) * groups * d, functions, errors, (), variants=True)

    return Bench


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(SECTIONS))
    parser.add_argument("--shapes", help="only shapes that this regular expression finds in, as in (2, 8192")
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--no-triton", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--plot")
    parser.add_argument("--from", dest="source")
    options = parser.parse_args()
    sections = options.only.split(",")
    if unknown := [name for name in sections if name not in SECTIONS]:
        parser.error(f"--only: unknown section '{unknown[0]}'; needed some of {', '.join(SECTIONS)}")
    if options.resume and not options.json:
        parser.error("--resume: needed --json FILE beside it")
    if options.source:
        with open(options.source) as file:
            plot_lengths(json.load(file)["rows"], options.plot)
        return 0
    import torch
    torch.manual_seed(0)
    bench = make_bench(options)(options.repeats)
    if options.resume:
        bench.resume(options.json)
    failures = 0
    for name in sections:
        failures += bench.run(name, getattr(bench, name), SECTIONS[name], options.shapes)
        if options.json:
            bench.write(options.json, "attention.py")
    bench.summary()
    if options.plot:
        plot_lengths(bench.rows, options.plot)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
