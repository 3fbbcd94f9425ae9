"""The pictures of a class's page, as SVG in the colours of the page around them."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from ..judge import svg_of
from .class_findings import ExerciseFindings, Findings

BINS = 20


def scores(findings: Findings) -> str:
    """Returns how many learners have how many points so far; "" where there are none."""
    shares = [learner.so_far for learner in findings.learners if learner.so_far is not None]
    if not shares:
        return ""
    most = max(learner.most for learner in findings.learners)

    def plot(axes: Axes) -> None:
        axes.hist(shares, bins=[most * step / BINS for step in range(BINS + 1)], rwidth=0.9)
        axes.set(xlabel=f"points so far, of {most:g}", ylabel="learners", xlim=(0, most))
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))

    return svg_of(plot, f"Distribution of {len(shares)} scores", (7.2, 2.4))


def outcomes(answers: tuple[ExerciseFindings, ...]) -> str:
    """An SVG element: how many of each answer passed, did not pass, and are as they were released."""

    def plot(axes: Axes) -> None:
        names = [answer.name for answer in answers]
        parts = {
            "passed": [answer.passed for answer in answers],
            "did not pass": [len(a.checks) - a.passed - a.untouched for a in answers],
            "untouched": [answer.untouched for answer in answers],
        }
        left = np.zeros(len(names))
        for label, counts in parts.items():
            axes.barh(names, counts, left=left, label=label, height=0.7)
            left += counts
        axes.invert_yaxis()
        axes.set(xlabel="learners")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, borderaxespad=0.2)

    return svg_of(plot, "What came of each exercise", (7.2, 0.8 + 0.32 * len(answers)))
