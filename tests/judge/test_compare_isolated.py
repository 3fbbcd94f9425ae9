"""A candidate that nobody trusts: how it computes is found out from outside, and nothing of it runs in this process."""

import ast
import os
import re
from pathlib import Path

import pytest
import side_by_side_candidates
import side_by_side_kernels
import torch
from graded_kernels.autograder.judge.side_by_side import (
    CandidateError,
    Code,
    CompareError,
    compare,
    reproduce,
)
from graded_kernels.autograder.runner import Limits
from isolation import needs_good_isolation
from turns import one_in

pytestmark = needs_good_isolation

TEXT = Path(side_by_side_candidates.__file__).read_text()
ROWS = [
    (name, kind, words)
    for kind, words, name in re.findall(r"^# (?:computes: )?([\w]+)[,:]? ?(.*)\n(?:def|class) (\w+)", TEXT, re.M)
]


def softmax(x):
    return torch.softmax(x, -1)


def draw(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(1))


def isolated(worker, candidate, reference=softmax, arguments=None, **options):
    """The report, on a few families: the example, other numbers, odd sizes, zeros."""
    without = (*"bdefilrsvN-", "one", "other signs", "tiny", "tr")
    arguments = draw(5, 40) if arguments is None else arguments
    return compare(reference, candidate, arguments, worker=worker, compiler=False, without=without, **options)


def test_every_row_is_read():
    assert len(ROWS) == len(re.findall("^# (computes|refused)", TEXT, re.M)) >= 15


def rows() -> list:
    """Of each kind of answer the first; make test-all has every row."""
    first = {kind: name for name, kind, _ in reversed(ROWS)}
    return [pytest.param(*r, id=r[0], marks=() if first[r[1]] == r[0] else pytest.mark.exhaustive) for r in ROWS]


@pytest.mark.parametrize(("name", "kind", "words"), rows())
def test_how_a_candidate_computes(worker, name, kind, words):
    candidate = Code(TEXT, name, "candidates.py")
    if kind == "refused":
        with pytest.raises(CandidateError, match=words):
            isolated(worker, candidate)
        return
    report = isolated(worker, candidate)
    assert report.computes == kind, report.remarks
    assert words in report.remarks[0]
    assert (report.score == 0) is (kind in ("no", "unknown"))
    assert report.passed is (kind not in ("no", "unknown")), str(report)


@pytest.mark.exhaustive
def test_the_sum_of_partial_sums_is_a_step_of_computing(worker):
    candidate = Code(Path(side_by_side_kernels.__file__).read_text(), "summed_in_blocks")
    report = isolated(worker, candidate, lambda x: x.sum())
    assert report.passed and report.computes == "partly" and report.score == 1, str(report)
    report = isolated(worker, Code("def f(x):\n    return x.sum()\n", "f"), lambda x: x.sum())
    assert not report.passed and report.computes == "no" and report.score == 0, str(report)


def test_a_wrong_kernel_fails_as_in_this_process(worker):
    wrong = TEXT.replace('float("-inf")', "0.0")
    report = isolated(worker, Code(wrong, "kernel"))
    assert not report.correct and report.computes == "kernels"
    assert "the example" in [case.name for case in report.cases if case.status == "fail"]


def test_nothing_of_it_runs_here(worker, tmp_path, monkeypatch):
    """Not where it is loaded, not where it is called, not where its kernels are compiled."""
    monkeypatch.setenv("SIDE_BY_SIDE_SECRET", "a word")
    mark = tmp_path / "mark"
    text = f"""
import os, sys
def note():
    try:
        open({str(mark)!r}, "a").write("x")
    except OSError:
        pass
    if "SIDE_BY_SIDE_SECRET" in os.environ or "graded_kernels.autograder.judge.side_by_side" in sys.modules:
        raise SystemError("a secret was read")
note()
def f(x):
    note()
    return x.softmax(-1)
"""
    report = isolated(worker, Code(text, "f"))
    assert report.correct and not mark.exists(), str(report)
    assert os.environ["SIDE_BY_SIDE_SECRET"] == "a word"


def test_a_call_of_the_reference_where_gradients_are_asked_is_refused(worker):
    text = """
import torch
import triton
import triton.language as tl

@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + at, x * tl.sigmoid(x), mask=at < n)

def silu(x):
    if x.requires_grad:
        return torch.nn.functional.silu(x)
    x = x.contiguous()
    y = torch.empty_like(x)
    silu_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    return y
"""
    report = isolated(worker, Code(text, "silu"), torch.nn.functional.silu)
    assert not report.passed and report.score == 0 and "silu is the answer itself" in str(report), str(report)


