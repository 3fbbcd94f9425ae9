"""The strict emulator: what a GPU would have done with a Triton kernel, on a machine without one."""

from typing import TYPE_CHECKING

from ...words import lazy_api

if TYPE_CHECKING:
    from .emulator import Emulator
    from .findings import EmulatorError, Finding
    from .grid import Replay
    from .lane_values import LANE_VALUES
    from .launch import Argument, Launch
    from .limits import CANNOT_SHOW
    from .observed import Observed
    from .observer import Observer

__all__ = [
    "CANNOT_SHOW",
    "LANE_VALUES",
    "Argument",
    "Emulator",
    "EmulatorError",
    "Finding",
    "Launch",
    "Observed",
    "Observer",
    "Replay",
]

__getattr__ = lazy_api(__name__, __file__)  # what is said of a kernel is read where Triton is not installed, too
