"""The oracles of attention agree with PyTorch in float64; its float32 and bfloat16 answers pass."""

import dataclasses
import functools

import library
import pytest
import torch
from graded_kernels.autograder import EXERCISES, check
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


def test_backward_may_divide_by_the_sum_again():
    """What the scores of a huge sum have lost, its e^(s - lse) of another key has lost, too."""
    record = EXERCISES["attention_backward"]
    huge = tuple(case for case in record.cases if case.name == "one huge score")
    assert len(huge) == 1
    for seed in range(6):
        report = check(
            dataclasses.replace(record, cases=huge, most_bytes=None, wild=(), about=(), refused=frozenset()),
            attention_backward_again,
            "torch",
            seed=seed,
        )
        assert report.cases[0].status == "pass", str(report)
