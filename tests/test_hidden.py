"""An instructor's own cases: what a file may say and must not, and that those who are graded see no value of it."""

import html
import json
import re
from pathlib import Path

import pytest
import torch
from answers import answer
from graded_kernels.autograder import cli
from graded_kernels.autograder.check import check_answer
from graded_kernels.autograder.exercises import EXERCISES, find
from graded_kernels.autograder.instructor.hidden import HiddenCasesError, read_cases
from graded_kernels.autograder.instructor.try_cases import our_answer, try_cases
from graded_kernels.autograder.judge.judge import judge
from graded_kernels.autograder.run.answer import Answer, Cell
from graded_kernels.autograder.run.outcome import Outcome, Trouble

SECRET = 0.7310585786  # in float16 0.73095703125; nothing of it may be shown
FILE = f"""
[[silu_backward]]
name = "two zeros"
hint = "What is divided by what?"
x = {{ values = [0.0, -0.0, {SECRET}], dtype = "float16" }}
dy = {{ values = [1.5, -2.5, {SECRET}], dtype = "float16" }}

[[silu_backward]]
name = "a wide matrix"
bonus = true
x = {{ normal = [0.0, 3.0], shape = [5, 300], layout = "strided" }}
dy = {{ uniform = [-1.0, 1.0], shape = [5, 300], layout = "expanded" }}
"""


def written(tmp_path, text: str):
    path = tmp_path / "hidden_cases.toml"
    path.write_text(text)
    return path


@pytest.fixture
def mine(tmp_path):
    return read_cases(written(tmp_path, FILE))["silu_backward"]


def test_a_right_answer_passes(mine):
    report = check_answer(answer("silu_backward", "torch"), "torch", cases=mine)
    assert report.passed and report.score == 1
    first, second = report.cases[-2:]
    assert (first.name, first.status, first.bonus) == ("hidden: two zeros", "pass", False)
    assert (second.name, second.status, second.bonus) == ("hidden: a wide matrix", "pass", True)
    assert first.inputs == "dy: float16 (3,); x: float16 (3,)"
    assert second.inputs == "dy: float32 (5, 300), not contiguous; x: float32 (5, 300), not contiguous"


def right_but(line: str) -> Answer:
    """A right answer with ``line`` before its return, for inputs of three elements."""
    body = f"import torch\n\n\ndef silu_backward(dy, x):\n    if x.numel() == 3:\n        {line}\n"
    body += "    x32 = x.float()\n    s = torch.sigmoid(x32)\n    return (dy * s * (1 + x32 * (1 - s))).to(x.dtype)\n"
    return Answer("silu_backward", (Cell("answer", body),))


@pytest.mark.parametrize(
    "line",
    [
        "raise ValueError(f'{x.tolist()} {dy.tolist()}')",
        "raise type(str(x[2].item()), (Exception,), {})()",
        "return x.clone()",
        "return x.double()",
        "return str(x.tolist())",
        "return torch.zeros(tuple(int(100000 * v) for v in x.abs().tolist()))",
        "x[2] = 5",
    ],
)
def test_no_value_gets_out(mine, line):
    report = check_answer(right_but(line), "torch", cases=mine)
    told = report.cases[-2]
    assert told.name == "hidden: two zeros" and told.status in ("fail", "error")
    another_complaint = "double" in line or "torch.zeros" in line  # its dtype or shape, of which the hint knows nothing
    assert told.hint == ("" if another_complaint else "What is divided by what?") and "not shown" in told.message
    own = [case for case in report.cases if not case.bonus]
    assert report.score == (len(own) - 1) / len(own) and not report.passed
    shown = json.dumps(report.to_dict()) + str(report) + report._repr_html_()
    assert "two zeros" in shown
    for value in ("0.731", "0.7310", "73095", "73105"):
        assert value not in shown, value


def test_every_hidden_case_that_failed_is_told_with_its_kind_and_hint(mine):
    """Also where another case failed before it, and is told in full."""
    report = check_answer(answer("silu_backward", "torch", "(1 + v * other)", "(1 - v * other)"), "torch", cases=mine)
    shown = (" ".join(str(report).split()), html.unescape(re.sub(r"<[^>]*>", "", report._repr_html_())))
    for text in shown:
        assert "not shown. Its kind: dy: float16 (3,); x: float16 (3,). What is divided by what?" in text


def test_how_close_a_right_answer_came_is_not_shown(mine):
    """An answer may round as it likes within the tolerance, and say something by it."""
    told = check_answer(answer("silu_backward", "torch"), "torch", cases=mine).cases[-2]
    assert (told.message, told.worst_ulp, told.curve) == ("", None, None)


