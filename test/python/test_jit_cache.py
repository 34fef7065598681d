"""The disk cache: what is in the key, damage, directories that cannot be written to, eight processes at once."""

import contextlib
import ctypes
import glob
import os
import subprocess
import sys
import textwrap
import warnings

import pytest

import tileloom as tl
from tileloom.dispatch import cache, compiled

SCALE = tl.constexpr(3)


@tl.jit
def copy(a: tl.view, b: tl.view, SHIFT: tl.constexpr = 0):
    for m, n in tl.tiles((a.shape[0], 64), (a.shape[1], 64)):
        b.store([m, n], a.load([m + SHIFT, n], [64, 64]))


SIGNATURE = {"a": ("bf16", 2), "b": ("bf16", 2)}


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """How often the compiler ran, with an empty cache; a stub takes its place."""
    monkeypatch.setenv("TILELOOM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TILELOOM_DUMP", raising=False)
    made = []

    class Made:
        ptx, cubin, recipe, diagnostics = "// PTX", b"cubin", {"kernel": "copy"}, ""

    def run(program, target, options, **more):
        made.append((program, target, options))
        return Made
    monkeypatch.setattr(compiled, "run_compiler", run)
    return made


def entries(folder):
    return glob.glob(os.path.join(str(folder), "*", "*.tlc"))


def test_second_compilation_reads_the_entry(runs, tmp_path):
    first = copy.compile(signature=SIGNATURE)
    second = copy.compile(signature=SIGNATURE)
    assert len(runs) == 1 and len(entries(tmp_path / "cache")) == 1
    assert (second.ptx, second.cubin, second.recipe) == (first.ptx, first.cubin, first.recipe) == ("// PTX", b"cubin", {"kernel": "copy"})
    assert not glob.glob(str(tmp_path / "cache" / "*" / ".*")), "no temporary files stay behind"


def test_key(runs, monkeypatch, tmp_path):
    def compiles(**more):
        before = len(runs)
        copy.compile(**{"signature": SIGNATURE, **more})
        return len(runs) - before
    assert compiles() == 1 and compiles() == 0
    assert compiles(SHIFT=1) == 1, "constants"
    assert compiles(signature={**SIGNATURE, "a": ("bf16", 2), "b": ("f16", 2)} if False else {"a": ("f16", 2), "b": ("f16", 2)}) == 1, "types"
    assert compiles(schedule={"stages": 2}) == 1, "schedule"
    assert compiles(target="sm_100a") == 1, "target"
    assert compiles(options={"line_info": True}) == 1, "options"
    other = tmp_path / "ptxas"
    other.write_text("another assembler")
    monkeypatch.setenv("TILELOOM_PTXAS", str(other))
    assert compiles() == 1 and compiles() == 0, "assembler"
    os.utime(other, ns=(1, 1))
    assert compiles() == 1, "another build of the assembler in the same place"
    library = tmp_path / "libtileloom.so"
    library.write_text("another build")
    monkeypatch.setattr(cache.library, "_path", lambda: str(library))
    assert compiles() == 1, "library"


def test_source_of_called_functions_is_in_the_key(runs, tmp_path):
    module = tmp_path / "kernels_for_key.py"
    text = """
        import tileloom as tl
        FACTOR = tl.constexpr({factor})

        @tl.jit
        def helper(x):
            return x * {number}

        @tl.jit
        def kernel(out):
            tl.store(out, helper(1.5) + FACTOR)
    """

    def compile(**values):
        import importlib.util
        import linecache
        module.write_text(textwrap.dedent(text.format(**values)))
        linecache.clearcache()
        spec = importlib.util.spec_from_file_location("kernels_for_key", module)
        loaded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
        before = len(runs)
        loaded.kernel.compile(signature={"out": "*f32"})
        return len(runs) - before
    assert compile(factor=2, number=3) == 1 and compile(factor=2, number=3) == 0
    assert compile(factor=2, number=4) == 1 and compile(factor=3, number=3) == 1


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "noise"])
def test_damaged_entry_is_made_again(runs, tmp_path, damage):
    copy.compile(signature=SIGNATURE)
    path, = entries(tmp_path / "cache")
    data = open(path, "rb").read()
    with open(path, "wb") as file:
        file.write({"truncate": data[:-3], "flip": data[:-2] + bytes([data[-2] ^ 1]) + data[-1:], "empty": b"", "noise": os.urandom(500)}[damage])
    assert copy.compile(signature=SIGNATURE).cubin == b"cubin"
    assert len(runs) == 2
    copy.compile(signature=SIGNATURE)
    assert len(runs) == 2 and open(path, "rb").read() == data


