"""The line of an answer that an error came from: the innermost line that is neither the grader's nor a library's."""

import sysconfig
from importlib.util import find_spec
from pathlib import Path

from ...gpu import Place

_LIBRARIES = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
# A sandbox's Python is not the one that these were installed for.
_SPECS = map(find_spec, ("triton", "numpy", "torch"))  # Triton may not be installed
_PACKAGES = [f"{Path(spec.origin).parent}/" for spec in _SPECS if spec and spec.origin]
_GRADER = Path(__file__).parents[2]
_NOT_THE_LEARNERS = (*_LIBRARIES, *_PACKAGES, f"{_GRADER}/", "<frozen ", "<string>")


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or "Interrupt kernel", while an answer ran. The message is all that a notebook shows of it."""

    def _render_traceback_(self) -> list[str]:  # asked for by IPython, in place of the frames
        return [str(self)]


def interrupted(function: str, error: KeyboardInterrupt) -> Interrupted:
    """The error that a notebook shows where the check of ``function`` was interrupted; ``error``, if it is one."""
    if isinstance(error, Interrupted):
        return error
    place = line_of(error)
    if not place:
        return Interrupted(f"The check of `{function}` was interrupted.")
    return Interrupted(f"Interrupted while `{function}` was running, in {place}. If that is a loop, does it ever end?")


def line_of(error: BaseException) -> str:
    """``line 3, `x.foo()```, as the emulator says it of a kernel; "" where the error passed no line of the answer."""
    place = in_answer(error)
    return str(place) if place else ""


def in_answer(error: BaseException) -> Place | None:
    """The innermost line of the learner's code below the grader's call, if any."""
    place, trace = None, error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        # A compiled extension names its files relative to a folder of its maker's.
        if name.startswith(("/", "<")) and not name.startswith(_NOT_THE_LEARNERS):
            place = Place(name, trace.tb_lineno)
        trace = trace.tb_next
    return place
