"""The strict emulator: what a GPU would have done with a Triton kernel, on a machine without one."""

from .emulator import Emulator
from .findings import KINDS, EmulatorError, Finding
from .grid import Replay
from .launch import Argument, Launch
from .limits import CANNOT_SHOW

__all__ = ["CANNOT_SHOW", "KINDS", "Argument", "Emulator", "EmulatorError", "Finding", "Launch", "Replay"]
