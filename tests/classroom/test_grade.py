"""``graded-kernels grade``: which verdicts a class needs, who is told what, and that a run can end anywhere."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import nbformat
import pytest
from classroom import copied, hidden_case, place, right_answers, scores
from graded_kernels.autograder import cli
from graded_kernels.autograder.classroom import cluster
from graded_kernels.autograder.classroom import grade as grading
from graded_kernels.autograder.classroom.course import Course
from graded_kernels.autograder.classroom.nbgrader.other_files import digest
from graded_kernels.autograder.classroom.nbgrader.reader import Reader
from graded_kernels.autograder.classroom.nbgrader.regrade import Origin, mark
from graded_kernels.autograder.judge import Job, NoWorker, Store, Verdict
from graded_kernels.autograder.words import Exit
from tampered import FULL, NOTHING, TORCH, WITNESS, add, find


class Answers:
    """A stand-in for a cluster, without a process: what it makes is said by ``found``."""

    threads, dashboard = 1, None

    def __init__(self, found):
        self.found, self.asked, self.work = found, [], None

    def run(self, queue, work):
        self.work = work
        while queue:
            job = queue.popleft()
            self.asked.append(job)
            found = self.found(job)
            yield job, found and json.loads(found)

    @contextmanager
    def connect(self, level):
        yield self


REPORT = {"passed": True, "stopped_in": None, "cases": []}  # which says no more than that all is right


def right(job: Job, **more) -> str:
    return Verdict(job.key, job.name, **({"report": REPORT} | more)).to_json()


@pytest.fixture
def course(made_course, tmp_path):
    return copied(made_course, tmp_path)


@pytest.fixture
def graded(monkeypatch) -> list:
    """What nbgrader's autograde would have been asked for; it does not run."""
    asked: list = []

    def autograde(course, force):
        asked.append((list(course.run.students), force))
        return 0

    monkeypatch.setattr(Course, "autograde", autograde)
    return asked


def hand_in(course, student: str, change=None) -> None:
    notebook = right_answers(course)
    if change:
        change(notebook)
    place(course, student).write_text(json.dumps(notebook))


def comment(text: str):
    def change(notebook):
        find(notebook, TORCH)["source"] += f"\n# {text}"

    return change


def endless(notebook) -> None:
    add(notebook, TORCH, "while True: pass")


def test_what_a_class_shares_is_asked_for_once(course, graded, capsys):
    for student in ("a", "b"):
        hand_in(course, student)
    hand_in(course, "c", comment("mine"))
    place(course, "d").write_text("{")
    cluster = Answers(right)
    assert grading.grade("tiny", cluster.connect, course) == 0
    assert [job.name for job in cluster.asked] == [WITNESS, TORCH, TORCH]
    assert graded == [([], False)]
    output = capsys.readouterr().out
    assert "3 verdicts to make, on 1 process\n" in output
    assert "[3/3] c, tiny" in output
    assert "3 verdicts made." in output
    assert "the last one is left" in output
    assert "[1/3" in output
    again = Answers(pytest.fail)
    assert grading.grade("tiny", again.connect, course) == 0
    assert len(graded) == 2


def test_students_are_chosen_by_name(course, graded, capsys):
    for student in ("a", "b", "c+"):
        hand_in(course, student, comment(student))
    cluster = Answers(right)
    assert grading.grade("tiny", cluster.connect, course, ["b", "c+"], force=True) == 0
    assert len(cluster.asked) == 3
    assert graded == [(["b", "c+"], True)]
    assert grading.grade("tiny", cluster.connect, course, ["b", "z"]) == 2
    assert "there is no submission of z to tiny" in capsys.readouterr().err


def test_where_there_is_nothing_to_grade_it_says_so(course, tmp_path, capsys):
    assert cli.main(["grade", "tiny", "--course", str(course)]) == 2
    assert "No notebooks were matched" in capsys.readouterr().err
    assert cli.main(["grade", "tiny", "--course", str(tmp_path)]) == 2
    assert "is not a course root" in capsys.readouterr().err
    hand_in(course, "a")
    hidden_case(course, "silu_forward", "empty", []).write_text("CASES = [")
    assert cli.main(["grade", "tiny", "--course", str(course)]) == 2
    assert "hidden_cases: silu_forward.py, line 1: SyntaxError" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["grade", "tiny", "--workers", "0"])


