"""The learner's door to the twelve suspects: contracts, a call of both, and who is convicted so far."""

import inspect

import pytest
import torch
from answers import answer
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.run.answer import load
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


def test_an_unknown_line_up_is_named():
    with pytest.raises(ValueError, match="there is no line-up 'silu_witness'; there are precision_witness,"):
        suspects.contracts("silu_witness")
