"""Points follow what an exercise teaches: typical wrong answers, and the rule on reports made for it."""

import itertools
import random
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from graded_kernels.autograder import EXERCISES, check
from graded_kernels.autograder.gpu.emulator import Finding
from graded_kernels.autograder.judge.checking.check import check_answer
from graded_kernels.autograder.judge.comparing.closeness import Comparison, Expected, near
from graded_kernels.autograder.judge.comparing.fault import Fault
from graded_kernels.autograder.judge.comparing.trial import arguments
from graded_kernels.autograder.judge.explaining.up_to import up_to
from graded_kernels.autograder.judge.records.aim import Aim
from graded_kernels.autograder.judge.records.record import WildBug
from graded_kernels.autograder.judge.records.settings import Settings
from graded_kernels.autograder.judge.report import terminal
from graded_kernels.autograder.judge.report.phrases import is_stub
from graded_kernels.autograder.judge.results.case_result import CaseResult, Failure
from graded_kernels.autograder.judge.results.causes import causes
from graded_kernels.autograder.judge.results.scoring import GROSS, MISSED, NAMED, SHIPPED, Points, points_of
from graded_kernels.autograder.judge.results.sentences import ROUNDING, SENTENCES, VALUES
from graded_kernels.autograder.runner.call.answer import Answer, Cell
from graded_kernels.autograder.runner.call.outcome import Trouble
from graded_kernels.autograder.words.quality import Quality
from grading_table import GUIDE, OTHERS, row
from turns import one_in
from wrong_answers import WRONG, Wrong, planted

WITHIN = 5  # points of 100: a contract


def ids(wrong) -> str:
    return f"{wrong.exercise}-{wrong.backend}-{wrong.what}".replace(" ", "_")


@pytest.mark.parametrize("wrong", one_in(3, ((wrong,) for wrong in WRONG), lambda row: ids(*row)))
def test_a_typical_wrong_answer_gets_the_points_agreed_on(wrong, worker):
    report = check_answer(
        wrong.answer, Settings(wrong.backend, compiler=False), worker=worker if wrong.isolated else None
    )
    assert report.passed == (wrong.points == 100), str(report)
    assert abs(100 * report.score - wrong.points) <= WITHIN, (report.score, report.split, report.limit)
    assert points_of(report.to_dict()).score == report.score  # the data is all that it takes
    assert row(wrong.what, report) in GUIDE.read_text(encoding="utf-8"), "run python tests/material/grading_table.py"


@pytest.mark.parametrize("wrong", one_in(6, ((wrong,) for wrong in OTHERS), lambda row: ids(*row)))
def test_every_other_row_of_the_guide_is_what_a_check_says(wrong):
    report = check_answer(wrong.answer, Settings(wrong.backend, compiler=False))
    assert row(wrong.what, report) in GUIDE.read_text(encoding="utf-8"), "run python tests/material/grading_table.py"


def test_the_guide_has_no_row_beyond_these():
    rows = [
        line for line in GUIDE.read_text(encoding="utf-8").splitlines() if re.search(r"`\w+`, (torch|triton) \|", line)
    ]
    assert len(rows) == len(OTHERS) + len(WRONG)


def test_the_point_of_a_masked_softmax_is_in_its_cases_at_every_seed():
    """Where a row of nothing came by chance, the seed of a class decided what a division by 0 costs."""
    record = EXERCISES["masked_softmax_forward"]
    for number, one in enumerate(record.cases):
        if one.name in record.about:
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
        "another default", "cross_entropy_backward", "torch", 0, patches=(("ignore_index=-100)", "ignore_index=0)"),)
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
        pytest.param(one, marks=[pytest.mark.exhaustive] * bool(i % 6))
        for i, one in enumerate(WRONG)
        if not one.isolated
    ],
    ids=ids,
)
def test_no_point_moves_with_a_sentence(wrong, reworded):
    report = check_answer(wrong.answer, Settings(wrong.backend, compiler=False))
    assert row(wrong.what, report) in GUIDE.read_text(encoding="utf-8"), (report.score, report.causes)


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


def case(name: str, aim: str = "plain", flaw: str | None = None, *, near: float = 1.0, **more) -> dict:
    status = "fail" if flaw else "pass"
    return {
        "name": name,
        "aim": aim,
        "flaw": flaw,
        "near": near,
        "status": status,
        "bonus": False,
        "kind": "correct",
        "form": "",
        "up_to": (),
        "wrong": (),
        "right": 0,
        "word": "",
        "shipped": False,
        "half": False,
    } | more


FIRST, POINT, OTHER = case("first"), case("a", "point"), case("b", "point")
TENS = [case(aim, aim) for aim in ("dtypes", "layouts", "edges")]


