"""What the attention functions check alike, and what they pass to their kernels."""

import math

from ..dispatch.function import JITFunction
from ..language import dtypes
from . import arrays

WIDTHS = (64, 96, 128, 192, 256)  # of tiles; narrower heads have columns of zeros beside them


def tile_rows(target):
    """Numbers of queries in a tile that are tried: of warpgroups with 64 rows two or three, on Blackwell one or two with a block of 128."""
    return (128, 256) if _has_tensor_memory(target) else (128, 192)


def tile_keys(target):
    """Numbers of keys in a tile that are tried. 80: two blocks of scores, probabilities and sums of 128 columns side by side in tensor memory."""
    return (128, 160, 112, 96, 64, *((80,) if _has_tensor_memory(target) else ()))


def _has_tensor_memory(target):
    return target.startswith("sm_10")


def width(extent):
    return next(own for own in WIDTHS if own >= extent)


TYPES = (*arrays.HALF, dtypes.float8e4nv)


def checked(name, facts, kv=("k", "v"), types=TYPES, widest_v=None):
    """(D, E, H, G) of q [..., H, D], k [..., G, D] and v [..., G, E], after checks of types and heads. facts: {name: tensor}, q first.
    widest_v: the most columns that v and what goes with it may have, where that is another number."""
    q, k, v = facts["q"], facts[kv[0]], facts[kv[1]]
    for own, tensor in facts.items():
        arrays.require_type(tensor, types, name, own)
        arrays.require(tensor.dtype is q.dtype, name, own, f"is of {tensor.dtype}", f"{q.dtype}, as 'q'")
        most = widest_v if widest_v and own in (kv[1], "v_new", "qv") else WIDTHS[-1]
        arrays.require(1 <= tensor.shape[-1] <= most, name, own, f"has head dimension {tensor.shape[-1]}", f"1 to {most}")
    (H, D), (G, _), E = q.shape[-2:], k.shape[-2:], v.shape[-1]
    arrays.require(k.shape[-1] == D, name, kv[0], f"has head dimension {k.shape[-1]}", f"{D}, as 'q'")
    arrays.require(H % G == 0 if G else H == 0, name, kv[0], f"has {G} heads", f"a divisor of the {H} heads of 'q'")
    arrays.require(v.shape[-2] == G, name, kv[1], f"has {v.shape[-2]} heads", f"{G}, as '{kv[0]}'")
    return D, E, H, G


def options(name, q, H, D, E, causal, softmax_scale, window, attention_chunk, softcap, sinks, score_mod, mask_mod, mod_arguments,
            rescale_threshold):
    """Arguments of a kernel from `scale` to DV."""
    scale = 1 / math.sqrt(D) if softmax_scale is None else softmax_scale
    arrays.require(_is_number(scale) and scale > 0 and math.isfinite(scale), name, "softmax_scale", f"is {scale!r}", "a number above 0")
    left, right = _window(name, window)
    causal = bool(causal)
    if causal or right == 0:  # causal is the nearer limit; a window of (left, 0) is causal
        causal, right = True, None
    if attention_chunk is not None:
        arrays.require(_is_int(attention_chunk) and attention_chunk >= 0, name, "attention_chunk", f"is {attention_chunk!r}", "an int above 0, or None")
        attention_chunk = int(attention_chunk) or None
    if softcap is not None:
        arrays.require(_is_number(softcap) and softcap >= 0 and math.isfinite(softcap), name, "softcap", f"is {softcap!r}", "a number above 0, or None")
        softcap = float(softcap) or None
    if sinks is not None:
        given = arrays.facts_of(sinks, name, "sinks")
        arrays.require_type(given, (*arrays.HALF, dtypes.float32), name, "sinks")
        arrays.require_contiguous(given, (H,), given.dtype, name, "sinks", "one for each head of 'q'")
        arrays.require_device(("q", q), {"sinks": given}, name)
    for own, function in (("score_mod", score_mod), ("mask_mod", mask_mod)):
        arrays.require(function is None or isinstance(function, JITFunction), name, own, f"is of type {type(function).__name__}",
                       "a function with @tl.jit, or None")
    arrays.require(isinstance(mod_arguments, (tuple, list)), name, "mod_arguments", f"is of type {type(mod_arguments).__name__}", "a tuple")
    arrays.require(not mod_arguments or score_mod is not None or mask_mod is not None, name, "mod_arguments", "is given alone", "score_mod or mask_mod too")
    narrow = q.dtype.is_fp8()
    by_tile = rescale_threshold is None and E <= 64 and not narrow  # sums of few columns are scaled without a vote: `attend` decides
    if rescale_threshold is None:
        rescale_threshold = 0 if E <= 64 else 4 if narrow else 8
    most = 4 if narrow else 15  # 8 bits: what is left of 2^8, so that smaller p are normal numbers; 16 bits: of 65504
    arrays.require(_is_number(rescale_threshold) and 0 <= rescale_threshold <= most, name, "rescale_threshold", f"is {rescale_threshold!r}",
                   f"a number from 0 to {most} for {q.dtype}, or None")
    return (scale * math.log2(math.e), causal, left, right, attention_chunk, sinks, softcap, score_mod, mask_mod, tuple(mod_arguments),
            width(min(D, WIDTHS[-1])), width(min(E, WIDTHS[-1])), None if by_tile else float(rescale_threshold))


