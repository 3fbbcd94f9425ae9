"""``python -m benchmarks.gpu.child KIND NAME FILE [--simulated]``: one piece, whose result goes into FILE as JSON."""

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

from graded_kernels.autograder import Emulator  # first: where there is no GPU, Triton interprets
from graded_kernels.autograder.gpu import shimmed

from .arithmetic import arithmetic
from .device_tests import device_tests
from .errors import errors
from .machine import machine
from .planted_bugs import planted
from .speed import speed

KINDS: dict[str, Callable[[str, bool], dict]] = {
    function.__name__: function for function in (machine, speed, planted, arithmetic, errors, device_tests)
}
ON_THE_DEVICE = ("machine", "speed", "arithmetic")  # the others start processes, or run on what they find


def refuse(why: str) -> NoReturn:
    raise NotImplementedError(why)


@contextlib.contextmanager
def simulated_device() -> Iterator[None]:
    with shimmed(refuse), Emulator():
        yield


def main(kind: str, name: str, file: str, simulated: bool) -> None:
    around = simulated_device() if simulated and kind in ON_THE_DEVICE else contextlib.nullcontext()
    with around:
        found = KINDS[kind](name, simulated)
    Path(file).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:4], "--simulated" in sys.argv)
