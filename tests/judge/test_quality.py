"""Three answers, not one: wrong, right only by the grace of today's backends, and right but slow are told apart."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from graded_kernels.autograder import EXERCISES, cli
from graded_kernels.autograder.gpu import Target
from graded_kernels.autograder.judge.checking import cost
from graded_kernels.autograder.judge.checking.check import check, check_answer
from graded_kernels.autograder.judge.checking.device_and_emulator import both
from graded_kernels.autograder.judge.records.category import Category
from graded_kernels.autograder.judge.records.settings import Settings
from graded_kernels.autograder.runner import Answer, Cell
from graded_kernels.autograder.words import Quality
from isolation import needs_isolation

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
ROW_SUM = """
@triton.jit
def row_sum_kernel(x_ptr, y_ptr, counter_ptr, stride_m, stride_n, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((), dtype=tl.float32)
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row.to(tl.int64) * stride_m + cols * stride_n, mask=cols < N{OTHER})
        total += tl.sum(x.to(tl.float32))
    {LAST}tl.store(y_ptr + row, total)


def row_sum(x):
    y = torch.empty(x.shape[:1], dtype=x.dtype, device=x.device)
    counter = torch.zeros(1, dtype=torch.int32, device=x.device)
    if y.numel():
        row_sum_kernel[(y.numel(),)](x, y, counter, *x.stride(), x.shape[1], BLOCK=1024)
    return y
"""
ATOMICS = """
@triton.jit
def add_kernel(x_ptr, total_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=0.0).to(tl.float32)
    tl.atomic_add(total_ptr + row, tl.sum(x){SCOPE})


@triton.jit
def round_kernel(total_ptr, y_ptr):
    tl.store(y_ptr + tl.program_id(0), tl.load(total_ptr + tl.program_id(0)))


def row_sum(x):
    x = x.contiguous()
    M, N = x.shape
    total, y = torch.zeros(M, dtype=torch.float32, device=x.device), torch.empty(M, dtype=x.dtype, device=x.device)
    if M:
        add_kernel[(M, max(triton.cdiv(N, 64), 1))](x, total, N, BLOCK=64)
        round_kernel[(M,)](total, y)
    return y
