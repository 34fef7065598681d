"""Random expressions of tiles, for random_kernels.py: each knows its type, its shape and, of floats, the largest value, so that all of them are whole numbers
that its type holds: a kernel then gives the bits that NumPy gives, whatever it contracts and in whatever order it sums."""

import math
import random

import numpy as np
from numpy_language import NUMPY
from tileloom.language import dtypes

FLOATS = ["float32", "float16", "bfloat16", "float8e4nv", "float8e5"]
INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
MANTISSA = {"float32": 24, "float16": 11, "bfloat16": 8, "float8e4nv": 4, "float8e5": 3, "float64": 53}
D = {n: getattr(dtypes, n) for n in FLOATS + INTS + ["int1", "float64"]}
NAME = {v: k for k, v in D.items()}


class E:
    """An expression: its text, type and shape. bound: of the absolute values of floats."""

    def __init__(self, text, dtype, shape, bound=0):
        self.text, self.dtype, self.shape, self.bound = text, dtype, tuple(shape), bound

    @property
    def d(self):
        return D[self.dtype]

    @property
    def floating(self):
        return self.d.is_floating()


class Values:
    def __init__(self, seed):
        self.seed = seed
        self.r = r = random.Random(seed)
        self.lines, self.n = [], 0
        self.vars = {}  # name -> E (types fixed)
        self.counters = []
        self.args = {}  # name -> array
        self.outs = []
        self.rng = np.random.default_rng(seed)
        self.shape = self.pick_shape()
        self.types = [r.choice(FLOATS + INTS + ["float32", "int32"]) for _ in range(3)]

    def pick_shape(self):
        r = self.r
        rank = r.choice([1, 1, 2, 2, 2, 3, 4])
        while True:
            s = tuple(
                r.choice(
                    {
                        1: [8, 16, 32, 64, 128, 256, 512, 1024, 24, 40, 1, 2, 4],
                        2: [1, 2, 4, 8, 16, 32, 64, 128, 24],
                        3: [1, 2, 4, 8, 16, 32],
                        4: [1, 2, 4, 8, 16],
                    }[rank]
                )
                for _ in range(rank)
            )
            if 2 <= math.prod(s) <= 4096:
                return s

    def fresh(self, p="t"):
        self.n += 1
        return f"{p}{self.n}"

    # memory
    def index(self, shape, count=None):
        """offset tile text over `shape`, row major."""
        step, parts = 1, []
        for axis in reversed(range(len(shape))):
            if shape[axis] != 1 or len(shape) == 1:
                ix = ", ".join(":" if a == axis else "None" for a in range(len(shape)))
                t = f"tl.arange(0, {shape[axis]})" + (f"[{ix}]" if len(shape) > 1 else "")
                parts.append(f"{t} * {step}" if step != 1 else t)
            step *= shape[axis]
        if not parts:
            return "tl.full((" + ", ".join("1" for _ in shape) + ",), 0, tl.int32)"
        text = " + ".join(reversed(parts))
        return f"({text})"

    def data(self, dtype, count):
        if dtype == "int1":
            return self.rng.integers(0, 2, count).astype(bool)
        if D[dtype].is_floating():
            return self.rng.integers(-4, 5, count).astype(NUMPY[D[dtype]])
        info = np.iinfo(NUMPY[D[dtype]])
        a = self.rng.integers(max(info.min, -1 << 40), min(info.max, 1 << 40), count, dtype=np.int64 if info.min < 0 or info.bits < 64 else np.uint64)
        if self.r.random() < 0.5:
            a = a % 17
        return a.astype(NUMPY[D[dtype]])

    def load(self, shape, dtype=None, mask=True):
        r = self.r
        dtype = dtype or r.choice(self.types + ["int1"])
        count = math.prod(shape) * 2
        name = f"x{len(self.args)}"
        self.args[name] = self.data(dtype, count)
        at = f"{name} + {self.index(shape)}"
        if r.random() < 0.3:
            at += f" + {r.choice(['pid * 3', 'n', '5', *self.counters])}" if math.prod(shape) > 32 else ""
        tail = ""
        bound = 4
        if mask and r.random() < 0.4:
            c = self.cond(shape)
            tail = f", mask={c.text}"
            if r.random() < 0.6:
                tail += ", other=" + (r.choice(["1", "0", "2"]) if dtype != "int1" else "1")
        return E(f"tl.load({at}{tail})", dtype, shape, bound)

    # conversions
    def lim(self, e, most):
        """|e| <= most by clamping, floats only."""
        if not e.floating or e.bound <= most:
            return e
        base = e if not e.d.is_fp8() else self.cast(e, "float16")
        return E(f"tl.minimum(tl.maximum({base.text}, -{float(most)}), {float(most)})", base.dtype, e.shape, most)

    def cast(self, e, dtype):
        if e.dtype == dtype:
            return e
        d = D[dtype]
        if d.is_floating():
            most = 2 ** MANTISSA[dtype]
            if e.floating:
                e = self.lim(e, most)
                return E(f"{e.text}.to(tl.{dtype})", dtype, e.shape, e.bound)
            if e.dtype == "int1":
                return E(f"{e.text}.to(tl.{dtype})", dtype, e.shape, 1)
            m = min(most, 8)
            return E(f"({e.text} % {m}).to(tl.{dtype})", dtype, e.shape, m)
        if e.floating and dtype != "int1":
            e = self.lim(e, 100)
            if d.is_int_unsigned():
                e = E(f"tl.abs({e.text if not e.d.is_fp8() else e.text + '.to(tl.float32)'})", e.dtype if not e.d.is_fp8() else "float32", e.shape, e.bound)
        return E(f"{e.text}.to(tl.{dtype})", dtype, e.shape)

    def fit(self, e):
        """bounded again so that arithmetic stays exact."""
        if e.floating:
            return self.lim(e, min(2 ** MANTISSA[e.dtype], 64))
        return e

    def cond(self, shape, depth=1):
        r = self.r
        if r.random() < 0.3 and len(shape) >= 1:
            axis = r.randrange(len(shape))
            if shape[axis] > 1:
                ix = ", ".join(":" if a == axis else "None" for a in range(len(shape)))
                t = f"tl.arange(0, {shape[axis]})" + (f"[{ix}]" if len(shape) > 1 else "")
                lim = r.choice([str(r.randint(0, shape[axis])), "n", "m"])
                one = tuple(s if a == axis else 1 for a, s in enumerate(shape))
                return self.whole(E(f"({t} {r.choice(['<', '>=', '=='])} {lim})", "int1", one), shape)
        a = self.exp(shape, depth - 1)
        if r.random() < 0.5:
            return E(f"({a.text} {r.choice(['<', '<=', '==', '!=', '>', '>='])} {r.choice([0, 1, 2, 3])})", "int1", shape)
        b = self.exp(shape, depth - 1)
        if dtypes.promotion(a.d, b.d) is None:
            b = self.cast(b, a.dtype)
        c = E(f"({a.text} {r.choice(['<', '<=', '==', '!=', '>', '>='])} {b.text})", "int1", shape)
        k = r.random()
        if k < 0.15:
            return E(f"(~{c.text})", "int1", shape)
        return c

    def whole(self, e, shape):
        if e.shape == tuple(shape):
            return e
        return E(f"tl.broadcast_to({e.text}, {tuple(shape)})", e.dtype, shape, e.bound)

    def sub_shape(self, shape):
        r = self.r
        s = tuple(1 if r.random() < 0.5 else x for x in shape)
        return s

    def leaf(self, shape):
        r = self.r
        own = [n for n, e in self.vars.items() if e.shape == tuple(shape)]
        if own and r.random() < 0.75:
            n = r.choice(own)
            return E(n, self.vars[n].dtype, shape, self.vars[n].bound)
        scalars = [n for n, e in self.vars.items() if e.shape == ()]
        if scalars and r.random() < 0.15:
            n = r.choice(scalars)
            e = self.vars[n]
            return E(f"tl.full({tuple(shape)}, {n}, tl.{e.dtype})", e.dtype, shape, e.bound)
        if r.random() < 0.3:
            axis = r.randrange(len(shape))
            if shape[axis] > 1:
                one = tuple(s if a == axis else 1 for a, s in enumerate(shape))
                ix = ", ".join(":" if a == axis else "None" for a in range(len(shape)))
                t = f"tl.arange(0, {shape[axis]})" + (f"[{ix}]" if len(shape) > 1 else "")
                if self.counters and r.random() < 0.3:
                    t = f"({t} + {r.choice(self.counters)})"
                return self.whole(E(t, "int32", one), shape)
        if r.random() < 0.3:
            s = self.sub_shape(shape)
            if s != tuple(shape):
                return self.whole(self.load(s) if math.prod(s) > 1 else self.load(s, mask=False), shape)
        return self.load(shape)

    def other_shape(self, shape):
        r = self.r
        n = math.prod(shape)
        rank = r.choice([1, 2, 2, 3])
        s, left = [], n
        for _ in range(rank - 1):
            divs = [d for d in (1, 2, 4, 8, 16, 32, 64) if left % d == 0]
            d = r.choice(divs)
            s.append(d)
            left //= d
        s.append(left)
        r.shuffle(s)
        # aranges must be powers of two or multiples of 8
        if any(x & (x - 1) and x % 8 for x in s):
            return tuple(shape)
        return tuple(s)

    def scalar(self):
        """an int scalar expression."""
        r = self.r
        own = [n for n, e in self.vars.items() if e.shape == () and not e.floating and e.dtype != "int1"]
        return r.choice(["n", "m", "pid", *self.counters, *own, *own])

    def scalar_cond(self):
        r = self.r
        k = r.random()
        if k < 0.35:
            return f"{self.scalar()} {r.choice(['<', '>', '==', '!='])} {r.choice([0, 1, 2, 3, 'n', 'm'])}"
        if k < 0.6:
            name = f"x{len(self.args)}"
            self.args[name] = self.rng.integers(0, 4, 16).astype(np.int32)
            return f"tl.load({name} + ({self.scalar()} & 15)) {r.choice(['<', '>', '=='])} {r.choice([1, 2])}"
        own = [n for n, e in self.vars.items() if e.shape != ()]
        if own and k < 0.9:
            n = r.choice(own)
            e = self.vars[n]
            e = self.reduced(E(n, e.dtype, e.shape, e.bound), None, False)
            return f"{e.text} {r.choice(['<', '>', '!='])} {r.choice([0, 1, 5])}"
        return f"({self.scalar()} > 0 {r.choice(['and', 'or'])} {self.scalar()} < 2)"
