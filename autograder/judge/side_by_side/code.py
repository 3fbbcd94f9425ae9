"""A candidate as text, which no part of this process runs."""

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from .errors import CandidateError

MOST = 200_000  # bytes of a candidate's text


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
        """Raises CandidateError where the text is Python and nothing in it has the name, or too long to be read: a
        parser may take time and memory that no limit holds here.
        """
        if (size := len(self.text.encode(errors="replace"))) > MOST:
            raise CandidateError(f"{self.file} has {size:,} bytes, of at most {MOST:,}: leave out what is not needed")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of an invalid escape in a string
                names = set(_bound(ast.parse(self.text)))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return  # which is said where it is loaded
        if self.name not in names and "*" not in names:
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


def _bound(tree: ast.Module) -> Iterator[str]:
    """The names that the text binds, wherever it does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield node.asname or node.name.partition(".")[0]
