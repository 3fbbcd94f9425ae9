"""The compiler report's cache: what is kept, what is lost, what starts no process."""

import dataclasses
import json

import pytest
from compiler_kernels import BODY, COMPILER, HEADER, SCALE, SM_90, cache, compile_report, described, no_worker, row_of  # noqa: F401
from graded_kernels.autograder.gpu import compiler
from graded_kernels.autograder.gpu.compiler import cache as cache_module


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    return tmp_path / "empty" / "graded-kernels" / "compiler"


def test_a_second_report_starts_no_process(empty_cache):
    source = HEADER + SCALE + BODY.format("y = x[0]")
    launches = [described(source), described(source, "scale_kernel")]
    spent = COMPILER.spent
    first = compile_report(launches, SM_90)
    assert COMPILER.spent > spent  # processor time, of which a verdict gives account
    assert len(list(empty_cache.glob("*.json"))) == 3  # two of the front end, and one of the kernel that it takes
    moved = [dataclasses.replace(launch, source="# one line more\n" + source) for launch in launches]
    second = compiler.compile_report(moved, no_worker, SM_90)
    for before, after in zip(first["targets"], second["targets"], strict=True):
        assert not before["cached"]
        assert after["cached"]
        line = before["line"] and before["line"] + 1
        assert {**before, "cached": True, "line": line} == after
    assert second["targets"][0]["line_text"] == "y = x[0]"
    with pytest.raises(AssertionError, match="a process was started"):
        other = described(source.replace("x * 2.0", "x * 3.0"), "scale_kernel")
        compiler.compile_report([other], no_worker, SM_90)
    with pytest.raises(AssertionError, match="a process was started"):
        compiler.compile_report([described(source, "scale_kernel", options={"num_warps": 8})], no_worker, SM_90)


@pytest.mark.parametrize("content", ["{", "[]", '{"status": "pass"}'])
def test_a_corrupted_cache_entry_is_ignored_and_rewritten(empty_cache, monkeypatch, content):
    launch = described(HEADER + BODY.format("y = x + {}"))
    compile_report([launch], SM_90)
    (entry,) = empty_cache.glob("*.json")
    good = json.loads(entry.read_text())
    entry.write_text(content)
    row = row_of(compile_report([launch], SM_90))
    assert not row["cached"]
    assert row["status"] == "fail"
    assert row["line_text"] == "y = x + {}"
    (rewritten,) = empty_cache.glob("*")
    assert rewritten == entry
    assert {**json.loads(entry.read_text()), "seconds": good["seconds"]} == good
    assert row_of(compile_report([launch], SM_90))["cached"]


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert row_of(compile_report([described(HEADER + BODY.format("y = x + {}"))], SM_90))["status"] == "fail"


def test_the_cache_follows_the_user(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_module.folder() == tmp_path / ".cache" / "graded-kernels" / "compiler"
