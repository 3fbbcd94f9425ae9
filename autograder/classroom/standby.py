"""nbgrader in a process of its own that does not import it again: forked when this one has, it waits for a command."""

import atexit
import contextlib
import json
import os
import signal
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from nbgrader.apps import NbGraderApp


class Nbgrader:
    """Held as a context, in a process that has no threads yet: a fork copies only the one that calls it. Ends with the
    context, and with this process.
    """

    def __enter__(self) -> Self:
        sys.stdout.flush()
        sys.stderr.flush()  # else both would print it
        reader, writer = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(writer)
            _wait(reader)
        os.close(reader)
        self._command = open(writer, "w")
        return self

    def __exit__(self, *error) -> None:
        if not self._command.closed:
            self._command.close()
            os.waitpid(self._pid, 0)

    def run(self, arguments: Sequence[str], root: Path, variables: Mapping[str, str]) -> int:
        """``nbgrader ARGUMENTS`` in the folder ``root``: its exit status, negative for a signal. Can be called once."""
        with self._command:
            json.dump(
                {"arguments": arguments, "root": str(root.absolute()), "variables": dict(variables)}, self._command
            )
        try:
            return self._ended()
        except KeyboardInterrupt:  # what was sent to this process alone
            os.kill(self._pid, signal.SIGINT)
            self._ended()
            raise

    def _ended(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])


def _wait(reader: int) -> None:
    """In the child. Ctrl-C reaches all processes of a terminal; until the command comes, this one ignores it."""
    code: object = 1
    try:
        interrupted = signal.signal(signal.SIGINT, signal.SIG_IGN)
        with open(reader) as pipe:
            text = pipe.read()
        if not text:
            os._exit(0)
        atexit._clear()  # what this process registered before is not the child's to end
        signal.signal(signal.SIGINT, interrupted)
        command = json.loads(text)
        os.chdir(command["root"])
        os.environ.update(command["variables"])
        sys.argv = ["nbgrader", *command["arguments"]]
        NbGraderApp.launch_instance()
        code = 0
    except SystemExit as error:
        code = error.code
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):
                stream.flush()
        os._exit(code if isinstance(code, int) else 0 if code is None else 1)
