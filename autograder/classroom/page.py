"""The pages that a teacher looks at: a class in one assignment, its similar answers, and a course. What a learner wrote
is shown as text, and no page has a script.
"""

import os
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..words import Pace, count, visible
from . import figures
from .class_findings import FAILED, PASSED, UNREACHED, ExerciseFindings, Findings
from .nbgrader.export import GRADED, WAITS
from .similar import LEAST, Alike, SimilarGroup

MOST = 12  # rows of the inputs that failed most
PROGRAMS = 8  # that are shown of those that are similar
SIMILAR = (
    f"Answers of which at least {LEAST:.0%} is one program, apart from names, comments, layout and what was handed "
    "out, directly or by way of another. There are few ways to write a formula: a group is a reason to look, no proof."
)
STYLE = """
:root { color-scheme: light dark; --gk-ink: light-dark(#1d2430, #e4e7ec); --gk-muted: light-dark(#667080, #98a2b3);
  --gk-answer: light-dark(#2f8f4e, #57b97a); --gk-wild: light-dark(#d9731a, #f0a050);
  --paper: light-dark(#fff, #14181f); --rule: light-dark(#dfe3e8, #323945); }
body { margin: 2.5rem auto; max-width: 60rem; padding: 0 1.2rem; background: var(--paper); color: var(--gk-ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .5rem; }
h3 { font: 600 1rem ui-monospace, monospace; margin: 1.4rem 0 .3rem; }
p { margin: .3rem 0; } .quiet { color: var(--gk-muted); } a { color: inherit; }
svg { display: block; width: 100%; min-width: 34rem; height: auto; font-family: system-ui, sans-serif; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; min-width: 34rem; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 500; color: var(--gk-muted); }
th, td { padding: .2rem .6rem .2rem 0; border-bottom: 1px solid var(--rule); vertical-align: top; }
.number { text-align: right; white-space: nowrap; }
.code { font: 13px/1.6 ui-monospace, monospace; overflow-wrap: break-word; }
.bar { display: block; height: .55rem; margin: .45rem 0 0 1rem; min-width: 6rem; background: var(--rule);
  print-color-adjust: exact; }
.bar i { display: block; float: left; height: 100%; background: var(--gk-answer); }
.bar i + i { background: var(--gk-wild); }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); gap: 1rem; }
pre { margin: 0; padding: .6rem; border: 1px solid var(--rule); font: 12px/1.5 ui-monospace, monospace;
  white-space: pre-wrap; overflow-wrap: anywhere; }
@media print { :root { color-scheme: light; } body { margin: 0; max-width: none; font-size: 11px; }
  .wide { overflow: visible; } svg, table { min-width: 0; }
  h2, h3, tr, svg { break-inside: avoid; } h2, h3 { break-after: avoid; } }
"""


def class_page(findings: Findings, folder: Path, similar: int = 0) -> str:
    """The page of one assignment, which will lie in ``folder``. similar: how many groups `similar_page` shows."""
    parts = [
        f"<h1>{escape(findings.assignment)}</h1>{_overview(findings)}",
        _section("Appeals", _appeals(findings)),
        _section("Scores", _wide(figures.scores(findings))),
        _section("Points that a regrade changed", _moved(findings)),
        _section(
            "Exercises", _wide(figures.outcomes(findings.answers)) + _answers(findings) if findings.answers else ""
        ),
        _section("Bugs that shipped, written again", _bugs(findings.answers)),
        _section("Inputs that failed most", _inputs(findings.answers)),
        _section("Cases", "".join(map(_cases, findings.answers))),
        _section("Similar answers", _similar(findings.assignment, similar)),
        _section("Learners", _learners(findings, folder)),
    ]
    return as_page(findings.assignment, parts)


def similar_page(assignment: str, groups: Sequence[SimilarGroup]) -> str:
    """A heading for each group of students, their similar answers below it, a column for each program."""
    if not groups:
        return as_page(f"{assignment}: similar answers", [f"<h1>{escape(assignment)}: no similar answers</h1>"])
    shown = [f"<h1>{escape(assignment)}: similar answers</h1>", f'<p class="quiet">{SIMILAR}</p>']
    for group in groups:
        students, like = count(len(group.counts), "student"), "like the published ones" * group.published
        title = f"{students}, {len(group.alike)} of {count(group.of, 'answer')} {like}".rstrip()
        who = ", ".join(f"{student} ({count})" for student, count in group.counts)
        shown += [f"<h2>{title}</h2><p>{escape(who)}</p>", *map(_beside, group.alike)]
    return as_page(f"{assignment}: similar answers", shown)


