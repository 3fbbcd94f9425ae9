"""Findings that fail nothing: a baseline knows them, a comment allows them, or their kernel has not changed."""

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from graded_kernels.autograder import cli
from graded_kernels.autograder.gpu.emulator import EmulatorError
from graded_kernels.autograder.gpu.sanitize import json_report, run_report, sarif
from graded_kernels.autograder.gpu.sanitize.allowed import Allowances, of_file
from graded_kernels.autograder.gpu.sanitize.baseline import Baseline, BaselineError
from graded_kernels.autograder.gpu.sanitize.watching import watched


def finding(line=3, kernel="k", kind="out-of-bounds", source="v = tl.load(x + i)", file="k.py", level="fault"):
    about = {"kind": kind, "level": level, "kernel": kernel, "file": file, "line": line, "source": source}
    more = {"program": [0, 0, 0], "tensor": "x", "offset": 9, "message": "It is.", "cure": "Mask.", "times": 1}
    return about | more


def ran(file, *lines):
    return {
        "kernel": "k",
        "file": file,
        "line": 1,
        "lines": [[line, True] for line in lines],
        "branches": [],
        "masks": [],
    }


def run_of(*findings, **more):
    return run_report.Run("p.py", list(findings), launches=2, kernels={"k": 1, "l": 1}, judged={"k", "l"}, **more)


def written(file, *findings, **more):
    run, baseline = run_of(*findings, **more), Baseline(file, update=True)
    run.set_aside_known(Allowances(), baseline)
    file.write_text(baseline.text(run.judged_whole))
    return run


# a baseline


def test_what_the_baseline_knows_fails_nothing_also_where_its_line_moved(tmp_path):
    file = tmp_path / "known.json"
    assert written(file, finding(), finding(kind="race-read")).findings == []
    run, baseline = (
        run_of(finding(line=70), finding(kind="race-read"), finding(source="w = tl.load(y)")),
        Baseline(file),
    )
    run.set_aside_known(Allowances(), baseline)
    assert [one["source"] for one in run.findings] == ["w = tl.load(y)"]
    assert [one["line"] for one in run.known] == [70, 3]
    assert run.remarks == []
    assert "p.py: 1 finding, 2 known, in 2 launches of 2 kernels." in run_report.text(run, 1, False, False)
    suppressed = [one.get("suppressions", [{}])[0].get("kind") for one in sarif.log(run)["runs"][0]["results"]]
    assert suppressed == [None, "external", "external"]
    run.findings.clear()
    assert "p.py: nothing new, 2 known, in 2 launches" in run_report.text(run, 0, False, False)
    assert [one["kind"] for one in json_report.data(run, 0)["known"]] == ["out-of-bounds", "race-read"]


def test_what_no_longer_occurs_is_said_if_its_kernel_was_judged_to_the_end(tmp_path):
    file = tmp_path / "known.json"
    written(file, finding(), finding(kernel="elsewhere"))
    for whole, said in ((True, 1), (False, 0)):
        run = run_of(finding(kernel="l"), whole=whole)
        run.set_aside_known(Allowances(), Baseline(file))
        assert len(run.remarks) == said
    gone = run_of()
    gone.set_aside_known(Allowances(), Baseline(file))
    assert gone.remarks == [f"No longer found, though in {file}: out-of-bounds in `k`, `v = tl.load(x + i)`."]


def test_an_update_keeps_what_it_could_not_see(tmp_path):
    file = tmp_path / "known.json"
    written(file, finding(), finding(kernel="elsewhere"))
    written(file, finding(kernel="l"), whole=False)
    assert {one["kernel"] for one in json.loads(file.read_text())["findings"]} == {"k", "l", "elsewhere"}
    written(file, finding(kernel="l"))
    assert {one["kernel"] for one in json.loads(file.read_text())["findings"]} == {"l", "elsewhere"}


@pytest.mark.parametrize(
    "text, says",
    [
        (None, "there is no baseline .*--update-baseline"),
        ("{", "is not a baseline"),
        ('{"findings": []}', "is not a baseline"),
        ('{"schema": 2, "findings": []}', "of schema 2, not of 1"),
    ],
)
def test_a_file_that_is_no_baseline_gets_a_sentence(tmp_path, text, says, capsys):
    file = tmp_path / "known.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(BaselineError, match=says):
        Baseline(file)
    assert cli.main(["sanitize", "--baseline", str(file), __file__]) == 2
    assert "baseline" in capsys.readouterr().err
    assert cli.main(["sanitize", "--update-baseline", __file__]) == 2
    assert "--baseline FILE" in capsys.readouterr().err


# a comment


COMMENTED = """
# graded-kernels: allow race-read: only the last one counts
v = tl.load(x)
w = tl.load(
    y + 1,
    z,
)  # graded-kernels: allow out-of-bounds: y has a guard element
u = 1  # graded-kernels: allow masked-load
t = 2  # graded-kernels: allow masks: why
if a:
    # graded-kernels: allow store-conflict: all store 0

    tl.store(x, 0)
s = "# graded-kernels: allow grid: it is a text"
"""


def commented(tmp_path):
    file = tmp_path / "k.py"
    file.write_text(COMMENTED)
    return str(file)


def test_a_comment_stands_behind_a_statement_or_above_it(tmp_path):
    file = commented(tmp_path)
    shown = [(one.kind, one.first, one.last, one.reason) for one in of_file(file) if not one.mistake]
    assert shown == [
        ("race-read", 3, 3, "only the last one counts"),
        ("out-of-bounds", 4, 7, "y has a guard element"),
        ("store-conflict", 13, 13, "all store 0"),
    ]


