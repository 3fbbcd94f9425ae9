"""``compare --table``: jobs in, verdicts out, continued where it stopped; no job stops the others."""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from unittest.mock import Mock

import pytest
from compared import FEW
from graded_kernels.autograder.judge.commands import table_command
from graded_kernels.autograder.judge.side_by_side import table_task
from graded_kernels.autograder.judge.side_by_side.process import TableProcess
from graded_kernels.autograder.judge.side_by_side.table_job import ComparisonJob, read
from graded_kernels.autograder.judge.side_by_side.table_line import about, without_report
from graded_kernels.autograder.judge.verdicts.job import UNFIT
from graded_kernels.autograder.words import UsageError

REFERENCE = """
import torch

def softmax(x):
    return torch.softmax(x, -1)

def arguments(seed):
    return (torch.randn(4, 9),)
"""
NAIVE = {"source": "def f(x):\n    e = x.exp()\n    return e / e.sum(-1, keepdim=True)\n", "name": "f"}
JOB = {"reference": {"source": REFERENCE, "name": "softmax"}, "candidate": NAIVE, "arguments": "arguments"}
CAREFUL = """
def f(x):
    e = (x.float() - x.float().amax(-1, keepdim=True)).exp()
    return (e / e.sum(-1, keepdim=True)).to(x.dtype)
"""
LOOPS = {"source": "def f(x):\n    while True: pass\n", "name": "f"}
ENDS = {"source": "import os\ndef f(x):\n    os._exit(3)\n", "name": "f"}


def written(path, *jobs):
    path.write_text("".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in jobs))
    return str(path)


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "line 2: this is not JSON"),
        ("[]", "line 2: a job is an object"),
        ('{"reference": "a.py"}', "line 2: candidate is missing"),
        ('{"reference": "a.py", "candidate": "b.py", "score": 1}', "no field 'score'"),
        ('{"reference": "a.py", "candidate": "b.py:f"}', "different forms"),
        ('{"reference": "a.py:f", "candidate": "b.py:f"}', "give arguments, or like"),
        ('{"reference": "a.py", "candidate": "b.py", "like": "silu"}', "those of get_inputs"),
        ('{"reference": "a", "candidate": "b.py"}', "should be FILE.py, FILE.py:NAME"),
        ('{"reference": "a.py", "candidate": {"name": "f"}}', "candidate as an object has its text"),
        ('{"reference": "a.py", "candidate": "b.py", "seed": "0"}', "seed should be an integer"),
        ('{"reference": "a.py", "candidate": "b.py", "options": {"wthout": []}}', "no option 'wthout'"),
        ('{"reference": "a.py", "candidate": "b.py", "options": {"only": ["fast"]}}', "'fast' cannot be required"),
        ('{"reference": "a.py", "candidate": "b.py", "options": {"compiler": 1}}', "should be true or false"),
        ('{"id": 1, "reference": "a.py", "candidate": "b.py"}', "another line has the id 1"),
    ],
)
def test_a_bad_line_is_named_before_anything_runs(tmp_path, line, says):
    table = written(tmp_path / "jobs.jsonl", {"reference": "a.py", "candidate": "b.py"}, line + "\n")
    with pytest.raises(UsageError, match=says) as raised:
        read(table, isolated=False)
    assert "\n" not in str(raised.value) and "line 2" in str(raised.value)


def test_a_table_that_is_not_there_or_empty(tmp_path):
    with pytest.raises(UsageError, match="there is no such file"):
        read(str(tmp_path / "none.jsonl"), isolated=False)
    with pytest.raises(UsageError, match="has no line"):
        read(written(tmp_path / "jobs.jsonl", "\n"), isolated=False)


def test_the_key_is_all_that_decides(tmp_path):
    other = JOB | {"candidate": NAIVE | {"source": NAIVE["source"] + "\n"}}
    one, two, three, four = read(
        written(tmp_path / "jobs.jsonl", JOB | {"id": "a"}, JOB | {"id": "b"}, JOB | {"seed": 1}, other), isolated=False
    )
    assert one.key == two.key and len({one.key, three.key, four.key}) == 3
    assert one.key != read(str(tmp_path / "jobs.jsonl"), isolated=True)[0].key
    assert ComparisonJob.from_json(one.to_json()) == one


class Made:
    """In place of the processes: a verdict on each job at once."""

    def __init__(self, statuses=("judged",)):
        self.asked, self.statuses = [], statuses

    def __call__(self, jobs, options):
        while jobs:
            job = jobs.popleft()
            self.asked.append(job.id)
            status = self.statuses[len(self.asked) % len(self.statuses)]
            yield job, about(job) | without_report(status, "") | {"final": status == "judged"}


