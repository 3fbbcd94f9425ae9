"""The numbers and sentences of a report, for the terminal and the notebook alike. Plain text, nothing escaped."""

import math
import textwrap
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...words import Quality, count, visible
from ..results.case_result import CaseResult, Failure
from ..results.causes import Cause
from ..results.data import ReportData
from ..results.scoring import Cost
from .distance import distance

STUB = "stub"  # `ReportData.stopped` of an answer that nobody wrote
SMALLEST_NORMAL = float(np.finfo(np.float32).smallest_normal)


def is_stub(report: ReportData) -> bool:
    """Returns whether the answer is still the stub that was handed out."""
    return report.stopped == STUB


def is_stopped(report: ReportData, case: CaseResult) -> bool:
    """Returns whether the case is about the whole answer (refused, not Python) and not about its own inputs."""
    return bool(report.stopped) and case.code == report.stopped


def of_a_stub(report: ReportData) -> str:
    """The sentence on an answer that nobody wrote: before the first try, and in the feedback."""
    return f"There is nothing to check until the body of {report.exercise} is written."


NAMES = {  # of what costs points (`scoring.COSTS`)
    "plain": "plain values",
    "effects": "side effects",
    "layouts": "layouts, memory",
    "dtypes": "dtypes",
    "edges": "edges, errors",
    "point": "the point",
    "text": "text of an error",
    "dtype": "form: dtype",
    "finished": "form: PyTorch",
    "error": "form: error",
    "shape": "form: shape",
    "exchanged": "form: exchanged",
}


def cost_lines(costs: Iterable[Cost]) -> list[tuple[str, str, str]]:
    """A row for each cost: its name, ``-25``, and the first case that shows it, with why."""
    return [(NAMES.get(line.name, line.name), _points(-line.points), _why(line)) for line in costs]


def _points(points: float) -> str:
    return f"{round(points, 1) + 0:g}"  # 0, not -0


def _why(line: Cost) -> str:
    message = brief(line.message)
    if message and not message.endswith("."):
        message += "."
    return " ".join(filter(None, (f"{line.case}:", message, line.note)))


def verdict(report: ReportData, points: bool = True) -> str:
    """The verdict in a few words: ``not passed, 50 % of the points``. points: whether it says how many."""
    if is_stub(report):
        return report.summary
    text = "passed" if report.passed else "not passed"
    if points and not report.passed and not report.remarks:  # those of a comparison, which has no points
        text += f", {percent(report.score)} of the points"
    return text if len(report.required) == len(Quality) else f"{text} (required: {' and '.join(report.required)})"


def answers(report: ReportData) -> list[tuple[str, str]]:
    """Each quality that was judged, and ``yes`` or ``no``. What a wrong answer costs is of no interest."""
    judged = {quality: getattr(report, quality) for quality in Quality}
    if judged[Quality.CORRECT] is False:
        judged[Quality.EFFICIENT] = None
    return [(quality.value, "yes" if value else "no") for quality, value in judged.items() if value is not None]


def required(report: ReportData) -> tuple[list[Cause], list[Cause]]:
    """The causes that cost points, and those of qualities that were not asked for; an instructor's cases first among
    all but the first: where there are many, the later ones are shown by name only.
    """
    costly = [cause for cause in report.causes if cause.kind is None or cause.kind in report.required]
    return costly[:1] + hidden_first(costly[1:]), [cause for cause in report.causes if cause not in costly]


CONVENTIONS = {
    "infinity": "what an input of infinity gives",
    "no token": "what the mean of no token is",
    "bad label": "what happens to a label that names no class",
    "empty row": "what a row of nothing gives",
}


def convention(case: CaseResult, option: str) -> str:
    """The choice that a case rests on and mathematics leaves open; "" where there is none. option: by which PyTorch's
    own answer is taken for right as well.
    """
    missing = case.failure is not None and any(value != value for value in case.failure.inputs.values())  # NaN
    if not case.convention or (case.convention == "infinity" and missing):
        return ""
    return f"a choice: {CONVENTIONS[case.convention]}. {option} takes PyTorch's own answer for right as well."


def also_in(cause: Cause) -> str:
    """Returns the names of the cases behind a cause, but for the first: some of them have a comma."""
    return "; ".join(case.name for case in cause.cases[1:])


