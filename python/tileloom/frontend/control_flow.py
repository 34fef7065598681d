"""Loops and branches: bodies are visited into blocks of their own, then the types of what they carry are settled.

A name that a loop assigns is carried if its body may read it before it assigns it, or if it is read outside of the loop. The body is
visited once with the types at entry, and again if an iteration ends with others that can be joined (an int that becomes an int64).
"""

import ast

from ..language import control, dtypes, functions, semantic
from ..language.values import constexpr, describe, tensor
from . import carry, names
from .errors import CompilationError, ProgramError


class ControlFlow:
    """Statements with regions; a part of Visitor."""

    # Branches -------------------------------------------------------------------------------------

    def visit_If(self, node):
        condition = self.expression(node.test)
        if not isinstance(semantic_value(condition), tensor):
            self.statements(node.body if condition else node.orelse)
            return
        self.mark(node.test)
        condition = self.scalar_condition(condition, "if")
        place = self.builder.place
        both = names.assigned(node.body + node.orelse)
        exposed = names.exposed([node])  # perhaps by the next iteration of a loop around it
        wanted = [name for name in both if name in exposed or self.read_outside(name, node)]
        self.branch(condition, lambda: self.statements(node.body), lambda: self.statements(node.orelse), wanted, both, place)

    def branch(self, condition, then, otherwise, wanted, assigned, place):
        """scf.if with two bodies; `wanted`: names whose values leave it."""
        before = dict(self.names)
        blocks, results = [], []
        for body in (then, otherwise):
            self.names = dict(before)
            with self.builder.nested() as block:
                body()
            blocks.append(block)
            results.append(self.names)
        self.names = dict(before)
        self.builder.at(*place)
        forms = {}
        for name in wanted:
            values = [result.get(name) for result in results]
            if any(name not in result or isinstance(value, carry.Undefined) for result, value in zip(results, values)):
                self.names[name] = carry.Undefined("is assigned in only one branch of an if")
                continue
            forms[name] = carry.join(name, *(carry.form_of(value, False) for value in values), ("in one branch", "in the other"))
        for name in assigned:
            if name not in wanted and name in before:
                self.names[name] = carry.Undefined("was assigned in a branch of an if")
        types = [type for form in forms.values() for type in form.types]
        for block, result in zip(blocks, results):
            with self.builder.nested(block):
                handles = [handle for name, form in forms.items() for handle in form.handles(result[name])]
                if types:
                    self.builder.op(f"scf.yield {', '.join(handles)} : {', '.join(types)}")
        outputs = [self.builder.name() for _ in types]
        head = f"{', '.join(outputs)} = " if types else ""
        signature = f" -> ({', '.join(types)})" if types else ""
        if blocks[1] or types:
            self.builder.region(f"{head}scf.if {condition.handle}{signature} {{", *blocks, between=("} else {",))
        else:
            self.builder.region(f"{head}scf.if {condition.handle} {{", blocks[0])
        for name, form in forms.items():
            self.names[name] = form.rebuild(outputs)

    def visit_IfExp(self, node):
        condition = self.expression(node.test)
        if not isinstance(semantic_value(condition), tensor):
            return self.expression(node.body if condition else node.orelse)
        condition = self.scalar_condition(condition, "if")

        def assign(part):
            def body():
                self.names["<conditional>"] = self.expression(part)
            return body
        self.branch(condition, assign(node.body), assign(node.orelse), ["<conditional>"], [], self.builder.place)
        return self.names.pop("<conditional>")

    def scalar_condition(self, value, what):
        value = semantic.truth(semantic.operand(value))
        if value.shape:
            raise ProgramError(f"the condition of {what} is {describe(value)}; needed a scalar: use tl.where, or tl.max over the tile")
        return value

    # Loops ----------------------------------------------------------------------------------------

    def visit_For(self, node):
        if node.orelse:
            raise ProgramError("for with else is not supported")
        iterable = self.expression(node.iter)
        self.mark(node)
        if isinstance(iterable, control.tiles):
            self.tile_loop(node, iterable)
        elif isinstance(iterable, control.range):
            self.run_time_loop(node, iterable)
        elif isinstance(iterable, control.static_range):
            bounds = [self.constant(value, f"tl.static_range: {what}") for value, what in
                      ((iterable.start, "start"), (iterable.stop, "stop"), (iterable.step, "step"))]
            self.unrolled(node, range(*bounds))
        elif isinstance(iterable, (tuple, list)):
            self.unrolled(node, iterable)
        else:
            raise ProgramError(f"for over {describe(iterable)}; needed range, tl.range, tl.static_range, tl.tiles or a tuple")

    def unrolled(self, node, values):
        for value in values:
            self.assign(node.target, value)
            self.statements(node.body)

    def carried_names(self, node, extra=()):
        """{name: whether the next iteration may read it} of names that pass from iteration to iteration or out of the loop; and all names
        that it assigns."""
        assigned = names.assigned(node.body)
        exposed = names.exposed(node.body) | set(extra)
        known = [name for name in assigned if name in self.names and not isinstance(self.names[name], carry.Undefined)]
        return {name: name in exposed for name in known if name in exposed or self.read_outside(name, node)}, assigned

    def iterate(self, carried, visit, before):
        """Visits a body until the forms of what it carries are settled. `visit(forms)` gives (whatever, values at its end). `before`:
        the values at entry. Numbers become run-time values; if the body needs them at compile time, it must leave them as they are."""
        place, calls = self.builder.place, self.builder.calls
        try:
            return self.settle(carried, visit, {name: carry.form_of(before[name], True) for name in carried})
        except (CompilationError, ProgramError):
            constant = {name: carry.form_of(before[name], False) for name in carried}
            if not any(isinstance(form, carry.Static) and isinstance(form.value, (bool, int, float)) for form in constant.values()):
                raise
            failed = self.builder.place
            try:
                self.builder.calls = calls
                self.builder.at(*place)
                end = visit(constant)[1]
                kept = [name for name in carried if not isinstance(end[name], carry.Undefined) and
                        constant[name] == carry.form_of(end[name], False)]
                self.builder.at(*place)
                return self.settle(carried, visit, {name: carry.form_of(before[name], name not in kept) for name in carried})
            except (CompilationError, ProgramError):
                pass
            self.builder.at(*failed)
            raise

    def settle(self, carried, visit, forms):
        place, calls = self.builder.place, self.builder.calls
        for _ in range(len(carried) + 4):
            result, end = visit(forms)
            self.builder.calls = calls
            self.builder.at(*place)
            joined = {}
            for name, needed in list(carried.items()):
                try:
                    if isinstance(end[name], carry.Undefined):
                        raise ProgramError(f"variable '{name}' {end[name].why}, so the next iteration cannot use it")
                    joined[name] = carry.join(name, forms[name], carry.form_of(end[name], not isinstance(forms[name], carry.Static)),
                                              ("before the loop", "after an iteration"))
                except ProgramError as wrong:
                    if needed:
                        raise
                    del carried[name]  # the body has a use of its own for the name
                    self.own_uses[name] = str(wrong)
            if joined == forms:
                return result, forms, end
            forms = joined
        raise ProgramError(f"the types of {', '.join(carried)} do not settle from one iteration to the next")

    def after_loop(self, before, carried, assigned, targets=()):
        self.names = dict(before)
        for name in [*assigned, *targets]:
            if name not in carried:
                own = self.own_uses.pop(name, None)
                self.names[name] = carry.Undefined("was assigned in a loop, whose body may not have run" if name not in before else
                                                   "was assigned in a loop before" + (f" ({own})" if own else ""))

    def run_time_loop(self, node, bounds):
        if not isinstance(node.target, ast.Name):
            raise ProgramError("the target of a loop over a range is a tuple; needed one name")
        start, stop, step = (semantic.operand(value) for value in (bounds.start, bounds.stop, bounds.step))
        for what, value in (("start", start), ("stop", stop), ("step", step)):
            if isinstance(value, float) or (isinstance(value, tensor) and (value.shape or not value.dtype.is_int())):
                raise ProgramError(f"range: {what} is {describe(value)}; needed an integer scalar")
        if step == 0 if isinstance(step, int) else False:
            raise ProgramError("range: step is 0; needed another number")
        if isinstance(step, tensor) and not (step.bounds and step.bounds[0] > 0):
            # A loop that never ends if it is not positive, where Python has none.
            positive = semantic.compare("gt", step, 0)
            stop, step = semantic.where(positive, stop, start), semantic.minimum_maximum("max", step, 1)
        down = isinstance(step, int) and step < 0
        if down:  # counted upward; scf.for knows no other way
            count = functions.cdiv(semantic.binary("sub", start, stop), -step)
            low, high, stride = 0, count, 1
        else:
            low, high, stride = start, stop, step
        dtype = dtypes.int32
        for value in (low, high, stride):
            dtype = dtypes.integer_promotion(dtype, value.dtype if isinstance(value, tensor) else dtypes.of_python(value))
        low, high, stride = (semantic.cast(semantic.to_tensor(value, dtype), dtype) for value in (low, high, stride))
        hints = self.loop_hints(bounds)
        carried, assigned = self.carried_names(node)
        before = dict(self.names)
        induction = self.builder.name()

        def visit(forms):
            inside = {name: [self.builder.name() for _ in form.types] for name, form in forms.items()}
            self.names = dict(before)
            self.forget(assigned, carried)
            for name, form in forms.items():
                self.names[name] = form.rebuild(list(inside[name]))
            with self.builder.nested() as block:
                value = tensor(induction, dtype, tiled=not down and not (isinstance(step, int) and step == 1))
                if down:
                    value = semantic.binary("sub", semantic.cast(semantic.to_tensor(start), dtype), semantic.binary("mul", value, -step))
                    value.tiled = step != -1
                self.names[node.target.id] = value
                self.statements(node.body)
            return (inside, block), self.names

        (inside, block), forms, end = self.iterate(carried, visit, before)
        types = [type for form in forms.values() for type in form.types]
        self.names = end
        with self.builder.nested(block):
            handles = [handle for name, form in forms.items() for handle in form.handles(end[name])]
            if types:
                self.builder.op(f"scf.yield {', '.join(handles)} : {', '.join(types)}")
        entry = [handle for name, form in forms.items() for handle in form.handles(before[name])]
        outputs = [self.builder.name() for _ in types]
        head = f"{', '.join(outputs)} = " if types else ""
        arguments = [name for own in inside.values() for name in own]
        iter_args = (f" iter_args({', '.join(f'{a} = {b}' for a, b in zip(arguments, entry))}) -> ({', '.join(types)})" if types else "")
        self.builder.region(f"{head}scf.for {induction} = {low.handle} to {high.handle} step {stride.handle}{iter_args} : {dtype.mlir} {{",
                            block, end=f"}}{hints}")
        self.after_loop(before, carried, assigned, [node.target.id])
        for name, form in forms.items():
            self.names[name] = form.rebuild(outputs)

    def forget(self, assigned, carried):
        """Inside a body, what it assigns and does not carry has no value until it does."""
        for name in assigned:
            if name not in carried and name in self.names:
                self.names[name] = carry.Undefined("is assigned later in the body of a loop")

    def loop_hints(self, bounds):
        hints = []
        if bounds.num_stages is not None:
            stages = self.constant(bounds.num_stages, "tl.range: num_stages")
            if not 1 <= stages <= 16:
                raise ProgramError(f"tl.range: num_stages is {stages}; needed 1 to 16")
            hints.append(f"tile.num_stages = {stages} : i32")
        if bounds.warp_specialize is not None:
            hints.append(f"tile.warp_specialize = {'true' if bounds.warp_specialize else 'false'}")
        return f" {{{', '.join(hints)}}}" if hints else ""

    def visit_While(self, node):
        if node.orelse:
            raise ProgramError("while with else is not supported")
        carried, assigned = self.carried_names(node, names.reads(node.test))
        before = dict(self.names)
        place = self.builder.place

        def visit(forms):
            conditions = {name: [self.builder.name() for _ in form.types] for name, form in forms.items()}
            inside = {name: [self.builder.name() for _ in form.types] for name, form in forms.items()}
            self.names = dict(before)
            for name, form in forms.items():
                self.names[name] = form.rebuild(list(conditions[name]))
            with self.builder.nested() as test:
                value = semantic.operand(self.expression(node.test))
                if not isinstance(value, tensor):
                    raise ProgramError(f"the condition of while is {value!r} at compile time; needed a run-time value that ends the loop")
                condition = self.scalar_condition(value, "while")
                passed = [handle for own in conditions.values() for handle in own]
                types = [type for form in forms.values() for type in form.types]
                self.builder.op(f"scf.condition({condition.handle})" + (f" {', '.join(passed)} : {', '.join(types)}" if types else ""))
            self.names = dict(before)
            self.forget(assigned, carried)
            for name, form in forms.items():
                self.names[name] = form.rebuild(list(inside[name]))
            with self.builder.nested() as block:
                self.statements(node.body)
            return (conditions, inside, test, block), self.names

        (conditions, inside, test, block), forms, end = self.iterate(carried, visit, before)
        self.builder.at(*place)
        types = [type for form in forms.values() for type in form.types]
        self.names = end
        with self.builder.nested(block):
            handles = [handle for name, form in forms.items() for handle in form.handles(end[name])]
            self.builder.op("scf.yield" + (f" {', '.join(handles)} : {', '.join(types)}" if types else ""))
        entry = [handle for name, form in forms.items() for handle in form.handles(before[name])]
        outputs = [self.builder.name() for _ in types]
        arguments = [name for own in conditions.values() for name in own]
        signature = f"({', '.join(types)}) -> ({', '.join(types)})"
        head = f"{', '.join(outputs)} = " if types else ""
        initial = f" ({', '.join(f'{a} = {b}' for a, b in zip(arguments, entry))})" if types else ""
        own = [name for names_ in inside.values() for name in names_]
        block_arguments = ", ".join(f"{name}: {type}" for name, type in zip(own, types))
        label = [f"{'  ' * self.builder.indent}^bb0({block_arguments}):"] if types else []
        self.builder.region(f"{head}scf.while{initial} : {signature} {{", test, label + block, between=("} do {",))
        self.after_loop(before, carried, assigned)
        for name, form in forms.items():
            self.names[name] = form.rebuild(outputs)

    def tile_loop(self, node, tiles):
        b = self.builder
        if b.depth:
            raise ProgramError("tl.tiles inside a loop or branch; needed at the top of the kernel: it is the kernel's work")
        if b.has_tile_loop:
            raise ProgramError("a second tl.tiles; needed at most one in a kernel")
        if b.prints_outside:
            raise ProgramError("tl.tiles behind a tl.device_print; needed all prints inside of its loop, where the program has a number")
        if b.uses_program_id:
            raise ProgramError("tl.tiles in a kernel with tl.program_id, whose grid the caller chooses; needed one or the other")
        b.has_tile_loop, b.scheduler = True, tiles.scheduler
        place = b.place
        counts, steps = [], []
        for index, extent in enumerate(tiles.extents):
            step = None
            if isinstance(extent, (tuple, list)):
                if len(extent) != 2:
                    raise ProgramError(f"tl.tiles: argument {index} is a tuple of {len(extent)}; needed (extent, tile)")
                extent, step = extent
                step = self.constant(step, f"tl.tiles: tile {index}")
                if step < 1:
                    raise ProgramError(f"tl.tiles: tile {index} is {step}; needed 1 or more")
            extent = semantic.operand(extent)
            if isinstance(extent, float) or (isinstance(extent, tensor) and (extent.shape or not extent.dtype.is_int())):
                raise ProgramError(f"tl.tiles: extent {index} is {describe(extent)}; needed an integer scalar")
            counts.append(semantic.cast(semantic.to_tensor(functions.cdiv(extent, step) if step else extent), dtypes.int32))
            steps.append(step)
        before = dict(self.names)
        rebound = [name for name in names.assigned(node.body) if name in before and not isinstance(before[name], carry.Undefined)]
        if rebound:
            raise ProgramError(f"variable '{rebound[0]}' is defined before tl.tiles and assigned in its body; tiles run at the same time, so "
                               "nothing passes from one to the next: use another name")
        indices = b.tile_indices = [b.name() for _ in counts]
        with b.nested() as block:
            values = []
            for handle, step in zip(indices, steps):
                value = tensor(handle, dtypes.int32)
                if step is not None:
                    value = semantic.binary("mul", value, step)
                    value.tiled, value.host = True, None
                values.append(value)
            self.assign(node.target, values[0] if len(values) == 1 and not isinstance(node.target, ast.Tuple) else tuple(values))
            self.statements(node.body)
        self.names = before
        b.tile_indices = None
        b.at(*place)
        b.region(f"tile.for_each_tile ({', '.join(indices)}) in ({', '.join(count.handle for count in counts)}) {{", block)


def semantic_value(value):
    """A condition's value: constants as Python objects, dimensions of views as tensors."""
    if isinstance(value, constexpr):
        return value.value
    return value
