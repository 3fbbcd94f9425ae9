"""Twelve parts of a block in which a bug that shipped is planted: each is convicted by our input and by another one,
right code by none, and ordinary input convicts nobody.
"""

import dataclasses

import pytest
import torch
from answers import answer
from graded_kernels.autograder import EXERCISES, check
from graded_kernels.autograder.judge import Job, make_verdict
from graded_kernels.autograder.runner import Answer, Cell, Limits, Tree
from turns import one_in

BF16 = torch.bfloat16
NAMES = ("precision_witness", "router_witness", "scan_witness", "sampler_witness")
SUSPECTS = {one.exercise.name: (name, one) for name in NAMES for one in EXERCISES[name].all}


def drawn(seed):
    g = torch.Generator().manual_seed(seed)
    return lambda *shape: torch.randn(*shape, generator=g)


def skewed(seed):
    """A router that prefers two of eight experts."""
    return drawn(seed)(32, 8) + torch.tensor([4.0, 4.0, 0, 0, 0, 0, 0, 0])


ORDINARY = {  # what a test without a suspicion would draw
    "rotary": lambda seed: (drawn(seed)(32, 16), torch.arange(32)),
    "scaled_norm": lambda seed: (drawn(seed)(4, 32).to(BF16), 0.1 * drawn(seed + 1)(32).to(BF16)),
    "embedding_gradient": lambda seed: (drawn(seed)(24, 16).to(BF16), torch.arange(24) % 8),
    "balance_loss": lambda seed: (drawn(seed)(64, 8),),
    "expert_weights": lambda seed: (drawn(seed)(64, 8),),
    "decay": lambda seed: (drawn(seed)(64), 0.001 + 0.05 * drawn(seed + 1)(64).sigmoid()),
    "chunk_steps": lambda seed: (drawn(seed)(64),),
    "decay_to_end": lambda seed: (-drawn(seed)(64).abs(),),
    "reverse_cumsum": lambda seed: (drawn(seed)(64),),
    "inverse_cdf": lambda seed: (torch.full((8,), 1 / 8), torch.tensor([0.05, 0.2, 0.33, 0.6, 0.9])),
    "gumbel_pick": lambda seed: (4 * drawn(seed)(16), torch.arange(1, 17) * 123_456_789),
    "top_k_probs": lambda seed: (drawn(seed)(16).softmax(0),),
}
OTHERS = {  # another way to convict each
    "rotary": (torch.ones(16, 64, dtype=torch.float16), torch.arange(4080, 4096)),
    "scaled_norm": (torch.full((3, 1), 5.0, dtype=torch.float16), torch.tensor([15.8125], dtype=BF16)),
    "embedding_gradient": (torch.full((1024, 1), 3.0, dtype=torch.float16), torch.full((1024,), 3)),
    "balance_loss": (skewed(0), 2),
    "expert_weights": (drawn(0)(5, 4), 1),
    "decay": (torch.zeros(3), torch.full((3,), 2.0)),
    "chunk_steps": (drawn(0)(5), 0.0),
    "decay_to_end": (
        torch.cat((torch.tensor([-1e8]), -3 * torch.rand(64, generator=torch.Generator().manual_seed(3))[1:])),
    ),
    "reverse_cumsum": (torch.cat((torch.full((32,), 1e8), torch.ones(32))),),
    "inverse_cdf": (torch.tensor([0.99995, 0.00005]), torch.tensor([0.99997])),
    "gumbel_pick": (torch.tensor([3.0, 0.0, -50.0]), torch.tensor([5, 6, 2**32 - 1])),
    "top_k_probs": (torch.full((4,), 0.25), 1),
}
BAD = {
    "rotary": [((torch.ones(2, 3), torch.arange(2)), "even D"), ((torch.ones(1, 2), torch.tensor([-1])), "between 0")],
    "scaled_norm": [((torch.ones(2, 3), torch.ones(2)), "weight is (N,)"), ((torch.ones(1, 1) * 1e5,) * 2, "weight")],
    "embedding_gradient": [((torch.ones(2, 3), torch.tensor([0, 8])), "between 0 and 7")],
    "balance_loss": [((torch.zeros(2, 4),), "tie"), ((drawn(0)(2, 4), 5), "k is 1"), ((torch.ones(2, 1),), "two exp")],
    "expert_weights": [((torch.zeros(2, 4), 3), "tie"), ((drawn(0)(2, 4), 0), "k is 1")],
    "decay": [((torch.ones(2), torch.tensor([1.0, -1.0])), "negative size"), ((torch.ones(2), torch.ones(3)), "one l")],
    "chunk_steps": [((torch.ones(17), float("nan")), "bias is finite"), ((torch.ones(2, 2),), "vector")],
    "decay_to_end": [((torch.tensor([-1e13, 0.0]),), "lie between"), ((torch.ones(2),), "A decay that grows")],
    "reverse_cumsum": [((torch.full((9,), 6e4, dtype=torch.float16),), "larger than torch.float16")],
    "inverse_cdf": [
        ((torch.tensor([0.5, 0.5]), torch.tensor([0.5])), "rounding decides"),
        ((torch.tensor([0.5, 0.6]), torch.tensor([0.1])), "not 1"),
        ((torch.tensor([0.5, 0.5]), torch.tensor([1.0])), "is not 1"),
    ],
    "gumbel_pick": [
        ((torch.zeros(2), torch.tensor([7, 7])), "rounding decides"),
        ((torch.zeros(2), torch.tensor([0, 2**32])), "2^32 - 1"),
        ((torch.zeros(2), torch.tensor([0, 0])), "rounding decides"),
    ],
    "top_k_probs": [((torch.tensor([1.5, -0.5]),), "below 0"), ((torch.tensor([1.0]),), "k is 1")],
}


