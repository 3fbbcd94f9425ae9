"""The candidate as text that nobody trusts: called in the sandbox, and how it computes found out from outside.

What it calls cannot be asked of it. So operators of the reference are closed to its process, and it is seen whether it
still runs; and its kernels are replayed without the rest of it (`sandbox.proof`), in every family: a branch on a shape
is no answer, and what they do wrong no process tells but the one that holds nothing else.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch

from ...gpu import ATEN
from ...runner import (
    MOVES,
    Answer,
    Budget,
    Call,
    CallForm,
    CandidateError,
    Cell,
    Contract,
    Isolated,
    Limits,
    Outcome,
    Proof,
    Worker,
)
from .candidate import Noting, shapes
from .code import Code
from .method import ANY_NUMBER, COMPOSITE, IN_DERIVATIVES, Method, MethodKind, method_of
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

    def alone(self, contract: Contract, above: int, watch: Callable[[Proof], object] | None = None) -> Isolated:
        """Calls it in the sandbox. Its derivative may need operators that it does not call itself."""
        closed = self.closed - IN_DERIVATIVES if above else self.closed
        form = replace(self.form, above=above, basic=self.basic)
        allowed = ATEN.permitted | self.needed
        return _runner(self, replace(contract, form=form, refused=closed, allowed=allowed), watch)

    def runner(self, contract: Contract, above: int, note: Noting | None = None, shown: bool = False) -> Isolated:
        """The same. note: called with how each call computed whose kernels were replayed. shown: whether they are, so
        that it is shown in each family how they compute.
        """

        def watch(proof: Proof) -> None:
            assert note is not None
            note(_with_kernels(self.theirs, {}, _shown(proof)))

        return self.alone(contract, above, watch if note and shown and self.launches else None)


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
    candidate = replace(plain, closed=closed - frozenset(needed), basic=opened is None, needed=frozenset(needed))
    launches = bool((opened or basic).launches)
    if launches:
        method = _with_kernels(theirs, needed, tries.proof(candidate))
    else:
        method = method_of(theirs, needed, False, basic.trouble.operator if basic.trouble else None)
    return _with_gradients(replace(candidate, launches=launches, method=method), reference, tries)


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
        """Returns what comes of one call."""
        with self._without(closed, basic) as runner:
            return runner.once(self.call)

    def proof(self, candidate: IsolatedCandidate) -> Shown:
        """Returns whether it is shown that the launches, with the operators recorded beside them, give the result."""
        with self._without(candidate.closed, candidate.basic, candidate.needed) as runner:
            return _shown(runner.proof(self.call))

    def attached(self, candidate: IsolatedCandidate) -> bool:
        """Returns whether a result is attached to the graph."""
        form = replace(candidate.form, asked=True, basic=False)  # closed to none: `_with_gradients` finds what it calls
        contract = replace(self.forward, form=form, outputs=("attached",), fewest=1, writes=())
        with _runner(candidate, contract) as runner:
            outcome = runner.once(Call(self.reference.arguments))
        return outcome.trouble is None and bool(outcome.outputs[0])

    def gradients(self, candidate: IsolatedCandidate) -> Outcome:
        """Returns what comes of a call with gradients."""
        args = self.reference.arguments
        upstream = self.reference.upstream(args, torch.Generator().manual_seed(0))
        arguments = args + upstream
        layouts = tuple((r.dtype, r.shape) for r in self.reference.native(arguments, len(upstream)))
        with candidate.alone(self._contract(gradients=True), len(upstream)) as runner:
            return runner.once(Call(arguments, layouts))

    def _without(self, closed: frozenset[str], basic: bool, needed: frozenset[str] = frozenset()) -> Isolated:
        form, allowed = replace(self.plain.form, basic=basic), self.forward.allowed | needed
        return _runner(self.plain, replace(self.forward, form=form, refused=closed, allowed=allowed))


def _shown(proof: Proof) -> Shown:
    if why := proof.first.trouble or proof.method:
        return why.message, {}, True
    return "", _outside(proof), proof.needs_kernels


def _outside(proof: Proof) -> dict[str, int]:
    """The operators that compute among the recorded steps, with their elements."""
    elements_of: Counter[str] = Counter()
    for name, elements in proof.computes_outside.items():
        if elements and ATEN.base(name) not in MOVES:  # a sum over no rows computes nothing
            elements_of[ATEN.base(name)] += elements
    return elements_of


def _runner(
    candidate: IsolatedCandidate, contract: Contract, watch: Callable[[Proof], object] | None = None
) -> Isolated:
    code = candidate.code
    answer = Answer(code.name, (Cell(code.file, code.text),), module=True)
    limits, budget, worker = candidate.limits, candidate.budget, candidate.worker
    return Isolated(answer, contract, "triton", limits=limits, notebook=budget, worker=worker, watch=watch)


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


def _with_gradients(candidate: IsolatedCandidate, reference: Reference, tries: _Tries) -> IsolatedCandidate:
    """The candidate with whether its gradients can be asked for, and what its derivative calls."""
    if not reference.differentiable or not tries.attached(candidate):
        return candidate
    candidate = replace(candidate, attached=True)
    trouble = tries.gradients(candidate).trouble if candidate.basic else None
    opened = replace(candidate, basic=False)
    if trouble is None or tries.gradients(opened).trouble:
        return candidate
    kind: MethodKind = "no" if candidate.method.kind == "no" else "partly"
    closed = f"aten.{trouble.operator}" if trouble.operator else COMPOSITE
    needed = candidate.needed | ({trouble.operator} if trouble.operator else set())
    return replace(opened, method=Method(kind, f"{candidate.method.why}; its derivative calls {closed}"), needed=needed)
