"""One run of ``nbgrader autograde`` over all attacks with honest students between them, and what it left behind."""

import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from attacks.scene import ROOT, Scene
from attacks.table import USER, user_command
from classroom import place, right_answers
from graded_kernels.autograder.classroom.nbgrader.class_seed import class_seed
from graded_kernels.autograder.classroom.nbgrader.lock import FILE as LOCK
from graded_kernels.autograder.judge import Store
from graded_kernels.autograder.judge.verdicts.store import FOLDER, LOG, stored
from graded_kernels.autograder.judge.verdicts.verdict import Damaged
from graded_kernels.autograder.runner import close_to_others
from tampered import BOTH

from .attack import RIGHT, Attack

EVERY = 12  # attacks between two honest students
LARGEST = 3_000_000  # bytes of a graded notebook
SETTINGS = """
c.Grade.isolation = {level!r}
c.Grade.allow_weak_sandbox = {weak}
c.Grade.seconds = 4
c.Grade.total_seconds = 30
c.Grade.wall_factor = 15  # a machine that runs much else gives little of a processor
c.Grade.memory_megabytes = 512
"""
GROWING = {"student", "submitted_assignment", "submitted_notebook", "grade", "comment"}
_SCORES = """
select submitted_assignment.student_id, base_cell.name, auto_score, manual_score, extra_credit from grade
join submitted_notebook on grade.notebook_id = submitted_notebook.id
join submitted_assignment on submitted_notebook.assignment_id = submitted_assignment.id
join base_cell on grade.cell_id = base_cell.id
"""
WRITTEN = ("gradebook.db", LOCK)  # by every run


