"""The gradebook in PostgreSQL: the same table of grades as SQLite's, and two graders at once.

Needs PostgreSQL's server programs and psycopg; says so where one is missing. The server is of this test alone, on a
socket in a folder of its own, and runs as an account without rights.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import classroom
import grade_demo
import pytest
from tampered import TORCH, WORDS, find

pytestmark = pytest.mark.release
psycopg = pytest.importorskip("psycopg", reason="not run: needs psycopg (pip install -e .[postgresql])")
SERVERS = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
ACCOUNT = "nobody"  # PostgreSQL refuses to run as root


def command(name: str, *options: str) -> list[str]:
    """One of the server's programs, as an account without rights where this process has them all."""
    first = ["setpriv", f"--reuid={ACCOUNT}", "--regid=nogroup", "--clear-groups"] if os.geteuid() == 0 else []
    return [*first, str(SERVERS[-1].with_name(name)), *options]


@pytest.fixture(scope="module")
def server() -> Iterator[Path]:
    """The folder of the socket of a running server."""
    if not SERVERS:
        pytest.skip("not run: needs PostgreSQL, install with apt-get install postgresql")
    with running() as folder:
        yield folder


@contextlib.contextmanager
def running() -> Iterator[Path]:
    """A server, for a while; the folder of its socket."""
    folder = Path(tempfile.mkdtemp(prefix="gk-pg-"))  # a path of a socket is short
    if os.geteuid() == 0:
        shutil.chown(folder, ACCOUNT, "nogroup")
    data, log = folder / "data", str(folder / "log")
    run = lambda *line: subprocess.run(line, check=True, cwd=folder, stdout=subprocess.DEVNULL)  # noqa: E731
    try:
        run(*command("initdb", "-D", str(data), "-U", "teacher", "-A", "trust", "-E", "UTF8", "--no-sync"))
        options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
        run(*command("pg_ctl", "-D", str(data), "-l", log, "-w", "-o", options, "start"))
        try:
            yield folder
        finally:
            run(*command("pg_ctl", "-D", str(data), "-w", "-m", "immediate", "stop"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def database(server: Path, name: str) -> str:
    """A new one; its address, as ``c.CourseDirectory.db_url`` has it."""
    with psycopg.connect(host=str(server), user="teacher", dbname="postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return f"postgresql+psycopg://teacher@/{name}?host={server}"


def make_class(root: Path) -> None:
    """Right, wrong, untouched, unreadable, and with a written answer that waits."""
    wrong = classroom.right_answers(root)
    find(wrong, TORCH)["source"] = "def silu_forward(x):\n    return x * 0.5"
    silent = classroom.right_answers(root)
    find(silent, WORDS)["source"] = ""
    notebooks = {"Zoë O'Neill": classroom.right_answers(root), "wrong": wrong, "silent": silent}
    for student, notebook in notebooks.items():
        classroom.place(root, student).write_text(json.dumps(notebook))
    shutil.copy(root / "release" / "tiny" / "tiny.ipynb", classroom.place(root, "untouched"))
    classroom.place(root, "unreadable").write_text("{")
    (root / "class_secret").write_text("7" * 64 + "\n")


def in_database(root: Path, url: str) -> Path:
    """The course with its gradebook at ``url``."""
    config = root / "nbgrader_config.py"
    config.write_text(config.read_text() + f"\nc.CourseDirectory.db_url = {url!r}\n")
    (root / "gradebook.db").unlink(missing_ok=True)
    grade_demo.nbgrader(root, "generate_assignment", "tiny", "--force")
    return root


def exported(root: Path) -> bytes:
    grade_demo.nbgrader(root, "export", "--to=grades.csv")
    return (root / "grades.csv").read_bytes()


@pytest.fixture(scope="module")
def lite(made_course, tmp_path_factory) -> Path:
    """The class in SQLite, graded."""
    root = classroom.copied(made_course, tmp_path_factory.mktemp("lite"))
    make_class(root)
    (root / "gradebook.db").unlink()
    grade_demo.nbgrader(root, "generate_assignment", "tiny", "--force")
    grade_demo.nbgrader(root, "autograde", "tiny")
    return root


def test_grades_are_those_of_sqlite_byte_for_byte(made_course, tmp_path, server, lite):
    root = classroom.copied(made_course, tmp_path)
    make_class(root)
    in_database(root, database(server, "one"))
    output = grade_demo.nbgrader(root, "autograde", "tiny")
    assert "Summary: 4 graded, 1 for a person" in output
    assert not (root / "gradebook.db").exists()
    assert exported(root) == exported(lite)
    assert exported(root).count(b"\n") == 6
    output = grade_demo.nbgrader(root, "autograde", "tiny")
    assert "5 skipped, unchanged" in output


def test_two_graders_at_once(made_course, tmp_path, server, lite):
    """Each with a copy of the course, one database, and half of the class."""
    url, roots = database(server, "two"), []
    for number in range(2):
        root = classroom.copied(made_course, tmp_path / str(number))
        make_class(root)
        roots.append(in_database(root, url))
    halves = ["Zoë O'Neill", "silent"], ["wrong", "untouched", "unreadable"]
    with contextlib.ExitStack() as stack:
        graders = []
        for root, half in zip(roots, halves, strict=True):
            chosen = [f"--Autograde.students={student}" for student in half]
            line = [sys.executable, "-m", "nbgrader", "autograde", "tiny", *chosen]
            environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
            log = stack.enter_context(open(root / "log", "w"))
            graders.append(stack.enter_context(subprocess.Popen(line, cwd=root, env=environment, stderr=log)))
        assert [grader.wait() for grader in graders] == [0, 0], [(root / "log").read_text() for root in roots]
    shutil.copytree(roots[1] / "autograded", roots[0] / "autograded", dirs_exist_ok=True)
    assert exported(roots[0]) == exported(lite)
