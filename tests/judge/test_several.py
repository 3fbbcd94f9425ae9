"""`graded-kernels check` of several files: a line each, a table, JSON, and the XML of CI services."""

import json
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest
from graded_kernels.autograder import cli
from graded_kernels.autograder.judge.commands import several
from graded_kernels.solutions import silu

WRONG = "def silu_forward(x):\n    return x * 0\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "wrong.py").write_text(WRONG)
    (tmp_path / "none.py").write_text("x = 1\n")
    (tmp_path / "right.py").write_text(Path(silu.__file__).read_text())
    return [str(tmp_path / name) for name in ("right.py", "wrong.py", "none.py")]


def test_every_file_has_a_line_and_a_row(files, called):
    done = called("check", "silu_forward", *files, "--in-process", "--backend", "torch")
    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert lines[0] == f"passed       {files[0]}"
    assert lines[1].startswith(f"not passed   {files[1]}: ")
    assert "the first is" in lines[1]
    assert lines[2].startswith(f"not checked  {files[2]}: {files[2]} defines no function silu_forward")
    rows = [line.split() for line in lines[4:8]]
    assert rows[0] == ["file", "verdict", "correct", "portable", "efficient", "cases"]
    assert rows[1][:3] == [files[0], "passed", "yes"]
    assert rows[2][:4] == [files[1], "not", "passed", "no"]
    assert lines[-1] == "1 of 3 files passed."


def test_a_check_that_crashes_does_not_stop_the_others(files, called, monkeypatch):
    def report_on(wanted, limits, worker):
        if WRONG.strip() in wanted.answer.text:
            raise ZeroDivisionError("planted")
        return checked(wanted, limits, worker)

    checked = several.report_on
    monkeypatch.setattr(several, "report_on", report_on)
    done = called("check", "silu_forward", files[1], files[0], "--in-process", "--backend", "torch")
    first, second = done.stdout.splitlines()[:2]
    assert first == f"not checked  {files[1]}: the check stopped with ZeroDivisionError: planted"
    assert (second, done.returncode) == (f"passed       {files[0]}", 2)


@pytest.mark.parametrize("which, status", [((0, 0), 0), ((0, 2), 2), ((2, 1), 1)])
def test_what_could_not_be_checked_did_not_pass(which, status, files, called):
    chosen = [files[one] for one in which]
    assert called("check", "silu_forward", *chosen, "--in-process", "--backend", "torch").returncode == status


def test_the_results_as_data_and_for_a_ci_service(files, called, tmp_path):
    junit = tmp_path / "results.xml"
    done = called("check", "silu_forward", *files, "--in-process", "--backend", "torch", "--json", "--junit", junit)
    data = json.loads(done.stdout)
    assert data["exercise"] == "silu_forward"
    assert data["passed"] is False
    assert [one["passed"] for one in data["files"]] == [True, False, False]
    assert "problem" in data["files"][2]
    right, wrong, none = xml.parse(junit).getroot()
    assert right.get("failures") == right.get("errors") == "0"
    assert int(right.get("tests")) > 10
    assert int(wrong.get("failures")) > 5
    assert wrong.get("name") == files[1]
    assert "silu_forward" in none.find("testcase/error").get("message")


def test_one_file_has_a_results_file_too(files, called, tmp_path):
    done = called(
        "check", "silu_forward", files[0], "--in-process", "--backend", "torch", "--junit", tmp_path / "r.xml"
    )
    assert done.stdout.startswith("silu_forward (torch): passed")
    assert xml.parse(tmp_path / "r.xml").getroot()[0].get("failures") == "0"


@pytest.mark.parametrize(
    "more, says",
    [
        (["--jobs", "2"], "--jobs is for isolated answers"),
        (["--junit", "/proc/r.xml"], "the results cannot be written to /proc/r.xml"),
        (["nowhere.py"], "there is no file nowhere.py"),
    ],
)
def test_wrong_usage_names_the_remedy(more, says, files, called):
    done = called("check", "silu_forward", *files[:2], *more, "--in-process", "--backend", "torch")
    assert done.returncode == 2
    assert says in done.stderr


def test_jobs_are_a_number(files, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["check", "silu_forward", *files, "--jobs", "0"])
    assert ended.value.code == 2
    assert "'0' is not a number of workers, 1 or more" in capsys.readouterr().err


def test_a_record_is_kept_out_of_the_root(files, tmp_path, called):
    (tmp_path / "record.py").write_text("x = 1\n")
    done = called("check", "f", files[0], "--record", tmp_path / "record.py", "--root", tmp_path)
    assert done.returncode == 2
    assert "from where answers import: keep it elsewhere" in done.stderr


@pytest.mark.exhaustive
def test_several_workers_say_what_one_says(files, called):
    lines = [
        called("check", "silu_forward", *files, "--backend", "torch", *more).stdout for more in ([], ["--jobs", "2"])
    ]
    assert lines[0] == lines[1]
    assert lines[0].endswith("1 of 3 files passed.\n")


ODD = "red\x1b[31m\udce9.py"  # as Python names a file whose bytes are not UTF-8


def test_a_name_with_control_characters_is_spelled_out(tmp_path, called):
    odd, plain = str(tmp_path / ODD), str(tmp_path / "plain.py")
    for path in (odd, plain):
        Path(path).write_text(WRONG)
    junit = tmp_path / "results.xml"
    done = called("check", "silu_forward", odd, plain, "--in-process", "--backend", "torch", "--junit", junit)
    assert done.returncode == 1
    assert "\x1b" not in done.stdout + done.stderr
    assert done.stdout.count("red\\x1b[31m\\udce9.py") == 2, "a line and a row"
    suite, _ = xml.parse(junit).getroot()
    assert suite[0].get("classname") == "silu_forward.red\\x1b[31m\\udce9"
