"""What the compiler report says of whole answers: of branches that no GPU compiles, and of the options of launches."""

import contextvars
import json
from dataclasses import replace

import pytest
from answers import SETUP, answer
from graded_kernels.autograder import EXERCISES, cli
from graded_kernels.autograder.gpu import KernelLaunch
from graded_kernels.autograder.judge.checking import cost
from graded_kernels.autograder.judge.checking.case_verdict import Judged
from graded_kernels.autograder.judge.checking.check import check_answer
from graded_kernels.autograder.judge.checking.cost import judge_compile
from graded_kernels.autograder.judge.records.category import Category
from graded_kernels.autograder.judge.records.settings import Settings
from graded_kernels.autograder.judge.report import notebook, terminal
from graded_kernels.autograder.judge.results.case_result import CaseResult
from graded_kernels.autograder.judge.results.scoring import points_for
from graded_kernels.autograder.runner import Answer, Cell, Outcome, Worker

GELU = "    p, s, share, bend = gelu_tail(t, TANH, y_ptr.dtype.element_ty)\n"
LAST = "    empty = total == 0.0  # no key: o is 0 and lse -inf\n"
PLAIN = Cell("plain", "PLAIN = 1.0\n")
BRANCHES = {  # exercise, a line of our answer, what comes before it, and what the report says of the launch
    "gelu, tanh": ("gelu_forward", GELU, "if TANH:\n        t = t * PLAIN", "TANH=True"),
    "gelu, erf": ("gelu_forward", GELU, "if not TANH:\n        t = t * PLAIN", "TANH=False"),
    "gelu, bfloat16": (
        "gelu_forward",
        GELU,
        "if x_ptr.dtype.element_ty == tl.bfloat16:\n        t = t * PLAIN",
        "x_ptr: *bf16, y_ptr: *bf16",
    ),
    "attention": ("attention_forward", LAST, "if CAUSAL:\n        acc = acc * PLAIN", "CAUSAL=True"),
}
FEW = replace(EXERCISES["gelu_forward"], cases=EXERCISES["gelu_forward"].cases[::6], wild=(), about=())
LAUNCH = "gelu_forward_kernel[(triton.cdiv(x.numel(), BLOCK),)](x, y, x.numel(), TANH=tanh, BLOCK=BLOCK"


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n == "gelu, bfloat16" else pytest.mark.exhaustive) for n in BRANCHES]
)
def test_a_branch_on_a_constant_or_a_dtype_is_compiled(name):
    """A plain global works in the emulator, and Triton refuses it."""
    exercise, line, branch, told = BRANCHES[name]
    wrong = answer(exercise, "triton", line, f"    {branch}\n{line}")
    report = check_answer(replace(wrong, cells=(PLAIN, *wrong.cells)), Settings("triton"))
    (failing,) = (case for case in report.cases if not case.bonus and case.status != "pass")
    assert failing.name == "compiles for a GPU"
    assert not report.correct
    line = branch.partition("\n")[2].strip()
    assert f"`{line}`" in failing.message, failing.message
    assert f"(in the launch with {told})" in failing.message, failing.message


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("num_warps=32, waves_per_eu=1", "launched with waves_per_eu=1, which is an option of AMD's GPUs alone"),
        pytest.param("num_ctas=16", "", marks=pytest.mark.exhaustive),
        pytest.param("maxnreg=1", "", marks=pytest.mark.exhaustive),
    ],
)
def test_options_of_a_launch_do_not_switch_the_compiler_off(options, words):
    """With the options alone, and with code that no GPU takes behind them."""
    right = answer("gelu_forward", "triton", LAUNCH, f"{LAUNCH}, {options}")
    report = check_answer(right, Settings("triton"), record=FEW)
    assert report.passed is not bool(words)
    assert words in report.summary + "".join(c.message for c in report.cases)
    (cell,) = (cell for cell in right.cells if GELU in cell.source)
    wrong = replace(cell, source=cell.source.replace(GELU, f"    t = t * PLAIN\n{GELU}"))
    cells = (PLAIN, *(wrong if one is cell else one for one in right.cells))
    report = check_answer(replace(right, cells=cells), Settings("triton"), record=FEW)
    assert not report.passed
    assert not report.correct
    assert report.compile["status"] == "fail"


def test_a_launch_with_too_many_threads_is_refused_where_it_begins():
    wrong = answer("gelu_forward", "triton", LAUNCH, f"{LAUNCH}, num_warps=64")
    report = check_answer(wrong, Settings("triton"), record=FEW)
    assert not report.correct
    assert "num_warps=64 makes programs of 2,048 threads" in report.cases[0].message


