"""The emulator for any program: findings as they come, one event each."""

import re
import types
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple, NoReturn, Protocol

import torch

from ..emulator.findings import EmulatorError, Finding, current_place
from ..emulator.footprint import ConcurrentLaunch
from ..emulator.launch import Launch
from ..emulator.observer import EndedLaunch, LaunchCall, Observer
from ..rules import RULES
from .declared_mutations import DeclaredMutations
from .generated import ProgramLine, by_helion, by_inductor
from .left_state import LeftState
from .library_buffers import as_tensor, is_buffer
from .masked_loads import MaskedLoads
from .own_kernels import own_kernels
from .saved_tensors import SavedTensors
from .trial_results import TrialResults

Judges = Callable[[types.FunctionType, list[Any]], bool]
_Key = tuple[str | int, ...]  # what makes two findings the same one: kind, kernel, file, line and tensor


_MOST_EARLIER = 256  # launches that are held against a later one


class _Earlier(NamedTuple):
    """A launch: its stream and number there, the numbers of its programs, and how it is named."""

    at: tuple[int, int]
    numbers: range
    who: str


class Streams(Protocol):
    """The streams on which kernels are launched (`cuda.streams`)."""

    def launched(self) -> tuple[int, int]:
        """Counts a launch on the current stream; returns the stream's number, and its own there."""

    def comes_before(self, stream: int, number: int) -> bool:
        """Returns whether a launch comes before what the current stream does next."""

    def several(self) -> bool:
        """Returns whether a program has made a stream beside the default one."""


class Trials(Protocol):
    """Holds what configurations of autotuned kernels store (`configurations.Configurations`)."""

    def ended(self, ended: EndedLaunch, configuration: str) -> None:
        """Takes note of a launch. configuration: whose trial it is; "" where it is none."""

    def forget(self, address: int) -> None:
        """Drops what is known of a storage that is written again, or gone."""

    def lacking(self, address: int, name: str, total: int) -> tuple[int, str]:
        """The first element of a storage that another configuration leaves unwritten, and a sentence on them."""


class LaunchForms(Protocol):
    """The forms in which kernels are launched, for the compiler (`launch_forms.Forms`)."""

    def begin(self) -> None:
        """Begins a part in which each form is new once."""

    def event(self, launch: Launch) -> dict[str, Any] | None:
        """The event about a launch of a new form."""

    def warmup_event(self, kernel: types.FunctionType, describe: Callable[[], Any]) -> dict[str, Any]:
        """The event about a kernel that is compiled and not launched."""

    def key(self, launch: Launch) -> Hashable:
        """Returns what launches of one form have in common."""

    def at(self, launch: Launch) -> dict[str, Any]:
        """Returns what a finding at this launch has of it."""


