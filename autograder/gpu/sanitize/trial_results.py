"""Says what hooks compute of the trials of an autotuner: nothing but a trial makes it anew."""

import weakref
from collections.abc import Iterable

import torch

from ..emulator.findings import Finding, current_place
from ..emulator.observer import EndedLaunch


class TrialResults:
    """Storages that trials stored to, and those that PyTorch computed from them meanwhile, in a hook; by address."""

    def __init__(self) -> None:
        self._stored: dict[int, str] = {}  # by which kernel
        self._computed: dict[int, str] = {}

    def ended(self, ended: EndedLaunch) -> None:
        """Takes note of what the launch of a trial has stored."""
        kept = ended.footprint.kept.items()
        self._stored |= {address: ended.launch.name for address, memory in kept if memory.blocks}

    def computed(self, sources: Iterable[torch.Tensor], results: Iterable[torch.Tensor]) -> None:
        """Takes note of tensors that a hook has computed. sources: what from."""
        addresses = [source.untyped_storage().data_ptr() for source in sources]
        kernel = next((self._stored[address] for address in addresses if address in self._stored), "")
        for result in results if kernel else ():
            storage = result.untyped_storage()
            if storage.data_ptr() not in addresses:
                self._computed[storage.data_ptr()] = kernel
                weakref.finalize(storage, self._computed.pop, storage.data_ptr(), None).atexit = False

    def read(self, sources: Iterable[torch.Tensor], operator: str) -> Finding | None:
        """The finding of an operator outside of all trials that reads such a tensor; None where it has none."""
        if not self._computed:
            return None
        addresses = [source.untyped_storage().data_ptr() for source in sources]
        kernel = next((self._computed.pop(address) for address in addresses if address in self._computed), "")
        if not kernel:
            return None
        place = current_place()
        text = (
            f"`{operator}`, {place}, reads what a hook has computed in a trial run of `{kernel}`. Such hooks run while "
            "an autotuner tries configurations, and not in a launch whose configuration is known: compute it behind "
            "the launch."
        )
        return Finding("unwritten", text, kernel, line=place.line, source=place.source, file=place.file)
