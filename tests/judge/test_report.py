"""The report as strict data and as text, the failing case first, no control character of a learner's let through."""

import json
import math
import re
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from graded_kernels.autograder.judge.records.category import Flaw
from graded_kernels.autograder.judge.records.record import Convention
from graded_kernels.autograder.judge.report import measured, phrases
from graded_kernels.autograder.judge.report import notebook as notebook
from graded_kernels.autograder.judge.report import terminal as text
from graded_kernels.autograder.judge.report.distance import distance
from graded_kernels.autograder.judge.report.phrases import STUB
from graded_kernels.autograder.judge.report.worst_element import number, off_by
from graded_kernels.autograder.judge.results.case_result import CaseResult
from graded_kernels.autograder.words import Quality
from reports import NASTY, candle, case, curve, failure, in_order, report, stub

# The data


def test_data_is_strict_json_whatever_the_numbers_are():
    bad = failure(got=np.float32("nan"), expected=-math.inf, index=(np.int64(3),), inputs={"x": math.inf, "y": -0.0})
    one = case("a", "fail", failure=bad, worst_ulp=math.inf, curve=curve())
    traffic = {"loaded": np.int64(8), "ratio": np.float64("nan"), "tensors": {"x": {"loaded": np.int32(4)}}}
    data = report(one, passed=np.bool_(False), score=np.float64(0.5), traffic=traffic).to_dict()
    text_form = json.dumps(data, allow_nan=False)
    back = json.loads(text_form)
    assert back == data
    assert back["passed"] is False
    assert back["score"] == 0.5
    worst = back["cases"][0]
    assert "curve" not in worst
    assert worst["worst_ulp"] == "inf"
    assert worst["failure"]["got"] == "nan"
    assert worst["failure"]["expected"] == "-inf"
    assert worst["failure"]["index"] == [3]
    assert worst["failure"]["inputs"] == {"x": "inf", "y": 0.0}
    assert back["traffic"] == {"loaded": 8, "ratio": "nan", "tensors": {"x": {"loaded": 4}}}


def test_data_has_the_keys_of_the_contract():
    data = candle().to_dict()
    keys = "exercise backend passed correct portable efficient score cases fingerprint traffic compile environment"
    assert set(keys.split()) <= set(data)
    assert set(data["causes"][0]) == {"kind", "code", "place", "message", "cases"}
    assert set("name status bonus message inputs hint failure worst_ulp margin".split()) <= set(data["cases"][0])


def test_a_report_is_true_when_it_passed():
    assert report(passed=True)
    assert not report(passed=False)


# Numbers


