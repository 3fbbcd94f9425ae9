"""The grader, for everybody outside it: chapters, teachers, other projects. Names stay here; modules may move.

check(exercise, function, backend=...)   a `Report`
EXERCISES                                the table of what can be checked
Emulator                                 runs Triton kernels as a GPU may, and notes what they do
Peak                                     counts the bytes that tensors take at once
ulp_error, ulp_size                      distances in units in the last place
"""

from .run.interpret import choose

choose()  # before anything here imports triton

from .check import check  # noqa: E402
from .emulator import Emulator  # noqa: E402
from .exercises import EXERCISES  # noqa: E402
from .report.report import Report  # noqa: E402
from .run.memory import Peak  # noqa: E402
from .ulp import ulp_error, ulp_size  # noqa: E402

__all__ = ["EXERCISES", "Emulator", "Peak", "Report", "check", "ulp_error", "ulp_size"]