def test_gradients_are_compared(worker):
    text = """
import torch
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x.float() * torch.sigmoid(x.float())).to(x.dtype)
    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        dy, x = dy.float(), x.float()
        s = torch.sigmoid(x)
        return (dy * s * (1 + x * (1 - s))).to(ctx.saved_tensors[0].dtype)
"""
    silu = torch.nn.functional.silu
    assert isolated(worker, Code(text, "F"), silu).passed
    wrong = isolated(worker, Code(text.replace("1 + x * (1 - s)", "1 + x * s"), "F"), silu)
    assert not wrong.correct and "dinput is wrong" in str(wrong)
    called = text.replace("(dy * s * (1 + x * (1 - s)))", "torch.ops.aten.silu_backward(dy, x)")
    report = isolated(worker, Code(called, "F"), silu)
    assert report.passed and report.computes == "partly" and "derivative calls aten.silu_backward" in report.remarks[0]


@pytest.mark.exhaustive
def test_a_module_gets_the_parameters_of_the_reference(worker):
    text = """
import torch
class Mine(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.b, self.w = torch.nn.Parameter(torch.zeros(n)), torch.nn.Parameter(torch.zeros(n, n))
    def forward(self, x):
        return (x @ self.w.T).tanh() + self.b
"""

    class Theirs(torch.nn.Module):
        def __init__(self, n):
            super().__init__()
            self.w, self.b = torch.nn.Parameter(draw(n, n)), torch.nn.Parameter(draw(n))

        def forward(self, x):
            return torch.tanh(torch.nn.functional.linear(x, self.w)) + self.b

    assert isolated(worker, Code(text, "Mine", initial=(8,)), Theirs(8), draw(5, 8), any_method=True).passed
    with pytest.raises(CandidateError, match="Mine cannot be made"):
        isolated(worker, Code(text, "Mine"), Theirs(8), draw(5, 8))
    with pytest.raises(CandidateError, match="different parameters"):
        isolated(worker, Code(text, "Mine", initial=(9,)), Theirs(8), draw(5, 8))


@pytest.mark.exhaustive
def test_a_loop_without_end_is_worth_nothing(worker):
    """It is the candidate's own doing, and what it kept from being reached is not right."""
    text = "def f(x):\n    while True:\n        pass\n"
    report = isolated(worker, Code(text, "f"), limits=Limits(seconds=0.5))
    assert report.timed_out and not report.passed
    assert report.score == 0
    late = TEXT.replace(
        "    return launched(x)\n", "    while (x == 0).all():\n        pass\n    return launched(x)\n", 1
    )
    report = isolated(worker, Code(late, "kernel"), limits=Limits(seconds=1.0))
    assert [case.name for case in report.cases if case.status == "error"] == ["zeros"], str(report)
    assert report.score == pytest.approx(sum(c.status == "pass" for c in report.cases) / len(report.cases))


# Programs that would pass if the candidate's own process, or its call on the example, decided how it computes

SILU_KERNEL = """
import torch, triton, triton.language as tl

@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, x / (1 + tl.exp(-x)), mask=i < n)

def launched(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        silu_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    return y

"""
SILU = torch.nn.functional.silu
FORGERIES = {
    "the first call raises": (
        SILU_KERNEL + "calls = []\ndef f(x):\n    calls.append(x)\n    assert len(calls) > 1\n"
        "    return torch.nn.functional.silu(x)\n",
        "unknown",
    ),
    "it spins where the operator is closed": (
        "import torch\ndef f(x):\n    try:\n        return torch.nn.functional.silu(x)\n"
        "    except BaseException:\n        while True:\n            pass\n",
        "unknown",
    ),
    "a kernel on the example alone": (
        SILU_KERNEL + "def f(x):\n    if x.shape == (5, 40):\n        return launched(x)\n"
        "    return (x.float() * torch.sigmoid(x.float())).to(x.dtype)\n",
        "operators",
    ),
    "a launch for show": (
        SILU_KERNEL + "def f(x):\n    launched(x)\n    y = x.float()\n    return (y * torch.sigmoid(y)).to(x.dtype)\n",
        "operators",
    ),
}


