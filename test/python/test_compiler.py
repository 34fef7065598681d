"""tileloom.compiler: compile text in this process, through libtileloom.so."""

import os
import threading

import pytest

from tileloom import compiler

KERNEL = """
llvm.func @k(%out: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>,
                                             tileloom.recipe = {kernel = "k", version = 1}} {
  %x = llvm.mlir.constant(1 : i32) : i32
  llvm.store %x, %out : i32, !llvm.ptr<1>
  llvm.return
}
"""

NO_RECIPE = KERNEL.replace("tileloom.recipe", "tileloom.other")
FAKE = os.path.join(os.path.dirname(__file__), "..", "Target", "Inputs", "fake-ptxas.sh")
SPILL = os.path.join(os.path.dirname(__file__), "..", "Target", "Inputs", "spill.txt")


def test_artifacts():
    compiled = compiler.compile(KERNEL, "sm_90a", cubin=False, stages=("tile", "llvm", "llvmir"))
    assert ".visible .entry k(" in compiled.ptx and ".target sm_90a" in compiled.ptx
    assert compiled.recipe == {"kernel": "k", "version": 1}
    assert compiled.cubin is None and compiled.report is None and compiled.report_text is None
    assert "llvm.func @k" in compiled.stages["tile"] and "define ptx_kernel" in compiled.stages["llvmir"]
    assert compiled.diagnostics == ""


@pytest.mark.parametrize("target", compiler.TARGETS)
def test_every_target(target):
    assert f".target {target}" in compiler.compile(KERNEL, target, cubin=False).ptx


def test_report_and_cubin(monkeypatch):
    monkeypatch.setenv("FAKE_PTXAS", SPILL)
    compiled = compiler.compile(KERNEL, "sm_90a", name="k.mlir", ptxas=FAKE, report=True)
    assert compiled.cubin == b"\x7fELF"
    assert compiled.report["kernels"][0]["ptxas"]["spill_store_bytes"] == 228
    assert "228 + 224 bytes spilled" in compiled.report_text
    assert "k.mlir:2:1: warning: ptxas: 'k' spills registers" in compiled.diagnostics
    with pytest.raises(compiler.CompileError, match="error: ptxas: 'k' spills registers"):
        compiler.compile(KERNEL, "sm_90a", ptxas=FAKE, werror_ptxas=True)


def test_errors():
    with pytest.raises(compiler.CompileError, match="unknown target 'sm_80'"):
        compiler.compile(KERNEL, "sm_80")
    with pytest.raises(compiler.CompileError, match="unknown stage 'sass'"):
        compiler.compile(KERNEL, "sm_90a", stages=("sass",))
    with pytest.raises(compiler.CompileError, match="opt_level is 4"):
        compiler.compile(KERNEL, "sm_90a", opt_level=4)
    with pytest.raises(compiler.CompileError, match="no launch recipe"):
        compiler.compile(NO_RECIPE, "sm_90a", cubin=False)
    with pytest.raises(compiler.CompileError, match=r"bad.mlir:1:\d+: error: "):
        compiler.compile("llvm.func @k( {", "sm_90a", name="bad.mlir", cubin=False)
    with pytest.raises(compiler.CompileError, match="cannot run '/nowhere/ptxas'"):
        compiler.compile(KERNEL, "sm_90a", cubin=True, ptxas="/nowhere/ptxas")
    assert compiler.compile(NO_RECIPE, "sm_90a", recipe=False, cubin=False).recipe is None


def test_threads():
    expected = compiler.compile(KERNEL, "sm_90a", cubin=False).ptx
    found = []
    threads = [threading.Thread(target=lambda: found.append(compiler.compile(KERNEL, "sm_90a", cubin=False).ptx))
               for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_ptxas_of_the_python_package(monkeypatch, tmp_path):
    folder = tmp_path / "nvidia" / "cuda_nvcc" / "bin"
    folder.mkdir(parents=True)
    (folder / "ptxas").symlink_to(os.path.abspath(FAKE))
    for name in ("CUDA_HOME", "TILELOOM_PTXAS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(compiler.shutil, "which", lambda name: None)
    monkeypatch.setenv("FAKE_PTXAS", SPILL)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert compiler.compile(KERNEL, "sm_90a").cubin == b"\x7fELF"
