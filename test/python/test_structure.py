"""The compiler finds the expert's program: what a tile program becomes, role by role, against the program by hand.

Compared are roles, replicas, buffers with their views and depths, and in each role the order of ring operations with their kinds, copies,
products, waits, loops and stores.
"""

import importlib
import inspect
import os
import re

import pytest

from conftest import ROOT
from programs import load
from tileloom.kernels.attention import attention_kernel

TOKENS = re.compile(r"warp\.(for_each_tile|acquire|peek|store|await|pass)|warp\.release .* (generic|tma|wgmma|bulk_read|tcgen05)\b|nv\.(tma\.load|wgmma\.wait|wgmma|warp_any|"
                    r"local_load|global_store)|(scf\.for|scf\.if)|pending\((\d)\)")


def structure(folder, name, schedule=None):
    return structure_of(load(folder, name, schedule=schedule).stages["warp"])


def structure_of(warp):
    """(buffers, {role: (warps, replicas, order)}) of a program at the warp level."""
    buffers = sorted(re.findall(r"warp\.buffer[^:]*: <([^>]*)>", warp))
    roles = {}
    for role in re.split(r"warp\.role ", warp)[1:]:
        name, warps, replicas = re.match(r"@(\w+) warps\((\d)\)(?: replicas\((\d)\))?", role).groups()
        order = ["".join(filter(None, match.groups())) for match in TOKENS.finditer(role)]
        roles[name] = (warps, replicas, order)
    return buffers, roles


def test_gemm():
    """Differences: K as the loop's bound instead of a number of blocks, and that the compiler's own choice keeps a product in flight (within 1 % for
    two warpgroups)."""
    found, wanted = structure("", "gemm", "pending = 0"), structure("warp", "gemm_cooperative")
    assert found[0] == wanted[0]
    assert found[1].keys() == wanted[1].keys()
    for role in wanted[1]:
        assert found[1][role] == wanted[1][role], role


@pytest.mark.parametrize("folder, name", [("", "attention"), ("warp", "attention_d128")])
def test_attention(folder, name):
    """In the loop: the next QK is issued before PV, the wait for QK leaves PV in flight, the wait for PV comes after a part of the softmax, and
    scaling is behind a vote. Differences: the first tile is masked in a loop of its own where the length does not tell; in a tile program Q has a
    second slot, as there is room for it. `warp` has the roles and rings by hand and the role in source order, `scheduled` the order, too."""
    found, wanted = structure(folder, name), structure("scheduled", "attention_d128")
    slots = [buffer for buffer in wanted[0] if buffer != "1 x [128x128xbf16]"]
    assert found[0] == (wanted[0] if folder == "warp" else sorted([*slots, "2 x [128x128xbf16]"]))
    assert {name: role[:2] for name, role in found[1].items()} == {name: role[:2] for name, role in wanted[1].items()}
    assert found[1]["load"][2] == wanted[1]["load"][2]

    def without_guard(order):
        """Without the branch around the loop of masked keys, which stands before the last loop."""
        last = max(i for i, token in enumerate(order) if token == "scf.for")
        before = order[:last]
        while before[-1] == "scf.if":
            before.pop()
        return before + order[last:]
    assert without_guard(found[1]["math"][2]) == without_guard(wanted[1]["math"][2])
    loop = wanted[1]["math"][2][wanted[1]["math"][2].index("await"):]
    assert loop[:9] == ["await", "wgmma", "acquire", "wgmma", "pass", "wgmma.wait", "1", "wgmma", "warp_any"], "the next QK, PV, the wait for QK, its slot"


def test_gemm_in_tensor_memory():
    """Differences: the epilogue is the role of the other element-wise work, math, its pieces are unrolled, and it stages them in one slot."""
    found, wanted = (structure_of(load(folder, name, target="sm_100a").stages["warp"]) for folder, name in (("", "gemm"), ("warp", "gemm_tcgen05")))
    assert set(found[0]) ^ set(wanted[0]) == {"1 x [128x64xbf16]", "2 x [128x64xbf16]"}
    assert {"math" if name == "epilogue" else name for name in wanted[1]} == found[1].keys()
    for role in ("load", "mma"):
        assert found[1][role] == wanted[1][role], role
    assert found[1]["math"][:2] == wanted[1]["epilogue"][:2]
    assert found[1]["math"][2] == ["for_each_tile", "acquire", "store", "store", "store", "generic", "store"], "the sum goes back before the last piece leaves"


