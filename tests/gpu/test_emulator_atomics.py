"""Atomics whose result is used, in launches that run together: what one program after the other gives, and finds."""

import functools

import meeting
import pytest
import random_meetings
import torch
from both_ways import assert_same, observe
from graded_kernels.autograder.gpu.emulator import Emulator, Replay, access
from graded_kernels.autograder.gpu.emulator.grid import lockstep
from turns import in_turn

TOGETHER = {
    "slots": meeting.slots,
    "places in experts": meeting.experts,
    "queue": meeting.tiles,
    "split-k": meeting.splits,
    "locks": meeting.locks,
    "locks by exchange": functools.partial(meeting.locks, "exchanged"),
    "one lock": functools.partial(meeting.locks, locks=1, rows=7),
    "gradients": meeting.gradients,
    "every atomic": meeting.atomics,
}
FOUND = {  # what runs one program at a time, to be told
    "split-k without a barrier": (functools.partial(meeting.splits, "no barrier"), {"race-read"}),
    "split-k without an order": (functools.partial(meeting.splits, "relaxed"), {"race-read", "store-conflict"}),
    "no lock": (functools.partial(meeting.locks, "no lock"), {"race-read", "store-conflict"}),
    "a lock without a barrier": (functools.partial(meeting.locks, "no barrier"), {"race-read", "store-conflict"}),
    "parts that may not be there": (meeting.shares, {"race-write"}),
    "a wait that ends by itself": (functools.partial(meeting.shares, "counted"), {"race-write"}),
}


@pytest.mark.parametrize(("name", "shuffle"), in_turn(TOGETHER, (None, 1)))
def test_programs_that_meet_run_together(name, shuffle):
    assert assert_same(TOGETHER[name], shuffle) == []
    assert observe(TOGETHER[name], "in small passes", shuffle)[1] == []  # which have the launch's order


@pytest.mark.parametrize(("name", "shuffle"), in_turn(FOUND, (None, 1)))
def test_what_an_atomic_does_not_put_in_order_is_found(name, shuffle):
    program, kinds = FOUND[name]
    assert assert_same(program, shuffle)
    with Emulator(shuffle=shuffle) as emulator:
        program()
    assert {finding.kind for finding in emulator.findings} == kinds


