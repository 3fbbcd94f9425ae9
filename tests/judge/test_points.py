"""Points follow what an exercise teaches: typical wrong answers, and the rule on reports made for it."""

import itertools
import random
import re
from dataclasses import replace
from types import MappingProxyType, SimpleNamespace

import pytest
import torch
from answers import Unwatched
from graded_kernels.autograder import EXERCISES, check
from graded_kernels.autograder.gpu import Finding
from graded_kernels.autograder.judge.checking.case_verdict import judge_case
from graded_kernels.autograder.judge.checking.check import check_answer
from graded_kernels.autograder.judge.comparing.closeness import Comparison, Expected, near
from graded_kernels.autograder.judge.comparing.fault import Fault
from graded_kernels.autograder.judge.comparing.trial import Trial, arguments
from graded_kernels.autograder.judge.explaining.up_to import Factors, right_up_to, up_to
from graded_kernels.autograder.judge.records.category import Category, Flaw
from graded_kernels.autograder.judge.records.record import WildBug
from graded_kernels.autograder.judge.records.settings import Settings
from graded_kernels.autograder.judge.report import terminal
from graded_kernels.autograder.judge.report.phrases import cost_lines, is_stub
from graded_kernels.autograder.judge.results.case_result import CaseResult, Failure
from graded_kernels.autograder.judge.results.causes import causes
from graded_kernels.autograder.judge.results.scoring import (
    COSTS,
    FEW_RIGHT,
    MISSED,
    SHIPPED,
    SOME_RIGHT,
    Cost,
    Points,
    changed_costs,
    points_for,
    points_of,
)
from graded_kernels.autograder.judge.results.sentences import ROUNDING, SENTENCES, VALUES
from graded_kernels.autograder.runner import Answer, Cell, Examined, Trouble
from graded_kernels.autograder.words import Quality
from grading_table import EXAMPLES, GUIDE, row
from turns import one_in
from wrong_answers import WRONG, Wrong, planted


def ids(wrong) -> str:
    return f"{wrong.exercise}-{wrong.backend}-{wrong.what}".replace(" ", "_")


def in_full(points: Points) -> None:
    """A student adds the lines up."""
    assert 100 * points.score + sum(line.points for line in points.costs) == pytest.approx(100, abs=0.01)


@pytest.mark.parametrize("wrong", one_in(5, ((wrong,) for wrong in WRONG), lambda row: ids(*row)))
def test_a_typical_wrong_answer_gets_what_the_table_says(wrong, worker):
    report = check_answer(
        wrong.answer, Settings(wrong.backend, compiler=False), worker=worker if wrong.isolated else None
    )
    assert round(100 * report.score) == wrong.points, report.costs
    assert points_of(report.to_dict()) == Points(report.score, report.costs)  # the data is all that it takes
    in_full(Points(report.score, report.costs))
    of_values = (Flaw.VALUES, Flaw.SHIPPED)
    failed = {str(case.category) for case in report.cases if case.flaw in of_values and not case.bonus}
    assert failed - {"None"} <= {line.name for line in report.costs}, "a case that failed is in no line"


def test_the_examples_of_the_guide_are_what_a_check_says():
    text = GUIDE.read_text(encoding="utf-8")
    assert len(re.findall(r"`\w+`, (?:torch|triton) \|", text)) == len(EXAMPLES) == 10
    for wrong in EXAMPLES[::5]:
        report = check_answer(wrong.answer, Settings(wrong.backend, compiler=False))
        assert row(wrong.what, report) in text, "run python tests/material/grading_table.py"


@pytest.mark.exhaustive
def test_every_example_of_the_guide_is_what_a_check_says():
    for wrong in EXAMPLES:
        report = check_answer(wrong.answer, Settings(wrong.backend, compiler=False))
        assert row(wrong.what, report) in GUIDE.read_text(encoding="utf-8"), (
            "run python tests/material/grading_table.py"
        )


