"""The learner's door to the twelve suspects: contracts, a call of both, and who is convicted so far."""

import inspect

import pytest
import torch
from answers import answer
from graded_kernels.autograder import EXERCISES, check
from graded_kernels.course import suspects


def test_there_are_twelve():
    names = [asked.exercise.name for witness in suspects.WITNESSES for asked in EXERCISES[witness].all]
    assert len(set(names)) == len(names) == 12


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
    ours, blocks = answer(name, "torch").load(), EXERCISES[name].all
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
    ours, names, others = answer(name, "torch").load(), suspects.names(name), 0
    for found in names:
        report = check(name, lambda block, found=found: ours(found))
        for asked in names:
            own = [case for case in report.cases if case.suspect == asked]
            told = [case.message for case in own if "It shows the bug in" in case.message]
            shown = all(case.status == "pass" for case in own)
            assert shown or asked != found
            assert len(told) == (not shown)
            assert shown or (f" in {found}" in told[0] and told[0].endswith(f"; asked for is {asked}."))
            others += len(told)
    assert others >= 4  # an input may show two of them


@pytest.mark.parametrize("name", suspects.WITNESSES)
@pytest.mark.parametrize("wanting", [lambda: None, lambda: (), lambda: 1 / 0], ids=["nothing", "empty", "raises"])
def test_each_suspect_is_worth_as_much(name, wanting):
    ours, names = answer(name, "torch").load(), suspects.names(name)
    for convicted in range(len(names) + 1):
        report = check(name, lambda block, few=names[:convicted]: ours(block) if block in few else wanting())
        assert report.score == pytest.approx(convicted / len(names), abs=1e-6)
        assert report.passed == (convicted == len(names))


def test_a_suspect_that_is_not_written_yet_costs_its_part_alone():
    def partly(block):
        if block != "reverse_cumsum":
            raise NotImplementedError
        return ours(block)

    def nothing(block):
        raise NotImplementedError

    ours = answer("scan_witness", "torch").load()
    report = check("scan_witness", partly)
    assert report.score == pytest.approx(1 / 3, abs=1e-6)
    assert report.summary != "not implemented yet"
    report = check("scan_witness", nothing)
    assert (report.score, report.summary) == (0, "not implemented yet")


def test_an_input_that_shows_no_suspect_is_not_told_so():
    report = check("scan_witness", lambda block: (-torch.ones(64),))
    assert report.cases[-1].status == "fail"
    assert not any("It shows" in case.message for case in report.cases)


def test_the_line_up_gives_a_hint_where_a_right_input_convicts_nobody(capsys):
    suspects.line_up("scan_witness", lambda block: (torch.tensor([1.0, 2.0]),))
    (line,) = (one for one in capsys.readouterr().out.replace("\n    ", " ").splitlines() if "reverse_cumsum:" in one)
    assert "not yet. What is planted in reverse_cumsum is exactly right on this input." in line
    assert line.endswith("One of them is a difference: of which numbers?")


def test_an_unknown_line_up_is_named():
    with pytest.raises(ValueError, match="there is no line-up 'silu_witness'; there are precision_witness,"):
        suspects.contracts("silu_witness")


def test_a_decay_of_one_in_place_of_a_small_one_convicts():
    """Off by 0.97 of 1, the most that a decay can be: a distance of 1 could not be reached but by more than 1."""
    report = check("scan_witness", lambda block: (torch.tensor([-1e8, -1.0, -1.0, 0.0]),))
    own = [case for case in report.cases if case.suspect == "decay_to_end"]
    assert [case.status for case in own] == ["pass"] * 3, str(report)