def descales(name, q, given, batch, G):
    """The facts of q_descale, k_descale and v_descale (`given`, by name), after checks. q: the facts of q."""
    found = {}
    for own, value in given.items():
        if value is not None:
            arrays.require(q.dtype.is_fp8(), name, own, f"is given for {q.dtype}", "float8_e4m3fn")
            found[own] = arrays.facts_of(value, name, own)
            arrays.require_contiguous(found[own], (batch, G), dtypes.float32, name, own, "by the number of sequences and the heads of keys")
    return found


def splits_of(name, num_splits):
    """num_splits after checks; 0: a choice."""
    arrays.require(num_splits is None or _is_int(num_splits) and 0 <= num_splits <= 256, name, "num_splits", f"is {num_splits!r}",
                   "None or 0 (a choice), or 1 to 256")
    return int(num_splits or 0)


def latent_columns(name, q, k, v, names=("k", "v")):
    """(q, qv, k) for q [..., 576], k [..., 576] and v, its first 512 columns: scores are those of products of 64 columns and of 512 (multi-head latent
    attention). None if these are not the head dimensions."""
    if [getattr(own, "shape", (0,))[-1] for own in (q, k, v)] != [576, 576, 512]:
        return None
    facts = [arrays.facts_of(own, name, what) for own, what in zip((k, v), names)]
    arrays.require(facts[0].address == facts[1].address and facts[0].strides == facts[1].strides, name, names[1],
                   f"is another tensor than '{names[0]}', whose head dimension is 576", f"its first 512 columns, {names[0]}[..., :512]")
    return q[..., 512:], q[..., :512], k[..., 512:]


def result_type(q):
    """The type of a new `out`: that of q (facts), but for 8 bits."""
    return dtypes.bfloat16 if q.dtype.is_fp8() else q.dtype


def launch_options(launch):
    """Of the options of a launch those that other launches of the same call take too."""
    return {option: value for option, value in launch.items() if option in ("stream", "target", "simulator")}


def indices(name, facts, given):
    """(facts of the index tensors among `given`, number of sequences), after checks. Names that begin with cu_ have one element more than there are
    sequences."""
    index, batch = {}, None
    for own, tensor in facts.items():
        if len(tensor.shape) == 4:
            arrays.require(batch in (None, tensor.shape[0]), name, own, f"has a batch of {tensor.shape[0]}", f"{batch}, as other arguments")
            batch = tensor.shape[0]
    for own, value in given.items():
        if value is not None:
            index[own] = tensor = arrays.facts_of(value, name, own)
            more = own.startswith("cu_")
            arrays.require_rank(tensor, 1, name, own, "one dimension")
            batch = tensor.shape[0] - more if batch is None else batch
            arrays.require(batch >= 0, name, own, "is empty", "[batch + 1]")
            arrays.require_contiguous(tensor, (batch + more,), dtypes.int32, name, own, "by the number of sequences")
    return index, batch


def rows_of(value, tensor):
    """(tensor, rows from batch to batch): [..., rows, heads, columns], or a copy if copies of sequences cannot take it."""
    value = arrays.boxed(value, tensor)
    if len(tensor.shape) == 3:
        return value, 0
    batch_step, step = arrays.facts_of(value, "", "").strides[:2]
    if tensor.shape[0] > 1 and (step == 0 or batch_step % step):
        copy = arrays.empty(value, tensor.shape, tensor.dtype)
        arrays.write(copy, value)
        value, (batch_step, step) = copy, arrays.facts_of(copy, "", "").strides[:2]
    return value, batch_step // step if tensor.shape[0] > 1 else 0


def cache_rows(name, own, tensor):
    """Rows from batch to batch, or page to page, of a cache [batches, rows, heads, columns] that copies of sequences can take; there is no copy of it."""
    strides = tensor.strides
    arrays.require(arrays.fits(tensor), name, own, f"has strides {list(strides)} and the address {tensor.address:#x}",
                   "a last stride of 1, other strides and the address at multiples of 16 bytes")
    arrays.require(tensor.shape[0] < 2 or strides[1] > 0 and strides[0] % strides[1] == 0, name, own, f"has strides {list(strides)}",
                   "a first stride that is a multiple of the second")
    return strides[0] // strides[1] if tensor.shape[0] > 1 else 0


def multiprocessors(tensor):
    """Of the device of a tensor (of facts); an H200's for host arrays."""
    if tensor.device < 0:
        return 132
    import torch
    return torch.cuda.get_device_properties(tensor.device).multi_processor_count


def _window(name, window):
    """(left, right), None where there is no limit."""
    if window is None:
        return None, None
    arrays.require(isinstance(window, (tuple, list)) and len(window) == 2 and all(own is None or _is_int(own) for own in window), name, "window",
                   f"is {window!r}", "(left, right), each an int or None")
    far = 1 << 28  # beyond any length: positions and limits are added in 32 bits
    return tuple(None if own is None or own < 0 or own >= far else int(own) for own in window)


def _is_int(value):
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _is_number(value):
    return arrays.is_number(value) and not isinstance(value, bool)
