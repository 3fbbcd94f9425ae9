"""What begins with the first import of a module: once, behind it, and with nothing else changed."""

import importlib
import inspect
import sys

import pytest
from graded_kernels.autograder.gpu.sanitize import first_import

NAMES = "outer_of_two", "inner_of_two"


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """Two modules, the outer of which imports the inner; and when something began, as the modules that were whole."""
    (tmp_path / "outer_of_two.py").write_text("import inner_of_two\nwhole = True\n")
    (tmp_path / "inner_of_two.py").write_text("whole = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    calls = []
    with first_import.after(NAMES, lambda: calls.append([n for n in NAMES if hasattr(sys.modules.get(n), "whole")])):
        yield calls
    for name in NAMES:
        sys.modules.pop(name, None)
    assert not any(isinstance(finder, first_import._Finder) for finder in sys.meta_path)


def test_it_begins_when_the_outermost_import_has_ended(begun):
    importlib.import_module("outer_of_two")
    assert begun == [[*NAMES]]


def test_it_begins_with_the_first_of_several_modules_alone(begun):
    importlib.import_module("inner_of_two")
    importlib.import_module("outer_of_two")
    assert begun == [["inner_of_two"]]


def test_a_module_that_is_looked_for_and_not_imported_begins_nothing(begun):
    assert importlib.util.find_spec("inner_of_two")
    assert begun == []


def test_an_import_that_fails_begins_nothing_and_the_next_one_does(begun, tmp_path):
    (tmp_path / "inner_of_two.py").write_text("1 / 0\n")
    with pytest.raises(ZeroDivisionError):
        importlib.import_module("outer_of_two")
    assert begun == []
    (tmp_path / "inner_of_two.py").write_text("whole = True  # now\n")
    importlib.import_module("outer_of_two")
    assert begun == [[*NAMES]]


def test_the_module_keeps_its_own_loader(begun):
    module = importlib.import_module("inner_of_two")
    assert inspect.getsource(module) == "whole = True\n"
    assert "exec_module" not in vars(module.__loader__)


def test_where_a_module_is_there_it_begins_at_once():
    calls = []
    with first_import.after(("sys",), lambda: calls.append("begun")):
        assert calls == ["begun"]