@contextlib.contextmanager
def modes_hold():
    """Modes of files hold for root, too: without CAP_DAC_OVERRIDE."""
    libc, header, sets = ctypes.CDLL(None, use_errno=True), (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    if libc.capget(header, sets):
        pytest.skip("the capabilities of the process cannot be read")
    had = sets[0]
    sets[0] &= ~(1 << 1)
    if libc.capset(header, sets):
        pytest.skip("the capabilities of the process cannot be changed")
    try:
        yield
    finally:
        sets[0] = had
        libc.capset(header, sets)


@pytest.mark.parametrize("kind", ["file in the way", "read-only", "read-only parent"])
def test_directory_that_cannot_be_written_to(runs, tmp_path, monkeypatch, kind):
    folder = tmp_path / "blocked" / "cache"
    if kind == "file in the way":
        (tmp_path / "blocked").write_text("")
    else:
        (tmp_path / "blocked").mkdir()
        if kind == "read-only":
            folder.mkdir()
            folder.chmod(0o555)
        else:
            (tmp_path / "blocked").chmod(0o555)
    with modes_hold():
        falls_back(runs, monkeypatch, folder)


def falls_back(runs, monkeypatch, folder):
    monkeypatch.setenv("TILELOOM_CACHE_DIR", str(folder))
    with pytest.warns(UserWarning, match="the cache directory .* cannot be written to .*; compiled kernels go to .* Set TILELOOM_CACHE_DIR"):
        copy.compile(signature=SIGNATURE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        copy.compile(signature=SIGNATURE)
    assert len(runs) == 1 and entries(cache.directory())


def test_disk_that_fails_at_the_entry(runs, monkeypatch):
    def replace(*paths):
        raise OSError(28, "No space left on device")
    monkeypatch.setattr(cache.os, "replace", replace)
    with pytest.warns(UserWarning, match="could not be written .No space left on device"):
        assert copy.compile(signature=SIGNATURE).ptx == "// PTX"
    assert not glob.glob(os.path.join(cache.directory(), "*", ".*"))


WORKER = """
    import sys
    sys.path[:0] = {path!r}
    import tileloom as tl
    from tileloom.dispatch import compiled

    class Made:
        cubin, recipe, diagnostics = b"cubin" * 20000, {{"kernel": "copy"}}, ""

    def run(program, target, options, **more):
        made = Made()
        made.ptx = program.text * 5
        return made
    compiled.run_compiler = run
    from test_jit_cache import copy, SIGNATURE
    print("ready", flush=True)
    sys.stdin.read()  # until all are ready
    for shift in range(50):
        found = copy.compile(signature=SIGNATURE, SHIFT=shift)
        assert found.ptx == found.program.text * 5 and found.cubin == Made.cubin and found.recipe == Made.recipe
    print("all right")
"""


@pytest.mark.parametrize("round", range(2))
def test_eight_processes(tmp_path, round):
    """8 processes want the same 50 kernels at once; the cache is empty."""
    folder = os.path.dirname(os.path.abspath(__file__))
    path = [folder, os.path.join(os.path.dirname(os.path.dirname(folder)), "python")]
    environment = {**os.environ, "TILELOOM_CACHE_DIR": str(tmp_path / "cache")}
    code = textwrap.dedent(WORKER.format(path=path))
    workers = [subprocess.Popen([sys.executable, "-W", "error", "-c", code], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True) for _ in range(8)]
    assert [worker.stdout.readline() for worker in workers] == ["ready\n"] * 8
    for worker in workers:
        worker.stdin.close()
    results = [(worker.stdout.read(), worker.stderr.read(), worker.wait(timeout=120)) for worker in workers]
    assert results == [("all right\n", "", 0)] * 8
    assert len(entries(tmp_path / "cache")) == 50
    assert not glob.glob(str(tmp_path / "cache" / "*" / ".*"))


def test_dump(tmp_path, monkeypatch):
    monkeypatch.setenv("TILELOOM_DUMP", str(tmp_path / "dump"))
    monkeypatch.setenv("TILELOOM_CACHE_DIR", str(tmp_path / "cache"))
    made = copy.compile(signature=SIGNATURE)
    files = os.listdir(tmp_path / "dump")
    assert "copy.tile.mlir" in files and any(name.endswith(".ptx") for name in files)
    assert (tmp_path / "dump" / "copy.tile.mlir").read_text() == made.tile
    passes = glob.glob(str(tmp_path / "dump" / "passes" / "**" / "*.mlir"), recursive=True)
    assert len(passes) > 10 and any("func.func @copy" in open(path).read() for path in passes)
