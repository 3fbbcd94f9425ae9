"""Launches that the emulator noted, as plain data that can leave the process and be compiled elsewhere."""

import inspect
import linecache
from collections.abc import Iterable
from types import FunctionType
from typing import TYPE_CHECKING

from ...words import is_python
from . import SEAM, KernelLaunch, recorded

if TYPE_CHECKING:
    from ..emulator.launch import Launch


def plain_launches(launches: "Iterable[Launch]") -> tuple[KernelLaunch | str, ...]:
    """The emulator's notes as plain data, each distinct launch once; a sentence where one cannot be described."""
    found: dict[str, KernelLaunch | str] = {}
    for launch in launches:
        try:
            plain = recorded(launch, source_of(launch.kernel))
            found[plain.key()] = plain
        except (TypeError, ValueError) as error:
            found[str(error)] = str(error)
    return tuple(found.values())


def source_of(kernel: FunctionType) -> str:
    """The text around a kernel: in a notebook all cells run so far, its own and its callees' last; else its file."""
    own = own_texts(kernel)
    earlier = [cell for cell in kernel.__globals__.get("In", ()) if isinstance(cell, str) and is_python(cell)]
    return SEAM.join(dict.fromkeys([*(cell for cell in earlier if cell not in own), *own]))


def own_texts(function: FunctionType) -> list[str]:
    """The files, or notebook cells, of a function and of the kernels it names, its own first."""
    names: dict[str, None] = {}
    queue, seen = [function], set()
    while queue:
        current = queue.pop()
        if current in seen:
            continue
        seen.add(current)
        names.setdefault(current.__code__.co_filename)
        callees = (getattr(current.__globals__.get(name), "fn", None) for name in current.__code__.co_names)
        queue += [c for c in callees if inspect.isfunction(c) and c.__globals__ is current.__globals__]
    return ["".join(linecache.getlines(name)) for name in names]
