"""Exercises in another kind: a right answer to each passes, the published one fails and is told why."""

import re

import nbformat
import pytest
import torch
from answers import answer, regions
from classroom import api, assert_success, copied, place, right_answers, scores, shown
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.check import check, check_answer
from graded_kernels.autograder.exercises import mistakes
from graded_kernels.autograder.exercises.record import Exercise
from graded_kernels.autograder.exercises.variants import value_of, varied
from graded_kernels.autograder.nbgrader.grade import Grade
from graded_kernels.autograder.nbgrader.rebuild import grade_id
from graded_kernels.autograder.nbgrader.variants import VariantError, Variants, variant_of
from graded_kernels.autograder.run.answer import Answer, Cell
from graded_kernels.autograder.run.contract import as_tuple
from graded_kernels.course.regions import hide_bodies
from tampered import TORCH, find

ASKED = {"silu_slope": 1.5, "gelu_form": "tanh", "zero_centred_weight": True, "label_smoothing": 0.1}
VARIED = {name: ASKED[record.variant.parameter] for name, record in EXERCISES.items() if record.variant}
FUNCTIONS = [name for name in VARIED if isinstance(EXERCISES[name], Exercise)]
GELU = (('approximate="none"):', 'approximate="tanh"):'),)
# For each answer, the lines of ours that a right answer to the variant has otherwise; `old` may occur several times.
RIGHT: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {
    ("silu_forward", "torch"): (
        ("v = v.clamp(min=-1500)", "v = 1.5 * v.clamp(min=-1500)"),
        ("(v * tail * tail", "(v / 1.5 * tail * tail"),
    ),
    ("silu_forward", "triton"): (
        ("x = tl.where(x < -1500.0, -1500.0, x)", "x = 1.5 * tl.where(x < -1000.0, -1000.0, x)"),
        ("return x * tail * tail", "return x / 1.5 * tail * tail"),
    ),
    ("silu_backward", "torch"): (("v = v.clamp(-1500, 1500)", "v = 1.5 * v.clamp(-1000, 1000)"),),
    ("silu_backward", "triton"): (
        ("    x = tl.where(tl.abs(x) > 1500.0,", "    x = 1.5 * x\n    x = tl.where(tl.abs(x) > 1500.0,"),
    ),
    ("gelu_forward", "torch"): GELU,
    ("gelu_forward", "triton"): GELU,
    ("gelu_backward", "torch"): GELU,
    ("gelu_backward", "triton"): GELU,
    ("layer_norm_forward", "torch"): (("rstd * weight + bias", "rstd * (1 + weight.to(v.dtype)) + bias"),),
    ("layer_norm_forward", "triton"): (("rstd * weight + bias", "rstd * (1.0 + weight) + bias"),),
    ("layer_norm_backward", "torch"): (("g = dy * weight", "g = dy * (1 + weight.to(wide))"),),
    ("cross_entropy_forward", "torch"): (
        (
            "return loss.where(keep, 0), torch.logaddexp(others, own).where(keep, 0)",
            "lse = torch.logaddexp(others, own)\n    loss = 0.9 * loss + 0.1 * (lse - x.mean(1))\n"
            "    return loss.where(keep, 0), lse.where(keep, 0)",
        ),
    ),
    ("cross_entropy_forward", "triton"): (
        ("total = 0.0", "every = own  # Σ x\n    total = 0.0"),
        (
            "        top = new_top",
            "        every += tl.sum(tl.where((cols < V) & (cols != label), x, 0.0))\n        top = new_top",
        ),
        (
            "tl.store(loss_ptr + row, softplus(others - own))",
            "lse = tl.maximum(own, others) + softplus(-tl.abs(own - others))\n"
            "    tl.store(loss_ptr + row, 0.9 * softplus(others - own) + 0.1 * (lse - every / V))",
        ),
    ),
    ("cross_entropy_backward", "torch"): (
        (".scatter_(1, column, own)", ".scatter_(1, column, own + 0.1).sub_(0.1 / logits.shape[1])"),
    ),
    ("cross_entropy_backward", "triton"): (
        (
            "    dlogits = tl.where(keep, dloss",
            "    slope += tl.where(cols == label, 0.1, 0.0) - 0.1 / V\n    dlogits = tl.where(keep, dloss",
        ),
    ),
}
QUICK = {("silu_forward", "torch"), ("cross_entropy_backward", "torch")}
PAIRS = [pytest.param(*pair, marks=() if pair in QUICK else pytest.mark.exhaustive) for pair in RIGHT]


def right(name: str, backend: str) -> Answer:
    """Ours, changed as the variant asks."""
    ours = answer(name, backend)
    *before, cell = ours.cells
    source = cell.source
    for old, new in RIGHT[name, backend]:
        assert old in source, f"{name} ({backend}) no longer has {old!r}"
        source = source.replace(old, new)
    return Answer(name, (*before, Cell(cell.name, source)), ours.setup)


def test_chapters_1_to_4_have_a_variant_each():
    assert set(VARIED.values()) == set(ASKED.values())
    assert {name for name, _ in RIGHT} == set(FUNCTIONS)


