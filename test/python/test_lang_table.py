"""The table of Triton's language in docs/language.md says what is there."""

import inspect
import os
import re

import pytest

import tileloom as tl
from tileloom.frontend import context
from tileloom.frontend.builder import Builder
from tileloom.frontend.errors import ProgramError

PATH = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "language.md")


def rows():
    with open(PATH) as file:
        text = file.read()
    table = text[text.index("## Triton's language"):text.index("Names of `triton.language`")]
    for left, right in re.findall(r"^\| (`.*?) \| (.*) \|$", table, re.M):
        for name in re.findall(r"`(\w+)`", left):
            yield name, right


ROWS = list(rows())


def test_the_table_is_read():
    assert len(ROWS) > 90 and len({name for name, _ in ROWS}) == len(ROWS)


@pytest.mark.parametrize("name, text", ROWS)
def test_row(name, text):
    if name == "tensor_descriptor":
        return  # what make_tensor_descriptor gives
    function = getattr(tl, name)
    refuses = False
    with context.building(Builder()):
        try:
            if name not in ("range", "static_range", "static_assert", "static_print", "condition"):
                function()
        except ProgramError as error:
            refuses = "is not supported" in str(error)
        except TypeError:
            pass  # arguments are missing
    assert refuses == text.startswith("no")


def not_here():
    with open(PATH) as file:
        text = file.read()
    table = text[text.index("Names of `triton.language` that are not here:"):text.index("## Parameters that the host chooses")]
    return {name for left in re.findall(r"^\| (`.*?) \| .* \|$", table, re.M) for name in re.findall(r"`(\w+)`", left)}


def test_names_of_triton():
    """Every public name of Triton's language is here, or in the list of those that are not."""
    language = pytest.importorskip("triton.language")
    missing = {name for name in dir(language) if not name.startswith("_") and not hasattr(tl, name)}
    assert missing == not_here()
    assert all(hasattr(tl.math, name) for name in dir(language.math) if name not in ("List", "T", "core", "wraps") and not name.startswith("_"))


# Names and order of what Triton 3.9 takes: calls by position and by keyword mean the same here.
PARAMETERS = """
abs x
add x y sanitize_overflow
advance base offsets
arange start end
argmax input axis tie_break_left keep_dims
argmin input axis tie_break_left keep_dims
associative_scan input axis combine_fn reverse
assume cond
atomic_add pointer val mask sem scope
atomic_and pointer val mask sem scope
atomic_cas pointer cmp val sem scope
atomic_load pointer mask sem scope
atomic_max pointer val mask sem scope
atomic_min pointer val mask sem scope
atomic_or pointer val mask sem scope
atomic_store pointer val mask sem scope
atomic_xchg pointer val mask sem scope
atomic_xor pointer val mask sem scope
bitonic_merge x dim descending
broadcast input other
broadcast_to input shape
cast input dtype fp_downcast_rounding bitcast
cat input other can_reorder dim
cdiv x div
ceil x
clamp x min max propagate_nan
cos x
cumprod input axis reverse dtype
cumsum input axis reverse dtype
device_assert cond msg mask
device_print prefix args hex
div_rn x y
dot input other acc input_precision allow_tf32 max_num_imprecise_acc out_dtype
dot_scaled lhs lhs_scale lhs_format rhs rhs_scale rhs_format acc fast_math lhs_k_pack rhs_k_pack out_dtype
erf x
exp x
exp2 x
expand_dims input axis
expect_zero x mask
fdiv x y ieee_rounding approx
flip x dim
floor x
fma x y z
full shape value dtype
gather src index axis
histogram input num_bins mask
inline_asm_elementwise asm constraints args dtype is_pure pack
interleave a b
join a b
load pointer mask other cache_modifier eviction_policy volatile
load_tensor_descriptor desc offsets
log x
log2 x
make_block_ptr base shape strides offsets block_shape order
make_tensor_descriptor base shape strides block_shape padding_option
max input axis return_indices return_indices_tie_break_left keep_dims
max_constancy input values
max_contiguous input values
maximum x y propagate_nan
min input axis return_indices return_indices_tie_break_left keep_dims
minimum x y propagate_nan
mul x y sanitize_overflow
multiple_of input values
num_programs axis
pair_uniform_to_normal u1 u2
permute input dims
philox seed c0 c1 c2 c3 n_rounds
program_id axis
rand seed offset n_rounds
rand4x seed offsets n_rounds
randint seed offset n_rounds
randint4x seed offset n_rounds
randn seed offset n_rounds
randn4x seed offset n_rounds
ravel x can_reorder
reduce input axis combine_fn keep_dims
reduce_or input axis keep_dims
reshape input shape can_reorder
rsqrt x
sigmoid x
sin x
softmax x dim keep_dims ieee_rounding
sort x dim descending
split a
sqrt x
sqrt_rn x
squeeze x dim
static_assert cond msg
static_print values sep end file flush
store pointer value mask cache_modifier eviction_policy
store_tensor_descriptor desc offsets value
sub x y sanitize_overflow
sum input axis keep_dims dtype
swizzle2d i j size_i size_j size_g
to_tensor x
topk x k dim descending
trans input dims
uint_to_uniform_float x
umulhi x y
unsqueeze x dim
where condition x y
xor_sum input axis keep_dims
zeros shape dtype
zeros_like input
"""


@pytest.mark.parametrize("row", PARAMETERS.strip().splitlines())
def test_parameters(row):
    name, *wanted = row.split()
    found = [parameter for parameter in inspect.signature(getattr(tl, name)).parameters]
    assert found[:len(wanted)] == wanted