def test_an_answer_behind_a_cell_that_does_not_end_is_asked_for_without_it(course, graded):
    def found(job):
        loops = any("while True" in cell.source for cell in job.answer.cells)
        stop = {"cell": job.answer.cells[2].name, "reason": "It does not end."} if loops else None
        return right(
            job, report=REPORT | {"passed": not loops, "stopped_in": stop}, doubt="time limit" if loops else ""
        )

    hand_in(course, "a", endless)
    cluster = Answers(found)
    assert grading.grade("tiny", cluster.connect, course) == 0
    assert [(job.name, len(job.answer.cells)) for job in cluster.asked] == [(WITNESS, 2), (TORCH, 4), (TORCH, 3)]


def test_a_cell_without_end_is_run_for_one_answer(course, graded, capsys):
    def found(job):  # all answers after it are asked for at once
        loops = any("while True" in cell.source for cell in job.answer.cells)
        stop = {"cell": job.answer.cells[1].name, "reason": "It does not end."} if loops else None
        return right(job, report={"stopped_in": stop})

    hand_in(course, "a", lambda notebook: add(notebook, WITNESS, "while True: pass"))
    cluster = Answers(found)
    assert grading.grade("tiny", cluster.connect, course) == 0
    assert [(job.name, len(job.answer.cells)) for job in cluster.asked] == [(WITNESS, 3), (WITNESS, 2), (TORCH, 3)]
    assert "[1/1] a, tiny" in (output := capsys.readouterr().out)
    assert "[2/1" not in output


def test_what_ended_three_workers_is_left_to_a_person(course, graded, capsys):
    hand_in(course, "a")
    cluster = Answers(lambda job: None if job.name == TORCH else right(job))
    assert grading.grade("tiny", cluster.connect, course) == 0
    assert "1 left to a person" in capsys.readouterr().out
    verdict = Store(course).get(cluster.asked[1])
    assert verdict.left == "its check ended 3 of the processes that check answers"
    assert not verdict.points().score


def test_a_crash_of_the_check_is_left_to_autograde(course, graded, capsys):
    hand_in(course, "a")
    cluster = Answers(
        lambda job: json.dumps({"failed": "ZeroDivisionError: planted"}) if job.name == TORCH else right(job)
    )
    assert grading.grade("tiny", cluster.connect, course) == 0
    assert len(graded) == 1
    assert "crashed (ZeroDivisionError: planted)" in capsys.readouterr().out
    assert Store(course).get(cluster.asked[1]) is None


@pytest.mark.parametrize(
    ("end", "status", "sentence"),
    [
        (NoWorker("no scheduler answers"), 1, "no scheduler answers"),
        (KeyboardInterrupt(), 130, "Stopped. Every verdict"),
        (OSError(28, "No space left on device"), 1, "No space left on device"),
    ],
)
def test_a_run_that_ends_early_keeps_what_it_has(course, graded, capsys, monkeypatch, end, status, sentence):
    def found(job):
        if job.name == WITNESS:
            return right(job)
        if callable(end):
            return end(job)
        if isinstance(end, OSError):
            monkeypatch.setattr(Store, "put", lambda *args: (_ for _ in ()).throw(end))
            return right(job)
        raise end

    hand_in(course, "a")
    with monkeypatch.context():
        assert grading.grade("tiny", Answers(found).connect, course) == status
        monkeypatch.undo()
    output = capsys.readouterr().out
    assert sentence in output
    assert "the same command goes on from here" in output
    assert graded == []
    again = Answers(right)
    monkeypatch.setattr(Course, "autograde", lambda *args: 0)
    assert grading.grade("tiny", again.connect, course) == 0
    assert [job.name for job in again.asked] == [TORCH]


def test_a_new_case_asks_for_the_verdicts_that_it_changes(course, graded, monkeypatch):
    """Of a notebook that was graded and did not change; those of its other exercises are there."""
    hand_in(course, "a")
    grading.grade("tiny", Answers(right).connect, course)
    nb = nbformat.read(place(course, "a"), as_version=4)
    known = Course(course, "tiny", [])
    mark(nb, Origin(digest(place(course, "a").parent, 50), known.run.standard("tiny")))
    del nb.metadata["graded_kernels"]["begun"]
    path = course / "autograded" / "a" / "tiny" / "tiny.ipynb"
    path.parent.mkdir(parents=True)
    nbformat.write(nb, path)
    assert list(known.run.outdated(force=False)) == []
    hidden_case(course, "silu_forward", "new", [0.0])
    cluster = Answers(right)
    assert grading.grade("tiny", cluster.connect, course) == 0
    assert [job.name for job in cluster.asked] == [TORCH]