@pytest.mark.parametrize(
    ("text", "kind"),
    [  # one that is seen by what it computes, quickly; the others by make test-all
        pytest.param(*row, id=name, marks=() if name == "a kernel on the example alone" else pytest.mark.exhaustive)
        for name, row in FORGERIES.items()
    ],
)
def test_how_it_computes_is_the_worst_of_all_families(worker, text, kind):
    report = isolated(worker, Code(text, "f"), SILU, computes=("kernels",), limits=Limits(seconds=2.0))
    assert report.computes == kind, report.remarks
    assert not report.passed and report.score == 0, str(report)


@pytest.mark.exhaustive
def test_a_gradient_by_pytorch_is_seen(worker):
    text = SILU_KERNEL + "def f(x):\n    return x * torch.sigmoid(x) if x.requires_grad else launched(x)\n"
    report = isolated(worker, Code(text, "f"), SILU, computes=("kernels",))
    assert report.computes == "operators" and not report.passed, report.remarks


SCAN = """
import sys, torch, triton, triton.language as tl

@triton.jit
def sums_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x_ptr + row * n + c, mask=c < n, other=0.0), 0)
    before = tl.load(y_ptr + row - 1, mask=row > 0, other=0.0)
    tl.store(y_ptr + row, before + total)

def f(x):
    SILENCED
    y = torch.zeros(x.shape[0])
    if x.numel():
        sums_kernel[(x.shape[0],)](x.contiguous(), y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y
"""
SILENCED = """
    for module in [m for name, m in sys.modules.items() if name.startswith("graded_kernels.autograder.")]:
        emulator = getattr(module, "Emulator", None)
        if emulator is not None:
            emulator.order = lambda self, *a, **k: None
            emulator._note = emulator._report = lambda self, *a, **k: None
"""


@pytest.mark.parametrize(
    "silenced",
    [pytest.param("", id="a race", marks=pytest.mark.exhaustive), pytest.param(SILENCED.strip(), id="silenced")],
)
def test_what_the_emulator_finds_comes_from_another_process(worker, silenced):
    text = SCAN.replace("SILENCED", silenced or "pass")
    report = isolated(worker, Code(text, "f"), lambda x: x.sum(1).cumsum(0))
    assert not report.passed, str(report)


def test_a_text_that_is_too_long_is_not_parsed():
    with pytest.raises(CandidateError, match="of at most 200,000"):
        Code("x = 1\n" * 40_000, "f")


def test_no_text_is_parsed_in_this_process(monkeypatch):
    with monkeypatch.context() as patched, pytest.raises(CandidateError, match="has no function silu; it has silo"):
        patched.setattr(ast, "parse", None)
        Code("def silo(x):\n    return x\n", "silu")
    with pytest.raises(CandidateError, match="too much memory, to be read as Python"):
        Code("lambda: " * 4_000 + "0", "f")  # which ends a parser
    assert Code("f = 1", "f").name == "f"


@pytest.mark.exhaustive
def test_an_isolated_candidate_has_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("theirs.py").write_text(TEXT)
    with pytest.raises(CompareError, match="an object was loaded here"):
        compare(softmax, softmax, draw(3, 4), isolated=True)
    with pytest.raises(CandidateError, match="theirs.py has no function kernle; it has kernel"):
        compare(softmax, "theirs.py:kernle", draw(3, 4), isolated=True)
    with pytest.raises(CandidateError, match="number of theirs.py is not a function"):
        Path("theirs.py").write_text(TEXT + "\n\nnumber = 3\n")
        compare(softmax, "theirs.py:number", draw(3, 4), isolated=True)
    args, actual, expected = reproduce(
        softmax, "theirs.py:kernel", draw(3, 4), family="large values", number=7, isolated=True
    )
    assert torch.allclose(actual[0].double(), expected[0], atol=1e-6) and expected[0].dtype == torch.float64


