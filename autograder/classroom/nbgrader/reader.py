"""Reading submissions in a process of its own. What was handed in may take Python's parser minutes, JSON's all memory,
or end the process: each submission is read, rebuilt and parsed once, by a child that may die of it.

    python -m graded_kernels.autograder.classroom.nbgrader.reader

takes a request a line and answers in lines of JSON: where its child is, what came of it, and how it ended. `Reader`
asks it.
"""

import contextlib
import functools
import json
import os
import resource
import sys
import time
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from ...runner import LineServer
from .notebook_code import is_published, plain_python, without_course
from .notebook_file import UnreadableSubmission, beginning, plain, read
from .rebuild import (
    PYTHON,
    RECORD,
    grade_id,
    is_added,
    is_answer,
    rebuild,
    records_beside,
    released_notebook,
    runs,
)

SLOW_CELLS = 3  # that may end the process; each takes seconds
CELL_SECONDS = 1  # of processor time, to read one cell as Python; a chapter's longest takes milliseconds
SECONDS = 10  # for the file, and for all of its cells
MEMORY = 1 << 30  # bytes for the largest file with outputs that is read, several times over
SLOW = f"takes more than {CELL_SECONDS} s to read as Python, and was left out."


class Reader:
    """Reads the notebooks of a run, one at a time. Its process starts with the first, and ends with this process."""

    def __init__(self, megabytes: float, code_megabytes: float):
        self._limits = {"megabytes": megabytes, "code_megabytes": code_megabytes}
        self._server = LineServer(__name__)

    def rebuilt(self, path: Path, released: Path, published: Path | None = None) -> NotebookNode:
        """The notebook to be graded for the file at ``path`` (`rebuild.rebuild`), with the learner's code as Python
        (`submission.Notebook`), and answers that are the ``published`` ones marked. Raises Unreadable.
        """
        request: dict[str, Any] = {"path": str(path.absolute()), "released": str(released.absolute())}
        request |= {"published": str(published.absolute()) if published else "", **self._limits}
        slow: list[str] = []
        while True:
            replies = self._asked(request | {"slow": slow})
            reply = replies[-1]
            if "notebook" in reply:
                notebook: NotebookNode = nbformat.from_dict(reply["notebook"])
                return notebook
            if "unreadable" in reply:
                raise UnreadableSubmission(reply["unreadable"])
            if "at" not in reply:
                raise UnreadableSubmission("is not a notebook: its JSON takes too long to read.")
            if len(slow) == SLOW_CELLS:
                raise UnreadableSubmission(f"has more than {SLOW_CELLS} cells that take too long to read as Python.")
            slow.append(reply["at"])

    def _asked(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        """The lines of one child, the last one that says what came of it or where it was."""
        replies: list[dict[str, Any]] = [{}]
        with contextlib.suppress(EOFError):
            for line in self._server.ask(json.dumps(request)):
                reply = json.loads(line)
                if "ended" in reply:
                    return replies
                replies.append(reply)
        raise RuntimeError("the process that reads submissions ended")


def main() -> None:
    """Answers the requests on standard input, each in a child, until there are no more."""
    for line in sys.stdin.buffer:
        request = json.loads(line)
        _known(request["released"]), _known_answers(request["published"])  # for the child and all that follow
        child = os.fork()
        if not child:
            _answer(request)
            os._exit(0)
        _tell(ended=os.waitpid(child, 0)[1])


def _answer(request: dict[str, Any]) -> None:
    folders = [request["path"], str(Path(request["released"]).parent), request["published"]]
    LineServer.confine(filter(None, folders), 2 * SECONDS + CELL_SECONDS, MEMORY)
    _limit_processor(SECONDS)
    try:
        _tell(notebook=_rebuilt(request))
    except UnreadableSubmission as error:
        _tell(unreadable=str(error))
    except MemoryError:
        _tell(unreadable=f"takes more than {MEMORY >> 20:,} MiB of memory to read.")


def _rebuilt(request: dict[str, Any]) -> NotebookNode:
    slow = set(request["slow"])
    submitted, language = read(request["path"], request["megabytes"], request["code_megabytes"])
    pieces, notes = [], list[str]()
    if language.lower() not in ("", "python", "ipython"):
        notes.append(f"The notebook's kernel is one for {plain(language)}. Its code was read as Python.")
    for number, piece in enumerate(submitted, 1):
        if piece.type == "code" and not _is_quick(f"piece {number}", piece.source, slow):
            notes.append(f"The cell `{plain(piece.grade_id) or number}` {SLOW}{beginning(piece.source)}")
            piece = replace(piece, source="")
        pieces.append(piece)
    notebook = rebuild(_known(request["released"]), pieces, notes)
    ours = _known_answers(request["published"])
    records = [path.stem for path in records_beside(Path(request["released"]).parent).values()]
    for number, cell in enumerate(notebook.cells):
        if runs(cell):
            record = cell.metadata.setdefault(RECORD, {})
            record[PYTHON] = _python(cell, f"cell {number}", slow, records)
            if is_answer(cell) and is_published(cell.source, ours.get(grade_id(cell), "")):
                record["published"] = True
    return notebook


def _python(cell: NotebookNode, place: str, slow: Collection[str], records: Collection[str]) -> dict[str, Any]:
    """The code in a cell as Python, and what had to be left out of the learner's."""
    if not _is_quick(place, cell.source, slow):  # its parts are, but not what they are together
        cell.source = ""
        return {"code": "", "notes": [f"This cell {SLOW}"]}
    code, notes = plain_python(cell.source)
    if not is_answer(cell):  # one that tries something out with the course's tools must not spoil the answers after it
        code, more = without_course(code, records)
        notes += more
    return {"code": code, "notes": notes if is_answer(cell) or is_added(cell) else []}


def _is_quick(place: str, source: str, slow: Collection[str]) -> bool:
    """Says whether ``source`` is read as Python in time. It is not where that ended an earlier child: see ``slow``."""
    if place in slow:
        return False
    if time.process_time() > SECONDS:
        raise UnreadableSubmission(f"takes more than {SECONDS} s to read as Python.")
    _tell(at=place)
    _limit_processor(CELL_SECONDS)
    begun = time.process_time()
    plain_python(source)
    took = time.process_time() - begun
    _limit_processor(SECONDS)  # for what is made of it
    return took < CELL_SECONDS


def _limit_processor(seconds: int) -> None:
    """Limits the processor time from now on; the system counts in whole seconds."""
    most = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (min(int(time.process_time()) + seconds + 1, most), most))


def _known(released: str) -> NotebookNode:
    return released_notebook(Path(released), os.stat(released).st_mtime_ns)


def _known_answers(published: str) -> dict[str, str]:
    """The course's own, where there is such a notebook."""
    return _published_answers(Path(published), os.stat(published).st_mtime_ns) if os.path.exists(published) else {}


@functools.lru_cache(maxsize=8)
def _published_answers(path: Path, changed: int) -> dict[str, str]:
    """The course's own answers in a notebook, by grade id, read once unless it has ``changed``."""
    cells = nbformat.read(path, as_version=4).cells
    return {grade_id(cell): cell.source for cell in cells if is_answer(cell) and cell.cell_type == "code"}


def _tell(**what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
