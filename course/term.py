"""The calendar of a term in ``course/TEACHING.md``: points and hours of each chapter that has a row there, and their
sums, as built. A chapter of one's own needs none, so that it changes no file of the course.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

from .desk.chapter_progress import HOURS

ROW = re.compile(r"^\| `(?P<name>\w+)` \|(?P<what>[^|]*)\| (?P<hours>[a-z ]*) \| (?P<points>\d+) \|(?P<why>.*)\n", re.M)
SUM = re.compile(r"Together \d+ points in [\d.]+ hours")
WITHOUT = re.compile(r"(without `(\w+)`, which no later chapter needs: )\d+( points)")
SHORT = re.compile(r"(With less time: ([\d, and]+), )\d+( points)")  # the chapters by their numbers
WORDS = ("no", "one", "two", "three", "four", "five")


def calendar(text: str, notebooks: dict[str, str]) -> str:
    """``text`` with the numbers of these chapters, by name, where it has a row. Hours are words: "two and a half"."""
    rows = {row["name"]: row for row in ROW.finditer(text)}
    chapters = {name: json.loads(notebook)["cells"] for name, notebook in notebooks.items() if name in rows}
    points = {name: sum(points_of(cell) for cell in cells) for name, cells in chapters.items()}
    hours = {name: hours_of(cells) for name, cells in chapters.items()}
    for name, row in rows.items():
        if name in chapters:
            new = f"| `{name}` |{row['what']}| {hours[name]} | {points[name]} |{row['why']}\n"
            text = text.replace(row[0], new)
    total = sum(points.values())
    text = SUM.sub(f"Together {total} points in {sum(map(number, hours.values())):g} hours", text)
    text = WITHOUT.sub(lambda m: f"{m[1]}{total - points.get(m[2], 0)}{m[3]}", text)
    return SHORT.sub(lambda m: f"{m[1]}{of_numbers(points, re.findall('[0-9]+', m[2]))}{m[3]}", text)


def points_of(cell: dict[str, Any]) -> int:
    """Returns what a cell is worth; 0 where nothing is graded."""
    return int(cell["metadata"].get("nbgrader", {}).get("points", 0))


def hours_of(cells: Iterable[dict[str, Any]]) -> str:
    """Says how long a chapter takes, from the line below its title, less the word hours; "" where it does not say."""
    lines = (line for cell in cells for line in "".join(cell["source"]).split("\n"))
    return next((match[1] for line in lines if (match := HOURS.match(line))), "").removesuffix(" hours")


def number(words: str) -> float:
    """The number that ``two and a half`` is; 0 of no words."""
    whole, _, half = words.partition(" and a ")
    return (WORDS.index(whole) if whole in WORDS else 0) + 0.5 * bool(half)


def of_numbers(points: dict[str, int], numbers: list[str]) -> int:
    """The points of the chapters with these numbers."""
    return sum(worth for name, worth in points.items() if name.partition("_")[0] in numbers)