class Batch:
    """A course root of its own in ``folder``, a copy of ``made``, in which everything is handed in and graded once.
    The attacks are on one chapter.
    """

    def __init__(self, made: Path, folder: Path, attacks: list[Attack], level: str, as_user: bool = False):
        self.course, self.attacks, self.as_user = folder / "course", attacks, as_user
        [self.chapter] = {attack.chapter for attack in attacks} or {"tiny"}
        shutil.copytree(made, self.course, symlinks=True)
        with (self.course / "nbgrader_config.py").open("a") as file:
            file.write(SETTINGS.format(level=level, weak=level == "weak"))
        with Scene() as self.scene:
            self.students = self._hand_in()
            class_seed(self.course, self.chapter)  # its secret is there since the first run of the term,
            close_to_others(self.course)  # and so are the modes of its folders
            if as_user:
                give_away(folder)
            gone_before, files = set(children()), self._files()
            tables = self._tables()
            self.code, self.log = self.nbgrader("autograde", self.chapter)
            self.left = left_processes(gone_before)
            self.harm = self.scene.harm("")
        self.changed = sorted({path for path, _ in files ^ self._files()})
        if tables != self._tables():
            self.changed.append("the gradebook's record of the assignment")
        self.scores, self.set_by_hand = self._scores()

    def nbgrader(self, *command: str, seconds: float = 7200) -> tuple[int, str]:
        """The exit status of the command, and what it said. It is ended after ``seconds``, which counts as failed."""
        start, who = [sys.executable, "-m", "nbgrader"], {}
        path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
        environment = {**os.environ, "HOME": str(self.course.parent), "PATH": path}
        if self.as_user:
            start, who = as_user(), {"user": USER, "group": USER, "extra_groups": []}
        with tempfile.TemporaryFile() as log:  # not a pipe: a process that is left would keep it open
            ran = subprocess.run(
                [*start, *command],
                cwd=self.course,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                timeout=seconds,
                **who,
            )
            log.seek(0)
            return ran.returncode, log.read().decode(errors="replace")

    def wrong(self, attack: Attack) -> list[str]:
        """What is not as it should be with one attack."""
        student = self.students[attack.name]
        scores, path = self.scores.get(student), self.graded(student)
        found = [] if scores == attack.expect else [f"{_short(attack.expect)} expected"]
        if not path.exists():
            return found + ["no graded notebook"]
        shown = _shown(path)
        if attack.says not in " ".join(shown.split()):
            found.append(f"it does not say {attack.says!r}")
        if "ESCAPED" in shown or self.scene.token in shown:
            found.append("it got something: " + shown[shown.find("ESCAPED") :][:200])
        if path.stat().st_size > LARGEST:
            found.append(f"the graded notebook is {path.stat().st_size:,} bytes large")
        return found

    def wrong_afterwards(self) -> list[str]:
        """What is not as it should be with everybody else."""
        found = [f"{path} changed" for path in self.changed] + self.left + self.harm
        if self.code:
            found.append(f"exit status {self.code}: {self.log[-300:]}")
        honest = [student for student in os.listdir(self.course / "submitted") if student.endswith("_honest")]
        found += [
            f"{student} got {self.scores.get(student)}"
            for student in honest
            if self.scores.get(student) != RIGHT[self.chapter]
        ]
        if len({self._unsigned(student) for student in honest if self.graded(student).exists()}) != 1:
            found.append("honest notebooks were graded in different ways")
        if strangers := set(self.scores) - set(honest) - set(self.students.values()):
            found.append(f"there are grades of {sorted(strangers)}")
        found += [f"{student} has points that nobody gave" for student in self.set_by_hand]
        return found + self._strange_verdicts()

    def _strange_verdicts(self) -> list[str]:
        """What lies in the store and was not put there by the grader, or not as it is now."""
        log: list[str] = []
        store = Store(self.course, log.append)
        made = {entry["key"] for entry in store.made()}
        files = {path for path in store.folder.rglob("*") if path.is_file() or path.is_symlink()}
        strange = files - {store.folder / LOG} - {path for path in store if path.stem in made and not path.is_symlink()}
        log += [f"{path.relative_to(self.course)} is no verdict of the grader's" for path in sorted(strange)]
        for path in store:
            try:
                stored(path)
            except Damaged as error:
                log.append(f"{path.relative_to(self.course)} is damaged: {error}")
        return log

    def _unsigned(self, student: str) -> str:
        """The graded notebook without what tells honest students apart (`_signed`)."""
        text = self.graded(student).read_text(encoding="utf-8").replace(student, "")
        return re.sub(r"\b[0-9a-f]{64}\b", "", text)  # the keys of verdicts

    def graded(self, student: str) -> Path:
        return self.course / "autograded" / student / self.chapter / f"{self.chapter}.ipynb"

    def outcome(self, attack: Attack) -> str:
        return _short(self.scores.get(self.students[attack.name]))

    def message(self, attack: Attack) -> str:
        """What the graded notebook says on the submission, else the sentence that is expected of it."""
        path = self.graded(self.students[attack.name])
        first = nbformat.read(path, as_version=4).cells[0] if path.exists() else None
        notes = first.source.split("\n- ", 1)[-1] if first and first.id == "about-this-submission" else attack.says
        return " ".join(notes.split())[:90]

    def _hand_in(self) -> dict[str, str]:
        """Everything in ``submitted``; the student's name by attack. An honest student comes last."""
        right, students = right_answers(self.course, self.chapter), {}
        honest = [f"{number:03}_honest" for number in range(0, len(self.attacks), EVERY)] + ["999_honest"]
        for student in honest:
            place(self.course, student, self.chapter).write_text(json.dumps(_signed(right, student)))
        for number, attack in enumerate(self.attacks):
            student = students[attack.name] = f"{number:03}_{attack.name}"
            notebook, nb = place(self.course, student, self.chapter), json.loads(json.dumps(right))
            content = None if attack.other_files else attack.act(nb)
            content = json.dumps(nb).encode() if content is None else content
            for word, target in {"@COURSE@": self.course, "@PORT@": self.scene.port, "@MARK@": self.scene.mark}.items():
                content = content.replace(word.encode(), str(target).encode())
            notebook.write_bytes(content)
        for attack in self.attacks:
            if attack.other_files:
                attack.act(place(self.course, students[attack.name], self.chapter))
        return students

    def _files(self) -> set[tuple]:
        """Every file outside of what nbgrader and the grader write."""
        found = set()
        for folder, folders, files in os.walk(self.course):
            if Path(folder) == self.course:
                folders[:] = [name for name in folders if name not in ("autograded", FOLDER)]
            for path in (Path(folder, name) for name in folders + files if name not in WRITTEN):
                facts = path.lstat()
                small = path.is_file() and not path.is_symlink() and facts.st_size < 1_000_000
                content = hashlib.sha256(path.read_bytes()).hexdigest() if small else os.path.islink(path)
                found.add((str(path.relative_to(self.course)), (facts.st_mode, facts.st_size, facts.st_mtime, content)))
        return found

    def _query(self, query: str) -> list[tuple]:
        with contextlib.closing(sqlite3.connect(f"file:{self.course}/gradebook.db?mode=ro", uri=True)) as book:
            return book.execute(query).fetchall()

    def _tables(self) -> list:
        """The gradebook, less what a submission adds to it."""
        names = {name for (name,) in self._query("select name from sqlite_master where type = 'table'")} - GROWING
        return [(name, sorted(map(repr, self._query(f"select * from {name}")))) for name in sorted(names)]

    def _scores(self) -> tuple[dict[str, dict], list[str]]:
        scores, by_hand = {}, []
        for student, cell, auto, manual, extra in self._query(_SCORES):
            scores.setdefault(student, {})[cell.removesuffix("-check")] = auto
            if manual is not None or extra is not None:
                by_hand.append(student)
        return scores, by_hand