def test_neither_traffic_nor_launches_of_a_hidden_case_are_told(tmp_path):
    large = "{ normal = [0.0, 1.0], shape = [700, 512] }"
    text = f'[[silu_backward]]\nname = "the largest of all"\nx = {large}\ndy = {large}'
    cases = read_cases(written(tmp_path, text))["silu_backward"]
    mine, theirs = (check_answer(answer("silu_backward", "triton"), "triton", cases=own) for own in (cases, ()))
    assert mine.passed and len(mine.cases) == len(theirs.cases) + 1
    assert mine.traffic == theirs.traffic

    def compiled(report):
        """What the compiler found, without how long it took and whether it had to be asked."""
        rows = [{k: v for k, v in row.items() if k not in ("seconds", "cached")} for row in report.compile["targets"]]
        return report.compile | {"targets": rows}

    assert compiled(mine) == compiled(theirs)


def test_a_bug_is_not_named_by_a_hidden_case(mine):
    candle = "y = x * torch.sigmoid(x.float()); s = y / x; return (dy * s * (1 + x * (1 - s))).half()"
    report = check_answer(right_but(candle), "torch", cases=mine)
    assert report.cases[-2].status == "fail" and report.fingerprint is None


def test_a_number_is_not_shown(tmp_path):
    text = """[[layer_norm_forward]]
        name = "a large epsilon"
        x = { normal = [0.0, 1.0], shape = [3, 7] }
        weight = { fill = 2.5, shape = [7] }
        bias = { fill = 1.5, shape = [7] }
        eps = 0.1234
    """
    cases = read_cases(written(tmp_path, text))["layer_norm_forward"]
    told = check_answer(answer("layer_norm_forward", "torch", "+ eps", "+ 1e-5"), "torch", cases=cases).cases[-1]
    assert told.status == "fail" and told.inputs.endswith("eps: a number")


def test_what_ends_the_check_says_nothing_either(mine):
    """The kind of a trouble comes from the answer's process, as does its message."""

    class Runner:
        def call(self, args, *, decoy=None):
            if args[0].numel() == 3:
                return Outcome(trouble=Trouble("refused", f"x is {SECRET}", f"x is {SECRET}", f"x{SECRET}"))
            return Outcome(outputs=(record.oracle(*(a.double() for a in args)).to(args[1].dtype),))

        def confirm(self, args, *, shuffle=None, decoy=None):
            return self.call(args)

    record = find("silu_backward").with_cases(mine)
    report = judge(record, "torch", Runner())
    assert report.cases[-2].status == "fail" and report.score == 0
    assert "0.73" not in json.dumps(report.to_dict())


class Slow:
    """Right, but for the call of the case that runs out of time."""

    def __init__(self, record, number: int):
        self.record, self.late, self.calls = record, record.cases[number], 0
        self.shape = self.late.inputs(torch.Generator().manual_seed(number))[0].shape

    def confirm(self, args, *, shuffle=None, decoy=None):
        return self.call(args)

    def call(self, args, *, decoy=None):
        self.calls += 1
        if args[0].shape == self.shape:
            return Outcome(trouble=Trouble("timeout", "The call did not end within 20 s."))
        return Outcome(outputs=(self.record.oracle(*(a.double() for a in args)).to(args[0].dtype),))


def test_a_time_out_in_a_distinction_takes_no_points():
    record = find("silu_forward")
    bonus = next(number for number, case in enumerate(record.cases) if case.bonus)
    report = judge(record, "torch", Slow(record, bonus))
    assert report.passed and report.score == 1
    assert [case.status for case in report.cases if case.bonus].count("error") >= 1
    assert not [case for case in report.cases if case.status == "not-run"]


@pytest.mark.parametrize("number", [0, 3])
def test_after_a_time_out_the_answer_is_not_called_again(number):
    """It keeps what it earned before."""
    record = find("silu_forward")
    runner = Slow(record, number)
    shapes = [case.inputs(torch.Generator().manual_seed(n))[0].shape for n, case in enumerate(record.cases)]
    first = shapes.index(runner.shape)
    report = judge(record, "torch", runner)
    needed = [case for case in record.cases if not case.bonus]
    assert not report.passed and report.score == first / len(needed)
    assert [case.status for case in report.cases[first:]] == ["error"] + ["not-run"] * (len(record.cases) - first - 1)
    assert report.cases[first].message == "The call did not end within 20 s."
    assert runner.calls == 2 * first + 1


def test_what_forward_saves_is_computed(tmp_path):
    text = """
        [[layer_norm_backward]]
        name = "rows far from zero"
        dy = { normal = [0, 1], shape = [3, 40], dtype = "bfloat16" }
        x = { normal = [50, 2], shape = [3, 40], dtype = "bfloat16" }
        weight = { fill = 0.5, shape = [40], dtype = "bfloat16" }
        bias = { fill = 0.0, shape = [40], dtype = "bfloat16" }
        eps = 0.25

        [[cross_entropy_backward]]
        name = "an ignored row"
        dloss = { normal = [0, 1], shape = [4] }
        logits = { normal = [0, 3], shape = [4, 33] }
        labels = { integers = [0, 33], shape = [4], put = [{ at = [2], value = -100 }] }
    """
    cases = read_cases(written(tmp_path, text))
    dy, x, weight, mean, rstd = cases["layer_norm_backward"][0].inputs(torch.Generator().manual_seed(3))
    wide = x.double()
    assert mean.dtype == rstd.dtype == torch.float32 and mean.shape == (3,)
    assert torch.equal(mean, wide.mean(1).float())
    assert torch.equal(rstd, (wide.var(1, correction=0) + 0.25).rsqrt().float())
    dloss, logits, labels, lse = cases["cross_entropy_backward"][0].inputs(torch.Generator().manual_seed(3))
    kept = [0, 1, 3]
    assert torch.equal(lse[kept], logits.double().logsumexp(1).float()[kept]) and lse[2] == 0 and labels[2] == -100
    assert labels.dtype == torch.int64 and all(0 <= label < 33 for label in labels[kept].tolist())