def score(*cases: dict, together: bool = False, fingerprint: str | None = None, weights=Points.WEIGHTS) -> float:
    """Of these cases and of all aims that they leave out. together: whether those that fail have one cause."""
    there = {one["name"] for one in cases}
    all_cases = [*cases, *(one for one in (FIRST, POINT, OTHER, *TENS) if one["name"] not in there)]
    all_cases.sort(key=lambda one: one["name"] != "first")
    failing = [one["name"] for one in all_cases if one["status"] == "fail"]
    causes = [failing] if together else [[name] for name in failing]
    report = {
        "cases": all_cases,
        "causes": [{"kind": "correct", "message": "Wrong.", "cases": names} for names in causes if names],
        "fingerprint": fingerprint,
        "required": ["correct", "portable", "efficient"],
        "passed": not failing,
    }
    found = points_of(report, weights)
    assert sum(part.of for part in found.parts) == pytest.approx(100) or not found.parts
    return round(100 * found.score, 3)


def test_a_right_answer_has_every_point_and_distinctions_none():
    assert score() == 100
    assert score(case("tail", "plain", "numbers", bonus=True)) == 100


@pytest.mark.parametrize(("flaw", "points"), [("numbers", 78), ("special", 90), ("text", 98), (None, 90)])
@pytest.mark.parametrize("aim", ["dtypes", "layouts", "edges"])
def test_an_aim_is_lost_once_however_many_cases_fail(aim, flaw, points):
    assert score(case(aim, aim, flaw, status="fail"), case("more", aim, flaw, status="fail")) == points


def test_what_the_point_has_lost_is_not_charged_again_in_what_rests_on_it():
    failing = [case(aim, aim, "numbers") for aim in ("dtypes", "layouts", "edges")]
    assert score(*failing) == 100 - 30 - 12
    assert score(*failing[:2]) == 100 - 20 - 12
    assert score(failing[0], failing[1] | {"half": True}) == 100 - 10 - 12
    assert score(case("a", "point", "numbers"), *failing) == 100 - 30 - 12
    assert score(case("a", "point", "numbers"), *failing[:2]) == 100 - 20 - 12
    names = {"a": "point", "dtypes": "dtypes", "layouts": "layouts"}
    converted = [case(name, aim, "converted") for name, aim in names.items()]
    assert score(*converted) == 100 - 10
    assert score(*converted, case("more", "plain", "converted")) == 100 - 30


def test_form_is_charged_once_and_values_as_if_it_were_right():
    formed = [case("first", "plain", "form", form="dtype"), case("a", "point", "form", form="dtype")]
    assert score(*formed) == 85
    assert score(*formed, case("edges", "edges", "form", form="shape")) == 75
    wrong = [case("a", "point", "numbers", form="dtype"), case("b", "point", "numbers", form="dtype")]
    assert score(*wrong) == 50 - 15


def test_right_up_to_one_factor_everywhere_leaves_forty():
    off = {"near": 0.0, "up_to": (("one factor", -1.0),)}
    failing = [case(one["name"], one["aim"], "numbers", **off) for one in (FIRST, POINT, OTHER, *TENS)]
    assert score(*failing) == 40
    assert score(*failing[:3]) == 0, "three cases have a factor by chance"
    assert score(*failing, case("more", "plain", "numbers", near=0.0, up_to=(("one factor", 2.0),))) == 0
    assert score(*failing, case("more", "plain", "numbers", near=0.0)) == 0
    assert score(*failing[:-1], case("edges", "edges", "special")) == 40


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
    off = {"near": 0.0, "up_to": (("one factor", 3.0), ("a factor of each call", 1.0))}
    failing = [
        case(one["name"], one["aim"], "numbers", **off | {"up_to": (("one factor", float(number)), off["up_to"][1])})
        for number, one in enumerate((FIRST, POINT, OTHER, *TENS), 1)
    ]
    assert score(*failing) == 40
    few = [case(f"few {n}", "plain", "numbers", near=0.0, up_to=(("one factor", 10.0 * n),)) for n in range(1, 5)]
    assert score(*failing, few[0]) == 40, "of few distinct numbers, it is neither shown nor refuted"
    assert score(*failing, case("more", "plain", "numbers", near=0.0)) == 0
    assert score(*few, *failing[:2]) == 0, "few numbers have a factor by chance"


def test_the_same_outputs_wrong_everywhere_leave_a_share_of_the_rest():
    off = {"near": 0.5, "wrong": ("dx",), "right": 1}
    failing = [case(one["name"], one["aim"], "numbers", **off) for one in (FIRST, POINT, OTHER, *TENS)]
    assert score(*failing) == 40
    assert score(*failing[:-1], case("edges", "edges", "special", near=0.5, wrong=("y",), right=1)) == 36
    assert score(*failing[:-1], case("edges", "edges", "special", near=0.0, wrong=("dx", "y"))) == 36
    assert score(*(one | {"right": 0} for one in failing)) == 5, "all outputs are wrong"
    assert score(failing[1]) == 100 - 20 - 12, "what costs less is counted one by one"


