"""Long rows that several programs share: a case has one that is just too long, and the contract says the rule."""

import pytest
import torch
from answers import our_answer
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.exercises.cases.wording import LONG_ROW, LONGEST


@pytest.mark.parametrize("name", ["split_k_sum", "norm_of_rows"])
def test_a_row_of_one_number_more_than_a_program_may_do_is_a_case(name):
    """So that the rule is the one that the contract says."""
    case = next(case for case in EXERCISES[name].cases if case.name == LONG_ROW)
    assert case.shared
    assert case.inputs(torch.Generator().manual_seed(0))[0].shape == (1, LONGEST + 1)
    contract = " ".join(our_answer(name, "triton").__doc__.split())
    assert f"Several programs share a row of more than {LONGEST:,} numbers." in contract
