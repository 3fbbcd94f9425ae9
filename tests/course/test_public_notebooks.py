"""The chapters as somebody opens them in Colab or VS Code, without a clone."""

import json

import nbformat
import pytest
from graded_kernels.course import public_notebooks
from graded_kernels.course.learner import ROOT, release, sources

SILU = next(path for path in sources(ROOT) if path.stem == "01_silu")


@pytest.fixture(scope="module")
def released():
    return json.loads(release(SILU))


def test_a_notebook_installs_the_course_and_has_no_answer(released):
    notebook = public_notebooks.public("01_silu", released, "someone/graded-kernels", without_ai=False)
    nbformat.validate(nbformat.from_dict(notebook))
    heading, install, *rest = notebook["cells"]
    assert "github/someone/graded-kernels/blob/notebooks/01_silu.ipynb" in heading["source"]
    assert install["source"].endswith("%pip install --quiet git+https://github.com/someone/graded-kernels")
    assert rest == released["cells"]
    assert sum("YOUR CODE HERE" in "".join(cell["source"]) for cell in rest) >= 4
    assert "colab" not in notebook["metadata"]


def test_a_class_may_keep_colabs_ai_off(released):
    notebook = public_notebooks.public("01_silu", released, "", without_ai=True)
    assert notebook["metadata"]["colab"] == {"generative_ai_disabled": True}
    assert "colab.research" not in notebook["cells"][0]["source"] and "# a clone" in notebook["cells"][1]["source"]


def test_every_chapter_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(public_notebooks, "release", lambda source: source.read_text(encoding="utf-8"))
    assert public_notebooks.main(["--to", str(tmp_path)]) == 0
    assert {path.stem for path in tmp_path.iterdir()} == {path.stem for path in sources(ROOT)}
