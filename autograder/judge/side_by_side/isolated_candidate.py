"""The candidate as text that nobody trusts: called in the sandbox, and how it computes found out from outside.

What it calls cannot be asked of it. So operators of the reference are closed to its process, and it is seen whether it
still runs; and its kernels are replayed without the rest of it (`sandbox.proof`), in every family: a branch on a shape
is no answer, and what they do wrong no process tells but the one that holds nothing else.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import torch

from ...gpu import ATEN
from ...runner import (
    Answer,
    Budget,
    Call,
    CallForm,
    Cell,
    Contract,
    Examined,
    Isolated,
    Limits,
    Outcome,
    Proof,
    Worker,
)
from .candidate import shapes
from .code import Code
from .errors import CandidateError
from .method import ANY_NUMBER, COMPOSITE, IN_DERIVATIVES, Method, MethodKind, method_of
from .operators_called import MOVES
from .reference import Reference
from .reference_record import record_of

Shown = tuple[str, dict[str, int], bool]  # why not, or ""; operators with elements; whether launches contribute
UNTRIED = Method("unknown", "it is not known how: it does not run on the example")


@dataclass(frozen=True)
class IsolatedCandidate:
    """As `candidate.Candidate`. closed: the operators that it is judged without; basic: whether all that are not basic
    are closed, too. theirs: the reference's, with their elements. needed: those that it does not run without.
    """

    code: Code
    worker: Worker
    limits: Limits
    budget: Budget  # of all its processes together
    form: CallForm
    launches: bool
    attached: bool
    method: Method
    closed: frozenset[str]
    basic: bool
    theirs: Mapping[str, int]
    needed: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """The name that a report has."""
        return self.code.name

    def alone(self, contract: Contract, above: int) -> Isolated:
        """Calls it in the sandbox. Its derivative may need operators that it does not call itself."""
        closed = self.closed - IN_DERIVATIVES if above else self.closed
        form = replace(self.form, above=above, basic=self.basic)
        allowed = ATEN.permitted | self.needed
        return _runner(self, replace(contract, form=form, refused=closed, allowed=allowed))

    def runner(self, contract: Contract, above: int, shown: bool = False) -> "Isolated | ByFamily":
        """The same; shown: whether it is to be shown in each family how its kernels compute."""
        runner = self.alone(contract, above)
        return ByFamily(runner, self.theirs) if shown and self.launches else runner


def isolated_candidate(
    code: Code,
    reference: Reference,
    worker: Worker,
    limits: Limits,
    gpu: bool,
    seed: int,
    called: CallForm | None,
) -> IsolatedCandidate:
    """The candidate, after its process was called on the reference's example. Raises CandidateError where it cannot be
    loaded, takes other arguments or has other parameters.
    """
    parameters = tuple(shapes(reference).items())
    form = called or CallForm(len(reference.given))
    form = replace(form, parameters=parameters, initial=code.initial, seed=seed, gpu=gpu)
    budget, theirs = Budget("answer", limits.total_seconds), reference.operators
    closed = frozenset(theirs)  # also where it does not run: what cannot be tried is judged with everything closed
    plain = IsolatedCandidate(code, worker, limits, budget, form, False, False, UNTRIED, closed, True, theirs)
    tries = _Tries(plain, reference)
    basic, opened = tries.first(frozenset(theirs), basic=True), None
    if basic.trouble:
        opened = basic if basic.trouble.kind == "timeout" else tries.first(frozenset())
        if opened.trouble:
            if opened.trouble.kind == "unloadable":
                raise CandidateError(opened.trouble.message)
            return plain
    needed = {name: ANY_NUMBER for name in theirs if opened and tries.first(frozenset({name})).trouble}
    found = replace(plain, closed=closed - frozenset(needed), basic=opened is None, needed=frozenset(needed))
    launches = bool((opened or basic).launches)
    if launches:
        method = _with_kernels(theirs, needed, tries.proof(found))
    else:
        method = method_of(theirs, needed, False, basic.trouble.operator if basic.trouble else None)
    return _with_gradients(replace(found, launches=launches, method=method), reference, tries)


class _Tries:
    """Calls of the candidate on the reference's example, each in a new process in which other operators are closed."""

    def __init__(self, plain: IsolatedCandidate, reference: Reference):
        self.plain, self.reference = plain, reference
        self.forward = self._contract(gradients=False)
        with torch.no_grad():
            results = reference.native(reference.arguments, 0)
        self.call = Call(reference.arguments, tuple((r.dtype, r.shape) for r in results))

    def _contract(self, gradients: bool) -> Contract:
        contract = record_of(self.reference, [], gradients, self.plain.name).contract
        return replace(contract, allowed=ATEN.permitted)

    def first(self, closed: frozenset[str], basic: bool = False) -> Outcome:
        """What comes of one call."""
        with self._without(closed, basic) as runner:
            return runner.once(self.call)

    def proof(self, found: IsolatedCandidate) -> Shown:
        """Whether it is shown that the launches, with the operators recorded beside them, give the result."""
        with self._without(found.closed, found.basic, found.needed) as runner:
            proof = runner.proof(self.call)
            if proof.first.trouble or proof.method:
                why = proof.first.trouble or proof.method
                return (why.message if why else ""), {}, True
            outside = _outside(proof)
            return "", outside, not outside or proof.needs_kernels

    def attached(self, found: IsolatedCandidate) -> bool:
        """Whether a result is attached to the graph."""
        form = replace(found.form, asked=True, basic=False)  # closed to none: `_with_gradients` finds what it calls
        contract = replace(self.forward, form=form, outputs=("attached",), fewest=1, writes=())
        with _runner(found, contract) as runner:
            came = runner.once(Call(self.reference.arguments))
        return came.trouble is None and bool(came.outputs[0])

    def gradients(self, found: IsolatedCandidate) -> Outcome:
        """What comes of a call with gradients."""
        args = self.reference.arguments
        upstream = self.reference.upstream(args, torch.Generator().manual_seed(0))
        given = args + upstream
        layouts = tuple((r.dtype, r.shape) for r in self.reference.native(given, len(upstream)))
        with found.alone(self._contract(gradients=True), len(upstream)) as runner:
            return runner.once(Call(given, layouts))

    def _without(self, closed: frozenset[str], basic: bool, needed: frozenset[str] = frozenset()) -> Isolated:
        form, allowed = replace(self.plain.form, basic=basic), self.forward.allowed | needed
        return _runner(self.plain, replace(self.forward, form=form, refused=closed, allowed=allowed))


