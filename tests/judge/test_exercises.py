"""The proof that the grader can see: answers pass, stubs are met kindly, bugs die in the case meant for them.

``make test`` puts a fifth of the answers through the check, and asks of a fifth of the bugs that shipped, and of one
planted mistake of every fourth answer, whether the case that is meant for them sees them. ``make test-all`` puts all
answers and all bugs through the whole check, as a learner's answer is, and asks it of the other mistakes; those
`test_two_mistakes.py` puts through the whole check.
"""

import dataclasses
import re
from collections.abc import Iterable

import broken
import pytest
import torch
from answers import PAIRS, Unwatched, answer, regions
from graded_kernels.autograder import EXERCISES, check
from graded_kernels.autograder.judge.checking.check import check_answer
from graded_kernels.autograder.judge.checking.judge import judge
from graded_kernels.autograder.judge.records.category import Category
from graded_kernels.autograder.judge.records.record import MEASURED, Case, CommonMistake, Exercise, WildBug
from graded_kernels.autograder.judge.records.settings import Settings
from graded_kernels.autograder.runner import Answer, Cell, Tree
from graded_kernels.course.regions import hide_bodies
from turns import in_turn, one_in

MUTANTS = broken.mutants()
WILD = [(e.name, bug) for e in EXERCISES.values() if isinstance(e, Exercise) for bug in e.wild]
FUNCTIONS = [(name, backend) for name, backend in PAIRS if isinstance(EXERCISES[name], Exercise)]


def ids(values):
    return "-".join(str(getattr(v, "why", getattr(v, "who", getattr(v, "__name__", v)))) for v in values)


def rejected_by(report) -> set[str]:
    return {c.name for c in report.cases if not c.bonus and c.status in ("fail", "error")}


@pytest.fixture
def only(monkeypatch):
    """``only(name, cases)``: for this test, the exercise has these cases and no other."""

    def restrict(name: str, cases: Iterable[Case]) -> None:
        monkeypatch.setitem(EXERCISES, name, dataclasses.replace(EXERCISES[name], cases=tuple(cases)))

    return restrict


def named(name: str, case_name: str) -> Iterable[Case]:
    """The case of this name with the numbers it is called with in its place among the others.

    A name that is of no case is a judgement on all of them together (memory, traffic): then all of them.
    """
    cases = EXERCISES[name].cases
    number = next((n for n, case in enumerate(cases) if case.name == case_name), None)
    if number is None:
        return cases

    def inputs(generator: torch.Generator) -> tuple:
        return cases[number].inputs(torch.Generator().manual_seed(generator.initial_seed() + number))

    return [dataclasses.replace(cases[number], inputs=inputs)]


@pytest.mark.parametrize("record", [e for e in EXERCISES.values() if isinstance(e, Exercise)], ids=lambda e: e.name)
def test_every_exercise_says_what_it_is_about_and_has_plain_values(record):
    drawn = {case.name: case.inputs(torch.Generator().manual_seed(0)) for case in record.cases}
    categories = {case.name: record.category(case, drawn[case.name]) for case in record.cases if not case.bonus}
    assert set(record.about) <= {*categories, *MEASURED}
    assert categories[record.cases[0].name] == Category.PLAIN
    assert record.about or Category.POINT in categories.values()


ELEMENTWISE = [
    *("axpy", "silu_forward", "silu_backward", "swiglu_forward", "swiglu_backward", "gelu_forward", "gelu_backward"),
    *("kl_forward", "kl_backward", "softcap_forward", "softcap_backward", "adamw_step", "stochastic_round"),
]


