"""The checker's own tests: what it must never accept, and what it must say."""

import dataclasses
import json
import math
import subprocess
import sys
import warnings

import pytest
import torch
import triton
import triton.language as tl
from answers import answer, verdict
from graded_kernels.autograder import EXERCISES, check
from graded_kernels.autograder.judge.checking.judge import judge
from graded_kernels.autograder.judge.records.record import Case
from graded_kernels.autograder.judge.records.settings import Settings
from graded_kernels.autograder.runner import InProcess


@triton.jit
def constants(x_ptr, sums_ptr, M, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.load(x_ptr) * 300.0
    tl.store(sums_ptr + i, tl.zeros([BLOCK], tl.float32) + total, mask=i < M)


def right(x):
    v = x.float()
    return (v / (1 + torch.exp(-v))).to(x.dtype)


def test_an_honest_answer_passes_without_the_distinctions():
    report, _ = verdict(right)
    assert report.passed
    assert report.score == 1.0
    assert next(c for c in report.cases if c.name == "distinction: the tail").status == "fail"


def test_none_is_not_implemented_yet():
    report, first = verdict(lambda x: None)
    assert (report.summary, report.score, first.status) == ("not implemented yet", 0.0, "error")
    assert all(c.status == "not-run" for c in report.cases[1:])


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: right(x)[:-1], "y should have shape (4096,), but has (4095,)."),
        (lambda x: right(x).tolist(), "silu_forward should return one tensor (y), but returned 4096."),
        (lambda x: right(x).numpy(), "y should be a tensor, but is ndarray."),
        (lambda x: (right(x), right(x)), "silu_forward should return one tensor (y), but returned 2."),
        (lambda x: 0.5, "y should have shape (4096,), but has (). Return a tensor, not a Python number."),
        (lambda x: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda x: sys.exit(0), "SystemExit: 0"),
        (lambda x, y: x, "missing 1 required positional argument"),
    ],
)
def test_what_cannot_be_compared_is_named_and_earns_nothing(function, words):
    report, first = verdict(function)
    assert not report.passed
    assert report.score == 0.0
    assert words in first.message


def test_right_numbers_in_a_wrong_dtype_are_worth_something():
    report, first = verdict(lambda x: right(x).double())
    assert first.message == "y should be float32, but is float64."
    assert report.score == 0.93
    assert verdict(lambda x: right(x).double() + 1)[0].score == 0


def test_right_numbers_in_a_wrong_shape_are_worth_something():
    report, first = verdict(lambda x: right(x)[None])
    assert first.message.startswith("y should have shape (4096,), but has (1, 4096).")
    assert report.score == 0.88


