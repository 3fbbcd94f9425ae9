"""What a call may take: time, memory, output. Each limit has a sentence of its own, and ends nothing but the call."""

import pytest
import torch
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.sandbox import Isolated, Limits, Worker, probe
from graded_kernels.autograder.source import Answer, Cell

pytestmark = pytest.mark.skipif(probe().rung is None, reason=f"not run: {probe()}")

MIB = 1 << 20
X = torch.tensor([0.0, -0.5, 3.0])
RIGHT = "    return x * x.sigmoid()\n"


@pytest.fixture(scope="module")
def worker():
    with Worker() as shared:
        yield shared


def isolated(body: str, worker: Worker, **limits) -> Isolated:
    source = f"import ctypes, sys, time\nimport torch\n\ncalls = []\n\n\ndef silu_forward(x):\n{body}{RIGHT}"
    code = Answer("silu_forward", (Cell("cell", source),))
    return Isolated(code, EXERCISES["silu_forward"], "torch", limits=Limits(**limits), worker=worker)


def test_a_call_that_takes_too_long_is_ended(worker):
    with isolated("    time.sleep(30)\n", worker, seconds=0.5) as runner:
        trouble = runner.call((X,)).trouble
    assert (trouble.kind, trouble.message) == ("timeout", "The call did not end within 0.5 s.")


def test_every_call_has_its_own_time(worker):
    """Three calls in one process, each within the limit, all of them beyond it."""
    with isolated("    time.sleep(0.5)\n", worker, seconds=1.2) as runner:
        runner.call((X,))
        later = (X.clone(),)
        assert runner.call(later).trouble is None and runner.call(later).trouble is None


def test_a_later_call_that_takes_too_long_is_the_second_ones_trouble(worker):
    with isolated("    calls.append(1)\n    time.sleep(30 * (len(calls) > 2))\n", worker, seconds=1.0) as runner:
        runner.call((X,))
        later = (X.clone(),)
        assert runner.call(later).outputs[0].equal(X * X.sigmoid())
        assert runner.call(later).trouble.kind == "timeout"


def test_all_calls_together_are_limited(worker):
    with isolated("    time.sleep(2.5)\n", worker, seconds=60.0, total_seconds=4.0) as runner:
        assert runner.call((X,)).trouble is None
        for _ in range(2):
            trouble = runner.call((X.clone(),)).trouble
            assert trouble.kind == "timeout"
            assert trouble.message == "All calls together took 4 s, which is the most they may take."


def test_the_start_of_the_worker_is_no_call():
    with Worker() as own, isolated("", own, total_seconds=1.5) as runner:
        for _ in range(2):
            assert runner.call((X.clone(),)).trouble is None


@pytest.mark.parametrize(
    "take",
    [
        "held = [ctypes.create_string_buffer(b'x' * 2**20) for _ in range(160)]; time.sleep(5)",  # seen by the watch
        "held = torch.ones(1 << 30, dtype=torch.uint8)",  # refused by the limit of the process
        "held = bytearray(1 << 30)",
    ],
)
def test_a_call_that_takes_too_much_memory_is_ended(take, worker):
    body = f"    {take}\n"
    with isolated(body, worker, memory=128 * MIB) as runner:
        trouble = runner.call((X,)).trouble
    assert (trouble.kind, trouble.message) == ("memory", "The call took more than 128 MiB of memory.")


@pytest.mark.parametrize("write", ["print('x' * n, end='')", "sys.stderr.write('x' * n)"])
def test_a_call_that_prints_too_much_is_ended(write, worker):
    most = "The call printed more than 524,288 bytes, which is the most it may print. Take out what prints in a loop."
    with isolated(f"    n = {MIB // 2}\n    {write}\n", worker, printed=MIB // 2) as runner:
        assert runner.call((X,)).trouble is None  # exactly as much as it may
        assert 60_000 < len(runner.printed) < 70_000  # of which the beginning is kept
        assert runner.call((X.clone(),)).trouble is None  # the limit is one call's, and here are three
    with isolated(f"    n = {MIB // 2 + 1}\n    {write}\n", worker, printed=MIB // 2) as runner:
        trouble = runner.call((X,)).trouble
        assert (trouble.kind, trouble.message) == ("output", most) and trouble.details.startswith("xxx")


def test_a_call_that_prints_without_end_does_not_take_its_time(worker):
    with isolated("    while True:\n        print('x' * 1000)\n", worker, seconds=600.0, total_seconds=600.0) as runner:
        assert runner.call((X,)).trouble.kind == "output"
