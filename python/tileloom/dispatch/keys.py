"""The key of a call: everything of its arguments that the compiled code depends on, as a tuple that is cheap to make.

The function is generated for the parameters of one kernel, so that a warm call costs a few attribute reads. Keys of torch tensors are made
in line; anything else goes through `of_any`.
"""

import sys

from ..language.values import auto, constexpr
from . import facts


# What a launch takes besides the kernel's arguments.
OPTIONS = ("schedule", "target", "stream", "num_warps", "num_stages", "simulator", "options", "sm_margin")


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
    if isinstance(value, (tuple, list)):
        return ("tuple", *(_of_one(function, parameter, facts.element_name(parameter.name, index), one, parameter.is_view and
                                   not isinstance(one, (bool, int, float))) for index, one in enumerate(value)))
    return _of_one(function, parameter, parameter.name, value, parameter.is_view)


def _of_one(function, parameter, name, value, is_view):
    """The key of an argument, or of an element of a tuple."""
    if value is None:
        return "none"
    found = of_number(value) if isinstance(value, (bool, int)) else None
    if found is not None and not is_view:
        return found
    if isinstance(value, float):
        return "float"
    kind = type(value)
    if isinstance(value, torch_tensor()):  # a subclass, such as a Parameter
        if not is_view:
            return value.dtype if value.data_ptr() & 15 == 0 else (value.dtype,)
        return (value.dtype, value.dim(), *(value.shape[axis] for own, axis in sorted(function.static) if own == name))
    where = function._where(parameter) + (f", element {name[len(parameter.name) + 1:-1]}" if name != parameter.name else "")
    tensor = None if isinstance(value, (tuple, list)) else facts.tensor_of(value, where)
    if tensor is None:
        fact = facts.of_one(parameter, value, where, is_view)
        return (kind, fact)
    if is_view:
        return (kind, tensor.dtype, len(tensor.shape), tensor.device, *(tensor.shape[axis] for own, axis in sorted(function.static)
                                                                        if own == name))
    return (kind, tensor.dtype, tensor.address % 16 == 0, tensor.device >= -1)


def make_entry(function):
    """entry(grid, <the kernel's parameters>, *, <options>): finds the variant of a call and launches it. Generated for one kernel and the
    view extents that are constants so far, with the parameters' own names and defaults, so that Python binds the arguments."""
    scope = {"of_any": of_any, "of_number": of_number, "function": function, "parameters": function.parameters, "auto": auto,
             "torch_tensor": torch_tensor, "shapes": shapes, "variants": function._variants, "slow": function._make_variant,
             "hashable": hashable}
    signature, lines, parts = [], ["  Tensor = torch_tensor()"], []
    for parameter in function.parameters:
        name, key = parameter.name, f"_key{parameter.index}"
        other = f"of_any(function, parameters[{parameter.index}], {name})"
        if not parameter.required:
            scope[f"_default{parameter.index}"] = parameter.default
        if parameter.keyword_only and "*" not in signature:
            signature.append("*")
        signature.append(name if parameter.required else f"{name}=_default{parameter.index}")
        parts.append(key)
        if parameter.is_constexpr:
            lines.append(f"  {key} = {name} if type({name}) is int else {other}")
        elif parameter.is_view:
            extents = "".join(f", {name}.shape[{axis}]" for view, axis in sorted(function.static) if view == name)
            lines.append(f"  {key} = ({name}.dtype, {name}.dim(){extents}) if type({name}) is Tensor else {other}")
        else:
            lines += [f"  _type = type({name})",
                      f"  if _type is Tensor: {key} = {name}.dtype if {name}.data_ptr() & 15 == 0 else ({name}.dtype,)",
                      f"  elif _type is int: {key} = of_number({name})",
                      f"  else: {key} = 'float' if _type is float else {other}"]
    if "*" not in signature:
        signature.append("*")
    signature += [f"{option}=None" for option in OPTIONS]
    arguments = f"({''.join(parameter.name + ', ' for parameter in function.parameters)})"
    lines += [f"  arguments = {arguments}", "  extra = None",
              "  if schedule or target or num_warps or num_stages or options or sm_margin:",
              "    extra = (target, num_warps, num_stages, hashable(schedule), hashable(options), sm_margin)"]
    if function.automatic:
        lines += ["  if " + " or ".join(f"{name} is auto" for name in function.automatic) + ":", "    extra = (extra, shapes(arguments))"]
    lines += [f"  key = ({''.join(part + ', ' for part in parts)}extra)", "  variant = variants.get(key)", "  if variant is None:",
              "    variant = slow(arguments, key, schedule, target, num_warps, num_stages, options, sm_margin)",
              "  return variant.launch(grid, arguments, stream, simulator)"]
    exec(f"def entry(grid, {', '.join(signature)}):\n" + "\n".join(lines), scope)
    return scope["entry"]


def hashable(value):
    """A schedule or options as a part of a key; what is neither is refused where it is used."""
    return tuple((name, repr(own)) for name, own in value.items()) if isinstance(value, dict) else value if isinstance(value, str) else repr(value)


def shapes(arguments):
    """What the host's choice of parameters may depend on: extents and integers."""
    return tuple(tuple(argument.shape) if hasattr(argument, "shape") else argument if isinstance(argument, int) else
                 shapes(argument) if isinstance(argument, (tuple, list)) else None for argument in arguments)


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
