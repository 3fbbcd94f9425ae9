"""What a check says of a slip: in the learner's own terms."""

import re

import pytest
import torch
import triton
import triton.language as tl
from answers import answer
from graded_kernels.autograder import check
from graded_kernels.autograder.runner import Answer, Cell


@triton.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=mask, other=0.0), mask=mask)


def test_a_store_into_an_input_asks_about_the_order_of_arguments(cases_until):
    cases_until("silu_forward", 1)

    def mixed_up(x):
        x = x.contiguous()
        y = torch.empty_like(x)
        copy_kernel[(triton.cdiv(x.numel(), 128),)](y, x, x.numel(), BLOCK=128)
        return y

    message = check("silu_forward", mixed_up, backend="triton", compiler=False).cases[0].message
    assert "never written" in message
    assert message.endswith(
        "The input x was changed instead: are the launch's arguments in the order of the kernel's parameters?"
    )


def test_a_label_is_shown_as_an_integer_and_a_mask_as_true_or_false(cases_until):
    cases_until("cross_entropy_forward", 1)
    cases_until("masked_softmax_forward", 1)

    def losses(logits, labels, ignore_index=-100):
        return torch.zeros(len(labels)), torch.zeros(len(labels))

    shown = str(check("cross_entropy_forward", losses, backend="torch"))
    assert re.search(r"labels = \d+ at loss", shown), shown
    shown = str(check("masked_softmax_forward", lambda x, mask: torch.zeros_like(x), backend="torch"))
    assert re.search(r"mask = True at y", shown), shown


def test_one_slip_in_two_dtypes_is_one_cause():
    report = check("silu_forward", lambda x: x.float() * torch.sigmoid(x.float()), backend="torch")
    (cause,) = report.causes
    assert cause.message == "y should be float16, but is float32."
    assert "every bfloat16 value" in str(cause.cases)


def test_an_error_without_words_is_told_by_its_name_alone():
    def answer(x):
        raise RuntimeError

    report = check("silu_forward", answer, backend="torch")
    assert report.causes[0].message.endswith("`raise RuntimeError`: RuntimeError")
    assert str(report).split("went in")[0].count("RuntimeError") == 2


def test_an_answer_in_pytorch_is_not_asked_for_a_kernel():
    message = check("silu_forward", torch.empty_like, backend="torch").cases[0].message
    assert message.endswith("y (4,096 elements) was never written. Store the result in it."), message


@triton.jit
def cut_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    upper = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0).to(tl.int32, bitcast=True) & 0xFFFF0000
    tl.store(y_ptr + offsets, upper.to(tl.float32, bitcast=True).to(tl.bfloat16), mask=offsets < n)


def test_a_bit_pattern_that_is_no_int32_is_told_as_the_one_to_write():
    def cut_off(x, bits):
        y = torch.empty_like(x, dtype=torch.bfloat16)
        cut_kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
        return y

    message = check("stochastic_round", cut_off, backend="triton", compiler=False).cases[0].message
    assert message.endswith("write -65536 for 0xFFFF0000."), message


def test_saved_tensors_are_told_to_be_a_tuple_and_a_function_to_be_applied():
    class Silu(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * torch.sigmoid(x)

        @staticmethod
        def backward(ctx, dy):
            return ctx.saved_tensors.float() * dy

    assert "`(x,) = ctx.saved_tensors`" in check("silu_function", Silu.apply, backend="torch").cases[0].message
    plain = check("silu_function", lambda x: x * torch.sigmoid(x), backend="torch").cases[0].message
    assert "`torch.autograd.Function`, whose `apply` is then what you call" in plain


def test_an_exact_zero_is_said_to_belong():
    """In ulp of 0 the tolerance is 1.1e-44, which nobody asks for."""

    def without_zeros(dy, x):
        s = torch.sigmoid(x.float())
        return (dy * s * (1 + x * (1 - s))).masked_fill(dy == 0, 1.0).to(x.dtype)

    shown = str(check("silu_backward", without_zeros, backend="torch"))
    assert re.search(r"off by +1\.0, where 0 belongs", shown), shown


@triton.jit
def nan_kernel(y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, float("nan"), mask=offsets < n)


def test_where_nothing_is_right_nothing_is_said_of_other_machines():
    def nothing(x):
        y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        if y.numel():
            nan_kernel[(triton.cdiv(y.numel(), 1024),)](y, y.numel(), BLOCK=1024)
        return y

    report = check("silu_forward", nothing, backend="triton", compiler=False)
    assert (report.correct, report.portable, report.score) == (False, None, 0.0)


def patched(name, backend, *patches):
    """Our answer to an exercise with pieces of its text replaced, each of which occurs."""
    source = "\n".join(cell.source for cell in answer(name, backend).cells)
    for old, new in patches:
        assert old in source, old
        source = source.replace(old, new)
    return Answer(name, (Cell(name, source),)).load()


EPSILON = "√v̂ + ε and √(v̂ + ε) are far apart"


@pytest.mark.parametrize(
    "name, backend, case, says, patches",
    [
        (
            "adamw_step",
            "torch",
            "gradients near epsilon",
            EPSILON,
            [("(v / (1 - beta2**step)).sqrt_().add_(eps)", "(v / (1 - beta2**step) + eps).sqrt()")],
        ),
        (
            "adamw_step",
            "triton",
            "gradients near epsilon",
            EPSILON,
            [("(tl.sqrt(v / correction2) + eps)", "tl.sqrt(v / correction2 + eps)")],
        ),
        (
            "adamw_step",
            "torch",
            "step 257",
            "a step rounded to bfloat16",
            [("    g = grad.to", "    step = float(torch.tensor(step).bfloat16())\n    g = grad.to")],
        ),
        (
            "kl_forward",
            "torch",
            "r from 0.008 to 1",
            "The first term that the series leaves",
            [("range(20, 2, -1)", "range(4, 2, -1)"), ("r.abs() < 1", "r.abs() < 0.1")],
        ),
        (
            "entropy_forward",
            "triton",
            "rising and falling",
            "Σ e^d · d too, whose d changes itself",
            [("weighted = (weighted + step * total) * tl.exp(step)", "weighted = weighted * tl.exp(step)")],
        ),
        (
            "silu_function",
            "torch",
            "ordinary values",
            "SiLU(...) makes an object, and computes nothing: call `SiLU.apply(x)`",
            [("SiLU.apply(x)", "SiLU(x)")],
        ),
    ],
)
def test_a_slip_is_told_first_where_it_is_plain_and_by_its_name(name, backend, case, says, patches, cases_until):
    if says is not EPSILON:  # a case further on tells which of two mistakes it is
        cases_until(name, case)
    report = check(name, patched(name, backend, *patches), backend=backend, compiler=False)
    assert report.causes[0].cases[0].name == case
    assert says in " ".join(str(report).split())
