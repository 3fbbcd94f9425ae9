"""The memory that the calls of a job share with this process: arguments are written to it, and results read from it."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import torch

from ..call.contract import Contract
from ..call.examination import Layouts
from ..call.tree import Args, Tree
from . import outcomes
from .child_calls import Came, ChildCall
from .outcomes import Outcomes
from .watch import ChildExit, Limits
from .wire import buffers
from .wire.buffers import BufferLayout, Shared

_ROOM = 1 << 20  # bytes for outputs of an unexpected size, so that a wrong shape can be reported


class CallMemory:
    """Entered for the length of a job. The arguments of a call are written just before it starts: what was recorded
    earlier cannot depend on them.

    calls: of the job, whose arguments are laid out alike. results: the layouts of right ones.
    """

    def __init__(self, contract: Contract, calls: Sequence[ChildCall], results: Layouts):
        self._contract, self._calls, self._stack = contract, calls, ExitStack()
        self._layouts = buffers.lay_out(calls[0].args)
        self._expected = buffers.size_of(outcomes.laid_out(results))
        room = self._expected + _ROOM
        self._rooms = [None if call.room is None else (call.room * room, call.room * room + room) for call in calls]
        self._left: dict[int, Args] = {}  # what each call left in the memory of the arguments that it writes

    def __enter__(self) -> "CallMemory":
        rooms = [room for room in self._rooms if room]
        self.inputs = self._stack.enter_context(Shared(buffers.size_of(self._layouts)))
        self.outputs = self._stack.enter_context(Shared(sum(end - begin for begin, end in rooms)))
        self._put(self._calls[0].args)
        for begin, _ in rooms:
            self.outputs.memory[begin : begin + self._expected] = bytes([buffers.POISON]) * self._expected
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @property
    def nbytes(self) -> int:
        """Of inputs and outputs together."""
        return self.inputs.nbytes + self.outputs.nbytes

    @property
    def addresses(self) -> int:
        """Bytes of address space that the inputs reserve without using memory."""
        return sum(layout.addresses for layout in self._layouts)

    @property
    def described(self) -> list[dict[str, Any]]:
        """The calls as the child's job has them, with the places of their arguments and results."""
        return [
            {"args": _specs(call.args, self._layouts), "shuffle": call.shuffle, "fill": call.fill}
            | {"plan": call.plan, "room": room, "launches": call.launches}
            | {"follow": call.follow, "compare": call.compare, "histories": call.histories}
            | {"choice": call.choice}
            for call, room in zip(self._calls, self._rooms, strict=True)
        ]

    def proceed(self, number: int, reports: bytes) -> bool:
        """Returns whether to make another call after ``made`` calls; if so, writes its arguments to memory."""
        self._look(number)
        last, following = self._calls[number - 1 : number + 1]
        if last.needed and outcomes.failed(reports, number):
            return False
        if following.args is not last.args:
            self._put(following.args)
        else:
            self._restore(following.args)
        return True

    def read(self, ended: ChildExit, limits: Limits, source: str, loading: str) -> list[Came]:
        """Returns what came of each call that was started, after the child ended or waits. source, loading: as
        `Outcomes` has them.
        """
        written = len(self._contract.written(self._calls[0].args))
        child_outcomes = Outcomes(self.outputs, self._contract, written, limits, source).of(ended, self._rooms, loading)
        self._look(len(child_outcomes))
        for number, (call, (outcome, _)) in enumerate(zip(self._calls, child_outcomes, strict=False), start=1):
            if written and outcome.outputs:  # in the memory that was given, whatever the answer's process says
                outcome.outputs = outcome.outputs[:-written] + self._left[number]
            outcome.mutated = self._mutated(call.args)
        return child_outcomes

    def _look(self, number: int) -> None:
        """Keeps what the last of the calls left in the arguments that it writes."""
        args = self._calls[number - 1].args
        writes = self._contract.written(args)
        left = (self.inputs.tensor(layout).clone() for name, layout, _ in self._laid_out(args) if name in writes)
        self._left.setdefault(number, tuple(left))

    def _put(self, args: Args) -> None:
        for layout, tensor in zip(self._layouts, Tree(args).tensors, strict=True):
            buffers.put(self.inputs, layout, tensor)

    def _laid_out(self, args: Args) -> Iterator[tuple[str, BufferLayout, torch.Tensor]]:
        """The name, place and value of each tensor of the arguments."""
        for (name, a), layout in zip(Tree(args).named(self._contract.parameters).items(), self._layouts, strict=False):
            yield name, layout, a

    def _restore(self, args: Args) -> None:
        """Writes again what a call was to write; what it had to leave alone stays as it is, for `_mutated`."""
        writes = self._contract.written(args)
        for name, layout, a in self._laid_out(args):
            if name in writes:
                buffers.put(self.inputs, layout, a)

    def _mutated(self, args: Args) -> tuple[str, ...]:
        """Returns which arguments changed: of those that an answer writes, what lies between the elements."""
        writes, inputs = self._contract.written(args), self.inputs

        def same(name: str, layout: BufferLayout, a: torch.Tensor) -> bool:
            return buffers.nothing_between(inputs, layout) if name in writes else buffers.same(inputs, layout, a)

        return tuple(name for name, layout, a in self._laid_out(args) if not same(name, layout, a))


def _specs(args: Args, layouts: list[BufferLayout]) -> list[dict[str, Any]]:
    rest = iter(layouts)

    def of(value: Any) -> dict[str, Any]:
        if isinstance(value, list):
            return {"list": [of(part) for part in value]}
        return {"tensor": next(rest).data()} if isinstance(value, torch.Tensor) else {"value": value}

    return [of(value) for value in args]
