"""Tests on a real GPU: the built library, the real driver, torch for memory and streams.

Skipped with the reason where there is no torch with a CUDA device.
"""

import os
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("TILELOOM_BUILD", os.path.join(ROOT, "build"))
sys.path.insert(0, os.path.join(ROOT, "python"))
packaged = os.path.join(ROOT, "python", "tileloom", "lib", "libtileloom.so")
if not os.path.exists(packaged):
    os.environ.setdefault("TILELOOM_LIBRARY", os.path.join(BUILD, "lib", "libtileloom.so"))


def why_not():
    try:
        import torch
    except ImportError:
        return "torch is not installed; needed: torch with CUDA"
    if not torch.cuda.is_available():
        return "torch finds no CUDA device; needed: one of compute capability 9.0"
    major, minor = torch.cuda.get_device_capability()
    if (major, minor) != (9, 0):
        return f"the CUDA device has compute capability {major}.{minor}; needed: 9.0"
    return None


def pytest_collection_modifyitems(items):
    reason = why_not()
    if reason:
        for item in items:
            item.add_marker(pytest.mark.skip(reason=reason))
