"""What is loaded to stay does not bring the collector to look through everything."""

import gc
import inspect
import subprocess
import sys

import pytest


def loaded(pause) -> list[int]:
    """How many objects the collector leaves out afterwards, and how often it looks through all of them."""
    kept = [[] for _ in range(500_000)]  # of which a quarter are more than what makes the collector ask
    gc.collect()
    with pause:
        kept += [[] for _ in range(len(gc.get_objects()) // 2)]
    before = gc.get_stats()[2]["collections"]
    kept += [[] for _ in range(100_000)]
    return [gc.get_freeze_count(), gc.get_stats()[2]["collections"] - before]


@pytest.mark.parametrize("for_good", [True, False])
def test_what_was_loaded_is_not_looked_through(for_good):
    """In a process of its own, which holds nothing else: through a test process's objects it took seconds."""
    program = (
        "import gc\n"
        "from graded_kernels.autograder.words import no_garbage\n"
        f"{inspect.getsource(loaded)}\n"
        f"print(*loaded(no_garbage({for_good})))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    left_out, looks = map(int, ran.stdout.split())
    assert (left_out > 0, looks) == (for_good, 0)


@pytest.mark.exhaustive
def test_the_imports_of_a_first_check_are_not_looked_through():
    program = (
        "import gc\n"
        "from graded_kernels.autograder import check\n"
        "from graded_kernels.solutions.silu import silu_backward\n"
        "before = gc.get_stats()[2]['collections']\n"
        "check('silu_backward', silu_backward)\n"
        "print(gc.get_stats()[2]['collections'] - before, gc.get_freeze_count())"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["0", "0"]


@pytest.mark.exhaustive
def test_what_sanitize_imports_is_not_looked_through(tmp_path):
    (tmp_path / "program.py").write_text("import gc\nprint(gc.get_freeze_count() > 100_000, gc.isenabled())\n")
    command = [sys.executable, "-m", "graded_kernels.autograder", "sanitize", "program.py"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert ran.stdout.splitlines()[0] == "True True", ran.stdout + ran.stderr
