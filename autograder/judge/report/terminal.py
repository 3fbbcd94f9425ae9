"""A report for a terminal. The failing case comes first and in full; what passed is a count, and of an answer that
passed there are three lines.
"""

import shutil
import sys
import textwrap
from collections.abc import Sequence

from ...words import Terminal, count, visible
from ..results.data import ReportData
from .measured import Measured
from .phrases import CauseText, ReportText

BOLD, DIM, RED, GREEN, YELLOW = "1", "2", "31", "32", "33"
STATES = {"stub": YELLOW, "pass": GREEN, "fail": RED}  # the colour of the heading
LABEL = 10  # width of "came out", the longest label, and two spaces
DETAIL_LINES = 16  # of a traceback, the last ones
LABELLED = 17  # where the text of a list begins: behind "not efficient"
COST_NAME, COST = 16, 6  # width of "text of an error", and of "-33.3" with a space before it
WHY = COST_NAME + COST + 4
OTHERS = 8  # causes after the first that get a sentence; the rest are listed by case


def render(report: ReportData, color: bool | None = None, points: bool = True, details: bool = False) -> str:
    """The report as text. ``color``: ANSI colours or not; None asks the terminal and ``NO_COLOR``. points: whether it
    says what it is worth. details: whether it says all that was measured, and where a GPU may differ.
    """
    width = min(max(shutil.get_terminal_size().columns, 40), 100)
    page = ReportPage(Terminal.wants_color(sys.stdout) if color is None else color, width)
    text = ReportText.of(report, "`--conventions pytorch`", points)
    passed = f", {count(len(text.passed), 'case')}" if text.state == "pass" else ""
    page.line(f"{text.exercise} ({text.backend}): {text.verdict}{passed}", BOLD, STATES[text.state])
    if text.state == "stub":
        page.line(text.unwritten)
        return page.text()
    what_failed(page, text)
    what_else(page, text, details)
    return page.text()


def what_failed(page: "ReportPage", text: ReportText) -> None:
    """Adds what the answer is and is not, the causes, the bug that it resembles, and what that costs."""
    page.answers(text.answers)
    for cause in text.causes[:1]:
        first_failure(page, cause)
    if text.summary:
        page.blank()
        page.line(text.summary)
    if text.source:
        page.blank()
        page.line(text.source, BOLD, YELLOW)
        page.line(text.story)
    shown = 1 + OTHERS if text.compared else 1  # what was compared has no other place to be read about
    for cause in text.causes[1:shown]:
        first_failure(page, cause)
    more_causes(page, f"Fails in {count(len(text.causes) - shown, 'more way')}", text.causes[shown:])
    more_causes(page, "Also found, not required", text.optional)
    if text.costs:
        page.blank()
        page.line(f"Points: {text.score}", BOLD)
    for name, points, why in text.costs:
        page.line(f"{name:{COST_NAME}}{points:>{COST}}  {why}", indent=2, hanging=WHY)


def more_causes(page: "ReportPage", title: str, causes: Sequence[CauseText]) -> None:
    """Adds a line for each of the first `OTHERS` causes, and the names of the cases behind the rest."""
    if not causes:
        return
    page.blank()
    page.line(title, BOLD)
    for cause in causes[:OTHERS]:
        page.item(cause.label, cause.message, "", RED)
        page.line(f"in {cause.all_cases}", DIM, indent=LABELLED)
    if causes[OTHERS:]:
        names = "; ".join(case.name for cause in causes[OTHERS:] for case in cause.cases)
        page.line(f"and {count(len(causes) - OTHERS, 'way')} more, in {names}", DIM, indent=LABELLED)


def first_failure(page: "ReportPage", cause: CauseText) -> None:
    """Adds a cause in full: its first case, and what went in, came out and was expected there."""
    case = cause.first
    page.blank()
    page.line(f"{cause.label}  {case.name}", BOLD, RED)
    page.line(case.message, indent=2)
    traceback(page, case.details)
    if case.whole_answer:
        return
    page.field("went in", case.inputs)
    if worst := case.worst:
        page.field("", f"{worst.inputs} at {worst.element}" if worst.inputs else "")
        page.field("at", "" if worst.inputs else worst.element)
        page.field("came out", f"{worst.output} = {worst.actual}")
        page.field("expected", f"{worst.output} = {worst.expected}")
        page.field("off by", worst.off_by)
    page.field("rests on", case.choice)
    page.field("hint", case.hint)
    page.field("also in", cause.later_cases)
    if case.repeat:
        page.field("again", "these lines of Python:")
        page.lines += case.repeat.splitlines()  # as they are pasted: not indented, not wrapped


