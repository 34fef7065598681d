"""Warm calls of the kernel library launch what calls in full launch (kernels/remember.py), for tensors at other places of the same form.

torch is a stand-in, and launches are written down instead of made.
"""

import itertools
import math

import pytest

import tileloom as tl
from support import make_torch
from tileloom import kernels
from tileloom.dispatch import facts
from tileloom.dispatch import function as dispatch


@tl.jit
def plus(value, factor, other):
    return value * factor + other


@pytest.fixture
def torch(monkeypatch):
    """A stand-in with views and new tensors, each at a place of its own."""
    torch = make_torch(monkeypatch)
    places = itertools.count(1)
    sizes = {"torch.bfloat16": 2, "torch.float16": 2, "torch.uint8": 1}

    class Tensor(torch.Tensor):
        def __init__(self, shape, dtype, address=None, device=0, strides=None):
            super().__init__(shape, dtype, address or next(places) << 40, device, strides)

        def as_strided(self, shape, strides):
            return Tensor(shape, self.dtype, self.address, self.device_index, strides)

        def swapaxes(self, first, second):
            order = list(range(len(self.shape)))
            order[first], order[second] = order[second], order[first]
            return self.as_strided([self.shape[own] for own in order], [self.strides[own] for own in order])

        T = property(lambda self: self.swapaxes(0, 1))

        def view(self, dtype):
            return Tensor(self.shape, dtype, self.address, self.device_index, self.strides)

        def __getitem__(self, index):
            if index == 0:
                return self.as_strided(self.shape[1:], self.strides[1:])
            assert index[0] is Ellipsis and index[1].start is None
            return self.as_strided((*self.shape[:-1], index[1].stop), self.strides)

        def __setitem__(self, index, value):
            copies.append((self.address, getattr(value, "address", value)))

        def unflatten(self, dim, extents):
            return self.as_strided((*extents, *self.shape[1:]), (extents[1] * self.strides[0], *self.strides))

        def element_size(self):
            return sizes.get(self.dtype, 4)

        device_index = property(lambda self: self.get_device())

    copies = []
    torch.copies, torch.Tensor = copies, Tensor
    torch.cuda.get_device_properties = lambda device: type("Properties", (), {"multi_processor_count": 132})
    torch.empty = torch.zeros = lambda shape, dtype, device: Tensor(shape, dtype)
    monkeypatch.setattr(Tensor, "device", 0, raising=False)
    yield torch


@pytest.fixture
def launches(monkeypatch):
    found = []

    def launch(self, grid, *arguments, **keywords):
        dispatch._watch(self, grid, arguments, keywords)
        found.append((self, grid, arguments, keywords))
    monkeypatch.setattr(dispatch.JITFunction, "_launch", launch)
    return found


def plain(value, names):
    """A value without what differs from call to call: new tensors by the order in which they are met."""
    if hasattr(value, "data_ptr"):
        return names.setdefault(value.address, len(names)), value.shape, tuple(value.stride()), value.dtype
    if isinstance(value, (tuple, list)):
        return [plain(one, names) for one in value]
    if isinstance(value, dict):
        return {name: plain(one, names) for name, one in value.items()}
    return "nan" if isinstance(value, float) and math.isnan(value) else value


