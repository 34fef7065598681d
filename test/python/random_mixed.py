"""Random kernels in which everything stands beside everything: views, descriptors and pointers, loops with products in a row, nested and as while loops,
batched products, scans, sorts, gathers, histograms and atomics beside products, masks of odd shapes, branches on constants, loops over tiles or one
program a CTA. All values are whole numbers that their types hold, so that a kernel leaves the bits that NumPy leaves. make(seed) as of random_kernels.py."""

import math

import numpy as np
from numpy_language import NUMPY
from random_mixed_results import SUM, Results
from random_roles import schedule
from random_values import D, E

PRODUCTS = ["float16", "float16", "bfloat16", "bfloat16", "float32", "float8e4nv", "float8e5", "int8"]
MOST = {"float16": 8, "bfloat16": 8, "float32": 8, "float8e4nv": 4, "float8e5": 4, "int8": 8}


class Mixed(Results):
    def __init__(self, seed, scheduled=False):
        super().__init__(seed)
        r = self.r
        self.scheduled = scheduled
        self.target = r.choice(["sm_90a", "sm_100a"])
        self.tiles = r.random() < 0.65
        self.BM = r.choice([64, 128, 128, 192] if self.target == "sm_90a" and self.tiles else [64, 64, 128])
        self.BN = r.choice([16, 32, 64, 64, 128, 48, 96])
        if not self.tiles or r.random() < 0.7:
            self.BN = r.choice([16, 32, 64, 64, 128])
            self.BM = 128 if self.BM == 192 else self.BM
        self.BK = r.choice([16, 32, 32, 64])
        self.M, self.N = r.choice([1, 40, 64, 100, 130, 200]), r.choice([8, 24, 64, 104, 136])
        self.K = r.choice([0, 8, 32, 64, 72, 100, 150])
        if not self.tiles:
            self.M, self.N = r.choice([self.BM, 2 * self.BM, 40, 3]), r.choice([self.BN, self.BN, 24])
        self.shape = (self.BM, self.BN)
        self.views, self.spent, self.iterations, self.loops = [], {}, 1, 0
        self.descriptors, self.constants = [], {}
        self.dtype = r.choice(PRODUCTS)
        self.row, self.column = ("tm", "tn") if self.tiles else (f"pid * {self.BM}", "0")
        self.places = []  # induction variables of the loops around that count elements of K

    # Tiles from memory.

    def rows_of(self, shape):
        """(rows, columns) of an array that a tile of `shape` is read from."""
        extents = {self.BM: self.M, self.BN: self.N, self.BK: self.K}
        return tuple(extents.get(s, s) for s in shape)

    def coordinate(self, extent, aligned):
        r = self.r
        own = ["0"]
        if extent == self.BM:
            own += [self.row] * 3
        if extent == self.BN:
            own += [self.column] * 3
        own += self.places * 2
        if not aligned and r.random() < 0.2:
            own.append(r.choice(["3", "n", "m + 1"]))
        return r.choice(own)

    def small(self, dtype, shape):
        a = self.rng.integers(-2, 3, shape)
        return (np.abs(a) if D[dtype].is_int_unsigned() else a).astype(NUMPY[D[dtype]])

    def array(self, dtype, rows, columns):
        step = 16 // np.dtype(NUMPY[D[dtype]]).itemsize
        wide = -(-max(1, columns) // step) * step + step * self.r.choice([0, 0, 1, 3])
        return self.small(dtype, (rows, wide))[:, :columns]

    def copied(self, dtype, shape):
        """A tile through a view or a descriptor."""
        r = self.r
        rows, columns = shape
        turned = r.random() < 0.3
        if turned:
            rows, columns = columns, rows
        item = np.dtype(NUMPY[D[dtype]]).itemsize
        if columns * item % 16 or rows > 256 or columns > 256:
            return None
        have = self.rows_of((rows, columns))
        y, x = self.coordinate(rows, False), self.coordinate(columns, True)
        name = f"v{len(self.args)}"
        k = r.random()
        if k < 0.3 and have[0] and have[1]:
            wide = -(-max(have[1], 1) * item // 16) * 16 // item
            self.args[name] = self.small(dtype, have[0] * wide)
            h, w = f"h{len(self.args)}", f"w{len(self.args)}"
            self.args[h], self.args[w] = have[0], wide
            d = f"d{len(self.args)}"
            self.descriptors.append(f"{d} = tl.make_tensor_descriptor({name}, shape=[{h}, {w}], strides=[{w}, 1], block_shape=[{rows}, {columns}])")
            text = f"{d}.load([{y}, {x}])"
        elif k < 0.45:
            batch = r.choice([1, 2, 3])
            wide = -(-max(have[1], 1) * item // 16) * 16 // item
            base = self.small(dtype, (batch, have[0], wide))
            self.args[name] = base[..., : have[1]]
            self.views.append(name)
            text = f"tl.reshape({name}.load([{r.choice(['0', 'pid', 'n'])}, {y}, {x}], [1, {rows}, {columns}]), ({rows}, {columns}))"
        else:
            self.args[name] = self.array(dtype, *have)
            self.views.append(name)
            text = f"{name}.load([{y}, {x}], [{rows}, {columns}])"
        return E(f"tl.trans({text})" if turned else text, dtype, shape, 2)

    def pointed(self, dtype, shape):
        """A tile through a pointer, with the mask of an array that ends where it likes."""
        r = self.r
        rows, columns = self.rows_of(shape)
        rows, columns = max(rows, 1), max(columns, 1)
        name = f"p{len(self.args)}"
        self.args[name] = self.small(dtype, rows * columns)
        y, x = self.coordinate(shape[0], False), self.coordinate(shape[1], False)
        y, x = f"({y} + tl.arange(0, {shape[0]}))[:, None]", f"({x} + tl.arange(0, {shape[1]}))[None, :]"
        mask = f"({y} < {rows}) & ({x} < {columns})"
        if r.random() < 0.3:
            mask += f" & ({r.choice([y, x])} % {r.choice([2, 3, 5])} != {r.choice([0, 1])})"
        other = r.choice(["", f", other={r.choice([0, 1, 2])}"])
        return E(f"tl.load({name} + {y} * {columns} + {x}, mask={mask}{other})", dtype, shape, 2)

    def good(self, shape):
        return all(s & (s - 1) == 0 or s % 8 == 0 for s in shape)

    def leaf(self, shape):
        if len(shape) == 2 and shape[0] >= 8 and shape[1] >= 8 and self.good(shape) and self.r.random() < 0.6:
            dtype = self.r.choice([*self.types, self.dtype, self.dtype])
            e = self.copied(dtype, shape) if self.r.random() < 0.6 else self.pointed(dtype, shape)
            if e is not None:
                return e
        return super().leaf(shape)

    def operand(self, shape, dtype):
        r = self.r
        k = r.random()
        e = None
        if k < 0.5:
            e = self.copied(dtype, shape)
        elif k < 0.65:
            e = self.pointed(dtype, shape)
        elif k < 0.75:
            e = self.copied(r.choice(["float16", "bfloat16", "float32", "int8"]), shape)
        if e is None:
            e = self.exp(shape, r.choice([0, 1, 1, 2])) if k < 0.95 else self.pointed(dtype, shape)
        e = self.cast(e, dtype)
        if D[dtype].is_floating():
            return self.cast(self.lim(e, MOST[dtype]), dtype)
        return E(f"({e.text} % 5)" if e.bound == 0 or e.bound > 8 else e.text, dtype, shape, 8)

    # Statements.

    def product(self, indent):
        """A sum of the tile's shape that grows by a product."""
        r = self.r
        kind = "int32" if self.dtype == "int8" else "float32"
        own = [n for n, e in self.vars.items() if e.shape == self.shape and e.dtype == kind and n in self.spent]
        if not own:
            return self.assign(indent)
        n = r.choice(own)
        K = self.BK if self.dtype not in ("int8", "float8e4nv", "float8e5") else max(32, self.BK)
        a, b = self.operand((self.BM, K), self.dtype), self.operand((K, self.BN), self.dtype)
        if r.random() < 0.15 and self.BM % 16 == 0 and self.good((self.BM, self.BN, K)):
            return self.batched(indent, n, kind)
        self.spent[n] += self.iterations * max(1, a.bound * b.bound) * K
        if kind == "float32" and self.spent[n] > SUM:
            return self.assign(indent)
        if r.random() < 0.2:
            t = self.fresh("q")
            lines = [f"{indent}{t} = tl.dot({a.text}, {b.text})"]
            if self.dtype != "int8" and self.BN % 32 == 0 and r.random() < 0.5:
                c = self.operand((self.BN, self.BN), self.dtype)
                p = self.cast(self.lim(E(t, kind, self.shape, a.bound * b.bound * K), MOST[self.dtype]), self.dtype)
                self.spent[n] += self.iterations * MOST[self.dtype] * c.bound * self.BN
                if self.spent[n] <= SUM:
                    return [*lines, f"{indent}{n} = tl.dot({p.text}, {c.text}, {n})"]
            return [*lines, f"{indent}{n} = {n} + {t}"]
        return [f"{indent}{n} = tl.dot({a.text}, {b.text}, {n})"]

    def batched(self, indent, n, kind):
        r = self.r
        B, K, dtype = r.choice([1, 1, 2, 3]), 32, self.dtype
        if self.BM % B or (self.BM // B) % 64:
            B = 1
        rows = self.BM // B
        a, b = self.load3((B, rows, K), dtype), self.load3((B, K, self.BN), dtype)
        self.spent[n] += self.iterations * a.bound * b.bound * K
        if kind == "float32" and self.spent[n] > SUM:
            return self.assign(indent)
        return [f"{indent}{n} = {n} + tl.reshape(tl.dot({a.text}, {b.text}), {self.shape})"]

    def load3(self, shape, dtype):
        name = f"p{len(self.args)}"
        self.args[name] = self.small(dtype, math.prod(shape))
        return E(f"tl.load({name} + {self.index(shape)})", dtype, shape, 2)

    def beside(self, indent):
        """Scans, sorts, gathers, histograms of a tile, or atomics of it: a statement that needs all threads."""
        r = self.r
        tiles = [(n, e) for n, e in self.vars.items() if len(e.shape) == 2 and n not in self.spent or n in self.spent and r.random() < 0.5]
        k = r.random()
        if k < 0.35 and tiles:
            n, e = r.choice(tiles)
            one = r.choice([s for s in ((e.shape[0], 1), (1, e.shape[1]))])
            axis = int(one[0] != 1)
            v = self.reduced(E(n, e.dtype, e.shape, e.bound), axis, True)
            t = self.fresh()
            v = self.fit(v)
            self.vars[t] = E(t, v.dtype, v.shape, v.bound)
            return [f"{indent}{t} = {v.text}"]
        if k < 0.5 and tiles:
            n, e = r.choice(tiles)
            if not e.floating and e.dtype not in ("int1",) and e.d.bits >= 8 and math.prod(e.shape) <= 8192:
                name = f"o{len(self.outs)}"
                self.outs.append(name)
                self.args[name] = np.zeros(16, np.int32)
                return [f"{indent}tl.atomic_add({name} + tl.arange(0, 16), tl.histogram(tl.reshape(({n} & 15).to(tl.int32), ({math.prod(e.shape)},)), 16), sem='relaxed')"]
        if k < 0.65 and tiles:
            n, e = r.choice(tiles)
            if e.dtype != "int1" and not e.d.is_fp8() and self.good(e.shape) and math.prod(e.shape) <= 8192:
                axis = r.choice([0, 1])
                i = self.exp(e.shape, 0)
                i = self.cast(i, "int32")
                t = self.fresh()
                self.vars[t] = E(t, e.dtype, e.shape, e.bound)
                return [f"{indent}{t} = tl.gather({n}, ({i.text} & {2 ** int(math.log2(e.shape[axis])) - 1}), {axis})"]
        if k < 0.8:
            return [indent + line for line in self.atomic()]
        if k < 0.9 and tiles:
            n, e = r.choice(tiles)
            if e.dtype in ("int32", "float32") and e.shape == self.shape and self.N % 4 == 0:
                v = self.cast(self.lim(e, 2**12), e.dtype)
                name = f"v{len(self.args)}"
                self.args[name] = self.array(e.dtype, self.M, self.N)
                self.views.append(name)
                return [f"{indent}{name}.atomic_add([{self.row}, {self.column}], {v.text})"]
        return self.assign(indent, 2)

    def inside(self, lines, add):
        """A block whose own names end with it."""
        before = dict(self.vars)
        lines += add()
        self.vars = {n: e for n, e in self.vars.items() if n in before}
        return lines

    def step(self, indent, depth):
        r = self.r
        k = r.random()
        if k < 0.3:
            return self.product(indent)
        if k < 0.45:
            return self.beside(indent)
        if k < 0.6:
            return self.assign(indent)
        if k < 0.68:
            return self.kept(indent)
        if k < 0.78 and depth:
            cond = self.scalar_cond()
            lines = self.inside([f"{indent}if {cond}:"], lambda: self.steps(indent + "    ", depth - 1))
            if r.random() < 0.4:
                lines = self.inside([*lines, f"{indent}else:"], lambda: self.steps(indent + "    ", depth - 1))
            return lines
        if k < 0.81:
            flag = f"C{len(self.constants)}"
            self.constants[flag] = r.choice([True, False])
            before, kept = dict(self.vars), dict(self.spent)
            lines = [f"{indent}if {flag}:", *self.steps(indent + "    ", 0)]
            self.vars, self.spent = before, {n: max(kept[n], self.spent[n]) for n in kept}
            return lines
        if depth:
            return self.loop(indent, depth)
        return self.product(indent)

    def steps(self, indent, depth):
        lines = []
        for _ in range(self.r.choice([1, 1, 2, 2, 3])):
            lines += self.step(indent, depth)
        return lines

    def loop(self, indent, depth):
        r = self.r
        if len(self.counters) > 1:
            return self.steps(indent, 0)
        k, before = r.random(), self.iterations
        c = self.fresh("k")
        if k < 0.6:
            most = max(1, -(-max(self.K, 200) // self.BK))
            bound, most = r.choice([("K", -(-self.K // self.BK))] * 4 + [(f"{2 * self.BK}", 2), (f"n * {self.BK}", 5), (f"tm + {self.BK}" if self.tiles else f"{self.BK}", 20)])
            first = r.choice(["0", "0", "0", str(self.BK)])
            stages = r.choice(["", "", ", num_stages=2", ", num_stages=3"])
            lines = [f"{indent}for {c} in tl.range({first}, {bound}, {self.BK}{stages}):"]
            self.places.append(c)
        elif k < 0.8:
            bound, most = r.choice([("n", 5), ("2", 2), ("m", 5), ("1", 1), ("0", 0), ("pid", 20)])
            lines = [f"{indent}for {c} in {r.choice(['range', 'range', 'tl.range'])}({bound}):"]
        elif k < 0.87:
            bound, most = 2, 2
            lines = [f"{indent}for {c} in tl.static_range(2):"]
        else:
            most = 5
            lines = [f"{indent}{c} = {r.choice(['n', 'm'])} + 0", f"{indent}while {c} > 0:"]
        self.iterations *= max(1, most)
        self.counters.append(c)
        lines = self.inside(lines, lambda: self.steps(indent + "    ", depth - 1))
        if "while" in lines[1]:
            lines.append(f"{indent}    {c} = {c} - 1")
        self.counters.pop()
        if self.places and self.places[-1] == c:
            self.places.pop()
        self.iterations = before
        return lines

    def assign(self, indent, depth=None):
        own = {n: e for n, e in self.vars.items() if n not in self.spent}
        if self.r.random() < 0.2 or not own:
            n = self.r.choice(list(self.spent))
            e = self.vars[n]
            text = self.r.choice([f"tl.maximum({n}, -5)", f"-{n}", f"tl.where({n} > 3, 1, {n})", f"{n} * (tl.arange(0, {self.BN}) % 2)[None, :].to({n}.dtype)",
                                  f"{n} - tl.minimum(tl.maximum({n}, -4), 4)"] + ([f"tl.where({self.cond(e.shape).text}, {n}, 0)"] if self.good(e.shape) else []))
            if text.endswith("4)"):
                self.spent[n] += 4 * self.iterations
            return [f"{indent}{n} = {text}"]
        every, self.vars = self.vars, own
        lines = super().assign(indent, depth)
        self.vars = every
        return lines

    def make(self):
        r = self.r
        self.columns_of_tiles = max(1, -(-self.N // self.BN))
        self.count = max(1, -(-self.M // self.BM)) * self.columns_of_tiles
        kind = "int32" if self.dtype == "int8" else "float32"
        lines = ["pid = " + (f"tm // {self.BM} + tn // {self.BN}" if self.tiles else "tl.program_id(0)")]
        if self.tiles:
            lines.append(f"tile = tm // {self.BM} * {self.columns_of_tiles} + tn // {self.BN}")
        for _ in range(r.choice([1, 1, 2])):
            n = self.fresh("s")
            self.vars[n], self.spent[n] = E(n, kind, self.shape, 2 * SUM), 0
            lines.append(f"{n} = tl.zeros({self.shape}, tl.{kind})")
        for _ in range(r.choice([0, 1, 1, 2])):
            n = self.fresh()
            shape = r.choice([self.shape, self.shape, (self.BM, 1), (1, self.BN), (self.BN,)])
            if not self.good(shape):
                continue
            e = self.leaf(shape)
            self.vars[n] = E(n, e.dtype, shape, max(8, e.bound) if e.floating else 8)
            lines.append(f"{n} = {e.text}")
        lines += self.loop("", 2)
        for _ in range(r.choice([0, 1, 2])):
            lines += self.step("", 2)
        for n, e in list(self.vars.items()):
            lines += self.keep("", n, e)
        self.args["K"] = self.K
        self.args.update({"n": r.choice([0, 1, 2, 3]), "m": r.choice([0, 1, 2, 5])})
        head = list(self.descriptors)
        if self.tiles:
            extents = f"({self.M}, {self.BM}), ({self.N}, {self.BN})"
            lines = [f"for tm, tn in tl.tiles({extents}):", *("    " + line for line in lines)]
        params = [name + (": tl.view" if name in self.views else "") for name in self.args] + [f"{c}: tl.constexpr" for c in self.constants]
        text = "\n".join(["import tileloom as tl", "", "", "@tl.jit", f"def kernel({', '.join(params)}):", *("    " + line for line in head + lines), ""])
        options = {"target": self.target, "simulator": {"seed": r.randint(0, 5), "multiprocessors": r.choice([1, 2, 3])}}
        grid = None if self.tiles else (r.choice([1, 1, 2, 3]),)
        if not self.tiles:
            options["num_warps"] = r.choice([4, 4, 8])
        if self.scheduled:
            options["schedule"] = schedule(r, self.target)
        return {"text": text, "args": self.args, "grid": grid, "options": options, "views": self.views, "constants": self.constants}


def make(seed, scheduled=False):
    return Mixed(seed, scheduled).make()
