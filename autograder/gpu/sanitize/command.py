"""``graded-kernels sanitize``: starts the program in a process of its own, listens, and reports. Imports no PyTorch."""

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...words import Commands, Quality, Terminal, UsageError, new_file
from ..devices import DEFAULT, DEVICES, JUDGED
from . import cobertura, json_report, revision, run_report, sarif
from .allowed import Allowances
from .baseline import Baseline, BaselineError
from .totals import Totals

if TYPE_CHECKING:
    from ..compiler.ahead_of_time import RunJobs
    from .front_end import FormData, FrontEnd

CLEAN, FINDINGS, UNABLE, FAILED = 0, 1, 2, 3
_MODULE = __name__.rpartition(".")[0] + ".program_process"
_PATIENCE = 1.0  # seconds that a program has to stop by itself before Ctrl-C is passed on to it


def add_to(commands: Commands, compiler: "RunJobs | None") -> None:
    """Adds the command. compiler: asked about every form of a launch."""
    about = (
        "run a program with its Triton kernels in the emulator; exit 0: clean, 1: findings, 2: not run, 3: it failed"
    )
    command = commands.add_parser("sanitize", help=about, description=about)
    command.add_argument("-m", dest="module", action="store_true", help="PROGRAM is a module, as for python -m")
    command.add_argument(
        "--json", action="store_true", help="print one JSON object; the program's output goes to stderr"
    )
    command.add_argument("--schema", action=_Schema, help="print the JSON schema of what --json prints, and end")
    command.add_argument(
        "--sarif", metavar="FILE", type=new_file, help="also write the findings to FILE, for a code host"
    )
    command.add_argument(
        "--coverage", metavar="FILE", type=new_file, help="also write which lines, branches and masks ran, as Cobertura"
    )
    command.add_argument(
        "--baseline", metavar="FILE", type=new_file, help="findings that are known: they are counted and fail nothing"
    )
    command.add_argument(
        "--update-baseline", action="store_true", help="write the findings of this run to the baseline"
    )
    command.add_argument(
        "--since",
        metavar="REVISION",
        default="",
        help="judge the kernels that have changed since this revision in git, or call a function that has",
    )
    command.add_argument("--hints", action="store_true", help="also show what is only suspicious")
    command.add_argument(
        "--strict", action="store_true", help="several programs that store equal values to one element are a finding"
    )
    command.add_argument(
        "--only", type=Quality.read, default=["correct", "portable"], help="correct: what is not portable is a hint"
    )
    command.add_argument(
        "--machine-code",
        action="store_true",
        help="also count the machine code of each kernel, compiled for sm_90: what it allows of an H100 at most",
    )
    command.add_argument(
        "--no-cuda-shim", dest="cuda_shim", action="store_false", help="do not simulate CUDA where there is none"
    )
    command.add_argument(
        "--device",
        choices=DEVICES,
        default=DEFAULT,
        help=f"the GPU to simulate, whose properties a program may ask for ({DEFAULT})",
    )
    command.add_argument("program", metavar="PROGRAM", help="a Python script")
    command.add_argument("arguments", metavar="ARGS", nargs=argparse.REMAINDER, help="its arguments")
    command.set_defaults(run=main, compiler=compiler)


class _Schema(argparse.Action):
    """An option that prints the schema instead of running anything, as ``--version`` does."""

    def __init__(self, **about: Any):
        super().__init__(nargs=0, **about)

    def __call__(self, parser: argparse.ArgumentParser, *rest: Any) -> None:
        print(json_report.FILE.read_text(encoding="utf-8"), end="")
        parser.exit()


class Listener:
    """Holds what the program's process has reported so far. kernel: the one launched last. asked: the capability of the
    simulated GPU, if the program asked for it. alone: launches that ran one program at a time, by kernel and reason.
    """

    def __init__(self) -> None:
        self.findings: dict[tuple[str | int, ...], dict[str, Any]] = {}
        self.forms: list[FormData] = []
        self.totals = Totals()
        self.kernel = self.shim = ""
        self.asked: tuple[int, ...] = ()
        self.unlike_gpu: list[str] = []  # as `run_report.Run` has it
        self.alone: Counter[tuple[str, str]] = Counter()
        self.end: dict[str, Any] | None = None
        self.interrupted = False

    def handle(self, event: dict[str, Any]) -> None:
        """Takes in one event of `program_process`."""
        self.totals.handle(event)
        if "finding" in event:
            finding = event["finding"]
            key = tuple(finding.pop("key"))
            self.findings.setdefault(key, finding | {"times": 0})["times"] += 1
        elif "again" in event:
            self.findings[tuple(event["again"])]["times"] += 1
        elif "form" in event:
            self.forms.append(event["form"])
        elif "launch" in event:
            self.kernel = event["launch"]["kernel"]
        elif "shim" in event:
            self.shim = event["shim"]
        elif "alone" in event:
            self.alone[event["alone"]["kernel"], event["alone"]["why"]] += 1
        elif "unlike_gpu" in event:
            self.unlike_gpu = event["unlike_gpu"]
        elif "asked" in event:
            self.asked = tuple(event["asked"])
        elif "end" in event:
            self.end = event["end"]


