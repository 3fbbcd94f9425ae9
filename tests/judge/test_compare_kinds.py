"""Kinds of functions that `compare` judges, or refuses in a sentence."""

import pytest
import torch
import triton
import triton.language as tl
from compared import FEW, NO_VALUES, SIZES_ALONE
from graded_kernels.autograder import cli
from graded_kernels.autograder.judge.side_by_side import CompareError, compare, comparison
from strided_add import add_kernel

DTYPES = sorted({d for d in vars(torch).values() if isinstance(d, torch.dtype)}, key=str)


def with_unit_columns(x):
    return x if x.stride(1) == 1 else x.contiguous()


def added(x, y, stride_y):
    o = torch.empty(x.shape, dtype=x.dtype)
    if x.numel():
        n = x.shape[1]
        add_kernel[(x.shape[0],)](x, y, o, n, x.stride(0), stride_y, BLOCK=triton.next_power_of_2(n))
    return o


def right(x, y):
    x, y = map(with_unit_columns, (x, y))
    return added(x, y, y.stride(0))


def through_the_others_strides(x, y):
    x, y = map(with_unit_columns, (x, y))
    return added(x, y, x.stride(0))


def two():
    return torch.randn(5, 40), torch.randn(5, 40)


def quick(reference, candidate, arguments, **options):
    return compare(reference, candidate, arguments, compiler=False, **options)


def right_row(value):
    """Of a right candidate and its wrong twin `make test` takes the wrong one, `make test-all` the right one."""
    return pytest.param(value, marks=pytest.mark.exhaustive)


def failing(report):
    return [case.name for case in report.cases if case.status in ("fail", "error")]


def test_each_tensor_has_a_layout_of_its_own():
    assert quick(torch.add, right, two(), gradients=False, without=NO_VALUES).passed
    report = quick(torch.add, through_the_others_strides, two(), gradients=False, without=NO_VALUES)
    assert failing(report) == ["x0 alone, rows with gaps", "x1 alone, rows with gaps"], str(report)


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, dy):
        return torch.as_strided(dy, dy.shape, (dy.shape[1], 1)) * 2 if dy.numel() else dy * 2


def test_each_upstream_gradient_has_a_layout_of_its_own():
    report = quick(lambda x: x * 2, Scaled, torch.randn(5, 40), without=NO_VALUES)
    assert failing(report), str(report)
    assert all("upstream gradient" in name for name in failing(report)), str(report)


@pytest.mark.parametrize("without", [pytest.param((), id="all", marks=pytest.mark.exhaustive), NO_VALUES])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_is_judged_or_refused_in_a_sentence(dtype, without):
    try:
        x = torch.empty(6, dtype=dtype)
    except (RuntimeError, NotImplementedError, TypeError):
        pytest.skip(f"not run: PyTorch makes no tensor of {dtype}")
    x.untyped_storage().fill_(1)
    args = (x, torch.ones(6, 200)[:, 0])
    try:
        assert quick(lambda x, y: x.clone(), lambda x, y: x.clone(), args, without=without, any_method=True).cases
    except CompareError as error:
        assert "which is not judged: pass" in str(error)


def both(x, index):
    return x[index.long() % x.shape[0]]


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16], ids=str)
def test_integers_are_drawn_within_their_dtype(dtype):
    index = torch.randint(0, 100, (40,), dtype=dtype)
    report = quick(both, both, (torch.randn(200, 3), index), any_method=True, gradients=False, without=SIZES_ALONE)
    assert report.passed, str(report)


def test_a_dtype_that_is_not_judged_ends_the_command_with_status_2(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        "import torch\ndef f(x):\n    return x\ndef arguments():\n    return torch.ones(3, dtype=torch.complex64)\n"
    )
    assert cli.main(["compare", "mine.py:f", "mine.py:f", "--arguments", "mine.py:arguments"]) == 2
    assert "torch.view_as_real" in capsys.readouterr().err


@torch.library.custom_op("graded_kernels_test::doubled", mutates_args=())
def doubled(x: torch.Tensor) -> torch.Tensor:
    return x + x


def test_an_operator_without_a_derivative_is_judged_forward():
    report = quick(lambda x: x * 2, doubled, torch.randn(5, 40), without=NO_VALUES)
    assert report.passed, str(report)
    assert "Gradients are not compared" in str(report)