def test_the_point_of_a_masked_softmax_is_in_its_cases_at_every_seed():
    """Where a row of nothing came by chance, the seed of a class decided what a division by 0 costs."""
    record = EXERCISES["masked_softmax_forward"]
    for number, one in enumerate(record.cases):
        if one.name in set(record.about) - {"values near -60000"}:  # which has its rows
            masks = [arguments(one, number, seed)[1] for seed in range(20)]
            assert not any(bool(mask.any(1).all()) for mask in masks), one.name


BY_SEED = (  # whose points followed the random draws
    planted("entropy_forward", "triton", "starts at 0"),
    planted("gelu_forward", "triton", "e^-w without its second part"),
    planted("gelu_backward", "triton", "always the normal distribution"),
    planted("rms_norm_forward", "torch", "subtracts the mean"),
    planted("adamw_step", "torch", "adds epsilon in the root"),
    planted("cross_entropy_backward", "torch", "has another default"),
    planted("kl_backward", "triton", "0 · inf"),
    planted("entropy_backward", "torch", "takes a small p for 0"),
    Wrong(
        "hidden keys count, without the causal mask",
        "attention_backward",
        "torch",
        0,
        patches=(("~visible(lengths, causal,", "~visible(lengths, False,"),),
    ),
    Wrong(
        "lse without the label's term",
        "cross_entropy_forward",
        "torch",
        0,
        patches=(("torch.logaddexp(others, own).where", "others.where"),),
    ),
    Wrong(
        "another default",
        "cross_entropy_backward",
        "torch",
        0,
        patches=(("ignore_index: int = -100", "ignore_index: int = 0"),),
    ),
    Wrong(
        "rounds its logits",
        "linear_cross_entropy_forward_backward",
        "torch",
        0,
        patches=(("logits = x @ w.t()", "logits = (x @ w.t()).to(hidden.dtype).to(wide)"),),
    ),
    Wrong(
        "rounds to nearest afterwards", "stochastic_round", "triton", 0, patches=(("+ bits) & -65536)", "+ bits))"),)
    ),
)


@pytest.mark.exhaustive
@pytest.mark.parametrize("wrong", BY_SEED, ids=ids)
def test_a_score_does_not_follow_the_seed(wrong):
    found = {check_answer(wrong.answer, Settings(wrong.backend, seed=seed, compiler=False)).score for seed in range(12)}
    assert len(found) == 1, found


@pytest.mark.parametrize("seed", range(3))
def test_one_unlucky_element_does_not_make_plain_values_wrong(seed):
    """A formula that is off by 0.4 % where terms cancel in some elements; one that is wrong in a few."""
    generator = torch.Generator().manual_seed(seed)
    x, bias = torch.randn(2, 500, generator=generator, dtype=torch.float64)
    exact = x + bias
    size = torch.full_like(exact, 2.0**-24)
    expected = Expected(
        ("y",), (torch.float32,), (exact,), (size,), (torch.full_like(exact, 8.0),), None, exact.isnan()
    )
    off, wrong = 1.004 * x + bias, exact.clone()
    assert bool(((off - exact).abs() > 0.01 * exact.abs()).any())
    assert near(expected, (off.float(),)) == 1
    wrong[7] += 1.0
    assert near(expected, (wrong.float(),)) == 0
    assert near(expected, (off.float().index_fill(0, torch.tensor([3]), torch.nan),)) == 0


@pytest.fixture
def reworded(monkeypatch):
    """Every sentence of a case, a finding, a trouble and the table is another one, and no two are alike."""
    numbers = itertools.count()

    def patch(kind, stays=lambda made: False):
        made = kind.__init__

        def init(self, *args, **more):
            made(self, *args, **more)
            if not stays(self):
                object.__setattr__(self, "message", f"Sentence {chr(97 + next(numbers) % 26) * 9}.")

        monkeypatch.setattr(kind, "__init__", init)

    for kind in (CaseResult, Finding, Fault):
        patch(kind)
    patch(Trouble, lambda made: made.kind == "raised")  # the answer's own words
    for code in SENTENCES:
        monkeypatch.setitem(SENTENCES, code, "Words.")


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(one, marks=[pytest.mark.exhaustive] * bool(i % 11))
        for i, one in enumerate(WRONG)
        if not one.isolated
    ],
    ids=ids,
)
def test_no_point_moves_with_a_sentence(wrong, reworded):
    report = check_answer(wrong.answer, Settings(wrong.backend, compiler=False))
    assert round(100 * report.score) == wrong.points, (report.costs, report.causes)


