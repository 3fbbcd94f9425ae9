"""The names that a stranger's text binds, read by a process that may die of it: some texts of a few kilobytes take a
parser minutes, others gigabytes. What passes is read in a moment anywhere.

    python -m graded_kernels.autograder.judge.side_by_side.names_in_text

takes a text a line, as JSON, and answers in lines: a child's, the names as JSON, then how it ended, 0 where it read the
text. `Code` asks it.
"""

import ast
import contextlib
import json
import os
import sys
import warnings
from collections.abc import Iterator

from ...runner import LineServer

SECONDS = 1  # of processor time, and the 2 that a limit needs; what a person wrote takes a tenth of one
MEMORY = 1 << 29  # bytes


def main() -> None:
    """Answers the texts on standard input, each in a child, until there are no more."""
    for line in LineServer.questions():
        child = os.fork()
        if not child:
            LineServer.confine((), SECONDS, MEMORY)
            with contextlib.suppress(MemoryError):
                _tell(json.dumps(_names(json.loads(line))))
                os._exit(0)
            os._exit(1)
        _tell(f"\n{os.waitpid(child, 0)[1]}")  # on a line of its own, wherever the child was when it ended


def _names(text: str) -> list[str] | None:
    """None where it is not Python, which is said where it is loaded."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an invalid escape in a string
            return sorted({*_bound(ast.parse(text))})
    except (SyntaxError, ValueError, RecursionError):
        return None


def _bound(tree: ast.Module) -> Iterator[str]:
    """The names that the text binds, wherever it does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield node.asname or node.name.partition(".")[0]


def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
