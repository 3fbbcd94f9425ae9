"""What is imported stays: looking through it for garbage again and again is a quarter of the imports' time."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def no_garbage() -> Iterator[None]:
    """Within it none is looked for, and later none among the objects that there are at its end. Where that is not
    reached, all is as before.
    """
    looked = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if looked:
            gc.enable()
