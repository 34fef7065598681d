"""Random chains of operations on two small tiles, in one to eight warps, against NumPy."""

import random

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl

TYPES = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "int32": np.int32, "int8": np.int8}


def step(draw, shape):
    """(lines of the kernel, statements for NumPy, the new shape) of one operation on t and u. R rounds to the type of the tiles, C to a given one."""
    m, n = shape
    kind = draw.choice(["add", "scale", "where", "cast", "trans", "sum", "max", "cumsum", "reshape", "rows", "dot"])
    axis, to = draw.randint(0, 1), draw.choice(["float32", "float16", "bfloat16"])
    if kind == "dot" and min(shape) >= 16:
        return ([f"t = (tl.dot(t.to(tl.{to}), tl.trans(u.to(tl.{to}))) * 0.0625).to(t.dtype)", "u = t * 0.5"],
                [f"t = R(C(t, '{to}') @ C(u, '{to}').T * 0.0625)", "u = R(t * 0.5)"], (m, m))
    if kind == "reshape" and n > 8:
        return ([f"{own} = tl.reshape({own}, ({2 * m}, {n // 2}))" for own in "tu"], [f"{own} = {own}.reshape({2 * m}, {n // 2})" for own in "tu"],
                (2 * m, n // 2))
    if kind == "trans":
        return ["t, u = tl.trans(t), tl.trans(u)"], ["t, u = t.T, u.T"], (n, m)
    return {"scale": (["t = -t * 0.5"], ["t = R(-t * 0.5)"]),
            "where": (["t = tl.where(t > u, t, u * 0.25)"], ["t = np.where(t > u, t, R(u * 0.25))"]),
            "cast": ([f"t, u = t.to(tl.{to}), u.to(tl.{to})"], [f"own = '{to}'", "t, u = R(t), R(u)"]),
            "sum": ([f"t = t * 0.125 + tl.sum(u, {axis}, keep_dims=True) * 0.0625"],
                    [f"t = R(R(t * 0.125) + R(R(u.sum({axis}, keepdims=True)) * 0.0625))"]),
            "max": ([f"t = t - tl.max(u, {axis}, keep_dims=True)"], [f"t = R(t - u.max({axis}, keepdims=True))"]),
            "cumsum": ([f"t = tl.cumsum(t.to(tl.float32) * 0.125, {axis}).to(t.dtype)"], [f"t = R(np.cumsum(t * 0.125, {axis}))"]),
            "rows": ([f"t = t * tl.arange(0, {m})[:, None].to(t.dtype) * 0.0625"], [f"t = R(R(t * R(np.arange({m})[:, None])) * 0.0625)"]),
            }.get(kind, (["t = t + u"], ["t = R(t + u)"])) + (shape,)


@pytest.mark.parametrize("seed", range(80))
def test_chains(seed, module_of):
    draw = random.Random(seed)
    shape = first = draw.choice([4, 8, 16, 32, 64]), draw.choice([8, 16, 32, 64, 128])
    dtype, warps, target = draw.choice(list(TYPES)), draw.choice([1, 2, 4, 8]), draw.choice(["sm_90a", "sm_100a"])
    whole = dtype.startswith("int")
    lines, statements = ["t, u = t.to(tl.float32), u.to(tl.float32)"] if whole else [], []
    for _ in range(draw.randint(2, 6)):
        more, numpy, shape = step(draw, shape)
        lines += more
        statements += numpy
    text = "\n    ".join(["import tileloom as tl\n\n\n@tl.jit\ndef kernel(x, y, out):", f"at = tl.arange(0, {first[0]})[:, None] * {first[1]} + tl.arange(0, {first[1]})",
                          "t, u = tl.load(x + at), tl.load(y + at)", *lines,
                          f"tl.store(out + tl.arange(0, {shape[0]})[:, None] * {shape[1]} + tl.arange(0, {shape[1]}), t.to(tl.float32))", ""])
    module = module_of(text)
    rng = np.random.default_rng(seed)
    x, y = ((rng.integers(-6, 7, first) if whole else rng.standard_normal(first)).astype(TYPES[dtype]) for _ in range(2))
    out = np.full(shape, np.nan, np.float32)
    module.kernel[(1,)](x, y, out, target=target, num_warps=warps)

    values = {"np": np, "own": "float32" if whole else dtype, "t": x.astype(np.float64), "u": y.astype(np.float64)}
    values["C"] = lambda value, name: value.astype(TYPES[name]).astype(np.float64)
    values["R"] = lambda value: values["C"](value, values["own"])
    for statement in statements:
        exec(statement, values)
    limit = 0.03 if "bfloat16" in text + dtype else 4e-3
    assert np.linalg.norm(out - values["t"]) < limit * np.linalg.norm(values["t"]) + 1e-6, text


@tl.jit
def centred(x, out, N: tl.constexpr):
    """out = x - 0.5 * mean(x), by a sum that keeps its dimension."""
    i = tl.arange(0, N)
    t = tl.load(x + i)
    mean = (tl.sum(t.to(tl.float32), 0, keep_dims=True) * (1.0 / N)).to(t.dtype)
    tl.store(out + i, t - mean * 0.5)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("warps", [1, 4])
def test_kept_dimension_of_a_row(dtype, target, warps):
    x = np.random.default_rng(warps).standard_normal(256).astype(TYPES[dtype]) + 3
    out = np.full(256, np.nan, x.dtype)
    centred[(1,)](x, out, N=256, target=target, num_warps=warps)
    wanted = x.astype(np.float64) - 0.5 * x.astype(np.float64).mean()
    assert np.abs(out - wanted).max() < {"float32": 1e-5, "float16": 5e-3}[dtype]
