"""What is recorded of an answer: its launches, of which as few run as it needs to take the way that it would take."""

from types import MappingProxyType

import pytest
import torch
import triton
import triton.language as tl
from answers import our_answer
from graded_kernels.autograder import EXERCISES, Emulator
from graded_kernels.autograder.runner.sandbox.worker.recorder import Recorder
from graded_kernels.autograder.runner.sandbox.worker.replay import Player
from triton.runtime import interpreter


@triton.jit
def add_kernel(x_ptr, y_ptr, n, more, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n, other=0.0) + more, mask=at < n)


def added(x, more):
    y = torch.zeros_like(x)
    add_kernel[(1,)](x, y, x.numel(), more, BLOCK=16)
    return y


@pytest.fixture
def launches():
    """The numbers that the launches add which ran: in the emulator, since the interpreter alone leaves Triton's
    language changed.
    """
    found = []
    with Emulator(), pytest.MonkeyPatch.context() as patch:
        original = interpreter.GridExecutor.__call__

        def call(executor, *args, **options):
            found.append(args[3])
            return original(executor, *args, **options)

        patch.setattr(interpreter.GridExecutor, "__call__", call)
        yield found


@pytest.fixture
def calls():
    return []


X = torch.arange(8.0)


def recorded(function, calls) -> Recorder:
    def counted(x):
        calls.append(0)
        return function(x)

    recorder = Recorder(counted)
    recorder(X)
    assert recorder.plan is not None, recorder.reason
    return recorder


def planned(recorder: Recorder) -> list:
    return [step["arguments"]["more"] for step in recorder.plan["steps"] if "launch" in step]


def test_a_kernel_whose_result_nobody_reads_does_not_run(launches, calls):
    assert planned(recorded(lambda x: added(added(x, 1), 2), calls)) == [1, 2]
    assert (len(calls), launches) == (1, [])


def test_before_a_number_is_read_the_kernels_launched_so_far_run(launches, calls):
    def answer(x):
        first = added(x, 1)[0].item()
        return added(added(x, 2), 3 if first == 1 else 9)

    assert planned(recorded(answer, calls)) == [1, 2, 3]
    assert (len(calls), launches) == (1, [1])


def test_a_number_of_an_input_is_read_without_a_kernel(launches, calls):
    assert planned(recorded(lambda x: added(added(x, 1), x[3].item()), calls)) == [1, 3]
    assert (len(calls), launches) == (1, [])


def test_where_an_operator_came_first_all_is_recorded_again(launches, calls):
    def answer(x):
        copy = added(x, 1).clone()
        return added(x, 2 if copy[0].item() == 1 else 9)

    assert planned(recorded(answer, calls)) == [1, 2]
    assert (len(calls), launches) == (2, [1, 2])


def test_an_error_that_a_wrong_number_led_to_does_not_count(launches, calls):
    def answer(x):
        if added(x, 1).clone()[0].item() != 1:
            raise IndexError("not 1")
        return added(x, 2)

    assert planned(recorded(answer, calls)) == [1, 2]


def read_as_a_list(x):
    return x.tolist()[0]


def read_as_an_array(x):
    return float(x.numpy()[0])


def read_by_its_shape(x):
    return x.nonzero().numel() - 5


@pytest.mark.parametrize("read", (read_as_a_list, read_as_an_array, read_by_its_shape))
def test_after_a_first_number_others_are_right_whichever_way_they_are_read(launches, calls, read):
    def answer(x):
        assert added(x, 1)[0].item() == 1
        return added(x, 4 if read(added(x, 3)) == 3 else 9)

    assert planned(recorded(answer, calls)) == [1, 3, 4]
    assert (len(calls), launches) == (1, [1, 3])


@pytest.mark.parametrize("name", ("cross_entropy_forward", "cross_entropy_backward", "matmul"))
def test_what_is_recorded_is_what_a_record_with_all_kernels_has(name):
    record, function = EXERCISES[name], our_answer(name, "triton")
    for number, case in enumerate(record.cases[:6]):
        args = case.inputs(torch.Generator().manual_seed(number))
        one, other = Recorder(function), Recorder(function)
        with Emulator():
            one(*args)
            other._finish(other._called(args, running=True))
        assert one.plan == other.plan is not None


class _Launched:
    """In place of `replay.Kernels`: launches the kernel of this module."""

    names = MappingProxyType({})

    def launch(self, name, grid, arguments):
        add_kernel[tuple(grid)](**arguments)


def seen_as_others(x):
    y = torch.empty((2, 4))
    add_kernel[(1,)](x, y, 8, 1.0, BLOCK=16)  # the buffer as it was allocated
    z = torch.zeros(16)
    add_kernel[(1,)](y.view(-1), z[4:], 8, 1.0, BLOCK=16)  # flat, and from the middle on
    u = torch.empty_strided((2, 4), (1, 2), dtype=torch.float16)
    add_kernel[(1,)](x, u, 8, 3.0, BLOCK=16)  # a transposed one, and its bits as single precision
    return y.t(), z, u.t().view(torch.float32), torch.empty((0, 3))


def test_a_plan_gives_what_was_recorded_however_a_buffer_is_seen():
    with Emulator():
        recorder = Recorder(seen_as_others)
        recorder(X)
        assert recorder.plan is not None, recorder.reason
        x = torch.arange(8.0) * 3 + 1
        played, wanted = Player(recorder.plan, _Launched())(x), seen_as_others(x)
    for one, other in zip(played, wanted, strict=True):
        assert one.stride() == other.stride()
        assert one.shape == other.shape
        assert one.equal(other)
