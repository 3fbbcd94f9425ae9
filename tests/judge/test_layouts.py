"""A case whose name says how a tensor lies in memory has a tensor that lies so."""

import re
import sys

import pytest
import torch
from graded_kernels.autograder.judge.comparing.trial import arguments
from graded_kernels.autograder.judge.records.record import Exercise
from graded_kernels.autograder.judge.records.table import EXERCISES


def last_offset(x: torch.Tensor) -> int:
    """Of the farthest element from the first."""
    return sum((size - 1) * stride for size, stride in zip(x.shape, x.stride(), strict=True))


def rows_with_gaps(x: torch.Tensor) -> bool:
    return x.dim() > 1 and x.stride(-1) == 1 and x.stride(-2) > x.shape[-1]


# What a case's name says: whether a tensor lies so.
LAYOUTS = {
    "transposed": lambda x: x.dim() > 1 and x.mT.is_contiguous() and not x.is_contiguous(),
    "every second": lambda x: x.dim() > 0 and x.stride(-1) == 2,
    "gaps|inside larger": rows_with_gaps,
    "stride 0|shared": lambda x: any(size > 1 and not at for size, at in zip(x.shape, x.stride(), strict=True)),
    "strides of": lambda x: not x.is_contiguous(),
    "heads side by side": lambda x: x.dim() > 2 and x.stride(1) < x.stride(2),
    r"beyond 2\^31": lambda x: last_offset(x) > 2**31,
}
CASES = [
    pytest.param(record, number, what, id=f"{record.name}: {case.name}")
    for record in EXERCISES.values()
    if isinstance(record, Exercise)
    for number, case in enumerate(record.cases)
    for what in LAYOUTS
    if re.search(what, case.name)
]


@pytest.mark.parametrize(("record", "number", "what"), CASES)
def test_a_case_that_says_a_layout_has_it(record, number, what):
    """Where the name names parameters, those, and otherwise some tensor."""
    if "beyond" in what and sys.platform != "linux":
        pytest.skip("only Linux can lay rows 2^30 elements apart in the memory of the rows alone")
    case = record.cases[number]
    given = record.named(arguments(case, number, 0))
    tensors = {name: a for name, a in given.items() if isinstance(a, torch.Tensor)}
    meant = {name: a for name, a in tensors.items() if re.search(rf"\b{name}\b", case.name)}
    found = [bool(LAYOUTS[what](a)) for a in (meant or tensors).values()]
    assert (all if meant else any)(found), {name: (a.shape, a.stride()) for name, a in tensors.items()}


def test_every_layout_is_said_by_some_case():
    assert {what for _, _, what in (case.values for case in CASES)} == set(LAYOUTS)
