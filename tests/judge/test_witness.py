"""A witness may be anything: what an exercise cannot take gets a sentence and no points, never an exception."""

import dataclasses
import itertools
import re

import pytest
import torch
from answers import answer, our_answer
from graded_kernels.autograder import EXERCISES, check
from graded_kernels.autograder.judge.checking.check import check_answer
from graded_kernels.autograder.judge.checking.judge import judge
from graded_kernels.autograder.judge.comparing.closeness import expect
from graded_kernels.autograder.judge.records.record import Case, Witness
from graded_kernels.autograder.judge.records.settings import Settings
from graded_kernels.autograder.runner import Answer, Cell, InProcess

WITNESSES = [name for name, record in EXERCISES.items() if isinstance(record, Witness)]
STRANGE = {
    "integers": torch.arange(4),
    "bools": torch.ones(4, dtype=torch.bool),
    "matrix of bools": torch.ones(2, 4, dtype=torch.bool),
    "complex numbers": torch.ones(4, dtype=torch.complex64),
    "matrix of complex numbers": torch.ones(2, 4, dtype=torch.complex64),
    "bytes": torch.ones(2, 3, dtype=torch.uint8),
    "64 dimensions": torch.ones([1] * 64),
    "63 dimensions": torch.ones([1] * 61 + [2, 3]),
    "no dimension": torch.tensor(1.0),
    "no columns": torch.empty(2**40, 0),
    "no rows": torch.empty(0, 2**40),
    "float64": torch.ones(2, 8, dtype=torch.float64),
    "float8": torch.ones(2, 8).to(torch.float8_e5m2),
    "sparse": torch.ones(2, 8).to_sparse(),
    "two million": torch.ones(1).expand(2**21),
    "NaN": torch.tensor([[float("nan")]]),
    "an integer": 5,
    "a float": -3.0,
    "a bool": True,
    "text": "tanh",
    "nothing": None,
}
PLAIN = {"vector": torch.ones(8), "matrix": torch.ones(2, 8), "labels": torch.tensor([0, -100])}
NEIGHBOURS = (*PLAIN, None)


ASKED = [(name, one.exercise.name) for name in WITNESSES for one in EXERCISES[name].all]