class Sanitizer(Observer):
    """Watches a program's launches in an emulator that runs them as today's NVIDIA GPUs would, and reports what is
    found.

    emit: called with ``{"finding": {...}}`` when one is seen for the first time, ``{"again": key}`` for each further
    launch that has it, ``{"launch": {...}}`` when a launch begins, ``{"coverage": [...]}`` for what more it reached
    (`Coverage.news`), ``{"form": {...}}`` for each form of a launch (`launch_forms`), and ``{"skipped": {...}}`` for
    what is not tried (`skipped`); ``{"alone": {...}}`` for a launch of which nothing was found and whose programs ran
    one at a time, with its ``kernel`` and ``why``. A finding has ``key, kind, level,
    kernel, file, line, source, program, tensor, offset, message, cure``, and ``form`` where the emulator failed at the
    launch; values are JSON's.
    judges: whether a kernel, given with the arguments of a launch, is to be judged; None: all are. What is found of
    others is emitted as ``{"set aside": kernel}``. known: whether a finding, as it is emitted, fails nothing. A launch
    goes on behind accesses out of bounds that are known, or not judged. forms: describes launches for the compiler;
    without it nothing is asked. ask: called with a new form in place of ``emit``; returns the finding of the compiler,
    which a launch or a warm-up of that form raises, as it would raise the compiler's error; None where there is none.

    Masked-off lanes without ``other`` hold 0, as they do there. Whether a result depends on them is found by running
    the launch again with other values (`masked_loads`).
    """

    # Raises ValueError where a GPU cannot access an argument; None: it can access all. Called with those of a launch.
    assert_reachable: Callable[[list[Any]], None] | None = None
    # Raises RuntimeError where a GPU may not be waited for; None: it may always. Called with what waits.
    waits: Callable[[str], None] | None = None
    streams: Streams | None = None  # None: all launches are on one
    trials: Trials | None = None  # None: what another configuration of an autotuned kernel would store is not looked at
    # Lines of the program (file, number, text) that a generated kernel computes, by its name.
    origins: Mapping[str, list[ProgramLine]] = {}

    def __init__(
        self,
        emit: Callable[[dict[str, Any]], None] = lambda event: None,
        judges: Judges | None = None,
        known: Callable[[dict[str, Any]], bool] | None = None,
        forms: LaunchForms | None = None,
        ask: Callable[[dict[str, Any]], dict[str, Any] | None] | None = None,
    ):
        self.emit, self._chosen, self.known, self._ask = emit, judges, known, ask
        self.moved = 0  # bytes loaded and stored
        self.users: dict[int, tuple[str, str]] = {}  # kernel and parameter that a storage was last given to
        self._number = 0  # of launches
        self._reported: set[_Key] = set()
        self._seen: set[_Key] = set()  # in the launch under way
        self._function: Any = None  # the kernel launched last
        self._judging = True  # whether the launch under way is judged
        self._judged: dict[str, bool] = {}  # whether a kernel of this name is
        self._forms = forms
        self._refused: dict[Hashable, Finding | None] = {}  # what the compiler says of each form
        self._trials: list[
            tuple[types.FunctionType, Callable[[], None]]
        ] = []  # kernels, and what ends a trial of theirs
        self.trial_results = TrialResults()
        self.saved_tensors, self.declared = SavedTensors(self.say), DeclaredMutations(self.say)
        self.computed = False  # whether PyTorch has computed since the last launch
        self._earlier: deque[_Earlier] = deque(maxlen=_MOST_EARLIER)
        self._masked_loads = MaskedLoads(self.say, self._untried)
        self._left_state = LeftState(self.say)

    def next(self) -> None:
        """Begins the next part, such as a test: what is found from now on is reported as if it were new."""
        self._reported.clear()
        self._seen.clear()
        if self._forms:
            self._forms.begin()
        self.emulator.forget_findings()

    def launch_asked(self, call: LaunchCall) -> LaunchCall:
        """The launch with PyTorch's tensors for arguments. Raises EmulatorError; ValueError, as Triton does, for a
        tensor that a GPU cannot access.
        """
        self._seen.clear()
        self._function = fn = call.executor.fn
        self._end_trials(fn.interpreted.fn)
        if call.options.get("launch_cooperative_grid"):
            self.refuse(f"`{fn.__name__}` is a cooperative launch, whose programs wait for each other.")
        args = tuple(self._taken(position, value) for position, value in enumerate(call.args))
        options = {name: self._taken(name, value) for name, value in call.options.items()}
        if self.assert_reachable:
            self.assert_reachable([*args, *options.values()])
        return LaunchCall(call.executor, args, options)

    def _end_trials(self, kernel: types.FunctionType) -> None:
        """Has nobody have written what trials of a kernel alone have stored, before it is launched anew."""
        for _, unwrite in reversed([trial for trial in self._trials if trial[0] is kernel]):
            unwrite()
        self._trials = [trial for trial in self._trials if trial[0] is not kernel]

    def judges(self, call: LaunchCall) -> bool:
        """Returns whether the launch's kernel was chosen, with these arguments."""
        fn = call.executor.fn
        self._judging = self._is_judged(fn, [*call.args, *call.options.values()])
        return self._judging

    def launch_ended(self, ended: EndedLaunch) -> None:
        """Adds up the bytes that a launch moved, notes which storages it was given, and runs it again where its result
        may depend on what it should not. Raises EmulatorError where the compiler refuses what ran here.
        """
        for region in ended.footprint.space.regions:
            self.moved += region.loaded + region.stored
            self.users[region.tensor.untyped_storage().data_ptr()] = ended.launch.name, region.name
        self.saved_tensors.ended(ended)
        self.declared.ended(ended)
        if ended.footprint.alone and not ended.error and not self._seen:  # findings need one program at a time
            self.emit({"alone": {"kernel": ended.launch.name, "why": ended.footprint.alone}})
        if not ended.error and self._judging:
            self._masked_loads.launched(ended)
            self._left_state.launched(ended)
        if self.trials:
            self.trials.ended(ended, self.emulator.configuration)
        if self.emulator.configuration:  # what a trial leaves is not the result, but hooks still find it
            self._trials.append((ended.launch.kernel, ended.unwrite))
            self.trial_results.ended(ended)
        if self._judging and ended.launch.name not in self.origins and _ran(ended.error):
            self._put_to_compiler(ended, raises=not ended.error)

    def warmed_up(self, kernel: types.FunctionType, options: dict[str, Any], describe: Callable[[], Any]) -> None:
        """Has the compiler look at a kernel that is compiled and not launched. Raises EmulatorError."""
        if self._chosen is not None and not self._chosen(kernel, []):
            return
        self.emulator.check_options(kernel, options)
        if self._forms and (finding := self._answer(self._forms.warmup_event(kernel, describe))):
            error = self.emulator.refusal(finding)
            self.emulator.record(error)
            raise error

    def _put_to_compiler(self, ended: EndedLaunch, raises: bool) -> None:
        """Has the compiler look at a launch of a new form. Raises EmulatorError where it refuses that form, then and in
        every further launch, but for findings that are known and trials of an autotuner.
        """
        if self._forms is None:
            return
        form = self._forms.key(ended.launch)
        if event := self._forms.event(ended.launch):
            if "form" in event:
                event["form"]["products"] = sorted(ended.footprint.products)
            self._refused[form] = self._answer(event)
        if finding := self._refused.get(form):
            trial = self.emulator.configuration and finding.kind != "resources"  # which an autotuner passes over
            if raises and not trial and not self.passes(finding):
                raise self.emulator.refusal(finding)
            self.say(finding)

    def _answer(self, event: dict[str, Any]) -> Finding | None:
        """The compiler's finding about a form."""
        if not self._ask or "form" not in event:
            self.emit(event)
            return None
        if said := self._ask(event["form"]):
            return Finding(**{name: said[name] for name in ("kind", "message", "kernel", "line", "source", "file")})
        return None

    def reached(self, functions: list[dict[str, Any]]) -> None:
        """Emits what a launch reached, but of generated kernels."""
        if news := [function for function in functions if function["kernel"] not in self.origins]:
            self.emit({"coverage": news})

    def _is_judged(self, fn: Any, arguments: list[Any]) -> bool:
        name = fn.__name__
        judged = self._chosen is None or name in self.origins or self._chosen(fn.interpreted.fn, arguments)
        self._judged[name] = judged or self._judged.get(name, False)
        return judged

    def try_configuration(self, run: Callable[[], Any], twice: bool) -> bool:
        """Runs a configuration of an autotuner, and again where its results may depend on what it has left behind.
        Raises RuntimeError, as CUDA does, while a graph is captured: a GPU waits for the time it takes.
        """
        if self.waits:
            self.waits("the benchmark of an autotuner")
        return self._left_state.run(run, twice)

    def left_out(self, kernel: str) -> None:
        """Emits that a configuration was not run."""
        why = "one that was run differs in options of the compiler alone (num_warps, num_stages, maxnreg)"
        self.emit({"skipped": {"what": "configuration", "kernel": kernel, "why": why}})

    def passes(self, finding: Finding) -> bool:
        """Returns whether a finding is known, or of a kernel that is not judged."""
        if not self._judged.get(finding.kernel, True):
            return True
        return self.known is not None and self.known(self._data(finding, _kind(finding), ()))

    def never_called(self) -> None:
        """Emits what the program has of kernels that it never launched."""
        if self._chosen is None and (rest := self.emulator.never_called(own_kernels())):
            self.emit({"coverage": rest})

    def _untried(self, kernel: str, why: str) -> None:
        self.emit({"skipped": {"what": "masked-load", "kernel": kernel, "why": why}})

    def _taken(self, position: int | str, value: Any) -> Any:
        """An argument of a launch as the emulator takes it."""
        if not is_buffer(value):
            return value
        tensor = as_tensor(value)
        if tensor is None:
            what = f"argument {position} of `{self._function.__name__}` is a {type(value).__name__}"
            self.refuse(f"The emulator takes PyTorch's tensors, and {what} without one.")
        return tensor

    def refuse(self, text: str) -> NoReturn:
        """Records that ``text`` says why something cannot be emulated, and raises EmulatorError with it."""
        place = current_place()
        error = EmulatorError(
            Finding("not-emulated", f"{text} ({place})", "", line=place.line, source=place.source, file=place.file)
        )
        self.emulator.record(error)
        raise error

    def freed(self, kernel: str, argument: str) -> None:
        """Reports that a CUDA graph is replayed on memory that was freed since its capture. kernel: or an operator."""
        place = current_place()
        text = (
            f"A CUDA graph, replayed in {place}, hands `{kernel}` the memory of {argument}, which was freed after the "
            "capture: a graph has addresses and keeps nothing alive, and what is allocated next may lie there."
        )
        self.say(Finding("freed-memory", text, kernel, argument, None, None, place.line, place.source, place.file))

    def launch_begins(self, launch: Launch) -> None:
        """Emits that a launch begins."""
        self._number += 1
        judged = self._judged.get(launch.name, True)
        about = {"kernel": launch.name, "grid": list(launch.grid), "number": self._number, "judged": judged}
        self.emit({"launch": about})

    def unordered(self) -> bool:
        """Returns whether the program has several streams."""
        return self.streams is not None and self.streams.several()

    def beside(self, launch: Launch, numbers: range) -> list[ConcurrentLaunch]:
        """The launches of other streams that the current one has not waited for; of a dependent launch the one before
        it on its own, too.
        """
        earlier: list[ConcurrentLaunch] = []
        stream, count = 0, self._number
        if streams := self.streams:
            stream, count = streams.launched()
            earlier = [
                ConcurrentLaunch(earlier_launch.numbers, earlier_launch.who)
                for earlier_launch in self._earlier
                if not streams.comes_before(*earlier_launch.at)
            ]
        if dict(launch.options).get("launch_pdl"):
            before = [
                earlier_launch
                for earlier_launch in self._earlier
                if earlier_launch.at == (stream, count - 1) and not self.computed
            ]
            earlier += [
                ConcurrentLaunch(earlier_launch.numbers, earlier_launch.who, dependent=True)
                for earlier_launch in before
            ]
        self.computed = False
        self._earlier.append(_Earlier((stream, count), numbers, f"`{launch.name}`, launched in {current_place()},"))
        return earlier

    def forgotten(self, address: int) -> None:
        """Drops what is known of a storage that is gone, or new."""
        self.users.pop(address, None)
        if self.trials:
            self.trials.forget(address)

    def copied(self, tensor: torch.Tensor, source: torch.Tensor) -> None:
        """Notes that ``tensor`` is a copy of ``source``, uninitialised elements included."""
        user = self.users.get(source.untyped_storage().data_ptr())
        if user:
            self.users[tensor.untyped_storage().data_ptr()] = user

    def found(self, finding: Finding) -> None:
        """Reports a finding; of masked loads `masked_loads` reports those that matter."""
        if finding.kind != "masked-load":
            self.say(finding)

    def _form(self, finding: Finding) -> dict[str, Any]:
        """The launch at which the emulator failed, for the compiler: ``{"form": ...}``, nothing where there is none."""
        if finding.kind == "kernel-error" and self._forms:
            for launch in self.emulator.launches[-1:]:
                if launch.name == finding.kernel:
                    return self._forms.at(launch)
        return {}

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
            place = current_place()
            file, line, source = place.file, place.line, place.source
        if not line and self._function is not None:
            file, line = self._function.__code__.co_filename, self._function.__code__.co_firstlineno
        message = finding.message
        if origin := by_inductor(finding.kernel, self.origins):
            (file, line, source), sentence = origin
            message += sentence
        else:
            message += by_helion(file, line)
        if self.emulator.configuration:
            message += f" In the configuration {self.emulator.configuration}."
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


def _ran(error: BaseException | None) -> bool:
    """Returns whether the emulator ran a launch to its end, or to an access that a GPU would not refuse."""
    return error is None or (isinstance(error, EmulatorError) and error.finding.kind in Finding.OF_MEMORY)


def _kind(finding: Finding) -> str:
    """The rule that a finding of the emulator falls under."""
    if finding.kind == "kernel-error" and re.search(": (Static)?AssertionError", finding.message):
        return "assertion"
    return finding.kind