def behind(cause: Cause) -> str:
    """``12 cases: ordinary values; one row ...``, or the name of the only one."""
    names = "; ".join(case.name for case in cause.cases)
    return f"{count(len(cause.cases), 'case')}: {names}" if len(cause.cases) > 1 else names


def sentence_of(cause: Cause) -> str:
    """The text for a cause in a list of one line each."""
    return message_of(cause.cases[0]) if len(cause.cases) == 1 else cause.message


def label(cause: Cause) -> str:
    """Returns what the answer is not: ``not correct``; or ``refused`` or ``no result``, where it was not judged."""
    if cause.kind:
        return f"not {cause.kind}"
    return "refused" if cause.cases[0].status == "fail" else "no result"


def percent(score: float) -> str:
    """The score in percent, rounded down, so that 100 % means every point."""
    return f"{math.floor(100 * score + 1e-9)} %"


def sentence(text: str) -> str:
    """The text with a capital and a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")


def number(value: float) -> str:
    """The shortest decimal that reads back as this float32, or as this float64 where it is not a float32. A label is an
    integer, and an element of a mask True or False.
    """
    if isinstance(value, int):
        return str(value)
    with np.errstate(over="ignore"):
        single = np.float32(value)
    if math.isfinite(value) and float(single) != value:
        return repr(float(value))
    if 0 < abs(single) < SMALLEST_NORMAL:
        return np.format_float_scientific(single, min_digits=1)
    return str(single)


def came_out(failure: Failure) -> str:
    """The value at the worst element, after its byte where it is a float8: ``0x7E (448.0)``."""
    return _coded(failure.got, failure.codes and failure.codes[0])


def _coded(value: float, code: int | None) -> str:
    return number(value) if code is None else f"0x{code:02X} ({number(value)})"


def element(failure: Failure) -> str:
    """``dx[31744]``, or ``loss`` where the output is a scalar."""
    return f"{failure.output}[{', '.join(map(str, failure.index))}]" if failure.index else failure.output


def expected(failure: Failure) -> str:
    """The right value of the worst element, after its byte where it is a float8; 0 where -0 came about and the sign of
    a zero does not count.
    """
    plain = failure.expected == 0 and failure.got != 0 and isinstance(failure.expected, float)
    return _coded(0.0 if plain else failure.expected, failure.codes and failure.codes[1])


def went_in(failure: Failure) -> str:
    """Returns the inputs at the worst element: ``dy = 0.5, x = 0.0``."""
    return ", ".join(f"{name} = {number(value)}" for name, value in failure.inputs.items())


def off_by(failure: Failure) -> str:
    """Returns how far off the worst element is, or which kind of value stands where another belongs."""
    got, expected = kind(failure.got), kind(failure.expected)
    if got != expected:
        return f"{got} where {expected} belongs"
    if failure.codes and failure.got == failure.expected == 0:
        return f"0x{failure.codes[0]:02X} where 0x{failure.codes[1]:02X} belongs"
    if failure.expected == 0 and failure.allowed * failure.step < SMALLEST_NORMAL:
        return f"{number(failure.got)}, where 0 belongs"
    allowed = 0.0 if failure.codes and failure.allowed < 1 else failure.allowed  # no other float8 lies within
    return distance(failure.ulp, allowed, failure.step, whole=isinstance(failure.got, int))


def kind(value: float) -> str:
    """Returns ``NaN``, ``infinity``, ``-infinity``, ``True``, ``False`` or ``a number``."""
    if isinstance(value, bool):
        return str(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "infinity" if value > 0 else "-infinity"
    return "a number"


def failing(cases: Iterable[CaseResult]) -> list[CaseResult]:
    """The cases that cost points, in the order the exercise meets them."""
    return [case for case in cases if not case.bonus and case.status in ("fail", "error")]


def hidden_first(causes: list[Cause]) -> list[Cause]:
    """Returns the causes with an instructor's own cases in front, otherwise in their order."""
    return sorted(causes, key=lambda cause: not cause.cases[0].hidden)


def brief(message: str) -> str:
    """The first sentence, shortened if need be: only the first failing case is shown in full."""
    return textwrap.shorten(message.split(". ")[0], 100, placeholder=" ...")


