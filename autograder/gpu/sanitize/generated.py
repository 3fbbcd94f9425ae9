"""Generated kernels: which lines of the program a finding in one is about."""

import linecache
import re
from collections.abc import Mapping

ProgramLine = tuple[str, int, str]  # file, number and text
_HELION = re.compile(r"\s*# src\[(?P<file>[^:\]]+):(?P<line>\d+)\]: (?P<source>.*)")


def by_inductor(kernel: str, origins: Mapping[str, list[ProgramLine]]) -> tuple[ProgramLine, str] | None:
    """The last of the program's lines that a kernel of TorchInductor computes, and a sentence that names them all.
    origins: those lines, by the kernel's name. None for any other kernel, and where no line is known.
    """
    lines = origins.get(kernel)
    if not lines:
        return None
    numbers = ", ".join(str(number) for _, number, _ in lines)
    which = f"line{'' if len(lines) == 1 else 's'} {numbers}"
    return lines[-1], f" TorchInductor generated `{kernel}` for {which} of the program."


def by_helion(file: str, line: int) -> str:
    """A sentence that names the program's line which Helion wrote above a line that it generated; "" elsewhere."""
    for number in range(line, 0, -1):
        text = linecache.getline(file, number)
        if match := _HELION.match(text):
            return f" Helion generated this for line {match['line']} of {match['file']}, `{match['source']}`."
        if text.startswith(("def ", "@")):
            break
    return ""
