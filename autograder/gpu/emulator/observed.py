"""An emulator whose launches somebody watches."""

import contextlib
import functools
import inspect
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ..borrowed import DisableTorchFunction
from .access import Access
from .again import again
from .coverage import Coverage
from .emulator import Emulator
from .execution import check_options, execute
from .findings import EmulatorError, Finding, Place
from .footprint import BLOCK, Footprint
from .launch import Launch
from .observer import EndedLaunch, LaunchCall, Observer
from .refused import OutOfSharedMemory, RefusedLaunch

_MOST = 10_000  # launches that are kept; a program may have millions


class Observed(Emulator):
    """Tells ``observer`` of launches and findings as they come.

    Each configuration of an autotuned kernel is run for it, as a GPU does, which times them; what a launch overwrites
    is kept until it has been told, and so is what is reached of each kernel.
    """

    tries = keeps = True

    def __init__(self, observer: Observer, fill: float | None = None):
        super().__init__(fill=fill)
        self.observer, observer.emulator = observer, self
        self.reached = self.coverage = Coverage()
        self.passes = observer.passes
        self._ended: Access | None = None  # of the launch that ended last

    def launch(self, executor: Any, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        """Runs one launch of the interpreter's `GridExecutor`. Raises EmulatorError where the launch stops."""
        with DisableTorchFunction():
            self._launch(self.observer.launch_asked(LaunchCall(executor, args, options)))

    def _launch(self, call: LaunchCall) -> None:
        error: BaseException | None = None
        try:
            with contextlib.nullcontext() if self.observer.judges(call) else self.reached.paused():
                execute(self, *call)
        except BaseException as raised:
            error = raised
            raise
        finally:
            access, self._ended = self._ended, None
            try:
                if access is not None:
                    self.observer.launch_ended(self._told(call, access, error))
            finally:
                if news := self.reached.news():
                    self.observer.reached(news)

    def _told(self, call: LaunchCall, access: Access, error: BaseException | None) -> EndedLaunch:
        return EndedLaunch(
            self._launches[-1],
            call,
            access,
            self.masked_off,
            error,
            again=functools.partial(again, self, call),
            storers=functools.partial(self._storers, access),
            first_stored=functools.partial(self._first_stored, access),
            unwrite=functools.partial(self._unwrite, access),
        )

    def begin(self, launch: Launch) -> Access:
        """Begins a launch; returns the memory that it may touch."""
        self.observer.launch_begins(launch)
        if len(self._launches) >= _MOST:
            del self._launches[: _MOST // 2], self._firsts[: _MOST // 2]
        access = super().begin(launch)
        access.beside = self.observer.beside(launch, range(access.first, self._stamp))
        access.tells_readers = self.observer.unordered()
        return access

    def end(self, access: Access) -> None:
        """Ends the launch under way and adds up its traffic."""
        super().end(access)
        self._ended = access

    def try_configuration(self, call: Callable[[], Any], twice: bool) -> bool:
        """Runs a configuration of an autotuner, with its hooks. Returns whether it ran twice, as it may do where
        ``twice`` is set.
        """
        return self.observer.try_configuration(call, twice)

    def passed_over(self, kernel: str) -> None:
        """Notes that a configuration was not run: one that was differs from it in the compiler's options alone."""
        self.observer.left_out(kernel)

    def never_called(self, functions: Iterable[types.FunctionType]) -> list[dict[str, Any]]:
        """Those of these functions, kernels among them, of which nothing was reached, as `Coverage.news` has them."""
        return self.reached.never_called(functions)

    def forget(self, address: int) -> None:
        """Drops what is known of a storage that is gone: another one will get its memory."""
        super().forget(address)
        self.observer.forgotten(address)

    def refusal(self, finding: Finding) -> EmulatorError:
        """The error of a launch that Triton's compiler refuses, which is one of Triton's, too."""
        return OutOfSharedMemory(finding) if finding.kind == "resources" else RefusedLaunch(finding)

    def check_options(self, kernel: types.FunctionType, options: Mapping[str, Any]) -> None:
        """Refuses options that Triton's compiler refuses of a kernel. Raises EmulatorError."""
        try:
            check_options(options, inspect.signature(kernel).parameters, kernel.__name__)
        except EmulatorError as error:
            self.record(error)
            raise

    def record(self, error: EmulatorError) -> None:
        """Adds the finding of an error to `findings`."""
        super().record(error)
        self.observer.found(error.finding)

    def _note(
        self,
        notes: list[Finding],
        kind: str,
        tensor: str,
        make: Callable[[Place], Finding],
        place: Place | None = None,
    ) -> Finding:
        finding = super()._note(notes, kind, tensor, make, place)
        self.observer.found(finding)
        return finding

    def _storers(self, footprint: Footprint, address: int, block: int) -> np.ndarray:
        shadow = self._shadows[address]
        size = footprint.kept[address].now(block).size // shadow.unit
        stamps = shadow.writer.take(np.arange(size) + block * BLOCK // shadow.unit)
        return np.repeat(np.where(stamps >= 4 * footprint.first, stamps >> 2, 0), shadow.unit)

    def _first_stored(self, footprint: Footprint) -> dict[int, np.ndarray]:
        stored = {}
        for address, kept in footprint.kept.items():
            shadow, regions = self._shadows.get(address), footprint.space.of_storage(address)
            pattern = self.pattern(regions[0])
            if shadow is None or pattern is None or pattern.size > 1 or not 1 < pattern.itemsize == shadow.unit:
                continue
            flags = stored[address] = np.zeros(kept.raw.size // shadow.unit, dtype=bool)
            for number, before in kept.blocks.items():
                words = before.size // shadow.unit * shadow.unit
                empty = np.flatnonzero(before[:words].view(pattern.dtype) == pattern[0])
                empty += number * BLOCK // shadow.unit
                flags[empty[shadow.writer.take(empty) >= 4 * footprint.first]] = True
        return stored

    def _unwrite(self, footprint: Footprint) -> None:
        for address, flags in self._first_stored(footprint).items():
            shadow, regions = self._shadows[address], footprint.space.of_storage(address)
            pattern = self.pattern(regions[0])
            assert pattern is not None
            fresh = self._fresh.storages.get(address)
            by_host = fresh.of_words(shadow.unit) if fresh is not None else None
            if by_host is not None:  # what a hook has written since stays
                flags &= ~by_host
            shadow.stored -= sum(region.stored for region in regions)
            footprint.kept[address].raw[: flags.size * shadow.unit].view(pattern.dtype)[flags] = pattern[0]
            shadow.writer[np.flatnonzero(flags)] = 0
