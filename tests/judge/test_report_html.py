"""The report in a notebook: the failing case first, no markup of a learner's let through, and the picture."""

import html.parser
import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
from graded_kernels.autograder.judge.report import notebook as notebook
from graded_kernels.autograder.judge.report import plot as picture
from graded_kernels.autograder.judge.results.case_result import CaseResult, Curve
from graded_kernels.autograder.judge.verdicts.make import shown
from reports import NASTY, candle, case, curve, failure, in_order, report, stub

# In a notebook


class Tags(html.parser.HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.open = set(), set(), []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_html_shows_the_failing_case_first_and_folds_what_passed():
    page = notebook.render(candle())
    in_order(page, "Not passed", "every value", "dx[31744] = nan", "dx[31744] = -0.25", "look at 0")
    in_order(page, "look at 0", "This is what candle", "<svg", "Also in 1 more case", "edges")
    in_order(page[page.index("edges") :], "<details>", "passing 7")
    assert 'href="https://github.com/huggingface/candle/issues/2082"' in page


def test_html_escapes_all_that_a_learner_can_write():
    drawn = Curve("<b>x</b>", "bfloat16", *(np.array([1.0, 2.0]) for _ in "123"), "<img>&", np.array([1.0, 1.0]))
    one = CaseResult(NASTY, "fail", False, NASTY, NASTY, NASTY, failure(output=NASTY), details=NASTY, curve=drawn)
    row = {"target": NASTY, "status": "fail", "message": NASTY}
    page = notebook.render(
        report(
            one,
            one,
            case(NASTY, message=NASTY),
            case(NASTY, "not-run", message=NASTY),
            case(NASTY, "fail", bonus=True, message=NASTY),
            fingerprint=NASTY,
            fingerprint_story=NASTY,
            compile={"status": "fail", "reason": NASTY, "targets": [row]},
            environment={"device": NASTY},
        )
    )
    found = Tags(page)
    assert found.open == [], "every element is closed"
    assert not found.tags & {"script", "img"}
    assert "svg" in found.tags
    assert not [name for name in found.attributes if name.startswith("on")]
    assert [ch for ch in page if not ch.isprintable() and ch != "\n"] == []


def test_html_style_stays_inside_the_report():
    rules = [rule.split("{")[0] for rule in notebook.STYLE.split("}") if rule.strip()]
    assert len(rules) > 20
    assert all(part.strip().startswith(".graded-kernels") for rule in rules for part in rule.split(","))
    assert not re.search(r"\drem\b", notebook.STYLE), "nbgrader's page has a rem of 10 pixels, JupyterLab one of 16"
    assert notebook.render(candle()).count("<style") == 1, "a style sheet in the picture would hold for the whole page"


def test_html_draws_failures_openly_and_success_folded():
    assert "<svg" not in notebook.render(stub())
    in_order(notebook.render(report(case("a", curve=curve()), passed=True)), "<details>", "<svg")
    in_order(notebook.render(candle()), "<svg", "<details>")
    page = notebook.render(report(case("a", curve=curve()), case("b", "fail")))
    assert "<svg" not in page, "the picture of a passing case explains no failure"


def test_a_graded_answer_is_drawn_where_it_failed_and_not_where_it_passed():
    passed, failed = report(case("a", curve=curve()), passed=True), candle()
    assert "<svg" not in shown(passed)[1]
    assert "<svg" in shown(failed)[1]
    assert shown(passed)[1] == notebook.render(passed).replace(notebook.figure(*notebook.chosen(passed.cases)), "")


def test_a_graded_answer_that_compiles_says_nothing_of_registers():
    row = {"target": "sm_90", "kernel": "f", "status": "pass", "registers": 32, "spills": 0, "load_bits": 128}
    row |= {"seconds": 1.0, "cached": False}
    compiled = {"status": "pass", "reason": "", "targets": [row], "compiled_for": ["sm_90"], "forms": 1, "complete": 1}
    right = report(case("a"), passed=True, compile=compiled)
    in_order(notebook.render(right), "32 registers", "Compiler: compiled for sm_90")
    assert not re.search("register|sm_90|Compiler", shown(right)[1])
    wrong = report(case("a"), compile=compiled | {"status": "fail", "targets": [row | {"status": "fail"}]})
    assert "Compiler: a kernel does not compile." in shown(wrong)[1]


def test_html_of_what_passed_is_a_heading_and_three_lines():
    page = notebook.render(
        report(case("a", curve=curve()), case("b", bonus=True), passed=True, environment={"seed": "0"})
    )
    assert re.findall("<summary>(.*?)</summary>", page) == [
        "1 case passed.",
        "What was measured",
        "Extra, not needed: 1 of 1.",
    ]
    assert re.sub("<details>.*?</details>", "", page, flags=re.DOTALL).count("<p") == 1


def test_html_of_every_bfloat16_value_is_small_and_always_the_same():
    page = notebook.render(candle())
    assert len(page) < 150_000
    assert page == notebook.render(candle())


# The picture


@pytest.mark.parametrize("x", [0.0, 1.0, -3.3895313892515355e38, 9.183549615799121e-41])
def test_picture_keeps_a_single_wrong_value_among_65536(x):
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    picture.plot(axes, curve(wrong_at=(x,)))
    answer = next(line for line in axes.lines if line.get_label() == "your answer")
    assert max(answer.get_ydata()) == 300
    assert answer.get_xdata()[np.argmax(answer.get_ydata())] == x


def test_picture_marks_nan_on_the_top_edge():
    assert "infinity" in picture.draw(curve(lost_at=(0.0,)))
    assert "infinity" not in picture.draw(curve(wild=False))


def test_picture_says_how_much_lies_beyond_its_axis():
    assert "1 more wrong value beyond" in picture.draw(curve(wrong_at=(1.0, 2.0**20)))


@pytest.mark.parametrize("ulp, allowed", [(0.0, 1.0), (np.inf, 1.0), (0.5, np.inf), (1e30, 0.0)])
def test_picture_draws_extremes(ulp, allowed):
    x = np.array([-1.0, 0.0, 5e-324, 1e300])
    drawn = picture.draw(Curve("x", "float32", x, np.full(4, ulp), None, "", np.full(4, allowed)))
    assert drawn.startswith("<svg")
    assert drawn.endswith("</svg>")
    assert Tags(drawn).open == []


@pytest.mark.parametrize("exponent", range(2, 39, 3))
def test_labels_of_errors_do_not_overlap(exponent):
    from matplotlib.figure import Figure

    drawn = curve(lost_at=(0.0,))
    figure = Figure(figsize=(7.2, 3), layout="constrained")  # of a report
    axes = figure.add_subplot()
    picture.plot(axes, replace(drawn, ulp=np.where(drawn.x == 1, 10.0**exponent, drawn.ulp)))
    figure.canvas.draw()
    boxes = sorted((label.get_window_extent() for label in axes.get_yticklabels()), key=lambda box: box.y0)
    assert len(boxes) >= 3
    assert all(below.y1 <= above.y0 for below, above in itertools.pairwise(boxes))


def test_picture_is_of_the_first_failing_case_that_has_a_curve():
    first, second = case("first", "fail"), case("second", "fail", curve=curve())
    drawn, its_curve = notebook.chosen((case("passing", curve=curve()), first, second))
    assert drawn.name == "second"
    assert its_curve is drawn.curve
    assert notebook.chosen((first, case("passing", curve=curve()))) is None
