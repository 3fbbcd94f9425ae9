"""The forms in which kernels are launched: what Triton compiles anew, each described once for its compiler."""

from collections.abc import Callable, Hashable
from dataclasses import asdict
from types import FunctionType
from typing import Any

from ..compiler import KernelLaunch
from ..compiler.launches import plain_launches
from ..emulator.launch import Argument, Launch
from ..emulator.rewrite import has_source


class Forms:
    """Describes the launches of a program. ``begin`` has them be new again, as for the next test."""

    def __init__(self) -> None:
        self._described: dict[Hashable, KernelLaunch | str] = {}
        self._seen: set[Hashable] = set()

    def begin(self) -> None:
        """Begins a part in which each form is new once."""
        self._seen.clear()

    def event(self, launch: Launch) -> dict[str, Any] | None:
        """The event of a `Sanitizer` that has the compiler asked about a launch of a new form, or says why not."""
        form = self.new(launch)
        return _event(form, launch.kernel) if form else None

    def warmup_event(self, kernel: FunctionType, describe: Callable[[], KernelLaunch]) -> dict[str, Any]:
        """The same of a kernel that is compiled and not launched."""
        try:
            return _event(describe(), kernel, ran=False)
        except (OSError, TypeError, ValueError) as error:
            return _event(str(error), kernel)

    def at(self, launch: Launch) -> dict[str, Any]:
        """Returns what a finding at this launch has of it: ``{"form": ...}``, nothing where it cannot be described."""
        form = described(launch)
        return {"form": asdict(form)} if isinstance(form, KernelLaunch) else {}

    def new(self, launch: Launch) -> KernelLaunch | str | None:
        """The description of a launch, or a sentence that says why there is none; None where its form is not new."""
        form = self.key(launch)
        if form in self._seen:
            return None
        self._seen.add(form)
        if form not in self._described:
            self._described[form] = described(launch)
        return self._described[form]

    def key(self, launch: Launch) -> Hashable:
        """Returns what launches of one form have in common."""
        return launch.kernel, repr([*map(_type, launch.arguments), launch.options])


def _event(form: KernelLaunch | str, kernel: FunctionType, ran: bool = True) -> dict[str, Any]:
    if isinstance(form, str):
        return {"skipped": {"what": "compiler", "kernel": kernel.__name__, "why": form}}
    code = kernel.__code__
    return {"form": {"launch": asdict(form), "file": code.co_filename, "line": code.co_firstlineno, "ran": ran}}


def described(launch: Launch) -> KernelLaunch | str:
    """A launch for the compiler, or a sentence that says why it cannot be described."""
    if not has_source(launch.kernel):
        return "it was made without source text, so that nothing is known of its lines"
    try:
        (launched,) = plain_launches([launch])
    except OSError:  # of a function that it calls
        return "it calls a function without source text"
    return launched


def _type(argument: Argument) -> tuple[object, ...]:
    """Returns what of an argument the front end sees. An integer of 1 is a constant."""
    constant = argument.type == "constexpr" or argument.value == 1
    return (argument.type, argument.value if constant else "")
