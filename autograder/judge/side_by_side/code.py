"""A candidate as text, which no part of this process runs."""

import functools
import json
import threading
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import takewhile
from pathlib import Path
from typing import Any

from ...runner import CandidateError, LineServer

MOST = 200_000  # bytes of a candidate's text
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class Code:
    """text: of a module. name: of the function or class in it. file: what messages call the text. initial: what a class
    of modules is made with.
    """

    text: str
    name: str
    file: str = "candidate"
    initial: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        """Raises CandidateError where the text is Python and nothing in it has the name, or is too long to be read, or
        takes too long: nothing in this process parses it before.
        """
        if (size := len(self.text.encode(errors="replace"))) > MOST:
            raise CandidateError(f"{self.file} has {size:,} bytes, of at most {MOST:,}: leave out what is not needed")
        names = _names(self.text, self.file)
        if names is not None and self.name not in names and "*" not in names:
            near = get_close_matches(self.name, [name for name in names if not name.startswith("_")])
            has = f"; it has {', '.join(near)}" if near else ""
            raise CandidateError(f"{self.file} has no function {self.name}{has}")

    @classmethod
    def read(cls, path: str, name: str, initial: tuple[Any, ...] = ()) -> "Code":
        """The code in a file. Raises CandidateError."""
        try:
            return cls(Path(path).read_text(encoding="utf-8"), name, path, initial)
        except (OSError, UnicodeDecodeError) as error:
            why = "there is no such file" if isinstance(error, FileNotFoundError) else str(error)
            raise CandidateError(f"{path} cannot be read: {why}") from None


def _names(text: str, file: str) -> list[str] | None:
    """The names that the text binds, read by a process that may die of it; None where it is not Python, which is said
    where it is loaded. Raises CandidateError.
    """
    with _ONE_AT_A_TIME:
        said = [*takewhile(lambda line: not line.isdigit(), _server().ask(json.dumps(text)))]
    try:
        names: list[str] | None = json.loads(said[0])
    except ValueError:  # its process ended first
        raise CandidateError(
            f"{file} takes too long, or too much memory, to be read as Python: make it shorter"
        ) from None
    return names


@functools.cache
def _server() -> LineServer:
    return LineServer(f"{__package__}.names_in_text")