def run(path, output, **options):
    given = {"isolated": False, "scheduler": None, "jobs": 1, "seconds": 60.0}
    return table_command.main(argparse.Namespace(table=path, output=output and str(output), **given | options))


def test_a_run_makes_what_is_missing(tmp_path, monkeypatch):
    """What is final is not made again, what was cut off in the middle of a line and what timed out is."""
    jobs, output = written(tmp_path / "jobs.jsonl", *(JOB | {"id": n} for n in range(4))), tmp_path / "verdicts.jsonl"
    made = Made(("timeout", "judged"))
    monkeypatch.setattr(table_command, "_made", made)
    assert run(jobs, output) == 1 and made.asked == [0, 1, 2, 3]
    whole = output.read_text()
    output.write_text(whole + whole.splitlines()[1][:50])
    again = Made()
    monkeypatch.setattr(table_command, "_made", again)
    assert run(jobs, output) == 0 and again.asked == [1, 3]
    assert output.read_text().startswith(whole) and len(lines(output)) == 6
    assert run(jobs, output) == 0 and again.asked == [1, 3]
    written(tmp_path / "jobs.jsonl", JOB | {"id": 0, "seed": 5})
    assert run(jobs, output) == 0 and again.asked == [1, 3, 0]


def test_a_full_disk_ends_a_run_in_a_sentence_and_the_next_one_goes_on(tmp_path, monkeypatch, capsys):
    jobs, output = written(tmp_path / "jobs.jsonl", *(JOB | {"id": n} for n in range(3))), tmp_path / "verdicts.jsonl"
    made = Made()
    monkeypatch.setattr(table_command, "_made", made)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, before[1]))  # room for one verdict and a part of the next
    try:
        assert run(jobs, output) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    said = capsys.readouterr().err
    assert "Stopped: " in said and "the same command goes on from here" in said and "Traceback" not in said
    assert run(jobs, output) == 0 and made.asked == [0, 1, 1, 2] and len(lines(output)) == 3


@pytest.mark.parametrize("text", ["my notes\n", "my notes", "{"])
def test_a_file_of_something_else_is_left_alone(tmp_path, monkeypatch, text):
    """Also one whose only line has no end; what may be the beginning of a verdict is cut off."""
    jobs, other = written(tmp_path / "jobs.jsonl", JOB), tmp_path / "notes.txt"
    other.write_text(text)
    if text == "{":
        monkeypatch.setattr(table_command, "_made", Made())
        assert run(jobs, other) == 0 and len(lines(other)) == 1
        return
    with pytest.raises(UsageError, match="line 1 of .*notes.txt is not a verdict of compare"):
        run(jobs, other)
    assert other.read_text() == text


