"""The smallest input that still fails: a failing family's, made smaller and plainer step by step while it fails."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from ...runner import Args, Runner, Tree, dtype_name
from ..checking.case_verdict import judge_case
from ..comparing.trial import Trial
from ..records.record import Case
from ..records.settings import Settings
from ..records.ulp import comparable
from ..results.case_result import CaseResult, Failure
from .reference_record import Compared
from .sizes import Dimension

SECONDS = 1.0  # of processor time that the search may take
SHOWN = 24  # elements of a tensor that are printed


@dataclass
class Smallest:
    """A search in one failing case. args: the smallest found so far. worst: its worst element."""

    record: Compared
    case: Case
    args: Args
    runner: Runner
    settings: Settings
    worst: Failure | None = None

    def find(self, dimensions: list[Dimension]) -> str:
        """Searches, and says what was found in one sentence; "" where nothing smaller fails."""
        self._until = time.process_time() + SECONDS
        for dimension in dimensions:
            self._halve(dimension)
        for number, value in enumerate(self.args):
            if isinstance(value, Tensor) and value.is_floating_point() and value.numel():
                self._make_plain(number, value)
        return self._sentence() if self.worst else ""

    def _halve(self, dimension: Dimension) -> None:
        (argument, axis), times = next((at, times) for at, times in dimension.places.items() if at[1] >= 0)
        size = self.args[argument].shape[axis] // times
        step = size // 2
        while step:
            if size > step and self._still(partial(_at_size, dimension, size - step)):
                size -= step
            else:
                step //= 2

    def _make_plain(self, number: int, value: Tensor) -> None:
        """Elements become 0, first all of them, then halves and ever smaller parts; the rest become whole numbers."""
        self._still(_at(number, torch.round))
        size = value.numel()
        while time.process_time() <= self._until:
            for first in range(0, value.numel(), size):
                self._still(_at(number, partial(_zeroed, first=first, last=first + size)))
            if size == 1:
                return
            size = -(-size // 2)

    def _still(self, change: Callable[[Args], Args]) -> bool:
        """Changes the arguments, where the candidate still fails on what comes out, and differs from what was."""
        if time.process_time() > self._until:
            return False
        reference, above = self.record.reference, self.record.above
        assert reference is not None
        inputs, upstream = self.args[: len(self.args) - above], self.args[len(self.args) - above :]
        try:
            changed = reference.parted(change(inputs))
            if all(
                a is b or (isinstance(a, Tensor) and Tree((a,)).same_bits((b,)))
                for a, b in zip(inputs, changed, strict=True)
            ):
                return False
            if reference.refuses(changed) or (above and reference.refuses_gradients(changed)):
                return False
            if above and any(a.shape != b.shape for a, b in zip(inputs, changed, strict=True) if isinstance(a, Tensor)):
                upstream = reference.upstream(changed, torch.Generator().manual_seed(0))
            result = self._judged(changed + upstream)
        except (RuntimeError, ValueError, IndexError, TypeError):  # the reference takes it no more
            return False
        if result.status != "fail" or result.failure is None:
            return False
        self.args, self.worst = changed + upstream, result.failure
        return True

    def _judged(self, args: Args) -> CaseResult:
        case = replace(self.case, inputs=lambda generator: args)
        return judge_case(Trial.of(self.record, case, args, self.runner, self.settings)).result

    def _sentence(self) -> str:
        worst, names = self.worst, self.record.parameters
        assert worst is not None
        inputs = ", ".join(f"{name} = {_shown(value)}" for name, value in zip(names, self.args, strict=False))
        place = f"[{', '.join(map(str, worst.index))}]" if worst.index else ""
        actual, expected = f"{worst.got:.8g}", f"{worst.expected or 0:.8g}"  # 0 is meant where -0 came about
        said = f"{worst.output}{place} is {actual} and should be {expected}."
        return f"The smallest input found that fails: {inputs}; {said}"


def _at_size(dimension: Dimension, size: int, args: Args) -> Args:
    return dimension.at(args, size, torch.Generator().manual_seed(0))


def _at(number: int, change: Callable[[Tensor], Tensor]) -> Callable[[Args], Args]:
    def changed(tensor: Tensor) -> Tensor:
        return change(comparable(tensor)).to(tensor.dtype)

    return lambda args: (*args[:number], changed(args[number]), *args[number + 1 :])


def _zeroed(tensor: Tensor, first: int, last: int) -> Tensor:
    places = torch.arange(tensor.numel()).view(tensor.shape)
    return tensor.masked_fill((places >= first) & (places < last), 0)


def _shown(value: Any) -> str:
    if not isinstance(value, Tensor):
        return repr(value)
    if value.numel() > SHOWN:
        return f"{dtype_name(value.dtype)} {tuple(value.shape)}"
    return _numbers(value.tolist()) if value.numel() else f"an empty tensor {tuple(value.shape)}"


def _numbers(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_numbers, value))}]"
    return f"{value:.6g}" if isinstance(value, float) else repr(value)
