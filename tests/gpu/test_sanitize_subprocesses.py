"""Processes that a program starts: Python's are not watched, and the report says so."""

import multiprocessing
import os
import subprocess
import sys

import pytest
from graded_kernels.autograder.gpu.sanitize import json_report, run_report
from graded_kernels.autograder.gpu.sanitize.subprocesses import python_of, reported


@pytest.mark.parametrize(
    "command, shown",
    [
        (["/usr/bin/python3.11", "-c", "x = 1"], "python3.11 -c 'x = 1'"),
        (["nice", "-n", "5", "python", "train.py"], "python train.py"),
        (["/bin/sh", "-c", "cd a && python -m train --lr 1"], "python -m train --lr 1"),
        ("torchrun --nproc 2 train.py", "torchrun --nproc 2 train.py"),
        ([b"python", b"a.py"], "python a.py"),
        (["python", "x" * 100], "python " + "x" * 70 + "..."),
        (["nvidia-smi", "--query-gpu=name"], ""),
        (["/bin/sh", "-c", "echo 'python"], ""),
        (["gcc", "-o", "python.o"], ""),
    ],
)
def test_a_command_line_that_starts_python(command, shown):
    assert python_of(command) == shown


def test_processes_of_python_are_told_and_others_are_not():
    with reported((seen := []).append):
        subprocess.run([sys.executable, "-S", "-c", "pass"], check=True)
        subprocess.run(["true"], check=True)
        os.system("true")
    assert seen == [f"{os.path.basename(sys.executable)} -S -c pass"]
    subprocess.run([sys.executable, "-S", "-c", "pass"], check=True)
    assert len(seen) == 1


@pytest.mark.exhaustive
def test_a_process_of_multiprocessing_is_told_once():
    with reported((seen := []).append):
        child = multiprocessing.get_context("spawn").Process(target=os.getpid)  # importable wherever pytest is started
        child.start()
        child.join()
    assert child.exitcode == 0
    assert len(seen) == 1
    assert seen[0].endswith("of multiprocessing")


def test_the_report_says_that_nobody_watched_them():
    run = run_report.Run("p.py", launches=1, kernels={"k": 1}, spawned=["python a.py", "python b.py"])
    sentence = "2 Python processes that were not watched (`python a.py`): kernels launched there were not checked."
    assert sentence in run_report.summary(run)
    assert json_report.data(run, 0)["not_watched"] == run.spawned
    assert "not watched" not in run_report.summary(run_report.Run("p.py", launches=1, kernels={"k": 1}))
    assert "a Python process that was not watched" in run_report.summary(
        run_report.Run("p.py", spawned=["python a.py"])
    )
