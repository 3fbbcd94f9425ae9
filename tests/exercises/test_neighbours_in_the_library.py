"""Our kernels: the bits of a row's result depend on its own inputs alone, or the result is one of all rows."""

import pytest
import torch
from answers import our_answer
from graded_kernels.autograder import EXERCISES, neighbours
from graded_kernels.autograder.judge import Exercise
from turns import one_in

SHARED = {"weight", "bias", "inv_freq", "b", "b_scale", "rows"}  # by all rows; of `rows`, each token's slots say which
# Their result is a mean or a sum over the batch, as their docstrings say.
OF_ALL_ROWS = {"linear_cross_entropy_forward_backward", "policy_loss_forward", "policy_loss_backward", "global_norm"}
ALONG_TIME = {"decay_scan"}  # whose rows are points in time
ROWS = [name for name, record in EXERCISES.items() if isinstance(record, Exercise) and "triton" in record.backends]


def example(record):
    """The arguments of the first case that has a batch of two rows or more."""
    numbers = (number for number, case in enumerate(record.cases) if not case.raises)
    drawn = (record.cases[number].inputs(torch.Generator().manual_seed(number)) for number in numbers)
    return next(args for args in drawn if all(len(args[at]) > 1 for at in batch_of(record, args).values()))


def batch_of(record, args):
    """The names of the arguments whose dimension 0 is the batch, and their places."""
    given = enumerate(zip(record.contract.parameters, args, strict=False))
    return {key: at for at, (key, value) in given if isinstance(value, torch.Tensor) and key not in SHARED}


@pytest.mark.parametrize("name", one_in(5, ((name,) for name in ROWS if name not in OF_ALL_ROWS | ALONG_TIME)))
def test_a_row_has_the_same_bits_whatever_is_beside_it(name):
    record = EXERCISES[name]
    args = example(record)
    found = neighbours(our_answer(name, "triton"), args, list(batch_of(record, args)))
    assert not found
    assert found.calls >= 9


@pytest.mark.parametrize(("name", "backend"), [(name, b) for name in ALONG_TIME for b in ("torch", "triton")])
def test_the_past_has_the_same_bits_whatever_comes_behind(name, backend):
    record = EXERCISES[name]
    (number,) = (number for number, case in enumerate(record.cases) if case.name == "x at stride 0")
    args = record.cases[number].inputs(torch.Generator().manual_seed(number))
    found = neighbours(our_answer(name, backend), args, list(batch_of(record, args)), causal=0)
    assert not found
    assert not found.causality.not_finite, "no product of a masked block"
    assert found.causality.calls >= 9


def test_a_mean_over_the_batch_follows_it():
    """So the test above can fail."""
    args = example(EXERCISES["linear_cross_entropy_forward_backward"])
    assert neighbours(our_answer("linear_cross_entropy_forward_backward", "triton"), args, ("hidden", "labels"))
