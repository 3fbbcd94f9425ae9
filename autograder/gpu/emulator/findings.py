"""Says what the emulator has to say: a finding, the exception that carries one, and the learner's line it points at."""

import linecache
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar, Literal, NoReturn, get_args

from ..rules import RULES

_SPECS = map(find_spec, ("triton", "numpy", "torch"))  # Triton may not be installed
_LIBRARIES = tuple(f"{Path(spec.origin).parent}/" for spec in _SPECS if spec and spec.origin)
_OURS = f"{Path(__file__).parents[2]}/"
_NOT_THE_LEARNERS = (*_LIBRARIES, _OURS)


FindingKind = Literal[
    "out-of-bounds",
    "store-conflict",
    "race-read",
    "race-write",
    "unordered-launches",
    "unwritten",
    "endless-wait",
    "grid",
    "unsupported",
    "resources",
    "not-emulated",
    "false-hint",
    "misleading-hint",
    "division-by-zero",
    "not-associative",
    "kernel-error",
    "left-state",
    "saved-tensor",
    "undeclared-store",
    "freed-memory",
    "masked-load",
    "uninitialised-read",
    "wrapped-integer",
    "gathered-outside",
    "tf32",
    "own-store",
    "own-load",
    "equal-stores",
    "configuration",
]


@dataclass(frozen=True)
class Finding:
    """Something a GPU would have done wrong, described in full sentences.

    kind: one of `KINDS`; `gpu.rules` says what each means. `OF_MEMORY` are about what a launch accesses.
    kernel: name of the kernel, "" where no kernel ran.
    tensor: name of the kernel's parameter, "" where the finding is not about memory.
    offset: element offset from the tensor's first element, or None.
    program: ``(x, y, z)`` of the program that did it, or None.
    line, source: the learner's line; 0 and "" where it is not known.
    file: the file of that line.
    """

    KINDS: ClassVar[frozenset[str]] = frozenset(get_args(FindingKind))
    OF_MEMORY: ClassVar[frozenset[str]] = frozenset(kind for kind, rule in RULES.items() if rule.memory)

    kind: FindingKind
    message: str
    kernel: str = ""
    tensor: str = ""
    offset: int | None = None
    program: tuple[int, int, int] | None = None
    line: int = 0
    source: str = ""
    file: str = ""

    @property
    def place(self) -> str:
        """``x_ptr of `kernel`, line 3, `tl.store(...)```: the same in every launch that has this fault there, without
        program and offset.
        """
        whose = f"`{self.kernel}`" if self.kernel else ""
        line = f"line {self.line}, `{self.source}`" if self.source else f"line {self.line}"
        return ", ".join(filter(None, (" of ".join(filter(None, (self.tensor, whose))), line if self.line else "")))


class EmulatorError(Exception):
    """The launch was stopped: the access was not performed. ``finding`` says why."""

    def __init__(self, finding: Finding):
        super().__init__(finding.message)
        self.finding = finding


class Waiting(EmulatorError):
    """A program asks for one value again and again, and others have not begun. never: the finding where none of them
    stores another one. read: gives what is there now.
    """

    def __init__(self, finding: Finding, never: Finding, read: Callable[[], bytes]):
        super().__init__(finding)
        self.never, self.read, self.seen = never, read, read()


@dataclass(frozen=True)
class Place:
    """A line of the learner's code."""

    file: str = ""
    line: int = 0

    @property
    def source(self) -> str:
        """The text of the line, "" where it is not known."""
        return linecache.getline(self.file, self.line).strip()

    @property
    def of_block_pointer(self) -> bool:
        """Returns whether it bounds an access by a shape, not by a mask."""
        return "boundary_check" in self.source

    @classmethod
    def innermost(cls, error: BaseException, other: Callable[[str], bool] = lambda file: False) -> "Place | None":
        """The innermost line of the learner's code that an error passed. other: says of more files that they are not
        the learner's.
        """
        place, trace = None, error.__traceback__
        while trace is not None:
            name = trace.tb_frame.f_code.co_filename
            if not name.startswith(_NOT_THE_LEARNERS) and not other(name):
                place = cls(name, trace.tb_lineno)
            trace = trace.tb_next
        return place

    def __str__(self) -> str:
        if not self.line:
            return "at an unknown line"
        return f"line {self.line}, `{self.source}`" if self.source else f"line {self.line}"


def current_place() -> Place:
    """The innermost line that is neither Triton's nor ours."""
    frame = _frame()
    return Place(frame.f_code.co_filename, frame.f_lineno) if frame else Place()


def _frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(_NOT_THE_LEARNERS):
        frame = frame.f_back
    return frame


def numbers_of_the_line() -> str:
    """``s is 0, n is 3``: the numbers that the line under way names; "" where it names none."""
    frame, texts = _frame(), []
    for name in dict.fromkeys(re.findall(r"[A-Za-z_]\w*", current_place().source)) if frame else ():
        value = frame.f_locals.get(name) if frame else None
        data: Any = getattr(getattr(value, "handle", None), "data", getattr(value, "value", value))
        if getattr(data, "size", 0) == 1:
            data = data.item()
        if isinstance(data, int | float):
            texts.append(f"{name} is {data}")
    return ", ".join(texts)


def names_of_nothing(error: BaseException) -> list[str]:
    """The names in the learner's line at which an error was raised that hold what `tl.store` returns."""
    trace, texts = error.__traceback__, []
    while trace is not None:
        frame = trace.tb_frame
        if not frame.f_code.co_filename.startswith(_NOT_THE_LEARNERS):
            names = re.findall(r"[A-Za-z_]\w*", Place(frame.f_code.co_filename, trace.tb_lineno).source)
            types = {name: getattr(frame.f_locals.get(name), "dtype", None) for name in names}
            texts = [name for name, dtype in types.items() if getattr(dtype, "name", "") == "void"]
        trace = trace.tb_next
    return texts


def not_emulated(text: str) -> NoReturn:
    """Ends the launch at an operation that the emulator cannot run. ``text``, with a {place}, says which and why.
    Raises EmulatorError.
    """
    place = current_place()
    text = text.format(place=place)
    raise EmulatorError(Finding("not-emulated", text, line=place.line, source=place.source, file=place.file))


def kind_of_access() -> str:
    """Says how the access under way reached memory: ``descriptor``, ``block pointer``, or ``""`` for plain pointers."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_name
        if name.startswith(("create_descriptor", "create_tensor_pointer")):
            return "descriptor" if "descriptor" in name else "block pointer"
        frame = frame.f_back
    return ""


def is_defect(error: BaseException) -> bool:
    """Returns whether an error, or what Triton wrapped in it, is a slip in the emulator's own code: a name, an
    attribute or a type that is wrong in a line of ours. A kernel at fault can cause one, too.
    """
    while error.__cause__ is not None:
        error = error.__cause__
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    slipped = isinstance(error, AttributeError | TypeError | NameError)
    return slipped and trace is not None and trace.tb_frame.f_code.co_filename.startswith(_OURS)


def place_of(error: BaseException) -> Place:
    """The innermost line of the learner's code on an exception's way out, through Triton's re-raised wrappers."""
    place = Place()
    cause: BaseException | None = error
    while cause is not None:
        place = Place.innermost(cause) or place
        cause = cause.__cause__
    return place
