"""Verdicts as values: what decides one is its key, and what was found is kept whole or not at all."""

import ast
import contextlib
import dataclasses
import functools
import gc
import importlib
import io
import json
import os
import shutil
import subprocess
import sys
import tokenize
from pathlib import Path
from types import SimpleNamespace

import pytest
from graded_kernels.autograder import check, cli
from graded_kernels.autograder.judge.verdicts import make, source
from graded_kernels.autograder.judge.verdicts.job import Job, OtherVersions
from graded_kernels.autograder.judge.verdicts.store import LOG, Store
from graded_kernels.autograder.judge.verdicts.verdict import LATE, LOST, Damaged, Verdict
from graded_kernels.autograder.runner import Answer, Budget, Cell, Limits, PackageModule
from graded_kernels.solutions.silu import silu_forward

CASE = {"name": "two zeros", "x": {"values": [0.0, float("nan"), float("inf")]}}
ANSWER = Answer("silu_forward", (Cell("before", "a = 1"), Cell("silu_forward-torch", "b = 2")))
JOB = Job(ANSWER, "torch", 7, Limits(), (CASE,))


def verdict(job: Job = JOB, **more) -> Verdict:
    fields = {"report": {"passed": False, "stopped_in": None, "cases": []}, "text": "text", "html": "<p>é</p>"}
    return Verdict(job.key, job.name, **(fields | {"seconds": 1.5} | more))


def other_answer(**more) -> Job:
    return dataclasses.replace(JOB, answer=dataclasses.replace(ANSWER, **more))


CHANGES = {
    "code": other_answer(cells=(ANSWER.cells[0], Cell("silu_forward-torch", "b = 3"))),
    "code before": other_answer(cells=(Cell("before", "a = 2"), ANSWER.cells[1])),
    "name of a cell": other_answer(cells=(Cell("added-1", "a = 1"), ANSWER.cells[1])),
    "where one cell ends": other_answer(cells=(Cell("before", "a = 1\nb = 2"), Cell("silu_forward-torch", ""))),
    "cells after it": other_answer(after=1),
    "module": other_answer(module=True),
    "name of the module": other_answer(name="another"),
    "modules": other_answer(modules=(PackageModule("helper", "helper.py", "c = 3"),)),
    "exercise": other_answer(exercise="silu_backward"),
    "backend": dataclasses.replace(JOB, backend="triton"),
    "seed": dataclasses.replace(JOB, seed=8),
    "isolation": dataclasses.replace(JOB, isolated=False),
    "the record": dataclasses.replace(JOB, record="silu_forward = None"),
    "no case": dataclasses.replace(JOB, cases=()),
    "a case": dataclasses.replace(JOB, cases=(CASE | {"hint": "?"},)),
    **{f"limit {f.name}": dataclasses.replace(JOB, limits=Limits(**{f.name: 3})) for f in dataclasses.fields(Limits)},
}


def test_a_change_of_anything_that_decides_changes_the_key():
    keys = [JOB.key, *(changed.key for changed in CHANGES.values())]
    assert len(set(keys)) == len(keys)
    assert all(len(key) == 64 for key in keys)
    assert dataclasses.replace(JOB).key == JOB.key


@pytest.mark.parametrize("name", ["grader", "python", "torch", "triton", "numpy"])
def test_so_does_another_version(name, monkeypatch):
    key, versions = JOB.key, Job.versions()
    monkeypatch.setattr(Job, "versions", staticmethod(lambda: versions | {name: "another"}))
    assert dataclasses.replace(JOB).key != key


def test_a_report_of_another_version_is_refused_in_a_sentence():
    """Points follow from its data: without a field of it they would be guessed."""
    report = check("silu_forward", lambda x: x.clone(), backend="torch").to_dict()
    assert verdict(report=report).points().score == report["score"]
    for missing in ("up_to", "required"):
        with pytest.raises(Damaged, match=f"the report on silu_forward-torch has no '{missing}', as one of"):
            verdict(report={name: value for name, value in report.items() if name != missing}).points()