@pytest.mark.parametrize(
    "value, shown",
    [
        (0.5, "0.5"),
        (-0.0, "-0.0"),
        (65504.0, "65504.0"),
        (float(np.float32(0.1)), "0.1"),
        (0.1, "0.1"),
        (0.1 + 0.2, "0.30000000000000004"),
        (-(2.0**-149), "-1.4e-45"),
        (float(np.finfo(np.float32).max), "3.4028235e+38"),
        (1e300, "1e+300"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
    ],
)
def test_numbers_read_well(value, shown):
    assert number(value) == shown


def test_numbers_read_back_as_what_they_were():
    bits = np.arange(0, 1 << 32, 99_991, dtype=np.uint64).astype(np.uint32)  # all signs, exponents and subnormals
    values = bits.view(np.float32)
    for value in values[~np.isnan(values)].tolist():
        assert np.float32(number(value)).tobytes() == np.float32(value).tobytes()


@pytest.mark.parametrize(
    "error, allowed, step, shown",
    [
        (3.2, 1.0, 2.0**-24, "3.2 ulp, where 1 is allowed"),
        (9e6, 8.0, 2.0**-24, "9,000,000 ulp, where 8 are allowed"),
        # 0.75 where 0 is right: 5e44 ulp, of which nobody has an idea.
        (0.75 / 2.0**-149, 8.0, 2.0**-149, "0.75, where 1.1e-44 (8 ulp) is allowed"),
        (5e44, 8.0, math.nan, "5.0e+44 ulp, where 8 are allowed"),
    ],
)
def test_a_distance_is_a_number_that_a_reader_can_use(error, allowed, step, shown):
    assert distance(error, allowed, step) == shown


# In a terminal


def test_text_shows_the_failing_case_first_and_what_passed_as_a_count():
    page = text.render(candle(), color=False)
    in_order(page, "not passed", "every value", "dy = -0.5, x = 0.0", "dx = nan", "dx = -0.25", "look at 0")
    in_order(page, "look at 0", "also in", "edges", "This is what candle 0.4.1-0.5.0", "padded batch")
    in_order(page, "padded batch", "40 cases passed")
    assert "passing 7" not in page
    assert "another hint" not in page, "one hint at a time"


def test_text_of_a_stub_is_two_lines_true_before_and_after_the_deadline():
    for page in text.render(stub()), text.render(stub(), points=False):
        assert len(page.splitlines()) == 2
        assert "not implemented yet" in page
        assert "nothing to check until the body of silu_backward is written" in page


def test_text_never_counts_what_did_not_run_as_passed():
    left_out = [case(name, "not-run", message="the first case failed") for name in "bc"]
    page = text.render(report(case("a", "fail"), *left_out))
    assert "No case passed." in page
    assert "Not run (b, c): the first case failed" in page


def test_where_form_alone_fails_the_values_are_said_to_be_right():
    """Beside "93 % of the points" no case that passed would read like a contradiction."""
    formed = case("a", "fail", flaw=Flaw.FORM, form="dtype"), case("b", "fail", flaw=Flaw.EFFECT)
    wrong = case("c", "fail", flaw=Flaw.VALUES), case("d", "fail", flaw=Flaw.FORM, hidden=True)
    assert "No case passed, but the values of 2 cases are right." in text.render(report(*formed, *wrong))
    refused = case("e", "fail", flaw=Flaw.FORM, form="text"), case("f", "fail", flaw=Flaw.FORM, form="error")
    assert "No case passed." in text.render(report(*wrong, *refused)), "what is to be refused has no values"
    assert "1 case passed." in text.render(report(*formed, case("e")))


def test_text_tells_distinctions_from_failures():
    bonus = case("range", bonus=True), case("tails", "fail", bonus=True, message="-0.0")
    page = report(case("a"), *bonus, passed=True)
    in_order(text.render(page), "silu_backward (torch): passed, 1 case", "Extra, not needed: 1 of 2.")
    in_order(text.render(page, details=True), "Extra, not needed: 1 of 2.", "has ", "range", "has not", "tails")
    assert "fail" not in text.render(page, details=True)
    in_order(notebook.render(page), "Extra, not needed: 1 of 2.", '<li class="pass">range', '<li class="bonus">tails')


def test_an_answer_that_passed_is_told_in_three_sentences():
    traffic = {"loaded": 524288, "stored": 131072, "least": 655360, "ratio": 1.0, "allowed": 1.05, "tensors": {}}
    row = {"target": "sm_90", "kernel": "f", "status": "pass", "registers": 32, "spills": 0, "load_bits": 128}
    compiled = {"status": "pass", "reason": "", "targets": [row]}
    judged = {"correct": True, "portable": True, "efficient": True, "notes": ("`tl.exp` is looser there.",)}
    page = report(case("a"), case("b", bonus=True), passed=True, traffic=traffic, compile=compiled, **judged)
    assert text.render(page, color=False).splitlines() == [
        "silu_backward (torch): passed, 1 case",
        "Cost: 1.00 times the least memory traffic (limit 1.05); sm_90 f: 32 registers,",
        "no spills, 128-bit loads.",
        "Extra, not needed: 1 of 1.",
    ]


def test_text_lets_no_control_character_through():
    one = CaseResult(NASTY, "error", False, NASTY, NASTY, NASTY, failure(output=NASTY), 1.0, f"{NASTY}\n{NASTY}")
    two = case(NASTY, "not-run", message=NASTY)
    page = text.render(report(one, one, two, fingerprint=NASTY, fingerprint_story=NASTY, summary=NASTY), color=False)
    assert [ch for ch in page if not ch.isprintable() and ch != "\n"] == []
    assert "\\x1b[2J" in page


def test_text_fits_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    assert max(map(len, text.render(candle(), color=False).splitlines())) <= 50


def test_text_colours_a_terminal_unless_told_not_to(monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\033[" in text.render(candle())
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\033[" not in text.render(candle())
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setattr("sys.stdout.isatty", lambda: False, raising=False)
    assert "\033[" not in text.render(candle())


# What both show


def test_an_answer_that_was_stopped_is_not_asked_about_inputs():
    refused = case(
        "every value", "fail", message="You called silu, which is the answer.", hint="look at 0", code="refused"
    )
    page = report(refused, case("edges", "not-run", message="not called again"), summary="You did.", stopped="refused")
    for shown in (text.render(page, color=False), notebook.render(page)):
        assert "You called silu" in shown
        assert "not called again" in shown
        assert "float16" not in shown
        assert "look at 0" not in shown


def test_what_a_process_says_of_a_stub_is_text():
    page = report(case("every value", "error", code=STUB), summary="<i>not</i>", stopped=STUB)
    assert "&lt;i&gt;not" in notebook.render(page)


def test_a_traceback_does_not_say_the_message_twice():
    trace = 'File "answer.py", line 2\n    1 / 0\nZeroDivisionError: division by zero'
    page = report(case("a", "error", message="ZeroDivisionError: division by zero", details=trace))
    for shown in (text.render(page, color=False), notebook.render(page)):
        assert "1 / 0" in shown
        assert shown.count("ZeroDivisionError") == 1


def test_a_long_traceback_ends_with_its_last_lines():
    trace = "\n".join(f"frame {i};" for i in range(100))
    page = text.render(report(case("a", "error", message="RecursionError", details=trace)), color=False)
    assert "frame 99;" in page
    assert "frame 50;" not in page
    assert "84 lines above" in page


def test_a_cause_is_told_once_with_all_the_cases_behind_it():
    said = "NameError: name 'y' is not defined. In call {}."
    many = [case(f"shape {i}", "error", message=said.format(i), code="raised NameError") for i in range(20)]
    page = report(*many)
    for shown in (text.render(page, color=False), notebook.render(page)):
        assert "shape 0" in shown
        assert "shape 19" in shown
        assert "of failure" not in shown
    assert text.render(page, color=False).count("NameError") == 1
    (cause,) = page.to_dict()["causes"]
    assert cause["kind"] == "correct"
    assert cause["cases"] == [f"shape {i}" for i in range(20)]
    assert len(page.to_dict()["cases"]) == 20, "nothing is lost"


def test_wrong_comes_before_not_portable_and_that_before_slow():
    slow = case("memory traffic", "fail", message="It moves 2 times the bytes.", kind=Quality.EFFICIENT)
    lanes = [
        case(f"lanes {i}", "fail", message=f"`k` loads row {i}.", code="lanes", place="x_ptr", kind=Quality.PORTABLE)
        for i in "12"
    ]
    wrong = case("zeros", "fail", message="dx is wrong in 3 of 4 elements.", code="values", place="dx")
    page = report(slow, *lanes, wrong)
    causes = page.to_dict()["causes"]
    assert [(c["kind"], c["cases"]) for c in causes] == [
        ("correct", ["zeros"]),
        ("portable", ["lanes 1", "lanes 2"]),
        ("efficient", ["memory traffic"]),
    ]
    assert [c["message"] for c in causes] == [
        "dx is wrong in 3 of 4 elements.",
        "The result depends on masked-off lanes, since a load has a mask and no `other`: x_ptr.",
        slow.message,
    ]
    for shown in (text.render(page, color=False), notebook.render(page)):
        in_order(shown, "not correct", "zeros", "Fails in 2 more ways", "not portable", "not efficient")


def test_a_case_in_float32_is_shown_before_one_in_half_precision():
    """Whose hint is about half precision, which is not the cause."""
    half = case("1e-4, float16", "fail", message="w is wrong in 1 of 2 elements.", code="values", place="w", half=True)
    plain = replace(half, name="near epsilon", half=False)
    assert [c.name for c in report(half, plain).causes[0].cases] == ["near epsilon", "1e-4, float16"]


def test_wrong_values_that_one_bug_explains_are_one_cause():
    one, other = candle().cases[20], candle().cases[-1]
    assert one.name == "every value"
    assert other.name == "edges"
    (cause,) = candle().causes
    assert [c.name for c in cause.cases] == ["every value", "edges"]
    assert "candle 0.4.1-0.5.0" in cause.message
    assert len(report(one, other).causes) == 2, "without the bug, what is said of them differs"


def test_the_qualities_that_were_judged_are_told():
    page = report(case("a", "fail"), correct=True, portable=None, efficient=False)
    assert "correct: yes   efficient: no\n" in text.render(page, color=False)
    in_order(notebook.render(page), "correct <b class", ">yes<", "efficient <b class", ">no<")
    refused = text.render(report(case("a", "fail")), color=False)
    assert "correct" not in refused.splitlines()[1]


def test_what_a_wrong_answer_costs_is_not_told():
    page = report(case("a", "fail"), correct=False, portable=True, efficient=True)
    assert "correct: no   portable: yes\n" in text.render(page, color=False)
    assert "efficient" not in notebook.render(page).split("</style>")[1]


def test_what_is_found_and_not_required_is_told_of_an_answer_that_passed():
    slow = case("memory traffic", "fail", message="It moves 2 times the bytes.", kind=Quality.EFFICIENT)
    page = report(case("a"), slow, passed=True, required=(Quality.CORRECT,), correct=True, efficient=False)
    for shown in (text.render(page, color=False), notebook.render(page)):
        in_order(shown, "assed (required: correct)", "Also found, not required", "not efficient", "It moves 2 times")


def test_a_case_that_rests_on_a_convention_says_so():
    page = report(case("infinity and NaN", "fail", convention="infinity"))
    shown = " ".join(text.render(page, color=False).split())
    in_order(shown, "rests on", "what an input of infinity gives. `--conventions pytorch` takes PyTorch's own")
    shown = notebook.render(page)
    in_order(shown, "rests on", "what an input of infinity gives.", "conventions=&quot;pytorch&quot;)", "takes PyTorch")
    assert "--conventions" not in shown
    assert page.to_dict()["cases"][0]["convention"] == "infinity"


def test_traffic_and_compiler_are_told_in_words():
    traffic = {"loaded": 524288, "stored": 131072, "least": 393216, "ratio": 5 / 3, "allowed": 1.05, "tensors": {}}
    good = {"target": "sm_90", "kernel": "f", "status": "pass", "registers": 32, "spills": 0, "load_bits": 128}
    bad = {
        "target": "gfx942",
        "kernel": "f",
        "status": "fail",
        "message": "no such op",
        "line": 3,
        "line_text": " y = g(x)",
    }
    spilling = good | {"target": "sm_80", "spills": 48, "load_bits": None}
    compiled = {"status": "fail", "reason": "gfx942 does not compile.", "targets": [good, spilling, bad]}
    page = report(case("a"), traffic=traffic, compile=compiled)
    for shown in (text.render(page, color=False, details=True), notebook.render(page)):
        assert (
            "1.67 times the minimum: 512 KiB loaded and 128 KiB stored, where 384 KiB would do; the limit is 1.05"
            in " ".join(shown.split())
        )
        assert "sm_90 f: 32 registers, no spills, 128-bit loads" in shown
        assert "sm_80 f: 32 registers, 48 B spilled" in shown
        assert "gfx942 f: no such op, line 3: y = g(x)" in shown


def test_bytes_that_a_mask_leaves_out_are_no_share_of_a_minimum():
    traffic = {"loaded": 244224, "stored": 4, "least": 331878, "ratio": 0.74, "allowed": 1.05, "tensors": {}}
    page = report(case("a"), traffic=traffic)
    shown = " ".join(text.render(page, color=False, details=True).split())
    assert "minimum" not in shown
    assert "the least" not in shown
    assert "less than the 324.1 KiB of all arguments and results: masks leave some out" in shown


def test_targets_of_which_the_same_is_to_be_said_share_a_line():
    bad = {"kernel": "f", "status": "fail", "message": "no such op"}
    rows = [bad | {"target": "sm_80"}, {"target": "sm_90", "kernel": "f", "status": "pass"}, bad | {"target": "gfx942"}]
    page = report(case("a", "fail"), compile={"status": "fail", "reason": "f does not compile.", "targets": rows})
    for shown in (text.render(page, color=False, details=True), notebook.render(page)):
        assert "sm_80, gfx942 f: no such op" in shown
        assert "sm_90 f: pass" in shown
        assert shown.count("no such op") == 1, "its case says so"
        assert "f does not compile." not in shown, "its case says so"


def test_the_forms_of_a_kernel_that_compile_for_a_target_share_a_line():
    form = {"kernel": "f", "target": "sm_90", "status": "pass", "registers": 24, "spills": 0, "load_bits": 128}
    page = report(case("a"), compile={"status": "pass", "targets": [form, form | {"registers": 40, "spills": 8}]})
    for shown in (text.render(page, color=False, details=True), notebook.render(page)):
        assert "up to 40 registers, up to 8 B spilled" in " ".join(shown.split())
    launches = ("x_ptr: *fp32, BLOCK=64, num_warps=4", "x_ptr: *fp32, BLOCK=32768, num_warps=4")
    forms = [form | {"spills": n, "launch": launch} for n, launch in enumerate(launches)]
    page = report(case("a"), compile={"status": "pass", "targets": forms})
    for shown in (text.render(page, color=False, details=True), notebook.render(page)):
        assert "up to 1 B spilled with BLOCK=32768, up to" in " ".join(shown.split()), "what all forms have is left out"
    failed = [{"kernel": "f", "target": "sm_90", "status": "fail", "message": words} for words in ("first", "second")]
    page = report(case("a"), compile={"status": "fail", "targets": failed})
    assert "sm_90 f: first" in text.render(page, color=False, details=True)


def test_a_compiler_report_that_was_not_made_says_why():
    page = report(
        case("a"), passed=True, compile={"status": "not-run", "reason": "Triton is not installed", "targets": []}
    )
    for shown in (text.render(page, color=False), notebook.render(page)):
        assert "Not run (compiler report): Triton is not installed" in shown


@pytest.mark.parametrize(
    "size, shown", [(0, "0 B"), (1000, "1,000 B"), (1023, "1,023 B"), (393216, "384 KiB"), (3 << 40, "3,072 GiB")]
)
def test_sizes(size, shown):
    assert measured.size(size) == shown


@pytest.mark.parametrize("score, shown", [(0.999999, "99 %"), (1.0, "100 %"), (0.29, "29 %"), (0.0, "0 %")])
def test_percent_is_full_only_for_every_point(score, shown):
    assert phrases.percent(score) == shown


def test_a_failure_that_costs_nothing_is_told_so():
    """As where only what an error says is wrong."""
    free = report(case("a label of V", "fail", form="text"), score=1.0)
    assert phrases.verdict(free) == "not passed; no points lost"
    assert phrases.verdict(replace(free, score=0.93)) == "not passed, 93 % of the points"
    assert phrases.verdict(free, points=False) == "not passed"


def test_what_the_emulator_cannot_show_is_one_line_each():
    notes = ("`tl.exp` is looser there.", f"The sums differ. {NASTY}")
    page = report(case("a"), passed=True, notes=notes, environment={"python": "3.11"})
    shown, html = text.render(page, color=False, details=True), notebook.render(page)
    in_order(shown, "passed, 1 case", "On a GPU: `tl.exp` is looser there.\n", "On a GPU: The sums differ.", "Python")
    line = '<p class="quiet">On a GPU: <code>tl.exp</code> is looser there.</p>'
    in_order(html, line, '<p class="quiet">On a GPU: The sums differ.', "Python")
    assert "<script" not in html
    assert "\x1b" not in shown + html
    assert "On a GPU" not in text.render(report(case("a"))) + notebook.render(report(case("a")))


def test_nan_in_and_nan_out_is_no_choice():
    at_nan = replace(case("infinity and NaN", "fail", convention="infinity"), failure=failure(inputs={"x": math.nan}))
    assert phrases.convention(at_nan, "This") == ""


def test_code_that_is_cut_ends_where_it_is_cut():
    told = phrases.brief(f"`f` fails in line 3, `y = {'x + ' * 40}x`: RuntimeError. And more.")
    assert told.startswith("`f` fails in line 3, `y = x + ") and told.endswith("` ...")
    assert phrases.brief("`f` fails. And more.") == "`f` fails"


def test_a_float8_that_is_off_is_allowed_no_part_of_a_step():
    wrong = failure(got=160.0, expected=176.0, ulp=1.0, allowed=0.25, codes=(0x72, 0x73))
    assert "where 0" in off_by(wrong)


@pytest.mark.parametrize("convention", [one for one in get_args(Convention) if one])
def test_every_convention_is_told_in_words(convention):
    said = phrases.convention(case("a", "fail", convention=convention), "This")
    assert re.fullmatch(r"a choice: what .{15,}\. This takes PyTorch's own answer for right as well\.", said)


def test_a_refusal_in_a_later_case_comes_after_what_was_wrong():
    race = case("ordinary values", "fail", message="Two programs store to one element.")
    refused = case("float16", "fail", message="You called to, which a kernel should do.", kind=None)
    assert [cause.cases[0].name for cause in report(race, refused).causes] == ["ordinary values", "float16"]
    assert [cause.cases[0].name for cause in report(refused, race).causes] == ["float16", "ordinary values"]


def test_names_with_commas_are_told_apart():
    names = ("ordinary values", "large mean, float16", "large mean, bfloat16")
    cases = (case(name, "fail", message="y is wrong.", code="values", place="y") for name in names)
    shown = text.render(report(*cases), color=False)
    assert "large mean, float16; large mean, bfloat16" in shown


def test_an_absolute_tolerance_is_no_claim_about_the_size_of_the_result():
    """Where the standard deviation is 0, rstd is 316, and eps outside of the root makes 100,000 of it."""
    assert distance(3.3e9, 4700.0, 3.05e-5) == (
        "1e+05, where 0.14 is allowed for the rounding of the terms that it is computed from; "
        "not counted in ulp of the result"
    )
