"""Functions that no answer may call are judged right all the same: PyTorch's own attention, and the library's functions
that are named as their record is.
"""

import dataclasses
import sys

import pytest
import torch
from answers import Unwatched
from differentiable import call_named, calls
from graded_kernels import kernels
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.gpu import Emulator
from graded_kernels.autograder.judge.checking.judge import judge
from graded_kernels.autograder.judge.comparing.closeness import compare_all, expect
from graded_kernels.autograder.judge.records.settings import Settings
from graded_kernels.autograder.runner import Tree
from library import WHOLE, pytorchs_attention
from turns import one_in


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


@pytest.mark.parametrize(
    ("name", "case"), one_in(3, ((name, case) for name in WHOLE for case, _ in calls(EXERCISES[name])))
)
def test_a_function_named_as_its_record_is_its_oracle(name, case, monkeypatch):
    """By PyTorch, and by Triton in the emulator."""
    function, record = getattr(kernels, name), EXERCISES[name]
    named = call_named(record, case)
    for by_triton in (False, True):
        monkeypatch.setattr(sys.modules[function.__module__], "use_triton", lambda x, by_triton=by_triton: by_triton)
        with Emulator() as emulator:
            y = function(**named)
        assert emulator.findings == ()
        args = tuple(named.values())
        compared = compare_all(expect(record, record.cases[0], args), Tree.of(y).leaves, {})
        assert not [one for one in compared if one.complaint or one.failure]