@pytest.fixture
def house(tmp_path, monkeypatch):
    """A copy of the grader's source, of which each text is read once."""
    monkeypatch.setattr(source, "code", functools.cache(source.code))
    for folder in ("autograder", "kernels"):
        shutil.copytree(source.HOUSE.parent / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "autograder"


def changed(house: Path, place: str, old: str, new: str) -> bool:
    """Whether the grader's version changes with this file."""
    before, text = source.digest(house), (house / place).read_text()
    assert text.count(old) > 0
    (house / place).write_text(text.replace(old, new, 1))
    return source.digest(house) != before


def test_the_graders_version_is_the_source_that_decides(house):
    assert Job.versions()["grader"] == source.digest(house)
    for place in (
        "judge/checking/judge.py",
        "exercises/silu.py",
        "judge/results/causes.py",
        "judge/checking/check.py",
        "runner/sandbox/isolated.py",
    ):
        assert changed(house, place, "\nfrom ", '\nTEXT = {"a": """one # two"""}\nLEAST = 1 + 2\nfrom ')
        assert changed(house, place, "1 + 2", "1 - 2")
        assert changed(house, place, "one # two", "one # three")
    (house / "judge" / "another.py").write_text("a = 1\n")
    assert source.digest(house) != Job.versions()["grader"]


def test_a_verdict_depends_on_packages_that_offer_exercises(tmp_path, monkeypatch):
    record = tmp_path / "my_ops" / "records.py"
    record.parent.mkdir()

    def key(*packages) -> str:
        monkeypatch.setattr(source.Offers, "files", list(map(str, packages)))
        Job.versions.cache_clear()
        return dataclasses.replace(JOB).key  # worked out anew

    record.write_text("SCALE = 30\n")
    without, before = key(), key(record.parent)
    record.write_text("SCALE = 31\n")
    assert len({without, before, key(record.parent)}) == 3
    assert without == key()


def test_comments_docstrings_pages_and_points_leave_it(house):
    place = "judge/checking/judge.py"
    assert not changed(house, place, (house / place).read_text().partition("\n")[0], '"""Another docstring."""')
    assert not changed(house, place, "\nfrom ", "\n\n# a comment\nfrom ")
    assert not changed(house, place, "    return ", "    # that's one more: \"\n\n    return ")
    for place in ("judge/report/terminal.py", "judge/results/scoring.py", "classroom/nbgrader/grade_cells.py"):
        assert not changed(house, place, "\nfrom ", "\nLEAST = 1 + 2\nfrom ")


@pytest.mark.parametrize("step", [12, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_all_that_is_left_out_are_comments_docstrings_and_blank_lines(step):
    """By Python's own parser and tokenizer, over each twelfth file that decides, or all of them."""
    for path in [*source.files()][::step]:
        text = path.read_text()
        assert tokens(source.code(text)) == tokens(without_docstrings(text)), path


def without_docstrings(text: str) -> str:
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            first, last = node.body[0].lineno, node.body[0].end_lineno
            lines[first - 1 : last] = [""] * (last - first + 1)
    return "\n".join(lines)


def tokens(text: str) -> list[str]:
    found, blocks = [], {tokenize.INDENT, tokenize.DEDENT}  # a block of a docstring alone has none
    with contextlib.suppress(tokenize.TokenError):
        found = [one for one in tokenize.generate_tokens(io.StringIO(text).readline) if one.type not in blocks]
    return [one.string for one in found if one.type != tokenize.COMMENT and one.string.strip()]


@pytest.mark.parametrize("job", [JOB, *CHANGES.values()], ids=["job", *CHANGES])
def test_a_job_travels_as_json(job):
    there = Job.from_json(job.to_json())
    assert there.key == job.key
    assert there.answer == job.answer
    assert there.limits == job.limits


def test_a_machine_with_other_versions_refuses_a_job(monkeypatch):
    text, versions = JOB.to_json(), Job.versions()
    monkeypatch.setattr(Job, "versions", staticmethod(lambda: versions | {"torch": "2.0.0"}))
    with pytest.raises(OtherVersions, match="torch 2.0.0"):
        Job.from_json(text)


def test_what_is_kept_is_found(tmp_path):
    Store(tmp_path).put(verdict())
    assert Store(tmp_path).get(JOB) == verdict()
    assert all(Store(tmp_path).get(changed) is None for changed in CHANGES.values())
    (entry,) = Store(tmp_path).made()
    assert (entry["key"], entry["name"], entry["seconds"]) == (JOB.key, "silu_forward-torch", 1.5)


def test_it_is_its_owners_alone(tmp_path):
    before = os.umask(0)
    try:
        Store(tmp_path).put(verdict())
    finally:
        os.umask(before)
    modes = {path.relative_to(tmp_path).parts[0]: path.stat().st_mode & 0o777 for path in tmp_path.glob("*")}
    assert modes == {"verdicts": 0o700}
    folder = tmp_path / "verdicts"
    assert {path.stat().st_mode & 0o777 for path in folder.glob("*/*.json")} == {0o600}
    assert (folder / LOG).stat().st_mode & 0o777 == 0o600


def cut(path):
    path.write_bytes(path.read_bytes()[:-7])


def flip(path):
    content = bytearray(path.read_bytes())
    content[-20] ^= 1
    path.write_bytes(content)


def empty(path):
    path.write_bytes(b"")


def become_anothers(path):
    other = CHANGES["seed"]
    Store(path.parents[2]).put(verdict(other))
    os.replace(path.with_name(f"{other.key}.json"), path)


def become_a_link(path):
    elsewhere = path.rename(path.with_name("elsewhere"))
    path.symlink_to(elsewhere)


@pytest.mark.parametrize("damage", [cut, flip, empty, become_anothers, become_a_link])
def test_a_damaged_one_is_removed_with_a_sentence_and_made_again(tmp_path, damage):
    messages: list[str] = []
    store = Store(tmp_path, messages.append)
    store.put(verdict())
    (path,) = store
    damage(path)
    assert store.settled(JOB, lambda job, checks: verdict(text="another")) == (verdict(text="another"), False)
    assert f"The verdict {path} is damaged" in messages[0]
    assert "made again" in messages[0]
    assert len(messages) == 1
    assert Store(tmp_path).get(JOB) == verdict(text="another")


@pytest.mark.parametrize("field", [{"report": []}, {"text": None}, {"checks": 1.5}])
def test_what_is_no_verdict_is_not_taken_for_one(field):
    with pytest.raises(Damaged):
        Verdict.from_json(json.dumps(dataclasses.asdict(verdict()) | field))
    with pytest.raises(Damaged):
        Verdict.from_json(json.dumps(dataclasses.asdict(verdict()) | {"more": 1}))


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_full_disk_leaves_nothing_half_written(tmp_path, monkeypatch, step):
    def full(*args):
        raise OSError(28, "No space left on device")

    messages: list[str] = []
    store = Store(tmp_path, messages.append)
    store.put(verdict())
    with monkeypatch.context() as patch:
        if step == "write":
            patch.setattr(Verdict, "to_json", lambda self: "x" * 10)
            patch.setattr("hashlib.sha256", full)
        else:
            patch.setattr(os, step, full)
        store.keep(verdict(text="another"))
    assert "was not kept" in messages[0]
    assert "No space left on device" in messages[0]
    assert store.get(JOB) == verdict()
    assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.parametrize("doubt", [LATE, LOST])
def test_what_a_busy_machine_may_have_decided_is_checked_once_more(tmp_path, doubt):
    """Also where the first check was made elsewhere, or by a run that ended."""
    asked: list[int] = []

    def make(job, checks):
        asked.append(checks)
        return verdict(doubt=doubt, checks=checks)

    store = Store(tmp_path)
    found, there = store.settled(JOB, make)
    assert (asked, there, found.checks) == ([1, 2], False, 2)
    assert store.settled(JOB, make) == (found, True)
    assert asked == [1, 2]
    store.put(verdict(doubt=doubt))
    assert store.settled(JOB, make)[0].checks == 2
    assert asked == [1, 2, 2]
    store.put(verdict(doubt=doubt))
    assert store.settled(JOB, lambda job, checks: verdict(text="another", checks=checks))[0].text == "another"


def test_one_that_is_left_to_a_person_is_not_made_again(tmp_path):
    store = Store(tmp_path)
    store.put(verdict(left="Its check ended three workers."))
    assert store.settled(JOB, lambda job, checks: pytest.fail("made"))[0].left


def test_clearing_takes_what_is_asked_for_and_what_a_killed_writer_left(tmp_path):
    store = Store(tmp_path)
    for job in (JOB, CHANGES["seed"], CHANGES["exercise"]):
        store.put(verdict(job))
    half = tmp_path / "verdicts" / "silu_forward-torch" / ".0.tmp"
    half.touch()
    assert store.clear(lambda path: path.parent.name == "silu_backward-torch") == 1
    assert len(list(store)) == 2
    assert not half.exists()
    assert store.clear() == 2
    assert list(store) == []
    assert len(store.made()) == 3


def test_the_command_shows_and_removes(tmp_path, capsys):
    def ran(*arguments: str) -> str:
        assert cli.main(["verdicts", "--course", str(tmp_path), *arguments]) == 0
        return " ".join(capsys.readouterr().out.split())

    store = Store(tmp_path)
    for job in (JOB, CHANGES["seed"], CHANGES["exercise"]):
        store.put(verdict(job))
    old = tmp_path / "verdicts" / JOB.name / f"{JOB.key}.json"
    os.utime(old, (0, 0))
    output = ran()
    assert "silu_forward-torch 2 " in output
    assert "silu_backward-torch 1 " in output
    assert output.endswith("kB 4 s")
    assert "Removed 1." in ran("--older", "30d", "--clear")
    assert not old.exists()
    assert "None of the verdicts in" in ran("--older", "30d")
    assert "No verdicts" not in ran("--older", "30d")
    assert "None of the verdicts" in ran("--exercise", "gelu_forward", "--clear")
    assert len(list(store)) == 2
    assert "Removed 1." in ran("--exercise", "silu_backward", "--clear")
    assert len(list(store)) == 1
    assert "Removed 1." in ran("--exercise", "silu_forward-torch", "--clear")
    assert not list(store)
    assert cli.main(["verdicts", "--course", str(tmp_path / "elsewhere")]) == 2
    assert "is not a course root" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["verdicts", "--older", "soon"])


def test_a_disk_that_is_full_when_the_log_is_written_costs_no_verdict(tmp_path, monkeypatch):
    """Between the verdict's file and the log's line; and a line that was cut takes no other with it."""
    sentences: list[str] = []
    store, others = Store(tmp_path, sentences.append), [dataclasses.replace(JOB, seed=seed) for seed in (8, 9)]
    write = os.write

    def full(file, data):
        raise OSError(28, "No space left on device")

    def cut(file, data):
        return write(file, data[: len(data) // 2])

    for job, writes in ((JOB, full), (others[0], cut), (others[1], write)):
        monkeypatch.setattr(os, "write", writes)
        store.put(verdict(job))
    assert [store.get(job) is not None for job in (JOB, *others)] == [True] * 3
    assert [entry["key"] for entry in store.made()] == [others[1].key]
    (sentence,) = sentences
    assert "was kept, and its line" in sentence
    assert "No space left on device" in sentence


@pytest.mark.exhaustive
def test_what_a_check_imports_is_not_looked_through_when_the_process_ends():
    last = "import atexit, gc, sys\natexit.register(lambda: print(gc.get_freeze_count() > 100_000))\n"
    code = f"{last}from graded_kernels.autograder.judge.verdicts import make\nmake.preload()\n"
    code += "print(gc.isenabled(), 'matplotlib' in sys.modules)\n"  # drawing is for answers that fail
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert (ended.stdout, ended.stderr) == ("True False\nTrue\n", "")


def test_ctrl_c_in_the_imports_leaves_garbage_to_be_looked_for(monkeypatch):
    def interrupted(*name):
        raise KeyboardInterrupt

    monkeypatch.setattr(importlib, "import_module", interrupted)
    with pytest.raises(KeyboardInterrupt):
        make.preload.__wrapped__()
    assert gc.isenabled()


def test_a_verdict_gives_account_of_compiling_and_forking(monkeypatch):
    worker = SimpleNamespace(lost=0, spent=8.0, compiler=SimpleNamespace(spent=5.0))
    notebook = Budget("notebook", 100.0)
    right = check("silu_forward", silu_forward, backend="torch")

    def check_answer(*args, **named):
        notebook.spent += 1.5
        worker.compiler.spent += 2.25
        worker.spent += 1000.0
        return right

    monkeypatch.setattr(make, "check_answer", check_answer)
    job = Job(Answer("silu_forward", (Cell("silu_forward-torch", ""),)), "torch", 7, Limits())
    verdict = make.make_verdict(job, worker, notebook=notebook)
    assert verdict.seconds == 3.75
    assert 1000 <= verdict.grader_seconds < 1100
