"""The kernels to break: each is what its chapter shows, passes the chapter's own test, and is convicted by our input
and by another one; ordinary input convicts none of them, and nothing convicts right code.
"""

import dataclasses

import pytest
import torch
from answers import SETUP, answer
from graded_kernels.autograder import EXERCISES, check
from graded_kernels.autograder.gpu import Emulator
from graded_kernels.autograder.judge.judge import judge
from graded_kernels.autograder.judge.settings import Settings
from graded_kernels.autograder.runner.call.answer import Answer, Cell, load
from graded_kernels.autograder.runner.call.runner import InProcess
from graded_kernels.autograder.runner.call.tree import Tree
from graded_kernels.course.build import ROOT
from graded_kernels.course.chapter_rules import split

CHAPTERS = {
    "window_witness": "05_attention",
    "lion_witness": "08_256_plus_1",
    "rank_witness": "09_equal_neighbours",
}
ONE = torch.ones(3)


def drawn(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


ORDINARY = {
    "window_witness": lambda seed: (drawn(seed, 4, 100),),
    "lion_witness": lambda seed: tuple(drawn(seed, 3, 16)),
    "rank_witness": lambda seed: (drawn(seed, 4, 50), torch.tensor([0, 1, 7, 49])),
}
OTHERS = {
    "window_witness": (torch.eye(8) * 3, 8),
    "lion_witness": (100 * ONE, ONE, ONE, 0.01, 0.5, 0.5),
    "rank_witness": (torch.tensor([[2.0, 1.0, 2.0, 2.0]]).half(), torch.tensor([2])),
}
BAD = {
    "window_witness": [((torch.ones(2, 3), 0), "window is 1"), ((torch.ones(3),), "matrix")],
    "lion_witness": [
        ((ONE, ONE, -ONE / 9), "rounding decides"),
        ((ONE, ONE, ONE[:2]), "one shape"),
        ((ONE, ONE, ONE, 0.0), "lr is 1e-6"),
    ],
    "rank_witness": [
        ((torch.ones(1, 3), torch.tensor([3])), "between 0"),
        ((torch.ones(3), torch.ones(3).long()), "are a"),
    ],
}


def statuses(name, args):
    return [case.status for case in check(name, lambda: args).cases]


def shown(name):
    """The function that the chapter's cells on it define, after its own test has run."""
    text = (ROOT / "course" / "chapters" / f"{CHAPTERS[name]}.md").read_text(encoding="utf-8")
    _, blocks = split(text.partition("## Break it")[2].partition("{exercise}")[0])
    cells = ["\n".join(line for _, line in block.lines) for block in blocks]
    cells = [Cell(f"{name}-{number}", source) for number, source in enumerate(cells)]
    return load(Answer(EXERCISES[name].exercise.name, (SETUP, Cell("device", 'DEVICE = "cpu"'), *cells)))


@pytest.mark.parametrize("name", CHAPTERS)
def test_the_chapter_shows_what_is_judged_and_its_test_passes(name, capsys):
    bug = EXERCISES[name].bug.function
    with Emulator():
        function = shown(name)
        assert capsys.readouterr().out == "True\n"
        for args in (Tree.of(load(answer(name, "torch"))()).args, OTHERS[name], ORDINARY[name](1)):
            found, judged = function(*args), bug(*args)
            assert torch.allclose(found, judged, rtol=1e-6, atol=1e-7, equal_nan=True), (found, judged)


@pytest.mark.parametrize("name", CHAPTERS)
def test_our_answer_breaks_it_and_so_does_another_input(name):
    assert check(name, load(answer(name, "torch"))).score == 1
    assert statuses(name, OTHERS[name]) == ["pass", "pass", "pass"]


@pytest.mark.parametrize("name", CHAPTERS)
def test_ordinary_input_breaks_nothing(name):
    assert [statuses(name, ORDINARY[name](seed)) for seed in range(8)] == [["pass", "pass", "fail"]] * 8


@pytest.mark.parametrize("name, args, says", [(name, *one) for name, bad in BAD.items() for one in bad])
def test_what_the_contract_forbids_is_told(name, args, says):
    first = check(name, lambda: args).cases[0]
    assert first.status == "fail"
    assert says in first.message


@pytest.mark.parametrize("name", CHAPTERS)
def test_right_code_is_not_convicted(name):
    record = EXERCISES[name]
    right = RIGHT[name]
    for args in (Tree.of(load(answer(name, "torch"))()).args, OTHERS[name], ORDINARY[name](0)):
        bug = dataclasses.replace(record.bug, function=right)
        report = judge(
            dataclasses.replace(record, bug=bug),
            InProcess(lambda args=args: args, record.contract, "torch"),
            Settings("torch"),
        )
        assert [case.status for case in report.cases] == ["pass", "pass", "fail"], (args, report)


def right_window(x, window=4096):
    seen = torch.arange(x.shape[1]) >= x.shape[1] - window
    return x.float().masked_fill(~seen, -torch.inf).softmax(1)


def right_lion(param, grad, m, lr=1e-4, beta=0.9, decay=0.01):
    return param * (1 - lr * decay) - lr * torch.sign(beta * m + (1 - beta) * grad)


def right_rank(logits, rank):
    ranked = [sorted(range(len(row)), key=lambda token, row=row: (-row[token], token)) for row in logits.tolist()]
    return torch.tensor([row[place] for row, place in zip(ranked, rank.tolist(), strict=True)])


RIGHT = {"window_witness": right_window, "lion_witness": right_lion, "rank_witness": right_rank}