def cases(block, args):
    """The three cases of a suspect, of a check of an answer that knows no other."""
    report = check(SUSPECTS[block][0], lambda asked: args if asked == block else None)
    return [case for case in report.cases if case.suspect == block]


def statuses(block, args):
    return tuple(case.status for case in cases(block, args))


def test_there_are_twelve_with_a_thread_and_a_story():
    assert len(SUSPECTS) == 12
    for block, (_, one) in SUSPECTS.items():
        assert "#" in one.bug.thread, block
        assert 40 < len(one.bug.story) < 200, block
        assert 40 < len(one.hint) < 300, block
        assert one.exercise.summary, block


@pytest.mark.parametrize("name", NAMES)
def test_our_answer_convicts_all_and_nothing_is_drawn(name):
    report = check(name, answer(name, "torch").load(), seed=7)
    assert report.score == 1, report
    assert [case.suspect for case in report.cases[::3]] == [one.exercise.name for one in EXERCISES[name].all]
    assert "seed" not in report.environment


@pytest.mark.parametrize("block", SUSPECTS)
def test_another_input_convicts_too(block):
    assert statuses(block, OTHERS[block]) == ("pass", "pass", "pass"), cases(block, OTHERS[block])


@pytest.mark.parametrize("block", SUSPECTS)
@pytest.mark.parametrize("seed", range(8))
def test_ordinary_input_convicts_nobody(block, seed):
    assert statuses(block, ORDINARY[block](seed)) == ("pass", "pass", "fail")


@pytest.mark.parametrize("block", SUSPECTS)
def test_right_code_is_not_convicted(block):
    """The contract in float32, and rounded once: on ordinary input and on what convicts the planted one."""
    name, one = SUSPECTS[block]
    ours = Tree.of(answer(name, "torch").load()(block)).args
    right = RIGHT[block]
    for args in (ours, OTHERS[block], *(ORDINARY[block](seed) for seed in range(4))):
        record = dataclasses.replace(one, bug=dataclasses.replace(one.bug, function=rounded(right, one, args)))
        report = check(record, lambda args=args: args)
        assert [case.status for case in report.cases] == ["pass", "pass", "fail"], (block, args, report.cases[2])


def rounded(right, one, args):
    """``right``, its result in the dtype that the contract asks for."""
    return lambda *given: right(*given).to(one.exercise.dtypes(args)[0])


def rotary(x, positions):
    angle = positions.float().unsqueeze(1) * 10_000.0 ** -(torch.arange(0, x.shape[1], 2) / x.shape[1])
    a, b = x.float().chunk(2, 1)
    return torch.cat((a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()), 1)


def scaled_norm(x, weight):
    v = x.float()
    return v * (v.square().mean(1, keepdim=True) + 1e-6).rsqrt() * (1 + weight.float())


def chunk_steps(dt, bias=-4.0):
    return torch.stack([torch.nn.functional.softplus(part + bias).sum() for part in dt.split(16)])


def decay_to_end(a):
    behind = a.flip(0).cumsum(0).flip(0)[1:]  # of what follows alone: a large number before it costs nothing
    return torch.cat((behind, torch.zeros(1))).exp()


