"""Finds libtileloom.so and declares its C API (include/tileloom-c/Runtime.h) to ctypes.

The library lies in `tileloom/lib` of an installed package; elsewhere `$TILELOOM_LIBRARY` names it. It is opened at first
use, so importing the package costs nothing and works without it.
"""

import ctypes
import os
import threading

import tileloom

from .errors import TileloomError

MAX_RANK = 8
MAX_MAP_RANK = 5
HOST = -1
UNKNOWN_DEVICE = -2
UNKNOWN_ELEMENT = 0xFFFFFFFF
TENSOR, POINTER, SCALAR = 0, 1, 2


class CDevice(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int32) for name in
                ("ordinal", "major", "minor", "multiprocessors", "sharedBytes", "maxThreads")]


class CTensorMap(ctypes.Structure):
    _fields_ = [
        ("address", ctypes.c_uint64),
        ("extents", ctypes.c_uint64 * MAX_MAP_RANK),
        ("strides", ctypes.c_uint64 * (MAX_MAP_RANK - 1)),
        ("box", ctypes.c_uint32 * MAX_MAP_RANK),
        ("rank", ctypes.c_uint8),
        ("dataType", ctypes.c_uint8),
        ("interleave", ctypes.c_uint8),
        ("swizzle", ctypes.c_uint8),
        ("l2Promotion", ctypes.c_uint8),
        ("fill", ctypes.c_uint8),
        ("reserved", ctypes.c_uint8 * 2),
        ("magic", ctypes.c_uint32),
        ("padding", ctypes.c_uint32 * 4),
    ]


class CParameter(ctypes.Structure):
    _fields_ = [
        ("kind", ctypes.c_uint32),
        ("offset", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("zero", ctypes.c_uint32),
        ("workspaceBytes", ctypes.c_uint64),
    ]


class CLaunch(ctypes.Structure):
    _fields_ = [
        ("grid", ctypes.c_uint32 * 3),
        ("cluster", ctypes.c_uint32 * 3),
        ("threads", ctypes.c_uint32),
        ("sharedBytes", ctypes.c_uint32),
        ("cooperative", ctypes.c_uint32),
        ("dependent", ctypes.c_uint32),
        ("parameterCount", ctypes.c_uint32),
        ("parameterBytes", ctypes.c_uint32),
        ("parameters", ctypes.POINTER(CParameter)),
        ("bytes", ctypes.POINTER(ctypes.c_ubyte)),
    ]


_lock = threading.Lock()
_library = None


def _path():
    packaged = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                            "lib", "libtileloom.so")
    if os.path.exists(packaged):
        return packaged
    named = os.environ.get("TILELOOM_LIBRARY")
    if named:
        return named
    raise TileloomError(f"libtileloom.so found neither at {packaged} nor through $TILELOOM_LIBRARY; "
                        "needed: install the wheel, or build the library and set the variable")


def _declare(library):
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    library.tileloomVersion.restype = ctypes.c_char_p
    library.tileloomVersion.argtypes = []
    library.tileloomKernelCreate.restype = ctypes.c_int
    library.tileloomKernelCreate.argtypes = [ctypes.c_char_p, size, ctypes.c_char_p, size,
                                             ctypes.POINTER(pointer)]
    library.tileloomKernelRelease.restype = None
    library.tileloomKernelRelease.argtypes = [pointer]
    library.tileloomKernelError.restype = ctypes.c_char_p
    library.tileloomKernelError.argtypes = [pointer]
    # The arguments are a bytes object that holds the array of TileloomArgument.
    library.tileloomKernelLaunch.restype = ctypes.c_int
    library.tileloomKernelLaunch.argtypes = [pointer, ctypes.c_char_p, size, pointer]
    library.tileloomKernelLaunchGrid.restype = ctypes.c_int
    library.tileloomKernelLaunchGrid.argtypes = [pointer, ctypes.c_char_p, size, ctypes.POINTER(ctypes.c_uint32), pointer]
    library.tileloomKernelPreload.restype = ctypes.c_int
    library.tileloomKernelPreload.argtypes = [pointer, ctypes.c_int32]
    library.tileloomKernelEvaluate.restype = ctypes.c_int
    library.tileloomKernelEvaluate.argtypes = [pointer, ctypes.POINTER(CDevice), ctypes.c_char_p, size,
                                               ctypes.POINTER(ctypes.POINTER(CLaunch))]
    library.tileloomKernelEvaluateGrid.restype = ctypes.c_int
    library.tileloomKernelEvaluateGrid.argtypes = [pointer, ctypes.POINTER(CDevice), ctypes.c_char_p, size,
                                                   ctypes.POINTER(ctypes.c_uint32), ctypes.POINTER(ctypes.POINTER(CLaunch))]
    library.tileloomLaunchRelease.restype = None
    library.tileloomLaunchRelease.argtypes = [ctypes.POINTER(CLaunch)]
    return library


def load():
    """The opened library, with its functions declared."""
    global _library
    with _lock:
        if _library is None:
            path = _path()
            try:
                library = _declare(ctypes.CDLL(path))
            except (OSError, AttributeError) as error:
                raise TileloomError(f"cannot use the library {path}: {error}") from error
            # The structs above and those in the library must be of one version.
            found, needed = library.tileloomVersion().decode(), tileloom.__version__
            if found != needed:
                raise TileloomError(f"the library {path} has version {found}; needed {needed}, as the Python package")
            _library = library
        return _library
