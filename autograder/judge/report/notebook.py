"""A report for a notebook: one HTML fragment with its own style, no script, light or dark as the page around it.

The colours are JupyterLab's variables where they exist. Where they do not (an exported page, another editor) the text
keeps the colour of the page and the accents are mid-tones that read on white and on black.
"""

import re
from collections.abc import Iterable, Sequence
from html import escape as escape_markup

from ...words import count, visible
from ..results.case_result import CaseResult, Curve
from ..results.data import ReportData
from .measured import Measured
from .phrases import CaseText, CauseText, FailureText, ReportText

STYLE = """
.graded-kernels {
  --gk-ink: var(--jp-content-font-color1, currentColor);
  --gk-muted: var(--jp-content-font-color2, color-mix(in srgb, currentColor 70%, transparent));
  --gk-rule: var(--jp-border-color2, color-mix(in srgb, currentColor 18%, transparent));
  --gk-pass: var(--jp-success-color1, color-mix(in srgb, currentColor 25%, #3a9150));
  --gk-fail: var(--jp-error-color1, color-mix(in srgb, currentColor 25%, #dc4437));
  --gk-wild: var(--jp-warn-color1, #e8912d);
  --gk-state: var(--gk-muted);
  --gk-answer: var(--gk-state);
  --gk-code: var(--jp-code-font-family, ui-monospace, SFMono-Regular, Menlo, Consolas, monospace);
  max-width: 736px; margin: 6px 0; padding: 2px 10px 2px 18px; border-left: 3px solid var(--gk-state);
  color: var(--gk-ink); font: 14px/1.5 var(--jp-content-font-family, system-ui, sans-serif);
}
.graded-kernels.pass { --gk-state: var(--gk-pass); }
.graded-kernels.fail { --gk-state: var(--gk-fail); }
.graded-kernels p, .graded-kernels figure { margin: 6px 0; padding: 0; }
.graded-kernels .head { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 11px; margin: 0 0 8px; }
.graded-kernels .head b { font: 600 15px/1.5 var(--gk-code); }
.graded-kernels .head span { color: var(--gk-muted); }
.graded-kernels .head .verdict { margin-left: auto; color: var(--gk-state); font-weight: 600; }
.graded-kernels .answers { display: flex; flex-wrap: wrap; gap: 0 22px; color: var(--gk-muted); }
.graded-kernels .case { margin: 14px 0 3px; font-weight: 600; }
.graded-kernels .message { overflow-wrap: anywhere; }
.graded-kernels dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 14px; margin: 10px 0; }
.graded-kernels dl dt, .graded-kernels dl dd { float: none; width: auto; margin: 0; padding: 0; }
.graded-kernels dl dt { color: var(--gk-muted); font-weight: 400; white-space: nowrap; }
.graded-kernels dl dd { overflow-wrap: anywhere; }
.graded-kernels dl dd.code { font: 13px/1.6 var(--gk-code); }
.graded-kernels p code, .graded-kernels dd code { font: 13px/1.5 var(--gk-code); padding: 0; background: none; }
.graded-kernels .wrong { color: var(--gk-fail); }
.graded-kernels .right { color: var(--gk-pass); }
.graded-kernels .print { margin: 13px 0; padding: 8px 13px; border-left: 3px solid var(--gk-wild);
  background: color-mix(in srgb, var(--gk-wild) 11%, transparent); }
.graded-kernels .print p { margin: 0; }
.graded-kernels pre { margin: 8px 0; padding: 8px 13px; overflow-x: auto; font: 12px/1.5 var(--gk-code);
  color: var(--gk-ink); background: color-mix(in srgb, currentColor 6%, transparent); border: 0; }
.graded-kernels svg { display: block; width: 100%; height: auto;
  font-family: var(--jp-ui-font-family, system-ui, sans-serif); }
.graded-kernels svg * { stroke-linejoin: round; }
.graded-kernels .rest { margin-top: 13px; border-top: 1px solid var(--gk-rule); padding-top: 6px; }
.graded-kernels ul.cases { list-style: none; margin: 6px 0; padding: 0; }
.graded-kernels li { margin: 2px 0; padding-left: 19px; text-indent: -19px; overflow-wrap: anywhere; }
.graded-kernels li::before { content: "·"; display: inline-block; width: 19px; text-indent: 0;
  color: var(--gk-muted); }
.graded-kernels li.pass::before { content: "✓"; color: var(--gk-pass); }
.graded-kernels li.fail::before, .graded-kernels li.error::before { content: "✗"; color: var(--gk-fail); }
.graded-kernels li.bonus::before { color: var(--gk-muted); }
.graded-kernels li details { text-indent: 0; }
.graded-kernels summary { cursor: pointer; }
.graded-kernels a { color: inherit; text-decoration: underline; text-decoration-color: var(--gk-muted); }
.graded-kernels .quiet { color: var(--gk-muted); font-size: 13px; }
"""
CODE = re.compile(r"`([^`]+)`")
THREAD = re.compile(r"\b([\w.-]+/[\w.-]+)#(\d+)")


