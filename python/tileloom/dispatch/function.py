"""`@tl.jit`: a Python function as a kernel, or as a function that kernels call.

    kernel[grid](a, b, n, BLOCK=128, schedule={...})      # grid: a tuple, or a function of the arguments
    kernel(a, b, c)                                       # a kernel with tl.tiles: the compiler chooses the grid
    kernel.compile(target="sm_90a", signature={...})      # no GPU needed
"""

import functools
import inspect
import os
import threading
import warnings

from .. import schedule as _schedule
from ..frontend.errors import CompilationError, ProgramError
from ..frontend.generate import generate
from ..frontend.source import Source
from ..language.values import auto, constexpr
from ..runtime.errors import ArgumentError
from . import facts
from .compiled import compile_program
from .keys import OPTIONS, make_entry
from .launch import PRELOAD, Variant, launch_target, on_host


class Parameter:
    """A parameter of a jitted function. default: inspect.Parameter.empty if it has none."""

    def __init__(self, index, parameter):
        self.index, self.name, self.default = index, parameter.name, parameter.default
        if isinstance(self.default, constexpr):
            self.default = self.default.value
        annotation = parameter.annotation
        text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
        self.is_constexpr = text.split(".")[-1] == "constexpr"
        self.is_view = text.split(".")[-1] == "view"
        self.is_auto = self.default is auto
        self.keyword_only = parameter.kind is parameter.KEYWORD_ONLY

    @property
    def required(self):
        return self.default is inspect.Parameter.empty


