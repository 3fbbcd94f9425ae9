"""The forms in which kernels are launched: what Triton compiles anew, each described once for its compiler."""

from collections.abc import Hashable
from dataclasses import asdict
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
        form, code = self.new(launch), launch.kernel.__code__
        if isinstance(form, KernelLaunch):
            return {"form": {"launch": asdict(form), "file": code.co_filename, "line": code.co_firstlineno}}
        return {"skipped": {"what": "compiler", "kernel": launch.name, "why": form}} if form else None

    def at(self, launch: Launch) -> dict[str, Any]:
        """What a finding at this launch has of it: ``{"form": ...}``, nothing where it cannot be described."""
        form = described(launch)
        return {"form": asdict(form)} if isinstance(form, KernelLaunch) else {}

    def new(self, launch: Launch) -> KernelLaunch | str | None:
        """The description of a launch, or a sentence that says why there is none; None where its form is not new."""
        form = launch.kernel, repr([*map(_type, launch.arguments), launch.options])
        if form in self._seen:
            return None
        self._seen.add(form)
        if form not in self._described:
            self._described[form] = described(launch)
        return self._described[form]


def described(launch: Launch) -> KernelLaunch | str:
    """A launch for the compiler, or a sentence that says why it cannot be described."""
    if not has_source(launch.kernel):
        return "it was made without source text, so that nothing is known of its lines"
    try:
        (found,) = plain_launches([launch])
    except OSError:  # of a function that it calls
        return "it calls a function without source text"
    return found


def _type(argument: Argument) -> tuple[object, ...]:
    """What of an argument the front end sees. An integer of 1 is a constant."""
    constant = argument.type == "constexpr" or argument.value == 1
    return (argument.type, argument.value if constant else "")
