"""What the command shows of itself: the exercises, the version; and how fast it starts."""

import json
import os
import re
import subprocess
import sys

import pytest
import torch
from graded_kernels.autograder import cli
from graded_kernels.autograder.judge.commands.listing import kept_rows, row_of
from graded_kernels.autograder.judge.records.table import EXERCISES


def test_list_shows_every_exercise_aligned(capsys):
    assert cli.main(["list"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(EXERCISES)
    column = head.index("signature")
    assert all(line[column:] == EXERCISES[line.split()[0]].signature for line in lines)


def test_version(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0
    assert re.fullmatch(r"graded-kernels \d+\.\d+\.\d+\n", capsys.readouterr().out)


def test_list_reads_no_record_and_what_is_kept_is_what_the_records_say():
    assert kept_rows() == [row_of(record) for record in EXERCISES.values()], "stale: make build"
    code = "import sys; from graded_kernels.autograder import cli; cli.main(['list']); print('torch' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert shown.splitlines()[-1] == "False" or torch.cuda.is_available()


def test_each_command_has_an_example_that_is_understood(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    commands = re.findall(r"^    ([a-z][a-z-]*)", capsys.readouterr().out, re.M)
    assert set(cli.EXAMPLES) == set(commands)
    for words in cli.EXAMPLES.values():
        cli.parser().parse_args(words.split())


def test_a_word_that_is_nearly_a_command_is_named(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["chek", "silu_backward"])
    assert ended.value.code == 2 and "did you mean check?" in capsys.readouterr().err


def test_list_as_data(capsys):
    assert cli.main(["list", "--json"]) == 0
    rows = {row["exercise"]: row for row in json.loads(capsys.readouterr().out)}
    assert set(rows) == set(EXERCISES)
    assert rows["silu_backward"]["backends"] == ["torch", "triton"]
    assert rows["silu_backward"]["points"] == EXERCISES["silu_backward"].points


def test_the_door_opens_without_pytorch_and_still_asks_for_the_interpreter():
    if torch.cuda.is_available():
        pytest.skip("not run: where there is a GPU, PyTorch is asked about it first")
    code = """if True:
        import os, sys
        from graded_kernels.autograder import cli
        from graded_kernels.autograder.runner import sandbox
        sandbox.Worker, cli.parser()
        heavy = {"torch", "triton", "numpy", "matplotlib", "graded_kernels.autograder.gpu.compiler"}
        print(heavy & set(sys.modules), os.environ["TRITON_INTERPRET"])
        from graded_kernels.autograder import EXERCISES, Emulator, Peak, Report, check, ulp_error, ulp_size
        print(check.__name__, Report.__name__, "silu_forward" in EXERCISES)
    """
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=900, env=environment)
    assert child.stdout.splitlines() == ["set() 1", "check Report True"], child.stdout + child.stderr


def test_the_desks_commands_cost_nothing_until_they_run():
    """Every `graded-kernels --help` imports them."""
    code = "import json, sys; import graded_kernels.course.desk.command; print(json.dumps(sorted(sys.modules)))"
    python = [sys.executable, "-c", code]
    loaded = json.loads(subprocess.run(python, check=True, capture_output=True, text=True).stdout)
    assert not {"torch", "nbformat", "nbgrader", "jupytext"} & set(loaded)