def render(report: ReportData, graded: bool = False) -> str:
    """The report as a self-contained HTML fragment. Every text is escaped: names and messages come from learners.

    graded: whether it is for a page of feedback, which gives points itself, draws no error of an answer that passed,
    and says nothing of what compilers make of kernels that compile.
    """
    text = ReportText.of(report, '`check(..., conventions="pytorch")`', points=not graded)
    if text.state == "stub":
        body = f"<p>{escape(text.unwritten)}</p>"
    else:
        right = picture([case for case in report.cases if case.passes]) if report.passed and not graded else ""
        wrong = picture([case for case in report.cases if case.fails])
        body = failure(text, wrong) + cost_lines(text.costs) + rest(text, graded, right)
    return f'<div class="graded-kernels {text.state}"><style>{STYLE}</style>{head(text)}{body}</div>'


def cost_lines(costs: Iterable[tuple[str, str, str]]) -> str:
    """Returns a row for each cost: what failed, the points that it costs, and the first case that shows it."""
    rows = (f"<dt>{escape(name)}</dt><dd><b>{escape(points)}</b> {prose(why)}</dd>" for name, points, why in costs)
    cells = "".join(rows)
    return f"<dl>{cells}</dl>" if cells else ""


def head(text: ReportText) -> str:
    """Returns the heading: exercise, backend, verdict and, unless it has all that is asked for, the qualities."""
    return (
        f'<p class="head"><b>{escape(text.exercise)}</b> <span>{escape(text.backend)}</span> '
        f'<span class="verdict">{escape(text.verdict.capitalize())}</span></p>{answers(text.answers)}'
    )


def answers(qualities: Iterable[tuple[str, str]]) -> str:
    """Returns a line with each quality and whether the answer has it; "" where nothing was judged."""
    colors = {"yes": "right", "no": "wrong"}
    parts = (f'{name} <b class="{colors[answer]}">{answer}</b>' for name, answer in qualities)
    line = " ".join(f"<span>{part}</span>" for part in parts)
    return f'<p class="answers">{line}</p>' if line else ""


def failure(text: ReportText, drawn: str) -> str:
    """Returns what failed: the first case in full, the bug it resembles, the picture, and the other cases one line
    each.
    """
    parts = [first_failure(cause) for cause in text.causes[:1]]
    if text.summary:
        parts.append(f'<p class="message">{prose(text.summary)}</p>')
    if text.source:
        parts.append(f'<div class="print"><p><b>{prose(text.source)}</b></p><p>{prose(text.story)}</p></div>')
    parts.append(drawn)
    parts += [also_in(cause) for cause in text.causes[:1]]
    parts.append(more_causes(f"Fails in {count(len(text.causes) - 1, 'more way')}", text.causes[1:]))
    parts.append(more_causes("Also found, not required", text.optional))
    return "".join(parts)


def more_causes(title: str, causes: Sequence[CauseText]) -> str:
    """Returns a line for each cause, with the cases behind it folded."""
    if not causes:
        return ""
    lines = "".join(
        f'<li class="fail"><b>{escape(cause.label)}</b> {prose(cause.message)} {cases_of(cause)}</li>'
        for cause in causes
    )
    return f'<p class="case">{title}</p><ul class="cases">{lines}</ul>'


def cases_of(cause: CauseText) -> str:
    """Returns the name of the only case behind a cause, or all of them folded."""
    if len(cause.cases) == 1:
        return f'<span class="quiet">{escape(cause.cases[0].name)}</span>'
    return folded(count(len(cause.cases), "case"), items(cause.cases))


def first_failure(cause: CauseText) -> str:
    """Returns a cause in full: its first case, what happened there, and the traceback."""
    case = cause.first
    name = f'<p class="case"><span class="wrong">{escape(cause.label)}</span> {escape(case.name)}</p>'
    details = "\n".join(case.details)
    details = f"<pre>{escape(details)}</pre>" if details else ""
    happened = "" if case.whole_answer else what_happened(case)
    return f'{name}<p class="message">{prose(case.message)}</p>{details}{happened}'


