"""A runner for answers that are not trusted: in a process that knows nothing but the arguments of its calls.

    with Isolated(answer, record.contract, "triton", results=record.results, limits=Limits(seconds=5)) as runner:
        report = judge(record, "triton", runner)

Expected values stay in this process. An answer gets its arguments as raw memory and returns raw memory, of which a copy
is judged. Its process is kept from case to case; a call that repeats arguments starts a new one.
"""

import json
import os
import re
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import torch

from ..run.answer import Answer
from ..run.contract import Contract
from ..run.outcome import Decoy, Outcome, Trouble
from . import outcomes
from .answers import Worker
from .compiler import Compiler
from .host import WorkerLost
from .lasting import Lasting
from .proof import Call, Called, Proof
from .sources import Sources
from .status import Status
from .watch import SHOWN, Budget, Ended, Limits, Task
from .wire import buffers
from .wire.buffers import Layout, Shared
from .wire.checked import clean
from .worker.confine import SLACK

_ROOM = 1 << 20  # bytes for outputs of an unexpected size, so that a wrong shape can be reported
# PyTorch's compiler takes longer to import than everything else that a worker does. For answers whose text matches,
# which may use it directly or through `torch.func`, the worker imports it; any other pays for the import itself.
_COMPILER = "torch._dynamo"
_REACHES_IT = re.compile(r"compil|dynamo|functorch|\bfunc\b|jvp|checkpoint|optim|profiler|library|graph|dispatch", re.I)
_LOST = "The process that runs the answers ended during the call."


