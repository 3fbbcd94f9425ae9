"""The candidate: called as it is, in the emulator where it launches Triton kernels."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from ..emulator import Emulator, EmulatorError
from ..run.arguments import duplicate
from ..run.contract import map_tensors, tensors_of
from ..sanitize.cuda.placement import place
from .callee import Callee, NotAttached
from .errors import CompareError
from .operators import Operators
from .reference import Reference


@dataclass(frozen=True)
class Candidate:
    """callee: what is called. launches: whether it launched a kernel on the example. attached: whether its result has
    gradients. computes: whether it computes itself, in a few words.
    """

    callee: Callee
    launches: bool
    attached: bool
    computes: str

    def function(self, gradients: bool, above: int) -> Callable[..., Any]:
        """What a runner calls: returns the results, and the gradients for the last ``above`` arguments."""

        def called(*args: Any) -> Any:
            if gradients:
                return self.callee.results_and_gradients(args[: len(args) - above], args[len(args) - above :])
            results = self.callee.results(args)
            return results or None

        called.__name__ = self.callee.name
        return called


def candidate_of(callee: Callee, reference: Reference, simulated: bool = False) -> Candidate:
    """The candidate, after it was called on the reference's example. Raises CompareError where it takes other arguments
    than the reference, or has other parameters.
    """
    callee = _with_names(callee, reference)
    _assert_fits(callee, reference)
    mine = Operators()
    machine, attached = Emulator(), callee.backward is not None
    differentiable, args = reference.differentiable, map_tensors(duplicate, reference.arguments)
    upstream = reference.upstream(args, torch.Generator().manual_seed(0)) if differentiable else ()
    for tensor in tensors_of(args + upstream) if simulated else ():
        place(tensor, True)
    try:
        with machine, mine:
            if differentiable and not attached:
                callee.results_and_gradients(args, upstream)
                attached = True
            else:
                callee.results(args)
    except NotAttached:
        pass
    except (EmulatorError, CompareError):
        pass  # the first family says it
    except Exception:
        attached = callee.backward is not None
    launches = bool(machine.launches)
    return Candidate(
        callee, launches, attached and differentiable, _computes(reference.operators, mine.names, launches)
    )


def _computes(theirs: dict[str, None], mine: dict[str, None], launches: bool) -> str:
    shared = [name for name in mine if name in theirs]
    calls = f"it calls {', '.join(f'aten.{name}' for name in shared[:3])}" if shared else ""
    if not launches:
        return f"no kernel; {calls or 'it calls other operators of PyTorch than the reference'}"
    return f"in its own kernels, but {calls}" if shared else "in its own kernels"


def _with_names(callee: Callee, reference: Reference) -> Callee:
    """The candidate with the reference's parameters, where its own have other names but the same shapes in order."""
    theirs = reference.callee.parameters
    shapes = [[value.shape for value in found.values()] for found in (theirs, callee.parameters)]
    if theirs and set(theirs) != set(callee.parameters) and shapes[0] == shapes[1]:
        return replace(callee, parameters=dict(zip(theirs, callee.parameters.values(), strict=True)))
    return callee


def _assert_fits(callee: Callee, reference: Reference) -> None:
    """Raises CompareError."""
    missing = set(reference.callee.parameters) ^ set(callee.parameters)
    if missing:
        raise CompareError(
            f"reference and candidate have different parameters ({', '.join(sorted(missing)[:3])}): give them the same "
            "names, so that both compute with the same values"
        )
    if callee.signature is None or callee.backward is not None:
        return
    try:
        callee.signature.bind(*reference.given)
    except TypeError as error:
        count = len(reference.given)
        raise CompareError(
            f"the candidate {callee.name} does not take the {count} arguments of the example: {error}"
        ) from None