def test_a_stub_is_one_in_other_words(reworded):
    answer = Answer("silu_forward", (Cell("answer", "def silu_forward(x):\n    ...\n"),))
    report = check_answer(answer, Settings("torch"))
    assert report.summary.startswith("Sentence") and is_stub(report)
    assert terminal.render(report, color=False).splitlines()[-1].startswith("There is nothing to check")


def test_a_wrong_output_and_one_a_few_ulp_off_have_one_cause():
    """In half precision a mistake is the one or the other, as the random numbers are."""

    def result(name, how, output="y"):
        failure = Failure(output, (0,), 1.0, 2.0, 3.0, 1, 2, {})
        return CaseResult(name, "fail", False, "", "", kind=Quality.CORRECT, failure=failure, code=how, place=output)

    far, few, other = result("plain", VALUES), result("half", ROUNDING), result("other", ROUNDING, "mean")
    for given in ((far, few, other), (few, far, other)):
        found = causes(given, "")
        assert [(cause.message, len(cause.cases)) for cause in found] == [("y is wrong.", 2), (other.message, 1)]
    assert "a few ulp" in causes((few, replace(few, name="too")), "")[0].message


def test_a_factor_of_each_call_is_one_where_enough_numbers_show_it():
    """A count that nothing is divided by is another number in each call."""

    def found(*values, factor=3.0):
        value = torch.tensor(values, dtype=torch.float64)
        size, all_wrong = torch.full_like(value, 2.0**-23), torch.ones_like(value, dtype=torch.bool)
        expected = Expected(
            ("y",), (torch.float32,), (value,), (size,), (torch.full_like(value, 8.0),), None, value.isnan()
        )
        trial = SimpleNamespace(exercise=SimpleNamespace(forward=None))
        return [name for name, _ in up_to(trial, expected, [Comparison(wrong=all_wrong)], ((value * factor).float(),))]

    assert found(1.0, -2.0, 0.5, 4.0) == ["one factor", "a factor of each call"]
    assert found(1.0, -2.0, 0.5, 0.0, 1.0) == ["one factor"]
    assert found(1.0, -2.0, 0.5, 4.0, factor=1.004) == ["one factor", "a factor of each call"]
    rounding = torch.tensor([1.004, 1.003, 0.997, 0.999], dtype=torch.float64)
    assert found(1.0, -2.0, 0.5, 4.0, factor=rounding) == [], "within 1 %, and no factor"


def case(name: str, category: str = "plain", flaw: str = "", *, near: float | None = 1.0, **more) -> CaseResult:
    fields = {
        "kind": Quality.CORRECT,
        "category": Category(category),
        "flaw": Flaw(flaw) if flaw else None,
        "near": near,
    }
    fields |= {"bonus": False} | more
    return CaseResult(name, "fail" if flaw else "pass", message="It is wrong.", inputs="", **fields)


FIRST, POINT, OTHER = case("first"), case("a", "point"), case("b", "point")
PLAIN = [FIRST, case("second"), case("third")]
REST = [case(category, category) for category in ("dtypes", "layouts", "edges")]
SIGN, COUNT = (("one factor", -1.0),), ("a factor of each call", 1.0)


