"""Everything that watches a program, as one ``with`` block: for the command and for the pytest plugin."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .cuda import reachable, shimmed
from .sanitizer import Sanitizer
from .uninitialised import UninitialisedMemory


@dataclass(frozen=True)
class Watch:
    """What watches a program. shim: the GPU that is simulated for it, "" for none."""

    sanitizer: Sanitizer
    shim: str = ""


@contextlib.contextmanager
def watched(emit: Callable[[dict[str, Any]], None], shim: bool = True) -> Iterator[Watch]:
    """Runs what is in the block under a `Sanitizer`. shim: whether to simulate a GPU where there is no CUDA."""
    sanitizer, name = Sanitizer(emit), ""
    with sanitizer, np.errstate(all="ignore"), UninitialisedMemory(sanitizer), contextlib.ExitStack() as stack:
        if shim and not torch.cuda.is_available():
            name = stack.enter_context(shimmed(sanitizer.refuse))
            sanitizer.reachable = reachable
        yield Watch(sanitizer, name)
