"""Arrays for tests on a real GPU."""

import math

try:
    import torch
except ImportError:
    torch = None  # conftest.py skips everything


def randn(*shape, dtype="bfloat16"):
    return torch.randn(shape, device="cuda").to(getattr(torch, dtype))


def numpy(tensor):
    return tensor.double().cpu().numpy()


def i32(values):
    return torch.tensor(values, dtype=torch.int32, device="cuda")


def poison(*shape, dtype="bfloat16"):
    return torch.full(shape, math.nan, device="cuda").to(getattr(torch, dtype))
