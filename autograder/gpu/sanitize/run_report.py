"""Says what a run under the sanitizer found, as text and as data. Imports no PyTorch, which takes seconds."""

import shutil
import textwrap
from dataclasses import dataclass, field
from typing import Any

from ...words import count, visible
from ..devices import DEVICES
from .allowed import Allowances
from .baseline import Baseline
from .location import is_own, location
from .reached import FunctionLines, called, missed
from .skipped import Skipped

PORTABILITY = frozenset({"masked-load"})
_MOST_KERNELS = 20  # of which is told what was not reached
_MOST_NAMES = 5  # of those that were not launched
BOLD, DIM, RED, GREEN, YELLOW = "1", "2", "31", "32", "33"


@dataclass
class Run:
    """A run of a program. findings, unable, hints: as `Sanitizer` emits them, with ``times``, the number of launches.

    shim: the GPU that was simulated, "" for none. failed: how the program itself failed. unusable: why there was
    nothing to run. interrupted: whether somebody stopped it. kernels: launches by kernel. spawned: the command lines
    of Python processes that it started, which were not watched. asked: the capability of the simulated GPU, if the
    program asked for it. skipped: what was not tried. coverage: as `Reached.functions` returns it.
    since: the revision since which kernels have to have changed; judged: those that have, by name; set_aside: how many
    findings the others have. known, allowed: findings that a baseline or a comment lets pass, these with its
    ``reason``. remarks: sentences on baseline and comments. whole: whether the program ran to its end;
    stopped: whether a finding was the end of it.
    machine_code: what was counted, as `compiler.machine_code_report` has it; None where that was not asked for.
    unlike_gpu: operators that PyTorch's CPU computed in half precision, and perhaps not as a GPU does. alone: how many
    launches ran one program at a time, by kernel and reason.
    """

    program: str
    findings: list[dict[str, Any]] = field(default_factory=list)
    unable: list[dict[str, Any]] = field(default_factory=list)
    hints: list[dict[str, Any]] = field(default_factory=list)
    launches: int = 0
    kernels: dict[str, int] = field(default_factory=dict)
    shim: str = ""
    failed: str = ""
    unusable: str = ""
    interrupted: bool = False
    spawned: list[str] = field(default_factory=list)
    asked: tuple[int, ...] = ()
    unlike_gpu: list[str] = field(default_factory=list)
    alone: dict[tuple[str, str], int] = field(default_factory=dict)
    skipped: Skipped = field(default_factory=Skipped)
    coverage: list[FunctionLines] = field(default_factory=list)
    since: str = ""
    judged: set[str] = field(default_factory=set)
    set_aside: int = 0
    known: list[dict[str, Any]] = field(default_factory=list)
    allowed: list[dict[str, Any]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    whole: bool = True
    stopped: bool = False
    machine_code: dict[str, Any] | None = None

    @property
    def compiles_cuda(self) -> bool:
        """Returns whether the program failed where PyTorch looks for NVIDIA's compiler."""
        return bool(self.shim) and "CUDA_HOME environment variable is not set" in self.failed

    @property
    def profiles(self) -> bool:
        """Returns whether the program failed where Triton's profiler looks for a GPU's counters."""
        return bool(self.shim) and "cuptiSubscribe" in self.failed

    def set_aside_portability(self) -> None:
        """Makes a hint of each finding that today's NVIDIA backends happen to get right."""
        self.hints += [finding | {"level": "hint"} for finding in self.findings if finding["kind"] in PORTABILITY]
        self.findings = [finding for finding in self.findings if finding["kind"] not in PORTABILITY]

    def take_equal_stores(self) -> None:
        """Makes a finding of each hint that several programs store one value to one element."""
        strict = [hint for hint in self.hints if hint["kind"] == "equal-stores"]
        self.findings += [hint | {"level": "fault"} for hint in strict]
        self.hints = [hint for hint in self.hints if hint not in strict]

    @property
    def judged_whole(self) -> set[str]:
        """The kernels of which every launch was judged: none where the program ended early."""
        return self.judged if self.whole else set()

    def set_aside_known(self, allowances: Allowances, baseline: Baseline | None) -> None:
        """Sets aside the findings that a comment allows or that the baseline knows."""
        for part in (self.findings, self.unable, self.hints):
            for finding in list(part):
                if reason := allowances.reason(finding):
                    self.allowed.append(finding | {"reason": reason})
                    part.remove(finding)
                elif baseline and finding["level"] != "hint" and baseline.knows(finding):
                    self.known.append(finding)
                    part.remove(finding)
        self.remarks = allowances.remarks(self.coverage)
        self.remarks += baseline.remarks(self.judged_whole) if baseline else []


def text(run: Run, status: int, hints: bool, color: bool) -> str:
    """The run for a terminal. hints: whether they are shown, too."""
    page = SanitizePage(color)
    if run.shim:
        page.line(shim_notice(run.shim), YELLOW)
    for finding in run.findings:
        page.finding(finding, RED)
    for finding in run.unable:
        page.finding(finding, YELLOW, "not judged: ")
    if hints:
        for finding in run.hints:
            page.finding(finding, DIM, "hint: ")
        for (kernel, why), times in run.alone.items():
            page.line(one_at_a_time(kernel, why, times), DIM)
    for line in not_reached(run.coverage):
        page.line(line)
    for remark in run.remarks:
        page.line(remark, YELLOW)
    if run.machine_code:
        for row in run.machine_code["kernels"]:
            page.line(f"{row['kernel']} ({row['launch']}): {row['text']}")
        page.line(run.machine_code["about"], DIM)
    page.line(summary(run), BOLD, RED if run.findings else GREEN if status == 0 else YELLOW)
    return "\n".join(page.lines)


def not_reached(functions: list[FunctionLines]) -> list[str]:
    """Returns what was not reached of the kernels, a line each below a heading; nothing where all was. Kernels that lie
    in the current folder come alone where there are some: of a library's, a program uses a part.
    """
    ran, never = [entry for entry in functions if called(entry)], [entry for entry in functions if not called(entry)]
    shown = [function for function in ran if is_own(function["file"])] or ran
    missing = [(function, text) for function in shown if (text := missed(function))]
    lines = [f"{location(function)} `{function['kernel']}`: {text}" for function, text in missing[:_MOST_KERNELS]]
    if len(missing) > _MOST_KERNELS:
        lines.append(f"and parts of {count(len(missing) - _MOST_KERNELS, 'kernel')} more")
    if never:
        names = ", ".join(f"`{function['kernel']}`" for function in never[:_MOST_NAMES])
        more = " and others" if len(never) > _MOST_NAMES else ""
        lines.append(f"never launched or called, {count(len(never), 'function')} of this folder: {names}{more}")
    return ["Not reached, so nothing is known of it:", *lines] if lines else []


def one_at_a_time(kernel: str, why: str, times: int) -> str:
    """A sentence on launches that were slow for a reason that lies in the kernel."""
    return (
        f"{count(times, 'launch')} of `{kernel}` ran one program at a time, which takes 10 to 100 times as long and "
        f"finds the same: {why}."
    )


def shim_notice(shim: str) -> str:
    """A sentence that says what a program on a simulated GPU cannot show."""
    return f"No CUDA here: {shim} was simulated. Times mean nothing; arithmetic outside Triton ran on the CPU."


def three_lines(finding: dict[str, Any]) -> str:
    """A finding on three lines, the location first, where editors look for it."""
    label = {"unable": "not judged: ", "hint": "hint: "}.get(finding["level"], "")
    lines = [f"{location(finding)}: {label}{finding['kind']} in `{finding['kernel']}`", f"    {finding['source']}"]
    return visible("\n".join([*lines, finding["message"]]))


def summary(run: Run) -> str:
    """One sentence or two that say what was found, in how many launches, and how the program ended."""
    if run.unusable:
        return f"graded-kernels sanitize: {run.unusable}"
    passed = {"known": run.known, "allowed by comments": run.allowed}
    beside = "".join(f", {len(some):,} {how}" for how, some in passed.items() if some)
    what = count(len(run.findings), "finding") if run.findings else f"nothing {'new' if beside else 'found'}"
    what += beside + (f", {len(run.unable):,} not judged," if run.unable else "," if beside else "")
    text = f"{run.program}: {what} in {count(run.launches, 'launch')} of {count(len(run.kernels), 'kernel')}"
    text += (
        ", in the parts that were reached"
        if any(called(function) and missed(function) for function in run.coverage)
        else ""
    )
    if not run.launches and not run.findings and not run.unable:
        text = f"{run.program} launched no Triton kernel, so nothing was checked"
    text += f", {count(len(run.hints), 'hint')} (--hints shows them)." if run.hints else "."
    if same := unchanged(run.since, len(run.kernels), len(run.judged), run.set_aside):
        text += f" {same}"
    if skipped := str(run.skipped):
        text += f" {skipped}"
    if run.stopped:
        text += " The program ended at a launch that a finding stopped: what comes after it did not run."
    if run.interrupted:
        text += " It was interrupted: this is what was found so far."
    elif run.failed:
        text += f" The program itself failed: {run.failed.rstrip('.')}." + half_precision(run.unlike_gpu)
        if run.shim and "(cpu tensor?)" in run.failed:
            text += (
                " For a program that keeps its tensors on the CPU, put --no-cuda-shim before its name; what comes "
                "behind it is the program's own."
            )
        if run.compiles_cuda:
            text += " Kernels in CUDA C++ cannot be simulated: leave them to a GPU."
        if run.profiles:
            text += " Triton's profiler (proton) needs the counters of a GPU: run the program without it."
    if not (run.launches or run.findings or run.unable or run.failed or run.interrupted):
        text = (
            f"graded-kernels sanitize: {text} Pass the arguments that reach one, or name the script or test that does."
        )
        text += asked_capability(run.asked)
    return text + not_watched(run.spawned)


def unchanged(since: str, launched: int, judged: int, left_out: int) -> str:
    """A sentence on kernels that have not changed since a revision, "" where there are none. launched, judged: how many
    kernels; left_out: findings of the others.
    """
    same = launched - judged
    if not since or not same:
        return ""
    which = "No kernel has changed"
    if judged:
        which = f"{same:,} of {count(launched, 'kernel')} {'has' if same == 1 else 'have'} not changed"
    left = f"; {count(left_out, 'finding')} there left out" if left_out else ""
    return f"{which} since {since}: not judged{left}."


def half_precision(operators: list[str]) -> str:
    """A sentence for a failure in which these operators took part, "" where there are none."""
    if not operators:
        return ""
    names = ", ".join(operators[:5]) + (", and more" if len(operators) > 5 else "")
    return (
        f" PyTorch's CPU computed in half precision, perhaps not as a GPU does: {names}. Where a reference comes from "
        "there, compare it with float64 first."
    )


def asked_capability(capability: tuple[int, ...]) -> str:
    """A sentence for a program that asked for the GPU's capability and launched nothing, "" where it did not ask."""
    if not capability:
        return ""
    simulated, others = ".".join(map(str, capability)), ", ".join(DEVICES)
    return (
        f" It asked for the GPU's compute capability, which is {simulated} here: if its kernels are for another one, "
        f"name its GPU with --device ({others})."
    )


def not_watched(commands: list[str]) -> str:
    """A sentence about Python processes that were not watched, "" where there are none."""
    if not commands:
        return ""
    what = "a Python process that was" if len(commands) == 1 else f"{len(commands):,} Python processes that were"
    return (
        f" It started {what} not watched (`{commands[0]}`): kernels launched there were not checked. Run what such a "
        "process runs under the sanitizer by itself."
    )


class SanitizePage:
    """Collects the lines of a report, wrapped to the terminal's width."""

    def __init__(self, color: bool):
        self.color, self.width = color, min(max(shutil.get_terminal_size().columns, 40), 110)
        self.lines: list[str] = []

    def line(self, text: str, *codes: str) -> None:
        """Adds a paragraph in the colors of these codes."""
        self.lines += [
            self._colored(line, codes) for line in textwrap.wrap(visible(text), self.width, break_on_hyphens=False)
        ]

    def finding(self, finding: dict[str, Any], code: str, label: str = "") -> None:
        """Adds a finding with its source line and message. label: what stands before its kind."""
        head = visible(f"{location(finding)}: {label}{finding['kind']}")
        times = f" ({count(finding['times'], 'launch')})" if finding["times"] > 1 else ""
        self.lines.append(self._colored(head, (BOLD, code)) + self._colored(times, (DIM,)))
        if finding["source"]:
            self.lines.append(f"    {visible(finding['source'])}")
        self.lines += textwrap.wrap(
            visible(finding["message"]), self.width, initial_indent="  ", subsequent_indent="  ", break_long_words=False
        )
        self.lines.append("")

    def _colored(self, text: str, codes: tuple[str, ...]) -> str:
        return f"\033[{';'.join(codes)}m{text}\033[0m" if self.color and text and codes else text