def _signed(notebook: dict, student: str) -> dict:
    """With a comment in every cell of code that a learner writes: the verdicts on another's answers are not used."""
    nb = json.loads(json.dumps(notebook))
    for cell in nb["cells"]:
        if cell["cell_type"] == "code" and cell["metadata"].get("nbgrader", {}).get("solution"):
            cell["source"] = f"{''.join(cell['source'])}\n# {student}"
    return nb


def as_user() -> list[str]:
    """How an unprivileged user starts nbgrader. Raises RuntimeError with the reason where nobody else can."""
    found = user_command([])
    if isinstance(found, str):
        raise RuntimeError(found)
    libraries = str(Path(nbformat.__file__).parents[1])
    paths = os.pathsep.join((str(Path(sys.prefix) / "types"), libraries))  # of the process that reads submissions
    start = (
        f"import os, sys, types; os.environ['PYTHONPATH'] = {paths!r};"
        "package = sys.modules['graded_kernels'] = types.ModuleType('graded_kernels');"
        f"package.__path__ = [{str(ROOT)!r}]; sys.path.append({libraries!r});"
        "from nbgrader.apps.nbgraderapp import main; sys.argv[0] = 'nbgrader'; main()"
    )
    return [found[0], "-B", "-c", start]


def give_away(folder: Path) -> None:
    folder.chmod(0o755)
    for where, folders, files in os.walk(folder):
        for name in [where, *(os.path.join(where, name) for name in folders + files)]:
            os.chown(name, USER, USER, follow_symlinks=False)


def _shown(path: Path) -> str:
    """All text of outputs and notes; what the learner wrote is left out."""
    cells = nbformat.read(path, as_version=4).cells
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    texts = [output.get("text") or output.data["text/plain"] for output in outputs]
    return "\n".join([cell.source for cell in cells if cell.id == "about-this-submission"] + texts)


def _short(scores: dict | None) -> str:
    """Points by answer, in the order of the notebook; ``-`` where a person gives them."""
    if scores is None:
        return "no record"
    order = [name for name in BOTH | scores if name in scores]
    return " ".join("-" if scores[name] is None else f"{scores[name]:g}" for name in order)


def children() -> list[int]:
    return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


def left_processes(before: set[int]) -> list[str]:
    """Processes of the run that are still there: this process inherits them. They are ended."""
    found, until = [], time.monotonic() + 30
    while (left := [pid for pid in set(children()) - before if _command(pid)]) and time.monotonic() < until:
        time.sleep(0.05)
    for pid in left:
        found.append(f"process {pid} is left: {_command(pid)[:80]}")
        os.kill(pid, signal.SIGKILL)
    return found


def _command(pid: int) -> str:
    """Its command line; "" where it has ended and waits to be noticed."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
