"""The layers of the sandbox: that one that stops nothing is noticed, and that what is hidden stays hidden."""

import os
import socket
import sys
from pathlib import Path

import pytest
from graded_kernels.autograder.runner import sandbox
from graded_kernels.autograder.runner.sandbox import paths
from graded_kernels.autograder.runner.sandbox.worker import escape_attempts


def test_an_attempt_that_nothing_stops_is_noticed(tmp_path):
    canary = tmp_path / "canary"
    canary.write_text("x")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        through = escape_attempts._got_through(
            read=canary, write=canary, connect=port, signal=os.getpid(), fork=True, look=canary
        )
    assert through == (
        "a file outside was read; a file outside was written; a connection was made; a process outside was reached; "
        "a process was started; a file outside was opened with O_PATH; a folder outside was watched"
    )


def test_an_unknown_rung_is_refused():
    with pytest.raises(ValueError, match="'iron' is not a level of isolation; there are weak, good, strong"):
        sandbox.require("iron")


def test_what_is_hidden_lies_beneath_no_readable_path(tmp_path):
    for name in ("lib/torch/a.py", "lib/course/autograder/exercises/b.py", "lib/course/solutions/c.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    lib = f"{tmp_path}/lib"
    hidden = (f"{lib}/course/solutions", f"{lib}/course/autograder/exercises")
    readable, listable = paths.FileView((lib,), hidden).rules()
    assert f"{lib}/torch" in readable
    assert not any(h.startswith(r + "/") or h == r for h in hidden for r in readable)
    assert set(listable) == {lib, f"{lib}/course", f"{lib}/course/autograder"}


def test_an_installed_course_shows_no_more_than_the_rooms(tmp_path, monkeypatch):
    package = tmp_path / "site-packages/graded_kernels"
    hidden = (
        "autograder/exercises",
        "autograder/gpu/sanitize",
        "autograder/judge",
        "autograder/runner/sandbox/more",
        "solutions",
        "kernels",
    )
    for folder in (*hidden, *(f"autograder/{room}" for room in paths.ROOMS)):
        (package / folder).mkdir(parents=True)
    monkeypatch.setattr(paths, "PACKAGE", package)
    monkeypatch.setattr(paths, "GRADER", package / "autograder")
    monkeypatch.setattr(paths, "site_folders", lambda: [str(tmp_path / "site-packages")])
    readable, _ = paths.view().rules()
    inside = {Path(p).relative_to(package).as_posix() for p in readable if p.startswith(str(package))}
    assert inside == {f"autograder/{room}" for room in paths.ROOMS}


def test_a_worker_imports_the_library_that_this_process_imports(tmp_path, monkeypatch):
    """Another Triton before the environment's own, as PYTHONPATH puts it, is the one whose compiler is asked."""
    (tmp_path / "triton").mkdir()
    (tmp_path / "triton/__init__.py").touch()
    before = paths.site_folders()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "triton", raising=False)
    assert paths.site_folders() == [str(tmp_path), *before]


def test_answers_do_not_see_a_package_that_offers_exercises(tmp_path, monkeypatch):
    (tmp_path / "my_ops").mkdir()
    (tmp_path / "my_ops/__init__.py").write_text("")
    (tmp_path / "my_ops-1.0.dist-info").mkdir()
    (tmp_path / "my_ops-1.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: my-ops\nVersion: 1.0\n")
    points = "[graded_kernels.exercises]\nmy_ops = my_ops.records\n"
    (tmp_path / "my_ops-1.0.dist-info/entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = paths.site_folders()
    monkeypatch.setattr(paths, "site_folders", lambda: [*before, str(tmp_path)])
    readable, _ = paths.view().rules()
    assert {Path(path).name for path in readable if path.startswith(str(tmp_path))} == {"my_ops-1.0.dist-info"}
