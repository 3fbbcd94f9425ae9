"""The oracles of attention agree with PyTorch in float64; its float32 and bfloat16 answers pass."""

import dataclasses
import functools

import library
import pytest
import torch
from answers import Unwatched
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.judge import Settings
from graded_kernels.autograder.judge.checking.judge import judge
from graded_kernels.autograder.judge.comparing.closeness import compare_all, expect
from graded_kernels.autograder.judge.comparing.trial import arguments
from graded_kernels.kernels.wild.attention import attention_backward_again
from library import pytorchs_attention

random = functools.partial(library.random, dtype=torch.float64)


SETTINGS = {
    "plain": (None, False, None),
    "lengths": (torch.tensor([9, 4, 0]), False, 0.7),
    "causal": (None, True, None),
    "causal with lengths": (torch.tensor([9, 2, 0]), True, -0.3),
}


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_forward_is_pytorchs_in_float64(setting):
    q, k, v = random(3, 2, 5, 4, seed=1), random(3, 2, 9, 4, seed=2), random(3, 2, 9, 4, seed=3)
    for one, other in zip(
        EXERCISES["attention_forward"].oracle(q, k, v, *setting), pytorchs_attention(q, k, v, *setting), strict=True
    ):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-13)


def test_masked_softmax_is_pytorchs():
    x, mask = random(6, 9, seed=1), random(6, 9, seed=2) > 0
    mask[:, 3] = True
    y = EXERCISES["masked_softmax_forward"].oracle(x, mask)
    torch.testing.assert_close(y, torch.softmax(x.masked_fill(~mask, -torch.inf), 1), rtol=1e-13, atol=1e-15)


def test_two_pieces_merged_are_the_whole():
    q, k, v = random(2, 2, 5, 4, seed=1), random(2, 2, 9, 4, seed=2), random(2, 2, 9, 4, seed=3)
    forward = EXERCISES["attention_forward"].oracle
    for cut in (0, 1, 4, 9):
        pieces = [x for keys in (slice(0, cut), slice(cut, 9)) for x in forward(q, k[:, :, keys], v[:, :, keys])]
        merged = EXERCISES["merge_attention"].oracle(*pieces)
        for one, other in zip(merged, forward(q, k, v), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-13)


def fails(name, function) -> list[str]:
    """What does not pass, of the cases in which q, k and v have one dtype, as PyTorch asks."""
    record = EXERCISES[name]
    chosen = tuple(case for case in record.cases if case.name != "bfloat16 with float32 values")
    assert len(chosen) == len(record.cases) - 1
    report = judge(dataclasses.replace(record, cases=chosen, most_bytes=None), Unwatched(function), Settings("torch"))
    return [f"{c.name}: {c.message}" for c in report.cases if c.status != "pass"]


def test_pytorchs_own_attention_passes():
    assert fails("attention_forward", pytorchs_attention) == []


@pytest.mark.exhaustive
def test_pytorchs_own_gradients_pass():
    def gradients(do, q, k, v, o, lse, *more):
        leaves = [t.detach().requires_grad_() for t in (q, k, v)]
        return torch.autograd.grad(pytorchs_attention(*leaves, *more)[0], leaves, do)

    assert fails("attention_backward", gradients) == []


def test_backward_may_divide_by_the_sum_again():
    """What the scores of a huge sum have lost, its e^(s - lse) of another key has lost, too."""
    record = EXERCISES["attention_backward"]
    (number,) = (n for n, case in enumerate(record.cases) if case.name == "one huge score")
    for seed in range(6):
        args = arguments(record.cases[number], number, seed)
        found = compare_all(expect(record, record.cases[number], args), attention_backward_again(*args), {})
        assert not any(one.failure for one in found), seed
