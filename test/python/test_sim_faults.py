"""The seeded-fault suite (test/faults): each mutation is found by the right check, and no correct kernel has a finding."""

import os
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "faults"))

import kernels  # noqa: E402
import run  # noqa: E402
from table import FAULTS  # noqa: E402


@pytest.mark.parametrize("name", kernels.KERNELS)
def test_correct_kernel(name):
    assert run.clean(name, seeds=3) == ""


@pytest.mark.parametrize("name", ["gemm_pingpong", "gemm_multicast", "gemm_tcgen05", "bulk_copy", "transposed"])
def test_correct_kernel_in_strict_mode_has_its_fences(name):
    assert "fence.mbarrier_init" not in run.clean(name, seeds=1, checks="all,strict")


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.id for fault in FAULTS])
def test_fault(fault):
    right, seen, _, text = run.examine(fault)
    assert right, f"found {sorted(seen) or 'nothing'}, needed {' or '.join(fault.kinds)}\n{text}"


def test_there_are_enough():
    assert len(FAULTS) >= 40 and len({fault.id for fault in FAULTS}) == len(FAULTS)
