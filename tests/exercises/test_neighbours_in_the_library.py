"""Our kernels: the bits of a row's result depend on its own inputs alone, or the result is one of all rows."""

import pytest
import torch
from answers import our_answer
from graded_kernels.autograder import EXERCISES, neighbours
from graded_kernels.autograder.judge.comparing.trial import arguments
from graded_kernels.autograder.judge.records.record import Exercise
from turns import one_in

SHARED = {"weight", "bias", "inv_freq", "b"}  # by all rows
# Their result is a mean or a sum over the batch, as their docstrings say.
OF_ALL_ROWS = {"linear_cross_entropy_forward_backward", "policy_loss_forward", "policy_loss_backward", "global_norm"}
ROWS = [name for name, record in EXERCISES.items() if isinstance(record, Exercise) and "triton" in record.backends]


def example(record):
    number = next(number for number, case in enumerate(record.cases) if not case.raises)
    return arguments(record.cases[number], number, 0)


@pytest.mark.parametrize("name", one_in(3, ((name,) for name in ROWS if name not in OF_ALL_ROWS)))
def test_a_row_has_the_same_bits_whatever_is_beside_it(name):
    record = EXERCISES[name]
    args = example(record)
    given = zip(record.contract.parameters, args, strict=False)
    batch = [key for key, value in given if isinstance(value, torch.Tensor) and key not in SHARED]
    found = neighbours(our_answer(name, "triton"), args, batch)
    assert not found
    assert found.calls >= 9


def test_a_mean_over_the_batch_follows_it():
    """So the test above can fail."""
    args = example(EXERCISES["linear_cross_entropy_forward_backward"])
    assert neighbours(our_answer("linear_cross_entropy_forward_backward", "triton"), args, ("hidden", "labels"))