def points(*cases: CaseResult, costs=COSTS, required=tuple(Quality), factors=MappingProxyType({})) -> Points:
    """For these cases, and right ones of all categories. factors: what these cases are right up to, by name."""
    names = {one.name for one in cases}
    every = [*cases, *(one for one in (*PLAIN, POINT, OTHER, *REST) if one.name not in names)]
    up_to = right_up_to(every, {name: factors.get(name, ()) for name in names})
    found = points_for(every, required, costs, up_to)
    in_full(found)
    return found


def score(*cases: CaseResult, **more) -> float:
    return round(100 * points(*cases, **more).score, 3)


def test_a_right_answer_has_every_point_and_distinctions_cost_none():
    assert points() == Points(1.0)
    assert score(case("tail", "plain", "values", bonus=True)) == 100


@pytest.mark.parametrize("category", ["plain", "layouts", "dtypes", "edges", "point"])
def test_a_category_costs_once_however_many_cases_fail(category):
    first, more = case(category, category, "values"), case("more", category, "values")
    assert score(first) == score(first, more) == 100 - COSTS[category]
    (line,) = points(first, more).costs
    assert (line.name, line.case, line.points) == (category, category, COSTS[category])


def test_the_dearest_category_alone_costs_and_each_that_fails_has_a_line():
    found = points(case("edges", "edges", "values"), case("layouts", "layouts", "values"), case("a", "point", "values"))
    assert [(line.name, line.points) for line in found.costs] == [("layouts", 25), ("edges", 0), ("point", 25)]


def test_a_case_without_a_result_failed_for_its_values():
    for status in ("error", "not-run"):
        assert score(replace(case("edges", "edges", "values"), status=status)) == 85
    assert score(replace(case("nothing measures it"), category=None, status="not-run", near=None)) == 100


def test_a_side_effect_costs_its_category_and_misses_no_point():
    assert score(case("first", flaw="side effect"), case("a", "point", "side effect")) == 70
    assert score(case("a", "point", "side effect"), case("b", "point", "side effect")) == 75
    assert score(case("edges", "edges", "side effect")) == 85
    assert score(case("first", flaw="side effect"), case("layouts", "layouts", "values")) == 70


def test_the_point_that_is_missed_leaves_half():
    whole = [case("a", "point", "values"), case("b", "point", "values")]
    (line,) = points(*whole).costs
    assert (line.points, line.note) == (50, MISSED)
    assert score(*whole, case("first", flaw="values")) == 45
    assert score(*whole, case("edges", "edges", "values")) == 50


def test_a_case_for_a_bug_that_shipped_leaves_half_named_or_not():
    found = points(case("edges", "edges", "shipped"))
    assert [(line.name, line.points) for line in found.costs] == [("edges", 15), ("limit", 35)]
    assert (found.costs[1].note, found.costs[1].case) == (SHIPPED, "edges")
    assert score(case("edges", "edges", "form", form="error")) == 90, "its values are right"


class Reported(Unwatched):
    """A runner that finds the same in every call."""

    def __init__(self, function, *kinds):
        super().__init__(function)
        self.findings = tuple(Finding(kind, "It does.") for kind in kinds)

    def examine(self, call):
        examined = super().examine(call)
        return Examined(call, replace(examined.first, findings=self.findings))


@pytest.mark.parametrize("kinds", [("not-associative",), ("race-write", "division-by-zero")])
@pytest.mark.parametrize("factor", [1.0, 1.001])
def test_what_a_gpu_need_not_give_is_as_wrong_beside_another_mistake(factor, kinds):
    """Else mending the other one would cost points: nearly right values counted, and right ones did not."""
    record = EXERCISES["silu_forward"]
    runner = Reported(lambda x: torch.nn.functional.silu(x) * factor, *kinds)
    trial = Trial.of(record, record.cases[0], arguments(record.cases[0], 0, 0), runner, Settings("triton"))
    result = judge_case(trial).result
    assert (result.status, result.flaw, result.near, result.code) == ("fail", Flaw.VALUES, 0.0, kinds[-1])


