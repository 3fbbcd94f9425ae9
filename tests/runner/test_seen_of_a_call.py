"""What is shown of a call: of what it prints the beginning, of an error the answer's own line."""

import io
from pathlib import Path

import pytest
from graded_kernels.autograder import gpu
from graded_kernels.autograder.runner.call.error_line import in_answer
from graded_kernels.autograder.runner.call.printing import Few


def test_of_much_text_the_beginning_is_shown_and_the_rest_counted():
    stream = io.StringIO()
    few = Few(stream, lines=2, characters=100)
    for number in range(5):
        print("line", number, file=few)
    few.finish()
    shown = stream.getvalue()
    assert shown.startswith("line 0\nline 1\n... 3 more lines (21 characters)")
    assert shown.endswith("\n")


def test_a_long_line_is_cut():
    stream = io.StringIO()
    few = Few(stream, lines=10, characters=20)
    print("x" * 5000, file=few)
    few.finish()
    assert stream.getvalue().startswith("x" * 20 + "\n... ")
    assert "4,981 characters" in stream.getvalue()


def test_little_text_is_left_alone():
    stream = io.StringIO()
    few = Few(stream)
    print("one\ntwo", file=few)
    few.finish()
    assert stream.getvalue() == "one\ntwo\n"


@pytest.mark.parametrize("file", ["zmq/backend/cython/_zmq.py", str(Path(gpu.__file__).with_name("imagined.py"))])
def test_an_error_in_code_of_others_is_at_the_line_that_called_it(file):
    """In a compiled extension, whose file is named relative to some folder, and in any room of the grader."""
    names = {}
    exec(compile("def call():\n    raise KeyError\n", file, "exec"), names)
    exec(compile("def answer():\n    pass\n    call()\n", "<cell>", "exec"), names)
    with pytest.raises(KeyError) as caught:
        names["answer"]()
    place = in_answer(caught.value)
    assert (place.file, place.line) == ("<cell>", 3)
