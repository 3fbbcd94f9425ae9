"""What a shell names, where files in two folders have one name."""

import sys

import pytest
from graded_kernels.autograder.judge.records.named import found, named
from graded_kernels.autograder.words import UsageError


@pytest.fixture(autouse=True)
def as_before(monkeypatch):
    """What a test imports is not imported for the next."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = {*sys.modules}
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def written(folder, **texts):
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def test_two_files_of_one_name_are_two_modules(tmp_path):
    """Else a kernel is compared with itself, and passes."""
    one, other = (
        written(tmp_path / folder, kernel_of_two=f"def f():\n    return {value}\n")
        for folder, value in (("a", 1), ("b", 2))
    )
    assert [found(f"{folder}/kernel_of_two.py:f")() for folder in (one, other, one, other)] == [1, 2, 1, 2]
    assert found(f"{other}/kernel_of_two.py:f") is found(f"{other}/kernel_of_two.py:f")


def test_a_file_may_have_the_name_of_a_module_of_python(tmp_path):
    folder = written(tmp_path, random="def f():\n    return 'mine'\n")
    assert found(f"{folder}/random.py:f")() == "mine"
    assert sys.modules["random"].__file__ != str(folder / "random.py")


def test_a_file_that_stops_is_imported_anew_when_it_is_repaired(tmp_path):
    folder = written(tmp_path, random="1 / 0\n")
    with pytest.raises(UsageError, match="ZeroDivisionError"):
        found(f"{folder}/random.py:f")
    written(tmp_path, random="def f():\n    return 'repaired'\n")
    assert found(f"{folder}/random.py:f")() == "repaired"


def test_what_two_files_import_under_one_name_is_told(tmp_path):
    for folder, value in (("a", 1), ("b", 2)):
        written(tmp_path / folder, value_of_two=f"VALUE = {value}\n", uses="import value_of_two\n")
    assert named(f"{tmp_path}/a/uses.py:value_of_two.VALUE") == 1
    with pytest.raises(UsageError, match="uses.py imports value_of_two, which is .*b/value_of_two.py, but .*a/value"):
        named(f"{tmp_path}/b/uses.py:value_of_two.VALUE")
