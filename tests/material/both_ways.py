"""A program under the emulator, all programs of a launch together and one at a time: what is seen must be the same."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from graded_kernels.autograder.gpu import Emulator, EmulatorError, Replay
from planted import Uninitialised

SMALL = 2048 * 200  # bytes for 200 lanes: many passes, which meet
# Whether programs of a launch run together, whether they wait for each other, and the bytes that they may take.
WAYS = {
    "together": (True, True, Emulator.memory),
    "in small passes": (True, True, SMALL),
    "parting": (True, False, Emulator.memory),
    "one at a time": (False, False, 0),
}


@dataclass
class Seen:
    """Everything that a caller of the emulator can see."""

    outputs: list[bytes] = field(default_factory=list)
    unwritten: list = field(default_factory=list)
    error: str = ""
    findings: tuple = ()
    hints: tuple = ()
    traffic: dict = field(default_factory=dict)
    looser: tuple = ()
    undefined: bool = False
    launches: int = 0


def observe(
    program: Callable, way: str, shuffle: int | None = None, replay: Replay | None = None
) -> tuple[Seen, list[tuple[str, str]]]:
    """Run a program in one of the `WAYS`; also which launches fell back, and why."""
    emulator, seen = Emulator(shuffle=shuffle, replay=replay), Seen()
    emulator.together, emulator.lockstep, emulator.memory = WAYS[way]
    with emulator, Uninitialised(emulator):
        try:
            result = program()
        except EmulatorError as error:
            seen.error = str(error)
        else:
            outputs = [o for o in (result if isinstance(result, tuple | list) else (result,)) if o is not None]
            seen.outputs = [bits(o) for o in outputs]
            seen.unwritten = [emulator.unwritten(o) for o in outputs]
    seen.findings, seen.hints, seen.traffic = emulator.findings, emulator.hints, emulator.traffic
    seen.looser, seen.undefined, seen.launches = emulator.looser, emulator.undefined, len(emulator.launches)
    return seen, emulator.fallbacks


def bits(tensor: torch.Tensor) -> bytes:
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def assert_same(program: Callable, shuffle: int | None = None) -> list[tuple[str, str]]:
    """All ways see the same, and so does a run that replays the launches of an earlier one. Returns what fell back when
    everything ran together.
    """
    alone, _ = observe(program, "one at a time", shuffle)
    small, _ = observe(program, "in small passes", shuffle)
    assert small == alone
    replay = Replay()
    recorded, fallbacks = observe(program, "together", None, replay)
    if shuffle is None:
        assert recorded == alone
    else:
        together, fallbacks = observe(program, "together", shuffle)
        assert together == alone
    assert observe(program, "together", shuffle, replay)[0] == alone
    return fallbacks
