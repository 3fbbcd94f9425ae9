"""Exercises whose answers write in place: what is written is compared like what is returned."""

from dataclasses import replace

import pytest
import torch
from graded_kernels.autograder import Case, Output
from graded_kernels.autograder.check import check_answer
from graded_kernels.autograder.exercises.validation import RecordError, validate
from graded_kernels.autograder.run.answer import Answer, Cell
from graded_kernels.autograder.sandbox import probe
from sgd_record import TORCH, TRITON, every_second, sgd_step

BOTH = [pytest.param("torch", TORCH, id="torch"), pytest.param("triton", TRITON, id="triton")]
PATHS = pytest.mark.parametrize("path", ["in process", "isolated"])


@pytest.fixture
def checked(request):
    """A function that checks a text: in this process, or isolated where the test's ``path`` says so."""
    isolated = request.getfixturevalue("path") == "isolated"
    if isolated and probe().rung is None:
        pytest.skip(f"not run: {probe()}")
    worker = request.getfixturevalue("worker") if isolated else None

    def check(text, backend, record=sgd_step, **options):
        answer = Answer(record.name, (Cell("answer.py", text),), module=True)
        return check_answer(answer, backend, record=record, worker=worker, **options)

    return check


@PATHS
@pytest.mark.parametrize("backend, text", BOTH)
def test_a_right_answer_gets_every_point(backend, text, path, checked):
    report = checked(text, backend)
    assert report.passed, str(report)
    assert report.score == 1
    assert all(case.status == "pass" for case in report.cases)


@pytest.mark.parametrize(
    "changes, says",
    [
        (
            {"writes": "m"},
            "writes is 'm', of type str: give a tuple of names, such as writes=(\"param\",), with a comma",
        ),
        ({"writes": ("v",)}, "it writes 'v', which is not a parameter: name some of param, grad, m, lr, beta"),
        ({"writes": ("m", "m")}, "m is written, so it is a result already: name it once, in writes"),
        ({"outputs": (Output("m", "m"),)}, "m is written, so it is a result already: name it once, in writes"),
        ({"writes": ()}, "it names no output"),
        ({"writes": ("lr", "m")}, "case 'numbers': lr is written, and only a tensor can be; it is 0.1, of type float"),
        ({"oracle": lambda param, grad, m, lr: (param, m.add_(grad))}, "the oracle writes into its argument m"),
        ({"oracle": lambda param, grad, m, lr: param}, "returns 1 tensors and outputs and writes name 2"),
        ({"oracle": lambda param, grad, m, lr: (param, m[:3])}, "oracle's m has shape (3,), and the tensor that is"),
    ],
)
def test_a_mistake_in_the_record_is_told_in_a_sentence(changes, says):
    case = Case("numbers", lambda generator: (*torch.ones(3, 5).unbind(), 0.1), "")
    with pytest.raises(RecordError) as error:
        validate(replace(sgd_step, **{"cases": (case,)} | changes))
    assert says in str(error.value)


def test_elements_that_lie_in_one_place_cannot_be_written():
    def case(view):
        return Case("seen so", lambda generator: (view(torch.zeros(4, 4)), *torch.zeros(2, 4, 4)), "")

    for right in (every_second, torch.t, lambda t: t[:, :0], lambda t: t[:1].as_strided((1, 4), (0, 1))):
        one = case(right).inputs(torch.Generator())[0]
        validate(replace(sgd_step, cases=(replace(case(right), inputs=lambda _, one=one: (one, one * 1, one * 1)),)))
    for wrong in (lambda t: t[:1].expand(4, 4), lambda t: t.as_strided((4, 4), (1, 1))):
        with pytest.raises(RecordError, match="param is written, and elements of it lie in one place"):
            validate(replace(sgd_step, cases=(case(wrong),)))


def test_the_signature_says_what_is_written():
    assert sgd_step.signature == "sgd_step(param, grad, m, lr=0.1, beta=0.9) writes param, m"
    assert replace(sgd_step, outputs=(Output("norm", "m"),)).signature.endswith("beta=0.9) -> norm, writes param, m")