"""
RIGHT = {"OTHER": ", other=0.0", "LAST": ""}
NO_OTHER = {"OTHER": "", "LAST": ""}
SILU_TWICE = """
@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    again = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, x / (1 + tl.exp(-again)), mask=i < n)


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        silu_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y
"""


def code(template: str, exercise="row_sum", **holes) -> Answer:
    for name, text in holes.items():
        template = template.replace(f"{{{name}}}", text)
    return Answer(exercise, (Cell("mine", HEAD + template),))


def checked(answer: Answer, **how):
    return check(answer.exercise, answer.load(), "triton", compiler=False, **how)


@pytest.fixture
def of_few_cases(monkeypatch):
    """Atomics that are not added up at once run program by program, which takes seconds in the larger cases."""
    record = EXERCISES["row_sum"]
    monkeypatch.setitem(EXERCISES, "row_sum", replace(record, cases=record.cases[:3]))


def answers(report) -> tuple:
    return report.correct, report.portable, report.efficient


def test_a_right_answer_is_all_three():
    report = checked(code(ROW_SUM, **RIGHT))
    assert report.passed
    assert answers(report) == (True, True, True)
    assert report.causes == ()
    assert report.to_dict()["causes"] == []


def test_lanes_without_other_are_not_portable_and_not_wrong():
    report = checked(code(ROW_SUM, **NO_OTHER))
    assert not report.passed
    assert answers(report) == (True, False, True)
    (cause,) = report.causes
    assert cause.kind is Quality.PORTABLE
    assert len(cause.cases) > 5
    assert "a load has a mask and no `other`: x_ptr of `row_sum_kernel`, line" in cause.message
    assert "With 0 in these lanes, as today's NVIDIA backends fill them, the result is right." in cause.cases[0].message
    assert report.fingerprint is None


@pytest.mark.exhaustive
def test_what_is_required_decides():
    wanting = code(ROW_SUM, **NO_OTHER)
    report = checked(wanting, require=("correct",))
    assert report.passed
    assert report.score == 1
    assert answers(report) == (True, False, True)
    assert [c.kind for c in report.causes] == [Quality.PORTABLE], "it is told all the same"
    assert checked(wanting, require=("correct", "efficient")).passed
    assert not checked(wanting, require=["portable"]).passed


@pytest.mark.exhaustive
@needs_isolation
def test_the_isolated_check_says_the_same(tmp_path):
    path = tmp_path / "answer.py"
    path.write_text(HEAD + ROW_SUM.replace("{OTHER}", "").replace("{LAST}", ""), encoding="utf-8")
    command = [sys.executable, "-m", "graded_kernels.autograder", "check", "row_sum", str(path), "--json"]
    done = subprocess.run([*command, "--only", "correct"], capture_output=True, text=True, timeout=300)
    data = json.loads(done.stdout)
    assert done.returncode == 0, data["summary"]
    assert data["passed"] is True, data["summary"]
    assert [data[name] for name in ("correct", "portable", "efficient")] == [True, False, True]
    assert [cause["kind"] for cause in data["causes"]] == ["portable"]


@pytest.mark.exhaustive
def test_a_suspicion_that_explains_nothing_is_not_put_forward():
    """Wrong by a constant, with and without what masked-off lanes hold."""
    report = checked(code(ROW_SUM, OTHER="", LAST="total += 1.0\n    "))
    assert report.correct is False
    wrong = [c for c in report.cases if c.kind is Quality.CORRECT and c.status == "fail"]
    assert wrong[0] is report.cases[0]
    assert len(wrong) > 5
    assert not any("no `other`" in c.message for c in wrong)


def test_a_result_that_hangs_on_the_order_of_programs_is_not_portable(of_few_cases):
    ticket = "total += tl.atomic_add(counter_ptr, 1) - row\n    "
    report = checked(code(ROW_SUM, OTHER=", other=0.0", LAST=ticket))
    assert answers(report)[:2] == (True, False)
    assert any("order in which the programs" in cause.message for cause in report.causes)


def test_sums_by_atomics_are_portable():
    """In another order their bits differ, within the tolerance: that is said, and not held against them."""
    report = checked(code(ATOMICS, SCOPE=""), require=("correct", "portable"))
    assert report.passed, str(report)
    assert answers(report)[:2] == (True, True), str(report)
    assert any("which is right within the tolerance" in note for note in report.notes)


def test_an_atomic_that_orders_one_program_alone_is_wrong(of_few_cases):
    report = checked(code(ATOMICS, SCOPE=', scope="cta"'))
    assert report.correct is False
    assert any("one element of total_ptr" in cause.message for cause in report.causes)
    assert any('leave out `scope="cta"`' in case.message for case in report.cases)


def test_a_false_hint_to_the_compiler_is_wrong():
    report = checked(code(ROW_SUM, OTHER=", other=0.0", LAST="row = tl.multiple_of(row, 16)\n    "))
    assert report.correct is False
    assert any("`tl.multiple_of` in `row_sum_kernel` is false" in case.message for case in report.cases)


def test_a_race_is_wrong():
    race = "tl.store(counter_ptr, row)\n    "
    report = checked(code(ROW_SUM, OTHER=", other=0.0", LAST=race))
    assert report.correct is False
    (cause,) = [c for c in report.causes if "one element of counter_ptr" in c.message]
    assert cause.kind is Quality.CORRECT, "one sentence, whatever programs and values"
    assert len(cause.cases) > 3, "one sentence, whatever programs and values"


def test_bytes_moved_twice_are_not_efficient_and_not_wrong():
    twice = code(SILU_TWICE, "silu_forward")
    report = checked(twice)
    assert not report.passed
    assert answers(report) == (True, True, False)
    assert checked(twice, require=("correct", "portable")).passed


def test_a_pytorch_answer_is_not_judged_by_what_only_kernels_do():
    report = check("silu_forward", lambda x: (x.float() * torch.sigmoid(x.float())).to(x.dtype), "torch")
    assert report.passed
    assert answers(report) == (True, None, None)
    refused = check("silu_forward", torch.nn.functional.silu, "torch")
    assert not refused.passed
    assert answers(refused) == (None, None, None)
    assert not check("silu_forward", torch.nn.functional.silu, "torch", require=("correct",)).passed
    assert [cause.kind for cause in refused.causes] == [None]


@pytest.mark.parametrize(
    ("statuses", "slow", "kind"),
    [
        (("pass", "pass"), False, "portable"),
        (("pass", "fail"), False, "portable"),
        (("fail", "fail"), False, "correct"),
        (("pass", "fail"), True, "efficient"),
        (("fail", "fail"), True, "efficient"),
    ],
)
def test_compiling_for_some_targets_is_not_portable_for_none_not_correct(statuses, slow, kind):
    """The time that it takes is neither."""
    told = {"kernel": "k", "launch": "n: i32", "message": "no", "advice": "", "line_text": "x = x", "slow": slow}
    rows = [told | {"target": name, "status": one} for name, one in zip(("sm_90", "gfx942"), statuses, strict=True)]
    found = {"status": min(statuses), "reason": "", "targets": rows}
    (case,) = cost.judge_compile([], lambda launches, targets: found, Target.named())[1]
    assert (case.status, case.kind) == (min(statuses), kind)


@pytest.mark.parametrize(
    ("categories", "charged"),
    [(("edges",), "edges"), (("layouts", "dtypes"), "dtypes"), (("edges", "plain"), "plain"), ((), "plain")],
)
def test_a_launch_that_does_not_compile_costs_what_its_cases_are_about(categories, charged):
    def case_of(category, *parts):
        launch = SimpleNamespace(kernel="k", parts=lambda: list(parts))
        return SimpleNamespace(
            result=SimpleNamespace(category=Category(category), bonus=False),
            outcome=SimpleNamespace(launches=(launch,)),
        )

    told = {"kernel": "k", "message": "no", "advice": "", "line_text": "x = x", "target": "sm_90", "slow": False}
    forms = (("fail", "BLOCK=1, num_warps=4, not divisible by 16: x_ptr"), ("pass", "BLOCK=16, num_warps=4"))
    found = {"status": "fail", "reason": "", "targets": [told | {"status": s, "launch": form} for s, form in forms]}
    judged = [
        case_of("plain", "BLOCK=16", "num_warps=4"),
        *(case_of(category, "BLOCK=1", "num_warps=4") for category in categories),
    ]
    (case,) = cost.judge_compile(judged, lambda launches, targets: found, Target.named())[1]
    assert (case.status, case.category) == ("fail", charged)


@pytest.mark.parametrize("needed", [True, False])
def test_what_distinctions_alone_launch_is_not_needed(needed):
    launch = SimpleNamespace(kernel="k", parts=lambda: ["BLOCK=1"])
    judged = [
        SimpleNamespace(
            result=SimpleNamespace(category=Category.EDGES, bonus=bonus, status="pass"),
            outcome=SimpleNamespace(launches=(launch,)),
        )
        for bonus in [True] + [False] * needed
    ]
    row = {"kernel": "k", "message": "no", "advice": "", "line_text": "x = x", "target": "sm_90", "slow": False}
    row |= {"status": "fail", "launch": "BLOCK=1, num_warps=4"}
    report = {"status": "fail", "reason": "", "targets": [row]}
    (case,) = cost.judge_compile(judged, lambda launches, targets: report, Target.named())[1]
    assert case.status == "fail"
    assert case.bonus != needed


def test_names_of_qualities():
    assert Quality.named(["portable", "correct", "correct"]) == (Quality.CORRECT, Quality.PORTABLE)
    assert Quality.named("correct") == (Quality.CORRECT,)
    for bad in (["fast"], [], ["correct", "Portable"]):
        with pytest.raises(ValueError, match="name correct, portable, efficient"):
            Quality.named(bad)
    assert [both(a, b) for a, b in ((True, False), (None, True), (None, None))] == [False, True, None]


@pytest.mark.parametrize("only", [["correct,portable"], ["correct", "portable"]])
def test_only_takes_a_list_or_is_said_again(only):
    options = cli.parser().parse_args(["check", "row_sum", "a.py", *(f"--only={names}" for names in only)])
    assert Quality.named(options.only) == (Quality.CORRECT, Quality.PORTABLE)


def test_only_refuses_what_is_no_quality(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["check", "row_sum", __file__, "--only", "fast"])
    assert ended.value.code == 2
    assert "correct, portable, efficient" in capsys.readouterr().err


# Conventions


def mean_or_nan(loss, labels, ignore_index=-100, num_items=None):
    """PyTorch's own answer where no token counts: 0 / 0."""
    kept = loss.where(labels != ignore_index, 0.0).sum()
    return kept / ((labels != ignore_index).sum() if num_items is None else num_items)