CASE = '[[silu_forward]]\nname = "n"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[silu_forward]", "hidden_cases.toml: "),
        ('[[silu_foward]]\nname = "n"', "no exercise 'silu_foward'; did you mean silu_forward"),
        ('[[silu_witness]]\nname = "n"', "silu_witness asks for an input, and has no cases"),
        ('[silu_forward]\nname = "n"', "write [[silu_forward]] above every case"),
        ("[[silu_forward]]\nx = { values = [1.0] }", "case 1: it needs a name"),
        (f"{CASE}x = {{ values = [1.0] }}\n{CASE}x = {{ values = [2.0] }}", "two cases are named 'n'"),
        (f"{CASE}hint = 3\nx = {{ values = [1.0] }}", "hint is a text, not 3"),
        (CASE, "case 1: x is missing"),
        (f"{CASE}y = {{ values = [1.0] }}", "silu_forward has no y; it has x"),
        (f"{CASE}x = 3.0", "x should be a tensor of floats, and is a number"),
        (f"{CASE}x = {{ values = [1, 2] }}", "x should be a tensor of floats, and is a tensor of whole numbers"),
        (f'{CASE}x = {{ values = [1.0], dtype = "float8" }}', "case 1: x: there is no dtype"),
        (
            '[[gelu_forward]]\nname = "n"\nx = { values = [1.0] }\napproximate = "sigmoid"',
            "the formula of gelu_forward does not take these: ",
        ),
        (
            '[[layer_norm_backward]]\nname = "n"\ndy = { values = [[1.0]] }\nx = { values = [[1.0]] }\n'
            "weight = { values = [1.0] }",
            "mean is computed by layer_norm_forward, which needs bias, too",
        ),
        (
            '[[cross_entropy_forward]]\nname = "n"\nlogits = { fill = 0.5, shape = [2, 3] }\n'
            "labels = { values = [1, 7] }",
            "the formula of cross_entropy_forward does not take these: ",
        ),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path, text, said):
    with pytest.raises(HiddenCasesError) as caught:
        read_cases(written(tmp_path, text))
    assert said in str(caught.value) and "hidden_cases.toml" in str(caught.value)


def test_our_answers_are_tried(tmp_path):
    tried = list(try_cases(written(tmp_path, FILE)))
    rows = [(one.exercise, one.backend, one.case, one.passed) for one in tried]
    cases = ("two zeros", "a wide matrix")
    assert rows == [("silu_backward", backend, case, True) for backend in ("torch", "triton") for case in cases]
    assert "ulp" in tried[0].said and "strides" in tried[1].inputs


def test_a_case_that_our_answer_fails(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "graded_kernels.autograder.instructor.try_cases.our_answer", lambda name, backend: lambda dy, x: x * dy
    )
    assert not any(one.passed for one in try_cases(written(tmp_path, FILE)) if one.backend == "torch")


def test_the_command_that_tries_them(tmp_path, monkeypatch, capsys):
    path = written(tmp_path, FILE)
    assert cli.main(["cases", str(path)]) == 0
    said = capsys.readouterr()
    assert said.err.splitlines()[0].endswith("of your cases on our answer to silu_backward (torch).")
    lines = said.out.splitlines()
    assert len(lines) == 4 and lines[0].startswith("pass  silu_backward (torch), two zeros: ")
    monkeypatch.setattr(
        "graded_kernels.autograder.instructor.try_cases.our_answer", lambda name, backend: lambda dy, x: x * dy
    )
    assert cli.main(["cases", str(path)]) == 1
    assert "FAIL  silu_backward (torch), two zeros: dx is wrong" in capsys.readouterr().out
    assert cli.main(["cases", str(tmp_path / "nowhere.toml")]) == 2
    assert "nowhere.toml" in capsys.readouterr().err


def test_the_teachers_guide_shows_a_file_that_works(tmp_path):
    guide = (Path(__file__).parents[1] / "course" / "TEACHING.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", guide, re.DOTALL)
    tried = list(try_cases(written(tmp_path, example)))
    assert len(tried) == 6 and all(one.passed for one in tried)


def test_every_exercise_has_our_answer():
    for name, record in EXERCISES.items():
        for backend in record.backends:
            assert our_answer(name, backend).__name__ == name
