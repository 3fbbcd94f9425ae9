"""Settings of a judgement, as one value: whoever reads a command line, a notebook's call or a job makes it, once."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import SupportsIndex

from ...gpu import Target
from ...words import Quality

CONVENTIONS = ("course", "pytorch")


@dataclass(frozen=True)
class Settings:
    """backend: ``"torch"`` or ``"triton"``. seed: of the random inputs. compiler: whether a Triton answer that is right
    so far is compiled, too, for the GPUs that ``targets`` names (`Target.named`). require: the qualities that decide.
    machine_code: whether the report has what the machine code of its kernels allows at most (`Target` sm_90).
    conventions: ``"course"``, or ``"pytorch"``, which takes PyTorch's own choice for right as well.
    """

    backend: str
    seed: int = 0
    compiler: bool = True
    targets: str | Iterable[str] = "sm_90"
    require: Iterable[str] = tuple(Quality)
    conventions: str = "course"
    machine_code: bool = False

    def __post_init__(self) -> None:
        """Raises TypeError for a value of another type, ValueError for an unknown quality, GPU or convention."""
        for name, kind, words in (("seed", SupportsIndex, "a whole number"), ("compiler", bool, "True or False")):
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise TypeError(f"{name} is {words}, not {value!r}")
        for name, like in (("targets", "sm_90"), ("require", "correct")):
            value = getattr(self, name)
            if not isinstance(value, Iterable):
                raise TypeError(f'{name} is a name or several, as in {name}="{like}", not {value!r}')
        if self.conventions not in CONVENTIONS:
            raise ValueError(f"conventions are {' or '.join(map(repr, CONVENTIONS))}, not {self.conventions!r}")
        object.__setattr__(self, "require", Quality.named(self.require))
        object.__setattr__(self, "targets", tuple(target.name for target in Target.named(self.targets)))

    @property
    def required(self) -> tuple[Quality, ...]:
        """Returns what ``require`` names."""
        return Quality.named(self.require)

    @property
    def gpus(self) -> tuple[Target, ...]:
        """Returns what ``targets`` names."""
        return Target.named(self.targets)
