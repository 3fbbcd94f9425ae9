"""A runner for answers that are not trusted: in a process that knows nothing but the arguments of its calls.

    with Isolated(answer, record.contract, "triton", limits=Limits(seconds=5)) as runner:
        report = judge(record, "triton", runner)

Expected values stay in this process. An answer gets its arguments as raw memory and returns raw memory, of which a copy
is judged. Its process is kept from case to case; a call that repeats arguments starts a new one.
"""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import torch

from ..call.answer import Answer
from ..call.contract import Contract
from ..call.examination import Call, Examined, Facts, Layouts
from ..call.outcome import Outcome, Trouble
from ..call.tree import Args, Tree
from . import outcomes
from .answers import Worker
from .host import WorkerLost
from .outcomes import Outcomes
from .persistent_children import PersistentChildren
from .proof import Answering, Came, ChildCall, Proof
from .sources import Sources
from .status import Status
from .watch import SHOWN, Budget, ChildExit, Limits, Task
from .wire import buffers
from .wire.buffers import BufferLayout, Shared
from .wire.checked import clean
from .worker.confine import SLACK

_ROOM = 1 << 20  # bytes for outputs of an unexpected size, so that a wrong shape can be reported
# PyTorch's compiler takes longer to import than everything else that a worker does. For answers whose text matches,
# which may use it directly or through `torch.func`, the worker imports it; any other pays for the import itself.
_COMPILER = "torch._dynamo"
_REACHES_IT = re.compile(r"compil|dynamo|functorch|\bfunc\b|jvp|checkpoint|optim|profiler|library|graph|dispatch", re.I)
# What PyTorch imports, and sympy with it, when it is first given the gradient of a result.
_DERIVATIVE = "torch.fx.experimental.symbolic_shapes"
_GPU = ("graded_kernels.autograder.gpu.cuda.shim", "torch.func")
_LOST = "The process that runs the answers ended during the call."


