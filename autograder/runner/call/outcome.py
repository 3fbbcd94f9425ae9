"""Says what came of one call of an answer, as data."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import torch

from ...gpu import ATEN, Finding, KernelLaunch
from .elements import any_numbers
from .tree import Args, Tree

# Troubles of the answer's own. converted: a tensor outside of the kernel, of which calls in its dtype are free.
Own = Literal["stub", "refused", "converted", "unloadable", "finding", "not-emulated", "raised"]
TroubleKind = Literal[Own, "crashed", "timeout", "memory"]  # and those of the process of an isolated one

FINISHING = frozenset({"div", "mul", "neg"})  # operators on one number, the end of a sum that was allowed
_COPY = frozenset({"clone", "copy", "_to_copy"})
_FILL = frozenset(
    "zeros zeros_like new_zeros full full_like new_full ones ones_like new_ones fill zero scalar_tensor".split()
)


@dataclass(frozen=True)
class Trouble:
    """Why there is no output."""

    OWN_TIME: ClassVar = "processor time"  # the code of a time-out that nothing but the answer caused
    UNATTACHED: ClassVar = "unattached"  # of a result whose gradient was asked for, and that has none

    kind: TroubleKind
    message: str
    details: str = ""
    error: str = ""  # the exception's class name where kind is "raised"
    code: str = ""  # the kind of the emulator's finding, or of what was returned; "" where ``kind`` says all
    at: str = ""  # where: the place of the finding, or the line of the answer that raised
    cell: str = ""  # of an isolated answer: the cell at whose top level its process ended
    place: str = ""  # begins the sentence: the line that failed or was refused, and where kind is "raised" the function
    operator: str = ""  # that is closed to the answer, and that it called
    on_purpose: bool = False  # whether a statement of the answer's own raised it (`error_line.on_purpose`)

    @property
    def sentence(self) -> str:
        """All that is said of it."""
        return self.place + self.message

    @property
    def reason(self) -> str:
        """Returns what tells it from another, whatever its sentence says."""
        return self.code or f"{self.kind} {self.error}".rstrip()


@dataclass
class MovedBytes:
    """Bytes that PyTorch's copies and fills move, which no launch shows. loaded, stored: over all that were noted."""

    OPERATORS: ClassVar = _COPY | _FILL  # by their base names; others move nothing that is counted

    loaded: int = 0
    stored: int = 0

    def note(self, operator: str, given: Sequence[int], made: Sequence[int]) -> None:
        """Counts an operator that copies its last tensor, or fills one. given, made: the bytes of each tensor that it
        takes, and of each that it makes; of one that it changes in place, none.
        """
        name = ATEN.base(operator)
        if name in _COPY or name in _FILL:
            self.stored += sum(made or given[:1])
            self.loaded += sum(given[-1:]) if name in _COPY else 0


@dataclass
class Outcome:
    """Holds what one call did. Outputs are tensors on the CPU that nothing else holds; a witness may return numbers
    too.
    """

    outputs: Args = ()  # empty where there was trouble, but for a result that is not attached
    trouble: Trouble | None = None
    mutated: tuple[str, ...] = ()  # arguments whose data changed, a tensor of a list as grads[2]
    relisted: tuple[str, ...] = ()  # lists that hold other tensors than before
    reshaped: tuple[str, ...] = ()  # arguments that have another shape, or other memory, than they came with
    aliased: tuple[str, ...] = ()  # arguments whose memory an output shares
    launches: tuple[KernelLaunch | str, ...] = ()  # distinct ones; a sentence for one that cannot be described
    traffic: dict[str, dict[str, int]] = field(default_factory=dict)  # tensor -> {"loaded": bytes, "stored": bytes}
    moved: MovedBytes = field(default_factory=MovedBytes)  # outside of the kernels
    findings: tuple[Finding, ...] = ()  # faults the emulator saw; the first came first
    hints: tuple[Finding, ...] = ()  # what may explain a wrong result; not faults by themselves
    peak: int = 0  # bytes: the most that tensors took at once, arguments excluded
    looser: tuple[str, ...] = ()  # operations whose result on a GPU may differ from the emulator's
    finished: bool = False  # whether a kernel's sum, one number, was divided or multiplied with PyTorch
    undefined: bool = False  # whether a load had masked-off lanes and no `other`
    probe_input: "tuple[ProbeInput, Outcome] | None" = None  # of an isolated answer: what it was called on before


@dataclass(frozen=True)
class ProbeInput:
    """Unpredictable arguments, of the same layout as those of a call. valid: whether the exercise's contract
    covers them, so that there is a right result for them.
    """

    args: Args
    valid: bool

    @classmethod
    def any_numbers(cls, args: Args) -> "ProbeInput":
        """Random arguments in the layout of ``args``, which the exercise's contract may not cover."""
        chance = torch.Generator().manual_seed(int.from_bytes(os.urandom(7)))
        return cls(Tree(args).map(lambda a: any_numbers(a, chance)), valid=False)
