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
        "from graded_kernels.autograder.runner import no_garbage\n"
        f"{inspect.getsource(loaded)}\n"
        f"print(*loaded(no_garbage({for_good})))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    left_out, looks = map(int, ran.stdout.split())
    assert (left_out > 0, looks) == (for_good, 0)
