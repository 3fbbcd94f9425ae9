"""Says how far a learner is, as a table with bars: text for a terminal, HTML for a notebook, data for a program."""

from dataclasses import asdict, dataclass
from html import escape
from typing import Any
from urllib.parse import quote

from .chapter_progress import Chapter

WIDTH = 20  # of a bar, in characters
STYLE = """
.gk-progress { --gk-pass: var(--jp-success-color1, #3a9150); --gk-rule: var(--jp-border-color2, #8886);
  --gk-muted: var(--jp-content-font-color2, color-mix(in srgb, currentColor 70%, transparent));
  max-width: 46rem; color: var(--jp-content-font-color1, currentColor);
  font: 14px/1.5 var(--jp-content-font-family, system-ui, sans-serif); }
.gk-progress.gk-progress table { border-collapse: collapse; table-layout: auto; width: 100%; margin: .4rem 0;
  font-size: 14px; }
.gk-progress.gk-progress table :is(th, td) { text-align: left; white-space: nowrap; background: none;
  padding: .25rem .8rem .25rem 0; }
.gk-progress.gk-progress table th { color: var(--gk-muted); font-weight: 400; white-space: normal;
  vertical-align: bottom; }
.gk-progress tr { border-bottom: 1px solid var(--gk-rule); background: none; }
.gk-progress.gk-progress table td:first-child { white-space: normal; }
.gk-progress progress { width: clamp(3rem, 14vw, 8rem); height: .6rem; accent-color: var(--gk-pass);
  vertical-align: middle; }
.gk-progress a { color: var(--jp-content-link-color, revert); text-decoration: underline; }
.gk-progress p { margin: .4rem 0; }
.gk-progress .quiet { color: var(--gk-muted); }
"""


@dataclass(frozen=True, repr=False)
class Course:
    """All chapters."""

    chapters: tuple[Chapter, ...]

    def to_list(self) -> list[dict[str, Any]]:
        """Returns the chapters as JSON values."""
        return [asdict(chapter) | {"passed": chapter.passed, "done": chapter.done} for chapter in self.chapters]

    def __repr__(self) -> str:
        rows = [("chapter", "passed", "", "distinctions", "written")]
        rows += [
            (c.title, bar(c.passed, len(c.required)), f"{c.passed}/{len(c.required)}", _distinctions(c), _written(c))
            for c in self.chapters
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = ["  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([*table, "", self.next()])

    def next(self) -> str:
        """Returns what to do next, in a sentence."""
        chapter = next((c for c in self.chapters if not c.done), None)
        if chapter is None:
            return "Every chapter is done."
        return f"Next: {chapter.name}.ipynb, {_todo(chapter)}."

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{link(c)}</td><td>{html_bar(c)} {c.passed} of {len(c.required)}</td>"
            f"<td>{_distinctions(c)}</td><td>{_written(c)}</td></tr>"
            for c in self.chapters
        )
        head = "<tr><th>chapter</th><th>passed</th><th>distinctions</th><th>written answer</th></tr>"
        return _page(f"<table><thead>{head}</thead><tbody>{rows}</tbody></table><p>{escape(self.next())}</p>")


@dataclass(frozen=True, repr=False)
class End:
    """The end of a chapter: what is passed, what is left, the distinctions, and the chapter after it."""

    chapter: Chapter
    following: Chapter | None

    def __repr__(self) -> str:
        c = self.chapter
        said = [
            f"{c.title}",
            f"{bar(c.passed, len(c.required))}  {c.passed} of {len(c.required)} passed",
            *self.lines(),
        ]
        after = f"Next chapter: {self.following.name}.ipynb" if self.following else "This is the last chapter."
        return "\n".join([*said, after])

    def lines(self) -> list[str]:
        """The exercises left, those not written and the distinctions missing, a line each."""
        c = self.chapter
        lines = []
        optional = [step for step in c.steps if step.optional and step.state != "passed"]
        for label, steps in (("Left", c.left), ("Optional", optional)):
            if steps:
                lines.append(f"{label}: " + "; ".join(f"{s.name}{', tried' * (s.state == 'tried')}" for s in steps))
        lines += [f"Not written yet: {name}" for name, written in c.questions if not written]
        earned, tried = c.distinctions
        if tried:
            lines.append(f"Distinctions: {earned} of {tried}")
        lines += [f"  {step.name}: not yet {'; '.join(step.missing)}" for step in c.steps if step.missing]
        return lines

    def _repr_html_(self) -> str:
        c = self.chapter
        head = f"<p><b>{escape(c.title)}</b></p><p>{html_bar(c)} {c.passed} of {len(c.required)} passed</p>"
        lines = "".join(f"<p>{escape(line)}</p>" for line in self.lines())
        after = f"Next chapter: {link(self.following)}" if self.following else "This is the last chapter"
        return _page(f"{head}{lines}<p>{after} · <a href='start.ipynb'>All chapters</a></p>")


def bar(done: int, of: int) -> str:
    """Returns a bar of `WIDTH` characters."""
    full = WIDTH * done // of if of else 0
    return "█" * full + "░" * (WIDTH - full)


def html_bar(chapter: Chapter) -> str:
    """Returns a bar as HTML, with a label that is read aloud."""
    label = escape(f"{chapter.title}: {chapter.passed} of {len(chapter.required)} passed", quote=True)
    return f'<progress max="{max(len(chapter.required), 1)}" value="{chapter.passed}" aria-label="{label}"></progress>'


def link(chapter: Chapter) -> str:
    """Returns a link to the chapter's notebook, as HTML."""
    return f'<a href="{quote(chapter.name)}.ipynb">{escape(chapter.title)}</a>'


def _distinctions(chapter: Chapter) -> str:
    earned, tried = chapter.distinctions
    return f"{earned} of {tried}" if tried else "none yet"


def _written(chapter: Chapter) -> str:
    return "yes" if all(written for _, written in chapter.questions) else "not yet"


def _todo(chapter: Chapter) -> str:
    if chapter.left:
        step = chapter.left[0]
        return step.name + ", which you have tried" * (step.state == "tried")
    return "the written answer"


def _page(body: str) -> str:
    return f'<div class="gk-progress"><style>{STYLE}</style>{body}</div>'