def test_what_they_compute_is_right():
    with Emulator() as emulator:
        total, (c, count), (dw, db), tiles = meeting.locks(), meeting.splits(), meeting.gradients(), meeting.tiles()[0]
    assert not emulator.fallbacks
    rows = meeting.randn(23, 64)
    torch.testing.assert_close(total, torch.stack([rows[lock::5].sum(0) for lock in range(5)]))
    product = meeting.randn(3 * 16, 160) @ meeting.randn(160, 16)
    torch.testing.assert_close(c.reshape(-1, 16), product, rtol=1e-5, atol=1e-4)
    assert not count.any()
    x, dy = meeting.randn(30, 50), meeting.randn(50, 30).T
    torch.testing.assert_close(dw.sum(0), (dy * (x - x.mean(1, keepdim=True))).sum(0), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(db.sum(0), dy.sum(0), rtol=1e-4, atol=1e-4)
    assert tiles.equal(meeting.randn(37 * 16) * 2 + torch.arange(37.0).repeat_interleave(16))


def test_programs_may_wait_for_earlier_ones():
    assert assert_same(meeting.streams) == []


def test_programs_that_wait_for_later_ones_are_refused_as_ever(monkeypatch):
    monkeypatch.setattr(access, "PATIENCE", 100)
    fallbacks = assert_same(lambda: meeting.streams(later=True))
    assert [why for _, why in fallbacks] == ["an atomic that may wait for a later program"]
    assert "smaller number" in observe(lambda: meeting.streams(later=True), "together")[0].error


def test_a_lock_that_is_never_given_back_ends_the_launch(monkeypatch):
    monkeypatch.setattr(access, "PATIENCE", 100)

    def program():
        return meeting.locks("never released", locks=2, rows=5)

    assert [why for _, why in assert_same(program)] == ["programs that wait for each other"]
    assert "which no program stores: a GPU would not come back" in observe(program, "together")[0].error


def test_programs_that_take_what_a_later_one_gives_are_refused(monkeypatch):
    monkeypatch.setattr(access, "PATIENCE", 100)
    fallbacks = assert_same(meeting.taken)
    assert [why for _, why in fallbacks] == ["an atomic that may wait for a later program"]
    assert "smaller number" in observe(meeting.taken, "together")[0].error


@pytest.mark.parametrize(
    ("how", "why"),
    (("added", "programs that wait for each other"), ("exchanged", "an atomic that may wait for a later program")),
)
def test_a_wait_whose_atomic_changes_the_word_each_time_ends(how, why, monkeypatch):
    monkeypatch.setattr(lockstep, "_MOST_ROUNDS", 20)
    assert assert_same(functools.partial(meeting.helped, how)) == [("under_a_lock_of_a_helper", why)]


def test_a_load_before_many_of_other_programs_is_held_against_a_release():
    fallbacks = assert_same(meeting.loaded)
    assert [why for _, why in fallbacks] == ["more loads before a release than are kept"]
    with Emulator() as emulator:
        meeting.loaded()
    assert {finding.kind for finding in emulator.findings} == {"race-write"}


@pytest.mark.parametrize("how", ("", "if", "and"))
def test_a_launch_may_do_without_a_lock(how):
    assert_same(functools.partial(meeting.optional, how))
    with Emulator() as emulator:
        y = meeting.optional(how)
    assert y.equal(meeting.randn(4 * 32))
    assert not emulator.findings


def test_tickets_follow_the_order_of_the_programs():
    """A launch in another order has other tickets, so that an answer that depends on them is told."""
    seen = []
    for shuffle in (None, 1):
        with Emulator(shuffle=shuffle) as emulator:
            seen.append(meeting.tickets())
        assert not emulator.fallbacks
    assert seen[0].tolist() == list(range(30))
    assert sorted(seen[1].tolist()) == list(range(30)) != seen[1].tolist()


def test_programs_take_two_tickets_each_in_some_order():
    """Together each takes its first before any takes its second, as they may on a GPU."""
    taken = []
    for way in ("together", "in small passes", "one at a time"):
        with Emulator() as emulator:
            emulator.together = way != "one at a time"
            slots, count = meeting.pairs()
        assert not emulator.fallbacks
        assert count.item() == 60
        taken.append(slots)
        assert sorted(slots[slots > 0].tolist()) == list(range(1, 31))
    assert not taken[0].equal(taken[2])


def test_two_tickets_of_a_program_are_farther_apart_in_one_order():
    """A GPU promises no distance, so that an answer that relies on one is told by its second call."""
    replay, distances = Replay(), []
    for shuffle in (None, 1):
        with Emulator(shuffle=shuffle, replay=replay) as emulator:
            distances.append(set(meeting.distances().tolist()))
        assert not emulator.fallbacks
    assert distances == [{30}, {15}]


def test_programs_that_part_behind_a_ticket_run_one_at_a_time():
    fallbacks = assert_same(meeting.left)
    assert [why for _, why in fallbacks] == ["programs part after an atomic whose result is used"]


@pytest.mark.parametrize(
    "seeds", [range(6), *(pytest.param(range(k, k + 30), marks=pytest.mark.exhaustive) for k in (6, 36))]
)
def test_random_programs_that_meet(seeds, monkeypatch):
    """Most of them race; a third and more run together."""
    monkeypatch.setattr(access, "PATIENCE", 200)
    ran = []
    for seed in seeds:
        program, shuffle = random_meetings.program(seed), (None, 1)[seed % 2]
        alone, _ = observe(program, "one at a time", shuffle)
        for way in ("together", "in small passes"):
            seen, fallbacks = observe(program, way, shuffle)
            assert seen == alone, (seed, way)
            ran.append((bool(fallbacks), bool(alone.findings)))
    assert {(True, True), (False, False)} <= set(ran)
