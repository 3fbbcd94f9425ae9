"""Keeps Python's garbage collector away from what is imported, which stays: it takes a quarter of the imports' time."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def no_garbage(for_good: bool = True) -> Iterator[None]:
    """Pauses the collector within the ``with`` block. Where the block raises, the collector goes on as before.

    for_good: whether it leaves out the objects that exist at the end from then on. Otherwise those that the block made
    are not new to it: where a quarter of all objects are, it looks through all of them.
    """
    looked, left_out = gc.isenabled(), gc.get_freeze_count()
    gc.disable()
    try:
        yield
        gc.freeze()
        if not (for_good or left_out):
            gc.unfreeze()
    finally:
        if looked:
            gc.enable()