def test_failing_the_case_of_a_shipped_bug_leaves_half_named_or_not():
    assert score(case("a", "point", "numbers", shipped=True)) == 50
    assert score(case("a", "point", "form", form="dtype", shipped=True)) == 85


def test_gross_errors_in_more_than_a_third_of_plain_cases_leave_half():
    more = [case("second"), case("third", "plain", "numbers", near=0.0)]
    assert score(*more) == 100 - 12 - 18 / 3
    assert score(*more, case("fourth", "plain", "numbers", near=0.0)) == 50


def test_one_right_function_of_two_leaves_two_fifths_of_the_rest():
    failing = [case(one["name"], one["aim"], "numbers", near=0.0, word="none") for one in (FIRST, POINT)]
    other = case("other word", "plain", word="tanh")
    assert score(*failing, other) == 40
    assert score(*failing, other, case("edges", "edges", "special", word="tanh")) == 36
    assert score(*failing) == 0, "there is no other"
    assert score(*failing, case("other word", "plain", "numbers", near=0.0, word="tanh")) == 0, "both are wrong"


def test_grossly_wrong_plain_values_cost_what_rests_on_them_by_their_share():
    wrong = [case(name, aim, "numbers") for name, aim in (("a", "point"), ("b", "point"), ("layouts", "layouts"))]
    assert score(*wrong, case("second", "plain", "numbers")) == 39
    assert score(*wrong, case("second", "plain", "numbers", near=0.0)) == 39 - 5


KINDS = ("numbers", "special", "text", None, "conduct", "form", "converted")


def drawn(chance: random.Random) -> list[dict]:
    """The cases of a report, of which some fail in any way."""
    cases = [case("first", "plain")]
    for aim, most in (("plain", 5), ("point", 5), ("dtypes", 2), ("layouts", 4), ("edges", 3)):
        share = chance.random()
        for number in range(chance.randint(0, most)):
            flaw = chance.choice(KINDS)
            if aim in ("plain", "layouts") and flaw in ("special", "text"):  # inputs are finite, and no error is right
                flaw = "numbers"
            form = {"form": "shape", "numbers": chance.choice(("", "dtype"))}.get(flaw or "", "")
            near = chance.choice((0.0, 0.5, 1.0)) if flaw in ("numbers", "special") else 1.0
            wrong = chance.choice((("y",), ("z",), ("y", "z"))) if flaw in ("numbers", "special") else ()
            given = {"shipped": aim == "point" and chance.random() < 0.2, "half": chance.random() < 0.3}
            given["word"] = chance.choice(("", "none", "tanh"))
            fails = chance.random() < share
            right = case(f"{aim} {number}", aim, **given)
            failing = case(f"{aim} {number}", aim, flaw, near=near, form=form, **given) | {"status": "fail"}
            failing |= {"wrong": wrong, "right": 3 - len(wrong)}
            cases.append(failing if fails else right)
    return cases


@pytest.mark.parametrize("seed", range(3))
def test_a_better_answer_never_gets_less(seed):
    """Whatever fails, one case that fails no more takes nothing off."""
    chance = random.Random(seed)
    report = {"causes": [], "fingerprint": None, "required": ["correct"], "passed": False}
    for _ in range(60):
        cases = drawn(chance)
        before = points_of(report | {"cases": cases}).score
        for number, one in enumerate(cases):
            mended = case(one["name"], one["aim"], shipped=one["shipped"], half=one["half"], word=one["word"])
            after = points_of(report | {"cases": [*cases[:number], mended, *cases[number + 1 :]]}).score
            assert after >= before - 1e-9, (one, [c for c in cases if c["status"] == "fail"])


def test_what_goes_wrong_with_nan_and_with_infinity_has_one_remedy():
    """A sweep over a dtype holds both, whichever the report names as its worst."""
    assert score(case("edges", "edges", "special"), case("dtypes", "dtypes", "special")) == 90
    assert score(case("dtypes", "dtypes", "special")) == 90


def test_the_point_counts_by_its_cases_and_missed_as_a_whole_leaves_half():
    half, whole = case("a", "point", "numbers"), [case("a", "point", "numbers"), case("b", "point", "numbers")]
    assert score(half) == 100 - 20 - 12
    assert score(*whole) == 50
    assert score(*whole, case("edges", "edges", "special")) == 50
    assert score(*whole, case("more", "plain", "numbers")) == 100 - 40 - 12 - 9
    assert score(*whole, case("first", "plain", "numbers")) == 30
    assert score(case("a", "point"), case("b", "point", None, status="fail")) == 80
    assert score(*whole, weights=Points.WEIGHTS | {Aim.POINT: 10}) == 50
    assert score(*whole, weights=Points.WEIGHTS | {Aim.POINT: 100}) == pytest.approx(37.5)


