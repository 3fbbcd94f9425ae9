"""A teacher's own cases: what a file may say and must not, and that those who are graded see no value of it."""

import html
import json
import re
from pathlib import Path

import pytest
import torch
from answers import answer
from graded_kernels.autograder.judge.checking.check import check_answer
from graded_kernels.autograder.judge.checking.judge import judge
from graded_kernels.autograder.judge.commands import one_file
from graded_kernels.autograder.judge.records.external_records import read_cases
from graded_kernels.autograder.judge.records.record import RecordError
from graded_kernels.autograder.judge.records.settings import Settings
from graded_kernels.autograder.judge.records.table import find
from graded_kernels.autograder.runner import Answer, Cell, Examined, Facts, Outcome, Trouble

SECRET = 0.7310585786  # in float16 0.73095703125; nothing of it may be shown
HEAD = """import torch
from graded_kernels.autograder import Case


def randn(generator, *shape):
    return torch.randn(shape, generator=generator)


"""
FILE = f"""{HEAD}
def two_zeros(generator):
    return torch.tensor([1.5, -2.5, {SECRET}]).half(), torch.tensor([0.0, -0.0, {SECRET}]).half()


def wide(generator):
    return randn(generator, 1, 300).expand(5, 300), (3 * randn(generator, 5, 600))[:, ::2]


CASES = [Case("two zeros", two_zeros, "What is divided by what?"), Case("a wide matrix", wide, "", bonus=True)]
"""


def one_case(name: str, inputs: str) -> str:
    """The text of a file with one case, ``inputs`` an expression with ``generator`` in it."""
    return f"{HEAD}\nCASE = Case({name!r}, lambda generator: {inputs}, '')\n"


@pytest.fixture(scope="module")
def mine():
    return read_cases(FILE, find("silu_backward"))


def test_a_case_may_name_its_arguments():
    named = f"{HEAD}from graded_kernels.autograder import case, draw\n"
    text = named + "CASE = case('zeros', '', x=draw.full(3, value=0.0), dy=draw.gradient(like='x'))\n"
    dy, x = read_cases(text, find("silu_backward"))[0].inputs(torch.Generator())
    assert x.tolist() == [0.0] * 3
    assert dy.shape == (3,)
    with pytest.raises(RecordError, match=r"silu_backward.py:10: case 'zeros': silu_backward has no parameter u;"):
        read_cases(text.replace("x=", "u="), find("silu_backward"))


def test_a_right_answer_passes(mine):
    report = check_answer(answer("silu_backward", "torch"), Settings("torch"), cases=mine)
    assert report.passed
    assert report.score == 1
    first, second = report.cases[-2:]
    assert (first.name, first.status, first.bonus) == ("hidden: two zeros", "pass", False)
    assert (second.name, second.status, second.bonus) == ("hidden: a wide matrix", "pass", True)
    assert first.inputs == "dy: float16 (3,), x: float16 (3,)"
    assert second.inputs == "dy: float32 (5, 300) not contiguous, x: float32 (5, 300) not contiguous"


def right_but(line: str, where: str = "x.numel() == 3") -> Answer:
    """A right answer with ``line`` before its return, for inputs of three elements, or others."""
    body = f"import torch\n\n\ndef silu_backward(dy, x):\n    if {where}:\n        {line}\n"
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
def test_no_value_gets_out(mine, line, cases_until):
    cases_until("silu_backward", 3)
    report = check_answer(right_but(line), Settings("torch"), cases=mine)
    row = report.cases[-2]
    assert row.name == "hidden: two zeros"
    assert row.status in ("fail", "error")
    another_complaint = "torch.zeros" in line  # its shape, of which the hint knows nothing
    assert row.hint == ("" if another_complaint else "What is divided by what?")
    assert "not shown" in row.message
    assert report.score == 0.8
    assert not report.passed
    shown = json.dumps(report.to_dict()) + str(report) + report._repr_html_()
    assert "two zeros" in shown
    for value in ("0.731", "0.7310", "73095", "73105"):
        assert value not in shown, value


def test_every_hidden_case_that_failed_is_told_with_its_kind(mine):
    """Also where another case failed before it, and is told in full; with its hint where it fails alone."""
    report = check_answer(
        answer("silu_backward", "torch", "(1 + v * other)", "(1 - v * other)"), Settings("torch"), cases=mine
    )
    shown = (" ".join(str(report).split()), html.unescape(re.sub(r"<[^>]*>", "", report._repr_html_())))
    for text in shown:
        assert "not shown. Its kind: dy: float16 (3,), x: float16 (3,)." in text
        assert "What is divided by what?" not in text, "the sign is wrong everywhere, and the hint is about zeros"
    assert "What is divided by what?" in str(check_answer(right_but("return x.clone()"), Settings("torch"), cases=mine))


