"""Launches that the emulator noted, as plain data that can leave the process and be compiled elsewhere."""

from collections.abc import Iterable
from types import FunctionType
from typing import TYPE_CHECKING

from ...words import is_python
from . import KernelLaunch, recorded
from .surroundings import Surroundings

if TYPE_CHECKING:
    from ..emulator.launch import Launch


def plain_launches(launches: "Iterable[Launch]") -> tuple[KernelLaunch | str, ...]:
    """The emulator's notes as plain data, each distinct launch once, the largest of those that compile to one code; a
    sentence where one cannot be described.
    """
    distinct: dict[str, KernelLaunch | str] = {}
    for launch in launches:
        try:
            plain = recorded(launch, source_of(launch.kernel))
            known = distinct.get(plain.key())
            if not isinstance(known, KernelLaunch) or plain.elements > known.elements:
                distinct[plain.key()] = plain
        except (TypeError, ValueError) as error:
            distinct[str(error)] = str(error)
    return tuple(distinct.values())


def source_of(kernel: FunctionType) -> str:
    """The text around a kernel: in a notebook all cells run so far, its own and its callees' last; else its file.
    Behind them, those of the two that stand inside a function.
    """
    around = Surroundings(kernel)
    texts = [*around.texts(), *around.inner_texts()]
    earlier = [cell for cell in kernel.__globals__.get("In", ()) if isinstance(cell, str) and is_python(cell)]
    return KernelLaunch.joined(dict.fromkeys([*(cell for cell in earlier if cell not in texts), *texts]))
