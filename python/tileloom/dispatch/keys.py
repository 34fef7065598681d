"""The key of a call: everything of its arguments that the compiled code depends on, as a tuple that is cheap to make.

The function is generated for the parameters of one kernel, so that a warm call costs a few attribute reads. Keys of torch tensors are made
in line; anything else goes through `of_any`.
"""

import sys

from ..language.values import auto, constexpr
from . import facts


def of_number(value):
    """Tells apart what facts.scalar tells apart."""
    if value is True or value is False:
        return "bool"
    if type(value) is int:
        if value == 1:
            return 1
        return (16 if value & 15 == 0 else 0) if -(1 << 31) <= value < 1 << 31 else (64 if value & 15 == 0 else 63)
    return None


def of_any(function, parameter, value):
    """The key of any argument; for torch tensors it equals what the generated code makes."""
    if parameter.is_constexpr:
        if isinstance(value, constexpr):
            value = value.value
        if isinstance(value, list):
            value = tuple(value)
        return value if type(value) is int else (type(value), value)
    if value is None:
        return "none"
    found = of_number(value) if isinstance(value, (bool, int)) else None
    if found is not None and not parameter.is_view:
        return found
    if isinstance(value, float):
        return "float"
    tensor = facts.tensor_of(value, function._where(parameter))
    kind = type(value)
    if tensor is None:
        fact = facts.of_value(parameter, value, function.static, function._where(parameter))
        return (kind, fact)
    if parameter.is_view:
        return (kind, tensor.dtype, len(tensor.shape), tensor.device, *(tensor.shape[axis] for name, axis in sorted(function.static)
                                                                        if name == parameter.name))
    return (kind, tensor.dtype, tensor.address % 16 == 0, tensor.device >= -1)


def make_key_function(function):
    """key(arguments, extra) for a kernel and the view extents that are constants so far."""
    parameters = function.parameters
    names = [f"a{index}" for index in range(len(parameters))]
    lines = ["def key(arguments, extra):", f"  {', '.join(names)}, = arguments", "  Tensor = torch_tensor()"]
    parts = []
    for name, parameter in zip(names, parameters):
        key = "k" + name[1:]
        other = f"of_any(function, parameters[{parameter.index}], {name})"
        if parameter.is_constexpr:
            lines.append(f"  {key} = {name} if type({name}) is int else {other}")
            parts.append(key)
        elif parameter.is_view:
            extents = "".join(f", {name}.shape[{axis}]" for view, axis in sorted(function.static) if view == parameter.name)
            lines.append(f"  {key} = ({name}.dtype, {name}.dim(){extents}) if type({name}) is Tensor else {other}")
            parts.append(key)
        else:
            lines += [f"  t = type({name})",
                      f"  if t is Tensor: {key} = {name}.dtype if {name}.data_ptr() & 15 == 0 else ({name}.dtype,)",
                      f"  elif t is int: {key} = of_number({name})",
                      f"  else: {key} = 'float' if t is float else {other}"]
            parts.append(key)
    if any(parameter.is_auto for parameter in parameters):
        lines.append("  if " + " or ".join(f"a{p.index} is auto" for p in parameters if p.is_auto) + ":")
        lines.append("    extra = (extra, shapes(arguments))")
    lines.append(f"  return ({', '.join(parts)}, extra)")
    scope = {"of_any": of_any, "of_number": of_number, "function": function, "parameters": parameters, "torch_tensor": torch_tensor,
             "auto": auto, "shapes": shapes}
    exec("\n".join(lines), scope)
    return scope["key"]


def shapes(arguments):
    """What the host's choice of parameters may depend on."""
    return tuple(tuple(argument.shape) if hasattr(argument, "shape") else argument if isinstance(argument, (int, float)) else None
                 for argument in arguments)


class _NoTorch:
    """Stands for torch.Tensor while torch is not loaded: no argument is one."""


_found = None


def torch_tensor():
    global _found
    if _found is None:
        module = sys.modules.get("torch")
        if module is None or not hasattr(module, "Tensor") or not hasattr(module, "cuda"):
            return _NoTorch
        _found = module.Tensor
    return _found