def _beside(alike: Alike) -> str:
    columns = [
        f"<div><p>{escape(', '.join(program.students) or 'published')}, {program.share:.0%}</p>"
        f"<pre>{escape(visible(program.source))}</pre></div>"
        for program in alike.programs[:PROGRAMS]
    ]
    more = len(alike.programs) - PROGRAMS
    rest = f"<p>Not shown: {count(more, 'program')}.</p>" if more > 0 else ""
    title = f"{escape(alike.answer)}: {', '.join(map(escape, sorted(alike.students)))}"
    return f'<details><summary>{title}</summary><div class="pair">{"".join(columns)}</div>{rest}</details>'


def course_page(assignments: Sequence[str], rows: list[dict[str, Any]], written: Iterable[str]) -> str:
    """Students by assignments. rows: `export.rows_of` the course. written: the assignments that have a page."""
    by_student: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        by_student.setdefault(row["student_id"], {})[row["assignment"]] = row
    lines = []
    for student, grades in sorted(by_student.items()):
        cells = [
            _score(grades[name].get("score"), grades[name]["max_score"], grades[name]["status"]) for name in assignments
        ]
        scores = [row["score"] for row in grades.values() if row.get("score") is not None]
        lines.append([escape(student), *cells, _right(f"{sum(scores):g}" if scores else "")])
    pages = set(written)
    links = [
        f'<a href="{quote(assignment)}.html">{escape(assignment)}</a>' if assignment in pages else escape(assignment)
        for assignment in assignments
    ]
    return as_page("course", ["<h1>Course</h1>", _table(["student", *map(_right, links), _right("together")], lines)])


def as_page(title: str, parts: Iterable[str], style: str = "") -> str:
    """A whole page of these parts. style: rules of its own; pictures are those that it holds."""
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    allowed = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    policy = f'<meta http-equiv="Content-Security-Policy" content="{allowed}">'
    head = f"<head>{head}{policy}<style>{STYLE}{style}</style></head>"
    return f'<!doctype html><html lang="en">{head}<body><main>{"".join(parts)}</main></body></html>\n'


def _section(title: str, content: str) -> str:
    return f"<h2>{title}</h2>{content}" if content else ""


def _overview(findings: Findings) -> str:
    counts: dict[str, int] = {}
    for learner in findings.learners:
        counts[learner.status] = counts.get(learner.status, 0) + 1
    plural = {WAITS: "wait for a person"}
    listed = ", ".join(f"{n} {plural.get(status, status) if n > 1 else status}" for status, n in counts.items())
    seconds = sum(answer.seconds for answer in findings.answers)
    lines = [
        f"{count(len(findings.learners), 'learner')}: {listed}.",
        f"Checking took {Pace.duration(seconds)} of processor time.",
    ]
    if findings.unchecked:
        who = ", ".join(f"{student} ({answer})" for student, answer in findings.unchecked)
        lines.append(f"For a person, because the check ended without a verdict: {who}.")
    return "".join(f'<p class="quiet">{escape(line)}</p>' for line in lines)


def _answers(findings: Findings) -> str:
    head = ["answer", *map(_right, ("learners", "passed", "untouched", "mean score", "processor time"))]
    rows = [
        [
            f'<a href="#{quote(answer.name)}">{escape(answer.name)}</a>',
            *map(_right, map(str, (len(answer.checks), answer.passed, answer.untouched))),
            _right(f"{answer.mean:.0%}"),
            _right(Pace.duration(answer.seconds)),
        ]
        for answer in findings.answers
    ]
    return _table(head, rows)


def _moved(findings: Findings) -> str:
    """The answers whose text is the same and whose points are not, with what each lost."""
    rows = []
    for change in findings.moved:
        points = [_right(f"{score:g}") for score in (change.before, change.now)]
        rows.append([escape(change.student), escape(change.answer), *points, escape(change.since), escape(change.why)])
    return _table(["who", "answer", _right("before"), _right("now"), "since these changed", "now"], rows)


