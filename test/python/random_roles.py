"""Random products through views: several sums of a loop that share operands, operands that are converted, computed or transposed, chains of products, sums
that are read, changed and stored between products, branches around products, loops in loops, loops of no iteration, batches, and schedules.
make(seed, scheduled) as make of random_kernels.py."""

import random

import ml_dtypes
import numpy as np

F8, F5 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
TYPES = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16, "float32": np.float32, "float8e4nv": F8, "float8e5": F5, "int8": np.int8}


def padded(rng, shape, dtype, low=-2, high=3, r=None):
    """Random integers in an array whose rows begin at multiples of 16 bytes."""
    item = np.dtype(dtype).itemsize
    step = 16 // item
    cols = -(-max(1, shape[-1]) // step) * step + (step * r.choice([0, 0, 1, 3]) if r else 0)
    base = rng.integers(low, high, (*shape[:-1], cols)).astype(dtype)
    return base[..., : shape[-1]]


class Products:
    def __init__(self, seed, scheduled):
        self.scheduled = scheduled
        self.r, self.rng = random.Random(seed), np.random.default_rng(seed)
        self.args, self.lines, self.n = {}, [], 0

    def fresh(self, p):
        self.n += 1
        return f"{p}{self.n}"

    def view(self, rows, cols, dtype, low=-2, high=3):
        """A view of [rows, cols], perhaps with a batch; gives its name."""
        name = self.fresh("v")
        shape = (rows, cols)
        if self.batch:
            shape = (self.B, rows, cols)
        self.args[name] = padded(self.rng, shape, dtype, low, high, self.r)
        return name

    def at(self, *c):
        return "[" + ", ".join((["bb"] if self.batch else []) + list(c)) + "]"

    def load(self, name, row, col, box):
        return f"{name}.load({self.at(row, col)}, [{box[0]}, {box[1]}])"

    def operand(self, rows, cols, row, col, extent_rows, extent_cols, key, allow_change=True):
        """A tile [rows, cols] of type self.dtype: from a view, perhaps transposed, perhaps computed. key: shares a view."""
        r = self.r
        dt = self.dtype
        src = dt
        computed = allow_change and r.random() < 0.3 and dt != "int8"
        if computed and r.random() < 0.4:
            src = r.choice([t for t in ("bfloat16", "float16", "float32", "float8e4nv") if t != dt])
        if key in self.views and r.random() < 0.5:
            name, trans, src = self.views[key]
        else:
            trans = r.random() < (0.4 if dt in ("bfloat16", "float16") else 0.15)
            name = self.view(extent_cols, extent_rows, TYPES[src]) if trans else self.view(extent_rows, extent_cols, TYPES[src])
            self.views[key] = (name, trans, src)
        t = self.load(name, col, row, (cols, rows)) + ".T" if trans else self.load(name, row, col, (rows, cols))
        if src != dt:
            t = f"{t}.to(tl.{dt})" if src not in ("float8e4nv",) or True else t
        if computed:
            f32 = "tl.float32"
            t = r.choice(
                [
                    f"({t}.to({f32}) * 0.5).to(tl.{dt})",
                    f"tl.maximum({t}, 0.0).to(tl.{dt})",
                    f"(-{t}).to(tl.{dt})",
                    f"tl.where({t} > 0.0, {t}, 0.0).to(tl.{dt})",
                    f"({t}.to({f32}) + tl.load(p{0} + tl.arange(0, {cols}))[None, :]).to(tl.{dt})"
                    if (cols & (cols - 1) == 0 or cols % 8 == 0)
                    else f"({t} + {t}).to(tl.{dt})",
                ]
            )
            if "p0" in t and "p0" not in self.args:
                self.args["p0"] = self.rng.integers(-1, 2, 512).astype(np.float32)
        return t

    def narrow(self, t):
        """A sum as an operand."""
        if self.acc_type == "int32":
            return f"({t} % 3).to(tl.int8)"
        return f"tl.minimum(tl.maximum({t}, -4.0), 4.0).to(tl.{self.dtype})"

    def change(self, name, BM, BN):
        """A statement that changes a sum."""
        r = self.r
        if self.acc_type == "int32":
            return [r.choice([f"{name} = {name} % 1000", f"{name} = -{name}", f"{name} = {name} + 1", f"{name} = tl.maximum({name}, -5)"])]
        return [
            r.choice(
                [
                    f"{name} = {name} * 0.5",
                    f"{name} = {name} * 2.0 - 1.0",
                    f"{name} = tl.maximum({name}, -5.0)",
                    f"{name} = tl.where({name} > 3.0, 1.0, {name})",
                    f"{name} = {name} - tl.max({name}, 1, keep_dims=True) * 0.25",
                    f"{name} = {name} + tl.sum({name}, 0, keep_dims=True) * 0.0625",
                    f"{name} = {name} * (tl.arange(0, {BN}) % 2)[None, :].to(tl.float32)",
                    f"{name} = {name} * (tl.arange(0, {BM}) % 3)[:, None].to(tl.float32)",
                ]
            )
        ]

    def make(self):
        r = self.r
        self.target = r.choice(["sm_90a", "sm_100a"])
        self.dtype = r.choice(["bfloat16", "bfloat16", "float16", "float16", "float32", "float8e4nv", "float8e5", "int8"])
        self.acc_type = "int32" if self.dtype == "int8" else "float32"
        zero = f"tl.{self.acc_type}"
        self.batch = r.random() < 0.25
        self.B = 2
        self.views = {}
        BM = r.choice([64, 128, 128, 192] if self.target == "sm_90a" else [64, 128, 128])
        BN = r.choice([16, 32, 64, 64, 96, 128, 48])
        small = self.dtype in ("float8e4nv", "float8e5", "int8")
        BK = r.choice([32, 64, 64, 128] if small else [16, 32, 64, 64])
        M, N = r.choice([1, 40, 64, 100, 130, 200]), r.choice([8, 24, 64, 104, 136])
        K = r.choice([0, 8, 32, 64, 72, 100, 200])
        body = []
        n_sums = r.choice([1, 1, 1, 2, 2, 3])
        sums = {}
        for i in range(n_sums):
            name = f"s{i}"
            k = r.random()
            sums[name] = True
            if k < 0.7:
                body.append(f"{name} = tl.zeros(({BM}, {BN}), {zero})")
            elif k < 0.85:
                v = self.view(M, N, np.int32 if self.acc_type == "int32" else np.float32)
                body.append(f"{name} = {self.load(v, 'm', 'n', (BM, BN))}")
            else:
                body.append(f"{name} = tl.full(({BM}, {BN}), {r.choice([1, -2])}, {zero})")
        carried = []
        if r.random() < 0.25 and self.acc_type == "float32":
            body.append(f"top = tl.full(({BM},), -100.0, tl.float32)")
            carried.append("top")
        if r.random() < 0.15:
            body.append("count = m * 0")
            carried.append("count")

        def one(name, kk, indent, extent):
            k = r.random()
            a = self.operand(BM, BK, "m", kk, M, K, f"a{extent}")
            b = self.operand(BK, BN, kk, "n", K, N, f"b{extent}")
            if k < 0.62 or BN % 16 or (small and BN % 32):
                if r.random() < 0.15:
                    return [f"{indent}{name} += tl.dot({a}, {b})"]
                return [f"{indent}{name} = tl.dot({a}, {b}, {name})"]
            if k < 0.8:  # chained
                t = self.fresh("t")
                w = self.operand(
                    BN,
                    BN,
                    kk if r.random() < 0.3 or self.batch else "0",
                    "n" if r.random() < 0.3 or self.batch else "0",
                    max(8, K),
                    max(N, 8),
                    f"w{extent}",
                    False,
                )
                q = f"tl.dot({a}, {b})"
                return [
                    f"{indent}{t} = {q}",
                    *([indent + x for x in self.change(t, BM, BN)] if r.random() < 0.4 else []),
                    f"{indent}{name} = tl.dot({self.narrow(t)}, {w}, {name})",
                ]
            if k < 0.9:
                t = self.fresh("t")
                return [f"{indent}{t} = tl.dot({a}, {b})", *([indent + x for x in self.change(t, BM, BN)]), f"{indent}{name} = {name} + {t}"]
            return [f"{indent}{name} = tl.dot({a}, {b}, {name})", *[indent + x for x in self.change(name, BM, BN)]]

        def loop(indent, level):
            kk = f"k{level}"
            out = []
            bound = r.choice(["K", "K", "K", "K", "n + BN", "tl.load(lims)", f"{r.choice([1, 2, 3]) * BK}", "m + BM"])
            if "lims" in bound:
                self.args.setdefault("lims", self.rng.integers(0, 150, 4).astype(np.int32))
            if bound == "n + BN":
                bound = f"n + {BN}"
            if bound == "m + BM":
                bound = f"m + {BM}"
            start = r.choice(["0", "0", "0", "0", str(BK)])
            out.append(f"{indent}for {kk} in tl.range({start}, {bound}, {BK}):")
            inner = indent + "    "
            names = list(sums)
            for name in r.sample(names, r.randint(1, len(names))):
                x = one(name, kk, inner, level)
                if r.random() < 0.15:
                    cond = r.choice([f"{kk} > {BK}", "n > 0", "tl.load(flags) > 0", f"tl.load(flags + ({kk} & 7)) > 0", "m == 0"])
                    if "flags" in cond:
                        self.args.setdefault("flags", self.rng.integers(0, 2, 8).astype(np.int32))
                    x = [f"{inner}if {cond}:"] + ["    " + line for line in x]
                    if r.random() < 0.4 and not any(line.strip().startswith("t") for line in x):
                        x += [f"{inner}else:"] + ["    " + line for line in one(name, kk, inner, level)]
                out += x
            if r.random() < 0.2:
                out += [inner + line for line in self.change(r.choice(names), BM, BN)]
            if "top" in carried and r.random() < 0.7:
                out.append(f"{inner}top = tl.maximum(top, tl.max({r.choice(names)}, 1))")
            if "count" in carried:
                out.append(f"{inner}count += {r.choice(['1', kk])}")
            if r.random() < 0.1:
                v = self.view(M, N, np.float32 if self.acc_type == "float32" else np.int32)
                out.append(f"{inner}{v}.store({self.at('m', 'n')}, {r.choice(names)})")
            if level == 0 and r.random() < 0.12:
                j = self.fresh("j")
                out = [f"{indent}for {j} in range({r.choice(['2', 'cnt', '1', 'cnt'])}):"] + ["    " + line for line in out]
                if "cnt" in out[0]:
                    self.args["cnt"] = r.choice([0, 1, 2])
            return out

        body += loop("", 0)
        if r.random() < 0.3:
            if r.random() < 0.5:
                body += self.change(r.choice(list(sums)), BM, BN)
            body += loop("", 1)
        if r.random() < 0.15 and BN % 32 == 0 and not self.batch:
            name = r.choice(list(sums))
            w = self.operand(BN, BN, "0", "n", N, N, "after", False)
            body.append(f"{name} = tl.dot({self.narrow(name)}, {w})")
        for _ in range(r.choice([0, 0, 1, 2])):
            body += self.change(r.choice(list(sums)), BM, BN)
        names = list(sums)
        outs = []
        if len(names) > 1 and r.random() < 0.4:
            body.append("s0 = s0 + s1")
            names = ["s0"] + names[2:]
        for name in names:
            t = r.choice(["float32", "bfloat16", "float16"]) if self.acc_type == "float32" else "int32"
            v = self.view(M, N, {"int32": np.int32}.get(t) or TYPES[t])
            k = r.random()
            outs.append(v)
            if k < 0.8:
                body.append(f"{v}.store({self.at('m', 'n')}, {name}.to(tl.{t}))")
            elif k < 0.9 and t != "int32":
                body.append(f"{v}.store({self.at('m', 'n')}, ({name} + {self.load(v, 'm', 'n', (BM, BN))}.to(tl.float32)).to(tl.{t}))")
            else:
                p = self.fresh("q")
                self.args[p] = self.rng.integers(-3, 3, (M, N)).astype(np.float32 if self.acc_type == "float32" else np.int32)
                if self.batch:
                    body.append(f"{v}.store({self.at('m', 'n')}, {name}.to(tl.{t}))")
                    del self.args[p]
                else:
                    rows, columns = f"(m + tl.arange(0, {BM}))[:, None]", f"(n + tl.arange(0, {BN}))[None, :]"
                    body.append(f"tl.store({p} + {rows} * N + {columns}, {name}, mask=({rows} < M) & ({columns} < N))")
        for c in carried:
            p = self.fresh("q")
            if self.batch:
                continue
            self.args[p] = np.zeros((M + 200, -(-N // BN)), np.float32)
            value = c if c == "top" else f"tl.full(({BM},), {c}, tl.int32)"
            rows, columns = f"(m + tl.arange(0, {BM}))", -(-N // BN)
            body.append(f"tl.store({p} + {rows} * {columns} + n // {BN}, {value}, mask={rows} < M)")
        views = [k for k, v in self.args.items() if k.startswith("v")]
        first = outs[0]
        head = [f"M, N, K = {first}.shape[{int(self.batch)}], {first}.shape[{int(self.batch) + 1}], kdim"]
        self.args["kdim"] = K
        tiles = f"for {'bb, ' if self.batch else ''}m, n in tl.tiles({first + '.shape[0], ' if self.batch else ''}(M, {BM}), (N, {BN})):"
        lines = head + [tiles] + ["    " + line for line in body]
        params = ", ".join(k + (": tl.view" if k in views else "") for k in self.args)
        text = "\n".join(["import tileloom as tl", "", "", "@tl.jit", f"def kernel({params}):", *("    " + line for line in lines), ""])
        options = {"target": self.target, "simulator": {"seed": r.randint(0, 5), "multiprocessors": r.choice([1, 2, 3])}}
        if self.scheduled:
            options["schedule"] = schedule(r, self.target)
        return dict(text=text, args=self.args, grid=None, options=options, views=views, constants={}, exact=False, limit=0.004)


def schedule(r, target):
    s = {}
    for name, values in (
        ("stages", [1, 2, 3, 5]),
        ("replicas", [1, 2, 3]),
        ("use", ["cooperative", "pingpong"]),
        ("split", [1, 2, 3]),
        ("raster", [1, 2, 16]),
        ("cluster", [1, 2, 4]),
        ("epilogue", [8, 16, 32, 64]),
        ("buffers", [1, 2, 3, 4]),
        ("pending", [0, 1]),
        ("guard", ["off"]),
        ("skew", ["off", "late"]),
        ("turns", ["off"]),
        ("scheduler", ["static", "dynamic"]),
        ("order", ["reverse"]),
        ("operands", ["math", "gather"]),
        ("speculate", ["on", "off"]),
        ("keep", ["rows", "columns"]),
        ("registers", [64, 128, 160, 200, 232]),
        ("dependent", [True]),
        ("fraction", [0.25, 0.5, 1.0]),
        ("specialize", ["on", "off", "auto"]),
        ("warps", [4, 8]),
        ("persistent", [False, True]),
        ("divide", ["rows", "columns", "columns"]),
    ):
        if r.random() < 0.13:
            s[name] = r.choice(values)
    if s.get("cluster", 1) > 1 and r.random() < 0.5:
        s["multicast"] = r.choice(["rows", "columns"])
    return s


def make(seed, scheduled=False):
    return Products(seed, scheduled).make()
