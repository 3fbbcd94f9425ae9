"""Similar answers: pairs for a person, of which names and layout are no part, nor what was handed out."""

import pytest
from graded_kernels.autograder.classroom.page import similar_page
from graded_kernels.autograder.classroom.similar import (
    COURSE,
    LEAST,
    MOST,
    SHORT,
    Pair,
    Two,
    pairs,
    tokens,
    twos,
    without_marks,
)

STUB = '''def silu_backward(dy, x):
    """The gradient of x · s(x)."""
    v = x.float()
    ...  # YOUR CODE HERE
'''
MINE = '''def silu_backward(dy, x):
    """The gradient of x · s(x)."""
    v = x.float()
    s = 1 / (1 + torch.exp(-v))
    inner = 1 - s  # the other side
    slope = s + v * s * inner
    big = torch.where(v > 80, torch.ones_like(v), slope)
    small = torch.where(v < -80, torch.zeros_like(v), big)
    return (dy.float() * small).to(x.dtype)
'''
RENAMED = """def silu_backward(grad: "Tensor", inp) -> "Tensor":
    z = inp.float()

    sig = (1 / (1 + torch.exp(-z)))
    rest = 1 - sig
    d = sig + z * sig * rest
    upper = torch.where(z > 80, torch.ones_like(z), d)
    lower = torch.where(z < -80, torch.zeros_like(z), upper)
    return (grad.float() * lower).to(inp.dtype)
"""
OTHER = """def silu_backward(dy, x):
    h = (-x.abs() / 2).exp()
    tail = h.where(x < 0, torch.tensor(1.0))
    numerator = tail * tail
    denominator = h.square() + 1
    sigmoid = torch.div(numerator, denominator)
    for _ in range(1):
        total = sigmoid.addcmul(x * sigmoid, torch.sub(1, sigmoid))
    result = torch.mul(total, dy)
    return result.type_as(x)
"""
NAME = "silu_backward-torch"


def found(**sources: str) -> list[tuple[str, str, int]]:
    pieces = pairs({NAME: sources}, {NAME: STUB}, {NAME: OTHER})
    return [(pair.one, pair.other, round(100 * pair.share)) for pair in pieces]


def test_names_and_layout_are_no_difference():
    assert found(a=MINE, b=RENAMED) == [("a", "b", 100)]
    assert len(tokens(MINE)) >= SHORT
    changed = RENAMED.replace("> 80", "> 90")
    ((one, other, share),) = found(a=MINE, b=changed)
    assert (one, other) == ("a", "b")
    assert 100 * LEAST <= share < 100


def test_other_ways_and_short_answers_are_no_pair():
    assert found(a=MINE, b="def silu_backward(dy, x):\n    return dy * slope(x)", c="not python (") == []
    assert found(a="def f(x):\n    return x", b="def f(y):\n    return y") == []


LINE_BREAK = "f\"\"\"{b'''\n'''}\"\"\""  # which Python 3.11 cannot write again


@pytest.mark.parametrize("source", [LINE_BREAK, "x = " + "1 + " * 5_000 + "1"], ids=["a line break", "a long sum"])
def test_an_answer_that_cannot_be_compared_is_similar_to_none(source):
    assert ("a", "b", 100) in found(a=MINE, b=RENAMED, c=f"{MINE}\n\n{source}\n")


def test_what_was_handed_out_does_not_count():
    long = "".join(f"    t{n} = torch.exp(torch.tensor({n}.0)) + torch.log(x + {n})\n" for n in range(12))
    stub = f"def silu_backward(dy, x):\n{long}    ...  # YOUR CODE HERE\n"
    mine, theirs = (
        f"def silu_backward(dy, x):\n{long}    return {end}\n" for end in ("dy * t3", "(t1 - dy) / x.sum()")
    )
    assert pairs({NAME: {"a": mine, "b": theirs}}, {}, {})
    assert not pairs({NAME: {"a": mine, "b": theirs}}, {NAME: stub}, {})


def test_those_near_the_published_answer_are_pairs_with_it_alone():
    copied = OTHER.replace("tail", "t").replace("result", "r")
    assert found(a=copied, b=OTHER, c=MINE) == [("a", COURSE, 100), ("b", COURSE, 100)]


def test_two_learners_come_before_the_many_who_are_near_the_published_answer():
    copies = {f"copy-{number}": OTHER for number in range(MOST)}
    pieces = twos({NAME: {"x": MINE, "y": RENAMED} | copies}, {NAME: STUB}, {NAME: OTHER})
    page = similar_page("01_silu", pieces)
    assert "x and y: 1 of 1 answer" in page
    assert page.count("<h3>") == MOST
    assert "<p>Not shown: 1 more.</p>" in page


def test_two_students_are_one_line_however_many_of_their_answers_are_similar():
    """A class that copies one notebook has a line for each two, not one for each two and answer."""
    other = OTHER.replace("silu_backward", "silu_forward")
    answers = {
        NAME: {"ada": MINE, "leo": RENAMED, "zoe": OTHER},
        "silu_backward-triton": {"leo": MINE, "ada": MINE},
        "silu_forward-torch": {"ada": MINE, "leo": other},
        "silu_forward-triton": {"ada": MINE},
    }
    (two,) = twos(answers, {}, {})
    assert (two.one, two.other, two.both) == ("ada", "leo", 3)
    assert [pair.answer for pair in two.pairs] == ["silu_backward-torch", "silu_backward-triton"]
    page = similar_page("01_silu", [two])
    assert page.count("<h3>") == 1
    assert "ada and leo: 2 of 3 answers" in page
    assert "silu_backward-triton, 100% the same" in page


def test_a_page_shows_text_and_nothing_else():
    pair = Pair(NAME, "<b>", "o", 0.95, ("<script>alert(1)</script>", "\x1b[31mx \u202e"))
    page = similar_page("01_silu", [Two("<b>", "o", 1, (pair,))])
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "95% the same" in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "&lt;b&gt; and o" in page


def test_the_published_answer_is_shown_as_a_learner_would_write_it():
    marked = "def f(x):\n    ### BEGIN SOLUTION\n    y = x  ### BEGIN\n    return y\n    ### END SOLUTION"
    assert without_marks(marked) == "def f(x):\n    y = x  ### BEGIN\n    return y"


def test_a_class_without_pairs_has_a_page_that_says_so():
    assert "<h1>01_silu: no similar answers</h1>" in similar_page("01_silu", [])