def sanitize(
    program: str,
    arguments: list[str],
    *,
    module: bool,
    shim: bool,
    as_json: bool,
    device: str = DEFAULT,
    since: str = "",
    baseline: Baseline | None = None,
    compiler: "RunJobs | None" = None,
    machine_code: bool = False,
) -> run_report.Run:
    """Runs a program under the emulator; returns what was found. With ``as_json`` its output goes to stderr. device,
    since: as `watching.watched` has them. baseline: the program goes on behind what it knows.
    machine_code: whether that of its kernels is counted.
    """
    from .front_end import FrontEnd

    if not module and not Path(program).is_file():
        return run_report.Run(program, unusable=f"`{program}` is not a file. Name a script, or a module with -m.")
    listener, front_end = Listener(), FrontEnd(compiler, device if shim else JUDGED)
    (read, write), (heard, answers) = os.pipe(), os.pipe()
    settings = {"events": write, "answers": heard, "program": program, "module": module, "arguments": arguments}
    settings |= {"shim": shim, "device": device, "since": since}
    settings |= {"baseline": str(baseline.file.absolute()), "update": baseline.update} if baseline else {"baseline": ""}
    environment = os.environ | {"TRITON_INTERPRET": "1", "TORCHDYNAMO_DISABLE": "1"}
    with subprocess.Popen(
        [sys.executable, "-P", "-m", _MODULE, json.dumps(settings)],
        pass_fds=[write, heard],
        env=environment,
        stdout=sys.stderr if as_json else None,
    ) as process:
        os.close(write)
        os.close(heard)
        with interruptible(process, listener):
            _listen(read, answers, listener, front_end)
            code = process.wait()
    run = _run(run_report.Run(program, since=since), listener, code, front_end)
    if machine_code:
        run.machine_code = front_end.machine_code(listener.forms)
    return run


def _listen(read: int, answers: int, listener: Listener, front_end: "FrontEnd") -> None:
    """Takes in what the program's process reports, and answers what it asks of the compiler."""
    shown = LaunchProgress(listener)
    with open(read, "rb") as lines, open(answers, "wb", buffering=0) as answers_file, shown:
        for line in lines:
            event = json.loads(line)
            listener.handle(event)
            if "form" in event:
                said = front_end.event(event["form"])
                finding = said.pop("finding", None)
                listener.handle(said)
                if event["asks"]:
                    with contextlib.suppress(BrokenPipeError):  # the program has ended
                        answers_file.write(json.dumps(finding).encode() + b"\n")
            shown.update()


@contextlib.contextmanager
def interruptible(process: "subprocess.Popen[bytes]", listener: Listener) -> Iterator[None]:
    """Lets Ctrl-C stop the program and not this process, which has yet to report; a second one kills the
    program. SIGTERM ends both.
    """

    def remind() -> None:  # a terminal interrupts both processes, `kill` this one alone
        if listener.end is None and process.poll() is None:
            process.send_signal(signal.SIGINT)

    def interrupted(number: int, frame: object) -> None:
        if listener.interrupted:
            process.kill()
        else:
            listener.interrupted = True
            timer = threading.Timer(_PATIENCE, remind)
            timer.daemon = True
            timer.start()

    def ended(number: int, frame: object) -> None:
        process.kill()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    handlers = {signal.SIGINT: interrupted, signal.SIGTERM: ended}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _run(run: run_report.Run, listener: Listener, code: int, compiler: "FrontEnd") -> run_report.Run:
    end = listener.end or {"how": "died" if code else "returned", "status": code}
    totals = listener.totals
    run.shim, run.asked = listener.shim, listener.asked
    run.launches, run.kernels = totals.kernels.total(), dict(totals.kernels)
    run.judged, run.set_aside, run.coverage = totals.judged, totals.set_aside, totals.reached.functions()
    run.spawned, run.skipped = totals.spawned, totals.skipped
    run.unlike_gpu, run.alone = listener.unlike_gpu, dict(listener.alone)
    for finding in map(compiler.settled, listener.findings.values()):
        {"fault": run.findings, "unable": run.unable, "hint": run.hints}[finding["level"]].append(finding)
    run.whole, run.stopped = end["how"] == "returned", end["how"] == "stopped"
    run.interrupted = listener.interrupted or end["how"] == "interrupted"
    if end["how"] == "unusable":
        run.unusable = end["message"]
    elif end["how"] == "raised":
        run.failed = f"it raised {end['message']}"
    elif end["how"] == "exited":
        run.failed = f"it exited with status {end['status']}"
    elif end["how"] == "died":
        run.failed = f"its process was ended by signal {-code}" if code < 0 else f"its process ended with status {code}"
    return run


