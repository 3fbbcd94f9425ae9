"""A runner for answers that are not trusted: in a process that knows nothing but the arguments of its calls.

    with Isolated(answer, record.contract, "triton", limits=Limits(seconds=5)) as runner:
        report = judge(record, "triton", runner)

Expected values stay in this process. An answer gets its arguments as raw memory and returns raw memory, of which a copy
is judged. Its process is kept from case to case; a call that repeats arguments starts a new one.
"""

import json
import os
import re
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any

from ..call.answer import Answer
from ..call.contract import Contract
from ..call.examination import Call, Examined, Facts, Layouts
from ..call.outcome import Outcome, Trouble
from ..call.tree import Args, Tree
from . import outcomes
from .answers import Worker
from .call_memory import CallMemory
from .child_calls import Asked, Came, ChildCall
from .host import WorkerLost
from .persistent_children import PersistentChildren
from .proof import Answering, Proof, ReplayOfProbe
from .sources import Sources
from .status import Status
from .watch import SHOWN, Budget, ChildExit, Limits, Task
from .wire.checked import clean
from .worker.confine import SLACK

# PyTorch's compiler takes longer to import than everything else that a worker does. For answers whose text matches,
# which may use it directly or through `torch.func`, the worker imports it; any other pays for the import itself.
_COMPILER = "torch._dynamo"
_REACHES_IT = re.compile(r"compil|dynamo|functorch|\bfunc\b|jvp|checkpoint|optim|profiler|library|graph|dispatch", re.I)
_DUAL, _REACHES_DUAL = "torch._decomp.decompositions_for_jvp", re.compile(r"forward_ad|jvp")  # for a dual tensor
# What PyTorch imports, and sympy with it, when it is first given the gradient of a result.
_DERIVATIVE = "torch.fx.experimental.symbolic_shapes"
_GPU = ("graded_kernels.autograder.gpu.cuda.shim", "torch.func")
_OF_PROBE_INPUTS = "probe inputs"  # the process of an answer that sees no arguments of a case
_LOST = "The process that runs the answers ended during the call."