def message_of(case: CaseResult) -> str:
    """The text for a case in a list of one line each; for a hidden case that failed everything that may be shown."""
    if case.hidden and case.status in ("fail", "error"):
        return " ".join(filter(None, (case.message, f"Its kind: {case.inputs}.", case.hint)))
    return brief(case.message)


def details(case: CaseResult) -> list[str]:
    """The lines of the traceback, without a last one that only repeats the message."""
    lines = visible(case.details).rstrip().splitlines()
    repeated = bool(lines) and (lines[-1].endswith(visible(case.message)) or case.message.endswith(lines[-1]))
    return lines[:-1] if repeated else lines


def passed(cases: Iterable[CaseResult]) -> list[CaseResult]:
    """Returns the cases that passed, distinctions among them."""
    return [case for case in cases if case.status == "pass"]


def passing(cases: Iterable[CaseResult]) -> list[CaseResult]:
    """Returns the cases that passed, without distinctions."""
    return [case for case in passed(cases) if not case.bonus]


def how_many_passed(report: ReportData) -> str:
    """Returns ``12 cases passed.``"""
    passing_cases = passing(report.cases)
    return f"{count(len(passing_cases), 'case')} passed." if passing_cases else "No case passed."


def distinctions(cases: Iterable[CaseResult]) -> list[CaseResult]:
    """Returns the distinctions that were tried."""
    return [case for case in cases if case.bonus and case.status != "not-run"]


def standing(case: CaseResult) -> str:
    """The status of a case, a distinction's in words of its own: nothing fails with it."""
    return case.status if not case.bonus else "has" if case.status == "pass" else "has not"


def title(case: CaseResult) -> str:
    """The name, without the prefix that the heading above all distinctions has already."""
    return case.name.removeprefix("distinction: ") if case.bonus else case.name


def distinctions_earned(bonus: list[CaseResult]) -> str:
    """Returns how many of these distinctions were earned, in a sentence."""
    return f"Extra, not needed: {len(passed(bonus))} of {len(bonus)}."


def not_run(report: ReportData) -> dict[str, list[str]]:
    """Returns what did not run, by reason."""
    reasons: dict[str, list[str]] = {}
    for case in report.cases:
        if case.status == "not-run":
            reasons.setdefault(case.message, []).append(title(case))
    if report.compile and report.compile["status"] == "not-run":
        reasons.setdefault(report.compile.get("reason", ""), ["compiler report"])
    return reasons


def traffic(figures: dict[str, Any]) -> str:
    """Returns the bytes loaded and stored beside the least that would do, in a sentence (`ReportData.traffic`)."""
    loaded, stored, least = (size(figures[name]) for name in ("loaded", "stored", "least"))
    if figures["ratio"] < 1:  # the least counts whole tensors
        less = f"less than the {least} of all arguments and results: masks leave some out"
        return f"{loaded} loaded and {stored} stored, {less}"
    sentence = f"{figures['ratio']:.2f} times the minimum: {loaded} loaded and {stored} stored, where {least} would do"
    allowed = figures.get("allowed")
    return f"{sentence}; the limit is {allowed:.2f} times" if allowed is not None else sentence


def cost(report: ReportData, machine_code: bool = True) -> str:
    """Returns what the kernels of an answer move and, with ``machine_code``, what they compile to, in a sentence; ""
    where nothing was measured.
    """
    parts = []
    if report.compile and report.compile["status"] == "fail":  # and not required
        return compiled(report.compile)
    if report.traffic:
        allowed = report.traffic.get("allowed")
        limit = f" (limit {allowed:.2f})" if allowed is not None else ""
        whole = "memory traffic of all arguments and results" if report.traffic["ratio"] < 1 else "least memory traffic"
        parts.append(f"{report.traffic['ratio']:.2f} times the {whole}{limit}")
    if machine_code and report.compile and report.compile["status"] == "pass":
        parts += [text for _, text in targets(report.compile.get("targets", ()))]
    return f"Cost: {'; '.join(parts)}." if parts else ""


