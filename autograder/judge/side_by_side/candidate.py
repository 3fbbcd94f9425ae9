"""The candidate as a function of this process: called as it is, in the emulator where it launches Triton kernels."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from ...runner import (
    Args,
    Call,
    Callee,
    CallForm,
    CandidateError,
    CompareError,
    Contract,
    InProcess,
    OperatorNotes,
    Outcome,
    Session,
    Watching,
)
from .method import Method, in_derivative, method_of
from .reference import Reference
from .reference_record import record_of

Noting = Callable[[Method], object]


@dataclass(frozen=True)
class Candidate:
    """callee: what is called. reference: what is right. session: in which it is called. launches: whether it launched a
    kernel on the example. attached: whether its result has gradients. method: how it computes there.
    """

    callee: Callee
    reference: Reference
    session: Session
    launches: bool
    attached: bool
    method: Method

    @property
    def name(self) -> str:
        """The name that a report has."""
        return self.callee.name

    def runner(self, contract: Contract, above: int, note: Noting | None = None, shown: bool = False) -> InProcess:
        """Calls it. above: the number of upstream gradients, where gradients are compared. note: called with how each
        call computed, where it computes: a branch on a shape, or on whether gradients are asked for, is no answer.
        shown: not used.
        """
        watch = note and partial(self._watch, note, above)
        return _runner(self.callee, contract, CallForm(0, above=above), self.session, watch)

    def _watch(self, note: Noting, above: int, call: Call, first: Outcome, operators: OperatorNotes) -> None:
        if first.trouble is None and any((operators.elements | operators.derivative).values()):
            note(self._method(operators, bool(first.launches), call.args, above))

    def _method(self, mine: OperatorNotes, launches: bool, args: Args, above: int) -> Method:
        method = method_of(self.reference.operators, mine.elements, launches)
        in_kernels = method.kind == "kernels" and mine.derivative
        if in_kernels or self.reference.operators.keys() <= mine.elements.keys():  # then it counts on how many elements
            theirs = self.reference.called_on(args, above)
            method = method_of(theirs.elements, mine.elements, launches)
            return in_derivative(theirs.derivative, mine.derivative) if in_kernels else method
        return method


def candidate_of(callee: Callee, reference: Reference, session: Session) -> Candidate:
    """The candidate, after it was called on the reference's example. Raises CandidateError where it takes other
    arguments than the reference, or has other parameters.
    """
    try:
        callee = callee.matched(shapes(reference), len(reference.given))
    except CompareError as error:
        raise CandidateError(str(error)) from None
    contract, call = record_of(reference, [], False, callee.name).contract, Call(reference.arguments)
    notes: list[OperatorNotes] = []
    runner = _runner(callee, contract, CallForm(0), session, lambda call, first, operators: notes.append(operators))
    launches = bool(runner.examine(call).first.launches)  # what it raises the first family says
    method = method_of(reference.operators, notes[0].elements, launches)
    attached = reference.differentiable and _is_attached(callee, contract, session, call)
    return Candidate(callee, reference, session, launches, attached, method)


def _is_attached(callee: Callee, contract: Contract, session: Session, call: Call) -> bool:
    """Returns whether a result of the candidate is attached to the graph."""
    asked = replace(contract, outputs=("attached",), fewest=1, writes=())
    outcome = _runner(callee, asked, CallForm(0, asked=True), session).examine(call).first
    return outcome.trouble is None and bool(outcome.outputs[0])


def _runner(
    callee: Callee,
    contract: Contract,
    form: CallForm,
    session: Session,
    watch: Watching | None = None,
) -> InProcess:
    contract = replace(contract, form=replace(form, inputs=len(contract.parameters) - form.above))
    return InProcess(callee, contract, "triton", guarded=False, simulated=session, watch=watch)


def shapes(reference: Reference) -> dict[str, tuple[int, ...]]:
    """The shapes of a module's parameters by name."""
    return {name: tuple(value.shape) for name, value in reference.callee.parameters.items()}