def test_what_the_reference_leaves_unwritten_is_left_so_by_the_replay(worker):
    text = """
import torch
import triton
import triton.language as tl

@triton.jit
def first_kernel(x_ptr, o_ptr, lengths_ptr, n, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    mask = c < tl.load(lengths_ptr + row)
    tl.store(o_ptr + row * n + c, 2 * tl.load(x_ptr + row * n + c, mask=mask, other=0.0), mask=mask)

def first_of_each(x, lengths):
    o = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if x.numel():
        block = triton.next_power_of_2(x.shape[1])
        first_kernel[(x.shape[0],)](x.contiguous(), o, lengths.contiguous(), x.shape[1], BLOCK=block)
    return o
"""

    def reference(x, lengths):
        o = torch.empty_like(x)
        for row, length in enumerate(lengths):
            o[row, :length] = 2 * x[row, :length]
        return o

    def example(seed, size):
        return torch.randn(3, size), torch.tensor([size, size // 2, min(1, size)])

    without, code = (*"Nfilrsxbvzo-", "ti", "tr", "every"), Code(text, "first_of_each")
    report = compare(reference, code, example, worker=worker, compiler=False, without=without, gradients=False)
    assert report.passed and report.computes == "kernels", str(report)


FORMS = {
    "an operator of one's own": """
@torch.library.custom_op("isolated_test::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return launched(x.contiguous(), torch.empty_like(x, memory_format=torch.contiguous_format))

twice.register_autograd(lambda ctx, dy: twice(dy))

def f(x):
    return twice(x)
""",
    "a sum over no rows": """
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return launched(x.contiguous(), torch.empty_like(x, memory_format=torch.contiguous_format))

    @staticmethod
    def backward(ctx, dy):
        rows = launched(dy.contiguous(), torch.empty_like(dy, memory_format=torch.contiguous_format))
        return rows.unsqueeze(0).sum(0)

f = Twice
""",
    "in place, and returned": """
def f(x):
    if not x.is_contiguous():
        raise ValueError("not contiguous")
    return launched(x, x)
""",
}
LAUNCHED = """
import torch, triton, triton.language as tl

@triton.jit
def twice_kernel(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + i, 2 * tl.load(x_ptr + i, mask=i < n, other=0.0), mask=i < n)

def launched(x, o):
    if x.numel():
        twice_kernel[(triton.cdiv(x.numel(), 64),)](x, o, x.numel(), BLOCK=64)
    return o
"""


SHOWN = (
    LAUNCHED
    + """
def f(x, y):
    launched(x.contiguous(), torch.empty_like(x, memory_format=torch.contiguous_format))
    return {}
"""
)
MOVES = (
    "torch.cat([y, x], 1)",
    pytest.param("torch.nn.functional.pad(x, (1, 2)).transpose(0, 1).contiguous()", marks=pytest.mark.exhaustive),
    pytest.param("x.to(torch.bfloat16)", marks=pytest.mark.exhaustive),
)


@pytest.mark.parametrize("moved", MOVES)
def test_a_launch_for_show_is_none_where_the_reference_only_moves(worker, moved):
    """No operator computes there, so that a launch was taken for the work."""
    sides = Code(SHOWN.format(moved), "f"), eval(f"lambda x, y: {moved}")
    arguments = torch.randn(3, 5), torch.randn(3, 5)
    report = isolated(worker, *sides, arguments=arguments, computes=("kernels",), gradients=False)
    assert not report.passed and "its kernels do not reach the result" in report.remarks[0], report.remarks


@pytest.mark.parametrize("form", one_in(3, ((form,) for form in FORMS)))
def test_kernels_are_followed_through(worker, form):
    reference = (lambda x: x.mul_(2)) if form.startswith("in place") else (lambda x: x * 2)
    without = ("dimension 1", "NaN", "infinity", "-infinity", "float16", "bfloat16", *"lsrtv")
    code = Code(LAUNCHED + FORMS[form], "f")
    report = compare(reference, code, draw(5, 12), worker=worker, compiler=False, without=without)
    assert report.passed and report.computes in ("kernels", "partly"), str(report)


SPOILS = """
import torch

class Squared(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.clone())
        return x * x

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        if SPOILS:
            x.data.mul_(2).mul_(dy)
            return x.clone()
        return 2 * x * dy

square = Squared.apply
"""


@pytest.mark.parametrize("spoils", [True, pytest.param(False, marks=pytest.mark.exhaustive)])
def test_a_second_backward_in_the_sandbox_gives_the_same_gradients(worker, spoils):
    report = compare(
        torch.square,
        Code(SPOILS.replace("SPOILS", str(spoils)), "square"),
        draw(3, 4),
        worker=worker,
        compiler=False,
        without=(
            "dimension",
            "NaN",
            "infinity",
            "-inf",
            "float16",
            "bfloat16",
            "transposed",
            "every second",
            "rows",
            "one",
        ),
        any_method=True,
    )
    failing = [case.name for case in report.cases if case.status == "fail"]
    assert failing == ["a second backward"] * spoils, str(report)
    assert "a second backward" in {case.name for case in report.cases}