def also_in(cause: CauseText) -> str:
    """Returns the other cases of a cause, folded; "" where there are none."""
    more = cause.cases[1:]
    return folded(f"Also in {count(len(more), 'more case')}", items(more)) if more else ""


def what_happened(case: FailureText) -> str:
    """Returns what went in, what came out, what was expected, how far off it is, and the hint."""
    rows = [("went in", case.inputs, "code")]
    if worst := case.worst:
        rows += [
            ("", worst.inputs, "code"),
            ("came out", f"{worst.element} = {worst.actual}", "code wrong"),
            ("expected", f"{worst.element} = {worst.expected}", "code right"),
            ("off by", worst.off_by, ""),
        ]
    rows += [("rests on", case.choice, ""), ("hint", case.hint, "")]
    cells = (f'<dt>{label}</dt><dd class="{kind}">{prose(text)}</dd>' for label, text, kind in rows if text)
    return f"<dl>{''.join(cells)}</dl>"


def picture(cases: Sequence[CaseResult]) -> str:
    """Returns the picture of the case to draw, or ""."""
    drawn = chosen(cases)
    return figure(*drawn) if drawn else ""


def chosen(cases: Sequence[CaseResult]) -> tuple[CaseResult, Curve] | None:
    """The case to draw and its curve: the first failing one with a curve, or the first with one if nothing failed."""
    either = [case for case in cases if case.fails] or cases
    drawn = [(case, case.curve) for case in either if case.curve is not None and len(case.curve.x)]
    return drawn[0] if drawn else None


def figure(case: CaseResult, curve: Curve) -> str:
    """Returns the picture of a case's error, with a caption."""
    from . import plot  # when there is something to draw: matplotlib takes longer to import than a check runs

    caption = f"{escape(case.name)}: the largest error near each {escape(curve.parameter)}"
    return f'<figure>{plot.draw(curve)}<figcaption class="quiet">{caption}</figcaption></figure>'


def rest(text: ReportText, graded: bool, drawn: str) -> str:
    """The folded and quiet parts: what passed, what it costs, the distinctions, what did not run."""
    parts = []
    if text.passed:
        parts.append(folded(escape(text.how_many), drawn + items(text.passed)))
    measured = what_was_measured(text.measured, graded)
    if measured:
        parts.append(folded(escape(text.measured.cost(registers=not graded) or "What was measured"), measured))
    if text.distinctions and text.state == "pass":
        parts.append(folded(escape(text.earned), items(text.distinctions)))
    parts += [f'<p class="quiet">{escape(remark)}</p>' for remark in (*text.remarks, *text.not_run)]
    if text.neighbours:
        parts.append(f"<pre>{escape(text.neighbours)}</pre>")
    return f'<div class="rest">{"".join(parts)}</div>'


def what_was_measured(measured: Measured, graded: bool) -> str:
    """The memory traffic and, unless it is ``graded``, the machine code of kernels that compile; where a GPU may
    differ, and the versions and the seed.
    """
    parts = []
    if measured.traffic:
        parts.append(f'<p class="quiet">{escape(measured.traffic)}</p>')
    if measured.status in (("fail",) if graded else ("fail", "pass")):
        lines = (f'<li class="{escape(status)}">{escape(text)}</li>' for status, text in measured.targets)
        parts.append(f'<p class="quiet">{escape(measured.compiled)}</p>')
        parts.append(f"<ul class='cases'>{''.join(lines)}</ul>")
    parts += [f'<p class="quiet">On a GPU: {prose(note)}</p>' for note in measured.notes]
    if measured.environment:
        parts.append(f'<p class="quiet">{escape(measured.environment)}</p>')
    return "".join(parts)


def items(cases: Iterable[CaseText]) -> str:
    """Returns the cases as a list, a line each."""
    lines = []
    for case in cases:
        text = f" <span class='quiet'>{prose(case.message)}</span>" if case.message else ""
        lines.append(f'<li class="{escape(case.mark)}">{escape(case.title)}{text}</li>')
    return f"<ul class='cases'>{''.join(lines)}</ul>"


def folded(summary: str, body: str) -> str:
    """Returns ``body`` behind a summary that opens it. Both are HTML already."""
    return f"<details><summary>{summary}</summary>{body}</details>"


def escape(text: str) -> str:
    """Returns the text with markup and control characters spelled out."""
    return escape_markup(visible(text))


def prose(text: str) -> str:
    """Returns the text escaped, with `code` set as code and ``owner/repository#number`` linked to its thread."""
    text = CODE.sub(r"<code>\1</code>", escape(text))
    return THREAD.sub(r'<a href="https://github.com/\1/issues/\2" rel="noopener">\1#\2</a>', text)