class AlwaysEqual(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return torch.tensor(True)


def test_a_tensor_that_claims_to_equal_everything_is_not_a_tensor():
    report, first = verdict(lambda x: torch.zeros_like(x).as_subclass(AlwaysEqual))
    assert not report.passed
    assert "is AlwaysEqual" in first.message


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_nan_and_infinity_are_never_right_by_accident(value):
    report, first = verdict(lambda x: torch.full_like(x, value))
    assert not report.passed
    assert first.status == "fail"
    assert first.failure.wrong == 4096
    assert first.failure.ulp == math.inf


def test_a_case_says_how_much_of_its_tolerance_the_worst_element_takes():
    """Of a result that passes, of one that fails, and of one that has no distance."""
    near, off = verdict(right)[1], verdict(lambda x: (right(x).double() * (1 + 2.0**-18)).to(x.dtype))[1]
    assert (near.status, off.status) == ("pass", "fail")
    assert 0 < near.margin < 0.7
    assert 1 < off.margin < 100
    assert verdict(lambda x: torch.full_like(x, math.nan))[1].margin == math.inf
    assert verdict(lambda x: None)[1].margin is None


def test_one_nan_among_many_is_found_and_located():
    def one_nan(x):
        y = right(x)
        if y.dim() == 1 and y.numel() == 4096:
            y[617] = math.nan
        return y

    _, first = verdict(one_nan)
    assert first.failure.index == (617,)
    assert first.failure.wrong == 1
    assert math.isnan(first.failure.got)


def test_a_changed_input_is_named():
    def change(x):
        y = right(x)
        x.mul_(2)
        return y

    _, first = verdict(change)
    assert first.status == "fail"
    assert "changed its input x" in first.message


def test_an_output_that_is_a_view_of_the_input_is_named():
    identity = dataclasses.replace(EXERCISES["silu_forward"], oracle=lambda x: x * 1, peer=None)
    report = judge(identity, InProcess(lambda x: x.view(x.shape), identity.contract, "torch"), Settings("torch"))
    assert report.cases[0].status == "fail"
    assert "shares memory with the input x" in report.cases[0].message
    assert (
        judge(identity, InProcess(lambda x: x.clone(), identity.contract, "torch"), Settings("torch")).cases[0].status
        == "pass"
    )


def test_different_bits_for_the_same_input_are_not_right():
    _, first = verdict(lambda x: right(x) * (1 + 2e-7 * torch.rand(x.shape)))
    assert first.status == "fail"
    assert "twice" in first.message


def test_memory_from_empty_is_not_an_answer():
    report, first = verdict(torch.empty_like)
    assert first.failure.wrong == 4096
    assert not report.passed


def test_stderr_and_warnings_cost_nothing():
    def noisy(x):
        import numpy as np

        warnings.warn("careful", stacklevel=1)
        np.exp(np.float32(1000.0))
        print("noise", file=sys.stderr)
        return right(x)

    report, _ = verdict(noisy)
    assert report.passed


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((torch.relu, "silu_forward"), r'check\("silu_forward", relu\)'),
        (("silu_forward", 3), "takes the function itself, .* int is none"),
        ((torch.relu, torch.relu), "by its name"),
    ],
)
def test_arguments_of_another_kind_are_explained(arguments, says):
    with pytest.raises(TypeError, match=says):
        check(*arguments)


def test_a_report_is_one_line_where_python_shows_a_value():
    shown = repr(check("silu_forward", torch.relu))
    assert shown.startswith("<Report on silu_forward (torch): not passed, ") and "\n" not in shown and len(shown) < 110


def test_unknown_names_are_explained():
    with pytest.raises(ValueError, match="did you mean silu_backward"):
        check("silu_backwards", right)
    with pytest.raises(ValueError, match="answered in triton, not in 'torch'"):
        check("swiglu_forward", right, backend="torch")


def test_cells_in_another_order_get_a_sentence():
    from graded_kernels.kernels.silu import silu_backward as in_triton
    from graded_kernels.solutions.silu import silu_backward as in_torch

    crossed = check("silu_backward", in_triton, backend="torch")
    assert crossed.summary == "This `silu_backward` launches a Triton kernel, so it is not the PyTorch answer."
    crossed = check("silu_backward", in_torch, backend="triton")
    assert not crossed.passed
    assert "this may be the PyTorch answer" in crossed.summary
    before = check("silu_backward", lambda dy, x: in_triton(dy * 1.0, x), backend="triton")
    assert "(No kernel had been launched by then: this may be the PyTorch answer.)" in before.summary
    after = check("silu_backward", lambda dy, x: in_triton(dy, x) * 1.0, backend="triton")
    assert "outside the kernel" in after.summary and "PyTorch answer" not in after.summary


def test_the_first_hint_is_not_told_where_there_is_no_result():
    assert verdict(lambda x: right(x) + 0.1 * x.sin().square())[1].hint
    report, first = verdict(lambda x: x.no_such_thing)
    assert "no_such_thing" in first.message
    assert not first.hint
    assert all(case.hint for case in report.cases[1:] if case.status == "error")


def test_the_failing_value_is_told():
    from graded_kernels.kernels.wild.silu import silu_backward_divide_back as candle

    report = check("silu_backward", lambda dy, x: candle(dy, x), backend="torch")
    case = next(c for c in report.cases if c.name == "exact zeros")
    assert case.failure.inputs["x"] == 0.0
    assert math.isnan(case.failure.got)
    assert case.failure.expected == pytest.approx(case.failure.inputs["dy"] / 2)
    assert report.fingerprint == "this is what candle 0.4.1-0.5.0 computed (huggingface/candle#2082)"
    json.dumps(report.to_dict(), allow_nan=False)