@pytest.mark.exhaustive
def test_an_option_of_one_kind_of_gpu_is_not_portable():
    limited = answer("gelu_forward", "triton", LAUNCH, f"{LAUNCH}, maxnreg=64")
    assert check_answer(limited, Settings("triton")).passed
    report = check_answer(limited, Settings("triton", targets="all"))
    assert (report.correct, report.portable, report.passed) == (True, False, False)
    assert (
        "does not compile for gfx942: launched with maxnreg=64, which is an option of NVIDIA's"
        in report.causes[0].message
    )
    for_amd = answer("gelu_forward", "triton", LAUNCH, f"{LAUNCH}, waves_per_eu=2")
    assert check_answer(for_amd, Settings("triton", targets="gfx942")).passed
    assert not check_answer(for_amd, Settings("triton")).correct


def test_what_was_compiled_and_what_was_not_is_said(called, capfd, tmp_path):
    one = answer("gelu_forward", "triton")
    (tmp_path / "gelu.py").write_text("\n\n".join(cell.source for cell in one.cells))
    report = check_answer(one, Settings("triton"))
    for page in (terminal.render(report, color=False, details=True), notebook.render(report)):
        shown = " ".join(page.replace("&#x27;", "'").split())
        assert "Compiler: compiled for sm_90, no GPU needed. Of 8 forms in which kernels were launched" in shown
        assert "took every one, and the whole compiler 3: with every operation and the largest blocks." in shown
        assert "Not compiled for sm_80, sm_100, gfx942 (targets: all)." in shown
        assert "sm_90 gelu_forward_kernel: up to " in shown
    command = ["check", "gelu_forward", str(tmp_path / "gelu.py"), "--in-process", "--json", "--targets"]
    compiled = json.loads(called(*command, "sm_90,gfx942").stdout)["compile"]
    assert (compiled["compiled_for"], compiled["not_compiled_for"]) == (["sm_90", "gfx942"], ["sm_80", "sm_100"])
    assert {row["target"] for row in compiled["targets"]} == {"sm_90", "gfx942"}
    with pytest.raises(SystemExit):
        cli.main([*command, "sm_70"])
    assert "'sm_70' is not a GPU to compile for; name gfx942, sm_100, sm_80, sm_90, or all" in capfd.readouterr().err


def test_the_machine_code_is_counted_where_it_is_asked_for(called, tmp_path):
    (tmp_path / "silu.py").write_text("\n\n".join(cell.source for cell in answer("silu_forward", "triton").cells))
    command = ["check", "silu_forward", str(tmp_path / "silu.py"), "--backend", "triton"]
    here = (*command, "--json", "--in-process")
    assert json.loads(called(*here).stdout)["machine_code"] is None
    rows = json.loads(called(*here, "--machine-code").stdout)["machine_code"]["kernels"]
    assert {row["kernel"] for row in rows} == {"silu_forward_kernel"} and len(rows) == 3
    assert all(row["spills"] == 0 and 0 < row["shares"]["H100"] <= 1 for row in rows)
    shown = " ".join(called(*command, "--machine-code").stdout.split())
    assert shown.count("instructions an element (") == 3
    assert "nothing was run, and L1, L2, occupancy, latency and bank conflicts are left out." in shown


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("t = t.float()", "Write `x.to(tl.float32)`."),
        (
            "t = t**3",
            "A kernel has no `**`: write `x * x * x`, or `tl.sqrt(x)` for `x**0.5`; a power whose exponent is an "
            "argument the launcher computes, and hands over.",
        ),
        ("t = t - tl.mean(t)", "Write `tl.sum(x) / N`."),
        ("t = t + tl.zeros(BLOCK, tl.float32)", "`tl.zeros([BLOCK], dtype=tl.float32)`"),
        ("print(t)", "Python's print of a block works only in the emulator"),
        ("t = t * PLAIN", "The emulator runs Python; a GPU runs what Triton's compiler accepts."),
    ],
)
def test_the_hint_says_what_to_write_in_place_of_what_the_compiler_refuses(line, hint):
    """In a branch that no program enters, so that the emulator does not say it first."""
    wrong = answer("gelu_forward", "triton", GELU, f"    if tl.program_id(0) < 0:\n        {line}\n{GELU}")
    report = check_answer(replace(wrong, cells=(PLAIN, *wrong.cells)), Settings("triton"), record=FEW)
    (case,) = (case for case in report.cases if case.name == "compiles for a GPU")
    assert hint in case.hint, str(report)