def test_the_hint_of_a_hidden_case_stays_whatever_its_name_is():
    """The hint of an exercise's own first case, where to begin, makes room for what explains wrong values."""
    inputs = "lambda generator: (randn(generator, 50, 3), randn(generator, 50, 3))"
    cases = read_cases(f"{HEAD}CASE = Case('ordinary values', {inputs}, 'Which sign?')\n", find("silu_backward"))
    report = check_answer(right_but("dy = -dy", "x.shape == (50, 3)"), Settings("torch"), cases=cases)
    row = next(row for row in report.cases if row.hidden)
    assert (row.name, row.status, row.hint) == ("hidden: ordinary values", "fail", "Which sign?")


def test_how_close_a_right_answer_came_is_not_shown(mine):
    """An answer may round as it likes within the tolerance, and say something by it."""
    row = check_answer(answer("silu_backward", "torch"), Settings("torch"), cases=mine).cases[-2]
    assert (row.message, row.worst_ulp, row.margin, row.curve) == ("", None, None, None)


def test_neither_traffic_nor_launches_of_a_hidden_case_are_told():
    text = one_case("the largest of all", "(randn(generator, 700, 512), randn(generator, 700, 512))")
    cases = read_cases(text, find("silu_backward"))
    mine, theirs = (
        check_answer(answer("silu_backward", "triton"), Settings("triton"), cases=own) for own in (cases, ())
    )
    assert mine.passed
    assert len(mine.cases) == len(theirs.cases) + 1
    assert mine.traffic == theirs.traffic

    def compiled(report):
        """What the compiler found, without how long it took and whether it had to be asked."""
        rows = [{k: v for k, v in row.items() if k not in ("seconds", "cached")} for row in report.compile["targets"]]
        return report.compile | {"targets": rows}

    assert compiled(mine) == compiled(theirs)


def test_a_bug_is_not_named_by_a_hidden_case(mine):
    candle = "y = x * torch.sigmoid(x.float()); s = y / x; return (dy * s * (1 + x * (1 - s))).half()"
    report = check_answer(right_but(candle), Settings("torch"), cases=mine)
    assert report.cases[-2].status == "fail"
    assert report.fingerprint is None


def test_a_number_is_not_shown():
    inputs = "(randn(generator, 3, 7), torch.full((7,), 2.5), torch.full((7,), 1.5), 0.1234)"
    cases = read_cases(one_case("a large epsilon", inputs), find("layer_norm_forward"))
    row = check_answer(answer("layer_norm_forward", "torch", "+ eps", "+ 1e-5"), Settings("torch"), cases=cases).cases[
        -1
    ]
    assert row.status == "fail"
    assert row.inputs.endswith("eps: a number")


def test_what_ends_the_check_says_nothing_either(mine):
    """The kind of a trouble comes from the answer's process, as does its message."""

    class Runner:
        facts = Facts()

        def examine(self, call):
            if call.args[0].numel() == 3:
                said = f"x is {SECRET}"
                return Examined(call, Outcome(trouble=Trouble("refused", said, said, f"x{SECRET}", place=said)))
            right = record.oracle(*(a.double() for a in call.args))
            return Examined(call, Outcome(outputs=(right.to(call.args[1].dtype),)))

    record = find("silu_backward").with_cases(mine)
    report = judge(record, Runner(), Settings("torch"))
    assert report.cases[-2].status == "fail"
    assert report.score == 0
    assert "0.73" not in json.dumps(report.to_dict())


class Slow:
    """Right, but for the call of the case that runs out of time."""

    facts = Facts()

    def __init__(self, record, number: int):
        self.record, self.late, self.calls = record, record.cases[number], 0
        self.shape = self.late.inputs(torch.Generator().manual_seed(number))[0].shape

    def examine(self, call):
        self.calls += 1
        if call.args[0].shape == self.shape:
            return Examined(call, Outcome(trouble=Trouble("timeout", "The call did not end within 20 s.")))
        right = self.record.oracle(*(a.double() for a in call.args))
        return Examined(call, Outcome(outputs=(right.to(call.args[0].dtype),)))


def test_a_time_out_in_a_distinction_takes_no_points():
    record = find("silu_forward")
    bonus = next(number for number, case in enumerate(record.cases) if case.bonus)
    report = judge(record, Slow(record, bonus), Settings("torch"))
    assert report.passed
    assert report.score == 1
    assert [case.status for case in report.cases if case.bonus].count("error") >= 1
    assert not [case for case in report.cases if case.status == "not-run"]


@pytest.mark.parametrize("number", [0, 3])
def test_after_a_time_out_the_answer_is_not_called_again(number):
    """It keeps what it earned before."""
    record = find("silu_forward")
    runner = Slow(record, number)
    shapes = [case.inputs(torch.Generator().manual_seed(n))[0].shape for n, case in enumerate(record.cases)]
    first = shapes.index(runner.shape)
    report = judge(record, runner, Settings("torch"))
    plain = [case for case in report.cases if case.category == "plain" and not case.bonus]
    earned = sum(case.status == "pass" for case in plain) / len(plain)
    assert not report.passed
    assert report.score == (0.4 if earned >= 1 / 3 else 0)
    assert bool(report.score) == bool(number)
    assert [case.status for case in report.cases[first:]] == ["error"] + ["not-run"] * (len(record.cases) - first - 1)
    assert report.cases[first].message == "The call did not end within 20 s."
    assert runner.calls == first + 1