def test_conduct_costs_the_plain_values_once():
    failing = [case("first", "plain", "conduct"), case("a", "point", "conduct"), case("edges", "edges", "conduct")]
    assert score(*failing, together=True) == 70
    assert score(case("layouts", "layouts", "conduct")) == 90


def test_plain_values_that_are_nearly_right_cost_their_aim():
    assert score(case("first", "plain", "numbers")) == 70
    half = case("first", "plain", "numbers"), case("second")
    assert score(*half) == 100 - 12 - 9
    assert score(*half, case("layouts", "layouts", "numbers")) == 100 - 12 - 9 - (10 - 9 / 2)
    everything = [case(one["name"], one["aim"], "numbers") for one in (FIRST, POINT, OTHER, *TENS)]
    assert score(*everything) == 5


def test_wrong_plain_values_leave_nothing_or_the_share_of_right_outputs():
    assert score(case("first", "plain", "numbers", near=0.0)) == 0
    assert score(case("first", "plain", "numbers", near=0.5)) == 40
    assert score(case("first", "plain", "numbers", near=0.5), case("a", "point", "numbers"), together=True) == 40
    assert score(case("first", "plain", None, near=0.0, status="error")) == 0
    assert score(case("first"), case("b", "point", "whole")) == 0


def test_a_bug_that_shipped_leaves_half():
    assert score(case("layouts", "layouts", "special"), fingerprint="this is what somebody computed") == 50
    assert score(case("layouts", "layouts", "special")) == 90


def test_what_is_not_reached_earns_nothing_and_what_was_earned_stays():
    def missing(name: str, aim: str) -> dict:
        return case(name, aim, status="not-run", message="The answer was not called again.")

    assert score(missing("edges", "edges")) == 90
    assert score(missing("edges", "edges"), case("also", "edges")) == 95
    assert score(missing("a", "point"), missing("b", "point")) == 60
    assert score(case("nothing measures it", None, status="not-run")) == 100
    assert score(missing("more", "plain"), *(missing(one["name"], one["aim"]) for one in (POINT, OTHER, *TENS))) == 15


def test_an_exercise_without_an_aim_gives_its_weight_to_the_others():
    report = {"cases": [FIRST, case("dtypes", "dtypes", "special")], "fingerprint": None, "passed": False}
    report |= {"required": ["correct"], "causes": [{"kind": "correct", "message": "No.", "cases": ["dtypes"]}]}
    found = points_of(report)
    assert [(part.aim, part.of, part.earned) for part in found.parts] == [("plain", 75, 75), ("dtypes", 25, 0)]
    assert points_of(report | {"required": ["efficient"]}).score == 1  # what is not asked for costs nothing


def test_the_split_says_why():
    report = {"cases": [FIRST, POINT, case("b", "point", "numbers"), *TENS], "fingerprint": "x", "passed": False}
    report |= {"required": ["correct"], "causes": [{"kind": "correct", "message": "y is wrong.", "cases": ["b"]}]}
    found = points_of(report)
    assert [part.because for part in found.parts] == [
        ["Ordinary numbers are wrong in b."],
        ["b: y is wrong."],
        [],
        [],
        [],
    ]
    several = {"cases": [FIRST, case("a, float16", "point", "numbers"), case("b", "point", "numbers"), *TENS]}
    several["causes"] = [{"kind": "correct", "message": "y is wrong.", "cases": ["a, float16", "b"]}]
    assert points_of(report | several).parts[1].because == ["a, float16; b: y is wrong."]
    assert found.limit == NAMED
    as_far = {**case("b", "point", "numbers"), "shipped": True}
    assert points_of(report | {"cases": [FIRST, POINT, as_far, *TENS], "fingerprint": None}).limit == SHIPPED
    assert points_of(report | {"cases": [case("first", near=0.0)]}).limit == GROSS
    missed = points_of(report | {"cases": [FIRST, case("b", "point", "numbers"), *TENS], "fingerprint": None})
    assert missed.limit == MISSED.format(10)
    assert missed.score == pytest.approx(sum(part.earned for part in missed.parts) / 100 - 0.1)


def test_a_common_mistake_is_named_and_costs_what_it_makes_wrong():
    """A bug that shipped, with the same cases, would leave half."""
    from graded_kernels.kernels.wild.cross_entropy import cross_entropy_backward_all_rows as mistake

    report = check("cross_entropy_backward", mistake, backend="torch")
    assert (report.fingerprint, report.mistake) == (None, "a common mistake: a kernel that forgets the ignored rows")
    assert "A common mistake: a kernel that forgets the ignored rows." in str(report)
    assert "shipped" not in report.limit
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