WARPS = "num_warps=min(max(block // 512, 1), 16)"


@pytest.mark.parametrize(
    ("warps", "most", "efficient"), [("num_warps=1", 32, False), ("num_warps=1", 1, False), ("num_warps=8", 32, True)]
)
def test_a_block_that_is_too_large_for_its_warps_spills(warps, most, efficient, monkeypatch):
    """In the largest case, of 16,384 columns: 512 numbers of each tensor for a thread of 1 warp."""
    monkeypatch.setattr(cost, "_MOST_WARPS", most)
    record = EXERCISES["add_rms_norm"]
    few = (record.cases[0].name, "5 rows of 16,384", *record.about)
    record = replace(record, cases=tuple(case for case in record.cases if case.name in few))
    report = check_answer(answer("add_rms_norm", "triton", WARPS, warps), Settings("triton"), record=record)
    assert (report.correct, report.portable, report.efficient, report.passed) == (True, True, efficient, efficient)
    (spills,) = (case for case in report.cases if case.name == "register spills")
    if not efficient:
        assert "(in the launch with " in spills.message and "BLOCK=16384, num_warps=1" in spills.message
        assert ("more warps" in spills.hint) is (most > 1), "there are no more"


ONE_BLOCK = """
@triton.jit
def kernel(x_ptr, weight_ptr, y_ptr, rstd_ptr, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
    rstd = tl.rsqrt(tl.sum(x * x) / N + eps)
    tl.store(y_ptr + row * N + cols, (x * rstd * weight).to(y_ptr.dtype.element_ty), mask=cols < N)
    tl.store(rstd_ptr + row, rstd)


def rms_norm_forward(x, weight, eps=1e-6):
    x = x.contiguous()
    y, rstd = torch.empty_like(x), torch.empty(len(x), dtype=torch.float32, device=x.device)
    if len(x):
        kernel[(len(x),)](x, weight, y, rstd, x.shape[1], eps, BLOCK=triton.next_power_of_2(x.shape[1]))
    return y, rstd
"""


def test_rows_longer_than_the_largest_case_may_spill():
    """One block and 4 warps for every length: 20,011 columns spill kilobytes, and 4,096 nothing."""
    report = check_answer(Answer("rms_norm_forward", (SETUP, Cell("rms_norm_forward", ONE_BLOCK))), Settings("triton"))
    assert report.passed, str(report)
    assert max(row["spills"] for row in report.compile["targets"]) > 1000
    (spills,) = (case for case in report.cases if case.name == "register spills")
    assert "spills 0 bytes" in spills.message


LONG = """        if N > 8192:  # more than a program holds in its registers
            kernel, block = layer_norm_long_kernel, 4096
        kernel[(M,)](x, weight, bias, y, mean, rstd, N, eps, BLOCK=block, num_warps=max(block // 512, 1))"""


@pytest.mark.exhaustive
def test_a_layer_norm_of_one_block_passes_with_warps_enough():
    """As chapter 03 says: up to 16 warps, for every length."""
    one = LONG.split("\n")[-1].replace("max(block // 512, 1)", "min(max(block // 512, 1), 16)")
    report = check_answer(answer("layer_norm_forward", "triton", LONG, one), Settings("triton"))
    assert report.passed and report.efficient, str(report)


def test_what_no_gpu_compiles_is_told_whatever_else_is_wrong():
    """The values are wrong, and a global is no constant: whoever mends the first learns of the second before. Of the
    cases each sixth.
    """
    wrong = answer("gelu_forward", "triton", GELU, f"    t = 2.0 * t * PLAIN\n{GELU}")
    both = check_answer(replace(wrong, cells=(PLAIN, *wrong.cells)), Settings("triton"), record=FEW)
    failing = [case.name for case in both.cases if case.status == "fail" and not case.bonus]
    assert failing[-1] == "compiles for a GPU" and len(failing) > 1, str(both)
    mended = answer("gelu_forward", "triton", GELU, f"    t = t * PLAIN\n{GELU}")
    mended = check_answer(replace(mended, cells=(PLAIN, *mended.cells)), Settings("triton"), record=FEW)
    assert mended.score >= both.score, (mended.score, both.score)
    other = answer("gelu_forward", "triton", GELU, f"    t = 2.0 * t\n{GELU}")
    other = check_answer(other, Settings("triton"), record=FEW)
    assert other.compile is None and "compiles for a GPU" not in [case.name for case in other.cases]


