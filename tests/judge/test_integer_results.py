"""Results that are integers or booleans: compared exactly, and shown as what they are."""

import json

import pytest
import torch
from graded_kernels.autograder import EXERCISES, Case, Exercise, Output, Tolerance, check, normal
from graded_kernels.autograder.judge.checking.check import check_answer
from graded_kernels.autograder.judge.records.settings import Settings
from graded_kernels.autograder.judge.records.validation import RecordError, validate
from graded_kernels.autograder.judge.report.notebook import render
from graded_kernels.autograder.runner import Answer, Cell

INT64 = torch.iinfo(torch.int64)


def sampled(p, u):
    return (p.cumsum(-1) <= u[:, None]).sum(-1)


def weights(generator):
    """Probabilities and uniform numbers that float32 adds and compares exactly; no u is a partial sum."""
    counts = torch.randint(0, 8, (9, 40), generator=generator)
    u = torch.randint(0, 200, (9,), generator=generator) % counts.sum(-1)
    return counts / 1024, (u + 0.5) / 1024


SAMPLED = Exercise(
    name="sampled",
    summary="the first j with p_0 + ... + p_j > u, for each row",
    oracle=sampled,
    outputs=(Output("index", torch.int64),),
    cases=(Case("ordinary values", weights, "Where does the running sum pass u?"),),
    hint="A running sum, and a comparison.",
)


def told(record: Exercise, answer) -> tuple[str, str, dict]:
    """Of a wrong answer: the report in the terminal, in the notebook and as JSON's first case."""
    report = check(record, answer, backend="torch")
    assert not report.passed
    return str(report), render(report), json.loads(json.dumps(report.to_dict()))["cases"][0]


def test_an_index_is_right_where_it_is_equal():
    report = check(SAMPLED, sampled, backend="torch")
    assert report.passed
    case = report.cases[0]
    assert (case.message, case.worst_ulp, case.margin) == ("exact", None, 0)


def test_the_few_integers_that_an_element_is_made_of_are_shown():
    """A result by sizes can then be worked out by hand: of `sizes: int64 (6, 3)` it cannot."""

    def swapped(sizes, block_m=64, block_n=64, element_bytes=2):
        m, n, k = sizes.unbind(1)
        rows, columns = (m + block_m - 1) // block_m, (n + block_n - 1) // block_n
        return element_bytes * (m * k * rows + k * n * columns + m * n), 2 * m * n * k

    text, _, data = told(EXERCISES["product_cost"], swapped)
    (row,) = data["failure"]["index"]
    assert list(data["failure"]["inputs"]) == [f"sizes[{row}, {column}]" for column in range(3)]
    assert f"sizes[{row}, 0] = {data['failure']['inputs'][f'sizes[{row}, 0]']}," in text


def test_an_index_off_by_one_is_wrong_and_shown_as_an_integer():
    right = sampled(*weights(torch.Generator().manual_seed(0)))
    text, page, data = told(SAMPLED, lambda p, u: sampled(p, u) + (torch.arange(len(u)) == 3))
    assert data["failure"] | {"inputs": {}} == {
        "output": "index",
        "index": [3],
        "got": int(right[3]) + 1,
        "expected": int(right[3]),
        "ulp": 1.0,
        "wrong": 1,
        "total": 9,
        "inputs": {},
        "allowed": 0.0,
        "step": 1.0,
        "codes": None,
    }
    assert type(data["failure"]["got"]) is int
    assert "index is wrong in 1 of 9 elements." in text
    for shown in (text, page):
        assert f"= {int(right[3]) + 1}\n" in shown or f"index[3] = {int(right[3]) + 1}</dd>" in shown
        assert "1: integers have to be equal" in shown
        assert "ulp" not in shown.partition("</style>")[2]


