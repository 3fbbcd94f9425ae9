"""The process in which `graded-kernels sanitize` runs a program:
``python -m ...sanitize.program_process '{"events": 3, "answers": 4, ...}'``.

What is found goes through the pipe ``events``, a line of JSON each; what the compiler says of a launch comes through
the pipe ``answers``. The program has standard input and output.
"""

import json
import linecache
import os
import signal
import sys
import threading
import traceback
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...words import no_garbage
from .. import interpret
from .skipped import left_to_a_gpu

HERE = str(Path(__file__).parents[2])


class Unusable(Exception):
    """There is no program to run; the message names the remedy."""


class Events:
    """The pipes to the parent and back. A line is written at once: the program may end at any moment, and may fork."""

    def __init__(self, descriptor: int, answers: int):
        for pipe in (descriptor, answers):
            os.set_inheritable(pipe, False)
        self.descriptor, self._answers = descriptor, open(answers, "rb")
        self._process, self._asking = os.getpid(), threading.Lock()

    def emit(self, event: dict[str, Any]) -> None:
        """Writes an event as a line of JSON."""
        line = json.dumps(event).encode() + b"\n"
        try:
            while line:
                line = line[os.write(self.descriptor, line) :]
        except BrokenPipeError:
            pass  # the reader has ended; the program goes on

    def ask(self, form: dict[str, Any]) -> dict[str, Any] | None:
        """Returns what the compiler finds in a form of a launch. A fork does not wait for it: it has the same pipe."""
        waits = os.getpid() == self._process
        with self._asking:
            self.emit({"form": form, "asks": waits})
            line = self._answers.readline() if waits else b""
        return json.loads(line) if line else None


def main() -> int:
    """Runs the program of ``sys.argv[1]``; the last event says how it ended."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs begin with it ignored
    settings = json.loads(sys.argv[1])
    events = Events(settings["events"], settings["answers"])
    status, end = 0, {"how": "returned"}
    try:
        status = run(settings, events)
    except Unusable as error:
        end = {"how": "unusable", "message": str(error)}
    except KeyboardInterrupt:
        end = {"how": "interrupted"}
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
        if error.code is not None and not isinstance(error.code, int):
            print(error.code, file=sys.stderr)
    except BaseException as error:
        if message := left_to_a_gpu(error):
            events.emit({"end": {"how": "unusable", "message": message}})
            return 0
        end = {"how": "stopped" if _by_finding(error) else "raised", "message": f"{type(error).__name__}: {error}"}
        if end["how"] == "raised":
            show(error)
    events.emit({"end": {"how": "exited", "status": status} if status else end})
    return 0


def run(settings: dict[str, Any], events: Events) -> int:
    """Runs the program under the sanitizer; returns 0. Raises what it raises, and Unusable."""
    interpret.choose_interpreter()
    with no_garbage():  # what is imported stays: looking through it takes a quarter of a short program's time
        try:
            import torch  # noqa: F401
            import triton  # noqa: F401
        except ModuleNotFoundError as error:
            install = f"there is no module {error.name} in this environment; `pip install {error.name}`"
            raise Unusable(interpret.WITHOUT_TRITON if error.name == "triton" else install) from None
        from .subprocesses import reported
        from .watching import watched

    program = module(settings["program"]) if settings["module"] else script(Path(settings["program"]))
    sys.argv = [settings["program"], *settings["arguments"]]
    spawned = reported(lambda command: events.emit({"spawned": command}))
    wanted = {name: settings[name] for name in ("shim", "device", "since")}
    with watched(events.emit, known=_known(settings), ask=events.ask, **wanted) as watch, spawned:
        if watch.shim:
            events.emit({"shim": watch.shim})
        try:
            program()
        finally:
            watch.sanitizer.never_called()
            if watch.gpu and watch.gpu.asked:
                events.emit({"asked": watch.gpu.capability})
            if watch.unlike_gpu:
                events.emit({"unlike_gpu": [*watch.unlike_gpu]})
    return 0


def _known(settings: dict[str, Any]) -> Callable[[dict[str, Any]], bool]:
    """Returns whether a finding is in the baseline, or allowed by a comment: the program goes on behind it."""
    from .allowed import Allowances
    from .baseline import Baseline

    allowances, file = Allowances(), settings["baseline"]
    baseline = Baseline(Path(file), settings["update"]) if file else None
    return lambda finding: bool(allowances.reason(finding) or (baseline and baseline.knows(finding)))


def script(path: Path) -> Callable[[], object]:
    """A function that runs a file as Python does, under its absolute path. Raises Unusable where it is not Python."""
    named, path = path, path.absolute()
    try:
        text = path.read_bytes()
        code = compile(text, str(path), "exec")
    except (SyntaxError, ValueError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise Unusable(f"{named} is not Python{line}: {error.args[0]}. Name a script, or a module with -m.") from None
    except OSError as error:
        raise Unusable(f"{named} cannot be read: {error.strerror}") from None
    linecache.checkcache(str(path))

    def program() -> None:
        main = types.ModuleType("__main__")
        vars(main).update(__file__=str(path), __builtins__=__builtins__)
        sys.modules["__main__"] = main
        sys.path.insert(0, str(path.resolve().parent))
        exec(code, vars(main))

    return program


def module(name: str) -> Callable[[], object]:
    """A function that runs a module as ``python -m`` does. Raises Unusable where there is none."""
    import importlib.util
    import runpy

    sys.path.insert(0, os.getcwd())
    try:
        module_spec = importlib.util.find_spec(name)
        if module_spec and module_spec.submodule_search_locations is not None:
            module_spec = importlib.util.find_spec(f"{name}.__main__")
    except (ImportError, ValueError):
        module_spec = None
    if module_spec is None:
        raise Unusable(
            f"there is no module {name} to run. Install its package, or start from the folder that holds it; a "
            "package needs a `__main__.py`."
        )
    return lambda: runpy.run_module(name, run_name="__main__", alter_sys=True)


def _by_finding(error: BaseException) -> bool:
    from ..emulator import EmulatorError

    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, EmulatorError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def show(error: BaseException) -> None:
    """Prints the program's own traceback, without the frames of what runs it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith((HERE, "<frozen runpy")):
        trace = trace.tb_next
    traceback.print_exception(type(error), error, trace)


if __name__ == "__main__":
    sys.exit(main())
