"""The learner's door to the twelve suspects: contracts, a call of both, and who is convicted so far."""

import inspect
import itertools

import pytest
import torch
from answers import answer
from graded_kernels.autograder import EXERCISES, check
from graded_kernels.autograder.runner.call.answer import load
from graded_kernels.course import suspects


@pytest.mark.parametrize("name", suspects.WITNESSES)
def test_contracts_tell_the_call_and_nothing_of_the_bug(name, capsys):
    suspects.contracts(name)
    said = capsys.readouterr().out
    for one in EXERCISES[name].all:
        parameters = inspect.signature(one.exercise.oracle).parameters
        assert f"{one.exercise.name}({', '.join(parameters)[:5]}" in said
        assert one.exercise.summary.split(".")[0] in " ".join(said.split())
        assert one.bug.thread not in said
        assert one.bug.story[:20] not in said


def test_both_results_are_handed_over():
    x = torch.tensor([1e8, 1.0, 1.0])
    right, found = suspects.call("reverse_cumsum", x)
    assert right.tolist() == [1e8 + 2, 2.0, 1.0]
    assert found[1:].tolist() == [1.0, 1.0]
    assert x.tolist() == [1e8, 1.0, 1.0]


@pytest.mark.parametrize(
    "arguments, says",
    [
        (("reverse_sum", torch.ones(2)), "there is no suspect 'reverse_sum'; there are rotary,"),
        (("reverse_cumsum", torch.ones(2, 2)), "x is a vector"),
        (("reverse_cumsum",), "reverse_cumsum takes"),
        (("decay_to_end", torch.ones(2)), "A decay that grows"),
        (("rotary", torch.ones(2, 2), torch.ones(2)), "positions is float32. Use int64"),
    ],
)
def test_bad_input_gets_the_sentence_of_a_check(arguments, says):
    with pytest.raises(ValueError, match=says):
        suspects.call(*arguments)


@pytest.mark.parametrize("name", suspects.WITNESSES)
def test_the_line_up_tells_the_story_of_those_convicted_alone(name, capsys):
    ours, blocks = load(answer(name, "torch")), EXERCISES[name].all
    convicted = blocks[1].exercise.name
    suspects.line_up(name, lambda block: ours(block) if block == convicted else None)
    said = " ".join(capsys.readouterr().out.split())
    assert said.count(": convicted.") == 1
    assert blocks[1].bug.story in said
    assert blocks[1].bug.thread in said
    assert said.count(": not yet.") == 2
    assert blocks[0].bug.thread not in said
    suspects.line_up(name, ours)
    assert capsys.readouterr().out.count(": convicted.") == 3


@pytest.mark.parametrize("name", suspects.WITNESSES)
def test_an_input_that_shows_another_suspect_is_told(name):
    ours, record = load(answer(name, "torch")), EXERCISES[name]
    drawn, others = [record.drawn(seed).exercise.name for seed in range(3)], 0
    for found, (seed, asked) in itertools.product(drawn, enumerate(drawn)):
        report = check(name, lambda block, found=found: ours(found), seed=seed)
        told = [case.message for case in report.cases if "It shows the bug in" in case.message]
        assert report.passed or asked != found
        assert len(told) == (not report.passed)
        assert report.passed or (f" in {found}" in told[0] and told[0].endswith(f"; asked for is {asked}."))
        others += len(told)
    assert others >= 4  # an input may show two of them


def test_an_input_that_shows_no_suspect_is_not_told_so():
    report = check("scan_witness", lambda block: (-torch.ones(64),))
    assert report.cases[-1].status == "fail"
    assert not any("It shows" in case.message for case in report.cases)


def test_an_unknown_line_up_is_named():
    with pytest.raises(ValueError, match="there is no line-up 'silu_witness'; there are precision_witness,"):
        suspects.contracts("silu_witness")


def test_a_decay_of_one_in_place_of_a_small_one_convicts():
    """Off by 0.97 of 1, the most that a decay can be: a distance of 1 could not be reached but by more than 1."""
    record = EXERCISES["scan_witness"]
    seed = next(seed for seed in range(3) if record.drawn(seed).exercise.name == "decay_to_end")
    report = check("scan_witness", lambda block: (torch.tensor([-1e8, -1.0, -1.0, 0.0]),), seed=seed)
    assert report.passed, str(report)
