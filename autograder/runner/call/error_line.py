"""The line of an answer that an error came from: the innermost line that is neither the grader's nor a library's."""

import dis
import sysconfig

from ...gpu import Place

# An answer is in no installed package, while a kernel that the emulator runs may be.
_INSTALLED = (*{sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")},)
_NOT_WRITTEN = ("<frozen ", "<string>")


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
    return Place.innermost(error, _is_another)


def on_purpose(error: BaseException) -> bool:
    """Says whether a ``raise`` or an ``assert`` of the learner's own code raised it, and no operation that failed."""
    trace, place = error.__traceback__, in_answer(error)
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or place is None:
        return False
    code = trace.tb_frame.f_code
    if (code.co_filename, trace.tb_lineno) != (place.file, place.line):
        return False
    steps = dis.get_instructions(code)
    return any(step.offset == trace.tb_lasti and step.opname == "RAISE_VARARGS" for step in steps)


def _is_another(file: str) -> bool:
    """Says whether it is nobody's answer. A compiled extension names its files relative to a folder of its maker's."""
    return file.startswith((*_INSTALLED, *_NOT_WRITTEN)) or not file.startswith(("/", "<"))