class JITFunction:
    """What `@tl.jit` makes of a function."""

    def __init__(self, function, candidates=None, debug=False):
        functools.update_wrapper(self, function)
        self.function = function
        self.debug = debug  # whether tl.device_assert is compiled
        self.candidates = dict(candidates or {})
        signature = inspect.signature(function)
        for parameter in signature.parameters.values():
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise ArgumentError(f"@tl.jit on {function.__name__}: parameter '{parameter}'; needed named parameters, no * or **")
            if parameter.name in OPTIONS or parameter.name == "grid":
                raise ArgumentError(f"@tl.jit on {function.__name__}: a parameter is called '{parameter.name}', which is an option of the launch")
        self.parameters = [Parameter(index, p) for index, p in enumerate(signature.parameters.values())]
        for parameter in self.parameters:
            if parameter.is_auto and not parameter.is_constexpr:
                raise ArgumentError(f"@tl.jit on {function.__name__}: parameter '{parameter.name}' is tl.auto; needed the annotation tl.constexpr")
        self._names = [parameter.name for parameter in self.parameters]
        self.automatic = [parameter.name for parameter in self.parameters if parameter.is_auto]
        self._source = None
        self._lock = threading.RLock()
        self.static = frozenset()  # (view, axis) pairs that programs so far have as constants
        self._variants = {}
        self._programs, self._extents = {}, frozenset()  # tile programs, and the extents that they depend on
        self._compiled = {}  # by tile text: variants are found anew when view extents become constants
        self._entry = None

    @property
    def source(self):
        if self._source is None:
            self._source = Source(self.function)
        return self._source

    def __repr__(self):
        return f"<tl.jit {self.__module__}.{self.__qualname__}>"

    # Binding --------------------------------------------------------------------------------------

    def bind_call(self, arguments, keywords):
        """{name: value} of a call inside a kernel."""
        values = self._bind(arguments, keywords, ProgramError)
        for name, value in values.items():
            if value is auto:
                raise ProgramError(f"{self.__name__}(): argument '{name}' is tl.auto, which only a launch resolves; needed a value")
        return values

    def _bind(self, arguments, keywords, error):
        if len(arguments) > len(self._names):
            raise error(f"{self.__name__}(): {len(arguments)} arguments; needed at most {len(self._names)} ({', '.join(self._names)})")
        values = dict(zip(self._names, arguments))
        for name, value in keywords.items():
            if name not in self._names:
                raise error(f"{self.__name__}(): unknown argument '{name}'; it has {', '.join(self._names)}")
            if name in values:
                raise error(f"{self.__name__}(): argument '{name}' is given twice")
            values[name] = value
        for parameter in self.parameters:
            if parameter.name not in values:
                if parameter.required:
                    raise error(f"{self.__name__}(): argument '{parameter.name}' is missing")
                values[parameter.name] = parameter.default
        return {name: values[name] for name in self._names}

    # Compilation ----------------------------------------------------------------------------------

    def compile(self, *arguments, target="sm_90a", signature=None, schedule=None, num_warps=None, num_stages=None, options=None, **constants):
        """Compiles without launching; needs no GPU. The other parameters come from example arguments (by position or name), or from
        `signature`, {name: type} (dispatch/facts.of_signature). Gives a CompiledKernel."""
        known, values = self._known(arguments, signature, constants)
        schedule = _merged(schedule, num_warps, num_stages)
        return self._compile(known, values, schedule, target, options, {})

    def explain(self, *arguments, target="sm_90a", signature=None, schedule=None, num_warps=None, num_stages=None, **constants):
        """A table as text: what the host chooses from for these arguments (as for `compile`), the times that the cost model predicts, and
        why a candidate cannot be used. The choice is the first line. Extents and integers that only a signature stands for count as 4096."""
        known, values = self._known(arguments, signature, constants)
        return _schedule.explain(self, *self._open(known, values), target, _merged(schedule, num_warps, num_stages))

    def _known(self, arguments, signature, constants):
        """(facts of the parameters that are not left to the host, values of all)."""
        signature = dict(signature or {})
        for name in signature:
            if name not in self._names:
                raise ArgumentError(f"{self.__name__}: the signature has '{name}'; parameters are {', '.join(self._names)}")
        placeholders = {name: None for name in signature}
        overlap = [name for name in constants if name in signature]
        if overlap:
            raise ArgumentError(f"{self.__name__}: '{overlap[0]}' is given both as an argument and in the signature")
        values = self._bind(arguments, {**constants, **placeholders}, ArgumentError)
        known = {}
        for parameter in self.parameters:
            where = self._where(parameter)
            if parameter.name in signature:
                known[parameter.name] = facts.of_signature(parameter, signature[parameter.name], where)
            elif values[parameter.name] is not auto:
                known[parameter.name] = facts.of_value(parameter, _plain(parameter, values[parameter.name]), where)
        return known, values

    def _where(self, parameter):
        return f"kernel '{self.__name__}', argument {parameter.index} '{parameter.name}'"

    def _program(self, known, constants, schedule):
        """The tile program, from memory if only extents that it does not depend on have changed."""
        own = {**known, **{name: facts.constant(value) for name, value in constants.items()}}

        def name():
            return (repr(schedule), *(self._identity(parameter.name, own[parameter.name]) for parameter in self.parameters))
        key = name()
        found = self._programs.get(key)
        if found is None:
            program = generate(self, own, schedule)
            if not program.static <= self._extents:  # names of programs have to tell these apart from now on
                self._extents |= program.static
                self._programs.clear()
            found = self._programs[name()] = program
        return found

    def _identity(self, name, fact):
        """A fact without the extents that no program so far depends on. Constants of different types are different."""
        if fact.kind == "tuple":
            return tuple(self._identity(facts.element_name(name, index), one) for index, one in enumerate(fact.value))
        extents = fact.extents and tuple(extent if (name, axis) in self._extents else None for axis, extent in enumerate(fact.extents))
        return fact._replace(extents=extents), type(fact.value)

    def _compile(self, known, values, schedule, target, options, memory, assemble=True):
        """known: facts of all parameters but those left to the host's choice. memory: kernels by what they were compiled from."""
        for own, value, types, needed in (("target", target, str, "text"), ("schedule", schedule, (dict, str, type(None)), "a dict or text"),
                                          ("options", options, (dict, type(None)), "a dict")):
            if not isinstance(value, types):
                raise ArgumentError(f"kernel '{self.__name__}': {own} is {value!r}; needed {needed}")
        made = {}

        def attempt(constants, schedule=schedule):
            program = self._program(known, constants, schedule)
            name = program.text, target, repr(options), assemble
            found = memory.get(name)
            if found is None:
                found = memory[name] = compile_program(program, target, options, assemble)
            return found

        open_names = [name for name in self.automatic if name not in known]
        if not open_names:
            return attempt({})

        def combined(own):
            return {**own, **(schedule or {})} if own and not isinstance(schedule, str) else schedule

        def legal(constants, own):
            try:
                compiled = made[tuple(sorted(constants.items())), repr(own)] = attempt(constants, combined(own))
            except CompilationError as error:
                return error
            return compiled.slowed_down()

        arguments, emit = self._open(known, values)
        chosen = dict(_schedule.choose(self, arguments, legal, emit, target, schedule))
        own = chosen.pop("schedule", None) or {}
        constants = {name: chosen[name] for name in open_names}
        found = made.get((tuple(sorted(constants.items())), repr(own)))
        return found or attempt(constants, combined(own))

    def _open(self, known, values):
        """What the host's choice looks at: the arguments by name, and a function from constants to the tile program."""
        arguments = {}
        for parameter, whole in known.items():
            own = [(parameter, whole, values[parameter])]
            if whole.kind == "tuple":
                given = values[parameter] or [None] * len(whole.value)  # None: from a signature
                own = [(facts.element_name(parameter, index), fact, value) for index, (fact, value) in enumerate(zip(whole.value, given))]
            for name, fact, value in own:
                tensor = None if fact.kind == "constant" or value is None else facts.tensor_of(value, name)
                arguments[name] = tensor or (fact if value is None and fact.kind != "constant" else value)
        return arguments, lambda constants: self._program(known, constants, None)

    # Launch ---------------------------------------------------------------------------------------

    def __getitem__(self, grid):
        return functools.partial(self._launch, grid)

    def __call__(self, *arguments, **keywords):
        return self._launch(None, *arguments, **keywords)

    def preload(self, *arguments, **keywords):
        """Compiles for these arguments and loads the code on their device, ahead of a launch that must not do so (a captured one may)."""
        self._launch(PRELOAD, *arguments, **keywords)

    def _launch(self, grid, *arguments, **keywords):
        if _watch is not None:
            _watch(self, grid, arguments, keywords)
        entry = self._entry or self._make_entry()
        try:
            return entry(grid, *arguments, **keywords)
        except TypeError:
            # Python's own words for a wrong call name the generated function; say it as for any other argument.
            self._bind(arguments, {name: value for name, value in keywords.items() if name not in OPTIONS}, ArgumentError)
            raise

    def _make_entry(self):
        self._entry = make_entry(self)
        return self._entry

    def _make_variant(self, arguments, key, schedule, target, num_warps, num_stages, options, sm_margin):
        with self._lock:
            values = {}
            known = {}
            for parameter, value in zip(self.parameters, arguments):
                value = values[parameter.name] = _plain(parameter, value)
                if value is not auto:
                    known[parameter.name] = facts.of_value(parameter, value, self._where(parameter))
            target = target or launch_target(arguments)
            compiled = self._compile(known, values, _merged(schedule, num_warps, num_stages), target, options, self._compiled,
                                     assemble=not on_host(self, arguments))
            if ": warning: " in compiled.diagnostics:  # remarks are for whoever asks
                warnings.warn(compiled.diagnostics, stacklevel=4)
            if sm_margin:
                compiled = compiled.leaving(sm_margin)
            variant = Variant(self, compiled)
            if compiled.program.static <= self.static:
                self._variants[key] = variant
            else:
                # Keys have to tell these extents apart from now on: the next call makes its own.
                self.static |= compiled.program.static
                self._variants.clear()
                self._entry = None
            return variant


_watch = None


def watch_launches(watch):
    """watch(kernel, grid, arguments, keywords) is called before every launch."""
    global _watch
    _watch = watch


def _plain(parameter, value):
    """A constexpr argument as a plain, hashable object."""
    if isinstance(value, constexpr):
        value = value.value
    if parameter.is_constexpr and isinstance(value, list):
        return tuple(value)
    return value


def _merged(schedule, num_warps, num_stages):
    """A schedule with Triton's launch options as its fields."""
    if isinstance(schedule, str) or not (num_warps or num_stages):
        return schedule
    return {**({"warps": num_warps} if num_warps else {}), **({"stages": num_stages} if num_stages else {}), **(schedule or {})}


def jit(function=None, *, candidates=None, debug=False):
    """Makes a kernel of a Python function. candidates: {parameter: values} for parameters that are tl.auto; or a function of the target that gives
    the values. debug: whether tl.device_assert checks; in all kernels if $TILELOOM_DEBUG is 1 when they are defined."""
    if function is None:
        return functools.partial(jit, candidates=candidates, debug=debug)
    return JITFunction(function, candidates, debug or os.environ.get("TILELOOM_DEBUG", "0") not in ("", "0"))