def test_the_name_of_a_job_does_nothing_to_a_terminal(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(table_command, "EVERY", 0)
    (job,) = read(written(tmp_path / "jobs.jsonl", JOB | {"id": "\x1b[2J\rdone"}), False)
    table_command.TableProgress(1, 0).made(job, {"status": "judged"})
    assert "\x1b" not in (said := capsys.readouterr().err) and "done" in said


def test_a_worker_with_other_versions_makes_no_verdict(tmp_path, monkeypatch):
    """Its verdict would bear the key of this machine's."""
    (job,) = read(written(tmp_path / "jobs.jsonl", JOB), False)
    monkeypatch.setattr(table_task, "_process", lambda thread: Mock(verdict=lambda job: about(job)))
    assert json.loads(table_task.made(job.to_json(), "", 1.0)) == about(job)
    asked = job.to_json()
    monkeypatch.setattr(ComparisonJob, "versions", staticmethod(lambda: {"torch": "2.0"}))
    said = json.loads(table_task.made(asked, "", 1.0))[UNFIT]
    assert "has other versions than the machine that asks: torch 2.0" in said


@pytest.mark.exhaustive
def test_a_process_is_ended_by_its_time_and_the_next_job_gets_another(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    late, ends, next_one = read(
        written(
            tmp_path / "jobs.jsonl",
            JOB | {"candidate": LOOPS},
            JOB | {"candidate": ENDS},
            JOB | {"reference": "none.py:f"},
        ),
        False,
    )
    with TableProcess(6.0) as process:
        verdict = process.verdict(late)
        assert verdict["status"] == "timeout" and verdict["score"] is None and not verdict["final"]
        assert "6 s of processor time" in verdict["message"]
        verdict = process.verdict(ends)
        assert verdict["status"] == "crashed" and not verdict["final"]
        assert process.verdict(next_one)["message"].startswith("none.py cannot be read")
    assert not [*(tmp_path / "temporary").iterdir()]


def command(*arguments, **options):
    return [sys.executable, "-m", "graded_kernels.autograder", "compare", *map(str, arguments)]


@pytest.mark.exhaustive
def test_a_cluster_keeps_the_limit_of_the_command(tmp_path):
    """In a worker of two threads, each with a process of its own."""
    distributed = pytest.importorskip("distributed")
    table, output = (
        written(tmp_path / "jobs.jsonl", JOB | {"candidate": LOOPS}, JOB | {"candidate": LOOPS}, JOB),
        tmp_path / "v",
    )
    with distributed.LocalCluster(1, threads_per_worker=2, processes=False, dashboard_address=None) as cluster:
        assert run(table, output, scheduler=cluster.scheduler_address, seconds=15.0) == 1
    found = {verdict["id"]: verdict for verdict in lines(output)}
    assert [found[n]["status"] for n in (1, 2, 3)] == ["timeout", "timeout", "judged"]
    assert all("15 s of processor time" in found[n]["message"] for n in (1, 2))


@pytest.mark.exhaustive
def test_a_table_from_the_shell(tmp_path):
    """Of each kind of job one, in files of one name in two folders and as text."""
    for folder, text in (("a", NAIVE["source"]), ("b", CAREFUL)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text(text)
        (tmp_path / folder / "reference.py").write_text(REFERENCE)
    jobs = [
        {
            "id": one,
            "reference": f"{one}/reference.py:softmax",
            "candidate": f"{one}/mine.py:f",
            "arguments": "arguments",
        }
        for one in "ab"
    ]
    jobs += [JOB | {"id": "text"}, JOB | {"id": "ends", "candidate": ENDS}]
    jobs += [
        JOB
        | {
            "id": "raises",
            "reference": {"source": "def softmax(x):\n    raise OSError\n", "name": "softmax"},
            "arguments": {"source": REFERENCE, "name": "arguments"},
        }
    ]
    few = {"options": {"without": list(FEW), "forward_only": True, "compiler": False}}
    written(tmp_path / "jobs.jsonl", *(job | few for job in jobs))
    for more in ([], ["--isolated"]):
        ran = subprocess.run(
            command("--table", "jobs.jsonl", "--jobs", 2, *more), cwd=tmp_path, capture_output=True, text=True
        )
        found = {verdict["id"]: verdict for verdict in map(json.loads, ran.stdout.splitlines())}
        assert len(found) == 5, ran.stderr
        assert found["a"]["correct"] is False and found["b"]["correct"] is True
        assert found["a"]["score"] == found["text"]["score"] and 0.5 < found["a"]["score"] < 1 == found["b"]["score"]
        causes = [(cause["message"], cause["families"]) for cause in found["a"]["causes"]]
        assert causes == [(cause["message"], cause["families"]) for cause in found["text"]["causes"]]
        for one in ("a", "text"):
            lines = next(cause for cause in found[one]["causes"] if cause["worst"])["repeat"]
            again = subprocess.run([sys.executable, "-c", lines], cwd=tmp_path, capture_output=True, text=True)
            assert again.stdout.count("tensor(") == 2, lines + again.stderr
        assert found["raises"]["status"] == "job" and "the reference raises" in found["raises"]["message"]
        assert found["raises"]["score"] is None
        assert found["ends"]["status"] == ("judged" if more else "crashed")
        assert ran.returncode == (0 if more else 1), ran.stderr
        assert "5 verdicts made" in ran.stderr


@pytest.mark.exhaustive
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_keeps_what_was_made(tmp_path, sent):
    """And leaves no temporary file."""
    slow = {"source": "import time\ndef f(x):\n    time.sleep(60)\n    return x\n", "name": "f"}
    written(tmp_path / "jobs.jsonl", JOB | {"id": "first"}, JOB | {"id": "slow", "candidate": slow})
    output, temporary = tmp_path / "verdicts.jsonl", tmp_path / "temporary"
    temporary.mkdir()
    running = subprocess.Popen(
        command("--table", "jobs.jsonl", "--jobs", 1, "--output", output),
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(temporary)},
    )
    until = time.monotonic() + 120
    while time.monotonic() < until and not (output.exists() and output.read_text()):
        time.sleep(0.2)
    os.kill(running.pid, sent)
    assert running.wait(60) == 130
    assert "the same command goes on from here" in running.stderr.read()
    assert [verdict["id"] for verdict in lines(output)] == ["first"]
    assert not [*temporary.iterdir()]
