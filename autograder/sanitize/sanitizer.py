"""The emulator for any program: findings as they come, one event each."""

import contextlib
import re
import types
from collections.abc import Callable, Container, Mapping
from dataclasses import asdict
from typing import Any, NoReturn

import torch

from ..compiler import KernelLaunch
from ..emulator import Emulator, EmulatorError, Finding, Launch
from ..emulator.access import Access
from ..emulator.coverage import Coverage
from ..emulator.findings import Place, here
from ..emulator.launch import execute
from ..run.cuda import graphs
from ..run.launches import plain_launches
from .buffers import as_tensor, is_buffer
from .generated import Line, by_helion, by_inductor
from .left_state import LeftState
from .masked_loads import MaskedLoads
from .own_kernels import own_kernels
from .rerun import Call
from .rules import RULES

_MOST_LAUNCHES = 10_000  # that are kept; a program may have millions
Judges = Callable[[types.FunctionType, list[Any]], bool]
_Key = tuple[str | int, ...]  # what makes two findings the same one: kind, kernel, file, line and tensor


class Sanitizer(Emulator):
    """Runs a program's launches as today's NVIDIA GPUs would, in every configuration, and reports what it finds.

    emit: called with ``{"finding": {...}}`` when one is seen for the first time, ``{"again": key}`` for each further
    launch that has it, ``{"launch": {...}}`` when a launch begins, ``{"coverage": [...]}`` for what more it reached
    (`Coverage.news`), and ``{"skipped": {...}}`` for what is not tried (`skipped`). A finding has ``key, kind, level,
    kernel, file, line, source, program, tensor, offset, message, cure``, and ``form`` where the compiler may say more
    (`compiled_as_well`); values are JSON's.
    judges: whether a kernel, given with the arguments of a launch, is to be judged; None: all are. What is found of
    others is emitted as ``{"set aside": kernel}``. known: whether a finding, as it is emitted, fails nothing. A launch
    goes on behind accesses out of bounds that are known, or not judged.

    Masked-off lanes without ``other`` hold 0, as they do there. Whether a result depends on them is found by running
    the launch again with other values (`masked_loads`).
    """

    every_configuration = keeps = True
    coverage: Coverage
    reachable: Callable[[torch.Tensor], bool] | None = None  # whether a GPU can access the tensor; None: it can
    # Lines of the program (file, number, text) that a generated kernel computes, by its name.
    origins: Mapping[str, list[Line]] = {}

    def __init__(
        self,
        emit: Callable[[dict[str, Any]], None] = lambda event: None,
        judges: Judges | None = None,
        known: Callable[[dict[str, Any]], bool] | None = None,
    ):
        self.emit, self.judges, self.known = emit, judges, known
        self.passes = self._passes if judges or known else None
        self.coverage = Coverage()
        super().__init__(fill=0.0)

    def _clear(self) -> None:
        super()._clear()
        self._reported: set[_Key] = set()
        self.moved = 0  # bytes loaded and stored
        self._number = 0  # of launches
        self.users: dict[int, tuple[str, str]] = {}  # kernel and parameter that a storage was last given to
        self._noted: dict[tuple[str, str, Place], Finding] = {}
        self._seen: set[_Key] = set()  # in the launch under way
        self.function: Any = None  # the kernel launched last
        self._judged: dict[str, bool] = {}  # whether a kernel of this name is judged
        self._masked_loads = MaskedLoads(self, self.say, self._untried)
        self._left_state = LeftState(self, self.say)

    def next(self) -> None:
        """Begins the next part, such as a test: what is found from now on is reported as if it were new."""
        for notes in (self._reported, self._noted, self._seen, self._findings, self._launches, self._traffic):
            notes.clear()
        self._hints.clear()
        self._noticed.clear()
        self._shadows.clear()

    def launch(self, executor: Any, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        """Runs one launch. Raises EmulatorError; ValueError, as Triton does, for a tensor that a GPU cannot access."""
        self._seen.clear()
        self.function = executor.fn
        if options.get("launch_cooperative_grid"):
            self.refuse(f"`{executor.fn.__name__}` is a cooperative launch, whose programs wait for each other.")
        with torch._C.DisableTorchFunction():
            args = tuple(self._taken(position, value) for position, value in enumerate(args))
            options = {name: self._taken(name, value) for name, value in options.items()}
            for position, value in enumerate([*args, *options.values()]):
                if self.reachable and isinstance(value, torch.Tensor) and not self.reachable(value):
                    raise ValueError(
                        f"Pointer argument (at {position}) cannot be accessed from Triton (cpu tensor?)"
                    )  # as Triton says it
            call = Call(executor, args, options)
            try:
                if self._judge(executor.fn, [*args, *options.values()]):
                    self._masked_loads.launch(call)
                    self._left_state.launched(call, self.ended)
                else:
                    with self.coverage.paused():
                        execute(self, *call)
            finally:
                self.ended = None  # what it kept may be large
                if news := [one for one in self.coverage.news() if one["kernel"] not in self.origins]:
                    self.emit({"coverage": news})

    def _judge(self, fn: Any, arguments: list[Any]) -> bool:
        name = fn.__name__
        judged = self.judges is None or name in self.origins or self.judges(fn.interpreted.fn, arguments)
        self._judged[name] = judged or self._judged.get(name, False)
        return judged

    def try_configuration(self, call: Callable[[], Any], twice: bool) -> bool:
        """Runs a configuration of an autotuner, and again where its results may depend on what it has left behind.
        Raises RuntimeError, as CUDA does, while a graph is captured: a GPU waits for the time it takes.
        """
        graphs.forbid("the benchmark of an autotuner")
        return self._left_state.run(call, twice)

    def passed_over(self, kernel: str) -> None:
        """Emits that a configuration was not run."""
        why = "one that was run differs in options of the compiler alone (num_warps, num_stages, maxnreg)"
        self.emit({"skipped": {"what": "configuration", "kernel": kernel, "why": why}})

    def _passes(self, finding: Finding) -> bool:
        if not self._judged.get(finding.kernel, True):
            return True
        return self.known is not None and self.known(self._data(finding, _kind(finding), ()))

    def never_called(self) -> None:
        """Emits what the program has of kernels that it never launched."""
        if self.judges is None and (rest := self.coverage.never_called(own_kernels())):
            self.emit({"coverage": rest})

    def _untried(self, kernel: str, why: str) -> None:
        self.emit({"skipped": {"what": "masked-load", "kernel": kernel, "why": why}})

    def _taken(self, position: int | str, value: Any) -> Any:
        """An argument of a launch as the emulator takes it."""
        if not is_buffer(value):
            return value
        tensor = as_tensor(value)
        if tensor is None:
            what = f"argument {position} of `{self.function.__name__}` is a {type(value).__name__}"
            self.refuse(f"The emulator takes PyTorch's tensors, and {what} without one.")
        return tensor

    def refuse(self, text: str) -> NoReturn:
        """Records that ``text`` says why something cannot be emulated, and raises EmulatorError with it."""
        place = here()
        error = EmulatorError(
            Finding("not-emulated", f"{text} ({place})", "", line=place.line, source=place.source, file=place.file)
        )
        self.record(error)
        raise error

    def begin(self, launch: Launch) -> Access:
        """Emits that a launch begins."""
        self._number += 1
        judged = self._judged.get(launch.name, True)
        about = {"kernel": launch.name, "grid": list(launch.grid), "number": self._number, "judged": judged}
        self.emit({"launch": about})
        if len(self._launches) >= _MOST_LAUNCHES:
            del self._launches[: _MOST_LAUNCHES // 2]
        return super().begin(launch)

    def forget(self, address: int) -> None:
        """Drops what is known of a storage that is gone."""
        super().forget(address)
        self.users.pop(address, None)

    def end(self, access: Access) -> None:
        """Adds up the bytes that a launch moved, and notes which storages it was given."""
        super().end(access)
        for region in access.space.regions:
            self.moved += region.loaded + region.stored
            self.users[region.tensor.untyped_storage().data_ptr()] = access.kernel, region.name

    def allocated(self, tensor: torch.Tensor) -> None:
        """Poisons the uninitialised memory of a new tensor."""
        self.poison_(tensor)
        self.users.pop(tensor.untyped_storage().data_ptr(), None)

    @property
    def poisoned(self) -> Container[int]:
        """Addresses of the storages that may still hold elements as `torch.empty` left them."""
        return self._poisoned.keys()

    def mark_initialised(self, address: int) -> None:
        """Stops looking for uninitialised elements in the storage at this address."""
        self._poisoned.pop(address, None)

    def copied(self, tensor: torch.Tensor, source: torch.Tensor) -> None:
        """Notes that ``tensor`` is a copy of ``source``, uninitialised elements included."""
        storage = tensor.untyped_storage()
        self._poisoned[storage.data_ptr()] = storage.nbytes(), tensor.dtype
        self._shadows.pop(storage.data_ptr(), None)
        user = self.users.get(source.untyped_storage().data_ptr())
        if user:
            self.users[storage.data_ptr()] = user

    def record(self, error: EmulatorError) -> None:
        """Records and reports the finding that stopped a launch."""
        super().record(error)
        self.say(error.finding)

    def _form(self, finding: Finding) -> dict[str, Any]:
        """The launch at which the emulator failed, for the compiler: ``{"form": ...}``, nothing where there is none."""
        if finding.kind == "kernel-error":
            with contextlib.suppress(OSError):  # a function of a module without source
                for form in plain_launches(launch for launch in self._launches[-1:] if launch.name == finding.kernel):
                    if isinstance(form, KernelLaunch):
                        return {"form": asdict(form)}
        return {}

    def notice(self, kind: str, make: Callable[[Place], Finding], tensor: str = "", place: Place | None = None) -> None:
        """Notes a hint, but not a masked load: `masked_loads` reports those that matter."""
        if kind != "masked-load":
            super().notice(kind, make, tensor, place)

    def _note(
        self,
        notes: list[Finding],
        kind: str,
        tensor: str,
        make: Callable[[Place], Finding],
        place: Place | None = None,
    ) -> None:
        key = kind, tensor, place or here()
        if key not in self._noted:
            self._noted[key] = make(key[-1])
            notes.append(self._noted[key])
        self.say(self._noted[key])

    def say(self, finding: Finding) -> None:
        """Emits a finding; only its key where it was emitted before, and nothing twice in a launch."""
        kind = _kind(finding)
        key = (kind, finding.kernel, finding.file, finding.line, finding.tensor)
        if key in self._seen:
            return
        self._seen.add(key)
        if key in self._reported:
            if self._judged.get(finding.kernel, True):
                self.emit({"again": list(key)})
            return
        self._reported.add(key)
        if not self._judged.get(finding.kernel, True):
            self.emit({"set aside": finding.kernel})
            return
        self.emit({"finding": self._data(finding, kind, key)})

    def _data(self, finding: Finding, kind: str, key: _Key) -> dict[str, Any]:
        file, line, source = finding.file, finding.line, finding.source
        if not line:  # of the launch itself, such as its grid
            place = here()
            file, line, source = place.file, place.line, place.source
        if not line and self.function is not None:
            file, line = self.function.__code__.co_filename, self.function.__code__.co_firstlineno
        message = finding.message
        if origin := by_inductor(finding.kernel, self.origins):
            (file, line, source), sentence = origin
            message += sentence
        else:
            message += by_helion(file, line)
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
            **self._form(finding),
        }


def _kind(finding: Finding) -> str:
    """The rule that a finding of the emulator falls under."""
    if finding.kind == "kernel-error" and re.search(": (Static)?AssertionError", finding.message):
        return "assertion"
    return finding.kind