def cases(torch):
    bf16, f32, i32, f8 = torch.bfloat16, torch.float32, torch.int32, torch.float8_e4m3fn
    new = torch.Tensor

    def by_columns(rows, columns, dtype=bf16):
        return new((rows, columns), dtype, strides=(1, rows))
    yield "NT", kernels.gemm, lambda: ((new((64, 128), bf16), by_columns(128, 96), new((64, 96), bf16)), {})
    yield "NN", kernels.gemm, lambda: ((new((64, 128), bf16), new((128, 96), bf16), new((64, 96), bf16)), {})
    yield "TN", kernels.gemm, lambda: ((by_columns(64, 128), by_columns(128, 96), new((64, 96), bf16)), {"schedule": {"stages": 3}})
    yield "no out", kernels.gemm, lambda: ((new((64, 128), bf16), by_columns(128, 96)), {"out_dtype": f32})
    yield "batch", kernels.gemm, lambda: ((new((3, 64, 128), bf16), new((1, 128, 96), bf16), new((3, 64, 96), f32)), {})
    yield "chain", kernels.gemm, lambda: ((new((64, 128), bf16), by_columns(128, 96)), {
        "bias": new((96,), bf16), "activation": "gelu", "epilogue": plus, "epilogue_args": (2.0, new((64, 1), f32)), "residual": new((64, 96), bf16),
        "row_amax": new((64,), f32), "out_scale": 0.5})
    yield "rows that no copy takes", kernels.gemm, lambda: ((new((64, 100), bf16), by_columns(100, 96), new((64, 96), bf16)), {})
    yield "short rows", kernels.gemm, lambda: ((new((64, 128), bf16), by_columns(128, 99), new((64, 99), bf16)), {})
    yield "fp8", kernels.gemm, lambda: ((new((64, 128), f8), by_columns(128, 96, f8)), {"scale_a": new((64,), f32), "scale_b": 2.0})
    yield "swiglu", kernels.gemm_swiglu, lambda: ((new((64, 128), bf16), by_columns(128, 192)), {})
    for s, t, heads, groups in ((300, 300, 4, 4), (1, 4096, 8, 2), (40, 500, 4, 4)):
        yield f"attention {s}", kernels.attention, lambda s=s, t=t, heads=heads, groups=groups: (
            (new((2, s, heads, 128), bf16), new((2, t, groups, 128), bf16), new((2, t, groups, 128), bf16)), {"causal": True})
    yield "out to be copied", kernels.attention, lambda: (tuple(new((1, 200, 2, 100), bf16) for _ in range(4)), {})
    yield "cache", kernels.attention_kvcache, lambda: (
        (new((3, 1, 8, 128), bf16), new((3, 900, 2, 128), bf16), new((3, 900, 2, 128), bf16)), {"cache_seqlens": new((3,), i32), "causal": True})
    yield "append", kernels.attention_kvcache, lambda: (
        (new((3, 1, 8, 128), bf16), new((3, 900, 2, 128), bf16), new((3, 900, 2, 128), bf16)),
        {"cache_seqlens": new((3,), i32), "k_new": new((3, 1, 2, 128), bf16), "v_new": new((3, 1, 2, 128), bf16), "num_splits": 4})
    yield "packed", kernels.attention_varlen, lambda: (
        (new((500, 4, 64), bf16), new((700, 2, 64), bf16), new((700, 2, 64), bf16)),
        {"cu_seqlens_q": new((4,), i32), "cu_seqlens_k": new((4,), i32), "max_seqlen_q": 300, "max_seqlen_k": 300})
    yield "plan", kernels.get_scheduler_metadata, lambda: ((new((5,), i32),), {"max_seqlen_q": 1, "max_seqlen_k": 4096, "num_heads": 8, "num_heads_k": 2})
    yield "softmax", kernels.softmax, lambda: ((new((10, 500), bf16),), {})
    yield "layer_norm", kernels.layer_norm, lambda: ((new((10, 500), f32), new((500,), f32), new((500,), f32)), {"epsilon": 1e-3})
    yield "grouped", kernels.grouped_gemm_contiguous, lambda: ((new((256, 128), bf16), new((3, 96, 128), bf16), new((256,), i32)), {})
    yield "masked", kernels.grouped_gemm_masked, lambda: ((new((3, 256, 128), bf16), new((3, 96, 128), bf16), new((3,), i32)), {})


NAMES = ["NT", "NN", "TN", "no out", "batch", "chain", "rows that no copy takes", "short rows", "fp8", "swiglu", "attention 300", "attention 1", "attention 40",
         "out to be copied", "cache", "append", "packed", "plan", "softmax", "layer_norm", "grouped", "masked"]
IN_FULL = {"rows that no copy takes", "out to be copied"}  # torch copies in these


@pytest.mark.parametrize("name", NAMES)
def test_warm_calls_launch_the_same(name, torch, launches, monkeypatch):
    wrapper, make = next((wrapper, make) for own, wrapper, make in cases(torch) if own == name)

    def seen(call, arguments, keywords):
        launches.clear()
        torch.copies.clear()
        names = {}
        plain((arguments, keywords), names)
        result = call(*arguments, **keywords)
        return [plain(one, names) for one in launches], plain(result, names), len(torch.copies)
    wrapper(*make()[0], **make()[1])  # remembered for one set of tensors
    arguments, keywords = make()
    checks, tensor_of = [], facts.tensor_of
    monkeypatch.setattr(facts, "tensor_of", lambda *own: checks.append(own) or tensor_of(*own))
    warm = seen(wrapper, arguments, keywords)
    assert bool(checks) == (name in IN_FULL)
    assert warm[0] and warm == seen(wrapper.__wrapped__, arguments, keywords)


def test_other_forms_are_calls_of_their_own(torch, launches):
    def product(m, n, k, **more):
        launches.clear()
        kernels.gemm(torch.Tensor((m, k), torch.bfloat16), torch.Tensor((k, n), torch.bfloat16, strides=(1, k)), **more)
        return plain(launches, {})
    first = product(64, 96, 128)
    assert product(64, 96, 128) == first != product(64, 96, 256) and product(64, 96, 128, alpha=2.0) != first
    assert [math.copysign(1, product(64, 96, 128, alpha=zero)[0][2][3][3]) for zero in (0.0, -0.0, 0.0)] == [1, -1, 1]
    with pytest.raises(tl.TileloomError, match="'b' has shape"):
        kernels.gemm(torch.Tensor((64, 128), torch.bfloat16), torch.Tensor((96, 64), torch.bfloat16))


def test_tensors_that_are_one_memory_are_told_apart(torch, launches):
    """x @ x.T and x @ y.T have the same form; what was launched for the one must not be launched for the other."""
    x, y = (torch.Tensor((64, 64), torch.bfloat16) for _ in range(2))
    kernels.gemm(x, x.swapaxes(0, 1))
    kernels.gemm(x, y.swapaxes(0, 1))
    kernels.gemm(x, x.swapaxes(0, 1))
    assert [[one.address for one in arguments[:2]] for _, _, arguments, _ in launches] == [[x.address] * 2, [x.address, y.address], [x.address] * 2]
