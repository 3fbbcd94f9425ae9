"""The README's pictures show what there is: made again by ``python tests/material/pictures.py``."""

import json

import pictures
import pytest
from graded_kernels.course.build import ROOT

KEPT = json.loads(pictures.KEPT.read_text(encoding="utf-8"))
AGAIN = "the picture shows something older: python tests/material/pictures.py"


def test_the_picture_of_a_chapter_shows_what_the_chapter_says():
    assert "\n\n".join(cell.source for cell in pictures.section()) == KEPT["chapter"], AGAIN


@pytest.mark.release
def test_the_pictures_of_reports_show_what_is_printed_today():
    assert pictures.shown() == KEPT, AGAIN


def test_every_picture_is_on_the_front_page():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in KEPT:
        assert f"course/images/{name}.png" in page
        assert (pictures.IMAGES / f"{name}.png").exists()