class Isolated:
    """Calls an answer in a worker, which gets its ``contract`` and nothing else.

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
        limits: Limits = Limits(),  # noqa: B008  frozen
        notebook: Budget | None = None,
        worker: Worker | None = None,
        rung: str | None = None,
    ):
        self.answer, self.contract, self.backend, self.limits = answer, contract, backend, limits
        self._worker = worker or Worker(rung)
        self._own = worker is None
        self._children = PersistentChildren(self._worker)
        self._sources = Sources(answer.python, answer.name, answer.modules)
        self._job: dict[str, Any] = {"mode": "answer", "answer": asdict(answer)}
        compiler = (_COMPILER,) if _REACHES_IT.search(answer.text) else ()
        form = contract.form
        derived = bool(form and form.above)
        derivative = (_DERIVATIVE,) if derived or contract.gradient_of or (form and form.asked) else ()
        self._modules = (*compiler, *derivative, *(_GPU if contract.sees_gpu(backend) else ()))
        self._answering = Answering(self._ask, self._job, self._sources, contract.allowed, limits.memory, derived)
        self._budgets = [Budget("answer", limits.total_seconds), *([notebook] if notebook else [])]
        self._seen: Args = ()  # by the answer's process, in its last call
        self._new = True
        self.printed = ""  # by the last call

    def __enter__(self) -> "Isolated":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends its processes."""
        self._children.close()
        if self._own:
            self._worker.close()

    @property
    def facts(self) -> Facts:
        """Its compiler compiles what the answer launches on the rung that the answer runs on."""
        return Facts(isolated=True, limits_memory=True, compiler=self._worker.compiler)

    def examine(self, call: Call) -> Examined:
        """See `Runner.examine`. Troubles in addition to an answer's own: ``timeout``, ``memory`` and ``crashed``.

        Every call but the first is made in a process that has already called the answer on a decoy. The decoy's result
        is in the outcome of the first or the second call.

        With ``call.memory`` the process may hold so many bytes, and the slack of `confine.limit`, beyond what it holds
        before it loads the answer. The operating system enforces the limit, however memory is allocated.
        """
        if call.memory is not None:
            limits = replace(self.limits, memory=min(call.memory, self.limits.memory), grace=SLACK)
            only = self._ask(dict(self._job), [ChildCall(call.args, 0)], call.layouts, limits=limits, alone=True)
            return Examined(call, only[0][0])
        if any(a is b for a in Tree(self._seen).tensors for b in Tree(call.args).tensors):
            # What is recorded on a decoy owes nothing to the arguments only where its process has not seen them before.
            self._children.end(self._job["mode"])
        self._seen, new = call.args, self._new
        self._new = False
        if self.contract.form:
            return self._any(call)
        if self.backend == "triton" and not self.contract.witness:
            return self.proof(call)
        if new or self.contract.witness:
            return _ExaminedIsolated(
                call, self._ask(dict(self._job), [ChildCall(call.args, 0)], call.layouts)[0][0], None, self
            )
        return self._torch(call)

    def proof(self, call: Call) -> Proof:
        """Calls a Triton answer on a decoy, for the record, then on the arguments."""
        decoy = ChildCall(call.new_decoy().args, plan=True, needed=False)
        calls = [decoy, ChildCall(call.args, 0, fill=call.fill), ChildCall(call.args, plan=True)]
        before, *rest = self._ask(dict(self._job), calls, call.layouts)
        first, after = rest[0] if rest else before, rest[1] if len(rest) > 1 else None
        repeated = replace(call, decoy=None)
        return Proof(self._answering, call, first[0], before, after, lambda: self.examine(repeated).first)

    def _any(self, call: Call) -> "_AnyCode":
        """Calls code that computes as it likes on a decoy, then on the arguments."""
        decoy = call.new_decoy()
        calls = [ChildCall(decoy.args, 1, needed=False), ChildCall(call.args, 0, fill=call.fill)]
        before, *rest = [outcome for outcome, _ in self._ask(dict(self._job), calls, call.layouts)]
        first = rest[0] if rest else before
        if rest:
            first.decoy = decoy, before
        return _AnyCode(call, first, self)

    def once(self, call: Call, order: int | None = None, fill: float | None = None) -> Outcome:
        """The call and nothing else, in the process of the last one."""
        return self._ask(dict(self._job), [ChildCall(call.args, 0, order, fill)], call.layouts)[0][0]

    def _torch(self, call: Call) -> "_ExaminedIsolated":
        """Calls the answer on a decoy, then twice on the arguments."""
        decoy = call.new_decoy()
        calls = [ChildCall(decoy.args, 2, needed=False), ChildCall(call.args, 0), ChildCall(call.args, 1)]
        before, *rest = [outcome for outcome, _ in self._ask(dict(self._job), calls, call.layouts)]
        first, second = rest[0] if rest else before, rest[1] if len(rest) > 1 else None
        if rest:
            first.decoy = decoy, before
        return _ExaminedIsolated(call, first, second, self)

    def _ask(
        self,
        job: dict[str, Any],
        calls: list[ChildCall],
        results: Layouts,
        *,
        limits: Limits | None = None,
        alone: bool = False,
    ) -> list[Came]:
        """The outcome of each call that was started, and the child's report. results: the layouts of right ones.
        alone: in a process of their own.

        A call's arguments are written to memory just before it starts: what was recorded earlier cannot depend on them.
        """
        limits = limits or self.limits
        for budget in self._budgets:
            if broken := budget.broken(limits.wall_factor):
                late = Trouble("timeout", outcomes.too_long(broken), code=outcomes.code_of(broken))
                return [(Outcome(trouble=late), Status())]
        held = calls[0].args
        layouts = buffers.lay_out(held)
        expected = buffers.size_of(outcomes.laid_out(results))
        room = expected + _ROOM
        rooms = [None if call.room is None else (call.room * room, call.room * room + room) for call in calls]
        steps = len(self.answer.cells) if job["mode"] == "answer" else 0
        job |= {"contract": self.contract.to_dict(), "backend": self.backend, "steps": steps}
        job["calls"] = [
            {"args": _specs(call.args, layouts), "shuffle": call.shuffle, "fill": call.fill}
            | {"plan": call.plan, "room": where, "launches": call.launches}
            | {"follow": call.follow, "compare": call.compare}
            for call, where in zip(calls, rooms, strict=True)
        ]
        with Shared(buffers.size_of(layouts)) as inputs, Shared(room * len(list(filter(None, rooms)))) as outputs:
            _put(inputs, layouts, held)
            for begin, _ in filter(None, rooms):
                outputs.memory[begin : begin + expected] = bytes([buffers.POISON]) * expected

            left: dict[int, Args] = {}  # what each call left in the memory of the arguments that it writes

            def look(made: int) -> None:
                named = self._laid_out(layouts, calls[made - 1].args)
                writes = self.contract.written(calls[made - 1].args)
                left.setdefault(made, tuple(inputs.tensor(one).clone() for name, one, _ in named if name in writes))

            def proceed(made: int, reports: bytes) -> bool:
                """Whether to make another call after ``made`` calls; if so, writes its arguments to memory."""
                look(made)
                last, following = calls[made - 1 : made + 1]
                if last.needed and outcomes.failed(reports, made):
                    return False
                if following.args is not last.args:
                    _put(inputs, layouts, following.args)
                else:
                    self._restore(inputs, layouts, following.args)
                return True

            try:
                shared, addresses = inputs.nbytes + outputs.nbytes, sum(one.addresses for one in layouts)
                task = Task(job["steps"], len(calls), proceed, shared, addresses, self._modules)
                ended = self._run(job, inputs, outputs, task, limits, alone or bool(addresses))
            except WorkerLost:
                return [(Outcome(trouble=Trouble("crashed", _LOST)), Status())]
            written = len(self.contract.written(held))
            reader = Outcomes(outputs, self.contract, written, limits, self._sources.text)
            found = reader.of(ended, rooms, self._loading(ended, job))
            look(len(found))
            for made, (call, (outcome, _)) in enumerate(zip(calls, found, strict=False), start=1):
                if written and outcome.outputs:  # in the memory that was given, whatever the answer's process says
                    outcome.outputs = outcome.outputs[:-written] + left[made]
                outcome.mutated = self._mutated(inputs, layouts, call.args)
                outcome.launches = tuple(map(self._sources.completed, outcome.launches))
        return found

    def _laid_out(self, layouts: list[BufferLayout], args: Args) -> Iterator[tuple[str, BufferLayout, torch.Tensor]]:
        """The name, place and value of each tensor of the arguments."""
        for (name, a), layout in zip(Tree(args).named(self.contract.parameters).items(), layouts, strict=False):
            yield name, layout, a

    def _restore(self, inputs: Shared, layouts: list[BufferLayout], args: Args) -> None:
        """Writes again what a call was to write; what it had to leave alone stays as it is, for `_mutated`."""
        writes = self.contract.written(args)
        for name, layout, a in self._laid_out(layouts, args):
            if name in writes:
                buffers.put(inputs, layout, a)

    def _mutated(self, inputs: Shared, layouts: list[BufferLayout], args: Args) -> tuple[str, ...]:
        """Which arguments changed: of those that an answer writes, what lies between the elements."""
        writes = self.contract.written(args)

        def same(name: str, layout: BufferLayout, a: torch.Tensor) -> bool:
            return buffers.nothing_between(inputs, layout) if name in writes else buffers.same(inputs, layout, a)

        return tuple(name for name, layout, a in self._laid_out(layouts, args) if not same(name, layout, a))

    def _loading(self, ended: ChildExit, job: dict[str, Any]) -> str:
        """The cell that was being loaded when the child ended, if one was."""
        return self.answer.cells[ended.loaded].name if ended.loaded < job["steps"] else ""

    def _run(
        self, job: dict[str, Any], inputs: Shared, outputs: Shared, task: Task, limits: Limits, alone: bool
    ) -> ChildExit:
        with open(os.memfd_create("job", os.MFD_CLOEXEC), "w+b") as file:
            file.write(json.dumps(job).encode())
            file.seek(0)
            files = {"job": file.fileno(), "inputs": inputs.file, "outputs": outputs.file}
            self._worker.ready()  # its start counts towards no limit
            if alone:
                ended = self._worker.run(files, task, limits, self._budgets)
            else:
                ended = self._children.run(job["mode"], files, task, limits, self._budgets)
        self.printed = clean(ended.printed, SHOWN)
        return ended