def machine_code(figures: dict[str, Any]) -> list[tuple[str, str]]:
    """Each kernel that was counted, with its launch, and its figures in sentences."""
    rows = [(f"{row['kernel']} ({row['launch']})", row["text"]) for row in figures["kernels"]]
    return rows or [("Machine code", "No kernel was launched that could be compiled.")]


def compiled(figures: dict[str, Any]) -> str:
    """Returns what was compiled, and what was not, above `targets`, which say why a kernel does not compile."""
    if figures["status"] == "fail":
        return "Compiler: a kernel does not compile." if figures["targets"] else f"Compiler: {figures['reason']}"
    gpus, all_forms, complete = figures.get("compiled_for", ()), figures.get("forms", 0), figures.get("complete", 0)
    sentences = [f"Compiler: compiled for {', '.join(gpus)}, no GPU needed." if gpus else "Compiler:"]
    if all_forms > complete:
        sentences.append(
            f"Of {count(all_forms, 'form')} in which kernels were launched (types, constants, options), Triton's front "
            f"end took every one, and the whole compiler {complete}: with every operation and the largest blocks."
        )
    if figures.get("left_out"):
        sentences.append(f"{count(figures['left_out'], 'form')} more should have gone through the whole compiler.")
    if others := figures.get("not_compiled_for"):
        sentences.append(f"Not compiled for {', '.join(others)} (targets: all).")
    return " ".join(sentences)


def left_out(names: list[str], reason: str) -> str:
    """``Not run (float32 edges): there is no GPU.``, or how many they are where they are many."""
    what = ", ".join(names) if len(names) <= 3 else count(len(names), "case")
    return f"Not run ({what}): {reason}" if reason else f"Not run: {what}"


def size(number_of_bytes: float) -> str:
    """Returns ``1.5 KiB``: a number of bytes in the largest unit that fits."""
    for unit in ("B", "KiB", "MiB"):
        if number_of_bytes < 1024:
            return f"{number_of_bytes:,.4g} {unit}"
        number_of_bytes /= 1024
    return f"{number_of_bytes:,.4g} GiB"


def targets(rows: Iterable[dict[str, Any]]) -> list[tuple[str, str]]:
    """Status and line of each kernel for each target: one for all forms that compile, and one for each message of the
    compiler's; targets with the same line share it.
    """
    kernels: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        kernels.setdefault((row["status"], row.get("message"), row.get("kernel"), row["target"]), []).append(row)
    together: dict[tuple[str, str], list[str]] = {}
    for (status, _, _, name), forms in kernels.items():
        together.setdefault((status, target(forms)), []).append(name)
    return [(status, f"{', '.join(names)} {text}") for (status, text), names in together.items()]


def target(forms: list[dict[str, Any]]) -> str:
    """``silu_kernel: up to 32 registers, no spills, 128-bit loads`` of a kernel's forms that compile for a target, or
    the compiler's message of those that fail with it.
    """
    row = forms[0]
    registers, spills, bits = (_most(forms, name) for name in ("registers", "spills", "load_bits"))
    most = "up to " if len(forms) > 1 else ""
    figures = [
        "" if registers is None else f"{most}{count(registers, 'register')}",
        "" if spills is None else f"{most}{size(spills)} spilled" if spills else "no spills",
        f"{most}{bits}-bit loads" if bits else "",
    ]
    figures = [figure for figure in figures if figure and row["status"] == "pass"]
    message = [row["message"]] if row.get("message") else []
    place = [f"line {row['line']}: {row['line_text'].strip()}"] if row.get("line") and row.get("line_text") else []
    return f"{row.get('kernel') or ''}: {', '.join(figures + message + place) or row['status']}".lstrip()


def _most(forms: list[dict[str, Any]], name: str) -> int | None:
    return max((row[name] for row in forms if row.get(name) is not None), default=None)


def environment(values: dict[str, Any]) -> str:
    """Returns versions, device and seed in a line (`ReportData.environment`)."""
    names = {"python": "Python", "torch": "PyTorch", "triton": "Triton"}
    versions = [f"{name} {values[key]}" for key, name in names.items() if values.get(key)]
    seed = [f"seed {values['seed']}"] if "seed" in values else []  # with it the same inputs can be made again
    return ", ".join(versions + [str(values[name]) for name in ("device", "mode") if values.get(name)] + seed)
