"""The candidate as text that nobody trusts: called in the sandbox, and how it computes found out from outside.

What it calls cannot be asked of it. So operators of the reference are closed to its process, and it is seen whether it
still runs; and its kernels are replayed without the rest of it (`sandbox.proof`).
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch

from ...gpu import PERMITTED, POINTWISE, base
from ...runner import UNKNOWN, Answer, Budget, Call, Cell, Contract, Form, Isolated, Limits, Outcome, Trouble, Worker
from .candidate import shapes
from .code import Code
from .errors import CandidateError
from .method import ANY_NUMBER, Kind, Method, method_of
from .operators import MEMORY
from .record import record_of
from .reference import Reference

Shown = tuple[str, dict[str, int], bool]  # why not, or ""; operators with elements; whether launches contribute
UNTRIED = Method("unknown", "it is not known how: it does not run on the example")
# What PyTorch's formulas for derivatives of basic operators are made of.
IN_DERIVATIVES = POINTWISE & PERMITTED
IN_DERIVATIVES |= frozenset("sum mm bmm mv addmm baddbmm cumsum scatter scatter_add index_add index_put".split())


@dataclass(frozen=True)
class IsolatedCandidate:
    """As `candidate.Candidate`. closed: the operators that it is judged without; basic: whether all that are not basic
    are closed, too.
    """

    code: Code
    worker: Worker
    limits: Limits
    budget: Budget  # of all its processes together
    form: Form
    launches: bool
    attached: bool
    method: Method
    closed: frozenset[str]
    basic: bool

    @property
    def name(self) -> str:
        """The name that a report has."""
        return self.code.name

    def runner(self, contract: Contract, above: int) -> Isolated:
        """Calls it in the sandbox. Its derivative may need operators that it does not call itself."""
        closed = self.closed - IN_DERIVATIVES if above else self.closed
        form = replace(self.form, above=above, basic=self.basic)
        return _runner(self, replace(contract, form=form, refused=closed))


def isolated_candidate(
    code: Code, reference: Reference, worker: Worker, limits: Limits, gpu: bool, seed: int
) -> IsolatedCandidate:
    """The candidate, after its process was called on the reference's example. Raises CandidateError where it cannot be
    loaded, takes other arguments or has other parameters.
    """
    parameters = tuple(shapes(reference).items())
    form = Form(len(reference.given), parameters, initial=code.initial, seed=seed, gpu=gpu)
    budget = Budget("answer", limits.total_seconds)
    plain = IsolatedCandidate(code, worker, limits, budget, form, False, False, UNTRIED, frozenset(), False)
    tries = _Tries(plain, reference)
    theirs = reference.operators
    basic, opened = tries.first(frozenset(theirs), basic=True), None
    if basic.trouble:
        opened = basic if basic.trouble.kind == "timeout" else tries.first(frozenset())
        if opened.trouble:
            if opened.trouble.kind == "unloadable":
                raise _refusal(code, opened.trouble)
            return plain
    needed = {name: ANY_NUMBER for name in theirs if opened and tries.first(frozenset({name})).trouble}
    found = replace(plain, closed=frozenset(theirs) - frozenset(needed), basic=opened is None)
    launches = bool((opened or basic).launches)
    if launches:
        method = _with_kernels(theirs, needed, tries.proof(found))
    else:
        method = method_of(theirs, needed, False, _operator(basic.trouble) if basic.trouble else "")
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
        return replace(contract, allowed=PERMITTED)

    def first(self, closed: frozenset[str], basic: bool = False) -> Outcome:
        """What comes of one call."""
        with self._without(closed, basic) as runner:
            return runner.once(self.call)

    def proof(self, found: IsolatedCandidate) -> Shown:
        """Whether it is shown that the launches, with the operators recorded beside them, give the result."""
        with self._without(found.closed, found.basic) as runner:
            proof = runner.proof(self.call)
            if proof.first.trouble or proof.method:
                why = proof.first.trouble or proof.method
                return (why.message if why else ""), {}, True
            outside: Counter[str] = Counter()
            for name, elements in proof.computes_outside.items():
                if base(name) not in MEMORY:
                    outside[base(name)] += elements
            return "", outside, not outside or proof.needs_kernels

    def attached(self, found: IsolatedCandidate) -> bool:
        """Whether a result is attached to the graph."""
        form = replace(found.form, asked=True, basic=found.basic)
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
        with found.runner(self._contract(gradients=True), len(upstream)) as runner:
            return runner.once(Call(given, layouts))

    def _without(self, closed: frozenset[str], basic: bool) -> Isolated:
        form = replace(self.plain.form, basic=basic)
        return _runner(self.plain, replace(self.forward, form=form, refused=closed))


def _runner(candidate: IsolatedCandidate, contract: Contract) -> Isolated:
    code = candidate.code
    answer = Answer(code.name, (Cell(code.file, code.text),), module=True)
    limits, budget, worker = candidate.limits, candidate.budget, candidate.worker
    return Isolated(answer, contract, "triton", limits=limits, notebook=budget, worker=worker)


def _operator(trouble: Trouble) -> str:
    """The closed operator that a process met, by the sentence of `blocked_operators`."""
    return trouble.message.removeprefix("OperatorRefused: ").partition(" ")[0]


def _refusal(code: Code, trouble: Trouble) -> CandidateError:
    message = trouble.message.replace("Running the code stopped with", f"{code.file} stopped with")
    if message.startswith("There is no function"):  # which is an exercise's sentence
        message = f"{code.name} of {code.file} is not a function"
    return CandidateError(message)


def _with_kernels(theirs: Mapping[str, int], needed: dict[str, float], shown: Shown) -> Method:
    why, outside, contribute = shown
    calls = method_of(theirs, needed if why else {**needed, **outside}, True)
    if calls.kind == "no":
        return calls
    if why:
        why = why.removeprefix(f"{UNKNOWN}: ").rstrip(".").replace("Your kernels", "its kernels")
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
    kind: Kind = "no" if found.method.kind == "no" else "partly"
    why = f"{found.method.why}; its derivative calls aten.{_operator(trouble)}"
    return replace(opened, method=Method(kind, why))
