"""What a submission says, read by a process that may die of it (`reading_process`)."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from .reading import Unreadable

SLOW_CELLS = 3  # that may end the process; each takes seconds


class Reader:
    """Reads the notebooks of a run, one at a time. Its process starts with the first, and ends with this process."""

    def __init__(self, megabytes: float, code_megabytes: float):
        self._limits = {"megabytes": megabytes, "code_megabytes": code_megabytes}
        self._process: subprocess.Popen | None = None

    def rebuilt(
        self, path: Path, released: Path, published: Path | None = None, notes: Sequence[str] = ()
    ) -> NotebookNode:
        """The notebook to be graded for the file at ``path`` (`rebuild.rebuild`), with the learner's code as Python
        (`checks.learners_code`), and answers that are the ``published`` ones marked. Raises Unreadable.
        """
        request: dict[str, Any] = {"path": str(path.absolute()), "released": str(released.absolute())}
        request |= {"published": str(published.absolute()) if published else "", "notes": list(notes), **self._limits}
        slow: list[str] = []
        while True:
            replies = self._asked(request | {"slow": slow})
            came = replies[-1]
            if "notebook" in came:
                return nbformat.from_dict(came["notebook"])
            if "unreadable" in came:
                raise Unreadable(came["unreadable"])
            if "at" not in came:
                raise Unreadable("is not a notebook: its JSON takes too long to read.")
            if len(slow) == SLOW_CELLS:
                raise Unreadable(f"has more than {SLOW_CELLS} cells that take too long to read as Python.")
            slow.append(came["at"])

    def _asked(self, request: dict[str, Any]) -> list[dict]:
        """The lines of one child, the last one that says what came of it or where it was."""
        if self._process is None or self._process.poll() is not None:
            module = f"{__package__}.reading_process"
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C is for the run, which ends it
            )
        asked, answers = self._process.stdin, self._process.stdout
        assert asked and answers
        with contextlib.suppress(BrokenPipeError):  # it ended: so it says nothing
            asked.write(json.dumps(request).encode() + b"\n")
            asked.flush()
        found: list[dict] = [{}]
        for line in answers:
            reply = json.loads(line)
            if "ended" in reply:
                return found
            found.append(reply)
        raise RuntimeError("the process that reads submissions ended")