class Isolated:
    """Calls an answer in a worker, which gets its ``contract`` and nothing else.

    results: the dtypes and shapes of correct results for given arguments. Memory is reserved for outputs of this size,
    and for small outputs of any other.
    notebook: a budget that this answer shares with others.
    worker: one that answers share; without it, one is started, and ends with the ``with`` block.
    rung: the level of isolation of a worker that is started, by default the best available. Raises SandboxError if it
    is not available.
    """

    def __init__(
        self,
        answer: Answer,
        contract: Contract,
        backend: str,
        *,
        results: Callable[[tuple], list[tuple[torch.dtype, torch.Size]]] = lambda args: [],
        limits: Limits = Limits(),  # noqa: B008  frozen
        notebook: Budget | None = None,
        worker: Worker | None = None,
        rung: str | None = None,
    ):
        self.answer, self.contract, self.backend, self.limits = answer, contract, backend, limits
        self._results = results
        self._worker = worker or Worker(rung)
        self._own = worker is None
        self._lasting = Lasting(self._worker)
        self._sources = Sources(answer)
        self._job: dict[str, Any] = {"mode": "answer", "answer": self._code()}
        self._modules = (_COMPILER,) if _REACHES_IT.search(answer.setup + answer.text) else ()
        self._proof = Proof(self._ask, self._job, self._sources, contract.allowed, limits.memory)
        self._budgets = [Budget("answer", limits.total_seconds), *([notebook] if notebook else [])]
        self._shapes: dict[str, list[Layout]] = {}
        self._last: Called | None = None
        self._new = True
        self.printed = ""  # by the last call

    def __enter__(self) -> "Isolated":
        return self

    def __exit__(self, *error) -> None:
        self._lasting.close()
        if self._own:
            self._worker.close()

    @property
    def compiler(self) -> Compiler:
        """Compiles what the answer launches, on the rung that the answer runs on."""
        return self._worker.compiler

    def call(self, args: tuple, *, fill: float | None = None, decoy: Callable[[], Decoy] | None = None) -> Outcome:
        """See `Runner.call`. Troubles in addition to an answer's own: ``timeout``, ``memory``, ``output``, ``crashed``.

        Every call but the first is made in a process that has already called the answer on a decoy: on ``decoy()``, or
        without it on random numbers of the same layout. The decoy's result is in the outcome of the call or of its
        confirmation.
        """
        self._last = self._called(args, None, decoy or (lambda: any_numbers(args)), fill)
        return self._last.first

    def confirm(
        self,
        args: tuple,
        *,
        shuffle: int | None = None,
        fill: float | None = None,
        decoy: Callable[[], Decoy] | None = None,
    ) -> Outcome:
        """See `Runner.confirm`. For a Triton answer with ``shuffle``: the proof that its kernels alone, launched
        without the rest of it (see `replay`), give the same result; otherwise another call.

        Raises ValueError if the last call was not on these arguments.
        """
        decoy, called = decoy or (lambda: any_numbers(args)), self._last
        if called is None or called.args is not args:
            raise ValueError("confirm repeats the last call: it takes the same arguments")
        if self.backend == "triton" and shuffle is not None and called.first.outputs:
            return self._proof.of(called, shuffle, fill, decoy)
        if called.second is None:
            return self._called(args, shuffle, decoy, fill).first
        again, called.second = called.second, None
        return again

    def refill(self, args: tuple, fill: float) -> Outcome:
        """See `Runner.refill`: of a Triton answer."""
        if self._last is None or self._last.args is not args:
            raise ValueError("refill repeats the last call: it takes the same arguments")
        return self._proof.alone(self._last, [Call(args, 0, fill=fill)])

    def replay(self, args: tuple, *, shuffle: int | None = None) -> Outcome:
        """What the kernels of a Triton answer alone compute for ``args``.

        The answer is called on other numbers of the same layout, and what it does with its tensors is recorded. The
        record is replayed on ``args`` in a process that contains the kernels and nothing else of the answer, so that
        whatever was computed outside them is missing.
        """
        return self._proof.alone(self._called(args, None, lambda: any_numbers(args)), [Call(args, 0, shuffle)])

    def within(self, args: tuple, memory: int, results: list[tuple[torch.dtype, torch.Size]]) -> Outcome:
        """One call in a process that may hold ``memory`` bytes, and the slack of `confine.limit`, beyond what a process
        holds before it loads the answer. The operating system enforces the limit, however memory is allocated. results:
        dtypes and shapes of the outputs, because the oracle would need far more memory to compute them.
        """
        self._shapes[_layout_key(args)] = outcomes.laid_out(results)
        limits = replace(self.limits, memory=min(memory, self.limits.memory), grace=SLACK)
        return self._ask(dict(self._job), [Call(args, 0)], limits, alone=True)[0][0]

    def _called(
        self, args: tuple, shuffle: int | None, decoy: Callable[[], Decoy], fill: float | None = None
    ) -> Called:
        """Calls the answer on a decoy, in Triton for the record, then on ``args``. What is recorded on the decoy owes
        nothing to ``args`` only where its process has not seen them before.
        """
        if self._last is not None and _share(self._last.args, args):
            self._lasting.end(self._job["mode"])
        job, triton = dict(self._job), self.backend == "triton"
        alone, self._new = self._new and not triton, False
        if alone or self.contract.witness:
            return Called(args, self._ask(job, [Call(args, room=0)])[0][0])
        other = decoy()
        if triton:
            calls = [Call(other.args, plan=True, needed=False), Call(args, 0, shuffle, fill), Call(args, plan=True)]
        else:
            calls = [Call(other.args, 2, needed=False), Call(args, 0), Call(args, 1)]
        before, *rest = self._ask(job, calls)
        if triton:
            after = (*rest, None, None)[1]
            return Called(args, (rest or [before])[0][0], before=before, after=after, fill=fill)
        first, *second = [outcome for outcome, _ in rest or [before]]
        called = Called(args, first, second[0] if second else None, before=before, fill=fill)
        if rest:
            called.first.decoy = other, before[0]
        return called

    def _code(self) -> dict:
        cells = [[cell.name, cell.source] for cell in self.answer.cells]
        own = self.answer
        more = {"setup": own.setup, "after": own.after, "module": own.module}
        more |= {"name": own.name, "modules": [asdict(one) for one in own.modules]}
        return {"exercise": own.exercise, "cells": cells} | more

    def _ask(
        self, job: dict, calls: list[Call], limits: Limits | None = None, alone: bool = False
    ) -> list[tuple[Outcome, Status]]:
        """For each call that was started the outcome and the child's report. alone: in a process of their own.

        A call's arguments are written to memory just before it starts: what was recorded earlier cannot depend on them.
        """
        limits = limits or self.limits
        for budget in self._budgets:
            if broken := budget.broken(limits.wall_factor):
                return [(Outcome(trouble=Trouble("timeout", outcomes.too_long(broken))), Status())]
        held = calls[0].args
        layouts = buffers.lay_out(_tensors(held))
        expected = buffers.size_of(self._expected(calls[-1].args))
        room = expected + _ROOM
        rooms = [None if call.room is None else (call.room * room, call.room * room + room) for call in calls]
        steps = 1 + len(self.answer.cells) if job["mode"] == "answer" else 0
        job |= {"contract": self.contract.to_dict(), "backend": self.backend, "steps": steps}
        job["calls"] = [
            {"args": _specs(call.args, layouts), "shuffle": call.shuffle, "fill": call.fill}
            | {"plan": call.plan, "room": where, "launches": call.launches}
            for call, where in zip(calls, rooms, strict=True)
        ]
        with Shared(buffers.size_of(layouts)) as inputs, Shared(room * len(list(filter(None, rooms)))) as outputs:
            _put(inputs, layouts, held)
            for begin, _ in filter(None, rooms):
                outputs.memory[begin : begin + expected] = bytes([buffers.POISON]) * expected

            def proceed(made: int, reports: bytes) -> bool:
                """Whether to make another call after ``made`` calls; if so, writes its arguments to memory."""
                last, following = calls[made - 1 : made + 1]
                if last.needed and outcomes.failed(reports, made):
                    return False
                if following.args is not last.args:
                    _put(inputs, layouts, following.args)
                return True

            try:
                shared, addresses = inputs.nbytes + outputs.nbytes, sum(one.addresses for one in layouts)
                task = Task(job["steps"], len(calls), proceed, shared, addresses, self._modules)
                ended = self._run(job, inputs, outputs, task, limits, alone or bool(addresses))
            except WorkerLost:
                return [(Outcome(trouble=Trouble("crashed", _LOST)), Status())]
            found = outcomes.of(
                ended, rooms, outputs, self.contract, limits, self._sources.text, self._loading(ended, job)
            )
            for call, (outcome, _) in zip(calls, found, strict=False):
                outcome.mutated = self._mutated(inputs, layouts, call.args)
                outcome.launches = tuple(map(self._sources.completed, outcome.launches))
        return found

    def _mutated(self, inputs: Shared, layouts: list[Layout], args: tuple) -> tuple[str, ...]:
        tensors = [(p, a) for p, a in zip(self.contract.parameters, args, strict=False) if isinstance(a, torch.Tensor)]
        pairs = zip(tensors, layouts, strict=False)
        return tuple(name for (name, a), layout in pairs if not buffers.same(inputs, layout, a))

    def _expected(self, args: tuple) -> list[Layout]:
        """The layouts of the outputs; none if they are not known."""
        key = _layout_key(args)
        if key not in self._shapes:
            self._shapes[key] = outcomes.laid_out(self._results(args))
        return self._shapes[key]

    def _loading(self, ended: Ended, job: dict) -> str:
        """The cell that was being loaded when the child ended, if one was."""
        names = ["setup", *(cell.name for cell in self.answer.cells)]
        return names[ended.loaded] if ended.loaded < job["steps"] else ""

    def _run(self, job: dict, inputs: Shared, outputs: Shared, task: Task, limits: Limits, alone: bool) -> Ended:
        with open(os.memfd_create("job", os.MFD_CLOEXEC), "w+b") as file:
            file.write(json.dumps(job).encode())
            file.seek(0)
            files = {"job": file.fileno(), "inputs": inputs.file, "outputs": outputs.file}
            self._worker.ready()  # its start counts towards no limit
            if alone:
                ended = self._worker.run(files, task, limits, self._budgets)
            else:
                ended = self._lasting.run(job["mode"], files, task, limits, self._budgets)
        self.printed = clean(ended.printed, SHOWN)
        return ended


def _share(args: tuple, others: tuple) -> bool:
    """Whether a tensor is among the arguments of both calls."""
    return any(a is b for a in _tensors(args) for b in _tensors(others))


def _layout_key(args: tuple) -> str:
    return repr([(str(a.dtype), a.shape) if isinstance(a, torch.Tensor) else a for a in args])


def any_numbers(args: tuple) -> Decoy:
    """Unpredictable arguments of the same layout, which the exercise's contract may not cover."""
    chance = torch.Generator().manual_seed(int.from_bytes(os.urandom(7)))
    return Decoy(tuple(buffers.decoy(a, chance) if isinstance(a, torch.Tensor) else a for a in args), valid=False)


def _tensors(args: tuple) -> list[torch.Tensor]:
    return [a for a in args if isinstance(a, torch.Tensor)]


def _put(shared: Shared, layouts: list[Layout], args: tuple) -> None:
    for layout, tensor in zip(layouts, _tensors(args), strict=True):
        buffers.put(shared, layout, tensor)


def _specs(args: tuple, layouts: list[Layout]) -> list[dict]:
    rest = iter(layouts)
    return [{"tensor": next(rest).data()} if isinstance(a, torch.Tensor) else {"value": a} for a in args]
