"""The calendar of a term says what each chapter is worth and how long it takes, as the chapters themselves do."""

import re

import nbformat
from graded_kernels.course.desk.chapter_progress import read_progress
from graded_kernels.course.learner import ROOT, sources
from nbgrader.utils import is_grade

TERM = (ROOT / "course" / "TEACHING.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(\w+)` \|[^|]*\| ([a-z ]+) \| (\d+) \|", re.MULTILINE)
HOURS = {"two": 2.0, "two and a half": 2.5, "three": 3.0}


def test_hours_and_points_are_those_of_the_chapters(tmp_path):
    chapters = read_progress(tmp_path, sources(ROOT))
    hours = {chapter.name: chapter.hours.removesuffix(" hours") for chapter in chapters}
    points = {}
    for path in sources(ROOT):
        cells = nbformat.read(path, as_version=4).cells
        points[path.stem] = int(sum(cell.metadata.nbgrader.points for cell in cells if is_grade(cell)))
    assert ROW.findall(TERM) == [(name, hours[name], str(points[name])) for name in points]
    total = sum(points.values())
    assert f"Together {total} points in {sum(HOURS[words] for words in hours.values()):g} hours" in TERM
    assert f"without `02_gelu`, which no later chapter needs: {total - points['02_gelu']} points" in TERM
    short = sum(points[name] for name in ("00_floats_and_tiles", "01_silu", "05_attention"))
    assert f"00, 01 and 05, {short} points" in TERM