@pytest.mark.parametrize(
    ("exercise", "text", "says"),
    [
        ("silu_forward", "CASES = [", "silu_forward.py, line 1: SyntaxError"),
        ("silu_forward", "import nowhere", "silu_forward.py, line 1: ModuleNotFoundError"),
        ("silu_forward", HEAD, "silu_forward.py defines no case: write CASES = [Case("),
        ("silu_witness", HEAD, "silu_witness asks for an input, and has no cases to add to"),
        ("silu_forward", one_case("n", "randn(generator, 3)"), "case 'hidden: n': its inputs are a Tensor"),
        ("silu_forward", one_case("n", "()"), "its 0 arguments do not fit the oracle's parameters"),
        (
            "silu_forward",
            one_case("n", "(3.0,)"),
            "output y is to have the dtype of x, of type float",
        ),
        ("silu_forward", one_case("n", "(torch.rand(3),)"), "draw random numbers with the generator"),
        ("silu_forward", one_case("n", "(torch.arange(3),)"), "the oracle's y is "),
        ("gelu_forward", one_case("n", "(randn(generator, 3), 'sigmoid')"), "case 'hidden: n': the oracle raised "),
        ("cross_entropy_forward", one_case("n", "(randn(generator, 2, 3), torch.tensor([1, 7]))"), "the oracle raised"),
        (
            "silu_forward",
            f"{HEAD}CASES = [Case('n', lambda generator: (randn(generator, 3),), '', category='points')]",
            "its category is 'points': write one of plain, point, dtypes, layouts, edges",
        ),
        (
            "silu_forward",
            f"{HEAD}CASES = [Case('n', lambda generator: (randn(generator, size),), '') for size in (3, 4)]",
            "two cases are named 'hidden: n'",
        ),
    ],
)
def test_a_file_that_cannot_be_used(exercise, text, says):
    with pytest.raises(RecordError) as caught:
        read_cases(text, find(exercise))
    assert says in str(caught.value)
    assert f"{exercise}.py" in str(caught.value)


def test_a_case_says_its_category_and_which_wrong_answers_fail_it(tmp_path, called):
    path = tmp_path / "silu_backward.py"
    path.write_text(FILE + one_case("ones", "(torch.ones(3), torch.ones(3))")[len(HEAD) :])
    done = called("check", "silu_backward", "--hidden", path)
    assert done.returncode == 0, done.stderr
    zeros, wide, ones = done.stdout.split("hidden: ")[1:]
    assert zeros.startswith("two zeros\n  category: dtypes (costs at most 20 of 100)\n  inputs: dy: float16 (3,)")
    assert "known wrong answers: candle 0.4.1-0.5.0; " in zeros
    assert "category: layouts (a distinction, which costs nothing)" in wide
    assert re.search(r"category: plain .*\n.*\n  Fails none of \d known wrong answers: check one of yours", ones)


def test_an_answer_is_checked_on_them_too(tmp_path, called):
    path, wrong = tmp_path / "cases" / "silu_backward.py", tmp_path / "wrong.py"
    path.parent.mkdir()
    path.write_text(FILE)
    wrong.write_text(right_but("return x.clone()").text)
    done = called("check", "silu_backward", wrong, "--hidden", path, "--backend", "torch", "--in-process")
    assert done.returncode == 1, done.stderr
    assert "hidden: two zeros" in done.stdout
    assert called("check", "silu_backward", wrong, "--backend", "torch", "--in-process").returncode == 0


def test_no_answer_reads_the_file_with_the_cases(tmp_path):
    """Nor what lies beside it."""
    path = tmp_path / "cases" / "silu_backward.py"
    path.parent.mkdir()
    path.write_text(FILE)
    with one_file.started(None, path) as closed:
        assert str(path.parent) in closed.role.hidden


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "there is nothing to check"),
        (["--hidden", "none.py"], "there is no file none.py"),
        (["no.py", "--hidden", "none.py"], "there is no file no.py"),
        (["a.py", "--hidden", "a.py", "--root", "."], "a.py lies in ., from where answers import"),
    ],
)
def test_what_cannot_be_tried_is_said_in_a_sentence(arguments, sentence, called, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text("")
    done = called("check", "silu_backward", *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr


def test_the_teachers_guide_shows_files_that_work():
    guide = (Path(__file__).parents[2] / "course" / "OWN.md").read_text(encoding="utf-8")
    files = dict(re.findall(r"```python\n# hidden_cases/(\w+)\.py\n(.*?)```", guide, re.DOTALL))
    assert sorted(files) == ["layer_norm_backward", "silu_backward"]
    for name, text in files.items():
        cases = read_cases(text, find(name))
        report = check_answer(answer(name, "torch"), Settings("torch"), cases=cases)
        assert report.passed
        assert report.cases[-1].hidden
