"""Similar answers: groups for a person, of which names and layout are no part, nor what was handed out."""

import pytest
from graded_kernels.autograder.classroom.page import PROGRAMS, similar_page
from graded_kernels.autograder.classroom.similar import (
    LEAST,
    SHORT,
    Alike,
    SimilarGroup,
    SubmittedProgram,
    alike_in,
    groups,
    tokens,
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


def found(published: str = OTHER, **sources: str) -> list[list[tuple[str, int]]]:
    """Of each group of programs: who wrote each, and how near it is to the first."""
    alike = alike_in(NAME, sources, STUB, published)
    return [[(" ".join(one.students), round(100 * one.share)) for one in group.programs] for group in alike]


def test_names_and_layout_are_no_difference():
    assert found(a=MINE, b=RENAMED) == [[("a b", 100)]]
    assert len(tokens(MINE)) >= SHORT
    changed = RENAMED.replace("> 80", "> 90")
    (((one, _), (other, share)),) = found(a=MINE, b=changed)
    assert {one, other} == {"a", "b"}
    assert 100 * LEAST <= share < 100


def test_other_ways_and_short_answers_are_not_similar():
    assert found(a=MINE, b="def silu_backward(dy, x):\n    return dy * slope(x)", c="not python (") == []
    assert found(a="def f(x):\n    return x", b="def f(y):\n    return y") == []


LINE_BREAK = "f\"\"\"{b'''\n'''}\"\"\""  # which Python 3.11 cannot write again


@pytest.mark.parametrize("source", [LINE_BREAK, "x = " + "1 + " * 5_000 + "1"], ids=["a line break", "a long sum"])
def test_an_answer_that_cannot_be_compared_is_similar_to_none(source):
    assert [("a b", 100)] in found(a=MINE, b=RENAMED, c=f"{MINE}\n\n{source}\n")


def test_what_was_handed_out_does_not_count():
    long = "".join(f"    t{n} = torch.exp(torch.tensor({n}.0)) + torch.log(x + {n})\n" for n in range(12))
    stub = f"def silu_backward(dy, x):\n{long}    ...  # YOUR CODE HERE\n"
    mine, theirs = (
        f"def silu_backward(dy, x):\n{long}    return {end}\n" for end in ("dy * t3", "(t1 - dy) / x.sum()")
    )
    assert groups({NAME: {"a": mine, "b": theirs}}, {}, {})
    assert not groups({NAME: {"a": mine, "b": theirs}}, {NAME: stub}, {})


def test_who_is_near_the_published_answer_is_in_its_group_alone():
    copied = OTHER.replace("tail", "t").replace("result", "r")
    assert found(a=copied, b=OTHER, c=MINE) == [[("", 100), ("a b", 100)]]


def test_who_pasted_the_published_answers_is_on_top():
    """Pairs of a class that has one program were a hundred before the one with the published answers."""
    forward = "silu_forward-torch"
    class_of = {f"copy-{number:02}": MINE for number in range(24)}
    answers = {NAME: {**class_of, "mia": OTHER}, forward: {"mia": OTHER, "copy-00": OTHER, "copy-01": RENAMED}}
    ours, theirs = groups(answers, {NAME: STUB}, {NAME: OTHER, forward: OTHER})
    assert (ours.published, ours.counts, ours.of) == (True, (("mia", 2), ("copy-00", 1)), 2)
    assert (len(theirs.counts), len(theirs.alike), theirs.of) == (24, 1, 2)
    page = similar_page("01_silu", [ours, theirs])
    assert page.index("2 students, 2 of 2 answers like the published ones") < page.index("24 students, 1 of 2 answers")
    assert "mia (2), copy-00 (1)" in page


def test_students_are_one_group_however_many_of_their_answers_are_similar():
    other = OTHER.replace("silu_backward", "silu_forward")
    answers = {
        NAME: {"ada": MINE, "leo": RENAMED, "zoe": OTHER},
        "silu_backward-triton": {"leo": MINE, "ada": MINE},
        "silu_forward-torch": {"ada": MINE, "leo": other},
        "silu_forward-triton": {"ada": MINE},
    }
    (group,) = groups(answers, {}, {})
    assert (group.counts, group.of) == ((("ada", 2), ("leo", 2)), 3)
    assert [alike.answer for alike in group.alike] == ["silu_backward-torch", "silu_backward-triton"]
    page = similar_page("01_silu", [group])
    assert page.count("<h2>") == 1
    assert page.count("<main>") == 1
    assert "2 students, 2 of 3 answers" in page
    assert "silu_backward-triton: ada, leo" in page


def test_a_page_shows_so_many_programs_and_how_many_more_there_are():
    programs = tuple(SubmittedProgram((f"s{number}",), MINE, 0.95) for number in range(PROGRAMS + 2))
    page = similar_page("01_silu", [SimilarGroup((("s0", 1),), 1, (Alike(NAME, programs, False),), False)])
    assert page.count("<pre>") == PROGRAMS
    assert "Not shown: 2 programs." in page


def test_a_page_shows_text_and_nothing_else():
    one = SubmittedProgram(("<b>",), "<script>alert(1)</script>", 1.0)
    other = SubmittedProgram(("o",), "\x1b[31mx \u202e", 0.95)
    page = similar_page(
        "01_silu", [SimilarGroup((("<b>", 1), ("o", 1)), 1, (Alike(NAME, (one, other), False),), False)]
    )
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "o, 95%" in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "&lt;b&gt; (1), o (1)" in page


def test_the_published_answer_is_shown_as_a_learner_would_write_it():
    marked = "def f(x):\n    ### BEGIN SOLUTION\n    y = x  ### BEGIN\n    return y\n    ### END SOLUTION"
    assert without_marks(marked) == "def f(x):\n    y = x  ### BEGIN\n    return y"


def test_a_class_without_similar_answers_has_a_page_that_says_so():
    assert "<h1>01_silu: no similar answers</h1>" in similar_page("01_silu", [])
