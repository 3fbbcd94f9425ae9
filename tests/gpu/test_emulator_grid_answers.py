"""Our Triton answers and their mutants, all programs together and one at a time: the same outcome, bit for bit."""

import broken
import pytest
import torch
from answers import PAIRS, answer
from both_ways import WAYS, bits
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.gpu.emulator import Emulator
from graded_kernels.autograder.runner import Call, InProcess
from turns import in_turn

NAMES = [name for name, backend in PAIRS if backend == "triton"]
MUTANTS = [(key[0], m) for key, rows in broken.mutants().items() if key[1] == "triton" for m in rows]
# One answer of each kind of kernel; `make test` runs the others by one of their mutants, on a case.
OF_EACH_KIND = {
    "silu_backward": "elements",
    "masked_softmax_forward": "rows, each in one block",
    "row_sum": "rows in a loop",
    "adamw_step": "written in place",
    "gumbel_argmax": "random numbers, and an index",
    "matmul": "programs of two axes",
    "attention_forward": "a loop to a bound of each program",
}
TOGETHER = ("together", "in small passes")
SMALL = 3000  # elements of a case's inputs; make test-all runs the larger ones, too


def inputs(name: str, number: int) -> tuple:
    return EXERCISES[name].cases[number].inputs(torch.Generator().manual_seed(number))


def is_small(args: tuple) -> bool:
    return sum(a.untyped_storage().nbytes() // a.element_size() for a in args if isinstance(a, torch.Tensor)) <= SMALL


def outcome(function, name: str, args: tuple, way: str, monkeypatch) -> list:
    monkeypatch.setattr(Emulator, "together", WAYS[way][0])
    monkeypatch.setattr(Emulator, "memory", WAYS[way][1])
    seen = dict(vars(InProcess(function, EXERCISES[name].contract, "triton").examine(Call(args)).first))
    outputs = seen.pop("outputs")
    return [None if outputs is None else [bits(o) for o in outputs], seen]


def assert_same(code, name: str, numbers, monkeypatch, ways=TOGETHER) -> None:
    function = code.load()
    for number in numbers:
        args = inputs(name, number)
        alone = outcome(function, name, args, "one at a time", monkeypatch)
        for way in ways:
            assert outcome(function, name, args, way, monkeypatch) == alone, EXERCISES[name].cases[number].name


def numbers(name: str, small: bool) -> list[int]:
    return [n for n in range(len(EXERCISES[name].cases)) if is_small(inputs(name, n)) == small]


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in OF_EACH_KIND else pytest.mark.exhaustive) for n in NAMES]
)
def test_answers(name, monkeypatch):
    chosen = numbers(name, small=True)
    assert chosen
    assert_same(answer(name, "triton"), name, chosen, monkeypatch)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NAMES)
def test_answers_on_large_inputs(name, monkeypatch):
    assert_same(answer(name, "triton"), name, numbers(name, small=False), monkeypatch)


FIRST = {name: mutant for name, mutant in reversed(MUTANTS)}  # of each answer, for `make test`


def on_a_case(name: str, mutant, monkeypatch, ways) -> None:
    assert_same(answer(name, "triton", mutant.old, mutant.new), name, numbers(name, small=True)[:1], monkeypatch, ways)


@pytest.mark.parametrize(("name", "way"), in_turn(FIRST, TOGETHER))
def test_a_mutant_of_each_answer(name, way, monkeypatch):
    on_a_case(name, FIRST[name], monkeypatch, [way])


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "mutant"), MUTANTS, ids=[f"{name}-{m.why}" for name, m in MUTANTS])
def test_mutants(name, mutant, monkeypatch):
    on_a_case(name, mutant, monkeypatch, TOGETHER)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "mutant"), MUTANTS, ids=[f"{name}-{m.why}" for name, m in MUTANTS])
def test_mutants_in_the_case_that_sees_them(name, mutant, monkeypatch):
    seen = [n for n, case in enumerate(EXERCISES[name].cases) if case.name == mutant.dies_in]
    assert_same(answer(name, "triton", mutant.old, mutant.new), name, seen, monkeypatch)
