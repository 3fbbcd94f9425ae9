"""The families of cases for signatures of one's own: numbers and words beside the tensors."""

import pytest
import torch
from graded_kernels.autograder import Exercise, Output, Tolerance, check, elementwise, losses, normal, rowwise
from graded_kernels.autograder.judge.records.validation import RecordError, validate


def of_one_output(oracle, cases, like="x", tolerance=None) -> Exercise:
    tolerance = tolerance or Tolerance(1, 8, "a few roundings")
    return Exercise("op", "an op of one's own", oracle, (Output("y", like),), cases, "", tolerance)


def softcap(x, cap=50.0):
    return cap * torch.tanh(x / cap)


def softcap_answer(x, cap=50.0):
    return softcap(x.float(), cap).to(x.dtype)


SOFTCAPS = {
    "given": elementwise(("x",), "x", lambda: torch.ones(3), arguments=lambda generator, x: (x, 30.0)),
    "left out": elementwise(("x",), "x", lambda: torch.ones(3)),
}


@pytest.mark.parametrize("cap", SOFTCAPS)
def test_an_elementwise_record_gives_a_number_or_leaves_it_at_its_default(cap):
    floor = Tolerance(1, 8, "x / cap is rounded, which in the subnormals is absolute", lambda x, cap=50.0: (1e-43,))
    record = of_one_output(softcap, SOFTCAPS[cap], tolerance=floor)
    assert check(record, softcap_answer, backend="torch").passed
    assert check(record, lambda x, cap=50.0: softcap_answer(x), backend="torch").passed == (cap == "left out")


def test_words_and_numbers_stand_where_the_signature_has_them():
    def bounded(how, x, bound, y):
        return torch.minimum(x, bound * y) if how == "min" else torch.maximum(x, bound * y)

    cases = elementwise(("x", "y"), "x", lambda: torch.ones(3), arguments=lambda generator, x, y: ("min", x, 2, y))
    record = of_one_output(bounded, cases)
    assert check(record, bounded, backend="torch").passed
    assert not check(record, lambda how, x, bound, y: bounded("max", x, bound, y), backend="torch").passed


def test_the_numbers_of_a_family_come_after_its_tensors():
    def weighted(x, weight, eps=1e-6):
        return (x + eps) * weight

    def smoothed(logits, labels, smoothing, ignore_index=-100):
        return logits * smoothing * (labels != ignore_index)[:, None]

    validate(
        of_one_output(
            weighted,
            rowwise(arguments=lambda generator, x, *eps: (x, normal(generator, x.shape[-1:], x.dtype), *eps)),
        )
    )
    validate(of_one_output(lambda x: x.clone(), rowwise(arguments=lambda generator, x, *eps: (x,))))
    validate(
        of_one_output(
            smoothed,
            losses(
                checked=False,
                near_certain=False,
                arguments=lambda generator, logits, labels, *index: (logits, labels, 0.1, *index),
            ),
            "logits",
        )
    )


def test_what_a_case_sets_has_to_fit_the_signature():
    with pytest.raises(RecordError, match=r"case 'eps = 0.1': its 2 arguments do not fit the oracle's parameters"):
        validate(of_one_output(lambda x: x.clone(), rowwise()))


def test_a_case_that_sets_nothing_hands_over_its_tensors_alone():
    def drawn(cases):
        return {case.name: case.inputs(torch.Generator().manual_seed(0)) for case in cases}

    rows, labelled = drawn(rowwise()), drawn(losses(checked=True, near_certain=True))
    assert [rows[name][1:] for name in ("3 columns", "eps = 0.1")] == [(), (0.1,)]
    indices = [labelled[name][2:] for name in ("some rows ignored", "ignore_index = 0", "a label of -100")]
    assert indices == [(), (0,), (-1,)]


def test_weights_may_be_wider_than_rows():
    cases = {case.name: case for case in rowwise(arguments=lambda generator, x, *eps: (x, x[0], *eps))}
    x, weight = cases["bfloat16 with float32 weights"].inputs(torch.Generator().manual_seed(0))
    assert (x.dtype, weight.dtype) == (torch.bfloat16, torch.float32)
    assert x[0].equal(weight.bfloat16())
