"""The emulator for any program: findings as they come, one event each."""

import re
from collections.abc import Callable, Container

import torch
from triton.runtime.jit import TensorWrapper

from ..emulator import Emulator, EmulatorError, Finding, Launch
from ..emulator.findings import here
from .dependence import Dependence
from .rules import RULES

_MOST_LAUNCHES = 10_000  # that are kept, of a program that may have millions


class Sanitizer(Emulator):
    """Runs a program's launches as today's NVIDIA GPUs would, in every configuration, and tells what it finds.

    emit: called with ``{"finding": {...}}`` when one is seen for the first time, ``{"again": key}`` for each further
    launch that has it, and ``{"launch": {...}}`` when a launch begins. A finding has ``key, kind, level, kernel, file,
    line, source, program, tensor, offset, message, cure``; values are JSON's.

    Masked-off lanes without ``other`` hold 0, as they do there. Whether a result depends on them is found by running
    the launch again with other values (`Dependence`).
    """

    every_configuration = True
    reachable: Callable[[torch.Tensor], bool] | None = None  # whether a GPU could be given the tensor; None: it could

    def __init__(self, emit: Callable[[dict], None] = lambda event: None):
        self.emit = emit
        super().__init__(fill=0.0)

    def _clear(self) -> None:
        super()._clear()
        self.kinds: dict[tuple, str] = {}  # kind by key of what was reported
        self.moved = 0  # bytes loaded and stored
        self._number = 0  # of launches
        self.users: dict[int, tuple[str, str]] = {}  # kernel and parameter that a storage was last given to
        self._noted: dict[tuple, Finding] = {}
        self._seen: set[tuple] = set()  # keys of the launch under way
        self.function = None  # the kernel launched last
        self._dependence = Dependence(self)

    def next(self) -> None:
        """Begin the next part, a test say: what is found from here on is reported as if it were new."""
        for notes in (self.kinds, self._noted, self._seen, self._findings, self._launches, self._traffic):
            notes.clear()
        self._hints.clear()
        self._noticed.clear()
        self._dependence.tried.clear()
        self._shadows.clear()

    def launch(self, executor, args: tuple, options: dict) -> None:
        self._seen.clear()
        self.function = executor.fn
        if options.get("launch_cooperative_grid"):
            self.refuse(f"`{executor.fn.__name__}` is a cooperative launch, whose programs wait for each other.")
        with torch._C.DisableTorchFunction():
            for position, value in enumerate([*args, *options.values()]):
                if hasattr(value, "data_ptr") and not isinstance(value, torch.Tensor | TensorWrapper):
                    what = f"argument {position} of `{executor.fn.__name__}` is a {type(value).__name__}"
                    self.refuse(f"The emulator takes PyTorch's tensors, and {what}.")
                if self.reachable and isinstance(value, torch.Tensor) and not self.reachable(value):
                    raise ValueError(
                        f"Pointer argument (at {position}) cannot be accessed from Triton (cpu tensor?)"
                    )  # as Triton says it
            self._dependence.launch(executor, args, options)

    def refuse(self, text: str) -> None:
        """Ends what cannot be run here with a sentence. Raises EmulatorError."""
        place = here()
        error = EmulatorError(
            Finding("not-emulated", f"{text} ({place})", "", line=place.line, source=place.source, file=place.file)
        )
        self.record(error)
        raise error

    def begin(self, launch: Launch):
        self._number += 1
        self.emit({"launch": {"kernel": launch.name, "grid": list(launch.grid), "number": self._number}})
        if len(self._launches) >= _MOST_LAUNCHES:
            del self._launches[: _MOST_LAUNCHES // 2]
        return super().begin(launch)

    def forget(self, address: int) -> None:
        super().forget(address)
        self.users.pop(address, None)

    def end(self, access) -> None:
        super().end(access)
        for region in access.space.regions:
            self.moved += region.loaded + region.stored
            self.users[region.tensor.untyped_storage().data_ptr()] = access.kernel, region.name

    def fresh(self, tensor: torch.Tensor) -> None:
        """Poison uninitialised memory; it has been given to no kernel yet."""
        self.poison_(tensor)
        self.users.pop(tensor.untyped_storage().data_ptr(), None)

    @property
    def poisoned(self) -> Container[int]:
        """Addresses of the storages of which some may still be as `torch.empty` left it."""
        return self._poisoned.keys()

    def settled(self, address: int) -> None:
        """Nothing of the storage at this address is uninitialised any more, or that is unknown, or it is gone."""
        self._poisoned.pop(address, None)

    def inherits(self, tensor: torch.Tensor, source: torch.Tensor) -> None:
        """``tensor`` is a copy of ``source``, with what is uninitialised in it."""
        storage = tensor.untyped_storage()
        self._poisoned[storage.data_ptr()] = storage.nbytes(), tensor.dtype
        self._shadows.pop(storage.data_ptr(), None)
        user = self.users.get(source.untyped_storage().data_ptr())
        if user:
            self.users[storage.data_ptr()] = user

    def record(self, error: EmulatorError) -> None:
        super().record(error)
        self.say(error.finding)

    def notice(self, kind, make, tensor="", place=None) -> None:
        if kind != "masked-load":  # told where it is seen to matter
            super().notice(kind, make, tensor, place)

    def _note(self, notes, kind, tensor, make, place=None) -> None:
        key = kind, tensor, place or here()
        if key not in self._noted:
            self._noted[key] = make(key[-1])
            notes.append(self._noted[key])
        self.say(self._noted[key])

    def say(self, finding: Finding) -> None:
        kind = _kind(finding)
        key = (kind, finding.kernel, finding.file, finding.line, finding.tensor)
        if key in self._seen:
            return
        self._seen.add(key)
        if key in self.kinds:
            self.emit({"again": list(key)})
            return
        self.kinds[key] = kind
        self.emit({"finding": self._data(finding, kind, key)})

    def _data(self, finding: Finding, kind: str, key: tuple) -> dict:
        file, line, source = finding.file, finding.line, finding.source
        if not line:  # of the launch itself, such as its grid
            place = here()
            file, line, source = place.file, place.line, place.source
        if not line and self.function is not None:
            file, line = self.function.__code__.co_filename, self.function.__code__.co_firstlineno
        message = finding.message
        if self.configuration:
            message += f" In the configuration {self.configuration}."
        return {
            "key": list(key),
            "kind": kind,
            "level": RULES[kind].level,
            "kernel": finding.kernel,
            "file": file,
            "line": line,
            "source": source,
            "program": list(finding.program) if finding.program else None,
            "tensor": finding.tensor,
            "offset": finding.offset,
            "message": message,
            "cure": RULES[kind].cure,
        }


def _kind(finding: Finding) -> str:
    """The rule that a finding of the emulator falls under."""
    if finding.kind == "kernel-error" and re.search(": (Static)?AssertionError", finding.message):
        return "assertion"
    return finding.kind