def test_what_the_emulator_cannot_show_is_noted():
    from graded_kernels.autograder.gpu import CANNOT_SHOW
    from graded_kernels.kernels.silu import silu_forward

    narrow_axpy = answer("axpy", "triton", ".to(tl.int64) * BLOCK", " * BLOCK").load()
    sentence = dict(CANNOT_SHOW)
    noted = check("silu_forward", silu_forward, backend="triton", compiler=False)
    assert noted.passed
    assert sentence["exp"] in noted.notes
    assert sentence["dot"] not in noted.notes
    assert sentence["atomic"] not in noted.notes
    assert noted.to_dict()["notes"] == list(noted.notes)
    first = check("axpy", narrow_axpy, compiler=False)
    assert first.passed
    assert first.notes == ()
    assert (
        sentence["offsets"]
        in check(dataclasses.replace(EXERCISES["axpy"], notes=True), narrow_axpy, compiler=False).notes
    )
    assert verdict(right)[0].notes == ()


def test_a_failed_check_raises_where_nbgrader_runs_the_notebook(monkeypatch):
    """`nbgrader validate` calls a notebook right when no cell raises."""
    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")
    with pytest.raises(AssertionError, match="exact zeros"):
        check("silu_forward", lambda x: right(x).masked_fill(x == 0, 1.0), backend="torch")
    assert check("silu_forward", right, backend="torch").passed


def test_of_cases_that_pass_only_the_first_has_a_curve_to_draw():
    passed = [case.curve is not None for case in check("silu_forward", right, "torch").cases if case.status == "pass"]
    assert sum(passed) == 1


def test_pytorch_computes_in_one_thread_meanwhile():
    before, seen = torch.get_num_threads(), set()

    def counting(x):
        seen.add(torch.get_num_threads())
        return right(x)

    torch.set_num_threads(2)
    try:
        check("silu_forward", counting, "torch")
        assert seen == {1}
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.exhaustive
def test_a_check_imports_no_compiler_of_pytorchs():
    code = """if True:
        import sys
        import torch
        from graded_kernels.autograder import check

        def silu_forward(x):
            v = x.float()
            return (v / (1 + torch.exp(-v))).to(x.dtype)

        plain = check("silu_forward", silu_forward, "torch").passed
        alone = "torch._dynamo" not in sys.modules
        compiled = check("silu_forward", torch.compile(silu_forward, backend="eager"), "torch").passed
        print(plain, alone, compiled, "torch._dynamo" in sys.modules)
    """
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=900)
    assert child.stdout.split() == ["True"] * 4, child.stdout + child.stderr


def test_a_kernel_that_loads_too_little_has_not_computed_its_result():
    """Right on every input: what it gives comes from somewhere else."""

    def row_sum(x):
        sums = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
        constants[(1,)](x, sums, x.shape[0], BLOCK=64)
        return sums

    same = Case("one number", lambda generator: (torch.full((37, 300), 2.0),), "")
    record = dataclasses.replace(EXERCISES["row_sum"], cases=(same,))
    report = judge(record, InProcess(row_sum, record.contract, "triton"), Settings("triton", compiler=False))
    assert [case.status for case in report.cases] == ["pass", "fail"]
    assert "It loads 4 bytes, and its inputs are 44,400" in report.cases[1].message


@triton.autotune(configs=[triton.Config({"RIGHT": True}), triton.Config({"RIGHT": False})], key=["n"])
@triton.jit
def half_tuned(x_ptr, y_ptr, n, RIGHT: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, x / (1 + tl.exp(-x)) if RIGHT else 0 * x, mask=i < n)


def test_each_configuration_of_an_autotuned_kernel_has_to_be_right():
    def silu_forward(x):
        x, y = x.contiguous(), torch.empty(x.shape, dtype=x.dtype, device=x.device)
        if x.numel():
            half_tuned[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y

    report = check("silu_forward", silu_forward, backend="triton", compiler=False)
    assert not report.passed
    assert "The autotuner ran `half_tuned` with RIGHT=False" in " ".join(str(report).split())


def test_a_lazy_negative_is_a_result():
    """`Tensor.imag` of a conjugate has a bit in place of a sign, which its words in memory do not have."""

    def answer(x):
        y = x * torch.sigmoid(x.float()).to(x.dtype)
        return torch.complex(torch.zeros_like(y), -y).conj().imag if x.dtype == torch.float32 else y

    assert answer(torch.ones(2)).is_neg()
    assert check("silu_forward", answer, backend="torch").cases
