"""The chapters' pictures have no background of their own, so that they follow the theme of the page."""

import base64
import io
import re
import tomllib
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from graded_kernels.course import figures
from graded_kernels.course.learner import ROOT
from matplotlib.colors import to_rgb
from notebook_kernel import Notebook

LIGHT, DARK = "#ffffff", "#111111"  # JupyterLab's pages
LEGIBLE = 2.8  # contrast of a line and of bold text: WCAG asks for 3 of graphics
DRAW = """
from graded_kernels.course import figures
from graded_kernels.course.learner import ROOT
ax = figures.axes("x", "y", "A line", y=(0, 1))
figures.curve(ax, [0, 1], [0.2, 0.8], "a line", figures.RIGHT, at=0.5);
"""


def contrast(one: str, other: str) -> float:
    """WCAG 2.1's contrast ratio, 1 to 21."""
    weights = (0.2126, 0.7152, 0.0722)
    linear = [[v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in to_rgb(c)] for c in (one, other)]
    dark, light = sorted(sum(w * v for w, v in zip(weights, values, strict=True)) for values in linear)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("name", ["RIGHT", "WRONG", "CURE", "QUIET", "INK"])
def test_a_colour_is_legible_on_a_light_page_and_on_a_dark_one(name):
    assert min(contrast(getattr(figures, name), page) for page in (LIGHT, DARK)) >= LEGIBLE


@pytest.mark.exhaustive
def test_a_picture_in_a_notebook_is_transparent_and_asks_for_no_background():
    notebook = Notebook()
    try:
        (shown,) = [message for message in notebook.run(DRAW) if "image/png" in message["data"]]
    finally:
        notebook.close()
    pixels = plt.imread(io.BytesIO(base64.b64decode(shown["data"]["image/png"])))
    assert pixels.shape[2] == 4
    assert pixels[0, 0, 3] == 0
    assert np.count_nonzero(pixels[..., 3] == 1) > 100  # the line and the axes
    assert "needs_background" not in shown["metadata"]


def test_a_drawing_has_no_background_and_no_dark_ink_outside_of_its_boxes():
    for path in (Path(figures.__file__).parent / "images").glob("*.svg"):
        text = path.read_text(encoding="utf-8")
        assert 'fill="white"' not in text
        head = re.search(r"<svg[^>]*>", text)[0]
        assert contrast(re.search(r'fill="(#\w+)"', head)[1], DARK) >= LEGIBLE, path.name


def test_an_installed_course_has_the_drawings_of_its_chapters():
    """A notebook service installs a wheel, which holds of the files beside the modules only those that are named."""
    data = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["package-data"]
    packed = {path for pattern in data.get("graded_kernels.course", ()) for path in (ROOT / "course").glob(pattern)}
    drawings = set((ROOT / "course" / "images").glob("*.svg"))
    assert drawings
    assert drawings <= packed


def test_errors_of_tensors_have_a_row_each_and_a_label_each():
    ours, bad = ({"a": 1e-7, "b": 0.0}, figures.RIGHT), ({"a": 1.0, "b": 0.5}, figures.WRONG)
    figures.tensor_errors("Errors", {"ours": ours, "bad": bad})
    ax = plt.gca()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]
    assert [text.get_text() for text in ax.texts] == ["ours", "bad"]
    for line, x in zip(ax.lines, ([1e-7, 1e-8], [1.0, 0.5]), strict=True):
        assert line.get_xdata().tolist() == pytest.approx(x)
    plt.close()
