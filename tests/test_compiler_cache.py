"""The compiler report's cache and its worker process: what is kept, what is lost, what starts no process."""

import dataclasses
import json
import shutil
import time
from pathlib import Path

import pytest
from compiler_kernels import BODY, HEADER, SCALE, SM_90, cache, described, no_worker, row_of  # noqa: F401
from graded_kernels.autograder.compiler import cache as cache_module
from graded_kernels.autograder.compiler import compile_report, process


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    return tmp_path / "empty" / "graded-kernels" / "compiler"


def test_a_second_report_starts_no_process(monkeypatch, empty_cache):
    source = HEADER + SCALE + BODY.format("y = x[0]")
    launches = [described(source), described(source, "scale_kernel")]
    first = compile_report(launches, SM_90)
    assert len(list(empty_cache.glob("*.json"))) == 2
    monkeypatch.setattr(process.subprocess, "Popen", no_worker)
    moved = [dataclasses.replace(launch, source="# one line more\n" + source) for launch in launches]
    second = compile_report(moved, SM_90)
    for before, after in zip(first["targets"], second["targets"], strict=True):
        assert not before["cached"] and after["cached"]
        line = before["line"] and before["line"] + 1
        assert {**before, "cached": True, "line": line} == after
    assert second["targets"][0]["line_text"] == "y = x[0]"
    with pytest.raises(AssertionError, match="a process was started"):
        compile_report([described(source.replace("x * 2.0", "x * 3.0"), "scale_kernel")], SM_90)
    with pytest.raises(AssertionError, match="a process was started"):
        compile_report([described(source, "scale_kernel", options={"num_warps": 8})], SM_90)


@pytest.mark.parametrize("content", ["{", "[]", '{"status": "pass"}'])
def test_a_corrupted_cache_entry_is_ignored_and_rewritten(empty_cache, monkeypatch, content):
    launch = described(HEADER + BODY.format("y = x + {}"))
    compile_report([launch], SM_90)
    (entry,) = empty_cache.glob("*.json")
    good = json.loads(entry.read_text())
    entry.write_text(content)
    row = row_of(compile_report([launch], SM_90))
    assert not row["cached"] and row["status"] == "fail" and row["line_text"] == "y = x + {}"
    (rewritten,) = empty_cache.glob("*")
    assert rewritten == entry and {**json.loads(entry.read_text()), "seconds": good["seconds"]} == good
    assert row_of(compile_report([launch], SM_90))["cached"]


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert row_of(compile_report([described(HEADER + BODY.format("y = x + {}"))], SM_90))["status"] == "fail"


def test_the_cache_follows_the_user(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_module.folder() == tmp_path / ".cache" / "graded-kernels" / "compiler"


def test_without_a_triton_that_imports_the_report_says_not_run(tmp_path, monkeypatch, empty_cache):
    (tmp_path / "triton.py").write_text("raise ImportError('libcuda is the wrong version')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    report = compile_report([described(HEADER + SCALE, "scale_kernel")])
    assert report["status"] == "not-run" and report["targets"] == []
    assert "libcuda is the wrong version" in report["reason"]
    assert not list(empty_cache.glob("*"))


def test_a_tool_that_is_missing_is_no_fault_of_the_kernel(tmp_path, monkeypatch, empty_cache):
    worker = shutil.copytree(process._WORKER.parent, tmp_path / "compiler") / "worker.py"
    found, missing = "knobs.nvidia.cuobjdump.path,", "'/nowhere/cuobjdump',"
    assert found in worker.read_text()
    worker.write_text(worker.read_text().replace(found, missing))
    monkeypatch.setattr(process, "_WORKER", worker)
    report = compile_report([described(HEADER + SCALE, "scale_kernel")], SM_90)
    assert report["status"] == "not-run" and "/nowhere/cuobjdump" in report["reason"]
    assert not list(empty_cache.glob("*"))


def test_the_worker_may_die_or_hang_without_taking_the_other_jobs_along(tmp_path, monkeypatch):
    worker = tmp_path / "worker.py"
    worker.write_text(
        "import json, os, signal, subprocess, sys, time\n"
        "say = lambda **m: print(json.dumps(m), flush=True)\n"
        "jobs = json.load(sys.stdin)['jobs']\n"
        "say(triton='0')\n"
        "for i, job in enumerate(jobs):\n"
        "    say(start=i)\n"
        "    if job == 'die': os.kill(os.getpid(), signal.SIGSEGV)\n"
        "    if job == 'garbage': print('mumble', flush=True)\n"
        "    if job == 'hang':\n"
        f"        open({str(tmp_path / 'pid')!r}, 'w').write(str(subprocess.Popen(['sleep', '600']).pid))\n"
        "        time.sleep(20)\n"
        "    say(done=i, job=job, interpret=os.environ.get('TRITON_INTERPRET'))\n"
    )
    monkeypatch.setattr(process, "_WORKER", worker)
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    answers = dict(process.run_jobs([], ["a", "die", "b", "hang", "c", "garbage"], job_limit=1.0))
    assert [answers[i].get("job") for i in range(6)] == ["a", None, "b", None, "c", None]
    assert {answers[i]["interpret"] for i in (0, 2, 4)} == {None}
    assert "SIGSEGV" in answers[1]["lost"] and "1 s" in answers[3]["lost"] and "no answer" in answers[5]["lost"]
    child = Path("/proc", (tmp_path / "pid").read_text(), "stat")
    for _ in range(50):
        if not child.exists() or child.read_text().rpartition(")")[2].split()[0] in "ZX":
            break
        time.sleep(0.1)
    else:
        raise AssertionError("a child of the worker lives on")
    worker.write_text("raise SystemExit(3)")
    with pytest.raises(process.CannotCompile, match="exit status 3 before its first kernel"):
        dict(process.run_jobs([], ["a"]))