@pytest.mark.parametrize(("name", "backend"), PAIRS)
def test_a_right_answer_to_the_variant_passes_and_the_published_one_does_not(name, backend):
    report = check_answer(right(name, backend), backend, compiler=False, variant=VARIED[name])
    assert report.passed, str(report)
    report = check_answer(answer(name, backend), backend, compiler=False, variant=VARIED[name])
    assert not report.passed  # what is the same in both kinds
    assert report.score <= 0.5
    assert report.fingerprint == "this is what the published answer computed (this class is asked for a variant)"
    assert report.fingerprint_story.startswith("This class is asked for")
    assert "This class is asked for" in str(report)
    assert check_answer(answer(name, backend), backend, compiler=False).passed


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_variant_is_a_record_without_mistakes(name):
    mistakes.prove(varied(EXERCISES[name], VARIED[name]))


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name.endswith("_backward")])
def test_the_gradient_is_the_derivative_of_the_forward_oracle(name):
    """By autograd in float64, on the ordinary case."""
    record = varied(EXERCISES[name], VARIED[name])
    args = record.cases[0].inputs(torch.Generator().manual_seed(1))
    named = record.named(record.widened(args))
    forward = record.forward
    inputs = {p: named[p] for p in forward.parameters if p in named}
    if "bias" in forward.parameters:
        inputs["bias"] = torch.zeros_like(inputs["weight"])
    wanted = [output.name.removeprefix("d") for output in record.outputs]
    inputs |= {p: inputs[p].clone().requires_grad_() for p in wanted}
    result = as_tuple(forward.oracle(**inputs))[0]
    gradients = torch.autograd.grad(result, [inputs[p] for p in wanted], next(iter(named.values())))
    for found, expected in zip(as_tuple(record.oracle(*record.widened(args))), gradients, strict=True):
        assert found.shape == expected.shape
        assert (found - expected).abs().max() < 2e-6 * expected.abs().max()


@pytest.mark.parametrize("name", [name for name in VARIED if name not in FUNCTIONS])
def test_a_witness_follows(name):
    record = varied(EXERCISES[name], VARIED[name])
    assert record.exercise.oracle is not EXERCISES[name].exercise.oracle
    assert check_answer(answer(name, "torch"), "torch", variant=VARIED[name]).passed


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_handed_out_says_what_is_asked_for(name):
    """In the stub, of every backend; none of the texts may be gone from the answers."""
    variant = EXERCISES[name].variant
    for folder in ("solutions", "kernels"):
        stub = re.sub(r"(?s)### BEGIN SOLUTION.*?### END SOLUTION", "", hide_bodies(regions()[folder, name]))
        for old, new in variant.stub(VARIED[name]):
            assert old in stub
            assert new not in stub


def test_a_value_that_is_none_is_refused():
    with pytest.raises(ValueError, match="silu_slope is a number from 0.25 to 4 that is not 1, not 1"):
        check("silu_forward", torch.nn.functional.silu, variant=1)
    with pytest.raises(ValueError, match="row_sum has no variant"):
        varied(EXERCISES["row_sum"], 2)
    for asked, message in (
        ({"silu": 2}, "there is no 'silu'; there are gelu_form"),
        ({"gelu_form": "erf"}, "'tanh', not"),
    ):
        with pytest.raises(VariantError, match=message):
            Variants(asked=asked).preprocess(nbformat.v4.new_notebook(), {})
    assert [value_of(text) for text in (None, "1.5", "True", "tanh")] == [None, 1.5, True, "tanh"]


def test_the_key_of_a_verdict_holds_the_variant(tmp_path):
    grader, ours = Grade(parent=None, seed=1), answer("silu_forward", "torch")
    keys = {grader.job(tmp_path, "tiny", ours, "torch", value).key for value in (None, 1.5, 2.0)}
    assert len(keys) == 3


@pytest.fixture
def course(made_course, tmp_path):
    """In which SiLU has a slope, by one line of the configuration."""
    root = copied(made_course, tmp_path)
    config = root / "nbgrader_config.py"
    config.write_text(config.read_text().replace("c.Variants.asked = {}", 'c.Variants.asked = {"silu_slope": 1.5}'))
    assert_success(api(root).generate_assignment("tiny", force=True))
    return root


def test_the_release_shows_the_variant(course):
    cells = {grade_id(cell): cell for cell in nbformat.read(course / "release" / "tiny" / "tiny.ipynb", 4).cells}
    assert "**y = x · s(1.5 x)**" in cells[f"{TORCH}-variant"].source
    assert '"""y = x · s(1.5 x), elementwise' in cells[TORCH].source
    assert "YOUR CODE HERE" in cells[TORCH].source
    check_cell = cells[f"{TORCH}-check"]
    assert check_cell.source.endswith('backend="torch", variant=1.5)')
    assert variant_of(check_cell) == 1.5
    assert "published" not in cells["silu_witness-torch-variant"].source


@pytest.mark.exhaustive
def test_a_class_is_graded_by_what_was_released(course):
    """Whatever the configuration says by then, and whatever a learner makes of the check cell."""
    published = right_answers(course)
    find(published, f"{TORCH}-check")["source"] = 'check("silu_forward", silu_forward, backend="torch")'
    find(published, f"{TORCH}-check")["metadata"]["graded_kernels"] = {}
    mine = right_answers(course)
    find(mine, TORCH)["source"] = right("silu_forward", "torch").cells[-1].source
    for student, notebook in (("published", published), ("mine", mine)):
        place(course, student).write_text(nbformat.writes(nbformat.from_dict(notebook)))
    config = course / "nbgrader_config.py"
    config.write_text(config.read_text().replace('{"silu_slope": 1.5}', "{}"))
    assert_success(api(course).autograde("tiny", "*"))
    assert scores(course, "mine")[TORCH] == 2
    assert scores(course, "published")[TORCH] == 0
    text = " ".join(shown(course, "published", f"{TORCH}-check").split())
    assert "This class is asked for y = x · s(1.5 x)." in text
