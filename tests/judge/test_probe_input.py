"""The numbers that are drawn for one call: of the layout of a case, valid where it is, and never those of the case."""

import inspect

import pytest
import torch
from answers import answer
from both_ways import bits
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.judge.checking.case_verdict import judge_case
from graded_kernels.autograder.judge.checking.check import check_answer
from graded_kernels.autograder.judge.comparing.trial import Trial, arguments, probe_inputs
from graded_kernels.autograder.judge.records.record import Case, Witness
from graded_kernels.autograder.judge.records.settings import Settings
from graded_kernels.autograder.runner import Answer, Call, Cell, Examined, InProcess, Tree
from graded_kernels.kernels.wild import cross_entropy, silu
from turns import in_turn, one_in

SEED = 12345
RECORDS = [record for record in EXERCISES.values() if not isinstance(record, Witness)]


def alike(one: tuple, other: tuple) -> bool:
    pairs = zip(Tree(one).tensors, Tree(other).tensors, strict=True)
    return all((a.shape, bits(a)) == (b.shape, bits(b)) for a, b in pairs)


def has_numbers(args: tuple) -> bool:
    """Where there are no others than zeros and infinities, the kind of number is all there is, and stays."""
    return any((t.isfinite() & (t != 0)).any() for t in Tree(args).tensors if t.is_floating_point())


@pytest.mark.parametrize("name", one_in(3, ((record.name,) for record in RECORDS)))
def test_a_decoy_is_of_the_same_kind_and_holds_other_numbers(name):
    record = EXERCISES[name]
    for number, case in enumerate(record.cases):
        args = arguments(case, number, 0)
        draw = probe_inputs(case, args, SEED)
        first, second = draw(), draw()
        assert first.valid is (case.raises is None), case.name
        layouts = [[(t.dtype, t.shape, t.stride()) for t in Tree(a).tensors] for a in (args, first.args, second.args)]
        assert layouts[0] == layouts[1] == layouts[2], case.name
        others = [[a for a in Tree(made).leaves if not isinstance(a, torch.Tensor)] for made in (args, first.args)]
        assert others[0] == others[1], case.name
        if has_numbers(args):
            assert not alike(first.args, args), case.name
            assert not alike(first.args, second.args), case.name


TURNS = 8  # `make test` takes each eighth case of an answer, `make test-all` the others


class Once(InProcess):
    """Calls an answer once: that a second call gives the same is asked of it on a case's own numbers."""

    def examine(self, call: Call) -> Examined:
        return Examined(call, super().examine(call).first)


@pytest.mark.parametrize(("name", "first"), in_turn([r.name for r in RECORDS if "torch" in r.backends], range(TURNS)))
def test_a_right_answer_is_right_on_a_probe_input(name, first):
    """By the case's own tolerance: what an isolated answer is held to is four times that."""
    function, record = answer(name, "torch").load(), EXERCISES[name]
    for number, case in list(enumerate(record.cases))[first::TURNS]:
        probe_input = probe_inputs(case, arguments(case, number, 0), SEED)()
        judged = judge_case(
            Trial.of(record, case, probe_input.args, Once(function, record.contract, "torch"), Settings("torch"))
        )
        assert judged.result.status == "pass", f"{case.name}: {judged.result.message}"


# Wrong answers, and a case whose numbers do not show it, while others of its kind may.
LUCK = [
    (silu.silu_backward_epsilon, "one element"),
    pytest.param(cross_entropy.cross_entropy_epsilon, "2 classes", marks=pytest.mark.exhaustive),
]


@pytest.mark.parametrize("times", [2, pytest.param(6, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("function, name", LUCK, ids=lambda one: getattr(one, "__name__", None))
def test_chance_decides_no_point_of_a_wrong_answer(function, name, times, worker):
    record = next(one for one in RECORDS if any(bug.function is function for bug in one.wild))
    source = inspect.getsource(inspect.getmodule(function)) + f"\n\n{record.name} = {function.__name__}\n"
    made = Answer(record.name, (Cell("answer", source),))
    found = [check_answer(made, Settings("torch"), worker=worker) for _ in range(times)]
    assert name in {case.name for report in found for case in report.cases if case.status == "pass"}
    assert len({(report.score, *(case.status for case in report.cases)) for report in found}) == 1


def test_a_case_of_changing_layout_has_decoys_that_are_not_judged():
    def inputs(generator):
        return (torch.zeros(int(torch.randint(5, 1000, (), generator=generator))),)

    case = Case("any length", inputs, "")
    args = (torch.zeros(3),)
    probe_input = probe_inputs(case, args, SEED)()
    assert not probe_input.valid
    assert probe_input.args[0].shape == (3,)
    assert not probe_input.args[0].equal(args[0])


def test_numbers_that_belong_together_are_drawn_together():
    """mean and rstd are those of x: an answer may use either."""
    record = EXERCISES["layer_norm_backward"]
    for number, case in enumerate(record.cases):
        _, x, _, mean, _ = probe_inputs(case, arguments(case, number, 0), SEED)().args
        if x.numel() and x.isfinite().all() and x.dtype == torch.float32:
            torch.testing.assert_close(x.double().mean(1).float(), mean, rtol=1e-5, atol=1e-6 * float(x.abs().max()))