def gumbel_pick(logits, hashes):
    u = hashes.double() / (2**32 - 1)
    return (logits - u.log().clamp(max=-(2.0**-32)).neg().log()).argmax(0, keepdim=True)


def expert_weights(logits, k=2):
    top, chosen = logits.softmax(1).topk(k, 1)
    return torch.zeros(logits.shape).scatter(1, chosen, top / (top.sum(1, keepdim=True) if k > 1 else 1))


def balance_loss(logits, k=2):
    chosen = torch.nn.functional.one_hot(logits.topk(k, 1).indices, logits.shape[1]).float()
    return logits.shape[1] * (chosen.mean(0) * logits.softmax(1).mean(0)).sum()


def top_k_probs(probs, k=2):
    kept = probs.clone()
    kept[probs.sort(descending=True, stable=True).indices[k:]] = 0
    return kept / kept.sum()


RIGHT = {
    "rotary": rotary,
    "scaled_norm": scaled_norm,
    "embedding_gradient": lambda dy, tokens: torch.zeros(8, dy.shape[1]).index_add(0, tokens, dy.float()),
    "balance_loss": balance_loss,
    "expert_weights": expert_weights,
    "decay": lambda d, dt: (-torch.nn.functional.softplus(d).clamp(min=1e-4) * dt).exp(),
    "chunk_steps": chunk_steps,
    "decay_to_end": decay_to_end,
    "reverse_cumsum": lambda x: x.float().flip(0).cumsum(0).flip(0),
    "inverse_cdf": lambda probs, u: (probs.cumsum(0).unsqueeze(0) <= u.unsqueeze(1)).sum(1),
    "gumbel_pick": gumbel_pick,
    "top_k_probs": top_k_probs,
}


@pytest.mark.parametrize(
    "block, args, says", [(block, *one) for block in BAD for one in BAD[block]], ids=lambda one: str(one)[:20]
)
def test_bad_input_gets_a_sentence(block, args, says):
    assert statuses(block, args) == ("fail", "not-run", "not-run")
    assert says in cases(block, args)[0].message


@pytest.mark.parametrize("block", SUSPECTS)
def test_input_without_elements_gets_a_sentence(block):
    name, _ = SUSPECTS[block]
    ours = Tree.of(answer(name, "torch").load()(block)).args
    empty = tuple(a[:0] if isinstance(a, torch.Tensor) else a for a in ours)
    assert statuses(block, empty) == ("fail", "not-run", "not-run")


@pytest.mark.parametrize("block", SUSPECTS)
def test_too_many_or_too_few_arguments_get_a_sentence(block):
    _, one = SUSPECTS[block]
    args = Tree.of(answer(SUSPECTS[block][0], "torch").load()(block)).args
    for wrong in ((*args, *args, *args), args[: one.fewest - 1]):
        assert statuses(block, wrong)[0] in ("fail", "error")
        assert statuses(block, wrong)[1:] == ("not-run", "not-run")
        assert "return" in cases(block, wrong)[0].message


@pytest.mark.parametrize("name", one_in(2, ((name,) for name in NAMES)))
def test_isolated_it_is_asked_for_the_same(name, worker):
    verdict = make_verdict(Job(answer(name, "torch"), "torch", 0, Limits()), worker)
    assert verdict.report["score"] == 1, verdict.text
    assert len(verdict.report["cases"]) == 9


def test_an_answer_that_knows_one_block_is_told_which_it_lacks():
    only = {"chunk_steps": (torch.zeros(17),)}
    report = check("scan_witness", lambda block: only[block])
    lacks = {case.suspect: case.message for case in report.cases if case.status == "error"}
    assert list(lacks) == ["decay_to_end", "reverse_cumsum"]
    assert all(suspect in message for suspect, message in lacks.items())


def test_after_a_call_that_does_not_end_no_other_is_waited_for(worker):
    """What came before it is kept."""
    text = "import torch\n\n\ndef scan_witness(block):\n    while block == 'decay_to_end':\n        pass\n"
    text += "    return (torch.zeros(17),)\n"
    job = Job(Answer("scan_witness", (Cell("scan_witness-torch", text),)), "torch", 0, Limits(seconds=1.0))
    report = make_verdict(job, worker).report
    assert [case["status"] for case in report["cases"]] == ["pass"] * 3 + ["error"] + ["not-run"] * 5
    assert report["score"] == pytest.approx(1 / 3, abs=1e-6)
