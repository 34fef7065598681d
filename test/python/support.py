"""Recipes and stand-ins for device tensors."""

import itertools
import sys
import types

# Encoded maps are cached for the process: a test that counts encodings takes an address of its own.
_addresses = itertools.count(0x100000, 0x1000)


def fresh_address():
    return next(_addresses)


def recipe(arguments, parameters=(), target="sm_90a", kernel="k", **launch):
    return {"version": 1, "kernel": kernel, "target": target, "arguments": list(arguments),
            "parameters": list(parameters), "launch": {"grid": {"x": 1}, "threads": 128, **launch}}


def tensor_argument(name="a", element="bf16", rank=2, **more):
    return {"name": name, "kind": "tensor", "element": element, "rank": rank, **more}


class CudaArray:
    """An object with `__cuda_array_interface__` over an address."""

    def __init__(self, shape, typestr="<f4", address=0xABC0, strides=None):
        self.__cuda_array_interface__ = {"shape": shape, "typestr": typestr, "data": (address, False),
                                         "strides": strides, "version": 3}


class OnDevice:
    """A host array that claims, through DLPack, to lie on a CUDA device."""

    def __init__(self, array, ordinal=0):
        self.array, self.ordinal, self.streams = array, ordinal, []

    def __dlpack_device__(self):
        return (2, self.ordinal)

    def __dlpack__(self, *, stream=None):
        self.streams.append(stream)
        return self.array.__dlpack__()


def make_torch(monkeypatch):
    """A module `torch` with what the runtime uses of it."""
    torch = types.ModuleType("torch")

    class Tensor:
        def __init__(self, shape, dtype, address=0xABC0, device=0, strides=None):
            self.shape, self.dtype, self.address, self.device = tuple(shape), dtype, address, device
            steps, step = [], 1
            for extent in reversed(self.shape):
                steps.append(step)
                step *= extent
            self.strides = tuple(strides) if strides else tuple(reversed(steps))

        def stride(self, axis=None):
            return self.strides if axis is None else self.strides[axis]

        def dim(self):
            return len(self.shape)

        def get_device(self):
            return self.device

        def data_ptr(self):
            return self.address

    torch.Tensor = Tensor
    for name in ("bfloat16", "float16", "float32", "int32", "uint8", "float8_e4m3fn", "float8_e5m2",
                 "float8_e8m0fnu", "float4_e2m1fn_x2", "complex64"):
        setattr(torch, name, f"torch.{name}")
    torch.nn = types.SimpleNamespace(Parameter=type("Parameter", (Tensor,), {}))
    torch.dtype = type("dtype", (), {})
    torch.cuda = types.SimpleNamespace(current_device=lambda: 0, Stream=type("Stream", (), {}))
    torch._C = types.SimpleNamespace(_cuda_getCurrentRawStream=lambda device: 0x70 + device)
    monkeypatch.setitem(sys.modules, "torch", torch)
    from tileloom.runtime import kernel
    monkeypatch.setattr(kernel, "_torch", None)
    from tileloom.dispatch import keys
    monkeypatch.setattr(keys, "_found", None)
    return torch
