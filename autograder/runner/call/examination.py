"""Says what passes between the judge, which knows what is right, and the code that it does not trust.

A runner knows how to call one answer. It gets a `Call` and hands back what it examined; expected values, tolerance and
verdict stay with the judge.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import torch

from ...gpu import KernelLaunch, Target, mode
from .outcome import Outcome, ProbeInput, Trouble
from .tree import Args

Layouts = tuple[tuple[torch.dtype, torch.Size], ...]  # of results, one by one
Index = tuple[int, ...]  # of an element


@dataclass(frozen=True)
class Call:
    """A call of an answer that is to be examined.

    layouts: the dtype and shape of each right result; none where they are not known. An isolated runner reserves memory
    for results of this size, and for small results of any other.
    order: seeds another order of the programs of every launch, for the second call; None for an answer without kernels.
    fill: what masked-off lanes of a load without ``other`` hold; poison where it is None.
    probe_input: makes other arguments of the same kind, at every call new ones, on which an isolated runner calls the
    answer, too; where it is None, random numbers of the same layout.
    choice: names the configuration of each autotuned kernel, which nothing that the answer passes decides then.
    memory: bytes that the answer's process may hold for this call, where the runner can limit them (`Facts`).
    twice: whether gradients are those of a second way through the graph (`Callee`).
    fresh: whether the answer is called in a process that no other call was made in, where there are processes.
    """

    args: Args
    layouts: Layouts = ()
    order: int | None = None
    fill: float | None = None
    probe_input: Callable[[], ProbeInput] | None = None
    choice: int | None = None
    memory: int | None = None
    twice: bool = False
    fresh: bool = False

    def new_probe_input(self) -> ProbeInput:
        """Another probe input: the call's own, or else any numbers in the layout of its arguments."""
        return self.probe_input() if self.probe_input else ProbeInput.any_numbers(self.args)


class Examined:
    """Holds what a runner finds out about one call. Only the first call has been made; each further one is made when it
    is asked for. Those of this class, for what is called once, give the first outcome again.
    """

    def __init__(self, call: Call, first: Outcome):
        self.call, self.first = call, first

    @property
    def poisoned(self) -> bool:
        """Returns whether a load without ``other`` had masked-off lanes, and the first call poison in them."""
        return self.first.undefined and self.call.fill is None

    @cached_property
    def again(self) -> Outcome:
        """The same call once more, with the programs of every launch in the order that ``call.order`` seeds, and 0 in
        lanes that were poisoned. An isolated Triton answer's kernels are launched alone, without the rest of it.
        """
        return self._second(0.0 if self.poisoned else self.call.fill)

    @property
    def proven(self) -> Outcome:
        """The outcome for which the least is owed to what the answer keeps: of an isolated Triton answer that of its
        kernels alone.
        """
        return self.first

    @property
    def method(self) -> Trouble | None:
        """Why the second call was refused: the result does not come about in the way that the exercise asks for."""
        trouble = self.again.trouble
        return trouble if trouble and trouble.kind == "refused" else None

    @property
    def in_order(self) -> Outcome:
        """A second call in the order of the first, with the same in masked-off lanes."""
        return self.again if self.call.order is None else self._repeated()

    def refilled(self, fill: float) -> Outcome:
        """The launches of the first call, with ``fill`` in masked-off lanes."""
        return self.first

    @property
    def histories(self) -> Args:
        """For each result an int64 for each of its elements, alike where they were computed alike; none where that is
        not known.
        """
        return ()

    def parting(self, other: Args, output: int, here: Index, there: Index) -> tuple[str, ...]:
        """Where the computation of an element of a result parts from that of an element of a call on ``other``, in
        words: what is done here, and what there; none where that is not known.
        """
        return ()

    def _second(self, fill: float | None) -> Outcome:
        return self.first

    def _repeated(self) -> Outcome:
        return self.first


class Compiles(Protocol):
    """Compiles what an answer launches; see `sandbox.compiler.Compiler`."""

    def start(self) -> None:
        """Starts its process, without waiting for it."""

    def report(
        self,
        launches: Sequence[KernelLaunch],
        targets: Sequence[Target] | None = None,
        whole: bool = True,
        measured: Sequence[KernelLaunch] = (),
    ) -> dict[str, Any]:
        """Returns what compilers make of the launches, as `compiler.compile_report` says it."""

    def machine_code(self, launches: Sequence[KernelLaunch]) -> dict[str, Any]:
        """Returns what their machine code allows at most, as `compiler.machine_code_report` says it."""


@dataclass(frozen=True)
class Facts:
    """Holds what a judge may know of a runner.

    mode: how it runs Triton kernels: ``emulator``, ``device`` or, where there are none, ``no triton``.
    isolated: whether the answer runs in a process of its own, its kernels in the emulator.
    limits_memory: whether it can hold a process to ``Call.memory``.
    compiler: compiles what the answer launches, as isolated as the answer is; None where it launches nothing.
    in_emulator: where it calls the answer on a GPU, makes the runner that calls the same text in the emulator. Raises
        SandboxError.
    ready: all calls of a check are made in its block.
    """

    mode: str = field(default_factory=mode)
    isolated: bool = False
    limits_memory: bool = False
    compiler: Compiles | None = None
    in_emulator: "Callable[[], AbstractContextManager[Runner]] | None" = None
    ready: Callable[[], AbstractContextManager[None]] = nullcontext


class Runner(Protocol):
    """Calls one answer."""

    @property
    def facts(self) -> Facts:
        """Returns what a judge may know of it."""

    def examine(self, call: Call) -> Examined:
        """Calls the answer, and returns what came of it and what can be found out next."""


class Unloadable:
    """Stands for an answer whose code does not run: every call has the same trouble."""

    def __init__(self, trouble: Trouble):
        self.trouble, self.facts = trouble, Facts()

    def examine(self, call: Call) -> Examined:
        """The trouble, whatever the call."""
        return Examined(call, Outcome(trouble=self.trouble))
