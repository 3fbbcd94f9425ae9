"""A call with the wrong arguments raises an error of one sentence that says what belongs there."""

import pytest
import torch
from graded_kernels import autograder
from graded_kernels.autograder import CompareError, check, compare, neighbours
from graded_kernels.kernels import silu
from graded_kernels.solutions.silu import silu_backward

X = torch.ones(3, 4)
F = torch.nn.functional.silu


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        ((silu_backward, "silu_backward"), {}, 'check takes the exercise first: check("silu_backward", silu_backward)'),
        (("silu_backward", 3), {}, "check takes the function itself, check('silu_backward', my_function), and int is"),
        ((None, silu_backward), {}, "an exercise by its name, or its record, and then the function; NoneType is neith"),
        (("silu_backwrd", silu_backward), {}, "no exercise 'silu_backwrd'; did you mean silu_backward"),
        (("silu_backward", silu_backward, "cuda"), {}, "silu_backward is answered in torch and triton, not in 'cuda'"),
        (("silu_backward", silu_backward), {"seed": "a"}, "seed is a whole number, not 'a'"),
        (("silu_backward", silu_backward), {"seed": 1.5}, "seed is a whole number, not 1.5"),
        (("silu_backward", silu_backward), {"compiler": "no"}, "compiler is True or False, not 'no'"),
        (("silu_backward", silu_backward), {"targets": 3}, 'targets is a name or several, as in targets="sm_90", not'),
        (("silu_backward", silu_backward), {"targets": "h100"}, "'h100' is not a GPU to compile for; name gfx942, sm_"),
        (("silu_backward", silu_backward), {"require": 3}, 'require is a name or several, as in require="correct", no'),
        (("silu_backward", silu_backward), {"conventions": "numpy"}, "conventions are 'course' or 'pytorch', not 'nu"),
        (("silu_backward", silu_backward), {"hints_after": "2"}, "hints_after is a number of failed checks, not '2'"),
    ],
)
def test_check(arguments, options, sentence):
    with pytest.raises((TypeError, ValueError)) as error:
        check(*arguments, **options)
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        ((F, F), {}, "give an example, in one of two ways"),
        ((F, F, 3), {}, "arguments should be a tensor or a tuple of arguments, not int"),
        ((X, F, F), {}, "the reference should be a function, a module, an autograd.Function or a pair"),
        ((F, 3, X), {}, "the candidate should be a function, a module, an autograd.Function or a pair"),
        ((F, F, X), {"without": "Nan"}, "no family is named 'Nan'; there are 'the example'"),
        ((F, F, X), {"computes": "kernel"}, "no candidate computes 'kernel'; there are kernels"),
        ((F, F, X), {"neighbours": 1}, "there is no argument 1: the example has 1, the first is 0"),
    ],
)
def test_compare(arguments, options, sentence):
    with pytest.raises(CompareError) as error:
        compare(*arguments, **options)
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"batch": "rows"}, "there is no argument rows: there are input"),
        ({"batch": 3}, "there is no argument 3: the example has 1, the first is 0"),
        ({"causal": "a"}, "the dimension of time is counted from 0, not 'a'"),
    ],
)
def test_neighbours(options, sentence):
    with pytest.raises(CompareError) as error:
        neighbours(F, X, **options)
    assert sentence in str(error.value)


@pytest.mark.parametrize("value", ["a", 3, None])
def test_a_function_of_the_library(value):
    with pytest.raises(TypeError, match=f"silu: x must be a tensor, not {type(value).__name__}"):
        silu(value)


def test_a_name_that_the_grader_has_not():
    with pytest.raises(AttributeError, match="has no attribute 'chek'; did you mean check"):
        autograder.chek  # noqa: B018