WITHOUT = {  # of a kernel of one element after another, a pattern of its source, and what takes its place
    "a program for each block": (r"\[\(triton\.cdiv\([^\]]*\),\)\]", "[(1,)]"),
    "a program for the rest": (r"triton\.cdiv\((.+?), (BLOCK|1024)\)", r"\1 // \2"),
    "a mask": (r", (mask|other)=[\w.]+", ""),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_plain_cases_of_elementwise_kernels_fill_blocks(name):
    """So many of them whole blocks, and so many the first one alone, that a kernel of no other gets 40 by the table."""
    record, sizes = EXERCISES[name], {}
    for case in record.cases:
        args = case.inputs(torch.Generator().manual_seed(0))
        if not case.bonus and record.category(case, args) in (Category.PLAIN, Category.POINT):
            sizes[case.name, record.category(case, args)] = max(tensor.numel() for tensor in Tree(args).tensors)
    assert {("ordinary values", 4096), ("one block", 1024), ("three blocks and a rest", 3 * 1024 + 37)} <= {
        (case, size) for (case, _), size in sizes.items()
    }
    plain = [size for (_, category), size in sizes.items() if category is Category.PLAIN]
    assert sum(size % 1024 == 0 for size in plain) >= len(plain) / 3
    assert len(plain) / 3 <= sum(size <= 1024 for size in plain) < 2 * len(plain) / 3


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "without"), in_turn(ELEMENTWISE, tuple(WITHOUT)))
def test_a_kernel_without_some_of_its_blocks_gets_forty(name, without):
    """Neither all but a category, nor nothing: some plain cases are right. Masks are the point of axpy."""
    *before, cell = answer(name, "triton").cells
    source = re.sub(*WITHOUT[without], cell.source)
    assert source != cell.source
    report = check_answer(Answer(name, (*before, Cell(cell.name, source))), Settings("triton", compiler=False))
    masks = name == "axpy" and without != "a program for each block"
    assert round(100 * report.score) == (50 if masks else 40), report.costs


IN_MAKE_TEST = (*ELEMENTWISE, "clamped_kl", "norm_of_rows", "add_rms_norm")
WITHOUT_NAN = {"gumbel_argmax": ("logits", "u"), "scaled_matmul": ("a_scale", "b_scale")}  # by their contracts


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in IN_MAKE_TEST else pytest.mark.exhaustive)
        for name in dict.fromkeys(name for name, _ in FUNCTIONS)
    ],
)
def test_a_nan_goes_in_through_every_argument(name):
    """Or through none that the contract says is finite."""
    record, seen, floats = EXERCISES[name], set(), set()
    for case in record.cases:
        if not case.bonus and "2^31" not in case.name:
            named = record.named(case.inputs(torch.Generator().manual_seed(0)))
            numbers = {parameter: a for parameter, a in named.items() if a.is_floating_point()}
            floats |= {parameter.partition("[")[0] for parameter in numbers}
            seen |= {parameter.partition("[")[0] for parameter, a in numbers.items() if a.double().isnan().any()}
    assert floats - seen == set(WITHOUT_NAN.get(name, ()))


# `make test-all` asks it of every answer, with the compiler, which takes longer than all calls; so `make test` asks it
# of a fifth of them, without.
FLOAT8 = ("quantize_blocks", "quantize_mx", "scaled_matmul")  # in the format of sm_90, which sm_80 and gfx942 lack
MANY_FORMS = "attention_backward"  # whose compilation for all GPUs takes the minute that an answer has
ONE_GPU = (*FLOAT8, MANY_FORMS)
ANSWERS = [
    *((*pair, {"compiler": False}) for pair in PAIRS[::5]),
    *(
        pytest.param(
            *pair, {} if pair[0] in (*FLOAT8, MANY_FORMS) else {"targets": "all"}, marks=pytest.mark.exhaustive
        )
        for pair in PAIRS
    ),
]


@pytest.mark.parametrize(("name", "backend", "compiled"), ANSWERS)
def test_answer_gets_every_point(name, backend, compiled):
    report = check_answer(answer(name, backend), Settings(backend, **compiled))
    assert report.passed, str(report)
    assert report.score == 1.0, str(report)
    assert [c.name for c in report.cases if c.status != "pass"] == [], str(report)  # the distinctions too


@pytest.mark.exhaustive
def test_an_answer_of_many_forms_compiles_for_every_gpu():
    """Of its cases each fourth."""
    record = EXERCISES[MANY_FORMS]
    some = dataclasses.replace(record, cases=record.cases[::4], wild=(), about=())
    report = check_answer(answer(MANY_FORMS, "triton"), Settings("triton", targets="all"), record=some)
    assert [c.name for c in report.cases if c.status != "pass"] == [], str(report)


@pytest.mark.parametrize(("name", "backend"), one_in(9, PAIRS))
def test_stub_gets_nothing_and_a_friendly_word(name, backend):
    whole = answer(name, backend)
    region = regions()["kernels" if backend == "triton" else "solutions", name]
    stub, hidden = [], False
    for line in hide_bodies(region).splitlines():
        if "BEGIN SOLUTION" in line:
            stub.append(line.replace("### BEGIN SOLUTION", "...  # YOUR CODE HERE"))
        hidden = "BEGIN SOLUTION" in line or (hidden and "END SOLUTION" not in line)
        if not hidden and "END SOLUTION" not in line:
            stub.append(line)
    cell = dataclasses.replace(whole.cells[-1], source="\n".join(stub))
    report = check_answer(dataclasses.replace(whole, cells=(*whole.cells[:-1], cell)), Settings(backend))
    assert (report.passed, report.score, report.summary) == (False, 0.0, "not implemented yet"), str(report)


