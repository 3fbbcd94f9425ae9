"""One output beside the right one, and beside PyTorch's own where that is as right."""

import math

import torch
from graded_kernels.autograder.judge.comparing.closeness import Expected, compare
from graded_kernels.autograder.judge.records.ulp import ulp_size

EXACT = torch.tensor([1.0, 2.0, math.inf], dtype=torch.float64)
PYTORCH = torch.tensor([1.5, 2.0, math.nan], dtype=torch.float64)
INPUTS = {"x": torch.tensor([1.0, 2.0, math.inf])}


def wrong(actual: torch.Tensor, as_peer: torch.Tensor) -> list[bool]:
    """Which elements of ``actual`` are wrong, where PyTorch's are as right at ``as_peer``."""
    sizes, allowed = ulp_size(EXACT, torch.float32), torch.full((3,), 0.5, dtype=torch.float64)
    expected = Expected(("y",), (torch.float32,), (EXACT,), (sizes,), (allowed,), (PYTORCH,), as_peer)
    return compare(expected, 0, actual, INPUTS).wrong.tolist()


def test_pytorchs_own_value_is_right_at_infinity_and_nowhere_else():
    at_infinity = torch.tensor([False, False, True])
    assert wrong(EXACT.float(), at_infinity) == [False, False, False]
    assert wrong(PYTORCH.float(), at_infinity) == [True, False, False]


def test_where_a_convention_decides_both_are_right_element_by_element():
    everywhere = torch.ones(3, dtype=torch.bool)
    assert wrong(PYTORCH.float(), everywhere) == [False, False, False]
    assert wrong(torch.tensor([1.5, 2.0, math.inf]), everywhere) == [False, False, False]
    assert wrong(torch.tensor([1.25, 2.0, math.inf]), everywhere) == [True, False, False]