@torch.library.custom_op("graded_kernels_test::add", mutates_args=())
def named_as_pytorchs(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return right(x, y)


def test_an_operator_of_ones_own_is_not_the_reference_by_its_base_name():
    report = quick(torch.add, named_as_pytorchs, two(), gradients=False, without=NO_VALUES)
    assert report.computes != "no" and report.passed, str(report)


def test_what_is_written_may_be_returned_as_well():
    def candidate(x, y):
        x.copy_(right(x, y))
        return x

    few = {"any_method": True, "without": NO_VALUES}
    report = quick(lambda x, y: x.add_(y), candidate, two(), **few)
    assert report.passed, str(report)
    report = quick(lambda x, y: x.add_(y), lambda x, y: x.copy_(right(x, x)), two(), **few)
    assert not report.passed


def scaled(x, *, by):
    return x * by


def test_arguments_may_be_given_by_name():
    example = ((torch.randn(5, 40),), {"by": 1.5})
    how = {"any_method": True, "gradients": False, "without": NO_VALUES}
    assert quick(scaled, lambda x, *, by: by * x, example, **how).passed
    assert not quick(scaled, lambda x, *, by: x * 1.5 + by * 0 + 1, example, **how).passed
    with pytest.raises(CompareError, match="does not take the example's arguments"):
        quick(scaled, lambda x, *, factor: x, example)


def test_a_family_that_returns_something_else_is_left_out_and_named():
    def loss(x):
        return x.sum() if x.numel() else 0

    report = quick(loss, loss, torch.randn(5, 40), any_method=True, without=SIZES_ALONE)
    left_out = {case.name: case.message for case in report.cases if case.status == "not-run"}
    assert report.passed, str(report)
    assert "does not return what it returns for the example" in left_out["dimension 0 of x: 0"]


def test_a_family_that_takes_long_is_left_out_and_named(monkeypatch):
    def slow(x):
        end = 0
        for _ in range(500_000 if x.shape[0] > 100 else 0):
            end += 1
        return x + 0 * end

    monkeypatch.setattr(comparison, "SECONDS", 0.02)
    few = {"any_method": True, "gradients": False, "without": SIZES_ALONE}
    report = quick(slow, lambda x: x + 0, torch.randn(5, 4), **few)
    left_out = {case.name: case.message for case in report.cases if case.status == "not-run"}
    assert "of processor time on it" in left_out["dimension 0 of x: 1,031"], left_out


def test_a_class_of_modules_is_told_so():
    with pytest.raises(CompareError, match="the reference is a class of modules: name an instance"):
        compare(torch.nn.GELU, torch.nn.GELU(), torch.randn(3))


class WritesOverItsInput(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x * 2
        x.mul_(3)
        return y

    @staticmethod
    def backward(ctx, dy):
        return dy * 3


def test_a_changed_input_is_told_before_wrong_values():
    report = quick(lambda x: x * 2, WritesOverItsInput, torch.randn(5, 40), without=("dimension", "NaN", "infinity"))
    first = next(case for case in report.cases if case.status == "fail")
    assert first.message.startswith("The answer changed its input x."), first.message
    assert "dx is wrong" in first.message and "times what is right" not in first.message


def test_a_size_of_one_says_nothing_of_a_relation():
    """Divided by the width: at a height of 1 the result is the input, which would be told of every square."""
    few = {"any_method": True, "gradients": False, "without": SIZES_ALONE}
    report = quick(lambda x: x / x.shape[1], lambda x: x / x.shape[0], torch.randn(32, 32), **few)
    assert failing(report)[0] == "dimension 0 of x: 7"
    assert "4.57143 times what is right" in str(report)


def dropped(x, seed):
    kept = torch.rand(x.shape, generator=torch.Generator().manual_seed(seed)) < 0.5
    return torch.where(kept, 2 * x, 0)


def test_what_draws_its_numbers_by_a_seed_is_told_so():
    def otherwise(x, seed):
        return dropped(x, seed + 1)

    few = {"without": ("dimension", "NaN", "infinity"), "gradients": False, "any_method": True}
    report = quick(dropped, otherwise, (torch.randn(20, 50), 3), **few)
    assert not report.passed
    assert "The reference draws random numbers itself (aten.rand)" in " ".join(report.remarks)
    assert quick(dropped, dropped, (torch.randn(20, 50), 3), **few).passed


@triton.jit
def first_kernel(x_ptr, o_ptr, lengths_ptr, n, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    mask = c < tl.load(lengths_ptr + row)
    tl.store(o_ptr + row * n + c, 2 * tl.load(x_ptr + row * n + c, mask=mask, other=0.0), mask=mask)


def first_of_each(x, lengths):
    o = torch.empty_like(x)
    for row, length in enumerate(lengths):
        o[row, :length] = 2 * x[row, :length]
    return o


@pytest.mark.parametrize("fewer", [right_row(0), 1], ids=["right", "one too few"])
def test_what_the_reference_leaves_unwritten_is_not_expected(fewer):
    def candidate(x, lengths):
        o = torch.empty(x.shape, dtype=x.dtype)
        lengths = lengths.contiguous() - fewer
        if x.numel():
            block = triton.next_power_of_2(x.shape[1])
            first_kernel[(x.shape[0],)](x.contiguous(), o, lengths, x.shape[1], BLOCK=block)
        return o

    def example(seed, size):
        return torch.randn(3, size), torch.tensor([size, size // 2, min(1, size)])

    report = quick(first_of_each, candidate, example, without=SIZES_ALONE, gradients=False)
    assert report.passed is not bool(fewer), str(report)


@triton.jit
def moving_kernel(m_ptr, g_ptr, o_ptr, n, beta, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m, g = tl.load(m_ptr + i, mask=i < n, other=0.0), tl.load(g_ptr + i, mask=i < n, other=0.0)
    tl.store(o_ptr + i, beta * m + (1 - beta) * g, mask=i < n)


@pytest.mark.parametrize("factor", [right_row(1.0), 1.00005], ids=["right", "another beta"])
def test_a_number_reaches_a_kernel_as_float32(factor):
    """1 - float32(0.999) is 1.3e-5 off, which is not the kernel's mistake."""

    def candidate(m, g, beta):
        o = torch.empty(m.shape, dtype=m.dtype)
        if m.numel():
            m, g = m.contiguous(), g.contiguous()
            moving_kernel[(triton.cdiv(m.numel(), 64),)](m, g, o, m.numel(), beta * factor, BLOCK=64)
        return o

    example = (torch.randn(300), torch.randn(300), 0.999)
    few = {"gradients": False, "without": NO_VALUES}
    report = quick(lambda m, g, beta: beta * m + (1 - beta) * g, candidate, example, **few)
    assert report.passed is (factor == 1.0), str(report)
    by_default = quick(
        lambda m, g, beta=0.999: beta * m + (1 - beta) * g,
        lambda m, g, beta=0.999: candidate(m, g, beta),
        example[:2],
        **few,
    )
    assert by_default.passed is report.passed, str(by_default)

    class Moving(torch.nn.Module):
        def __init__(self, function):
            super().__init__()
            self.function, self.beta = function, 0.999

        def forward(self, m, g):
            return self.function(m, g, self.beta)

    modules = Moving(lambda m, g, beta: beta * m + (1 - beta) * g), Moving(candidate)
    as_attributes = quick(*modules, example[:2], **few)
    assert as_attributes.passed is report.passed, str(as_attributes)
    assert [module.beta for module in modules] == [0.999, 0.999]


@triton.jit
def scale_kernel(code_ptr, o_ptr, n, at_255, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bits = tl.load(code_ptr + i, mask=i < n, other=127).to(tl.int32)
    bits = tl.where(bits == 255, at_255, bits << 23)
    tl.store(o_ptr + i, bits.to(tl.float32, bitcast=True), mask=i < n)


@pytest.mark.parametrize("at_255", [right_row(0x7FC00000), 0x7F800000], ids=["right", "infinity"])
def test_a_code_of_8_bits_is_tried_in_its_whole_range(at_255):
    """An exponent alone: 255 stands for NaN (triton-lang/triton#11624). The example goes from 100 to 150."""

    def candidate(code):
        o = torch.empty(code.shape, dtype=torch.float32)
        if code.numel():
            code = code.contiguous()
            scale_kernel[(triton.cdiv(code.numel(), 64),)](code, o, code.numel(), at_255, BLOCK=64)
        return o

    def reference(code):
        return torch.where(code == 255, float("nan"), torch.exp2(code.double() - 127)).float()

    report = quick(reference, candidate, torch.randint(100, 150, (300,), dtype=torch.uint8), without=("dimension",))
    assert report.passed is (at_255 == 0x7FC00000), str(report)
    assert failing(report) == ([] if report.passed else ["code of every value", "code all 255"])


def test_a_flag_of_8_bits_stays_one():
    report = quick(torch.mul, torch.mul, (torch.randn(9), torch.ones(9).byte()), gradients=False, without=SIZES_ALONE)
    assert not any("255" in case.name or "every value" in case.name for case in report.cases)


@triton.jit
def added_at_kernel(o_ptr, index_ptr, x_ptr, columns, stride_r, stride_c, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    to = tl.load(index_ptr + row * stride_r + i * stride_c, mask=i < columns, other=0)
    x = tl.load(x_ptr + row * columns + i, mask=i < columns, other=0.0)
    tl.atomic_add(o_ptr + to * columns + i, x, mask=i < columns)


def test_atomics_in_half_precision_round_at_every_step_as_pytorch_does():
    def candidate(base, index, x):
        o, x = base.detach().clone(memory_format=torch.contiguous_format), x.contiguous()
        if x.numel():
            columns = x.shape[1]
            block = triton.next_power_of_2(columns)
            added_at_kernel[(len(x),)](o, index, x, columns, index.stride(0), index.stride(1), BLOCK=block)
        return o

    make = torch.Generator().manual_seed(1)
    index = torch.tensor([0, 2, 1, 2, 0]).view(-1, 1).expand(5, 12)
    example = torch.randn(3, 12, generator=make), index, torch.randn(5, 12, generator=make)
    without = ("d", "o", "N", "i", "-", "z", "t", "s", "x")
    report = quick(lambda base, index, x: base.scatter_add(0, index, x), candidate, example, without=without)
    assert "float16, large values" in [case.name for case in report.cases if case.status == "pass"], str(report)
    assert report.passed, str(report)


@triton.jit
def first_columns_kernel(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    tl.store(o_ptr + row, tl.sum(tl.where(c < 8, x, 0.0)))


def test_the_smallest_failing_input_is_shown():
    def candidate(x):
        x, o = x.contiguous(), torch.zeros(x.shape[0], dtype=x.dtype)
        if x.numel():
            first_columns_kernel[(x.shape[0],)](x, o, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return o

    example = torch.arange(1.0, 121.0).view(6, 20) / 4
    said = str(quick(lambda x: x.sum(1), candidate, example, gradients=False, without=FEW))
    smallest = "x = [[0, 0, 0, 0, 0, 0, 0, 0, 2]]; result[0] is 0 and should be 2."
    assert f"The smallest input found that fails: {smallest}" in " ".join(said.split())


def test_what_is_tried_is_shown_while_one_waits(monkeypatch):
    seen = []
    monkeypatch.setattr(comparison.Progress, "at", lambda self, where: seen.append(where))
    quick(torch.add, right, two(), gradients=False, without=("dimension", "NaN"))
    assert seen[:2] == ["both on the example", "the reference, the example"]
    assert "making what fails smaller" in seen


def test_what_was_written_where_there_is_no_gpu_need_not_name_one():
    """`right` makes its result on the CPU: on a simulated GPU, too, its arguments were put there for it."""
    without = "dimension odd tiny subnormal large very far other rows one NaN infinity -infinity every float16 bfloat16"
    x, options = torch.ones(2, 3), {"simulated": True, "gradients": False, "without": without.split()}
    assert quick(lambda x: right(x, x), lambda x: x + x, x, **options).correct
    assert quick(lambda x: x + x, lambda x: right(x, x), x, **options).passed


@triton.jit
def slots_kernel(x_ptr, cache_ptr, slots_ptr, n, ALL: tl.constexpr, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    slot = tl.load(slots_ptr + row)
    if ALL or slot >= 0:
        x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
        tl.store(cache_ptr + tl.maximum(slot, 0) * n + c, x, mask=c < n)


@pytest.mark.parametrize("wrong", [right_row(False), True], ids=["right", "-1 is not skipped"])
def test_two_values_written_to_one_index_are_not_asked_for(wrong):
    """Which of them stays is open, and a kernel that writes them has a race."""

    def reference(x, cache, slots):
        cache[slots[slots >= 0]] = x[slots >= 0]

    def candidate(x, cache, slots):
        if not cache.is_contiguous():
            raise ValueError("the cache is not contiguous")
        if x.numel():
            x, slots, n = x.contiguous(), slots.contiguous(), x.shape[1]
            slots_kernel[(len(x),)](x, cache, slots, n, ALL=wrong, BLOCK=triton.next_power_of_2(n))

    slots = torch.tensor([3, -1, 7, 0, 5])
    report = quick(reference, candidate, (torch.randn(5, 12), torch.randn(9, 12), slots), without=SIZES_ALONE)
    assert report.passed is not wrong, str(report)
    left_out = [case.name for case in report.cases if "leaves open which of them" in case.message]
    ran = [case.name for case in report.cases if case.status == "pass" or wrong]
    assert "slots all 7" in left_out and "other numbers" in ran and "dimension 0 of x: 1" in ran, str(report)


@triton.jit
def largest_kernel(x_ptr, o_ptr, at_ptr, n, OFF: tl.constexpr, K: tl.constexpr, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    left = c < n
    for k in tl.static_range(K):
        best = tl.max(tl.where(left, x, float("-inf")))
        at = tl.min(tl.where(left & (x == best), c, BLOCK))
        tl.store(o_ptr + row * K + k, best)
        tl.store(at_ptr + row * K + k, at + OFF)
        left = left & (c != at)


@pytest.mark.parametrize("off", [right_row(0), 1], ids=["right", "another index"])
def test_which_of_equal_elements_comes_first_is_open(off):
    def candidate(x, k):
        x, n = x.contiguous(), x.shape[1]
        o, at = torch.empty(len(x), k), torch.empty(len(x), k, dtype=torch.int64)
        if x.numel():
            largest_kernel[(len(x),)](x, o, at, n, OFF=off, K=k, BLOCK=triton.next_power_of_2(n))
        return o, at

    example = torch.randn(5, 20, generator=torch.Generator().manual_seed(0)), 3
    references = torch.topk, lambda x, k: tuple(one[:, :k] for one in x.sort(descending=True))
    for reference in references[off:]:
        report = quick(reference, candidate, example, gradients=False, without=FEW)
        assert report.passed is not bool(off), str(report)
    assert {"zeros", "rows of one value"} <= {case.name for case in report.cases if case.status == "pass"}


def test_a_stable_order_is_asked_for():
    def last_first(x):
        return len(x) - 1 - x.flip(0).argsort(stable=True)

    report = quick(lambda x: x.argsort(stable=True), last_first, torch.randn(20), any_method=True, without=FEW)
    assert {"zeros", "rows of one value"} <= {*failing(report)}, str(report)


@triton.jit
def parts_kernel(x_ptr, cu_ptr, o_ptr, columns, LAST: tl.constexpr, BLOCK: tl.constexpr):
    part, column = tl.program_id(0), tl.program_id(1)
    first, end = tl.load(cu_ptr + part), tl.load(cu_ptr + part + 1) - LAST
    row = first + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + column, mask=row < end, other=float("-inf"))
    e = tl.exp(x - tl.max(x))
    tl.store(o_ptr + row * columns + column, e / tl.sum(e), mask=row < end)


@pytest.mark.parametrize("last", [right_row(0), 1], ids=["right", "the last row of a part"])
def test_offsets_fit_the_size_that_they_divide(last):
    """Rows that belong to no part, or offsets past the end, are nobody's input."""

    def reference(x, cu_seqlens, max_seqlen):
        parts = zip(cu_seqlens[:-1].tolist(), cu_seqlens[1:].tolist(), strict=True)
        return torch.cat([x[:0], *(x[first:end].softmax(0) for first, end in parts)])

    def candidate(x, cu_seqlens, max_seqlen):
        x, cu_seqlens = x.contiguous(), cu_seqlens.contiguous()
        o, block = torch.zeros(x.shape, dtype=x.dtype), triton.next_power_of_2(max(1, max_seqlen))
        if x.numel() and len(cu_seqlens) > 1:
            grid = (len(cu_seqlens) - 1, x.shape[1])
            parts_kernel[grid](x, cu_seqlens, o, x.shape[1], LAST=last, BLOCK=block)
        return o

    example = torch.randn(30, 4), torch.tensor([0, 5, 5, 20, 30], dtype=torch.int32), 15
    few = ("dimension 1", "NaN", "infinity", "-infinity", "float16", "bfloat16", *"ltrvfsz")
    report = quick(reference, candidate, example, gradients=False, without=few)
    assert report.passed is not bool(last), str(report)
    names = {case.name for case in report.cases if case.status != "not-run"}
    assert {"dimension 0 of x: 7", "cu_seqlens, all in the first part", "dimension 0 of cu_seqlens: 7"} <= names