def traceback(page: "ReportPage", lines: Sequence[str]) -> None:
    """Adds the last `DETAIL_LINES` lines of a traceback."""
    if not lines:
        return
    page.blank()
    if len(lines) > DETAIL_LINES:
        page.line(f"... {count(len(lines) - DETAIL_LINES, 'line')} above", DIM, indent=4)
    for line in lines[-DETAIL_LINES:]:
        page.lines.append(" " * 4 + line)
    page.blank()


def what_else(page: "ReportPage", text: ReportText, details: bool) -> None:
    """Adds what passed, what it costs, the distinctions, and what did not run."""
    passed = text.state == "pass"
    if not passed:
        page.blank()
        page.line(text.how_many)
    if details:
        what_was_measured(page, text.measured)
    elif passed:
        page.line(text.measured.cost())
    if text.measured.machine_code:
        machine_code(page, text.measured)
    if passed or details:
        page.line(text.earned)
    for case in text.distinctions if details else ():
        page.item(case.status, case.title, case.message, GREEN if case.mark == "pass" else DIM)
    for remark in text.remarks:
        page.line(remark, DIM)
    for sentence in text.not_run:
        page.line(sentence)
    if text.neighbours:
        page.blank()
        page.lines += map(visible, text.neighbours.splitlines())
    if text.measured.environment and (details or not passed):
        page.blank()
        page.line(text.measured.environment, DIM)


def machine_code(page: "ReportPage", measured: Measured) -> None:
    """Adds a paragraph for each kernel, and what the count cannot say."""
    page.blank()
    for title, text in measured.machine_code:
        page.line(title, BOLD)
        page.line(text, indent=2)
    page.line(measured.machine_code_about, DIM)


def what_was_measured(page: "ReportPage", measured: Measured) -> None:
    """Adds what the kernels moved and compiled to, and where a GPU may differ."""
    page.line(measured.traffic)
    page.line(measured.compiled)
    for status, text in measured.targets:
        page.item(status, text, "", {"pass": GREEN, "fail": RED}.get(status, DIM))
    for note in measured.notes:
        page.line(f"On a GPU: {note}", DIM)


class ReportPage:
    """Lines of text, wrapped and coloured. Everything that enters is escaped: names and messages come from learners."""

    def __init__(self, color: bool, width: int):
        self.color, self.width = color, width
        self.lines: list[str] = []

    def text(self) -> str:
        """Returns all lines as one text."""
        return "\n".join(self.lines)

    def blank(self) -> None:
        """Adds an empty line, unless the last one is empty."""
        if self.lines[-1]:
            self.lines.append("")

    def line(self, text: str, *styles: str, indent: int = 0, hanging: int = 0) -> None:
        """Adds a paragraph, wrapped. indent, hanging: columns before its first line and before the others."""
        for part in visible(text).splitlines():
            first, others = " " * indent, " " * (hanging or indent)
            wrapped = textwrap.wrap(
                part, self.width, break_on_hyphens=False, initial_indent=first, subsequent_indent=others
            )
            self.lines += [self.paint(line, *styles) for line in wrapped]

    def field(self, label: str, text: str) -> None:
        """Adds a label and its text, which begins in column `LABEL`; nothing where there is no text."""
        if not text:
            return
        start = len(self.lines)
        self.line(f"{label:{LABEL}}{text}", indent=2, hanging=2 + LABEL)
        head = self.lines[start]
        self.lines[start] = head[:2] + self.paint(head[2 : 2 + len(label)], DIM) + head[2 + len(label) :]

    def answers(self, answers: Sequence[tuple[str, str]]) -> None:
        """Adds ``correct: yes   portable: no``"""
        colors = {"yes": GREEN, "no": RED}
        parts = [f"{name}: {self.paint(text, colors[text])}" for name, text in answers]
        self.lines += ["   ".join(parts)] if parts else []

    def item(self, status: str, name: str, message: str, *styles: str) -> None:
        """Adds a case of a list: its status in colour, its name and its message."""
        start, status = len(self.lines), status.replace("-", " ")
        width = LABELLED - 4 if len(status) > 7 else 7
        self.line(f"{status:{width}}  {name}{': ' if message else ''}{message}", indent=2, hanging=width + 4)
        head = self.lines[start]
        self.lines[start] = head[:2] + self.paint(head[2 : 2 + len(status)], *styles) + head[2 + len(status) :]

    def paint(self, text: str, *styles: str) -> str:
        """Returns the text between the codes of these styles; plain where the page has no colours."""
        codes = ";".join(style for style in styles if style)
        return f"\033[{codes}m{text}\033[0m" if self.color and codes and text else text
