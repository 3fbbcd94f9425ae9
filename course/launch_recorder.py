"""The emulator, with a note of every block of addresses that a launch loads or stores."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograder.gpu import Emulator
from .touches import Story, Touch


class Recorder(Emulator):
    """An emulator that also writes down every block of addresses before it is checked."""

    together = False  # the picture tells programs apart, so they run one after the other

    def __init__(self, story: Story):
        super().__init__()
        self.story = story

    def begin(self, launch: Any) -> Any:
        access = super().begin(launch)
        for verb in ("load", "store"):
            setattr(access, verb, self._recorded(verb, access, getattr(access, verb)))
        return access

    def _recorded(self, verb: str, access: Any, perform: Callable[..., object]) -> Callable[..., object]:
        def recorded(addresses: Any, values_or_mask: Any, *rest: Any) -> object:
            mask = values_or_mask if verb == "load" else rest[0]
            flat = addresses.ravel()
            on = np.broadcast_to(True if mask is None else np.asarray(mask, bool), addresses.shape).ravel()
            region = access.space.find(int(flat[on.argmax()]))
            offsets = (flat - np.uint64(region.virtual)).view(np.int64) // region.itemsize
            program = access.program - access.first - 1
            self.story.sizes[region.name] = region.tensor.numel()
            self.story.touches.append(Touch(program, verb, region.name, tuple(offsets.tolist()), tuple(on.tolist())))
            return perform(addresses, values_or_mask, *rest)

        return recorded