@pytest.mark.parametrize("schedule", ['use = "pingpong", pending = 1'])
def test_turns(schedule):
    found, wanted = structure("", "gemm", schedule)[1]["math"], structure("warp", "gemm_pingpong")[1]["math"]
    assert found[:2] == wanted[:2]
    for order in (found[2], wanted[2]):
        assert order.index("await") < order.index("wgmma") < order.index("pass") < order.index("store")
        assert "1" in order, "a product stays in flight over the loop's back edge"


def test_moe():
    """The grouped products have the roles, the rings and the loop of the dense one, within a branch on the expert or the count."""
    dense = structure("", "gemm")[1]
    for name in ("moe", "moe_masked"):
        roles = structure("", name)[1]
        assert {role: found[:2] for role, found in roles.items()} == {role: found[:2] for role, found in dense.items()}
        assert "scf.if" in roles["load"][2] and "scf.if" in roles["math"][2]

        def loop(order):
            start = order.index("scf.for")
            return order[start:start + 6]
        for role in dense:
            assert loop(roles[role][2])[:5] == loop(dense[role][2])[:5], (name, role)


def test_operands_through_pointers():
    """The ring of a copy by threads is the one of a TMA load, but for what completes it."""
    from test_lang_triton import STRIDES, matmul
    signature = {"a_ptr": "*f16:16", "b_ptr": "*f16:16", "c_ptr": "*f16:16", "M": "i32:16", "N": "i32:16", "K": "i32:16", **STRIDES}
    tiles = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8, "ACTIVATION": ""}
    warp = matmul.compile(signature=signature, target="sm_90a", **tiles).warp
    roles = dict(re.findall(r"warp.role @(\w+) (.*?)(?=warp.role|$)", warp, re.S))
    assert roles.keys() == {"math", "gather"} and "warps(4)" in roles["gather"]
    loop = roles["gather"][roles["gather"].index("scf.for"):]
    order = re.findall(r"warp.acquire|nv.local_store|generic", loop)
    assert order == ["warp.acquire", "nv.local_store", "nv.local_store", "generic"], order
    assert re.findall(r"warp.acquire|nv.wgmma\b|wgmma$", roles["math"], re.M)[:3] == ["warp.acquire", "nv.wgmma", "nv.wgmma"], "a product and the wait for it"


NO_MECHANISM = re.compile(r"warp|barrier|stage|mbar|fence|swizzle")


@pytest.mark.parametrize("functions, lines", [(("gemm.gemm_kernel", "epilogue.finish", "epilogue.put"), 40), (("attention.attention_kernel", "online_softmax.attend"), 70),
                                              (("grouped_gemm.product", "grouped_gemm.contiguous_kernel", "grouped_gemm.masked_kernel"), 50)],
                         ids=["gemm", "attention", "grouped_gemm"])
def test_sources_are_short_and_name_no_mechanism(functions, lines):
    text = ""
    for name in functions:
        module, function = name.split(".")
        text += inspect.getsource(getattr(importlib.import_module(f"tileloom.kernels.{module}"), function).function)
    assert len(text.splitlines()) <= lines
    assert not NO_MECHANISM.search(text)


@pytest.fixture
def examples(monkeypatch):
    monkeypatch.syspath_prepend(os.path.join(ROOT, "examples"))
    return {name: importlib.import_module(name) for name in ("gemm", "attention")}


@pytest.mark.parametrize("name, lines", [("gemm", 40), ("attention", 70)])
def test_whole_programs_are_short(examples, name, lines):
    """The examples call nothing but the language: what they are is all there."""
    text = inspect.getsource(getattr(examples[name], name).function)
    assert len(text.splitlines()) <= lines and not NO_MECHANISM.search(text)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_attention_of_the_library_is_the_example(examples, target, causal):
    """What the library's kernel has besides leaves nothing behind where it is not asked for."""
    view = ("bf16", (None, None, None, None))
    signature = {**dict.fromkeys("qkvo", view), "lse": "*f32:16", "scale": "f32"}
    given = {"CAUSAL": causal, "BM": 128, "BN": 128, "target": target}
    own = examples["attention"].attention.compile(signature=signature, D=128, **given)
    nothing = {name: None for name in ("left", "right", "chunk", "sinks", "softcap")}
    library = attention_kernel.compile(signature={**signature, **nothing, "arguments": [], "scales": [None, None, None]}, DK=128, DV=128, THRESHOLD=0.0, **given)
    assert structure_of(library.warp) == structure_of(own.warp)