def test_few_right_plain_values_leave_forty_or_nothing():
    off = [replace(one, status="fail", flaw=Flaw.VALUES, near=0.0) for one in PLAIN]
    assert score(off[0]) == 70, "two thirds are right"
    assert score(*off[:2]) == 40
    assert score(*off) == 0
    assert points(*off[:2]).costs[-1].note == SOME_RIGHT
    assert points(*off).costs[-1].note == FEW_RIGHT
    assert score(*off, case("measured", near=None)) == 0, "what compares no values is no plain case"
    assert score(*off, *(case(f"hidden {n}", hidden=True) for n in range(9))) == 0, "nor are a teacher's own"
    nearly = [replace(one, near=1.0) for one in off]
    assert score(*nearly) == 70


def test_right_up_to_one_factor_leaves_forty():
    off = [replace(one, status="fail", flaw=Flaw.VALUES, near=0.0) for one in (*PLAIN, *REST)]
    sign: dict[str, Factors] = {one.name: SIGN for one in off}
    assert score(*off, factors=sign) == 40
    assert score(*off[:3], factors=sign) == 0, "three cases have a factor by chance"
    more = case("more", flaw="values", near=0.0)
    assert score(*off, more, factors=sign | {"more": (("one factor", 2.0),)}) == 0
    assert score(*off, more, factors=sign) == 0
    assert score(*off, factors={name: pairs for name, pairs in sign.items() if name != "edges"}) == 40
    tail = case("tail", flaw="values", near=0.0, bonus=True)
    assert score(*off[:3], tail, factors=sign | {"tail": SIGN}) == 0, "a distinction shows nothing"
    each: dict[str, Factors] = {one.name: (("one factor", float(number)), COUNT) for number, one in enumerate(off, 1)}
    few = [replace(one, name=f"few {n}") for n, one in enumerate(off, 1)]
    by_chance: dict[str, Factors] = {one.name: (("one factor", 10.0 * n),) for n, one in enumerate(few, 1)}
    both = each | by_chance
    assert score(*off, factors=each) == score(*off, few[0], factors=both) == 40, "neither shown nor refuted by few"
    assert score(*few, *off[:2], factors=both) == 0, "few numbers have a factor by chance"


def test_right_in_some_outputs_leaves_forty():
    half = [replace(one, status="fail", flaw=Flaw.VALUES, near=0.5) for one in PLAIN]
    assert score(*half) == 40
    assert score(*half[:2], replace(half[2], near=0.0)) == 40
    assert score(half[0], *(replace(one, near=0.0) for one in half[1:])) == 0


def test_form_is_charged_once_beside_values_judged_as_if_right():
    formed = [case("first", flaw="form", form="dtype"), case("a", "point", "form", form="dtype")]
    assert score(*formed) == 93
    assert score(*formed, case("edges", "edges", "form", form="shape")) == 88
    wrong = [case("a", "point", "values", form="dtype"), case("b", "point", "values", form="dtype")]
    assert score(*wrong) == 43
    found = points(case("edges", "edges", "form", form="text"))
    assert (found.score, [(line.name, line.points) for line in found.costs]) == (1, [("text", 0)])


def test_a_whole_answer_that_is_refused_gets_nothing():
    assert score(case("first", flaw="whole")) == 0


def test_each_bug_of_a_witness_is_worth_as_much():
    rows = [replace(case(f"{suspect} {n}"), category=None, suspect=suspect) for suspect in "abc" for n in range(3)]
    missed = replace(rows[1], status="fail")
    found = points_for([rows[0], missed, *rows[2:]], Quality)
    assert found.score == pytest.approx(2 / 3)
    in_full(found)
    assert [line.case for line in found.costs] == [missed.name]


def test_what_is_not_asked_for_costs_nothing():
    slow = case("traffic", "layouts", "values", kind=Quality.EFFICIENT)
    assert (score(slow), score(slow, required=("correct",))) == (75, 100)