def label_logits(logits, labels, ignore_index=-100):
    """The message names the label, as PyTorch's own does, and no row."""
    keep = labels != ignore_index
    bad = labels[keep & ((labels < 0) | (labels >= logits.shape[1]))]
    if bad.numel():
        raise IndexError(f"Target {bad[0]} is out of bounds.")
    return logits.gather(1, labels.where(keep, 0).unsqueeze(1)).squeeze(1).where(keep, 0.0)


@pytest.mark.parametrize(
    ("exercise", "function", "convention"),
    [("token_mean", mean_or_nan, "no token"), ("label_logits", label_logits, "bad label")],
)
def test_pytorchs_own_answer_is_taken_where_asked_and_nowhere_else(exercise, function, convention):
    ours = check(exercise, function, "torch")
    failed = [c for c in ours.cases if c.status == "fail" and not c.bonus]
    assert failed
    assert {c.convention for c in failed} == {convention}
    assert not ours.passed
    assert ours.conventions == "course"
    theirs = check(exercise, function, "torch", conventions="pytorch")
    assert theirs.passed, str(theirs)
    assert ours.to_dict()["cases"][0]["convention"] == ""


def test_a_convention_excuses_no_other_value():
    wrong = check("token_mean", lambda *args: mean_or_nan(*args) * 2, "torch", conventions="pytorch")
    assert not wrong.passed
    ones = check("token_mean", lambda *args: mean_or_nan(*args).nan_to_num(1.0), "torch", conventions="pytorch")
    assert "no token" in {c.convention for c in ones.cases if c.status == "fail"}, "neither 0 nor PyTorch's NaN"


def test_unknown_conventions_are_refused():
    with pytest.raises(ValueError, match="'course' or 'pytorch', not 'numpy'"):
        check("silu_forward", lambda x: x, "torch", conventions="numpy")


def test_an_answer_as_code_takes_the_same_options():
    answer = Answer("silu_forward", (Cell("mine", Path(__file__).read_text()),))
    report = check_answer(answer, Settings("torch", require=("correct",), conventions="pytorch"))
    assert (report.required, report.conventions) == ((Quality.CORRECT,), "pytorch")
