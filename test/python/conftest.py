"""The Python tests run the built library on the recording driver (test/fake_cuda); no GPU is used.

The build folder is $TILELOOM_BUILD, by default `build`.
"""

import os
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("TILELOOM_BUILD", os.path.join(ROOT, "build"))
FAKE = os.path.join(BUILD, "test", "fake_cuda", "libfake_cuda.so")

sys.path.insert(0, os.path.join(ROOT, "python"))
os.environ.setdefault("TILELOOM_LIBRARY", os.path.join(BUILD, "lib", "libtileloom.so"))
os.environ["TILELOOM_CUDA_LIBRARY"] = FAKE
os.environ.setdefault("TILELOOM_CACHE_DIR", os.path.join(BUILD, "test", "cache"))


class Fake:
    """The driver's log since the last `clear`, and its settings."""

    def __init__(self, path):
        import ctypes
        self.path = path
        self.library = ctypes.CDLL(FAKE)

    def set(self, text):
        self.library.fakeCudaSet(text.encode())

    def parameter(self, index, offset, size):
        import ctypes
        self.library.fakeCudaSetParameter(index, ctypes.c_size_t(offset), ctypes.c_size_t(size))

    def lines(self, name=""):
        if not os.path.exists(self.path):
            return []
        with open(self.path) as file:
            return [line.rstrip("\n") for line in file if line.startswith(name)]

    def clear(self):
        open(self.path, "w").close()


@pytest.fixture
def fake(tmp_path, monkeypatch):
    monkeypatch.setenv("TILELOOM_FAKE_CUDA_LOG", str(tmp_path / "calls.log"))
    driver = Fake(str(tmp_path / "calls.log"))
    driver.library.fakeCudaReset()
    yield driver
    driver.library.fakeCudaReset()


@pytest.fixture
def module_of(tmp_path):
    """Gives the module of a text: kernels are read from their source file."""
    import importlib.util

    def load(text):
        path = tmp_path / "program_of_text.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location("program_of_text", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    return load
