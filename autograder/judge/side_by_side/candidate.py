"""The candidate as a function of this process: called as it is, in the emulator where it launches Triton kernels."""

import contextlib
from dataclasses import dataclass
from typing import Any

from ...gpu import Emulator, place
from ...runner import Args, Call, Callee, CompareError, Contract, Examined, InProcess, Tree
from .errors import CandidateError
from .method import Method, in_derivative, method_of
from .operators_called import OperatorNotes
from .reference import Reference


@dataclass(frozen=True)
class Candidate:
    """callee: what is called. reference: what is right. launches: whether it launched a kernel on the example.
    attached: whether its result has gradients. method: how it computes there. gpu: whether it is given its tensors on a
    simulated GPU.
    """

    callee: Callee
    reference: Reference
    launches: bool
    attached: bool
    method: Method
    gpu: bool

    @property
    def name(self) -> str:
        """The name that a report has."""
        return self.callee.name

    def runner(self, contract: Contract, above: int, shown: bool = False) -> "Noted":
        """Calls it. above: the number of upstream gradients, where gradients are compared. shown: of no account for
        code of one's own.
        """
        return Noted(self, contract, above)


class Noted(InProcess):
    """Calls a candidate of this process. methods: how each call computed: a branch on a shape, or on whether gradients
    are asked for, is no answer.
    """

    def __init__(self, candidate: Candidate, contract: Contract, above: int):
        self.candidate, self.above, self.methods = candidate, above, list[Method]()
        self._mine: OperatorNotes | None = None  # of the call that is noted
        super().__init__(self._called, contract, "triton", guarded=False, simulated=candidate.gpu)

    def examine(self, call: Call) -> Examined:
        """Calls it, and notes how it computes, where it does."""
        self._mine = mine = OperatorNotes()
        examined = super().examine(call)
        self._mine, first = None, examined.first
        if first.trouble is None and any((mine.elements | mine.derivative).values()):
            self.methods.append(self._method(mine, bool(first.launches), call.args))
        return examined

    def _called(self, *args: Any) -> Any:
        callee = self.candidate.callee
        return self._mine.of_call(callee, args, self.above) if self._mine else callee.call(self.above)(*args)

    def _method(self, mine: OperatorNotes, launches: bool, args: Args) -> Method:
        reference = self.candidate.reference
        method = method_of(reference.operators, mine.elements, launches)
        in_kernels = method.kind == "kernels" and mine.derivative
        if in_kernels or reference.operators.keys() <= mine.elements.keys():  # then it counts on how many elements
            theirs = reference.called_on(args, self.above)
            method = method_of(theirs.elements, mine.elements, launches)
            return in_derivative(theirs.derivative, mine.derivative) if in_kernels else method
        return method


def candidate_of(callee: Callee, reference: Reference, gpu: bool = False) -> Candidate:
    """The candidate, after it was called on the reference's example. Raises CandidateError where it takes other
    arguments than the reference, or has other parameters.
    """
    try:
        callee = callee.matched(shapes(reference), len(reference.given))
    except CompareError as error:
        raise CandidateError(str(error)) from None
    mine, machine = OperatorNotes(), Emulator()
    with machine, contextlib.suppress(Exception), mine:  # what it raises the first family says
        callee.results(_given(reference.arguments, gpu))
    launches = bool(machine.launches)
    method = method_of(reference.operators, mine.elements, launches)
    with Emulator():
        has_gradients = reference.differentiable and callee.attached(_given(reference.arguments, gpu))
    return Candidate(callee, reference, launches, has_gradients, method, gpu)


def shapes(reference: Reference) -> dict[str, tuple[int, ...]]:
    """The shapes of a module's parameters by name."""
    return {name: tuple(value.shape) for name, value in reference.callee.parameters.items()}


def _given(args: Args, gpu: bool) -> Args:
    """Copies that a candidate may do anything to."""
    return Tree(Tree(args).copied()).map(lambda a: place(a, gpu))