@pytest.mark.parametrize("everywhere", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("name, suspect", ASKED)
def test_strange_values_get_a_sentence(name, suspect, everywhere):
    """Every strange value at every place, beside ordinary ones and beside itself: places and neighbours in turn, or all
    of them.
    """
    record, tried = next(one for one in EXERCISES[name].all if one.exercise.name == suspect), 0
    everything, neighbours = STRANGE | PLAIN, itertools.cycle(NEIGHBOURS)
    for count in range(record.fewest, len(record.parameters) + 1):
        rows = [(strange, place) for strange in STRANGE for place in range(count) for _ in NEIGHBOURS]
        in_turn = [(strange, number % count) for number, strange in enumerate(STRANGE)]
        for strange, place in rows if everywhere else in_turn:
            other = next(neighbours)
            names = [other or strange] * count
            names[place] = strange
            given = tuple(everything[n] for n in names)
            report = check(name, lambda *block, given=given: given if block in ((), (suspect,)) else ())
            first, *others = (case for case in report.cases if case.suspect == suspect)
            shown = first.status == "pass" and all(case.status == "pass" for case in others)
            assert report.score == pytest.approx(shown / len(EXERCISES[name].all), abs=1e-6), names
            assert first.status == "pass" or 0 < len(first.message) < 300, (names, first)
            tried += first.status != "pass"
    assert tried > len(STRANGE) / 2


MATRIX, VECTOR, LABELS = torch.ones(2, 8), torch.ones(8), torch.zeros(2, dtype=torch.int64)
REMEDIES = [
    ("gelu_witness", (torch.arange(4),), "x is int64. Use float32, float16 or bfloat16."),
    ("dormant_witness", (MATRIX.double(),), "x is float64. Use float32."),
    ("dormant_witness", (MATRIX.bfloat16(),), "x is bfloat16. Use float32."),
    ("scaled_keys_witness", (MATRIX, MATRIX), "q is float32. Use bfloat16."),
    ("gelu_witness", (MATRIX, 3), "approximate should be str, but is int."),
    ("gelu_witness", (MATRIX, "tan"), "The bug is in the tanh form"),
    ("silu_witness", (MATRIX, 3), "x should be a tensor, but is int."),
    ("silu_witness", (torch.ones([1] * 64),) * 2, "dy has 64 dimensions, of at most 8."),
    ("silu_witness", (torch.empty(2**40, 0),) * 2, "The tensors have 2,199,023,255,552 elements together"),
    (
        "attention_witness",
        (torch.ones(1, 1, 32, 1024).half(),) * 3,
        "The tensors have 98,304 elements together, of at most 65,536.",
    ),
    (
        "attention_witness",
        (torch.ones(1, 2, 4096, 1).half(),) * 3,
        "There are 33,554,432 scores, of at most 1,048,576.",
    ),
    ("layer_norm_witness", (MATRIX, VECTOR, VECTOR, 1), "eps should be float, but is int."),
    ("layer_norm_witness", (MATRIX, VECTOR, VECTOR, -1.0), "eps is positive and finite."),
    ("cross_entropy_witness", (MATRIX, VECTOR[:2]), "labels is float32. Use int64."),
    ("cross_entropy_witness", (MATRIX, LABELS, True), "ignore_index should be int, but is bool."),
    ("cross_entropy_witness", (torch.ones(2, 8, dtype=torch.bool), torch.zeros(2).long()), "logits is bool. Use"),
]


@pytest.mark.parametrize(("name", "found", "sentence"), REMEDIES, ids=[sentence for *_, sentence in REMEDIES])
def test_the_sentence_names_the_value_and_the_remedy(name, found, sentence):
    first = check(name, lambda: found).cases[0]
    assert first.status == "fail"
    assert first.message.startswith(sentence)


@pytest.mark.parametrize(
    "value",
    [
        *("torch.arange(4)", "torch.ones([1] * 64)", "torch.ones(4, dtype=torch.complex64)", "torch.ones(2, 2**22)"),
        *("((1, 2), (3,))", "torch.ones(4).to(torch.float8_e5m2)", "torch.ones(4).to_sparse()", "10**30", "None"),
    ],
)
def test_isolated_a_strange_value_gets_a_sentence_too(value, worker):
    source = f"import torch\ndef silu_witness():\n    return {value}, {value}"
    report = check_answer(Answer("silu_witness", (Cell("a", source),)), Settings("torch"), worker=worker)
    assert not report.passed
    assert report.score == 0
    assert report.cases[0].message
    assert "ended its process" not in report.cases[0].message or value == "10**30"


NO_LENGTHS = """
import torch
def attention_witness():
    return torch.ones(1, 1, 4, 4), torch.ones(1, 1, 2, 4), torch.ones(1, 1, 2, 4), None, True
"""


def test_what_may_be_left_out_may_be_none(worker):
    """More queries than keys under causality, with key_lengths as None: the chapter says that it may be."""
    namespace: dict = {}
    exec(NO_LENGTHS, namespace)
    here = check("attention_witness", namespace["attention_witness"])
    apart = check_answer(Answer("attention_witness", (Cell("a", NO_LENGTHS),)), Settings("torch"), worker=worker)
    assert here.passed, (here.cases[0], apart.cases[0])
    assert apart.passed, (here.cases[0], apart.cases[0])


NO_ROWS = """
import torch
def cross_entropy_witness():
    return torch.zeros(ROWS, 3), torch.zeros(ROWS, dtype=torch.int64)
"""


@pytest.mark.parametrize("rows", [0, 1])
def test_a_batch_without_rows_convicts_and_one_with_a_token_does_not(rows, worker):
    """The chapter shows that Liger-Kernel 0.2.1 fails there."""
    source = NO_ROWS.replace("ROWS", str(rows))
    namespace: dict = {}
    exec(source, namespace)
    here = check("cross_entropy_witness", namespace["cross_entropy_witness"])
    apart = check_answer(Answer("cross_entropy_witness", (Cell("a", source),)), Settings("torch"), worker=worker)
    for report in (here, apart):
        valid, right, convicts = report.cases
        assert (valid.status, right.status) == ("pass", "pass"), report
        assert convicts.status == ("fail" if rows else "pass"), convicts
        assert rows or "ZeroDivisionError" in convicts.message, convicts


@pytest.mark.parametrize("name", WITNESSES)
def test_empty_tensors_convict_nobody_else_or_are_refused(name):
    """Where nothing is computed nothing is wrong: each tensor of the right number of dimensions, without elements."""
    block = [record.exercise.name] if (record := EXERCISES[name]).others else []
    ours = answer(name, "torch").load()(*block)
    given = ours if isinstance(ours, tuple) else (ours,)
    empty = tuple(x.new_empty((0, *x.shape[1:])) if isinstance(x, torch.Tensor) else x for x in given)
    report = check(name, lambda *block: empty)
    assert report.passed == (name == "cross_entropy_witness"), report


def statuses(record):
    report = judge(record, InProcess(lambda: (VECTOR, VECTOR), record.contract, "torch"), Settings("torch"))
    return [case.status for case in report.cases]


def test_an_input_on_which_pytorch_is_wrong_is_out_of_range():
    record = EXERCISES["silu_witness"]
    wrong = dataclasses.replace(record.exercise, peer=lambda dy, x: torch.zeros_like(x))
    assert record.exercise.peer is not None
    assert statuses(record)[1] == "pass"
    assert statuses(dataclasses.replace(record, exercise=wrong))[1] == "fail"


@pytest.mark.parametrize("dtype, status", [(torch.float32, "fail"), (torch.float64, "pass")])
def test_a_bug_that_gives_another_dtype_is_convicted(dtype, status):
    record = EXERCISES["silu_witness"]
    bug = dataclasses.replace(record.bug, function=lambda dy, x: record.exercise.peer(dy, x).to(dtype))
    assert statuses(dataclasses.replace(record, bug=bug)) == ["pass", "pass", status]


def test_no_case_says_of_an_input_what_its_message_denies():
    """“candle is wrong on it: candle is exactly right on this input.”"""
    valid, right, wrong = check("silu_witness", lambda: (torch.ones(1), torch.tensor([1e-20]))).cases
    assert wrong.message == "candle 0.4.1-0.5.0 is exactly right on this input."
    assert [case.name for case in (valid, right, wrong)] == [
        *("a valid input", "no error of right code", "an error of candle 0.4.1-0.5.0")
    ]


def test_an_advantage_that_is_large_without_rounding_is_said_to_be():
    """It was said that PyTorch, which has no such function, is outside the tolerance."""
    rewards = torch.tensor([[1.0, 0.501, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]])
    first, *others = check("advantage_witness", lambda: (rewards,)).cases
    assert first.message.startswith("Without any rounding an advantage is 1319 here.")
    assert {case.status for case in others} == {"not-run"}


def test_an_input_that_is_no_witness_is_told_how_far_off_it_is():
    """That the bug is right was said of what is off by less than is asked."""

    def message(x):
        report = check("gelu_witness", lambda: (x, "tanh"))
        return report.cases[2].message

    assert "is exactly right on this input" in message(torch.zeros(3))
    assert re.search(
        r"off by [\d.e-]+ at most on this input, where [\d.e-]+ is right; a witness is off by more than [\d.e-]+ here",
        message(torch.tensor([1e-3, 0.01])),
    )


def test_what_is_asked_is_said_of_the_output_that_it_is_asked_of():
    """burn's rstd is off there, too, and 1 % of the largest element is asked of y."""
    x = torch.tensor([[1e6, 1e6 + 1, 1e6 + 2]])
    report = check("layer_norm_witness", lambda: (x, torch.ones(3), torch.zeros(3)))
    assert " here (1 % of the largest element of the row), plus " in report.cases[2].message


def test_of_several_results_the_one_that_is_off_is_named():
    report = check("dormant_witness", lambda: (torch.full((1, 128), 1e-37),))
    assert "at most on this input, where scale = 2.23e-40 is right" in report.cases[2].message


@pytest.mark.parametrize("name", [name for name, record in EXERCISES.items() if isinstance(record, Witness)])
def test_the_contract_says_how_far_off_and_how_large_a_witness_is(name):
    contract = " ".join((our_answer(name, "torch").__doc__ or "").split())
    for one in EXERCISES[name].all:
        assert f"off by more than {one.asked}" in contract
        assert f"at most {one.most:,} " in contract.lower()


@pytest.mark.parametrize("name, suspect", ASKED)
def test_less_than_is_asked_for_is_within_the_tolerance(name, suspect):
    """What a report says is asked for was not what a verdict asked of decay_witness."""
    (one,) = (one for one in EXERCISES[name].all if one.exercise.name == suspect)
    if one.apart is None:
        return
    ours = answer(name, "torch").load()(*([suspect] if EXERCISES[name].others else []))
    args = ours if isinstance(ours, tuple) else (ours,)
    expected = expect(one.exercise, Case("witness", lambda generator: args, ""), args)
    asked = torch.as_tensor(one.apart(*one.exercise.widened(args)), dtype=torch.float64)
    allowed = (allowed * size for allowed, size in zip(expected.allowed, expected.sizes, strict=True))
    assert any(bool((most >= asked * (1 - 1e-9)).all()) for most in allowed if most.dim() >= asked.dim())


def test_an_error_in_a_small_element_beside_a_large_one_is_no_witness():
    x, log_decay = torch.tensor([[1000.0], [1.0]]), torch.tensor([0.0, -88.0])
    report = check("decay_witness", lambda: (x, log_decay))
    assert (
        "off by 1 at most on this input, where 1 is right; a witness is off by more than 50" in report.cases[2].message
    )
    assert check("decay_witness", lambda: (x[1:], log_decay[1:])).passed


@pytest.mark.parametrize(
    ("rewards", "shown"),
    [
        ([0.95, *[0.35] * 7], True),
        ([*[0.35] * 7, 0.4], True),
        ([1000.0, 1.0, 2.0, 3.0], False),  # NeMo-RL's 998 is what its formula gives
        ([0.5, 0.25, 0.25, 0.25], False),  # these squares do not round
    ],
)
def test_an_outlier_convicts_no_advantage(rewards, shown):
    report = check("advantage_witness", lambda: (torch.tensor([rewards]),))
    assert report.passed is shown, report.cases[2].message


def test_where_values_may_be_left_out_it_is_said_how_many_suffice():
    first = check("lion_witness", lambda: (VECTOR,)).cases[0]
    assert "should return 3 to 6 values (param, grad, m, lr, beta, decay), but returned 1." in first.message


def test_the_others_of_an_advantage_have_a_deviation_with_n_less_1():
    """What NeMo-RL computes without rounding: -1/3 over the root of 1/3."""
    message = check("advantage_witness", lambda: (torch.tensor([[1.0, 0.0, 0.0, 0.0]]),)).cases[2].message
    assert "where -0.577 is right" in message
