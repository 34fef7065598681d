"""How the kernels of random_mixed.py leave their tiles: through views, descriptors and pointers, with masks."""

import math

import numpy as np
from numpy_language import NUMPY
from random_kernels import Kernel
from random_values import D, E

SUM = 2**22  # a sum is at most this when it is assigned, and grows by at most as much


class Results(Kernel):
    def kept(self, indent):
        """A store of one of the tiles."""
        r = self.r
        n, e = r.choice(list(self.vars.items()))
        return self.keep(indent, n, e)

    def keep(self, indent, n, e):
        r = self.r
        name = f"o{len(self.outs)}"
        if e.shape != self.shape or r.random() < 0.15:
            if self.tiles:
                return self.store_at(indent, n, e)
            return self.store_of(indent, n, e)
        to = e.dtype
        if n in self.spent and r.random() < 0.5:
            to = r.choice(["float16", "bfloat16", "float32", "float32", "int32"])
        e = self.cast(E(n, e.dtype, e.shape, 2 * SUM if n in self.spent else e.bound), to)
        item = np.dtype(NUMPY[D[to]]).itemsize
        self.outs.append(name)
        k = r.random()
        if k < 0.6 and to != "int1" and self.BN * item % 16 == 0 and self.N * item % 16 == 0:
            self.args[name] = self.array(to, self.M, self.N)
            self.views.append(name)
            return [f"{indent}{name}.store([{self.row}, {self.column}], {e.text})"]
        if k < 0.75 and to != "int1" and self.BN * item % 16 == 0:
            wide = -(-self.N * item // 16) * 16 // item
            self.args[name] = self.small(to, self.M * wide)
            h, w, d = f"h{len(self.args)}", f"w{len(self.args)}", f"d{len(self.args)}"
            self.args[h], self.args[w] = self.M, wide
            self.descriptors.append(f"{d} = tl.make_tensor_descriptor({name}, shape=[{h}, {w}], strides=[{w}, 1], block_shape=[{self.BM}, {self.BN}])")
            return [f"{indent}{d}.store([{self.row}, {self.column}], {e.text})"]
        self.args[name] = self.small(to, self.M * self.N)
        if not self.good(self.shape):
            self.outs.pop()
            del self.args[name]
            return [f"{indent}{n} = {n}"]
        y, x = f"({self.row} + tl.arange(0, {self.BM}))[:, None]", f"({self.column} + tl.arange(0, {self.BN}))[None, :]"
        mask = f"({y} < {self.M}) & ({x} < {self.N})"
        if r.random() < 0.3:
            mask += f" & {self.cond(e.shape).text}"
        return [f"{indent}tl.store({name} + {y} * {self.N} + {x}, {e.text}, mask={mask})"]

    def store_at(self, indent, n, e):
        """Each tile of the loop over tiles has a place of its own."""
        count = max(1, math.prod(e.shape))
        name = f"o{len(self.outs)}"
        if not self.good(e.shape):
            return [f"{indent}{n} = {n}"]
        self.outs.append(name)
        self.args[name] = self.data(e.dtype, count * self.count)
        at = f"{name} + tile * {count}" + (f" + {self.index(e.shape)}" if e.shape else "")
        return [f"{indent}tl.store({at}, {n})"]