DESCRIPTORS = Cell(
    "silu_forward",
    """
@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [n], [1], [BLOCK])
    y = tl.make_tensor_descriptor(y_ptr, [n], [1], [BLOCK])
    start = tl.program_id(0) * BLOCK
    value = x.load([start]).to(tl.float32)
    y.store([start], (value * tl.sigmoid(value)).to(y_ptr.dtype.element_ty))


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        silu_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    return y
""",
)


@pytest.mark.parametrize("isolated", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
def test_an_answer_that_sets_no_allocator_is_launched_on_no_gpu(monkeypatch, isolated, worker):
    record = EXERCISES["silu_forward"]
    monkeypatch.setitem(EXERCISES, record.name, replace(record, cases=record.cases[:2]))
    wrong = Answer("silu_forward", (SETUP, DESCRIPTORS))
    report = contextvars.Context().run(check_answer, wrong, Settings("triton"), worker=worker if isolated else None)
    (failing,) = (case for case in report.cases if case.status == "fail")
    assert "silu_kernel cannot be launched on sm_90: a program needs 256 bytes of scratch memory" in failing.message
    assert not report.correct
    set_first = DESCRIPTORS.source.replace(
        "    x = x.contiguous()", "    triton.set_allocator(allocate)\n    x = x.contiguous()"
    )
    allocate = "def allocate(size, align, stream):\n    return torch.empty(size, dtype=torch.int8)\n"
    right = Answer("silu_forward", (SETUP, Cell("silu_forward", allocate + set_first)))
    report = contextvars.Context().run(check_answer, right, Settings("triton"), worker=worker if isolated else None)
    assert report.passed, str(report)


@pytest.mark.parametrize(("bonus", "status", "compiled"), [(True, "fail", 1), (True, "pass", 2), (False, "fail", 2)])
def test_what_a_missed_distinction_launched_is_not_compiled(bonus, status, compiled):
    """No columns, say: `tl.arange(0, 0)` fails in the emulator, and would fail again in the compiler, for points."""
    launches = [KernelLaunch("kernel", "", {"x_ptr": "*fp32"}, {"BLOCK": block}) for block in (64, 0)]
    results = [CaseResult("ordinary values", "pass", False, "", ""), CaseResult("no columns", status, bonus, "", "")]
    outcomes = [Outcome(launches=(launch,)) for launch in launches]
    judged = [Judged(result, outcome=outcome) for result, outcome in zip(results, outcomes, strict=True)]
    asked = []

    def report(described, targets):
        asked.extend(described)
        return {"status": "pass", "reason": "", "targets": []}

    judge_compile(judged, report, ())
    assert asked == launches[:compiled]


@pytest.mark.parametrize(
    ("reads", "loaded", "status"), [(0, 64, "fail"), (0, 0, "pass"), (1, 64, "pass"), (None, 64, "pass")]
)
@pytest.mark.parametrize(("category", "score"), [(Category.PLAIN, 0.0), (Category.EDGES, 0.7)])
def test_kernels_that_load_here_and_compiled_nothing_are_refused(reads, loaded, status, category, score):
    """What they know where they are compiled, and not here, decides the result: all of it where values are plain."""
    launch = KernelLaunch("kernel", "", {"x_ptr": "*i32"}, {"BLOCK": 64})
    row = {"kernel": "kernel", "launch": launch.describe(), "target": "sm_90", "status": "pass", "reads": reads}
    outcome = Outcome(launches=(launch,), traffic={"x_ptr": {"loaded": loaded, "stored": 64}})
    judged = [Judged(CaseResult("ordinary values", "pass", False, "", "", category=category), outcome=outcome)]
    report = {"status": "pass", "reason": "", "targets": [row]}
    _, (compiled,) = judge_compile(judged, lambda launches, targets: report, ())
    assert compiled.status == status
    assert points_for([judged[0].result, compiled], ["correct"]).score == (score if status == "fail" else 1.0)
    if status == "fail":
        assert "load 64 bytes here in the case “ordinary values”, and compiled for sm_90 nothing" in compiled.message


def test_the_compiler_of_an_isolated_answer_starts_with_its_first_launch(tmp_path, monkeypatch, cases_until):
    """Its imports go on while the other cases run."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cases_until("axpy", 3)
    started = []
    with Worker() as worker:

        def noted(where):
            started.append(worker.compiler._worker is not None)

        check_answer(answer("axpy", "triton"), Settings("triton"), worker=worker, at=noted)
    assert started[:2] == [False, True]