def status(run: run_report.Run) -> int:
    """The exit status: findings outrank what could not be judged, and that outranks the program's own failure."""
    if run.findings:
        return FINDINGS
    if run.interrupted:
        return 130
    if run.unusable or run.unable or run.compiles_cuda or run.profiles:
        return UNABLE
    if run.failed:
        return FAILED
    return CLEAN if run.launches else UNABLE


class LaunchProgress(contextlib.AbstractContextManager["LaunchProgress", None]):
    """One line on a terminal, rewritten as launches begin."""

    EVERY = 0.5

    def __init__(self, listener: Listener):
        self.listener = listener
        self.line = Terminal(sys.stderr) if sys.stderr.isatty() else None
        self.begun = self.shown = time.monotonic()

    def update(self) -> None:
        """Rewrites the line, at most twice a second."""
        now = time.monotonic()
        if self.line and now - self.shown >= self.EVERY:
            listener, self.shown = self.listener, now
            launches = listener.totals.kernels.total()
            faults = sum(finding["level"] == "fault" for finding in listener.findings.values())
            self.line.show(f"{now - self.begun:.0f} s, {launches} launches, {faults} findings, now `{listener.kernel}`")

    def __exit__(self, *error: object) -> None:
        if self.line:
            self.line.clear()


def main(options: argparse.Namespace) -> int:
    """Runs the program and prints the report; returns the exit status. Raises UsageError."""
    baseline = _baseline(options)
    run = sanitize(
        options.program,
        options.arguments,
        module=options.module,
        shim=options.cuda_shim,
        as_json=options.json,
        device=options.device,
        since=options.since,
        baseline=baseline,
        compiler=options.compiler,
        machine_code=options.machine_code,
    )
    if "portable" not in options.only:
        run.set_aside_portability()
    if options.strict:
        run.take_equal_stores()
    run.set_aside_known(Allowances(), baseline)
    code = status(run)
    if options.json:
        print(json.dumps(json_report.data(run, code), indent=2), flush=True)
    else:
        print(run_report.text(run, code, options.hints, Terminal.wants_color(sys.stdout)), flush=True)
    return code if _written(options, run, baseline) else UNABLE


def _baseline(options: argparse.Namespace) -> Baseline | None:
    """The baseline that was named. Raises UsageError for options that cannot be carried out, before anything runs."""
    if options.update_baseline and not options.baseline:
        raise UsageError("sanitize --update-baseline: name the file to write, with --baseline FILE")
    try:
        if options.since:
            revision.check(options.since)
        return Baseline(options.baseline, options.update_baseline) if options.baseline else None
    except (BaselineError, revision.RevisionError) as error:
        raise UsageError(f"sanitize: {error}") from None


def _written(options: argparse.Namespace, run: run_report.Run, baseline: Baseline | None) -> bool:
    """Writes the files that were asked for; says which cannot be written."""
    texts: dict[Path | None, Callable[[], str]] = {
        options.sarif: lambda: json.dumps(sarif.log(run, options.hints), indent=2),
        options.coverage: lambda: cobertura.xml(run.coverage),
    }
    if baseline and baseline.update:
        texts[baseline.file] = lambda: baseline.text(run.judged_whole)
    written = True
    for file, text in texts.items():
        try:
            if file:
                file.write_text(text(), encoding="utf-8")
        except OSError as error:
            print(f"graded-kernels sanitize: {file} cannot be written: {error}", file=sys.stderr)
            written = False
    return written
