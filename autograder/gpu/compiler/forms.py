"""The forms in which an answer launches its kernels, and which of them the whole compiler takes.

A form is what Triton's front end distinguishes: types, constants and options. Every form goes through it, and a branch
on a constant or on a dtype is read in the form that enters it. What follows, for registers, shared memory and machine
code, takes ten times as long. It is done for so many forms of a kernel that every operation which the front end made
of any of them, every dtype, every constant that is not a number, every option and the largest of all numbers is among
them. The other forms hold the same operations in smaller blocks.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from .kernel_launch import KernelLaunch

_SIZES = ("num_warps", "num_stages")  # options of which more takes more


def forms(launches: Iterable[KernelLaunch]) -> list[KernelLaunch]:
    """Returns a launch for each form, the one with the best aligned arguments."""
    kept: dict[str, KernelLaunch] = {}
    for launch in {launch.key(): launch for launch in launches}.values():
        key = launch.form()
        if key not in kept or len(launch.unaligned) < len(kept[key].unaligned):
            kept[key] = launch
    return list(kept.values())


def form_of(launch: KernelLaunch) -> KernelLaunch:
    """Returns the launch without what the front end does not look at."""
    return replace(launch, divisible=(), within_2gb=())


def kernels(launches: Iterable[KernelLaunch]) -> list[list[KernelLaunch]]:
    """Returns the launches of each kernel."""
    groups: dict[tuple[str, str], list[KernelLaunch]] = {}
    for launch in launches:
        groups.setdefault((launch.kernel, launch.source), []).append(launch)
    return list(groups.values())


def covering(launches: Sequence[KernelLaunch], operations: Mapping[str, Iterable[str]]) -> list[KernelLaunch]:
    """Returns those of a kernel's forms that the whole compiler takes, the one that shows most at the front.

    operations: what the front end made of each launch, by its key.
    """
    numbers = _largest(launches)
    shows = [
        set(operations[launch.key()])
        | {(name, str(value)) for name, value in _not_sizes(launch)}
        | {(name, "largest") for name, value in _numbers(launch) if value == numbers.get(name)}
        for launch in launches
    ]
    left: set[object] = set().union(*shows)
    chosen: list[KernelLaunch] = []
    while left or not chosen:
        best = max(range(len(launches)), key=lambda i: (len(shows[i] & left), -len(launches[i].unaligned)))
        left -= shows[best]
        chosen.append(launches[best])
    return chosen


def distinguished(launch: KernelLaunch, others: Iterable[KernelLaunch]) -> list[str]:
    """The parts that this launch of a kernel has and no other has, or else those that not all of them have, as in
    ``["TANH=True", "x_ptr: *fp16"]``.
    """
    each = [set(other.parts()) for other in others]
    mine = launch.parts()
    alone = [part for part in mine if not any(part in parts for parts in each)]
    return alone or [part for part in mine if not all(part in parts for parts in each)]


def _largest(launches: Sequence[KernelLaunch]) -> dict[str, float]:
    """Numbers by name: constants, and options that are sizes. A parameter that is a constant only where it is 1 is an
    argument of the launch.
    """
    arguments = {name for launch in launches for name in launch.signature}
    most: dict[str, float] = {}
    for launch in launches:
        for name, value in _numbers(launch):
            if name not in arguments:
                most[name] = max(value, most.get(name, value))
    return most


def _numbers(launch: KernelLaunch) -> Iterable[tuple[str, float]]:
    options = [(name, launch.options[name]) for name in _SIZES if name in launch.options]
    for name, value in [*launch.constants.items(), *options]:
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield name, value


def _not_sizes(launch: KernelLaunch) -> Iterable[tuple[str, object]]:
    """Types of tensors and other numbers than integers, constants that are not numbers, options that are not sizes."""
    yield from ((name, kind) for name, kind in launch.signature.items() if kind not in ("i32", "i64"))
    yield from ((n, v) for n, v in launch.constants.items() if isinstance(v, bool) or not isinstance(v, int | float))
    yield from ((name, value) for name, value in launch.options.items() if name not in _SIZES)