@pytest.mark.exhaustive
@pytest.mark.parametrize("ended", [0, 2, 3])
def test_a_cluster_that_lost_a_worker_while_it_started_is_started_again(monkeypatch, ended):
    starts = []

    def start(**options):
        starts.append(options["n_workers"])
        if len(starts) <= ended:
            raise RuntimeError("Nanny failed to start.")
        return "a cluster"

    monkeypatch.setattr(cluster, "LocalCluster", start)
    if ended < cluster.STARTS:
        assert cluster._started(2) == "a cluster"
        assert starts == [2] * (ended + 1)
    else:
        with pytest.raises(RuntimeError, match="Nanny failed to start"):
            cluster._started(2)
        assert len(starts) == cluster.STARTS


@pytest.mark.exhaustive
def test_a_submission_is_read_once_for_the_cluster_and_the_gradebook(course, monkeypatch):
    """Graded is what was read: what is handed in meanwhile is graded by the next run."""
    reads, read = [], Reader.rebuilt
    monkeypatch.setattr(Reader, "rebuilt", lambda *given: reads.append(given[1].parent.parent.name) or read(*given))

    def found(job):
        hand_in(course, "a", lambda notebook: add(notebook, TORCH, "meanwhile = 1"))
        return cluster.work(job.to_json(), "")

    cluster = Answers(found)
    for student in "ab":
        hand_in(course, student)
    assert grading.grade("tiny", cluster.connect, course) == Exit.PASSED
    assert reads == ["a", "b"]
    assert scores(course, "a") == scores(course, "b") == FULL
    assert "meanwhile" not in (course / "autograded" / "a" / "tiny" / "tiny.ipynb").read_text()
    assert grading.grade("tiny", cluster.connect, course) == Exit.PASSED
    assert reads == ["a", "b", "a"]
    assert "meanwhile" in (course / "autograded" / "a" / "tiny" / "tiny.ipynb").read_text()


def test_a_worker_takes_text_and_gives_text(course, graded):
    hand_in(course, "a")
    cluster = Answers(right)
    grading.grade("tiny", cluster.connect, course)
    witness, torch = cluster.asked
    verdict = Verdict.from_json(cluster.work(torch.to_json(), ""))
    assert (verdict.key, verdict.points().score, verdict.report["passed"]) == (torch.key, 1.0, True)
    other = torch.to_json().replace(torch.key, witness.key)
    assert "other versions" in json.loads(cluster.work(other, ""))["unfit"]


@pytest.mark.exhaustive
def test_ctrl_c_ends_a_run_in_one_sentence(course):
    """Pressed twice, in a terminal, where all processes of the run get it."""
    for number in range(5):
        hand_in(course, str(number), comment(str(number)))
    command = [sys.executable, "-m", "graded_kernels.autograder", "grade", "tiny", "--course", str(course)]
    with subprocess.Popen(
        [*command, "--workers", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as run:
        output = ""
        for line in run.stdout:
            output += line
            if line.startswith("["):
                os.killpg(run.pid, signal.SIGINT)
                break
        with contextlib.suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGINT)
        output += run.stdout.read()
    assert run.returncode == 130
    assert output.endswith("the same command goes on from here.\n")
    assert "Traceback" not in output
    assert list(Store(course))


@pytest.mark.exhaustive
def test_on_a_cluster_of_this_machine(course, capfd):
    """Two processes; nbgrader finds what they made."""
    for student in ("a b", "b", "other"):
        hand_in(course, student, comment(student))
    place(course, "stub").write_text((course / "release" / "tiny" / "tiny.ipynb").read_text())
    students = ["--students", "a b,b,stub"]
    assert cli.main(["grade", "tiny", "--course", str(course), "--workers", "2", *students]) == 0
    output = "".join(capfd.readouterr())
    assert "5 verdicts to make, on 2 processes" in output
    assert "dashboard: http://127.0.0.1:" in output
    assert "[3/3] stub, tiny: 0 of 4 points" in output
    assert "2 of 2 verdicts were there" in output
    assert scores(course, "a b") == scores(course, "b") == FULL
    assert scores(course, "stub") == NOTHING
    assert not (course / "autograded" / "other").exists()
    assert len({entry["where"] for entry in Store(course).made()}) == 2
