"""What Triton's language has and this one does not: each is refused with the reason and what to do instead."""

from ..frontend.errors import ProgramError

_REASONS = {
    "inline_asm_elementwise": "needed the functions of the language; what a tile is made of on the machine is the compiler's choice",
}


def _refused(name, reason):
    def function(*arguments, **keywords):
        raise ProgramError(f"tl.{name} is not supported: {reason}")
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Not supported: {reason}."
    return function


for _name, _reason in _REASONS.items():
    globals()[_name] = _refused(_name, _reason)
