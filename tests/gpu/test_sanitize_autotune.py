"""Autotuned kernels under `sanitize`: configurations that are alike here, and what one leaves behind for the next."""

import pytest
import torch
import triton
import triton.language as tl
from graded_kernels.autograder.gpu.sanitize.skipped import Skipped
from graded_kernels.autograder.gpu.sanitize.watching import watched


def add_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(y, tl.sum(tl.load(x + i, mask=i < n, other=0.0)))


def accumulate_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    before = tl.load(y + i, mask=i < n, other=0.0)
    tl.store(y + i, before + tl.load(x + i, mask=i < n, other=0.0), mask=i < n)


def relu_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.maximum(tl.load(y + i, mask=i < n, other=0.0), 0.0), mask=i < n)


def copy_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n, other=0.0), mask=i < n)


def warps_kernel(x, y, n, BLOCK: tl.constexpr, num_warps: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n, other=0.0) * num_warps, mask=i < n)


def threads_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n, other=0.0) * tl.extra.cuda.num_threads(), mask=i < n)


def end_kernel(x, y, END: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < END, other=0.0), mask=i < END)


def zero(arguments):
    arguments["y"].zero_()


def config(block, hook=None, **options):
    return triton.Config({"BLOCK": block}, pre_hook=hook, **options)


BLOCKS = [config(16), config(64)]


def tuned(kernel, configs=BLOCKS, **restoring):
    """The findings, the events, and the result of an autotuned kernel on 50 numbers."""
    x, y, events = torch.arange(50.0) - 9, torch.zeros(50) - 1, []
    with watched(events.append, shim=False):
        if "zero" in restoring or configs is not BLOCKS:
            y.zero_()
        launch = triton.autotune(configs=configs, key=["n"], **restoring)(triton.jit(kernel))
        launch[lambda meta: (triton.cdiv(50, meta["BLOCK"]),)](x, y, 50)
    return [event["finding"] for event in events if "finding" in event], events, y


def launches(events):
    return sum("launch" in event for event in events)


def test_configurations_that_differ_for_the_compiler_alone_run_once():
    configs = [config(b, num_warps=w, num_stages=s) for b in (16, 64) for w in (1, 2, 8) for s in (2, 3)]
    found, events, y = tuned(copy_kernel, configs)
    assert found == []
    assert y.equal(torch.arange(50.0) - 9)
    assert launches(events) == 3
    told = Skipped()
    for event in events:
        if "skipped" in event:
            told.add(**event["skipped"])
    assert str(told).startswith("10 configurations of `copy_kernel` not run: one that was run differs in options of")


@pytest.mark.parametrize("kernel, factor", [(warps_kernel, 1), (threads_kernel, 32)])
def test_a_kernel_that_is_given_the_option_runs_with_each(kernel, factor):
    _, events, y = tuned(kernel, [config(64, num_warps=w) for w in (1, 2, 8)])
    assert launches(events) == 4
    assert y.equal(factor * (torch.arange(50.0) - 9))
    assert not any("skipped" in event for event in events)


@pytest.mark.parametrize(
    ("kernel", "line", "program", "restoring"),
    [
        (add_kernel, "tl.atomic_add(y,", [0, 0, 0], {"reset_to_zero": ["y"]}),
        (accumulate_kernel, "before = tl.load(y", [0, 0, 0], {"restore_value": ["y"]}),
    ],
)
def test_what_a_configuration_leaves_for_the_next(kernel, line, program, restoring):
    (finding,), _, _ = tuned(kernel)
    assert finding["kind"] == "left-state"
    assert (finding["level"], finding["tensor"], finding["offset"]) == ("fault", "y", 0)
    assert finding["program"] == program
    assert line in finding["source"]
    assert "element offset 0 of `y` becomes" in finding["message"]
    assert 'reset_to_zero=["y"]' in finding["message"]
    assert tuned(kernel, **restoring)[0] == []


@pytest.mark.parametrize("kernel", [relu_kernel, copy_kernel])
def test_what_is_the_same_when_it_is_done_twice_is_right(kernel):
    assert tuned(kernel)[0] == []


def test_a_hook_that_one_configuration_lacks():
    """Sums begin at zero whichever configuration is chosen: the second one has to see to it, too."""
    both = [config(16, zero), config(64, zero)]
    assert tuned(add_kernel, both)[0] == []
    (finding,), _, y = tuned(add_kernel, [config(16, zero), config(64)])
    assert finding["kind"] == "left-state"
    assert "In the configuration BLOCK: 64" in finding["message"]
    assert y[0] == (torch.arange(50.0) - 9).sum()


