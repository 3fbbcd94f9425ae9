"""The candidate as a function of this process: called as it is, in the emulator where it launches Triton kernels."""

import contextlib
from dataclasses import dataclass

from ...gpu import Emulator, place
from ...runner import Args, Callee, CompareError, Contract, InProcess, Tree
from .errors import CandidateError
from .method import Method, method_of
from .operators_called import Operators
from .reference import Reference


@dataclass(frozen=True)
class Candidate:
    """callee: what is called. launches: whether it launched a kernel on the example. attached: whether its result has
    gradients. method: how it computes. gpu: whether it is given its tensors on a simulated GPU.
    """

    callee: Callee
    launches: bool
    attached: bool
    method: Method
    gpu: bool

    @property
    def name(self) -> str:
        """The name that a report has."""
        return self.callee.name

    def runner(self, contract: Contract, above: int, shown: bool = False) -> InProcess:
        """Calls it. above: the number of upstream gradients, where gradients are compared. shown: of no account for
        code of one's own.
        """
        return InProcess(self.callee.call(above), contract, "triton", guarded=False, simulated=self.gpu)


def candidate_of(callee: Callee, reference: Reference, gpu: bool = False) -> Candidate:
    """The candidate, after it was called on the reference's example. Raises CandidateError where it takes other
    arguments than the reference, or has other parameters.
    """
    try:
        callee = callee.matched(shapes(reference), len(reference.given))
    except CompareError as error:
        raise CandidateError(str(error)) from None
    mine, machine = Operators(), Emulator()
    with machine, contextlib.suppress(Exception), mine:  # what it raises the first family says
        callee.results(_given(reference.arguments, gpu))
    launches = bool(machine.launches)
    method = method_of(reference.operators, mine.elements, launches)
    with Emulator():
        has_gradients = reference.differentiable and callee.attached(_given(reference.arguments, gpu))
    return Candidate(callee, launches, has_gradients, method, gpu)


def shapes(reference: Reference) -> dict[str, tuple[int, ...]]:
    """The shapes of a module's parameters by name."""
    return {name: tuple(value.shape) for name, value in reference.callee.parameters.items()}


def _given(args: Args, gpu: bool) -> Args:
    """Copies that a candidate may do anything to."""
    return Tree(Tree(args).copied()).map(lambda a: place(a, gpu))
