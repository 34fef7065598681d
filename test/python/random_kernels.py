"""Random kernels of one program a CTA: loops with carried tiles and scalars, branches on memory and on tiles, stores and atomics in them, of any
types and one to four dimensions. make(seed) gives the text, the arguments, and what to launch it with."""

import math

from numpy_language import NUMPY
from random_expressions import Expressions
from random_values import D, E


class Kernel(Expressions):
    def assign(self, indent, depth=None):
        r = self.r
        depth = depth or r.choice([1, 2, 2, 3])
        names = [n for n, e in self.vars.items()]
        n = r.choice(names)
        v = self.vars[n]
        if v.shape == ():
            if v.floating:
                e = self.cast(self.lim(self.reduced(self.exp(self.shape, 1), None, False), v.bound), v.dtype)
                e = self.cast(self.lim(e, v.bound), v.dtype)
            else:
                e = self.cast(self.reduced(self.exp(self.shape, 1), None, False), v.dtype)
                if r.random() < 0.5:
                    e = E(f"({n} {r.choice(['+', '*', '^'])} {r.choice(['3', *self.counters])}).to(tl.{v.dtype})", v.dtype, ())
        else:
            e = self.exp(v.shape, depth)
            e = self.cast(self.lim(self.cast(e, v.dtype), v.bound), v.dtype) if v.floating else self.cast(e, v.dtype)
        return [f"{indent}{n} = {e.text}"]

    def stored(self, indent, pid=True):
        r = self.r
        tiles = [(n, e) for n, e in self.vars.items()]
        n, e = r.choice(tiles)
        return self.store_of(indent, n, e)

    def store_of(self, indent, n, e):
        r = self.r
        count = max(1, math.prod(e.shape))
        name = f"o{len(self.outs)}"
        self.outs.append(name)
        self.args[name] = self.data(e.dtype, count * 3)
        at = f"{name} + pid * {count}"
        if e.shape:
            at += f" + {self.index(e.shape)}"
            if r.random() < 0.3:
                return [f"{indent}tl.store({at}, {n}, mask={self.cond(e.shape).text})"]
        return [f"{indent}tl.store({at}, {n})"]

    def block(self, indent, depth):
        r = self.r
        lines = []
        for _ in range(r.randint(1, 3)):
            k = r.random()
            if depth <= 0 or k < 0.5:
                lines += self.assign(indent)
            elif k < 0.6:
                lines += self.stored(indent)
            elif k < 0.75:
                lines.append(f"{indent}if {self.scalar_cond()}:")
                lines += self.block(indent + "    ", depth - 1)
                if r.random() < 0.6:
                    lines.append(f"{indent}else:")
                    lines += self.block(indent + "    ", depth - 1)
            elif k < 0.95 and len(self.counters) < 2:
                c = f"i{self.n}"
                self.n += 1
                b = r.choice(["range(n)", "range(m)", "range(2)", "range(0, n, 2)", "tl.range(n, -1, -2)", "range(1, 3)", "tl.static_range(2)", "range(pid)"])
                lines.append(f"{indent}for {c} in {b}:")
                self.counters.append(c)
                lines += self.block(indent + "    ", depth - 1)
                self.counters.pop()
            elif len(self.counters) < 2:
                c = f"w{self.n}"
                self.n += 1
                lines.append(f"{indent}{c} = {r.choice(['n', 'm', 'pid'])} + 0")
                lines.append(f"{indent}while {c} > 0:")
                self.counters.append(c)
                lines += self.block(indent + "    ", depth - 1)
                self.counters.pop()
                lines.append(f"{indent}    {c} = {c} - 1")
            else:
                lines += self.assign(indent)
        return lines

    def make(self):
        r = self.r
        lines = ["pid = tl.program_id(0)"]
        for _ in range(r.randint(1, 4)):
            n = self.fresh()
            k = r.random()
            if k < 0.2:
                e = E("", r.choice(["int32", "float32", "int64", "int1"]), (), 8)
                if e.dtype == "int1":
                    e.dtype = "int32"
                self.args[f"x{len(self.args)}"] = self.data(e.dtype, 4)
                lines.append(f"{n} = tl.load(x{len(self.args) - 1} + pid)")
                self.vars[n] = E(n, e.dtype, (), 8)
                continue
            shape = self.shape if k < 0.7 else self.sub_shape(self.shape) if k < 0.85 else self.other_shape(self.shape)
            e = self.load(shape)
            self.vars[n] = E(n, e.dtype, shape, 8)
            lines.append(f"{n} = {e.text}")
        lines += self.block("", 2)
        for _ in range(r.randint(0, 1)):
            lines += self.block("", 1)
        if r.random() < 0.15:
            lines += self.atomic()
        for n, e in self.vars.items():
            lines += self.store_of("", n, e)
        params = ", ".join([*self.args, "n", "m"])
        text = "\n".join(["import tileloom as tl", "", "", "@tl.jit", f"def kernel({params}):", *("    " + line for line in lines), ""])
        args = {**self.args, "n": r.choice([0, 1, 2, 3]), "m": r.choice([0, 1, 2, 5])}
        return (
            text,
            args,
            (r.choice([1, 2, 3]),),
            {"num_warps": r.choice([1, 2, 4, 8]), "target": r.choice(["sm_90a", "sm_100a"]), "simulator": {"seed": r.randint(0, 3)}},
        )

    def atomic(self):
        r = self.r
        kind = r.choice(["add", "max", "min", "and", "or", "xor", "add", "add"])
        dtype = r.choice(
            ["int32", "int64", "uint32", "uint64"] + (["float32", "float16", "bfloat16"] if kind == "add" else ["float32"] if kind in ("max", "min") else [])
        )
        name = f"o{len(self.outs)}"
        self.outs.append(name)
        count = r.choice([4, 64])
        self.args[name] = self.rng.integers(0, 5, count).astype(NUMPY[D[dtype]])
        shape = self.shape
        if D[dtype].is_floating():
            v = self.cast(self.lim(self.cast(self.exp(shape, 1), "float32"), 1), dtype)
            if dtype != "float32":
                # few enough that all sums are exact
                shape = tuple(min(s, 4) for s in shape)
                shape = tuple(s if i == len(shape) - 1 else 1 for i, s in enumerate(shape))
                v = self.cast(self.lim(self.cast(self.exp(shape, 1), "float32"), 1), dtype)
        else:
            v = self.cast(self.exp(shape, 1), dtype)
        i = self.exp(shape, 1)
        i = self.cast(i, "int32") if i.floating or i.dtype == "int1" else i
        mask = f", mask={self.cond(shape).text}" if r.random() < 0.4 else ""
        order, last = r.choice(["", ", sem='relaxed'"]), count - 1 if i.d.bits > 8 else min(63, count - 1)
        return [f"tl.atomic_{kind}({name} + ({i.text} & {last}), {v.text}{mask}{order})"]


def make(seed):
    kernel = Kernel(seed)
    text, arguments, grid, options = kernel.make()
    return {"text": text, "args": arguments, "grid": grid, "options": options}
