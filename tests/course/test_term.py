"""The calendar of a term has the hours and points of the chapters as they are built, and a row for each."""

import json

from graded_kernels.course.build import ROOT
from graded_kernels.course.term import calendar

GUIDE = """\
| `00_a` | do this | two | 99 | easy |
| `01_b` | do that | two and a half | 1 | hard |

Together 99 points in 9 hours. One a week, without `01_b`, which no later chapter needs: 9 points.
With less time: 00 and 02, 9 points.
"""


def notebook(hours: str, *points: int) -> str:
    graded = [{"metadata": {"nbgrader": {"points": one}}, "source": ""} for one in points]
    title = {"metadata": {}, "source": ["# Title\n", "\n", f"*Estimated: {hours} hours.*"]}
    return json.dumps({"cells": [title, {"metadata": {"nbgrader": {"grade": False}}, "source": ""}, *graded]})


def test_numbers_follow_from_the_chapters_that_have_a_row():
    notebooks = {"00_a": notebook("two", 2, 3), "01_b": notebook("three", 4), "02_c": notebook("one", 1, 7)}
    made = calendar(GUIDE, notebooks)
    assert made.splitlines() == [
        "| `00_a` | do this | two | 5 | easy |",
        "| `01_b` | do that | three | 4 | hard |",
        "",
        "Together 9 points in 5 hours. One a week, without `01_b`, which no later chapter needs: 5 points.",
        "With less time: 00 and 02, 5 points.",
    ]
    assert calendar(made, notebooks) == made


def test_the_guide_has_each_of_its_numbers():
    """`test_notebooks` holds that they are fresh; here, that each sentence is found."""
    text = (ROOT / "course" / "TEACHING.md").read_text(encoding="utf-8")
    names = [path.stem for path in sorted((ROOT / "course/chapters").glob("*.md"))]
    made = calendar(text, {name: notebook("one", 1000) for name in names})
    assert made.count("| one | 1000 |") == len(names)
    assert f"Together {len(names)}000 points in {len(names)} hours" in made
    assert f"{len(names) - 1}000 points" in made
    assert "00, 01 and 05, 3000 points" in made
