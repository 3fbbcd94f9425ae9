"""A file of the shelf, or an answer of ours, that cannot be imported is told in one sentence, with its line."""

import pytest
from graded_kernels.autograder import exercises
from graded_kernels.autograder.exercises import shelf
from graded_kernels.autograder.judge import RecordError


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import torch\n\nfrom .cases.pointwise import pointwise\n", "3: ModuleNotFoundError: No module named"),
        ("from .cases.rows import row\n", "1: ImportError: cannot import name 'row' from"),
        ("one = Exercise(\n", "1: SyntaxError: '(' was never closed"),
        ("import json\n\njson.loads('')\n", "3: JSONDecodeError: Expecting value"),
        ("def made():\n    return 1 / 0\n\n\nmade()\n", "2: ZeroDivisionError: division by zero"),
    ],
)
def test_a_record_that_cannot_be_imported(tmp_path, monkeypatch, text, says):
    (tmp_path / "swish.py").write_text(text)
    monkeypatch.setattr(shelf, "_HERE", tmp_path / "shelf.py")
    monkeypatch.setattr(exercises, "__path__", [str(tmp_path)])
    with pytest.raises(RecordError) as error:
        shelf._gathered()
    assert str(error.value).startswith(f"{tmp_path}/swish.py:{says}")
    assert "\n" not in str(error.value)
    assert ("families of cases are in" in str(error.value)) == (".cases." in text)


def test_an_answer_that_cannot_be_imported_is_told_once(tmp_path, monkeypatch):
    """Through whichever record it is imported."""
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels/fails_at_import.py").write_text("import torch\n\nx = torch.nothing\n")
    monkeypatch.syspath_prepend(str(tmp_path / "kernels"))
    folder = tmp_path / "autograder/exercises"
    folder.mkdir(parents=True)
    for name in ("one", "two"):
        (folder / f"{name}.py").write_text("import fails_at_import\n")
    monkeypatch.setattr(shelf, "_HERE", folder / "shelf.py")
    monkeypatch.setattr(exercises, "__path__", [str(folder)])
    with pytest.raises(RecordError) as error:
        shelf._gathered()
    assert (
        str(error.value)
        == f"{tmp_path}/kernels/fails_at_import.py:3: AttributeError: module 'torch' has no attribute 'nothing'"
    )
