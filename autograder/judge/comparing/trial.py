"""A trial: one case of an exercise, put to one answer."""

import hashlib
import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from ...runner import Args, Call, ProbeInput, Runner, Tree, dtype_name
from ..records.record import Case, Exercise
from ..records.settings import Settings
from .closeness import Expected, expect

WHOLE = 16  # elements of a tensor that are shown
LISTED = 8  # tensors of a list that are described
SHRUNK = 1 / 16  # by up to this share a number is made smaller where the case always gives the same


def unforeseeable() -> int:
    """A seed that nobody can know before."""
    return int.from_bytes(os.urandom(7))


@dataclass(frozen=True)
class Trial:
    """A case with its arguments and what is right for them, the runner of an answer, and how it is judged.

    expected: None where the call should raise. settings: of all cases. fill: what masked-off lanes of a load without
    ``other`` hold; poison where it is None.
    """

    exercise: Exercise
    case: Case
    args: Args
    expected: Expected | None
    runner: Runner
    settings: Settings
    fill: float | None = None

    @classmethod
    def of(cls, exercise: Exercise, case: Case, args: Args, runner: Runner, settings: Settings) -> "Trial":
        """The trial of a case on these arguments. What is right is worked out here, once, and before the answer is
        called.
        """
        expected = None if case.raises else expect(exercise, case, args, settings.conventions)
        return cls(exercise, case, args, expected, runner, settings)

    @property
    def call(self) -> Call:
        """The call to examine."""
        # The order comes from the name: it goes where the answer runs, and the seed of the inputs must not.
        order = zlib.crc32(self.case.name.encode()) if self.settings.backend == "triton" else None
        draw = probe_inputs(self.case, self.args, unforeseeable())
        layouts = self.expected.layouts if self.expected else ()
        return Call(self.args, layouts, order, self.fill, draw, choice=self._choice, twice=self.case.twice)

    @property
    def _choice(self) -> int | None:
        """Names a configuration of an autotuned kernel: of one case after the other each, from one that the seed draws.
        Where rows are asked alone, the launches choose by their shapes, as on a GPU.
        """
        if self.case.each_row_alone:
            return None
        drawn = hashlib.sha256(str(self.settings.seed).encode()).digest()
        cases = enumerate(self.exercise.cases)
        # 16 bits: they go where the answer runs, and the seed must not.
        return int.from_bytes(drawn[:2]) + next((number for number, case in cases if case is self.case), 0)

    @property
    def named(self) -> dict[str, torch.Tensor]:
        """The tensors of the arguments by name: see `Exercise.named`."""
        return self.exercise.named(self.args)

    @property
    def is_first(self) -> bool:
        """Returns whether the case is the first of its exercise, or of one of its forms (``tanh: ordinary values``); an
        instructor's case is not, whatever its name.
        """
        first = self.exercise.cases[0]
        return not self.case.hidden and (self.case is first or self.case.name.endswith(f": {first.name}"))

    def filled(self, fill: float) -> "Trial":
        """The same trial with ``fill`` in masked-off lanes of loads without ``other``."""
        return replace(self, fill=fill)


def arguments(case: Case, number: int, seed: int) -> Args:
    """The arguments of an exercise's case of this number: other random numbers for every seed."""
    return case.inputs(torch.Generator().manual_seed(seed * 1000 + number))


def _strides(tensor: torch.Tensor) -> str:
    return f"strides {tensor.stride()}"


def describe(
    exercise: Exercise,
    args: Args,
    layout: Callable[[torch.Tensor], str] = _strides,
    other: Callable[[object], str] = repr,
    values: bool = True,
) -> str:
    """The arguments in words: ``dy: float16 (11, 101) strides (202, 2), grads: [float32 (3,), float32 (0,)], n: 5``.

    layout: what is said of a tensor that is not contiguous. other: what is said of a number or a string. values:
    whether the elements of a tensor that has no more than `WHOLE` are shown.
    """

    def words(value: Any) -> str:
        if isinstance(value, list):
            more = [f"{len(value) - LISTED} more"] if len(value) > LISTED else []
            return f"[{', '.join([*map(words, value[:LISTED]), *more])}]"
        if not isinstance(value, torch.Tensor):
            return other(value)
        kind = f"{dtype_name(value.dtype)} {tuple(value.shape)}"
        kind = kind if value.is_contiguous() else f"{kind} {layout(value)}"
        return f"{kind} = {_numbers(value.tolist())}" if values and 0 < value.numel() <= WHOLE else kind

    return ", ".join(f"{name}: {words(value)}" for name, value in zip(exercise.parameters, args, strict=False))


def _numbers(value: Any) -> str:
    """``[1, -0.5, nan]``: floats to as many digits as tell them from others of float32."""
    if isinstance(value, list):
        return f"[{', '.join(map(_numbers, value))}]"
    return f"{value:.9g}" if isinstance(value, float) else repr(value)


def probe_inputs(case: Case, args: Args, seed: int) -> Callable[[], ProbeInput]:
    """A function that makes another probe input for a case at every call: unpredictable arguments of the same kind as
    its own, for which no table of results can be prepared. They are its inputs, drawn with numbers from ``seed`` on.

    Numbers that the case gives every time are made a little smaller, each by a share of its own, which leaves zeros,
    infinities and NaN as they are and overflows nowhere; not where one argument is computed from another. Where a case
    draws another layout every time, the probe input is not valid: any numbers in the layout of ``args``.
    """

    chance = torch.Generator().manual_seed(seed)

    def draw() -> ProbeInput:
        drawn = case.inputs(chance)
        if _layout(drawn) != _layout(args):
            return ProbeInput.any_numbers(args)
        tensors = Tree(drawn).tensors
        fixed = [Tree((a,)).same_bits((before,)) for a, before in zip(tensors, Tree(args).tensors, strict=True)]
        if all(fixed) or _elementwise(tensors):
            shrunk = [same and a.is_floating_point() for a, same in zip(tensors, fixed, strict=True)]
            drawn = Tree(drawn).changed(
                lambda x: x.double() * (1 - SHRUNK * torch.rand(x.shape, generator=chance)), shrunk
            )
        return ProbeInput(drawn, case.raises is None)

    return draw


def _layout(args: Args) -> str:
    """All that two calls must have in common to be recorded as one: of a tensor its layout, and what a list holds
    twice, of the rest the value.
    """
    tree = Tree(args)
    return repr((tree.map(lambda a: (a.dtype, a.shape, a.stride())), tree.firsts))


def _elementwise(tensors: list[torch.Tensor]) -> bool:
    """Returns whether every element of a tensor meets one of each other tensor, and so none is computed from many."""
    return len({a.shape for a in tensors}) == 1