def test_no_ulp_of_the_other_outputs_is_allowed_to_an_index():
    cases = (
        Case("ordinary values", lambda generator: (torch.randperm(400, generator=generator).view(10, 40) + 0.5,), ""),
    )
    outputs = (Output("top"), Output("index", torch.int64))

    def largest(x):
        return tuple(x.max(-1))

    record = Exercise("largest", "max and argmax", largest, outputs, cases, "", Tolerance(1, 8, "eight roundings"))
    assert check(record, lambda x: (largest(x)[0] * (1 + 2**-22), largest(x)[1]), backend="torch").passed
    text, _, _ = told(record, lambda x: (largest(x)[0], largest(x)[1] - 1))
    assert "index is wrong in 10 of 10 elements." in text


@pytest.mark.parametrize("dtype", [torch.int32, torch.float32])
def test_an_index_in_another_dtype_is_told(dtype):
    text, _, _ = told(SAMPLED, lambda p, u: sampled(p, u).to(dtype))
    assert f"index should be int64, but is {str(dtype).removeprefix('torch.')}." in text


@pytest.mark.exhaustive
def test_an_index_is_judged_across_processes(worker):
    code = "def sampled(p, u):\n    return (p.cumsum(-1) <= u[:, None]).sum(-1)"
    for more, passes in (("", True), (" + 1", False), (".int()", False)):
        answer = Answer("sampled", (Cell("cell", code + more),))
        assert check_answer(answer, Settings("torch"), worker=worker, record=SAMPLED).passed == passes


def numbers(*values, **more) -> Exercise:
    """A record of integers that go in and come out."""
    cases = (Case("ordinary values", lambda generator: (torch.tensor(values),), ""),)
    more = {"oracle": lambda x: x.clone(), "cases": cases} | more
    return Exercise(name="same", summary="x", outputs=(Output("y"),), hint="", **more)


@pytest.mark.parametrize("right", [2**31 - 1, 2**53, 2**62, INT64.max, INT64.min + 1, -7])
def test_integers_of_any_size_are_told_apart_and_shown_in_full(right):
    text, page, data = told(numbers(right), lambda x: x - 1)
    assert (data["failure"]["got"], data["failure"]["expected"]) == (right - 1, right)
    assert f"y = {right - 1}" in text
    assert f"y = {right}" in text
    assert f"= {right}</dd>" in page


def test_a_mask_is_compared_exactly_and_shown_as_true_or_false():
    cases = (Case("ordinary values", lambda generator: (normal(generator, (50,)),), ""),)
    record = numbers(oracle=lambda x: x > 0.3, cases=cases)
    record = Exercise("above", "x > 0.3", record.oracle, (Output("mask", torch.bool),), record.cases, "")
    assert check(record, lambda x: x > 0.3, backend="torch").passed
    text, _, data = told(record, lambda x: x > 0.5)
    assert (data["failure"]["got"], data["failure"]["expected"]) == (False, True)
    assert "False where True belongs" in text


def test_a_floor_says_how_far_off_an_integer_may_be():
    """Where float32 rounds x / scale to a tie, the next integer is as right."""

    def quantised(x):
        return (x / 0.1).round().clamp(-128, 127).to(torch.int8)

    cases = (Case("ordinary values", lambda generator: (normal(generator, (500,)),), ""),)
    record = Exercise(
        "quantised",
        "round(x / 0.1) in int8",
        quantised,
        (Output("q", torch.int8),),
        cases,
        "",
        Tolerance(0, 0, "a tie may be rounded to either side", lambda x: (1.0,)),
    )
    report = check(record, lambda x: quantised(x) + 1, backend="torch")
    assert report.passed
    assert report.cases[0].message == "100% of the tolerance at most: 1, where 1 is allowed"
    text, _, _ = told(record, lambda x: quantised(x) + 2)
    assert "2, where 1 is allowed" in text


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"oracle": lambda x: x.double()}, "the oracle's y is torch.float64, its output torch.int64: return integers"),
        (
            {"cases": (Case("one", lambda generator: (torch.ones(3),), ""),)},
            'y is torch.float32, which is rounded: say how close is right, as in Tolerance(1, 8, "why")',
        ),
    ],
)
def test_a_mistake_in_such_a_record_names_its_cure(changes, says):
    with pytest.raises(RecordError) as error:
        validate(numbers(1, 2, **changes))
    assert says in str(error.value)
