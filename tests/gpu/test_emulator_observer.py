"""An observer of launches: what it is told, in which order, and a launch that it asks for again."""

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from graded_kernels.autograder.gpu.emulator import EmulatorError, Observed, Observer
from graded_kernels.autograder.gpu.emulator.observer import Byte


@triton.jit
def summed(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + tl.program_id(0), tl.sum(tl.load(x + i, mask=i < n)))


@triton.jit
def beyond(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i))


class Notes(Observer):
    """Notes what it is told, and runs what it wants of a launch again."""

    def __init__(self, wanted=lambda ended: None):
        self.told, self.wanted = [], wanted
        self.emulator = Observed(self, fill=0.0)

    def launch_begins(self, launch):
        self.told.append(f"{launch.name} begins")

    def launch_ended(self, ended):
        self.told.append(f"{ended.launch.name} ended {'badly' if ended.error else 'well'}")
        self.wanted(ended)

    def found(self, finding):
        self.told.append(finding.kind)

    def reached(self, functions):
        self.told.append(f"{functions[0]['kernel']} reached")


def test_it_is_told_of_a_launch_in_order():
    notes = Notes()
    with notes.emulator:
        summed[(2,)](torch.ones(100), torch.zeros(2), 100, BLOCK=64)
    assert notes.told == ["summed begins", "masked-load", "summed ended well", "summed reached"]


def test_it_is_told_of_a_launch_that_stops():
    notes = Notes()
    with notes.emulator, pytest.raises(EmulatorError):
        beyond[(1,)](torch.ones(10), torch.zeros(16), BLOCK=16)
    assert notes.told == ["beyond begins", "beyond ended badly", "beyond reached", "out-of-bounds"]


def test_a_finding_is_told_each_time_and_kept_once():
    notes = Notes()
    with notes.emulator as emulator:
        for _ in range(3):
            summed[(2,)](torch.ones(100), torch.zeros(2), 100, BLOCK=64)
    assert notes.told.count("masked-load") == 3
    assert [hint.kind for hint in emulator.hints] == ["masked-load"]


def test_a_launch_runs_again_with_other_values_and_leaves_no_trace():
    found = []

    def wanted(ended):
        (line,) = ended.masked_off
        for fill in (0.0, 1.0, lambda place: 2.0 if place == line else 0.0):
            with ended.again(np.array([1]), fill) as repeated:
                assert repeated.well
                assert [*repeated.masked_off] == [line]
                found.append(y.tolist())
        found.append(y.tolist())

    notes, y = Notes(wanted), torch.zeros(2)
    with notes.emulator as emulator:
        summed[(2,)](torch.ones(100), y, 100, BLOCK=64)
    assert found == [[64, 36], [64, 36 + 28], [64, 36 + 56], [64, 36]]
    assert [launch.name for launch in emulator.launches] == ["summed"]


def test_who_touches_a_byte_is_noted_in_the_order_that_was_asked_for():
    touches = []

    def wanted(ended):
        byte = Byte(x.untyped_storage().data_ptr(), 4 * 99)
        with ended.again(np.array([1, 0]), byte=byte) as repeated:
            touches.extend(repeated.touches)

    notes, x = Notes(wanted), torch.ones(100)
    with notes.emulator:
        summed[(2,)](x, torch.zeros(2), 100, BLOCK=64)
    (touch,) = touches
    assert touch.reads
    assert touch.program == 1
    assert "tl.load(x + i" in touch.place.source
