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


ORDERS = [(0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]


def moved(draw, shape):
    """As step: elements that change places, by orders of dimensions and by indices, between a few operations that want layouts of their own."""
    m, n = shape
    kind, axis = draw.choice(["permute", "permute", "gather", "gather", "flip", "sort", "cat"]), draw.randint(0, 1)
    if kind == "permute":
        order, inner = draw.choice(ORDERS), draw.choice([e for e in (2, 4, 8) if m % e == 0 and e <= m] or [1])
        extents = (m // inner, inner, n)
        a, b, c = (extents[d] for d in order)
        after = (a * b, c) if draw.randint(0, 1) else (a, b * c)
        if after[1] >= 4:
            return ([f"{own} = {own}.reshape({extents}).permute{order}.reshape({after})" for own in "tu"],
                    [f"{own} = {own}.reshape({extents}).transpose({order}).reshape({after})" for own in "tu"], after)
    if kind == "gather":
        count = draw.choice([8, 16, 32]) if m * n <= 512 else 8
        wanted = (count, n) if axis == 0 else (m, count)
        index = f"({{}}.arange(0, {wanted[0]})[:, None] * {draw.randint(1, 9)} + {{}}.arange(0, {wanted[1]})[None, :] * {draw.randint(1, 9)}) % {shape[axis]}"
        return ([f"index = {index.format('tl', 'tl')}", f"t, u = tl.gather(t, index, {axis}), tl.gather(u, index, {axis})"],
                [f"index = {index.format('np', 'np')}", f"t, u = np.take_along_axis(t, index, {axis}), np.take_along_axis(u, index, {axis})"], wanted)
    if kind == "flip" and m * n <= 512:
        return [f"t = tl.flip(t, {axis})"], [f"t = np.flip(t, {axis})"], shape
    if kind == "sort" and m * n <= 256:
        return [f"t = tl.sort(t, {axis})"], [f"t = np.sort(t, {axis})"], shape
    if kind == "cat" and m * n <= 256:
        wanted = (2 * m, n) if axis == 0 else (m, 2 * n)
        return [f"t, u = tl.cat(t, u, dim={axis}), tl.cat(u, u, dim={axis})"], [f"t, u = np.concatenate([t, u], {axis}), np.concatenate([u, u], {axis})"], wanted
    return ["t = t + u"], ["t = R(t + u)"], shape


@pytest.mark.parametrize("seed", range(40))
def test_moves(seed, module_of):
    """Half of them read pointers, half views, in a loop over tiles."""
    draw = random.Random(1000 + seed)
    shape = first = draw.choice([4, 8, 16]), draw.choice([16, 32])
    dtype, warps, target = draw.choice(list(TYPES)), draw.choice([1, 2, 4, 8]), draw.choice(["sm_90a", "sm_100a"])
    whole, views = dtype.startswith("int"), seed % 2 == 1
    lines, statements = ["t, u = t.to(tl.float32), u.to(tl.float32)"] if whole else [], []
    for _ in range(draw.randint(2, 5)):
        for choose in (moved, step) if draw.randint(0, 1) else (moved,):
            more, numpy, after = choose(draw, shape)
            if views and "tl.dot" in more[0]:
                continue  # products of views have the rows of a warpgroup at least
            shape = after
            lines += more
            statements += numpy
    if views:
        head = ["import tileloom as tl\n\n\n@tl.jit\ndef kernel(x: tl.view, y: tl.view, out: tl.view):", f"for m, in tl.tiles((x.shape[0], {first[0]})):"]
        body = [f"t, u = x.load([m, 0], [{first[0]}, {first[1]}]), y.load([m, 0], [{first[0]}, {first[1]}])", *lines,
                f"out.store([m // {first[0]} * {shape[0]}, 0], t.to(tl.float32))"]
        text = "\n    ".join(head + ["    " + line for line in body] + [""])
    else:
        text = "\n    ".join(["import tileloom as tl\n\n\n@tl.jit\ndef kernel(x, y, out):", f"at = tl.arange(0, {first[0]})[:, None] * {first[1]} + tl.arange(0, {first[1]})",
                              "t, u = tl.load(x + at), tl.load(y + at)", *lines,
                              f"tl.store(out + tl.arange(0, {shape[0]})[:, None] * {shape[1]} + tl.arange(0, {shape[1]}), t.to(tl.float32))", ""])
    module = module_of(text)
    rng = np.random.default_rng(seed)
    tiles = 2 if views else 1
    x, y = ((rng.integers(-6, 7, (tiles * first[0], first[1])) if whole else rng.standard_normal((tiles * first[0], first[1]))).astype(TYPES[dtype]) for _ in range(2))
    out = np.full((tiles * shape[0], shape[1]), np.nan, np.float32)
    if views:
        module.kernel(x, y, out, target=target)
    else:
        module.kernel[(1,)](x, y, out, target=target, num_warps=warps)
    for tile in range(tiles):
        own = slice(tile * first[0], (tile + 1) * first[0])
        values = {"np": np, "own": "float32" if whole else dtype, "t": x[own].astype(np.float64), "u": y[own].astype(np.float64)}
        values["C"] = lambda value, name: value.astype(TYPES[name]).astype(np.float64)
        values["R"] = lambda value: values["C"](value, values["own"])
        for statement in statements:
            exec(statement, values)
        found = out[tile * shape[0]:(tile + 1) * shape[0]]
        limit = 0.03 if "bfloat16" in text + dtype else 4e-3
        assert np.linalg.norm(found - values["t"]) < limit * np.linalg.norm(values["t"]) + 1e-6, text


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