class ByFamily:
    """Calls a candidate that launches kernels. methods: how each call computed whose result was right."""

    def __init__(self, runner: Isolated, theirs: Mapping[str, int]):
        self._runner, self._theirs = runner, theirs
        self.methods: list[Method] = []
        self.facts = runner.facts

    def close(self) -> None:
        """Ends its processes."""
        self._runner.close()

    def examine(self, call: Call) -> Examined:
        """Calls it, and has its kernels replayed where that is asked for."""
        return _Shown(self._runner.proof(call), self._note)

    def _note(self, proof: Proof) -> None:
        shown: Shown
        if proof.method:
            shown = proof.method.message, {}, True
        else:
            outside = _outside(proof)
            shown = "", outside, not outside or proof.needs_kernels
        self.methods.append(_with_kernels(self._theirs, {}, shown))


class _Shown(Examined):
    """A call whose second is its kernels' replay. Where that shows nothing, its values alone are judged, and how it
    computes is unknown.
    """

    def __init__(self, proof: Proof, note: Callable[[Proof], None]):
        super().__init__(proof.call, proof.first)
        self._proof, self._note = proof, note

    @cached_property
    def again(self) -> Outcome:
        """The outcome of the kernels alone."""
        self._note(self._proof)
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


def _outside(proof: Proof) -> dict[str, int]:
    """The operators that compute among the recorded steps, with their elements."""
    found: Counter[str] = Counter()
    for name, elements in proof.computes_outside.items():
        if elements and ATEN.base(name) not in MOVES:  # a sum over no rows computes nothing
            found[ATEN.base(name)] += elements
    return found


def _runner(candidate: IsolatedCandidate, contract: Contract) -> Isolated:
    code = candidate.code
    answer = Answer(code.name, (Cell(code.file, code.text),), module=True)
    limits, budget, worker = candidate.limits, candidate.budget, candidate.worker
    return Isolated(answer, contract, "triton", limits=limits, notebook=budget, worker=worker)


def _with_kernels(theirs: Mapping[str, int], needed: dict[str, float], shown: Shown) -> Method:
    why, outside, contribute = shown
    calls = method_of(theirs, needed if why else {**needed, **outside}, True)
    if calls.kind == "no":
        return calls
    if why:
        why = why.rstrip(".").replace("Your kernels", "its kernels")
        return Method("unknown", f"it is not shown that its kernels compute the result: {why}")
    if contribute:
        return method_of(theirs, outside, True)
    method = method_of(theirs, outside, False)
    return Method(method.kind, f"its kernels do not reach the result; {method.why.removeprefix('no kernel; ')}")


def _with_gradients(found: IsolatedCandidate, reference: Reference, tries: _Tries) -> IsolatedCandidate:
    """The candidate with whether its gradients can be asked for, and what its derivative calls."""
    if not reference.differentiable or not tries.attached(found):
        return found
    found = replace(found, attached=True)
    trouble = tries.gradients(found).trouble if found.basic else None
    opened = replace(found, basic=False)
    if trouble is None or tries.gradients(opened).trouble:
        return found
    kind: MethodKind = "no" if found.method.kind == "no" else "partly"
    closed = f"aten.{trouble.operator}" if trouble.operator else COMPOSITE
    needed = found.needed | ({trouble.operator} if trouble.operator else set())
    return replace(opened, method=Method(kind, f"{found.method.why}; its derivative calls {closed}"), needed=needed)
