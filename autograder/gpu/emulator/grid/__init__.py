"""A whole launch at once: the programs of a grid as the first axis of every array that the interpreter holds.

One operation of Triton's is one numpy operation for all programs of a pass; in atomics they come one after the other.
`passes.run` is the way in. Whatever a pass cannot answer for with certainty raises `Fallback`: the launch is undone and
runs one program at a time, so that findings and hints are always found, worded and ordered by the same code.
"""

from .fallback import Defect
from .launch_replay import Replay
from .passes import run

__all__ = ["Defect", "Replay", "run"]