@pytest.mark.parametrize(("name", "bug"), WILD[::5], ids=[ids(row) for row in WILD[::5]])
def test_the_case_for_a_wild_bug_sees_it(name, bug, only):
    only(name, named(name, bug.seen_by))
    report = check(name, lambda *args: bug.function(*args), backend="torch")
    assert not report.passed, str(report)
    assert bug.seen_by in rejected_by(report), str(report)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "bug"), WILD, ids=[ids(row) for row in WILD])
def test_wild_bug_is_seen_and_named(name, bug):
    report = check(name, lambda *args: bug.function(*args), backend="torch")
    assert not report.passed
    assert bug.seen_by in rejected_by(report), str(report)
    assert report.source == bug.named, str(report)
    assert bool(report.fingerprint) == isinstance(bug, WildBug)
    assert bool(report.mistake) == isinstance(bug, CommonMistake)


MUTANT_ROWS = [(*key, mutant) for key, rows in MUTANTS.items() for mutant in rows]

# The rules by which a case sees a mistake are the same for all of an answer's mistakes: of every fourth the first.
FIRST_MUTANTS = [(*key, rows[0]) for key, rows in MUTANTS.items() if rows][::4]
OTHER_MUTANTS = [row for row in MUTANT_ROWS if row not in FIRST_MUTANTS]


@pytest.mark.parametrize(
    ("name", "backend", "mutant"),
    [pytest.param(*row, id=ids(row)) for row in FIRST_MUTANTS]
    + [pytest.param(*row, id=ids(row), marks=pytest.mark.exhaustive) for row in OTHER_MUTANTS],
)
def test_mutant_dies_in_the_case_for_it(name, backend, mutant, only):
    if isinstance(EXERCISES[name], Exercise):  # a witness has no cases
        only(name, named(name, mutant.dies_in))
    report = check_answer(answer(name, backend, mutant.old, mutant.new), Settings(backend, compiler=False))
    assert not report.passed, f"accepted although it {mutant.why}"
    assert mutant.dies_in in rejected_by(report), str(report)


def test_mutants_are_of_answers():
    assert set(MUTANTS) <= set(PAIRS)


SMALL_INTEGERS = ("programs_at_once",)  # up to 32: half precision holds them all


def wrongs(name: str, backend: str):
    more = broken.BACKWARD if name.endswith("_backward") else ()
    found = broken.GENERAL + more + (broken.TORCH if backend == "torch" else ())
    found = [one for one in found if one is not broken.half_precision or name not in SMALL_INTEGERS]
    return [one for one in found if not EXERCISES[name].writes or one not in broken.RETURNED]


WRONG_ROWS = [(*pair, wrong) for pair in FUNCTIONS for wrong in wrongs(*pair)]
FEW = (1, 3)  # cases, which reject most of them


@pytest.mark.parametrize(
    ("name", "backend", "wrong"),
    one_in(19, WRONG_ROWS, ids),  # an answer has six to nine
)
def test_some_case_rejects_what_is_wrong_in_general(name, backend, wrong, only):
    """The first cases, or else all: what some of them reject is rejected."""
    function, cases = broken.applied(wrong, answer(name, backend).load(), EXERCISES[name]), EXERCISES[name].cases
    for count in (*FEW, len(cases)):
        only(name, cases[:count])
        if not check(name, function, backend=backend, compiler=False).passed:
            return
    raise AssertionError(f"{wrong.__name__} was accepted")


@pytest.mark.parametrize("name", [e.name for e in EXERCISES.values() if isinstance(e, Exercise) and e.peer])
def test_pytorchs_own_function_passes(name):
    """Every honest implementation passes: PyTorch's own, which would be refused as an answer, among them. Without a
    token PyTorch has NaN, and the course has 0.
    """
    record = EXERCISES[name]
    conventions = "pytorch" if "no token" in {case.convention for case in record.cases} else "course"
    report = judge(record, Unwatched(record.peer), Settings("torch", conventions=conventions))
    assert report.passed, str(report)