def test_a_teachers_costs_are_checked_when_they_are_read():
    assert changed_costs({"dtypes": 5}) == {**COSTS, "dtypes": 5}
    assert score(case("dtypes", "dtypes", "values"), costs=changed_costs({"dtypes": 5})) == 95
    for changes, message in (
        ({"speed": 5}, "there is no 'speed'; there are plain, effects, layouts"),
        ({"plain": 80, "point": 30}, "plain and point are 110 together"),
        ({"shape": -1}, "shape is -1; give a number from 0 to 100"),
        ({"shape": "all"}, "shape is 'all'"),
        ({"shape": True}, "shape is True"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            changed_costs(changes)


def drawn(chance: random.Random) -> tuple[list[CaseResult], dict[str, Factors]]:
    """The cases of a report, of which some fail in any way, and what they are right up to."""
    cases, factors = [case("first")], {}
    for category, most in (("plain", 6), ("point", 4), ("dtypes", 2), ("layouts", 3), ("edges", 3)):
        share = chance.random()
        for number in range(chance.randint(0, most)):
            one = case(f"{category} {number}", category)
            values = "shipped" if category in ("point", "edges") and chance.random() < 0.3 else "values"
            if chance.random() < share:
                flaw = chance.choice((values, values, "side effect", "form"))
                fields = {"status": chance.choice(("fail", "error")), "flaw": Flaw(flaw)}
                if flaw == values:
                    fields |= {"near": chance.choice((0.0, 0.5, 1.0)), "form": chance.choice(("", "dtype"))}
                    factors[one.name] = chance.choice(((), SIGN, (*SIGN, COUNT)))
                if flaw == "form":
                    fields["form"] = chance.choice(("shape", "text", "exchanged"))
                one = replace(one, **fields)
            cases.append(one)
    return cases, factors


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "costs", [COSTS, changed_costs({"plain": 5, "dtypes": 60, "point": 90})], ids=["ours", "other"]
)
def test_a_fix_never_costs_points(seed, costs):
    """Whatever fails, one case that fails no more takes nothing off, with any costs."""
    chance = random.Random(seed)
    for _ in range(100):
        cases, factors = drawn(chance)
        before = points_for(cases, Quality, costs, right_up_to(cases, factors))
        in_full(before)
        for number, one in enumerate(cases):
            rest = [*cases[:number], case(one.name, one.category), *cases[number + 1 :]]
            without = {name: pairs for name, pairs in factors.items() if name != one.name}
            after = points_for(rest, Quality, costs, right_up_to(rest, without))
            assert after.score >= before.score - 1e-9, (one, before.costs, after.costs)


def test_a_common_mistake_is_named_and_costs_what_it_makes_wrong():
    """A bug that shipped, with the same cases, would leave half."""
    from graded_kernels.kernels.wild.cross_entropy import cross_entropy_backward_all_rows as mistake

    report = check("cross_entropy_backward", mistake, backend="torch")
    assert (report.fingerprint, report.mistake) == (None, "a common mistake: a kernel that forgets the ignored rows")
    assert "A common mistake: a kernel that forgets the ignored rows." in str(report)
    assert SHIPPED not in [line.note for line in report.costs]
    assert report.causes[0].message == f"The wrong values have one source: {report.mistake}."


def test_a_bug_that_shipped_has_a_thread():
    bugs = [bug for record in EXERCISES.values() for bug in getattr(record, "wild", ())]
    shipped = [bug for bug in bugs if isinstance(bug, WildBug)]
    assert len(shipped) < len(bugs)
    assert not [bug.who for bug in shipped if "no thread" in bug.thread]


def test_an_infinity_of_the_wrong_sign_is_called_so():
    def silu(x):
        y = x * torch.sigmoid(x)
        return torch.where(y == torch.inf, -y, y)

    assert "y is the other infinity." in [cause.message for cause in check("silu_forward", silu).causes]


def test_a_cost_whose_sentence_is_cut_short_says_so():
    cost = Cost("plain", 30.0, "ordinary values", "word " * 40)
    ((_, _, why),) = cost_lines([cost])
    assert why.startswith("ordinary values: word") and why.endswith("word ...")
