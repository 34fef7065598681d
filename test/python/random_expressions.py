"""What random expressions do with tiles: arithmetic, reductions, scans, and operations that move elements or multiply. random_values.py has what they are
made of."""

import math

from random_values import D, E, FLOATS, INTS, MANTISSA, NAME, Values
from tileloom.language import dtypes


class Expressions(Values):
    def binary(self, a, b):
        r = self.r
        da, db = a.d, b.d
        if a.dtype == "int1" or b.dtype == "int1":
            if a.dtype == b.dtype:
                op = r.choice("&|^")
                return E(f"({a.text} {op} {b.text})", "int1", a.shape)
            if a.dtype == "int1":
                a = self.cast(a, "int32")
            if b.dtype == "int1":
                b = self.cast(b, "int32")
            da, db = a.d, b.d
        if dtypes.promotion(da, db) is None:  # floats of 8 bits and integers have no type in common
            a, b = (self.cast(e, "float16") if not e.floating else e for e in (a, b))
            da, db = a.d, b.d
        p = dtypes.promotion(da, db)
        kind = r.choice(["+", "-", "*", "max", "min"] + (["&", "|", "^", "<<", ">>", "//", "%"] if not p.is_floating() else []))
        if kind in ("//", "%") and da.kind != db.kind:
            b = self.cast(b, a.dtype)
            p = db = a.d
        if p.is_floating():
            name = NAME[p]
            a2 = self.cast(a, name) if not a.floating else a
            b2 = self.cast(b, name) if not b.floating else b
            most = 2 ** MANTISSA[name]
            half = most // 2 if kind in "+-" else int(most**0.5) if kind == "*" else most
            a2, b2 = self.lim(a2, half), self.lim(b2, half)
            # names may have changed by clamping fp8
            bound = a2.bound + b2.bound if kind in "+-" else a2.bound * b2.bound if kind == "*" else max(a2.bound, b2.bound)
            p2 = dtypes.promotion(a2.d, b2.d)
            text = f"tl.{kind}imum({a2.text}, {b2.text})" if kind in ("max", "min") else f"({a2.text} {kind} {b2.text})"
            return E(text, NAME[p2], a.shape, bound)
        name = NAME[p]
        if kind in ("<<", ">>"):
            return E(f"({a.text} {kind} ({b.text} & {min(7, min(da.bits, db.bits) - 1)}))", name, a.shape)
        if kind in ("//", "%"):
            return E(f"({a.text} {kind} (({b.text} & 15) + {r.choice([1, 3, 7])}))", name, a.shape)
        if kind in ("max", "min"):
            return E(f"tl.{kind}imum({a.text}, {b.text})", name, a.shape)
        return E(f"({a.text} {kind} {b.text})", name, a.shape)

    def reduced(self, e, axis, keep):
        r = self.r
        kind = r.choice(["sum", "max", "min", "argmax", "argmin", "sum", "max"])
        n = e.shape[axis] if axis is not None else math.prod(e.shape)
        shape = (
            tuple(1 if (a == axis or axis is None) else s for a, s in enumerate(e.shape))
            if keep
            else tuple(s for a, s in enumerate(e.shape) if a != axis and axis is not None)
        )
        tail = f", {axis}" if axis is not None else ""
        k = ", keep_dims=True" if keep else ""
        if kind.startswith("arg"):
            if axis is None:
                kind = kind[3:]
            elif e.d.is_int_unsigned() and e.d.bits >= 32:
                kind = "sum"
            elif e.dtype == "int1":
                kind = "sum"
            else:
                return E(f"tl.{kind}({e.text}{tail}{k})", "int32", shape)
        if kind == "sum":
            if e.floating:
                if e.d.is_fp8():
                    e = self.cast(e, "float16")
                e = self.lim(e, max(1, (2 ** MANTISSA[e.dtype]) // n))
                if e.bound * n > 2 ** MANTISSA[e.dtype]:
                    e = self.lim(self.cast(e, "float32"), max(1, (2**24) // n))
                return E(f"tl.sum({e.text}{tail}{k})", e.dtype, shape, e.bound * n)
            d = e.dtype if e.d.bits >= 32 else "uint32" if e.d.is_int_unsigned() else "int32"
            return E(f"tl.sum({e.text}{tail}{k})", d, shape)
        if e.d.is_int_unsigned() and e.d.bits >= 32:
            e = E(f"{e.text}.to(tl.int64)" if e.d.bits == 32 else f"({e.text} >> 1).to(tl.int64)", "int64", e.shape)
        d = "float32" if e.floating else e.dtype if e.d.bits >= 32 else "int32"
        return E(f"tl.{kind}({e.text}{tail}{k})", d, shape, e.bound)

    def exp(self, shape, depth):
        r = self.r
        shape = tuple(shape)
        if depth <= 0 or r.random() < 0.1:
            return self.leaf(shape)
        kind = r.choice(
            ["binary"] * 4
            + ["cast"] * 2
            + [
                "where",
                "where",
                "unary",
                "reduce",
                "reduce",
                "scan",
                "reshape",
                "trans",
                "join",
                "flip",
                "sort",
                "gather",
                "bitcast",
                "dot",
                "dot",
                "split",
                "number",
                "interleave",
                "expr_sub",
                "xor_sum",
                "nanwhere",
                "ifexp",
            ]
        )
        pow2 = all(s & (s - 1) == 0 for s in shape)
        if kind == "binary":
            return self.binary(self.exp(shape, depth - 1), self.exp(shape, depth - 1))
        if kind == "cast":
            e = self.exp(shape, depth - 1)
            return self.cast(e, r.choice(FLOATS + INTS))
        if kind == "where":
            a, b = self.exp(shape, depth - 1), self.exp(shape, depth - 1)
            if a.dtype == "int1" and b.dtype != "int1":
                a = self.cast(a, b.dtype)
            if b.dtype == "int1" and a.dtype != "int1":
                b = self.cast(b, a.dtype)
            if dtypes.promotion(a.d, b.d) is None:
                b = self.cast(b, a.dtype)
            p = dtypes.promotion(a.d, b.d) if a.dtype != b.dtype else a.d
            name = NAME[p]
            if p.is_floating():
                a, b = self.cast(a, name), self.cast(b, name)
            return E(f"tl.where({self.cond(shape).text}, {a.text}, {b.text})", name, shape, max(a.bound, b.bound))
        if kind == "nanwhere":
            a = self.exp(shape, depth - 1)
            if not a.floating:
                a = self.cast(a, "float32")
            if a.d.is_fp8():
                a = self.cast(a, "float16")
            nan = r.choice(['float("nan")', 'float("inf")', '-float("inf")'])
            t = f"tl.where({self.cond(shape).text}, {nan}, {a.text})"
            return r.choice(
                [
                    lambda: E(f"tl.where({t} == {t}, {a.text}, 1.0)", a.dtype, shape, max(1, a.bound)),
                    lambda: E(f"tl.maximum(tl.minimum({t}, 2.0), -3.0)", a.dtype, shape, 3),
                    lambda: E(f"({t} {r.choice(['<', '>=', '!=', '=='])} 1.0)", "int1", shape),
                ]
            )()
        if kind == "ifexp":
            a = self.exp(shape, depth - 1)
            b = self.cast(self.exp(shape, depth - 1), a.dtype)
            return E(f"({a.text} if {self.scalar_cond()} else {b.text})", a.dtype, shape, max(a.bound, b.bound))
        if kind == "unary":
            a = self.exp(shape, depth - 1)
            k = r.choice(["-", "abs", "~"])
            if k == "-" and a.dtype != "int1":
                return E(f"(-{a.text})", a.dtype, shape, a.bound)
            if k == "~" and not a.floating:
                return E(f"(~{a.text})", a.dtype, shape)
            if a.d.is_fp8():
                a = self.cast(a, "float16")
            return E(f"tl.abs({a.text})", a.dtype, shape, a.bound)
        if kind == "reduce":
            e = self.exp(shape, depth - 1)
            axis = r.choice([*range(len(shape)), None])
            if r.random() < 0.7 or axis is None or len(shape) == 1:
                return self.whole(self.fit(self.reduced(e, axis, True)), shape)
            e = self.fit(self.reduced(e, axis, False))
            return self.whole(E(f"tl.expand_dims({e.text}, {axis})", e.dtype, tuple(1 if a == axis else s for a, s in enumerate(shape)), e.bound), shape)
        if kind == "xor_sum" and pow2:
            e = self.exp(shape, 0)
            if not e.floating and e.dtype != "int1":
                axis = r.randrange(len(shape))
                return self.whole(E(f"tl.xor_sum({e.text}, {axis}, keep_dims=True)", e.dtype, tuple(1 if a == axis else s for a, s in enumerate(shape))), shape)
        if kind == "scan":
            e = self.exp(shape, depth - 1)
            axis = r.randrange(len(shape))
            rev = r.choice(["", ", reverse=True"])
            if e.floating:
                e = self.lim(self.cast(e, "float32"), max(1, 2**20 // shape[axis]))
                return E(f"tl.cumsum({e.text}, {axis}{rev})", "float32", shape, e.bound * shape[axis])
            if e.d.is_int_unsigned() and e.d.bits < 32:
                e = self.cast(e, "int32")
            d = e.dtype if e.d.bits >= 32 else "int32"
            return E(f"tl.{r.choice(['cumsum', 'cumsum', 'cumprod'])}({e.text}, {axis}{rev})", d, shape)
        if kind == "reshape":
            other = self.other_shape(shape)
            e = self.exp(other, depth - 1)
            return E(f"tl.reshape({e.text}, {shape})", e.dtype, shape, e.bound)
        if kind == "trans" and len(shape) == 2:
            e = self.exp(shape[::-1], depth - 1)
            return E(r.choice([f"tl.trans({e.text})", f"{e.text}.T", f"tl.permute({e.text}, (1, 0))"]), e.dtype, shape, e.bound)
        if kind == "join" and shape[-1] == 2 and len(shape) > 1:
            a = self.exp(shape[:-1], depth - 1)
            b = self.cast(self.exp(shape[:-1], depth - 1), a.dtype)
            return E(f"tl.join({a.text}, {b.text})", a.dtype, shape, max(a.bound, b.bound))
        if kind == "interleave" and shape[-1] % 2 == 0 and shape[-1] > 2 and (shape[-1] // 2) & (shape[-1] // 2 - 1) == 0:
            s = (*shape[:-1], shape[-1] // 2)
            a = self.exp(s, depth - 1)
            b = self.cast(self.exp(s, depth - 1), a.dtype)
            return E(f"tl.interleave({a.text}, {b.text})", a.dtype, shape, max(a.bound, b.bound))
        if kind == "split" and math.prod(shape) <= 2048 and len(shape) < 4:
            e = self.exp((*shape, 2), 0)
            if r.random() < 0.5:
                return E(f"tl.split({e.text})[{r.randint(0, 1)}]", e.dtype, shape, e.bound)
        if kind == "flip":
            axis = r.randrange(len(shape))
            if shape[axis] & (shape[axis] - 1) == 0:
                e = self.exp(shape, depth - 1)
                return E(f"tl.flip({e.text}, {axis})", e.dtype, shape, e.bound)
        if kind == "sort" and shape[-1] & (shape[-1] - 1) == 0 and shape[-1] <= 64:
            e = self.exp(shape, depth - 1)
            if e.dtype != "int1":
                if e.floating:
                    e = E(f"({e.text} + 0.0)", e.dtype, shape, e.bound)
                return E(f"tl.sort({e.text}{r.choice(['', ', descending=True'])})", e.dtype, shape, e.bound)
        if kind == "gather":
            i = self.exp(shape, depth - 1)
            i = self.cast(i, "int32") if i.floating or i.dtype == "int1" else i
            count = r.choice([8, 64, 256])
            dtype = r.choice(self.types)
            name = f"x{len(self.args)}"
            self.args[name] = self.data(dtype, count)
            return E(f"tl.load({name} + ({i.text} & {count - 1 if i.d.bits > 8 else min(count - 1, 63)}))", dtype, shape, 4)
        if kind == "bitcast":
            e = self.exp(shape, depth - 1)
            to = {
                "float32": ["int32", "uint32"],
                "float16": ["int16", "uint16"],
                "bfloat16": ["int16", "uint16"],
                "float8e4nv": ["int8", "uint8"],
                "float8e5": ["int8", "uint8"],
                "int8": ["uint8"],
                "uint8": ["int8"],
                "int16": ["uint16"],
                "uint16": ["int16"],
                "int32": ["uint32"],
                "uint32": ["int32"],
                "int64": ["uint64"],
                "uint64": ["int64"],
            }.get(e.dtype)
            if to:
                if e.floating:
                    e = E(f"({e.text} + 0.0)" if not e.d.is_fp8() else f"({e.text} + 0.0).to(tl.{e.dtype})", e.dtype, shape, e.bound)
                t = r.choice(to)
                return E(f"{e.text}.to(tl.{t}, bitcast=True)", t, shape)
        if kind == "dot" and len(shape) == 2 and shape[0] % 16 == 0 and shape[1] % 8 == 0:
            k = r.choice([16, 32, 64])
            t = r.choice(["float16", "bfloat16", "float32", "float8e4nv", "float8e5", "int8"])
            if t in ("float8e4nv", "float8e5", "int8"):
                k = max(k, 32)
            a, b = self.exp((shape[0], k), depth - 1), self.exp((k, shape[1]), depth - 1)
            a, b = self.cast(a, t), self.cast(b, t)
            m = {"float16": 64, "bfloat16": 64, "float32": 64, "float8e4nv": 16, "float8e5": 8, "int8": 0}[t]
            if m:
                a, b = self.cast(self.lim(a, m), t), self.cast(self.lim(b, m), t)
            acc = ""
            out = "int32" if t == "int8" else "float32"
            bound = a.bound * b.bound * k
            if r.random() < 0.4:
                c = self.cast(self.exp(shape, depth - 1), out)
                if out == "float32":
                    c = self.lim(c, 2**22)
                acc = f", {c.text}"
                bound += c.bound
            return E(f"tl.dot({a.text}, {b.text}{acc})", out, shape, bound)
        if kind == "number":
            a = self.exp(shape, depth - 1)
            if a.dtype == "int1":
                a = self.cast(a, "int32")
            if a.floating:
                a = self.lim(a, 2 ** (MANTISSA[a.dtype] - 2))
                return E(f"({a.text} {r.choice(['* 2.0', '+ 1.0', '- 2.0', '* -1.0'])})", a.dtype, shape, 2 * a.bound + 2)
            return (
                E(f"({a.text} {r.choice(['* 3', '+ 1', '- 7', '// 3', '% 5', '>> 1', '<< 2', '^ 5'])})", a.dtype, shape)
                if r.random() < 0.6
                else E(f"({a.text} {r.choice(['+ n', '+ pid', '* m', '- n'])})", NAME[dtypes.promotion(a.d, dtypes.int32)], shape)
            )
        if kind == "expr_sub":
            s = self.sub_shape(shape)
            if s != shape:
                return self.whole(self.exp(s, depth - 1), shape)
        return self.leaf(shape)
