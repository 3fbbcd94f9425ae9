"""Says how often the loops of a kernel go round, from their bounds in Triton's IR and the numbers of the launch."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

FOR = re.compile(r"scf\.for %\S+ = (%[\w.]+) to (%[\w.]+) step (%[\w.]+)")
LOAD = re.compile(r"tt\.load .*: tensor<([\dx]+)x!tt\.ptr<[a-z]*?(\d+)")
DOT = re.compile(r"tt\.dot .*: tensor<([\dx]+)x[a-z]\w*> \* tensor<[\dx]+x(\d+)x[a-z]")
REPEATED = re.compile(r"inputPrecision = \w+x(\d)\b")  # tf32x3 is three products
CONSTANT = re.compile(r"(%[\w.]+) = arith\.constant (-?\d+) : i\d+")
PROGRAM = re.compile(r"(%[\w.]+) = tt\.get_program_id ([xyz])")
CAST = re.compile(r"(%[\w.]+) = arith\.(?:extsi|trunci) (%[\w.]+)")
ARITHMETIC = re.compile(r"(%[\w.]+) = arith\.(\w+|cmpi slt,) (%[\w.]+), (%[\w.]+)")
SELECT = re.compile(r"(%[\w.]+) = arith\.select (%[\w.]+), (%[\w.]+), (%[\w.]+)")
OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "cmpi slt,": lambda a, b: int(a < b),
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "minsi": min,
    "maxsi": max,
    "divsi": lambda a, b: int(a / b),
    "remsi": lambda a, b: a - b * int(a / b),
}


@dataclass
class SourceLoop:
    """A ``scf.for``. trips: None where its bounds are not known. loaded: bytes that its body loads each time.
    multiplied: M x N x K of its products, each as often as its precision repeats it.
    """

    trips: int | None
    loaded: int = 0
    multiplied: int = 0


def source_loops(ttir: str, values: Mapping[str, Any], grid: Iterable[int]) -> list[SourceLoop]:
    """The loops in the order of the text, as the middle program of the grid runs them."""
    numbers: dict[str, int | None] = {f"%{name}": value for name, value in values.items() if isinstance(value, int)}
    middle = dict(zip("xyz", (size // 2 for size in grid), strict=True))
    in_order: list[SourceLoop] = []
    inside: list[tuple[SourceLoop, int]] = []  # and how far each is indented
    for line in ttir.splitlines():
        if match := FOR.search(line):
            in_order.append(SourceLoop(_trips(*(numbers.get(name) for name in match.groups()))))
            inside.append((in_order[-1], len(line) - len(line.lstrip())))
        elif inside and line.startswith(" " * inside[-1][1] + "}"):
            inside.pop()
        elif inside and (match := LOAD.search(line)):
            inside[-1][0].loaded += int(match[2]) // 8 * math.prod(map(int, match[1].split("x")))
        elif inside and (match := DOT.search(line)):
            times = REPEATED.search(line)
            sizes = (*match[1].split("x"), match[2], times[1] if times else 1)
            inside[-1][0].multiplied += math.prod(map(int, sizes))
        else:
            _follow(line, numbers, middle)
    return in_order


def _trips(low: int | None, high: int | None, step: int | None) -> int | None:
    return None if low is None or high is None or step is None else max(-((low - high) // step), 0)


def _follow(line: str, numbers: dict[str, int | None], middle: dict[str, int]) -> None:
    """Notes the integer that a line of the IR computes, if it is known."""
    if match := CONSTANT.search(line):
        numbers[match[1]] = int(match[2])
    elif match := PROGRAM.search(line):
        numbers[match[1]] = middle[match[2]]
    elif match := CAST.search(line):
        numbers[match[1]] = numbers.get(match[2])
    elif match := SELECT.search(line):
        chosen = numbers.get(match[2])
        numbers[match[1]] = None if chosen is None else numbers.get(match[3] if chosen else match[4])
    elif match := ARITHMETIC.search(line):
        operation, left, right = OPERATIONS.get(match[2]), numbers.get(match[3]), numbers.get(match[4])
        numbers[match[1]] = operation(left, right) if operation and left is not None and right is not None else None
