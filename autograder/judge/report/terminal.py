"""A report for a terminal. The failing case comes first and in full; what passed is a count, and of an answer that
passed there are three lines.
"""

import shutil
import sys
import textwrap
from typing import Any

from ...words import Terminal, count, visible
from ..results.causes import Cause
from ..results.data import ReportData
from . import phrases

BOLD, DIM, RED, GREEN, YELLOW = "1", "2", "31", "32", "33"
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
    verdict = phrases.verdict(report, points)
    if report.passed:
        verdict += f", {count(len(phrases.passing(report.cases)), 'case')}"
    page.line(f"{report.exercise} ({report.backend}): {verdict}", BOLD, verdict_color(report))
    if phrases.is_stub(report):
        page.line(phrases.of_a_stub(report))
        return page.text()

    causes, rest = phrases.required(report)
    if rest or not report.passed:
        page.answers(phrases.answers(report))
    if causes:
        first_failure(page, report, causes[0])
    elif not report.passed:
        page.blank()
        page.line(report.summary)
    if report.source:
        page.blank()
        page.line(phrases.sentence(report.source), BOLD, YELLOW)
        page.line(report.fingerprint_story)
    shown = 1
    if report.computes:  # what was compared has no other place to be read about
        shown = 1 + OTHERS
        for cause in causes[1:shown]:
            first_failure(page, report, cause)
    more_causes(page, f"{count(len(causes) - shown, 'more cause')} of failure", causes[shown:])
    more_causes(page, "Also found, not required", rest)
    if points and not report.passed:
        cost_lines(page, report)
    what_else(page, report, details)
    return page.text()


def cost_lines(page: "ReportPage", report: ReportData) -> None:
    """Adds a line for each cost: what failed, the points that it costs, and the first case that shows it."""
    rows = phrases.cost_lines(report.costs)
    if rows:
        page.blank()
        page.line(f"Points: {phrases.percent(report.score)}", BOLD)
    for name, points, why in rows:
        page.line(f"{name:{COST_NAME}}{points:>{COST}}  {why}", indent=2, hanging=WHY)


def more_causes(page: "ReportPage", title: str, causes: list[Cause]) -> None:
    """Adds a line for each of the first `OTHERS` causes, and the names of the cases behind the rest."""
    if not causes:
        return
    page.blank()
    page.line(title, BOLD)
    for cause in causes[:OTHERS]:
        page.item(phrases.label(cause), phrases.sentence_of(cause), "", RED)
        page.line(f"in {phrases.behind(cause)}", DIM, indent=LABELLED)
    if causes[OTHERS:]:
        names = "; ".join(case.name for cause in causes[OTHERS:] for case in cause.cases)
        page.line(f"and {count(len(causes) - OTHERS, 'cause')} more, in {names}", DIM, indent=LABELLED)


def first_failure(page: "ReportPage", report: ReportData, cause: Cause) -> None:
    """Adds the first cause in full: its first case, and what went in, came out and was expected there."""
    case = cause.cases[0]
    page.blank()
    page.line(f"{phrases.label(cause)}  {case.name}", BOLD, RED)
    page.line(case.message, indent=2)
    traceback(page, phrases.details(case))
    if phrases.is_stopped(report, case):
        return
    if case.inputs:
        page.field("went in", case.inputs)
    failure = case.failure
    if failure:
        at = phrases.went_in(failure)
        page.field("" if at else "at", f"{at} at {phrases.element(failure)}" if at else phrases.element(failure))
        page.field("came out", f"{failure.output} = {phrases.came_out(failure)}")
        page.field("expected", f"{failure.output} = {phrases.expected(failure)}")
        page.field("off by", phrases.off_by(failure))
    if choice := phrases.convention(case, "`--conventions pytorch`"):
        page.field("rests on", choice)
    if case.hint:
        page.field("hint", case.hint)
    if len(cause.cases) > 1:
        page.field("also in", phrases.also_in(cause))
    if case.repeat:
        page.field("again", "these lines of Python:")
        page.lines += case.repeat.splitlines()  # as they are pasted: not indented, not wrapped


def traceback(page: "ReportPage", lines: list[str]) -> None:
    """Adds the last `DETAIL_LINES` lines of a traceback."""
    if not lines:
        return
    page.blank()
    if len(lines) > DETAIL_LINES:
        page.line(f"... {count(len(lines) - DETAIL_LINES, 'line')} above", DIM, indent=4)
    for line in lines[-DETAIL_LINES:]:
        page.lines.append(" " * 4 + line)
    page.blank()


def what_else(page: "ReportPage", report: ReportData, details: bool) -> None:
    """Adds what passed, what it costs, the distinctions, and what did not run."""
    if not report.passed:
        page.blank()
        page.line(phrases.how_many_passed(report))
    if details:
        what_was_measured(page, report)
    elif report.passed and phrases.cost(report):
        page.line(phrases.cost(report))
    if report.machine_code:
        machine_code(page, report.machine_code)
    bonus = phrases.distinctions(report.cases)
    if bonus and (report.passed or details):
        page.line(phrases.distinctions_earned(bonus))
    for case in bonus if details else ():
        color = GREEN if case.status == "pass" else DIM
        page.item(phrases.standing(case), phrases.title(case), phrases.message_of(case), color)
    for remark in filter(None, (*report.remarks, report.tolerance)):
        page.line(remark, DIM)
    for reason, names in phrases.not_run(report).items():
        page.line(phrases.left_out(names, reason))
    if report.neighbours is not None:
        page.blank()
        page.lines += map(visible, str(report.neighbours).splitlines())
    if report.environment and (details or not report.passed):
        page.blank()
        page.line(phrases.environment(report.environment), DIM)


def machine_code(page: "ReportPage", figures: dict[str, Any]) -> None:
    """Adds a paragraph for each kernel, and what the count cannot say."""
    page.blank()
    for title, text in phrases.machine_code(figures):
        page.line(title, BOLD)
        page.line(text, indent=2)
    page.line(figures["about"], DIM)


def what_was_measured(page: "ReportPage", report: ReportData) -> None:
    """Adds what the kernels moved and compiled to, and where a GPU may differ."""
    if report.traffic:
        page.line(f"Memory traffic: {phrases.traffic(report.traffic)}.")
    if report.compile and report.compile["status"] != "not-run":
        page.line(phrases.compiled(report.compile))
        for status, text in phrases.targets(report.compile.get("targets", ())):
            page.item(status, text, "", {"pass": GREEN, "fail": RED}.get(status, DIM))
    for note in report.notes:
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
        """Adds a label and its text, which begins in column `LABEL`."""
        start = len(self.lines)
        self.line(f"{label:{LABEL}}{text}", indent=2, hanging=2 + LABEL)
        head = self.lines[start]
        self.lines[start] = head[:2] + self.paint(head[2 : 2 + len(label)], DIM) + head[2 + len(label) :]

    def answers(self, answers: list[tuple[str, str]]) -> None:
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


def verdict_color(report: ReportData) -> str:
    """Returns the colour of the heading: yellow for a stub, green for passed, red otherwise."""
    return YELLOW if phrases.is_stub(report) else GREEN if report.passed else RED
