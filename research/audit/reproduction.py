"""What the reproductions share: which package each is about, random numbers, the emulator, errors in ulp."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

import torch
from graded_kernels.autograder import Emulator, ulp_error

SIMULATED = not torch.cuda.is_available()


@dataclass(frozen=True)
class Reproduction:
    function: Callable[[], str]
    package: str
    version: str
    exercises: tuple[str, ...]
    upstream: str


REPRODUCTIONS: dict[str, Reproduction] = {}


def of(package: str, *exercises: str, upstream: str = "") -> Callable:
    """package: with its version, as pins.txt has it."""

    def add(function: Callable[[], str]) -> Callable[[], str]:
        name, _, version = package.partition("==")
        REPRODUCTIONS[function.__name__] = Reproduction(function, name, version, exercises, upstream)
        return function

    return add


def worst(found: torch.Tensor, exact: torch.Tensor) -> str:
    found = found.detach().cpu()
    return f"{ulp_error(found, exact.detach(), found.dtype).max().item():.3g} ulp"


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


@contextlib.contextmanager
def emulated():
    with Emulator(fill=0.0) if SIMULATED else contextlib.nullcontext():
        yield


class raised(contextlib.AbstractContextManager):  # noqa: N801
    """Keeps what the block raised, as text."""

    text = "nothing was raised"

    def __exit__(self, kind, error, trace) -> bool:
        if error is not None:
            self.text = f"{type(error).__name__}: {' '.join(str(error).split())[:220]}"
        return isinstance(error, Exception)

    def __str__(self) -> str:
        return self.text
