"""Host cost of a launch: microseconds from the call in Python to its return, after the first call.

On a GPU machine with torch it launches an empty kernel with three tensor arguments as tensor maps, a kernel of the language with
eight arguments beside the same text in Triton, and functions of the kernel library beside torch's. Elsewhere the driver is replaced ($TILELOOM_CUDA_LIBRARY) and stand-ins take the
tensors' place: then it measures the runtime alone.

    bench/launch.py [--json bench/results/h200-launch.json]
"""

import argparse
import datetime
import json
import os
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "python"))
BUILD = os.environ.get("TILELOOM_BUILD", os.path.join(ROOT, "build"))
os.environ.setdefault("TILELOOM_LIBRARY", os.path.join(BUILD, "lib", "libtileloom.so"))

PTX = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry empty(.param .align 64 .b8 a[128], .param .align 64 .b8 b[128], .param .align 64 .b8 c[128],
  .param .b32 m, .param .b32 n, .param .b32 k) { ret; }
"""


def recipe(target):
    size = [{"kind": "dimension", "argument": argument, "axis": axis, "element": "i32"}
            for argument, axis in ((0, 0), (1, 0), (0, 1))]
    tiles = [{"op": "ceildiv", "of": [{"dimension": [argument, 0]}, 128]} for argument in (0, 1)]
    return {
        "version": 1, "kernel": "empty", "target": target,
        "arguments": [{"name": name, "kind": "tensor", "element": "bf16", "rank": 2} for name in "abc"],
        "parameters": [{"kind": "tensor_map", "argument": index, "box": [64, 128], "swizzle": 128}
                       for index in range(3)] + size,
        "launch": {"grid": {"persistent": True, "tiles": tiles}, "threads": 32},
    }


def stand_in_tensors():
    """Objects with `__cuda_array_interface__` would be described slowly; a small `torch` shows the usual path."""
    sys.path.insert(0, os.path.join(ROOT, "test", "python"))
    from support import make_torch

    class Patch:
        setitem = staticmethod(dict.__setitem__)
        setattr = staticmethod(setattr)

    torch = make_torch(Patch)
    return [torch.Tensor(shape, torch.bfloat16, 0x100000 * (index + 1))
            for index, shape in enumerate(((4096, 512), (2048, 512), (4096, 2048)))]


def measure(call, repeats=30, calls=500, finish=lambda: None):
    """The best and the median over `repeats` of the mean of `calls` calls, in microseconds."""
    times = []
    for _ in range(repeats):
        finish()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - start) / calls * 1e6)
    finish()
    return min(times), sorted(times)[len(times) // 2]


def with_eight_arguments():
    """{"tileloom": call, "triton": call}: a small kernel of four pointers, three integers and a float, launched with [grid]."""
    import torch
    import triton_rows

    import tileloom as tl

    @tl.jit
    def eight_kernel(out, a, b, c, columns, row, other, scale, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        inside = at < columns
        value = tl.load(a + at, inside, 0) + tl.load(b + at, inside, 0) * scale + tl.load(c + at, inside, 0)
        tl.store(out + at, value + (row + other).to(tl.float32), inside)

    a, b, c, out = (torch.zeros(128, device="cuda") for _ in range(4))
    return {name: lambda kernel=kernel: kernel[(1,)](out, a, b, c, 100, 2, 3, 0.5, BLOCK=128)
            for name, kernel in (("tileloom", eight_kernel), ("triton", triton_rows.eight_kernel))}


def of_the_library():
    """{work: {"tileloom": call, "torch": call}}: small work, so that the host is what takes the time."""
    import torch
    from tileloom import kernels

    a, b, c = (torch.randn(shape, device="cuda", dtype=torch.bfloat16) for shape in ((64, 1024), (256, 1024), (64, 256)))
    q, k, v = (torch.randn(1, 128, 4, 64, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    heads_first = [own.transpose(1, 2) for own in (q, k, v)]
    x = torch.randn(64, 1024, device="cuda", dtype=torch.bfloat16)
    return {"gemm": {"tileloom": lambda: kernels.gemm(a, b.T, c), "torch": lambda: torch.mm(a, b.T, out=c)},
            "attention": {"tileloom": lambda: kernels.attention(q, k, v), "torch": lambda: torch.nn.functional.scaled_dot_product_attention(*heads_first)},
            "softmax": {"tileloom": lambda: kernels.softmax(x), "torch": lambda: torch.softmax(x, 1)}}


def interleaved(functions, rounds=15, calls=200):
    """The median over rounds of the mean of `calls` calls, in microseconds; the functions take turns."""
    import torch
    times = {name: [] for name in functions}
    for _ in range(rounds):
        for name, call in functions.items():
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(calls):
                call()
            times[name].append((time.perf_counter() - start) / calls * 1e6)
    return {name: sorted(values)[rounds // 2] for name, values in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", help="write the record here")
    arguments = parser.parse_args()
    from tileloom.runtime import Kernel
    try:
        import torch
        gpu = torch.cuda.is_available()
    except ImportError:
        gpu = False
    if gpu:
        tensors = [torch.empty(shape, dtype=torch.bfloat16, device="cuda")
                   for shape in ((4096, 512), (2048, 512), (4096, 2048))]
        kernel = Kernel.load(PTX.encode(), recipe("sm_90a"))
        machine, finish, calls = torch.cuda.get_device_name(), torch.cuda.synchronize, 200
    else:
        os.environ.setdefault("TILELOOM_CUDA_LIBRARY", os.path.join(BUILD, "test", "fake_cuda", "libfake_cuda.so"))
        os.environ["TILELOOM_FAKE_CUDA"] = "quiet=1"
        tensors = stand_in_tensors()
        kernel = Kernel.load(PTX.encode(), recipe("sm_90a"))
        machine, finish, calls = "no GPU: driver replaced", lambda: None, 500
    kernel(*tensors)
    best, median = measure(lambda: kernel(*tensors), calls=calls, finish=finish)
    print(f"{machine}: 3 tensor maps, 3 integers: {best:.2f} us best, {median:.2f} us median a call")
    rows = [{"work": "launch", "shape": "3 tensor maps, 3 integers", "impl": "tileloom", "ms": median / 1000}]
    versions = {"python": sys.version.split()[0]}
    if gpu:
        import triton
        versions.update(torch=torch.__version__, triton=triton.__version__)
        times = interleaved(with_eight_arguments())
        print(f"8 arguments, grid of 1: {', '.join(f'{name} {us:.2f} us' for name, us in times.items())}, "
              f"ratio {times['triton'] / times['tileloom']:.3f}")
        rows += [{"work": "launch", "shape": "8 arguments", "impl": name, "ms": us / 1000} for name, us in times.items()]
        for work, functions in of_the_library().items():
            times = interleaved(functions)
            print(f"kernels.{work}: {', '.join(f'{name} {us:.2f} us' for name, us in times.items())}, ratio {times['torch'] / times['tileloom']:.3f}")
            rows += [{"work": "launch", "shape": f"kernels.{work}", "impl": name, "ms": us / 1000} for name, us in times.items()]
    if arguments.json:
        record = {"machine": machine, "date": datetime.date.today().isoformat(),
                  "command": "bench/launch.py", "versions": versions, "rows": rows}
        with open(arguments.json, "w") as file:
            json.dump(record, file, indent=1)


if __name__ == "__main__":
    main()
