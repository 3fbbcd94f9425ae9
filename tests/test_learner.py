"""What a report tells a learner, apart from the verdict: numbers that can be used."""

import io

import pytest
import torch
from graded_kernels.autograder import check
from graded_kernels.autograder.printing import Few
from graded_kernels.autograder.progress import Progress, Terminal


def test_of_much_text_the_beginning_is_shown_and_the_rest_counted():
    stream = io.StringIO()
    few = Few(stream, lines=2, characters=100)
    for number in range(5):
        print("line", number, file=few)
    few.finish()
    shown = stream.getvalue()
    assert shown.startswith("line 0\nline 1\n... 3 more lines (21 characters)") and shown.endswith("\n")


def test_a_long_line_is_cut():
    stream = io.StringIO()
    few = Few(stream, lines=10, characters=20)
    print("x" * 5000, file=few)
    few.finish()
    assert stream.getvalue().startswith("x" * 20 + "\n... ") and "4,981 characters" in stream.getvalue()


def test_little_text_is_left_alone():
    stream = io.StringIO()
    few = Few(stream)
    print("one\ntwo", file=few)
    few.finish()
    assert stream.getvalue() == "one\ntwo\n"


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_check_shows_nothing_where_nobody_looks():
    stream = io.StringIO()
    with Progress("silu_forward", after=0, stream=stream) as progress:
        assert progress.thread is None
    assert stream.getvalue() == ""


def test_a_terminal_shows_where_a_check_is_and_the_line_goes():
    stream = Tty()
    line = Terminal(stream)
    line.show("checking silu_forward, 3 s: case 2 of 17, exact zeros")
    line.clear()
    assert "case 2 of 17, exact zeros" in stream.getvalue() and stream.getvalue().endswith("\r\033[K")


def test_what_is_under_way_is_said_with_a_way_out_of_a_loop():
    with Progress("silu_forward", stream=Tty()) as progress:
        progress.at("case 2 of 17, exact zeros")
        assert "case 2 of 17, exact zeros" in progress.text() and "Interrupting" not in progress.text()
        progress.since -= 100
        assert "Interrupting shows its line" in progress.text()


def layer_norm(x, weight, bias, eps=1e-5):
    v = x.float()
    mean = v.mean(1)
    rstd = (v.var(1, correction=0) + eps).rsqrt() if v.numel() else mean
    y = (v - mean[:, None]) * rstd[:, None] * weight.float() + bias.float()
    return y.to(x.dtype), mean, rstd


@pytest.fixture(scope="module")
def right():
    return check("layer_norm_forward", layer_norm, backend="torch")


def test_what_a_right_answer_uses_of_the_tolerance_is_a_number_to_read(right):
    """A result near 0 is millions of ulp off and right: beside it stands what is allowed, not the ulp."""
    assert right.passed, str(right)
    worst = max((c for c in right.cases if c.status == "pass" and c.worst_ulp), key=lambda c: c.worst_ulp)
    assert worst.worst_ulp > 1000
    assert all("of the tolerance" in c.message or c.message == "exact" for c in right.cases if c.worst_ulp)
    assert f"{worst.worst_ulp:.2f}" not in worst.message and "is allowed" in worst.message


def test_what_is_off_by_little_is_said_in_ulp_with_what_is_allowed():
    report = check("silu_forward", lambda x: (x.half() * torch.sigmoid(x.half())).to(x.dtype), backend="torch")
    assert "ulp, where 8" in str(report) or "is allowed; not counted in ulp" in str(report)
    assert "off by" in str(report)
