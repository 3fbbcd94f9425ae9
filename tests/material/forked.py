"""The command line in a child of the test process, which has PyTorch and Triton: what a start of Python imports for
seconds is there, and what a command leaves behind (a simulated GPU, handlers at exit) goes with the child.
"""

import atexit
import os
import subprocess
import sys
import tempfile

from graded_kernels.autograder import cli


def forked(*arguments: object) -> subprocess.CompletedProcess[str]:
    """``graded-kernels`` with these arguments: its status, and what it wrote to stdout and to stderr."""
    with tempfile.TemporaryFile("w+") as stdout, tempfile.TemporaryFile("w+") as stderr:
        child = os.fork()
        if child == 0:
            _run([*map(str, arguments)], stdout.fileno(), stderr.fileno())
        _, status = os.waitpid(child, 0)
        written = [(file.seek(0), file.read())[1] for file in (stdout, stderr)]
    return subprocess.CompletedProcess(arguments, os.waitstatus_to_exitcode(status), *written)


def _run(arguments: list[str], *files: int) -> None:
    """As ``python -m graded_kernels.autograder``, and never returns."""
    status = 1
    sys.path.insert(0, os.getcwd())
    try:
        for number, file in enumerate(files, 1):
            os.dup2(file, number)
        sys.stdin, sys.stdout, sys.stderr = (open(n, mode, closefd=False) for n, mode in enumerate("rww"))
        atexit._clear()  # what ends the test process's own children
        try:
            status = cli.main(arguments)
        except SystemExit as error:
            status = error.code if isinstance(error.code, int) else bool(error.code)
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(status)
