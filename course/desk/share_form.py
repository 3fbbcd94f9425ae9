"""Writes a form of ten lines on how a chapter went, for a learner to send or not: ``graded-kernels progress --share``.

It fills in what the notebooks say and leaves the rest blank. Neither names nor code nor paths are in it, and nothing is
sent.
"""

import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from ...autograder.words import UsageError, visible
from .chapter_progress import Chapter, Report, Step

BLANK = "______"
SHOWN = 3  # cases, by name
PACKAGES = ("graded-kernels", "torch", "triton")
HEAD = "Nothing is sent. Fill in what you like, and give it to your teacher or to the project, or to nobody."


@dataclass(frozen=True)
class ShareForm:
    """Holds what is known of a chapter. report: the last one on the step at which the learner stopped."""

    chapter: Chapter
    stopped: Step | None
    report: Report | None

    def __str__(self) -> str:
        width = max(len(label) for label, _ in self.lines())
        return "\n".join([HEAD, "", *(f"{label:{width}}  {visible(text)}" for label, text in self.lines())])

    def lines(self) -> list[tuple[str, str]]:
        """Returns the ten lines, each with its label."""
        chapter = self.chapter
        written = sum(done for _, done in chapter.questions)
        estimate = f" (the chapter says {chapter.hours})" if chapter.hours else ""
        return [
            ("chapter", chapter.title),
            ("minutes it took", f"{BLANK}{estimate}"),
            ("passed", f"{chapter.passed} of {len(chapter.required)}, {written} of {len(chapter.questions)} written"),
            ("stopped at", self._place()),
            ("its last report", self._failures()),
            ("why I stopped there", BLANK),
            ("report I did not understand", BLANK),
            ("sentence I did not understand", BLANK),
            ("what I knew before", f"{BLANK} (PyTorch, Triton, CUDA, floats)"),
            ("versions", _versions()),
        ]

    def _place(self) -> str:
        if self.stopped is None:
            return "the written answer" if not self.chapter.done else "the end"
        tried = f"tried, {self.stopped.score:.0%}" if self.stopped.state == "tried" else "not tried"
        return f"{self.stopped.name}, {tried}"

    def _failures(self) -> str:
        """Names the cases that did not pass, by the exercise's words, and the bug that is known to do the same."""
        if self.report is None:
            return "none"
        names = [str(case["name"]) for case in self.report.get("cases", []) if case.get("status") == "fail"]
        if len(names) > SHOWN:
            names = [*names[:SHOWN], f"{len(names) - SHOWN} more"]
        stop = str(self.report.get("stopped") or "").partition(" ")[0]  # the rest may name something of the answer's
        bug = self.report.get("fingerprint") or self.report.get("mistake")
        parts = (stop, names and f"failed: {', '.join(names)}", bug and f"named: {bug}")
        return "; ".join(part for part in parts if part) or "not passed"


def share_form(chapters: Iterable[Chapter], reports: Mapping[tuple[str, str], Report], name: str = "") -> ShareForm:
    """The form for the chapter of this name; without one, for the last in which something was checked or written.

    Raises UsageError where there is no such chapter.
    """
    known = {chapter.name: chapter for chapter in chapters}
    if name and name not in known:
        raise UsageError(f"there is no chapter {name!r} here; there are {', '.join(known)}")
    worked = [chapter for chapter in known.values() if _begun(chapter)]
    if not name and not worked:
        raise UsageError("no notebook here holds a report or a written answer yet; there is nothing to tell")
    chapter = known[name] if name else worked[-1]
    tried = [step for step in chapter.left if step.state == "tried"]
    stopped = next(iter(tried + chapter.left), None)
    return ShareForm(chapter, stopped, reports.get((stopped.exercise, stopped.backend)) if stopped else None)


def _begun(chapter: Chapter) -> bool:
    return any(step.state != "open" for step in chapter.steps) or any(written for _, written in chapter.questions)


def _versions() -> str:
    versions = []
    for package in PACKAGES:
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            versions.append(f"no {package}")
    return ", ".join([*versions, f"Python {platform.python_version()}", platform.system()])
