"""What is loaded to stay does not bring the collector to look through everything."""

import gc

import pytest
from bounded import bounded
from graded_kernels.autograder.runner import no_garbage


def loaded(pause) -> list[int]:
    """How many objects the collector leaves out afterwards, and how often it looks through all of them."""
    gc.set_threshold(700, 10, 10)  # Python's own
    gc.unfreeze()
    kept = [[] for _ in range(500_000)]  # of which a quarter are more than what makes the collector ask
    gc.collect()
    with pause:
        kept += [[] for _ in range(len(gc.get_objects()) // 2)]
    before = gc.get_stats()[2]["collections"]
    kept += [[] for _ in range(100_000)]
    return [gc.get_freeze_count(), gc.get_stats()[2]["collections"] - before]


@pytest.mark.parametrize("for_good", [True, False])
def test_what_was_loaded_is_not_looked_through(for_good):
    left_out, looks = bounded(lambda: loaded(no_garbage(for_good)))
    assert (left_out > 0, looks) == (for_good, 0)
