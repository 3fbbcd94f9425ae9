"""The memory of an answer's process: what is counted, and how much more than that it has."""

import sys

import pytest
import torch
from answers import answer
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.runner import Call, Isolated
from graded_kernels.autograder.runner.call import borrowed
from graded_kernels.autograder.runner.sandbox.worker import confine
from isolation import needs_isolation

RECORDS = [record for record in EXERCISES.values() if getattr(record, "large", None)]


def large_call(record, seed):
    """Arguments as large as those of the record's large call."""
    large = record.large
    small = enumerate(large.inputs(torch.Generator().manual_seed(seed)))
    return [a.repeat_interleave(large.times, large.dimension) if i in large.rows else a for i, a in small]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_the_large_call_is_large_enough_to_tell(record):
    """What is right, twice, leaves the slack behind."""
    args = large_call(record, 0)
    assert record.most_bytes(*args) >= 2 * confine.SLACK


@needs_isolation
def test_memory_that_was_given_back_is_not_counted(worker):
    """Our own answer takes a few blocks of logits at a time, each of which it frees. Were they kept in the heap, it
    would not get along with half of what is right.
    """
    record = EXERCISES["linear_cross_entropy_forward_backward"]
    args, code = large_call(record, 102), answer(record.name, "torch")
    layouts = tuple((output.dtype, output.shape) for output in (torch.zeros(()), *args[:2]))
    with Isolated(code, record.contract, "torch", worker=worker) as runner:
        call = Call(args, layouts, memory=record.most_bytes(*args) // 2)
        assert runner.examine(call).first.trouble is None


def test_new_memory_is_filled_without_pytorchs_compiler():
    """Whose import takes longer than all calls of a candidate."""
    before = {*sys.modules}
    borrowed.fill_new_memory()
    try:
        assert torch.empty(1000).isnan().all()
        assert {*sys.modules} == before
    finally:
        torch._C._set_deterministic_algorithms(False)
