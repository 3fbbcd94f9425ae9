"""What `graded-kernels sanitize` reports: which end outranks which, the text, and SARIF."""

import os

import pytest
from graded_kernels.autograder.gpu.emulator import Finding
from graded_kernels.autograder.gpu.rules import RULES
from graded_kernels.autograder.gpu.sanitize import command, run_report, sarif

FINDING = {
    **{"kind": "out-of-bounds", "level": "fault", "kernel": "k", "file": os.path.abspath("k.py"), "line": 3},
    **{"source": "tl.load(x)", "program": [0, 0, 0], "tensor": "x", "offset": 9, "message": "It is.", "cure": "Mask."},
    "times": 2,
}


UNABLE, FAILED = FINDING | {"level": "unable"}, "it exited with status 5"


@pytest.mark.parametrize(
    "run, status",
    [
        (run_report.Run("p", [FINDING], [UNABLE], launches=1, failed=FAILED), 1),
        (run_report.Run("p", [FINDING], interrupted=True), 1),
        (run_report.Run("p", [], [UNABLE], launches=1, failed=FAILED), 2),
        (run_report.Run("p"), 2),
        (run_report.Run("p", launches=1, failed=FAILED), 3),
        (run_report.Run("p", hints=[FINDING], launches=1), 0),
        (run_report.Run("p", launches=1), 0),
        (run_report.Run("p", launches=1, interrupted=True), 130),
    ],
)
def test_findings_outrank_what_is_not_judged_and_that_the_programs_end(run, status):
    assert command.status(run) == status


@pytest.mark.parametrize(
    "run, sentences",
    [
        (
            run_report.Run("p", failed=FAILED),
            "p launched no Triton kernel, so nothing was checked. The program itself failed: it exited with status 5.",
        ),
        (
            run_report.Run("p", failed=FAILED, launches=1, kernels={"k": 1}, unlike_gpu=["aten.logsumexp"]),
            "p: nothing found in 1 launch of 1 kernel. The program itself failed: it exited with status 5. "
            "PyTorch's CPU computed in half precision, perhaps not as a GPU does: aten.logsumexp. Where a reference "
            "comes from there, compare it with float64 first.",
        ),
        (
            run_report.Run("p", unable=[UNABLE], launches=1, kernels={"k": 1}),
            "p: nothing found, 1 not judged, in 1 launch of 1 kernel.",
        ),
        (
            run_report.Run("p", [FINDING], launches=1, kernels={"k": 1}, stopped=True),
            "p: 1 finding in 1 launch of 1 kernel. The program ended at a launch that a finding stopped: what comes "
            "after it did not run.",
        ),
        (
            run_report.Run("p", [FINDING], stopped=True),
            "p: 1 finding in 0 launches of 0 kernels. The program ended at a launch that a finding stopped: what comes "
            "after it did not run.",
        ),
        (
            run_report.Run("p"),
            "graded-kernels sanitize: p launched no Triton kernel, so nothing was checked. Pass the arguments that "
            "reach one, or name the script or test that does.",
        ),
    ],
)
def test_the_last_sentence_says_what_was_not_checked(run, sentences):
    assert run_report.summary(run) == sentences


def test_the_text_names_file_line_and_how_often():
    run = run_report.Run("p.py", [FINDING], hints=[FINDING], launches=4, kernels={"k": 4})
    shown = run_report.text(run, 1, False, False)
    assert "k.py:3: out-of-bounds (2 launches)" in shown
    assert "1 finding in 4 launches of 1 kernel, 1 hint" in shown
    assert run_report.text(run_report.Run("p.py", hints=[FINDING]), 0, True, False).count("hint: out-of-bounds") == 1


def test_what_is_not_portable_can_be_set_aside():
    run = run_report.Run("p.py", [FINDING, FINDING | {"kind": "masked-load"}], launches=1)
    run.set_aside_portability()
    assert [one["kind"] for one in run.findings] == ["out-of-bounds"]
    assert [(one["kind"], one["level"]) for one in run.hints] == [("masked-load", "hint")]


def test_equal_stores_are_findings_where_that_is_asked_for():
    hint = FINDING | {"kind": "equal-stores", "level": "hint"}
    run = run_report.Run("p", hints=[hint, FINDING | {"kind": "tf32", "level": "hint"}], launches=1)
    run.take_equal_stores()
    assert [finding["kind"] for finding in run.findings] == ["equal-stores"]
    assert [finding["kind"] for finding in run.hints] == ["tf32"]
    assert command.status(run) == command.FINDINGS


def test_sarif_points_at_the_line_relative_to_the_folder():
    log = sarif.log(run_report.Run("p.py", [FINDING], hints=[FINDING | {"kind": "wrapped-integer"}], launches=1))
    (run,) = log["runs"]
    (result,) = run["results"]
    assert result["ruleId"] == run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "out-of-bounds"
    place = result["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "k.py"}, "region": {"startLine": 3}}
    assert result["level"] == "error"
    assert result["occurrenceCount"] == 2


def test_every_kind_of_the_emulator_has_a_rule():
    """An assertion of a kernel is an error of its in the emulator."""
    assert Finding.KINDS | {"assertion"} == RULES.keys()


@pytest.mark.parametrize("shim, advised", [("an A100", True), ("", False)])
def test_a_program_of_cpu_tensors_is_told_of_the_option(shim, advised):
    message = "it raised ValueError: Pointer argument (at 0) cannot be accessed from Triton (cpu tensor?)"
    run = run_report.Run("demo.py", shim=shim, failed=message)
    assert ("--no-cuda-shim" in run_report.text(run, command.FAILED, False, False)) == advised


def test_names_with_control_characters_are_spelled_out():
    odd = FINDING | {"file": os.path.abspath("red\x1b[31m\udce9.py"), "source": "x = 1 \x1b[2J", "message": "\x07"}
    shown = run_report.text(run_report.Run("p\x1b.py", [odd], launches=1), 1, False, False) + run_report.three_lines(
        odd
    )
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert shown.count("red\\x1b[31m\\udce9.py:3") == 2
    (result,) = sarif.log(run_report.Run("p", [odd]))["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "red%1B%5B31m%E9.py"


def test_launches_that_ran_one_program_at_a_time_are_told_with_the_hints():
    run = run_report.Run("p", launches=3, kernels={"k": 3}, alone={("k", "an atomic whose result is used"): 2})
    said = "2 launches of `k` ran one program at a time, which takes 10 to 100 times as long and finds the same: an"
    assert said in " ".join(run_report.text(run, command.CLEAN, True, False).split())
    assert "one program" not in run_report.text(run, command.CLEAN, False, False)