def _appeals(findings: Findings) -> str:
    """A row for each appeal, and what was decided."""
    waits = '<span class="quiet">waits for a decision: graded-kernels marks</span>'
    rows = [
        [
            escape(appeal.student),
            escape(appeal.answer),
            _score(appeal.points, appeal.most, ""),
            escape(visible(appeal.reason)),
        ]
        + [escape(visible(appeal.decision.rpartition("**Decision:** ")[2])) or waits]
        for appeal in findings.appeals
    ]
    return _table(["student", "answer", _right("points"), "appeal", "decision"], rows)


def _bugs(answers: tuple[ExerciseFindings, ...]) -> str:
    rows = [
        [escape(answer.name), _right(f"{len(who)} of {len(answer.checks)}"), escape(bug), escape(", ".join(who))]
        for answer in answers
        for bug, who in answer.bugs
    ]
    return _table(["answer", _right("learners"), "bug", "who"], rows)


def _inputs(answers: tuple[ExerciseFindings, ...]) -> str:
    """Without distinctions, which most right answers fail."""
    cases = [(case.counts[FAILED], answer, case) for answer in answers for case in answer.cases if not case.bonus]
    failed = sorted((row for row in cases if row[0]), key=lambda row: -row[0])
    rows = [
        [_right(f"{count} of {case.counts[FAILED] + case.counts[PASSED]}"), escape(answer.name), escape(case.name)]
        + [f'<span class="code">{escape(case.inputs)}</span>']
        for count, answer, case in failed[:MOST]
    ]
    return _table([_right("failed"), "answer", "case", "input"], rows)


def _cases(answer: ExerciseFindings) -> str:
    rows = []
    for case in answer.cases:
        passed, failed, unreached = (case.counts[kind] for kind in (PASSED, FAILED, UNREACHED))
        every = max(passed + failed + unreached, 1)
        bar = f'<i style="width:{100 * passed / every:.1f}%"></i><i style="width:{100 * failed / every:.1f}%"></i>'
        counts = map(_right, map(str, (passed, failed, unreached)))
        rows.append([escape(case.name), *counts, f'<span class="bar">{bar}</span>'])
    head = ["case", *map(_right, ("passed", "failed", "not reached")), ""]
    table = _table(head, rows) or '<p class="quiet">Nobody began it.</p>'
    return f'<h3 id="{escape(answer.name)}">{escape(answer.name)}</h3>{table}'


def _similar(assignment: str, groups: int) -> str:
    if not groups:
        return ""
    return f'<p><a href="{quote(assignment)}-similar.html">{count(groups, "group")}</a>, for a person to judge.</p>'


def _learners(findings: Findings, folder: Path) -> str:
    rows = []
    for learner in sorted(findings.learners, key=lambda row: (row.status == GRADED, row.status, row.id)):
        pages = [
            f'<a href="{quote(os.path.relpath(path, folder))}">{escape(name)}</a>'
            for name, path in learner.feedback.items()
        ]
        so_far = "" if learner.so_far is None else f", {learner.so_far:g} so far"
        score = _score(learner.score, learner.most, learner.status + so_far)
        late = f"{learner.late} d" if learner.late else ""
        rows.append([escape(learner.id), escape(learner.name), score, _right(late), ", ".join(pages)])
    return _table(["student", "name", _right("score"), _right("late"), "feedback"], rows)


def _wide(content: str) -> str:
    """Returns what a narrow window scrolls, and not the page: by the keyboard, too."""
    return f'<div class="wide" tabindex="0">{content}</div>' if content else ""


def _score(score: float | None, most: float, status: str) -> str:
    return _right(f'<span class="quiet">{escape(status)}</span>' if score is None else f"{score:g} / {most:g}")


def _right(content: str) -> str:
    """A cell whose content stands at the right."""
    return f"\0{content}"


def _table(head: list[str], rows: list[list[str]]) -> str:
    """A table whose cells are HTML; "" without rows."""
    if not rows:
        return ""

    def line(cells: list[str], tag: str) -> str:
        kind = [(' class="number"' if cell.startswith("\0") else "", cell.removeprefix("\0")) for cell in cells]
        named = [(tag if cell else "td", css, cell) for css, cell in kind]  # a heading without a word names nothing
        return "<tr>" + "".join(f"<{tag}{css}>{cell}</{tag}>" for tag, css, cell in named) + "</tr>"

    return _wide(f"<table>{line(head, 'th')}{''.join(line(row, 'td') for row in rows)}</table>")