def ended(sizes, read=lambda y: y.sum(), before=lambda y: None):
    """The findings of a tuned kernel that stores ``sizes[i]`` of 50 elements; the first configuration wins here."""
    x, events = torch.arange(50.0), []
    configs = [triton.Config({"BLOCK": 64, "END": size}) for size in sizes]
    with watched(events.append, shim=False):
        y = torch.empty(50)
        before(y)
        launch = triton.autotune(configs=configs, key=[])(triton.jit(end_kernel))
        launch[(1,)](x, y)
        read(y)
    return [event["finding"] for event in events if "finding" in event]


def test_what_only_trial_runs_wrote_is_unwritten():
    (finding,) = ended((25, 50))
    assert finding["kind"] == "unwritten"
    assert "25 elements of `y` (50 in all) were never written" in finding["message"]
    assert "enough for all of it" not in finding["message"]


def test_what_another_configuration_leaves_unwritten():
    """The one that wins on a GPU may be that one."""
    (finding,) = ended((50, 25, 40))
    assert (finding["kind"], finding["level"], finding["tensor"]) == ("unwritten", "fault", "y")
    assert finding["offset"] == 25
    assert "another configuration" in finding["message"].lower()
    assert "END: 25" in finding["message"]
    assert "leaves 25 elements of `y` (50 in all) unwritten" in finding["message"]


def test_a_second_launch_overwrites_what_a_configuration_left_out():
    def read(y):
        triton.jit(end_kernel)[(1,)](torch.arange(50.0), y, END=50, BLOCK=64)
        y.sum()

    assert ended((50, 25), read) == []


@pytest.mark.parametrize(
    ("read", "before"),
    [
        (lambda y: y[:25].sum(), lambda y: None),
        (lambda y: y.sum(), lambda y: y.zero_()),
        (lambda y: y.zero_().sum(), lambda y: None),
        (lambda y: torch.neg(torch.ones(50), out=y).sum(), lambda y: None),
    ],
)
def test_what_a_configuration_may_leave_out(read, before):
    """A part that is not read, as a caller does who knows what was chosen, or what PyTorch writes, before or after."""
    assert ended((50, 25), read, before) == []


def through_kernel(table, x, END: tl.constexpr, BLOCK: tl.constexpr):
    y, i = tl.load(table).to(tl.pointer_type(tl.float32)), tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < END, other=0.0), mask=i < END)


@pytest.mark.parametrize(("sizes", "kinds"), [((50, 50), []), ((25, 50), ["uninitialised-read"])])
def test_what_trial_runs_wrote_through_a_stored_address(sizes, kinds):
    """The tensor is an argument of no launch but the last, which reads it."""
    x, events = torch.arange(50.0), []
    configs = [triton.Config({"BLOCK": 64, "END": size}) for size in sizes]
    with watched(events.append, shim=False):
        y = torch.empty(50)
        table = torch.tensor([y.data_ptr()])
        triton.autotune(configs=configs, key=[])(triton.jit(through_kernel))[(1,)](table, x)
        triton.jit(copy_kernel)[(1,)](y, torch.empty(50), 50, BLOCK=64)
    assert [event["finding"]["kind"] for event in events if "finding" in event] == kinds


def test_what_was_written_before_the_trials_stays_written():
    x, events = torch.arange(50.0), []
    with watched(events.append, shim=False):
        y = torch.empty(50)
        triton.jit(end_kernel)[(1,)](x, y, END=50, BLOCK=64)
        configs = [triton.Config({"BLOCK": 64, "END": size}) for size in (25, 50)]
        triton.autotune(configs=configs, key=[])(triton.jit(end_kernel))[(1,)](x, y)
        assert y.equal(x)
    assert [event["finding"] for event in events if "finding" in event] == []


def test_hooks_find_what_trials_stored_and_their_writes_stay():
    """As on a GPU; what comes after the trials has to write the rest anew."""
    seen, events, x = [], [], torch.arange(50.0)

    def before(arguments):
        seen.append(arguments["y"][:40].sum().item())

    def after(arguments, exception=None):
        seen.append(arguments["y"][10:40].sum().item())
        arguments["y"][40:] = 1

    ends = {end: triton.Config({"BLOCK": 64, "END": end}, pre_hook=before if end == 40 else None) for end in (50, 40)}
    with watched(events.append, shim=False):
        y = torch.empty(50)
        triton.autotune(configs=[*ends.values()], key=[], post_hook=after)(triton.jit(end_kernel))[(1,)](x, y)
        y[40:].sum()
    assert seen == [x[10:40].sum(), x[:40].sum(), x[10:40].sum()]
    assert [event["finding"] for event in events if "finding" in event] == []
