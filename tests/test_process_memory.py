"""A PyTorch answer is held to its memory from outside: the attacks are in tests/attacks/cases, memory_*.py."""

import pytest
import torch
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.judge.cost import judge_process
from graded_kernels.autograder.judge.judge import arguments
from graded_kernels.autograder.report.quality import Quality
from graded_kernels.autograder.run.answer import Answer, Cell
from graded_kernels.autograder.run.contract import as_tuple
from graded_kernels.autograder.sandbox import Isolated, Worker, probe
from graded_kernels.autograder.sandbox.worker import confine

RECORDS = [record for record in EXERCISES.values() if getattr(record, "large", None)]


def by_name(record):
    return record.name


def test_some_exercise_is_held_to_its_memory():
    assert "linear_cross_entropy" in map(by_name, RECORDS)


@pytest.mark.parametrize("record", RECORDS, ids=by_name)
def test_the_oracle_for_a_small_call_tells_what_is_right_for_the_large_one(record):
    """On numbers of the first case, of which the oracle can still be asked for both."""
    small = arguments(record.cases[0], 0, 0)
    large = record.large.repeated(*small)
    told = record.large.spread(*as_tuple(record.oracle(*(_wide(a) for a in small))))
    known = as_tuple(record.oracle(*(_wide(a) for a in large)))
    for one, other in zip(told, known, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def _wide(argument):
    return argument.double() if isinstance(argument, torch.Tensor) and argument.is_floating_point() else argument


@pytest.mark.parametrize("record", RECORDS, ids=by_name)
def test_the_large_call_is_large_enough_to_tell(record):
    """What is right, twice, leaves the slack behind."""
    args = record.large.repeated(*record.large.inputs(torch.Generator().manual_seed(0)))
    assert record.most_bytes(*args) >= 2 * confine.SLACK


@pytest.mark.skipif(probe().rung is None, reason=f"not run: {probe()}")
def test_the_large_call_has_to_be_computed():
    record = EXERCISES["linear_cross_entropy"]
    source = """
import torch


def linear_cross_entropy(hidden, weight, labels):
    return torch.zeros(()), torch.zeros_like(hidden), torch.zeros_like(weight)
"""
    code = Answer(record.name, (Cell("cell", source),))
    with Worker() as worker, Isolated(code, record.contract, "torch", results=record.results, worker=worker) as runner:
        held = judge_process(record, runner)
    assert held.result.status == "fail" and held.result.kind is Quality.CORRECT
    assert held.result.message == "loss is wrong in 1 of 1 elements in a large call."
