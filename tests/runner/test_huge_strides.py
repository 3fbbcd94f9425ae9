"""Arguments whose rows lie far apart: what they take, how they are copied and compared with their copies."""

import os

import torch
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.runner import InProcess, far_apart
from graded_kernels.autograder.runner.call import given
from graded_kernels.autograder.runner.call.given import unchanged
from graded_kernels.autograder.runner.call.huge_strides import duplicate


def test_an_argument_that_is_its_own_copy_is_not_compared(monkeypatch):
    compared, contract = [], EXERCISES["silu_forward"].contract
    monkeypatch.setattr(given, "unchanged", lambda *tensors: compared.append(tensors) or True)
    for copy, times in ((lambda tensor: tensor, 0), (duplicate, 1)):
        outcome = InProcess(lambda x: x + 1, contract, "torch", copy=copy).once((torch.ones(3),))
        assert (outcome.trouble, outcome.mutated, len(compared)) == (None, (), times)


def resident() -> int:
    """Bytes of memory this process has now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_rows_far_apart_take_the_memory_of_the_rows():
    before = resident()
    x = far_apart(torch.randn(3, 70).half())
    copy = duplicate(x)
    assert x.stride(0) * 2 == 2**31
    assert copy.equal(x)
    assert unchanged(x, copy)
    copy[2, 5] += 1
    assert not unchanged(x, copy)
    assert x[1].sum() == x[1].clone().sum()
    assert x.untyped_storage()[2**30] == 0  # what lies between them can be read
    assert resident() - before < 64 << 20


def test_addresses_are_given_back():
    def mapped():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")

    before = mapped()
    for _ in range(20):
        far_apart(torch.zeros(3, 7)).sum()
    assert mapped() - before < 1 << 30