class Isolated:
    """Calls an answer in a worker, which gets its ``contract`` and nothing else.

    notebook: a budget that this answer shares with others.
    worker: one that answers share; without it, one is started, and ends with the ``with`` block.
    watch: called with the proof of each call of code that computes as it likes, when its kernels are replayed: the
    replay is then the second call.
    level: the level of isolation of a worker that is started, by default the best available. Raises SandboxError if it
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
        level: str | None = None,
        watch: Callable[[Proof], object] | None = None,
    ):
        self.answer, self.contract, self.backend, self.limits = answer, contract, backend, limits
        self._worker = worker or Worker(level)
        self._own, self._watch = worker is None, watch
        self._children = PersistentChildren(self._worker)
        self._sources = Sources(answer.python, answer.name, answer.modules)
        self._job: dict[str, Any] = {"mode": "answer", "answer": asdict(answer)}
        compiler = (_COMPILER,) if _REACHES_IT.search(answer.text) else ()
        dual = (_DUAL,) if _REACHES_DUAL.search(answer.text) else ()
        form = contract.form
        derived = bool(form and form.above)
        derivative = (_DERIVATIVE,) if derived or contract.gradient_of or (form and form.asked) else ()
        self._modules = (*compiler, *dual, *derivative, *(_GPU if contract.sees_gpu(backend) else ()))
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
        """Its compiler compiles what the answer launches at the level of isolation that the answer has."""
        return Facts("emulator", isolated=True, limits_memory=True, compiler=self._worker.compiler)

    def examine(self, call: Call) -> Examined:
        """See `Runner.examine`. Troubles in addition to an answer's own: ``timeout``, ``memory`` and ``crashed``.

        Every call but the first is made in a process that has already called the answer on a probe input. The result on
        it is in the outcome of the first or the second call.

        With ``call.memory`` the process may hold so many bytes, and the slack of `confine.limit`, beyond what it holds
        before it loads the answer. The operating system enforces the limit, however memory is allocated.
        """
        if call.memory is not None:
            limits = replace(self.limits, memory=min(call.memory, self.limits.memory), grace=SLACK)
            return Examined(call, self._alone(ChildCall(call.args, 0, choice=call.choice), call, limits))
        if call.fresh and not self.contract.form:
            return self._unseen(call)
        if call.fresh or any(a is b for a in Tree(self._seen).tensors for b in Tree(call.args).tensors):
            # What is recorded on a probe input owes nothing to the arguments only where its process has not seen them.
            self._children.end(self._job["mode"])
        self._seen, new = call.args, self._new
        self._new = False
        if self.contract.form:
            return _Replayed(self.proof(call), self._watch) if self._watch else self._any(call)
        if self.backend == "triton" and not self.contract.witness:
            return self.proof(call)
        if new or self.contract.witness:
            return _ExaminedIsolated(call, self.once(call), None, self)
        return self._torch(call)

    def _unseen(self, call: Call) -> Examined:
        """Calls an answer in a process that was given no other arguments. Of a Triton answer a process that is given
        probe inputs alone records what it launches, and the kernels are replayed on the arguments.
        """
        if self.backend != "triton":
            return Examined(call, self._alone(ChildCall(call.args, 0), call, self.limits))
        probe_input, job = ChildCall(call.new_probe_input().args, plan=True, choice=call.choice), self._job_of(call)
        asked = Asked.of(self._ask(job, [probe_input], call.layouts, process=_OF_PROBE_INPUTS))
        return ReplayOfProbe(replace(self._answering, job=job), call, asked, lambda: self.examine(call).proven)

    def proof(self, call: Call) -> Proof:
        """Calls a Triton answer on a probe input, for the record, then on the arguments."""
        probe_input = ChildCall(call.new_probe_input().args, plan=True, needed=False)
        calls = [probe_input, ChildCall(call.args, 0, fill=call.fill), ChildCall(call.args, plan=True)]
        calls = [replace(child_call, choice=call.choice) for child_call in calls]
        job, repeated = self._job_of(call), replace(call, probe_input=None)
        asked = Asked.of(self._ask(job, calls, call.layouts))
        return Proof(replace(self._answering, job=job), call, asked, lambda: self.examine(repeated).first)

    def _any(self, call: Call) -> "_AnyCode":
        """Calls code that computes as it likes on a probe input, then on the arguments."""
        probe_input = call.new_probe_input()
        calls = [ChildCall(probe_input.args, 1, needed=False), ChildCall(call.args, 0, fill=call.fill)]
        return _AnyCode(call, Asked.of(self._ask(self._job_of(call), calls, call.layouts)).beside(probe_input), self)

    def once(self, call: Call, order: int | None = None, fill: float | None = None) -> Outcome:
        """The call and nothing else, in the process of the last one."""
        return self._alone(ChildCall(call.args, 0, order, fill), call)

    def _alone(self, child_call: ChildCall, call: Call, limits: Limits | None = None) -> Outcome:
        """The outcome of one call. limits: in a process of its own, which has these."""
        reply, *_ = self._ask(self._job_of(call), [child_call], call.layouts, limits=limits, alone=limits is not None)
        return reply.outcome

    def _torch(self, call: Call) -> "_ExaminedIsolated":
        """Calls the answer on a probe input, then twice on the arguments."""
        probe_input = call.new_probe_input()
        calls = [ChildCall(probe_input.args, 2, needed=False), ChildCall(call.args, 0), ChildCall(call.args, 1)]
        asked = Asked.of(self._ask(self._job_of(call), calls, call.layouts))
        return _ExaminedIsolated(call, asked.beside(probe_input), asked.second and asked.second.outcome, self)

    def _job_of(self, call: Call) -> dict[str, Any]:
        """The job of calling the answer for this call."""
        return self._job | {"twice": call.twice}

    def _ask(
        self,
        job: dict[str, Any],
        calls: list[ChildCall],
        results: Layouts,
        *,
        limits: Limits | None = None,
        alone: bool = False,
        process: str = "",
    ) -> list[Came]:
        """Returns what came of each call that was started. results: the layouts of right ones. alone: in a process of
        their own; else in the one that does this, by default the jobs of this mode.
        """
        limits = limits or self.limits
        for budget in self._budgets:
            if broken := budget.broken(limits.wall_factor):
                return _nothing(Trouble("timeout", outcomes.too_long(broken), code=outcomes.code_of(broken)))
        basic = self.contract.basic(self.backend)
        with CallMemory(self.contract, calls, results) as memory:
            steps = len(self.answer.cells) if job["mode"] == "answer" else 0
            job |= {"contract": self.contract.to_dict(), "backend": self.backend, "steps": steps}
            job["calls"] = memory.described
            task = Task(steps, len(calls), memory.proceed, memory.nbytes, memory.addresses, self._modules, basic=basic)
            try:
                ended = self._run(job, memory, task, limits, "" if alone else process or job["mode"])
            except WorkerLost:
                return _nothing(Trouble("crashed", _LOST))
            loading = self.answer.cells[ended.loaded].name if ended.loaded < steps else ""
            replies = memory.read(ended, limits, self._sources.text, loading)
        for reply in replies:
            reply.outcome.launches = tuple(map(self._sources.completed, reply.outcome.launches))
        return replies

    def _run(self, job: dict[str, Any], memory: CallMemory, task: Task, limits: Limits, process: str) -> ChildExit:
        with open(os.memfd_create("job", os.MFD_CLOEXEC), "w+b") as file:
            file.write(json.dumps(job).encode())
            file.seek(0)
            files = {"job": file.fileno(), "inputs": memory.inputs.file, "outputs": memory.outputs.file}
            self._worker.ready()  # its start counts towards no limit
            if process and not task.addresses:
                ended = self._children.run(process, files, task, limits, self._budgets)
            else:
                ended = self._worker.run(files, task, limits, self._budgets)
        self.printed = clean(ended.printed, SHOWN)
        return ended


def _nothing(why: Trouble) -> list[Came]:
    """Stands for the calls where none was made."""
    return [Came(Outcome(trouble=why), Status())]


class _ExaminedIsolated(Examined):
    """Two calls of a PyTorch answer in one process. second: the outcome of the other one; None where it was not made,
    as in the first process, which calls the answer once to load it.
    """

    def __init__(self, call: Call, first: Outcome, second: Outcome | None, runner: Isolated):
        super().__init__(call, first)
        self._other, self._runner = second, runner

    def _second(self, fill: float | None) -> Outcome:
        return self._other or self._runner.examine(self.call).first


class _Replayed(Examined):
    """A call of any code whose second is its kernels' replay. Where that proves nothing, the first stands for it: code
    that computes as it likes may compute elsewhere. watch: called with the proof at the second call.
    """

    def __init__(self, proof: Proof, watch: Callable[[Proof], object]):
        super().__init__(proof.call, proof.first)
        self._proof, self._watch = proof, watch

    @cached_property
    def again(self) -> Outcome:
        """The outcome of the kernels alone."""
        if not self.call.twice:  # or each operator would count twice
            self._watch(self._proof)
        return self.first if self._proof.method else self._proof.again

    @property
    def poisoned(self) -> bool:
        """As `Proof.poisoned`."""
        return not self._proof.method and self._proof.poisoned

    def refilled(self, fill: float) -> Outcome:
        """As `Proof.refilled`."""
        return self.first if self._proof.method else self._proof.refilled(fill)

    def _repeated(self) -> Outcome:
        return self.first if self._proof.method else self._proof.in_order


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
