"""The file of a teacher's own cases: what is wrong with one that cannot be used, and the command that tries it."""

import re
from pathlib import Path

import pytest
from graded_kernels.autograder import cli
from graded_kernels.autograder.exercises import EXERCISES
from graded_kernels.autograder.instructor.hidden import HiddenCasesError, read_cases
from graded_kernels.autograder.instructor.try_cases import our_answer, try_cases
from hidden_cases import FILE, written

CASE = '[[silu_forward]]\nname = "n"\n'


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("[[silu_forward]", "hidden_cases.toml: "),
        ('[[silu_foward]]\nname = "n"', "no exercise 'silu_foward'; did you mean silu_forward"),
        ('[[silu_witness]]\nname = "n"', "silu_witness asks for an input, and has no cases"),
        ('[silu_forward]\nname = "n"', "write [[silu_forward]] above every case"),
        ("[[silu_forward]]\nx = { values = [1.0] }", "case 1: it needs a name"),
        (f"{CASE}x = {{ values = [1.0] }}\n{CASE}x = {{ values = [2.0] }}", "two cases are named 'n'"),
        (f"{CASE}hint = 3\nx = {{ values = [1.0] }}", "hint is a string, not 3"),
        (CASE, "case 1: x is missing"),
        (f"{CASE}y = {{ values = [1.0] }}", "silu_forward has no parameter y; it has x"),
        (f"{CASE}x = 3.0", "x should be a tensor of floats, but is a number"),
        (f"{CASE}x = {{ values = [1, 2] }}", "x should be a tensor of floats, but is a tensor of whole numbers"),
        (f'{CASE}x = {{ values = [1.0], dtype = "float8" }}', "case 1: x: there is no dtype"),
        (
            '[[gelu_forward]]\nname = "n"\nx = { values = [1.0] }\napproximate = "sigmoid"',
            "the formula of gelu_forward does not accept these: ",
        ),
        (
            '[[layer_norm_backward]]\nname = "n"\ndy = { values = [[1.0]] }\nx = { values = [[1.0]] }\n'
            "weight = { values = [1.0] }",
            "mean is computed by layer_norm_forward, which needs bias, too",
        ),
        (
            '[[cross_entropy_forward]]\nname = "n"\nlogits = { fill = 0.5, shape = [2, 3] }\n'
            "labels = { values = [1, 7] }",
            "the formula of cross_entropy_forward does not accept these: ",
        ),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path, text, output):
    with pytest.raises(HiddenCasesError) as caught:
        read_cases(written(tmp_path, text))
    assert output in str(caught.value)
    assert "hidden_cases.toml" in str(caught.value)


def test_the_command_tries_our_answers_in_each_backend(tmp_path, capsys):
    assert cli.main(["cases", str(written(tmp_path, FILE))]) == 0
    output = capsys.readouterr()
    assert output.err.splitlines()[0].endswith("of your cases on our answer to silu_backward (torch).")
    lines = output.out.splitlines()
    tried = [re.match(r"pass  silu_backward \((\w+)\), (.*?): .* ulp", line).groups() for line in lines]
    assert tried == [(backend, case) for backend in ("torch", "triton") for case in ("two zeros", "a wide matrix")]


def test_a_case_that_our_answer_fails_is_shown_with_its_inputs(tmp_path, monkeypatch, capsys):
    wrong = "graded_kernels.autograder.instructor.try_cases.our_answer"
    monkeypatch.setattr(wrong, lambda name, backend: lambda dy, x: x * dy)
    assert cli.main(["cases", str(written(tmp_path, FILE))]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("FAIL  silu_backward (torch), two zeros: dx is wrong")
    assert lines[2].startswith("FAIL  silu_backward (torch), a wide matrix: dx is wrong")
    assert "strides" in lines[3]


def test_a_file_of_cases_that_is_missing(tmp_path, capsys):
    assert cli.main(["cases", str(tmp_path / "nowhere.toml")]) == 2
    assert "nowhere.toml" in capsys.readouterr().err


def test_the_teachers_guide_shows_a_file_that_works(tmp_path):
    guide = (Path(__file__).parents[1] / "course" / "OWN.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", guide, re.DOTALL)
    tried = list(try_cases(written(tmp_path, example)))
    assert len(tried) == 6
    assert all(one.passed for one in tried)


def test_every_exercise_has_our_answer():
    for name, record in EXERCISES.items():
        for backend in record.backends:
            assert our_answer(name, backend).__name__ == name