def test_a_comment_allows_its_kind_at_its_line_and_says_why(tmp_path):
    file = commented(tmp_path)
    right = finding(4, file=file), finding(3, kind="race-read", file=file, level="hint")
    wrong = finding(3, file=file), finding(8, kind="masked-load", file=file)
    run = run_of(right[0], *wrong, hints=[right[1]], coverage=[ran(file, 3, 4, 8, 9, 10)])
    run.set_aside_known(Allowances(), None)
    assert run.findings == [*wrong]
    assert run.hints == []
    assert [one["reason"] for one in run.allowed] == ["y has a guard element", "only the last one counts"]
    reasons = [
        result.get("suppressions", [{}])[0].get("justification") for result in sarif.log(run)["runs"][0]["results"]
    ]
    assert reasons == [None, None, "y has a guard element", "only the last one counts"]
    text = " ".join(run_report.text(run, 1, False, False).split())
    assert "2 findings, 2 allowed by comments, in 2 launches" in text
    assert "no finding needs" not in text
    assert "k.py:8: the comment allows nothing: give a reason, as in `# graded-kernels: allow masked-load: " in text
    assert "k.py:9: the comment allows nothing: there is no finding 'masks'; there are out-of-bounds, " in text


def test_a_comment_that_no_finding_needs_is_said_where_its_line_ran(tmp_path):
    file = commented(tmp_path)
    said = Allowances().remarks([ran(file, 3, 4, 10)])
    assert [remark.partition(": ")[2] for remark in said if "allows nothing" not in remark] == [
        "no finding needs the comment that allows race-read; take it out.",
        "no finding needs the comment that allows out-of-bounds; take it out.",
    ]


# since a revision


HELPERS = """
import triton
import triton.language as tl

@triton.jit
def twice(a):
    return a * 2

@triton.jit
def thrice(a):
    return a * 3
"""
KERNELS = """
import helpers
import triton
import triton.language as tl
from helpers import thrice

@triton.jit
def by_two(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, helpers.twice(tl.load(x + i)))

@triton.jit
def by_three(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, thrice(tl.load(x + i)))

@triton.jit
def plain(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i))
"""


def git(folder, *arguments):
    who = {f"GIT_{role}_{part}": "x@example.org" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True, env=os.environ | who)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    (tmp_path / "helpers.py").write_text(HELPERS)
    (tmp_path / "kernels.py").write_text(KERNELS)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "first")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(sys, "modules", {**sys.modules})
    return tmp_path


def judged(repository):
    """Runs the kernels, each out of bounds; returns those that were reported, and all that was set aside."""
    for name in ("helpers", "kernels"):
        sys.modules.pop(name, None)
    spec = importlib.util.spec_from_file_location("kernels", repository / "kernels.py")
    kernels, events = importlib.util.module_from_spec(spec), []
    spec.loader.exec_module(kernels)
    with watched(events.append, shim=False, since="HEAD"):
        for name in ("by_two", "by_three", "plain"):
            with contextlib.suppress(EmulatorError):  # those that are not judged go on
                getattr(kernels, name)[(1,)](torch.zeros(8), torch.zeros(16), BLOCK=16)
    reported = {event["finding"]["kernel"] for event in events if "finding" in event}
    covered = {one["kernel"] for event in events for one in event.get("coverage", [])}
    assert covered & {"by_two", "by_three", "plain"} == reported
    assert {event["launch"]["kernel"] for event in events if event.get("launch", {}).get("judged")} == reported
    return reported, {event["set aside"] for event in events if "set aside" in event}


@pytest.mark.parametrize(
    "file, old, new, changed",
    [
        ("kernels.py", "import helpers", "import helpers  # moved by\n\n# nothing but lines", set()),
        ("kernels.py", "thrice(tl.load(x + i))", "thrice(tl.load(x + i)) + 1", {"by_three"}),
        ("helpers.py", "a * 2", "a + a", {"by_two"}),
        ("helpers.py", "a * 3", "a + a + a", {"by_three"}),
    ],
)
def test_a_kernel_has_changed_with_its_text_or_that_of_what_it_calls(repository, file, old, new, changed):
    text = (repository / file).read_text()
    assert text.count(old) == 1
    (repository / file).write_text(text.replace(old, new))
    everything = {"by_two", "by_three", "plain"}
    assert judged(repository) == (changed, everything - changed)


def test_a_new_file_has_changed_and_an_ignored_one_has_not(repository):
    (repository / "kernels.py").write_text(KERNELS)
    git(repository, "rm", "-q", "--cached", "kernels.py")
    git(repository, "commit", "-qm", "second")
    assert judged(repository)[0] == {"by_two", "by_three", "plain"}
    (repository / ".gitignore").write_text("kernels.py\n")
    assert judged(repository)[0] == set()


@pytest.mark.parametrize(
    "launched, judged, left_out, says",
    [
        (3, 3, 0, ""),
        (3, 2, 0, "1 of 3 kernels has not changed since v1: not judged."),
        (3, 1, 2, "2 of 3 kernels have not changed since v1: not judged; 2 findings there left out."),
        (3, 0, 1, "No kernel has changed since v1: not judged; 1 finding there left out."),
    ],
)
def test_what_was_left_out_is_said(launched, judged, left_out, says):
    assert run_report.unchanged("v1", launched, judged, left_out) == says


def test_a_revision_that_is_not_there_is_told_before_anything_runs(repository, tmp_path_factory, monkeypatch, capsys):
    assert cli.main(["sanitize", "--since", "nowhere", str(Path(__file__))]) == 2
    assert "there is no such revision here" in capsys.readouterr().err
    monkeypatch.chdir(tmp_path_factory.mktemp("none"))
    assert cli.main(["sanitize", "--since", "HEAD", str(Path(__file__))]) == 2
    assert "no git repository" in capsys.readouterr().err
