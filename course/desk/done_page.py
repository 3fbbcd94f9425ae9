"""Says what a learner wrote, on a page to keep or to show: ``graded-kernels done``, and ``progress.done()`` in a
notebook.

It says what the reports saved in the notebooks say, of what passed; nothing is checked again. One file, no script.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from html import escape
from pathlib import Path
from typing import Any

from ...autograder.judge.report.distance import MOSTLY_ULP, ulp
from ...autograder.words import count
from .chapter_progress import Chapter, Report, Step, read_progress, read_reports

NAME = "done.html"
HEAD = (
    *("function", "written in", "of the tolerance", "largest error"),
    *("bytes moved", "registers", "spilled", "distinctions"),
)
NOTE = (
    "By the reports saved with the notebooks, in which each function was compared with exact results. Of the "
    "tolerance: the largest share that the error of a number takes. The error itself, in units in the last place "
    "(ulp), stands where it is measured in them: where terms cancel the tolerance is that of the terms. Bytes: times "
    "those of all arguments and results. Registers of a thread, and the bytes for which it had none: of the largest "
    "form, for the first GPU that the kernel was compiled for."
)
STYLE = """
:root { color-scheme: light dark; --ink: light-dark(#1d2430, #e4e7ec); --muted: light-dark(#667080, #98a2b3);
  --paper: light-dark(#fff, #14181f); --rule: light-dark(#dfe3e8, #323945); }
body { margin: 2.5rem auto; max-width: 62rem; padding: 0 1.2rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2rem 0 .4rem; }
p { margin: .4rem 0; } .quiet { color: var(--muted); } .wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 500; color: var(--muted); }
th, td { padding: .2rem .8rem .2rem 0; border-bottom: 1px solid var(--rule); vertical-align: top; }
td:first-child { font-family: ui-monospace, monospace; font-size: 13px; }
@media print { :root { color-scheme: light; } body { margin: 0; max-width: none; font-size: 11px; }
  .wide { overflow: visible; } h2, tr { break-inside: avoid; } h2 { break-after: avoid; } }
"""


@dataclass(frozen=True, repr=False)
class Done:
    """Holds what passed of the course, by chapter: (the chapter, its steps that passed with their reports)."""

    chapters: tuple[tuple[Chapter, tuple[tuple[Step, Report], ...]], ...]
    day: date

    @property
    def steps(self) -> list[Step]:
        """Every step that passed."""
        return [step for _, passed in self.chapters for step, _ in passed]

    def __repr__(self) -> str:
        return self.head()

    def head(self) -> str:
        """Returns what there is, in a sentence."""
        kernels = sum(step.backend == "triton" for step in self.steps)
        distinctions = sum(step.distinctions for step in self.steps)
        written = sum(done for chapter, _ in self.chapters for _, done in chapter.questions)
        said = f"{count(len(self.steps), 'function')} passed, {kernels} of them in Triton"
        return f"{said}; {count(distinctions, 'distinction')}; {count(written, 'written answer')}."

    def html(self) -> str:
        """The page."""
        parts = [f"<h1>Graded Kernels</h1><p>{escape(self.head())} {self.day:%d %B %Y}.</p>"]
        for chapter, passed in self.chapters:
            parts.append(f"<h2>{escape(chapter.title)}</h2>{_table([row(*answer) for answer in passed])}")
        title = "<meta charset='utf-8'><meta name='viewport' content='width=device-width'><title>Graded Kernels</title>"
        body = "".join([*parts, f"<p class='quiet'>{escape(NOTE)}</p>"])
        head = f"<head>{title}<style>{STYLE}</style></head>"
        return f"<!doctype html><html lang='en'>{head}<body><main>{body}</main></body></html>\n"

    def markdown(self) -> str:
        """The same as Markdown."""
        lines = ["# Graded Kernels", "", f"{self.head()} {self.day:%d %B %Y}."]
        for chapter, passed in self.chapters:
            lines += ["", f"## {chapter.title}", "", _line(HEAD), _line(["---"] * len(HEAD))]
            lines += [_line(row(*answer)) for answer in passed]
        return "\n".join([*lines, "", NOTE, ""])

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.head())} It is all in <a href='{NAME}' target='_blank'>{NAME}</a>.</p>"

    def __str__(self) -> str:
        return self.head()


def read_done(folder: Path, sources: Iterable[Path] = (), now: Sequence[Report] = ()) -> Done:
    """Returns what passed, by the reports of a folder's notebooks, and ``now``, those of a kernel that runs."""
    reports = read_reports(folder, now)
    chapters = []
    for chapter in read_progress(folder, sources, now):
        steps = [(step, reports[step.exercise, step.backend]) for step in chapter.steps if step.state == "passed"]
        if steps:
            chapters.append((chapter, tuple(steps)))
    return Done(tuple(chapters), date.today())


def write(folder: Path, done: Done, markdown: bool = False) -> Path:
    """Writes the page into the folder, and returns its path; a page that is there is an older one of this kind."""
    path = folder / (NAME if not markdown else str(Path(NAME).with_suffix(".md")))
    path.write_text(done.markdown() if markdown else done.html(), encoding="utf-8")
    return path


def row(step: Step, report: Report) -> tuple[str, ...]:
    """The cells of one function, in the order of `HEAD`."""
    backend = "PyTorch" if step.backend == "torch" else "Triton"
    cases = [case for case in report.get("cases", []) if not case.get("bonus")]
    error, share = (_largest(cases, name) for name in ("worst_ulp", "margin"))
    traffic, (registers, spilled) = report.get("traffic"), _compiled(report)
    of = step.distinctions + len(step.missing)
    return (
        step.exercise,
        backend,
        f"{share:.0%}" if share is not None else "",
        ulp(error) if error is not None and error <= MOSTLY_ULP else "",
        f"{float(traffic['ratio']):.2f} times" if traffic else "",
        registers,
        spilled,
        f"{step.distinctions} of {of}" if of else "",
    )


def _largest(cases: list[dict[str, Any]], name: str) -> float | None:
    """The largest finite number under this name; None without one."""
    numbers = [float(case[name]) for case in cases if case.get(name) is not None]
    return max((number for number in numbers if math.isfinite(number)), default=None)


def _compiled(report: Report) -> tuple[str, str]:
    """``("110", "16 bytes")``: the most of any form for the first target; "" twice without a compiler's word."""
    rows = [
        target for target in (report.get("compile") or {}).get("targets", ()) if target.get("registers") is not None
    ]
    rows = [target for target in rows if target["target"] == rows[0]["target"]]
    if not rows:
        return "", ""
    return (
        f"{max(target['registers'] for target in rows)}",
        f"{max(target.get('spills') or 0 for target in rows)} bytes",
    )


def _table(rows: list[tuple[str, ...]]) -> str:
    head = "".join(f"<th scope='col'>{escape(cell)}</th>" for cell in HEAD)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>" for cells in rows)
    return f"<div class='wide' tabindex='0'><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
