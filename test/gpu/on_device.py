"""Kernels that are launched on NumPy arrays, which the simulator runs otherwise, on the GPU: `with on_device():`.

The memory that an array is a part of goes there and comes back whole, with the same alignment, so that guards around it are checked as well.
"""

import contextlib
import ctypes

import numpy as np
import pytest

from tileloom.dispatch.function import JITFunction

ALIGNMENT = 256


def torch_type(dtype):
    import torch
    return torch.bool if dtype == np.bool_ else getattr(torch, dtype.name)


class Memory:
    """Copies of the arrays' memory on the GPU."""

    def __init__(self):
        self.copies = {}  # first address: (host bytes, their copy)

    def tensor(self, array):
        import torch
        if array.size == 0:
            return torch.empty(array.shape, dtype=torch_type(array.dtype), device="cuda")
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        low, high = np.lib.array_utils.byte_bounds(owner)
        if low not in self.copies:
            host = np.ctypeslib.as_array((ctypes.c_ubyte * (high - low)).from_address(low))
            begin = low % ALIGNMENT
            device = torch.zeros(begin + high - low, dtype=torch.uint8, device="cuda")[begin:]
            device.copy_(torch.from_numpy(host))
            self.copies[low] = host, device
        _, device = self.copies[low]
        offset = array.__array_interface__["data"][0] - low + device.storage_offset()
        size = array.itemsize
        empty = torch.empty(0, dtype=torch_type(array.dtype), device="cuda")
        return empty.set_(device.untyped_storage(), offset // size, array.shape, [stride // size for stride in array.strides])

    def fetch(self):
        for host, device in self.copies.values():
            host[...] = device.cpu().numpy()


@contextlib.contextmanager
def on_device():
    """Gives a list that grows by the name of each kernel that is launched. A launch for another target skips the test."""
    import torch
    launched, original = [], JITFunction._launch

    def launch(function, grid, *arguments, target=None, simulator=None, **keywords):
        if target not in (None, "sm_90a"):
            pytest.skip(f"for {target}")
        memory = Memory()

        def place(value):
            if isinstance(value, (tuple, list)):
                return type(value)(map(place, value))
            return memory.tensor(value) if isinstance(value, np.ndarray) and value.ndim else value
        original(function, grid, *map(place, arguments), **{name: place(value) for name, value in keywords.items()})
        torch.cuda.synchronize()
        memory.fetch()
        launched.append(function.__name__)
    JITFunction._launch = launch
    try:
        yield launched
    finally:
        JITFunction._launch = original
