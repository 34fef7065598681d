"""Runs a Case on the GPU through the CUDA driver alone (ctypes on libcuda); the driver assembles the PTX."""

import ctypes
import os

import numpy as np

from .case import Map


class DriverError(Exception):
    pass


class Device:
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self._check(self.cuda.cuInit(0))
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self._check(self.cuda.cuDeviceGet(ctypes.byref(device), int(os.environ.get("TILELOOM_DEVICE", "0"))))
        self._check(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
        self._check(self.cuda.cuCtxSetCurrent(context))
        name = ctypes.create_string_buffer(100)
        self._check(self.cuda.cuDeviceGetName(name, 100, device))
        self.name = name.value.decode()

    def _check(self, status):
        if status:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorString(status, ctypes.byref(text))
            raise DriverError(f"{status}: {text.value.decode() if text.value else 'unknown error'}")

    def _load(self, ptx):
        log = ctypes.create_string_buffer(16384)
        options = (ctypes.c_int * 2)(5, 6)  # CU_JIT_ERROR_LOG_BUFFER and its size
        values = (ctypes.c_void_p * 2)(ctypes.cast(log, ctypes.c_void_p), len(log))
        module = ctypes.c_void_p()
        text = ctypes.create_string_buffer(ptx.encode())
        status = self.cuda.cuModuleLoadDataEx(ctypes.byref(module), text, 2, options, values)
        if status:
            raise DriverError(f"the module is refused: {log.value.decode(errors='replace')[:2000]}")
        return module

    def _map(self, given, address):
        rank = len(given.dims)
        out = ctypes.create_string_buffer(128 + 64)
        aligned = (ctypes.addressof(out) + 63) // 64 * 64
        dims = (ctypes.c_uint64 * 5)(*given.dims)
        strides = (ctypes.c_uint64 * 5)(*given.strides)
        box = (ctypes.c_uint32 * 5)(*given.box)
        ones = (ctypes.c_uint32 * 5)(1, 1, 1, 1, 1)
        self._check(self.cuda.cuTensorMapEncodeTiled(ctypes.c_void_p(aligned), ctypes.c_int(given.type), ctypes.c_uint32(rank),
                                                     ctypes.c_void_p(address + given.offset), dims, strides, box, ones, ctypes.c_int(0),
                                                     ctypes.c_int(given.swizzle), ctypes.c_int(0), ctypes.c_int(given.fill)))
        return out, aligned

    def run(self, case):
        """The outputs. Raises DriverError."""
        cuda = self.cuda
        module, function = self._load(case.ptx), ctypes.c_void_p()
        buffers, values, keep = {}, [], []
        try:
            self._check(cuda.cuModuleGetFunction(ctypes.byref(function), module, case.entry.encode()))
            self._check(cuda.cuFuncSetAttribute(function, 8, case.shared))  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            if case.cluster > 8:
                self._check(cuda.cuFuncSetAttribute(function, 14, 1))  # CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED

            def address_of(array):
                if id(array) not in buffers:
                    pointer = ctypes.c_uint64()
                    self._check(cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(max(array.nbytes, 256))))
                    buffers[id(array)] = pointer
                    self._check(cuda.cuMemcpyHtoD_v2(pointer, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes)))
                return buffers[id(array)].value

            for a in case.arguments:
                if isinstance(a, Map):
                    holder, aligned = self._map(a, address_of(a.array))
                    keep.append(holder)
                    values.append(ctypes.c_void_p(aligned))
                elif isinstance(a, np.ndarray):
                    word = ctypes.c_uint64(address_of(a))
                    keep.append(word)
                    values.append(ctypes.cast(ctypes.pointer(word), ctypes.c_void_p))
                else:
                    raise DriverError(f"an argument is {type(a).__name__}")
            pointers = (ctypes.c_void_p * len(values))(*values)
            self._check(cuda.cuLaunchKernel(function, case.grid, 1, 1, case.block, 1, 1, case.shared, None, pointers, None))
            self._check(cuda.cuCtxSynchronize())
            outputs = []
            for out in case.outputs:
                copy = np.empty_like(out)
                self._check(cuda.cuMemcpyDtoH_v2(copy.ctypes.data_as(ctypes.c_void_p), buffers[id(out)], ctypes.c_size_t(copy.nbytes)))
                outputs.append(copy)
            return outputs
        finally:
            for pointer in buffers.values():
                cuda.cuMemFree_v2(pointer)
            cuda.cuModuleUnload(module)
