"""Streams and dependent launches: what a GPU may run at the same time, and what puts it in order."""

import threading

import pytest
import torch
import triton
import triton.language as tl
from graded_kernels.autograder.gpu.sanitize.watching import watched


@triton.jit
def doubled(x_ptr, y_ptr, n, WAITS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if WAITS:
        tl.extra.cuda.gdc_wait()
    tl.store(y_ptr + i, 2 * tl.load(x_ptr + i, mask=i < n, other=0.0), mask=i < n)


def launch(x, y, waits=False, **options):
    doubled[(2,)](x, y, x.numel(), WAITS=waits, BLOCK=64, **options)


def found(program):
    """What is found in a program on a simulated GPU, which is given two tensors and the one that a kernel made."""
    events = []
    with watched(events.append, device="h100"):
        x, y, z = (torch.ones(100, device="cuda") for _ in range(3))
        torch.cuda.synchronize()
        program(x, y, z)
        assert z.sum() == 400
    return [event["finding"] for event in events if "finding" in event]


def beside(order=None):
    """A kernel on a second stream, and one that reads its result."""

    def program(x, y, z):
        side, event = torch.cuda.Stream(), torch.cuda.Event()
        with torch.cuda.stream(side):
            launch(x, y)
            event.record()
        if order:
            order(side, event, y)
        launch(y, z)

    return program


def test_a_stream_that_does_not_wait():
    (finding,) = found(beside())
    assert (finding["kind"], finding["tensor"], finding["level"]) == ("unordered-launches", "x_ptr", "fault")
    assert "`doubled`, launched in line" in finding["message"]
    assert "wait_stream(other)" in finding["message"]


ORDERED = {
    "wait_stream": lambda side, event, y: torch.cuda.current_stream().wait_stream(side),
    "wait_event": lambda side, event, y: torch.cuda.current_stream().wait_event(event),
    "event.wait": lambda side, event, y: event.wait(),
    "event.synchronize": lambda side, event, y: event.synchronize(),
    "stream.synchronize": lambda side, event, y: side.synchronize(),
    "synchronize": lambda side, event, y: torch.cuda.synchronize(),
    "query": lambda side, event, y: event.query(),
}


@pytest.mark.parametrize("order", ORDERED)
def test_what_puts_streams_in_order(order):
    assert found(beside(ORDERED[order])) == []


@pytest.mark.parametrize("ask", [lambda y: y.sum().item(), lambda y: y.cpu(), lambda y: bool(y[0] > 0), str])
def test_what_the_host_asks_for_puts_streams_in_order(ask):
    def program(x, y, z):
        with torch.cuda.stream(torch.cuda.Stream()):
            launch(x, y)
            ask(y)
        launch(y, z)

    assert found(program) == []


def test_an_event_orders_what_came_before_it():
    def program(x, y, z):
        side, event = torch.cuda.Stream(), torch.cuda.Event()
        with torch.cuda.stream(side):
            event.record()
            launch(x, y)
        event.wait()
        launch(y, z)

    assert [finding["kind"] for finding in found(program)] == ["unordered-launches"]


def test_two_halves_of_a_tensor_may_be_computed_at_the_same_time():
    def program(x, y, z):
        with torch.cuda.stream(torch.cuda.Stream()):
            launch(x[:50], y[:50])
        launch(x[50:], y[50:])
        torch.cuda.synchronize()
        launch(y, z)

    assert found(program) == []


def test_two_launches_that_store_to_one_tensor():
    def program(x, y, z):
        with torch.cuda.stream(torch.cuda.Stream()):
            launch(x, y)
        launch(x, y)
        torch.cuda.synchronize()
        launch(y, z)

    assert [finding["tensor"] for finding in found(program)] == ["y_ptr"]


def replaced(x, y, z):
    """A kernel overwrites what one on a second stream, launched before it, loads."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        launch(x, y)
    return lambda: launch(z, x), side


def test_a_store_to_what_an_earlier_launch_loads():
    def program(x, y, z):
        replaced(x, y, z)[0]()
        torch.cuda.synchronize()
        launch(y, z)

    (finding,) = found(program)
    assert (finding["kind"], finding["tensor"]) == ("unordered-launches", "y_ptr")
    assert "has stored or loaded there" in finding["message"]


def test_a_store_that_waits_for_the_loads_of_another_stream():
    def program(x, y, z):
        store, side = replaced(x, y, z)
        torch.cuda.current_stream().wait_stream(side)
        store()
        launch(y, z)

    assert found(program) == []


def test_each_thread_has_its_own_current_stream():
    def program(x, y, z):
        side, seen = torch.cuda.Stream(), []

        def work():
            seen.append(torch.cuda.current_stream())
            launch(x, y)

        with torch.cuda.stream(side):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            assert torch.cuda.current_stream() is side
        assert seen == [torch.cuda.default_stream()]
        launch(y, z)

    assert found(program) == []


@pytest.mark.parametrize("joins", [True, False])
def test_a_replay_has_the_order_of_its_capture(joins):
    def program(x, y, z):
        side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                launch(x, y)
            if joins:
                side.record_event().wait()
            launch(y, z)
            torch.cuda.current_stream().wait_stream(side)
        graph.replay()
        launch(z, torch.empty_like(z))

    assert [finding["kind"] for finding in found(program)] == ["unordered-launches"] * (not joins)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.empty_like(x)
        launch(x, y)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, dy):
        dx, y = torch.empty_like(dy), ctx.saved_tensors[0]
        launch(dy.contiguous(), dx)
        launch(y, torch.empty_like(y))
        return dx


def test_pytorch_orders_the_streams_of_a_backward_pass():
    def program(x, y, z):
        x.requires_grad_()
        with torch.cuda.stream(torch.cuda.Stream()):
            y = Doubled.apply(x)
        y.backward(torch.ones_like(y))
        z.copy_(2 * x.grad)

    assert found(program) == []


@pytest.mark.parametrize(
    ("waits", "computes", "kinds"), [(False, False, ["unordered-launches"]), (True, False, []), (False, True, [])]
)
def test_a_dependent_launch_waits_before_it_reads(waits, computes, kinds):
    def program(x, y, z):
        launch(x, y)
        if computes:  # then it depends on that
            x.add_(1)
        launch(y, z, waits, launch_pdl=True)

    findings = found(program)
    assert [finding["kind"] for finding in findings] == kinds
    assert not kinds or "gdc_wait()` first" in findings[0]["message"]


def test_memory_is_pinned_as_it_is_made():
    with watched(lambda event: None):
        assert torch.zeros(3, pin_memory=True).is_pinned()
