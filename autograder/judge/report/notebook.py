"""A report for a notebook: one HTML fragment with its own style, no script, light or dark as the page around it.

The colours are JupyterLab's variables where they exist. Where they do not (an exported page, another editor) the text
keeps the colour of the page and the accents are mid-tones that read on white and on black.
"""

import re
from collections.abc import Iterable, Sequence
from html import escape as escape_markup

from ...words import count, visible
from ..results.case_result import CaseResult, Curve
from ..results.causes import Cause
from ..results.data import ReportData
from ..results.scoring import Cost
from . import phrases

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
  max-width: 46rem; margin: .4rem 0; padding: .1rem .6rem .1rem 1.1rem; border-left: 3px solid var(--gk-state);
  color: var(--gk-ink); font: 14px/1.5 var(--jp-content-font-family, system-ui, sans-serif);
}
.graded-kernels.pass { --gk-state: var(--gk-pass); }
.graded-kernels.fail { --gk-state: var(--gk-fail); }
.graded-kernels p, .graded-kernels figure { margin: .35rem 0; padding: 0; }
.graded-kernels .head { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 .7rem; margin: 0 0 .5rem; }
.graded-kernels .head b { font: 600 15px/1.5 var(--gk-code); }
.graded-kernels .head span { color: var(--gk-muted); }
.graded-kernels .head .verdict { margin-left: auto; color: var(--gk-state); font-weight: 600; }
.graded-kernels .answers { display: flex; flex-wrap: wrap; gap: 0 1.4rem; color: var(--gk-muted); }
.graded-kernels .case { margin: .9rem 0 .2rem; font-weight: 600; }
.graded-kernels .message { overflow-wrap: anywhere; }
.graded-kernels dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem .9rem; margin: .6rem 0; }
.graded-kernels dl dt, .graded-kernels dl dd { float: none; width: auto; margin: 0; padding: 0; }
.graded-kernels dl dt { color: var(--gk-muted); font-weight: 400; white-space: nowrap; }
.graded-kernels dl dd { overflow-wrap: anywhere; }
.graded-kernels dl dd.code { font: 13px/1.6 var(--gk-code); }
.graded-kernels p code, .graded-kernels dd code { font: 13px/1.5 var(--gk-code); padding: 0; background: none; }
.graded-kernels .wrong { color: var(--gk-fail); }
.graded-kernels .right { color: var(--gk-pass); }
.graded-kernels .print { margin: .8rem 0; padding: .5rem .8rem; border-left: 3px solid var(--gk-wild);
  background: color-mix(in srgb, var(--gk-wild) 11%, transparent); }
.graded-kernels .print p { margin: 0; }
.graded-kernels pre { margin: .5rem 0; padding: .5rem .8rem; overflow-x: auto; font: 12px/1.5 var(--gk-code);
  color: var(--gk-ink); background: color-mix(in srgb, currentColor 6%, transparent); border: 0; }
.graded-kernels svg { display: block; width: 100%; height: auto;
  font-family: var(--jp-ui-font-family, system-ui, sans-serif); }
