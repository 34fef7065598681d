"""Python that kernels do not have, values that control flow leaves undefined, and wrong calls: the error that a user sees."""

import pytest

import tileloom as tl
from dsl import POINTERS, program, refused


@tl.jit
def changed_type(x, out, n):
    acc = tl.zeros((32,), tl.float16)
    for i in range(n):
        acc = acc + tl.load(x + tl.arange(0, 32))
    tl.store(out + tl.arange(0, 32), acc)


def test_loop_changes_a_type():
    refused(changed_type, "variable 'acc' is float16[32] before the loop but float32[32] after an iteration; needed one type and shape: "
            "convert with .to(tl.float16)", "for i")


@tl.jit
def changed_shape(x, out, n):
    acc = 0.0
    for i in range(n):
        acc += tl.load(x + tl.arange(0, 32))
    tl.store(out + tl.arange(0, 32), acc)


def test_loop_changes_a_shape():
    refused(changed_shape, "variable 'acc' is float32 before the loop but float32[32] after an iteration; needed one type and shape: start "
            "from tl.zeros([32], tl.float32)", "for i")


@tl.jit
def one_branch(x, out, n):
    if n > 3:
        value = 1.0
    tl.store(out, value)


def test_value_of_one_branch():
    refused(one_branch, "'value' has no value here: it is assigned in only one branch of an if", "value)")


@tl.jit
def of_the_loop(x, out, n):
    for i in range(n):
        value = i * 2
    tl.store(out, value)


def test_value_of_a_loop_body():
    refused(of_the_loop, "'value' has no value here: it was assigned in a loop, whose body may not have run", "value)")


@tl.jit
def early_return(x, out, n):
    if n > 3:
        return
    tl.store(out, 1.0)


def test_early_return():
    refused(early_return, "return inside a run-time if or a loop; needed one at the end of the function", "return")


@tl.jit
def with_break(x, out, n):
    for i in range(n):
        break


def test_break():
    refused(with_break, "the language has no break: put the condition into a while loop", "break")


@tl.jit
def with_comprehension(x, out, n):
    values = [i for i in range(3)]


def test_comprehension():
    refused(with_comprehension, "the language has no comprehensions: use tl.static_range", "[i for")


@tl.jit
def with_text(x, out, n):
    name = f"{n}"


def test_f_string():
    refused(with_text, "the language has no f-strings", 'f"')


@tl.jit
def with_function(x, out, n):
    def inner():
        pass


def test_nested_function():
    refused(with_function, "the language has no nested functions: define it at the module's level, with @tl.jit", "def inner")


@tl.jit
def with_try(x, out, n):
    try:
        tl.store(out, 1.0)
    except ValueError:
        pass


def test_try():
    refused(with_try, "the language has no try", "try:")


def ordinary(x):
    return x


@tl.jit
def calls_python(x, out, n):
    tl.store(out, ordinary(1.0))


def test_ordinary_function():
    refused(calls_python, "'ordinary' is an ordinary Python function; needed one with @tl.jit", "ordinary(")


@tl.jit
def item_assignment(x, out, n):
    v = tl.zeros((32,), tl.float32)
    v[0] = 1.0


def test_item_assignment():
    refused(item_assignment, "assignment to something else than a name; tiles are values", "v[0]")


@tl.jit
def failed_assertion(x, out, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK % 2 == 0, f"BLOCK is {BLOCK}")


def test_static_assertion():
    refused(failed_assertion, "assertion failed: BLOCK is 3", "tl.static_assert", BLOCK=3)


@tl.jit
def helper(value, shape: tl.constexpr):
    return tl.reshape(value, shape)


@tl.jit
def wrong_inside(x, out, n):
    tl.store(out + tl.arange(0, 32), helper(tl.load(x + tl.arange(0, 32)), (5, 7)))


def test_error_in_an_inlined_function():
    error = refused(wrong_inside, "tl.reshape: float32[32] has 32 elements, [5, 7] has 35; needed equal numbers", "tl.reshape(")
    assert "note: called from here" in str(error) and "helper(tl.load" in str(error)


@tl.jit
def missing_argument(x, out, n):
    tl.store(out, helper(tl.load(x)))


def test_missing_argument():
    refused(missing_argument, "helper(): argument 'shape' is missing", "helper(")


@tl.jit
def unknown_keyword(x, out, n):
    tl.store(out, tl.load(x, masks=True))


def test_unknown_keyword():
    refused(unknown_keyword, "load() got an unexpected keyword argument 'masks'", "tl.load(")


@tl.jit
def forever(x, out, n):
    while True:
        tl.store(out, 1.0)


def test_loop_without_end():
    refused(forever, "the condition of while is True at compile time", "True")


@tl.jit
def endless_calls(x):
    return endless_calls(x)


@tl.jit
def recursive(x, out, n):
    tl.store(out, endless_calls(n))


def test_recursion():
    with pytest.raises(tl.CompilationError, match="more than 64 nested calls at 'endless_calls'"):
        program(recursive, POINTERS)