class _ExaminedIsolated(Examined):
    """Two calls of a PyTorch answer in one process. second: the outcome of the other one; None where it was not made,
    as in the first process, which calls the answer once to load it.
    """

    def __init__(self, call: Call, first: Outcome, second: Outcome | None, runner: Isolated):
        super().__init__(call, first)
        self._other, self._runner = second, runner

    def _second(self, fill: float | None) -> Outcome:
        return self._other or self._runner.examine(self.call).first


class _AnyCode(Examined):
    """A call of code that computes as it likes; each further one is made in the same process."""

    def __init__(self, call: Call, first: Outcome, runner: Isolated):
        super().__init__(call, first)
        self._runner = runner

    def refilled(self, fill: float) -> Outcome:
        """The outcome of another call, with ``fill`` in masked-off lanes."""
        return self._runner.once(self.call, fill=fill)

    def _second(self, fill: float | None) -> Outcome:
        return self._runner.once(self.call, self.call.order, fill)

    def _repeated(self) -> Outcome:
        return self._runner.once(self.call, fill=self.call.fill)


def _put(shared: Shared, layouts: list[BufferLayout], args: Args) -> None:
    for layout, tensor in zip(layouts, Tree(args).tensors, strict=True):
        buffers.put(shared, layout, tensor)


def _specs(args: Args, layouts: list[BufferLayout]) -> list[dict[str, Any]]:
    rest = iter(layouts)

    def of(value: Any) -> dict[str, Any]:
        if isinstance(value, list):
            return {"list": [of(part) for part in value]}
        return {"tensor": next(rest).data()} if isinstance(value, torch.Tensor) else {"value": value}

    return [of(value) for value in args]