.graded-kernels svg * { stroke-linejoin: round; }
.graded-kernels .rest { margin-top: .8rem; border-top: 1px solid var(--gk-rule); padding-top: .4rem; }
.graded-kernels ul.cases { list-style: none; margin: .35rem 0; padding: 0; }
.graded-kernels li { margin: .15rem 0; padding-left: 1.2rem; text-indent: -1.2rem; overflow-wrap: anywhere; }
.graded-kernels li::before { content: "·"; display: inline-block; width: 1.2rem; text-indent: 0;
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
    worth = "" if graded or report.passed else cost_lines(report.costs)
    state = "stub" if phrases.is_stub(report) else "pass" if report.passed else "fail"
    body = stub(report) if state == "stub" else failure(report) + worth + rest(report, graded)
    return f'<div class="graded-kernels {state}"><style>{STYLE}</style>{head(report, not graded)}{body}</div>'


def cost_lines(costs: Iterable[Cost]) -> str:
    """Returns a row for each cost: what failed, the points that it costs, and the first case that shows it."""
    rows = phrases.cost_lines(costs)
    cells = (f"<dt>{escape(name)}</dt><dd><b>{escape(points)}</b> {prose(why)}</dd>" for name, points, why in rows)
    return f"<dl>{''.join(cells)}</dl>" if rows else ""


def head(report: ReportData, points: bool) -> str:
    """Returns the heading: exercise, backend, verdict and, unless it has all that is asked for, the qualities."""
    judged = "" if report.passed and not phrases.required(report)[1] else answers(report)
    return (
        f'<p class="head"><b>{escape(report.exercise)}</b> <span>{escape(report.backend)}</span> '
        f'<span class="verdict">{escape(phrases.verdict(report, points).capitalize())}</span></p>{judged}'
    )


def answers(report: ReportData) -> str:
    """Returns a line with each quality and whether the answer has it; "" where nothing was judged."""
    colors = {"yes": "right", "no": "wrong"}
    parts = (f'{name} <b class="{colors[text]}">{text}</b>' for name, text in phrases.answers(report))
    line = " ".join(f"<span>{part}</span>" for part in parts)
    return f'<p class="answers">{line}</p>' if line else ""


def stub(report: ReportData) -> str:
    """Returns the one sentence on an answer that nobody wrote."""
    return f"<p>{escape(phrases.of_a_stub(report))}</p>"


def failure(report: ReportData) -> str:
    """Returns what failed: the first case in full, the bug it resembles, the picture, and the other cases one line
    each.
    """
    causes, rest = phrases.required(report)
    parts = [first_failure(report, causes[0])] if causes else []
    if not causes and not report.passed:
        parts.append(f'<p class="message">{prose(report.summary)}</p>')
    if report.source:
        claim = prose(phrases.sentence(report.source))
        parts.append(f'<div class="print"><p><b>{claim}</b></p><p>{prose(report.fingerprint_story)}</p></div>')
    drawn = chosen(phrases.failing(report.cases))
    if drawn:
        parts.append(figure(*drawn))
    parts += [also_in(cause) for cause in causes[:1]]
    parts.append(more_causes(f"{count(len(causes) - 1, 'more cause')} of failure", causes[1:]))
    parts.append(more_causes("Also found, not required", rest))
    return "".join(parts)


def more_causes(title: str, causes: list[Cause]) -> str:
    """Returns a line for each cause, with the cases behind it folded."""
    if not causes:
        return ""
    lines = "".join(
        f'<li class="fail"><b>{escape(phrases.label(cause))}</b> {prose(phrases.sentence_of(cause))} '
        f"{cases_of(cause)}</li>"
        for cause in causes
    )
    return f'<p class="case">{title}</p><ul class="cases">{lines}</ul>'


def cases_of(cause: Cause) -> str:
    """Returns the name of the only case behind a cause, or all of them folded."""
    if len(cause.cases) == 1:
        return f'<span class="quiet">{escape(cause.cases[0].name)}</span>'
    return folded(count(len(cause.cases), "case"), items(cause.cases))


def first_failure(report: ReportData, cause: Cause) -> str:
    """Returns the first cause in full: its first case, what happened there, and the traceback."""
    case = cause.cases[0]
    name = f'<p class="case"><span class="wrong">{escape(phrases.label(cause))}</span> {escape(case.name)}</p>'
    details = "\n".join(phrases.details(case))
    details = f"<pre>{escape(details)}</pre>" if details else ""
    text = f'{name}<p class="message">{prose(case.message)}</p>{details}'
    if phrases.is_stopped(report, case):
        return text
    return text + what_happened(case)


def also_in(cause: Cause) -> str:
    """Returns the other cases of a cause, folded; "" where there are none."""
    more = cause.cases[1:]
    return folded(f"The same cause in {count(len(more), 'more case')}", items(more)) if more else ""


def what_happened(case: CaseResult) -> str:
    """Returns what went in, what came out, what was expected, how far off it is, and the hint."""
    rows = [("went in", case.inputs, "code")]
    if case.failure:
        worst = case.failure
        rows += [
            ("", phrases.went_in(worst), "code"),
            ("came out", f"{phrases.element(worst)} = {phrases.came_out(worst)}", "code wrong"),
            ("expected", f"{phrases.element(worst)} = {phrases.expected(worst)}", "code right"),
            ("off by", phrases.off_by(worst), ""),
        ]
    rows += [("rests on", phrases.convention(case, '`check(..., conventions="pytorch")`'), ""), ("hint", case.hint, "")]
    cells = (f'<dt>{label}</dt><dd class="{kind}">{prose(text)}</dd>' for label, text, kind in rows if text)
    return f"<dl>{''.join(cells)}</dl>"


def chosen(cases: Sequence[CaseResult]) -> tuple[CaseResult, Curve] | None:
    """The case to draw and its curve: the first failing one with a curve, or the first with one if nothing failed."""
    either = phrases.failing(cases) or cases
    drawn = [(case, case.curve) for case in either if case.curve is not None and len(case.curve.x)]
    return drawn[0] if drawn else None


def figure(case: CaseResult, curve: Curve) -> str:
    """Returns the picture of a case's error, with a caption."""
    from . import plot  # when there is something to draw: matplotlib takes longer to import than a check runs

    caption = f"{escape(case.name)}: the largest error near each {escape(curve.parameter)}"
    return f'<figure>{plot.draw(curve)}<figcaption class="quiet">{caption}</figcaption></figure>'


def rest(report: ReportData, graded: bool) -> str:
    """The folded and quiet parts: what passed, what it costs, the distinctions, what did not run."""
    parts = []
    passing = phrases.passing(report.cases)
    if passing:
        drawn = chosen(passing) if report.passed and not graded else None
        picture = figure(*drawn) if drawn else ""
        parts.append(folded(escape(phrases.how_many_passed(report)), picture + items(passing)))
    measured = what_was_measured(report, graded)
    if measured:
        parts.append(folded(escape(phrases.cost(report, machine_code=not graded) or "What was measured"), measured))
    bonus = phrases.distinctions(report.cases)
    if bonus and report.passed:
        parts.append(folded(escape(phrases.distinctions_earned(bonus)), items(bonus)))
    said = [*filter(None, (*report.remarks, report.tolerance))]
    said += [phrases.left_out(names, reason) for reason, names in phrases.not_run(report).items()]
    parts += [f'<p class="quiet">{escape(remark)}</p>' for remark in said]
    if report.neighbours is not None:
        parts.append(f"<pre>{escape(str(report.neighbours))}</pre>")
    return f'<div class="rest">{"".join(parts)}</div>'


def what_was_measured(report: ReportData, graded: bool) -> str:
    """The memory traffic and, unless it is ``graded``, the machine code of kernels that compile; where a GPU may
    differ, and the versions and the seed.
    """
    parts = []
    if report.traffic:
        parts.append(f'<p class="quiet">Memory traffic: {escape(phrases.traffic(report.traffic))}.</p>')
    if report.compile and report.compile["status"] in (("fail",) if graded else ("fail", "pass")):
        lines = (
            f'<li class="{escape(status)}">{escape(text)}</li>'
            for status, text in phrases.targets(report.compile.get("targets", ()))
        )
        parts.append(f'<p class="quiet">{escape(phrases.compiled(report.compile))}</p>')
        parts.append(f"<ul class='cases'>{''.join(lines)}</ul>")
    parts += [f'<p class="quiet">On a GPU: {prose(note)}</p>' for note in report.notes]
    if report.environment:
        parts.append(f'<p class="quiet">{escape(phrases.environment(report.environment))}</p>')
    return "".join(parts)


def items(cases: Iterable[CaseResult]) -> str:
    """Returns the cases as a list, a line each."""
    lines = []
    for case in cases:
        text = f" <span class='quiet'>{prose(phrases.message_of(case))}</span>" if case.message else ""
        kind = f"{escape(case.status)}" if not case.bonus or case.status == "pass" else "bonus"
        lines.append(f'<li class="{kind}">{escape(phrases.title(case))}{text}</li>')
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
