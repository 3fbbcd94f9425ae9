"""The kernels to break: each is what its chapter shows, passes the chapter's own test, and is convicted by our input
and by another one; ordinary input convicts none of them, and nothing convicts right code.
"""

import dataclasses

import pytest
import torch
from answers import SETUP, answer
from graded_kernels.autograder import EXERCISES, check
from graded_kernels.autograder.gpu import Emulator
from graded_kernels.autograder.runner import Answer, Cell, Tree
from graded_kernels.course.build import ROOT
from graded_kernels.course.chapter_rules import split

CHAPTERS = {
    "offset_witness": "04b_last_layer",
    "window_witness": "05_attention",
    "scaled_keys_witness": "05b_flash_attention",
    "lion_witness": "08_256_plus_1",
    "rank_witness": "09_equal_neighbours",
    "limit_witness": "09b_train_and_convict",
    "tile_witness": "09c_how_fast",
    "group_witness": "10_neighbours",
    "bias_witness": "11_router",
}
DEVICE = """
import torch.nn.functional as F

DEVICE = "cpu"
"""  # what the chapters' first cells have beside the setup of answers
ONE = torch.ones(3)


def drawn(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


ORDINARY = {
    "window_witness": lambda seed: (drawn(seed, 4, 100),),
    "lion_witness": lambda seed: tuple(drawn(seed, 3, 16)),
    "rank_witness": lambda seed: (drawn(seed, 4, 50), torch.tensor([0, 1, 7, 49])),
    "offset_witness": lambda seed: (drawn(seed, 4, 50), torch.tensor([0, 1, 7, 49])),
    "scaled_keys_witness": lambda seed: tuple(drawn(seed, 2, 30, 32).bfloat16()),
    "limit_witness": lambda seed: tuple(drawn(seed, 2, 50)),
    "tile_witness": lambda seed: (drawn(seed, 4, 300), drawn(seed + 1, 4, 3)),
    "group_witness": lambda seed: (drawn(seed, 4, 300), drawn(seed + 1, 4, 3)),
    "bias_witness": lambda seed: (drawn(seed, 4, 50), torch.zeros(50)),
}
OTHERS = {
    "window_witness": (torch.eye(8) * 3, 8),
    "lion_witness": (100 * ONE, ONE, ONE, 0.01, 0.5, 0.5),
    "rank_witness": (torch.tensor([[2.0, 1.0, 2.0, 2.0]]).half(), torch.tensor([2])),
    "offset_witness": (torch.tensor([[-3e7, -3e7 + 2, -3e7]]), torch.tensor([1])),
    "scaled_keys_witness": (torch.tensor([[256.0, 0.0]]).bfloat16(), torch.tensor([[5.0, 1.0], [4.0, 0.0]]).bfloat16()),
    "limit_witness": (torch.tensor([1.0, -3.0]), torch.tensor([2.0, 50.0]), 7.0),
    "tile_witness": (torch.arange(100.0)[None], torch.arange(5.0)[None], 20),
    "group_witness": (torch.arange(2 * 96.0).view(1, 192) / 2, torch.tensor([[3.0, -1.0]])),
    "bias_witness": (torch.tensor([[-3.0, 2.0, -3.0]]), torch.tensor([101.0, -7.0, 101.2])),
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
    "offset_witness": [
        ((torch.ones(1, 3), torch.tensor([3])), "A label lies"),
        ((torch.full((1, 3), 1e10), torch.tensor([0])), "1e9"),
    ],
    "scaled_keys_witness": [
        ((torch.ones(2, 3).bfloat16(), torch.ones(2, 3).bfloat16()), "power of two"),
        ((torch.ones(2, 4), torch.ones(2, 4)), "bfloat16"),
    ],
    "limit_witness": [((ONE, ONE[:2]), "one shape"), ((ONE, ONE, 0.0), "limit is above 0")],
    "tile_witness": [((torch.ones(1, 64), torch.ones(1, 1), 32), "a scale for each group"), ((ONE, ONE), "matrix")],
    "group_witness": [((torch.ones(1, 64), torch.ones(1, 2)), "a scale for each group")],
    "bias_witness": [
        ((torch.ones(1, 2), torch.ones(2)), "tie"),
        ((torch.ones(1, 2).half(), torch.ones(2)), "float32"),
        ((torch.ones(2), torch.ones(2)), "matrix"),
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
    return Answer(EXERCISES[name].exercise.name, (SETUP, Cell("device", DEVICE), *cells)).load()


@pytest.mark.parametrize("name", CHAPTERS)
def test_the_chapter_shows_what_is_judged_and_its_test_passes(name, capsys):
    bug = EXERCISES[name].bug.function
    with Emulator():
        function = shown(name)
        assert capsys.readouterr().out == "True\n"
        for args in (Tree.of(answer(name, "torch").load()()).args, OTHERS[name], ORDINARY[name](1)):
            found, judged = function(*args), bug(*args)
            assert torch.allclose(found, judged, rtol=1e-6, atol=1e-7, equal_nan=True), (found, judged)


@pytest.mark.parametrize("name", CHAPTERS)
def test_our_answer_breaks_it_and_so_does_another_input(name):
    assert check(name, answer(name, "torch").load()).score == 1
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
    for args in (Tree.of(answer(name, "torch").load()()).args, OTHERS[name], ORDINARY[name](0)):
        bug = dataclasses.replace(record.bug, function=right)
        report = check(dataclasses.replace(record, bug=bug), lambda args=args: args)
        assert [case.status for case in report.cases] == ["pass", "pass", "fail"], (args, report)


def right_window(x, window=4096):
    seen = torch.arange(x.shape[1]) >= x.shape[1] - window
    return x.float().masked_fill(~seen, -torch.inf).softmax(1)


def right_lion(param, grad, m, lr=1e-4, beta=0.9, decay=0.01):
    return param * (1 - lr * decay) - lr * torch.sign(beta * m + (1 - beta) * grad)


def right_rank(logits, rank):
    ranked = [sorted(range(len(row)), key=lambda token, row=row: (-row[token], token)) for row in logits.tolist()]
    return torch.tensor([row[place] for row, place in zip(ranked, rank.tolist(), strict=True)])


def right_row_loss(logits, labels):
    v = logits.float() - logits.float().amax(1, keepdim=True)
    return v.exp().sum(1).log() - v[torch.arange(len(v)), labels]


def right_probabilities(q, k):
    return (q.float() @ k.float().T / q.shape[1] ** 0.5).softmax(1)


def right_limit(gate, up, limit=10.0, alpha=0.0):
    g, u = gate.clamp(max=limit), up.clamp(min=-limit, max=limit)
    return torch.nn.functional.silu(alpha * g) / alpha * (u + 1) if alpha else torch.nn.functional.silu(g) * u


def right_sum(x, scale, group=128):
    return torch.stack([part.sum(1) for part in x.split(group, 1)], 1).mul(scale).sum(1)


RIGHT = {
    "window_witness": right_window,
    "lion_witness": right_lion,
    "rank_witness": right_rank,
    "offset_witness": right_row_loss,
    "scaled_keys_witness": right_probabilities,
    "limit_witness": right_limit,
    "tile_witness": right_sum,
    "group_witness": right_sum,
    "bias_witness": lambda logits, bias: (logits.sigmoid() + bias).argmax(1),
}
