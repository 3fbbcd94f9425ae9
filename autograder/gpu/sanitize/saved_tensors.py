"""Kernels that store over what autograd has saved for its backward pass: PyTorch's error, with the kernel and its line.

A store tells autograd as an operator in place does (`Emulator.end`). On a GPU nobody does, and the gradient is wrong.
"""

import contextlib
import math
import re
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import torch

from ..emulator.findings import Finding, Place, current_place
from ..emulator.observer import EndedLaunch

_MODIFIED = re.compile(r"modified by an inplace operation: \[\S+ \[([\d, ]*)\]\](?:, which is ([^,]+),)?")
_KEPT = 1000  # launches that may have stored over what was saved


class SavedTensors:
    """Notes which launches stored to tensors of how many elements, their own or those of the whole storage, which
    another view may have. say: takes findings.
    """

    def __init__(self, say: Callable[[Finding], None]):
        self._say = say
        self._stores: deque[tuple[str, str, set[int], Place]] = deque(maxlen=_KEPT)

    def ended(self, ended: EndedLaunch) -> None:
        """Takes note of what a launch has stored to."""
        place = current_place()
        for region in ended.footprint.space.regions:
            if region.stored:
                sizes = {region.tensor.numel(), region.held // region.itemsize}
                self._stores.append((ended.launch.name, region.name, sizes, place))

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Has PyTorch's error in a backward pass of the block told as a finding, too."""

        def telling(function: Callable[..., Any]) -> Callable[..., Any]:
            def called(*args: Any, **named: Any) -> Any:
                try:
                    return function(*args, **named)
                except RuntimeError as error:
                    self._tell(str(error))
                    raise

            return called

        with contextlib.ExitStack() as stack:
            for name in ("backward", "grad"):
                stack.enter_context(patch.object(torch.autograd, name, telling(getattr(torch.autograd, name))))
            yield

    def _tell(self, error: str) -> None:
        match = _MODIFIED.search(error)
        shape = tuple(map(int, match[1].split(", "))) if match and match[1] else ()
        stores = [store for store in self._stores if math.prod(shape) in store[2]]
        if not match or not stores:
            return
        kernel, name, _, place = stores[-1]
        what = f", {match[2]}" if match[2] else ""
        text = (
            f"`{kernel}`, launched in {place}, stores to {name}{what}, of shape {shape}, which autograd has saved for "
            "the backward pass. It reads the new values there, and the gradient is wrong: store to a new tensor. "
            "PyTorch says so here, and not on a GPU, where nobody tells it of a kernel's stores."
        )
        self._say(Finding("saved-tensor", text, kernel, name, line=place.line, source=place.source, file=place.file))
