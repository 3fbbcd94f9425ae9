"""A list of tensors as one parameter: the gradients of a model, whose norm is taken over all of them."""

import re
from dataclasses import replace

import pytest
import torch
from graded_kernels.autograder import Case, Exercise, Output, Tolerance, WildBug
from graded_kernels.autograder.judge.checking.check import check_answer
from graded_kernels.autograder.judge.comparing.trial import probe_inputs
from graded_kernels.autograder.judge.records.derived import derived
from graded_kernels.autograder.judge.records.record import Witness
from graded_kernels.autograder.judge.records.settings import Settings
from graded_kernels.autograder.judge.records.validation import RecordError, validate
from graded_kernels.autograder.runner import Answer, Cell, ProbeInput, Tree
from turns import in_turn

EPS = 2.0**-24
BOTH = pytest.mark.parametrize("isolated", [False, True], ids=["in process", "isolated"])
ISOLATED = pytest.mark.parametrize(
    "isolated", [False, pytest.param(True, marks=pytest.mark.exhaustive)], ids=["in process", "isolated"]
)
SEEDS = pytest.mark.parametrize("seeds", [1, pytest.param(20, marks=pytest.mark.exhaustive)])


def norm(grads):
    return sum((g.square().sum() for g in grads), torch.zeros((), dtype=torch.float64)).sqrt()


def drawn(*kinds):
    """Normal numbers: ``(dtype, *shape)`` for each tensor of the list."""
    return lambda generator: ([torch.randn(shape, generator=generator).to(dtype) for dtype, *shape in kinds],)


def strided(generator):
    wide = torch.randn(40, generator=generator)
    return (
        [torch.randn(6, 8, generator=generator).t(), wide[::2], torch.randn(1, 5, generator=generator).expand(3, 5)],
    )


def halves(generator):
    buffer = torch.randn(70, generator=generator)
    return ([buffer[:30], buffer[30:]],)


def twice(generator):
    tied = torch.randn(30, generator=generator)
    return ([tied, torch.randn(4, generator=generator), tied],)


F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16
CASES = (
    Case("three gradients", drawn((F32, 5, 7), (F32, 300), (F32, 130)), "Begin here."),
    Case("mixed dtypes", drawn((F32, 4, 5), (F16, 333), (BF16, 6, 7)), "Square in float32."),
    Case("large in float16", lambda generator: ([torch.full((300,), 300.0, dtype=F16)],), "90,000 is no float16."),
    Case("one is empty", drawn((F32, 3), (F32, 0, 4), (F32, 5)), "A layer may be frozen."),
    Case("no gradients", lambda generator: ([],), "The sum of nothing is 0."),
    Case("strided", strided, "Gradients have any strides."),
    Case("views of one buffer", halves, "They lie side by side."),
    Case("one tensor twice", twice, "It counts twice."),
)
RECORD = Exercise(
    name="global_norm",
    summary="the 2-norm of all gradients together",
    oracle=norm,
    outputs=(Output("norm", F32),),
    cases=CASES,
    tolerance=Tolerance(1, 8, "sums of squares in float32", lambda grads: (8 * EPS * norm(grads),)),
    hint="",
    backends=("torch", "triton"),
    least_bytes=lambda grads: 4 + sum(g.numel() * g.element_size() for g in grads),
    traffic=1.2,
    most_bytes=lambda grads: 4096 + 8 * sum(g.numel() for g in grads),
)

TORCH = """\
import torch


def global_norm(grads):
    total = torch.zeros(())
    for g in grads:
        total = total + g.float().square().sum()
    return total.sqrt()
"""
HEAD = """\
import torch
import triton
import triton.language as tl


@triton.jit
def root(total, out):
    tl.store(out, tl.sqrt(tl.load(total)))


"""
ATOMIC = (
    HEAD
    + """\
@triton.jit
def squares(x, total, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + offsets, mask=offsets < n, other=0.0).to(tl.float32)
    tl.atomic_add(total, tl.sum(v * v))


def global_norm(grads):
    total = torch.zeros((), device="cuda" if torch.cuda.is_available() else "cpu")
    out = torch.empty_like(total)
    for g in grads:
        g = g.contiguous()
        squares[(triton.cdiv(g.numel(), 128),)](g, total, g.numel(), BLOCK=128)
    root[(1,)](total, out)
    return out
"""
)
PARTIAL = (
    HEAD
    + """\
@triton.jit
def squares(x, total, rows, columns, by_row, by_column, BLOCK: tl.constexpr):
    s = tl.load(total)
    for begin in range(0, rows * columns, BLOCK):
        offsets = begin + tl.arange(0, BLOCK)
        place = offsets // columns * by_row + offsets % columns * by_column
        v = tl.load(x + place, mask=offsets < rows * columns, other=0.0).to(tl.float32)
        s += tl.sum(v * v)
    tl.store(total, s)


def global_norm(grads):
    total = torch.zeros((), device="cuda" if torch.cuda.is_available() else "cpu")
    out = torch.empty_like(total)
    for g in grads:
        if g.numel():
            g = g if g.dim() == 2 else g.unsqueeze(0)
            squares[(1,)](g, total, *g.shape, *g.stride(), BLOCK=256)
    root[(1,)](total, out)
    return out
"""
)


def answer(source: str, old: str = "", new: str = "") -> Answer:
    assert source.count(old) == 1 or not old
    name = "clip_by_global_norm" if "def clip_by" in source else "global_norm"
    return Answer(name, (Cell("cell", source.replace(old, new) if old else source),))


@pytest.fixture
def report_on(request):
    """The report on an answer with ``old`` replaced by ``new``."""

    def report_on(isolated, source, old="", new="", *, record=RECORD, seed=0, compiler=False, **options):
        worker = request.getfixturevalue("worker") if isolated else None
        backend = "triton" if "@triton.jit" in source else "torch"
        settings = Settings(backend, seed, compiler)
        return check_answer(answer(source, old, new), settings, worker=worker, record=record, **options)

    return report_on


@SEEDS
@BOTH
@pytest.mark.parametrize("source", [TORCH, ATOMIC, PARTIAL], ids=["torch", "triton, atomics", "triton, partial sums"])
def test_a_right_answer_passes_at_every_seed(source, isolated, seeds, report_on):
    for seed in range(seeds):
        report = report_on(isolated, source, seed=seed)
        assert report.passed, report
        assert report.score == 1


SUM = "    return total.sqrt()\n"
LAUNCH = "        squares[(triton.cdiv(g.numel(), 128),)](g, total, g.numel(), BLOCK=128)\n"
STACK = "    return torch.stack([g.float().square().sum() for g in grads]).sum().sqrt()\n"
VALUE = "norm is wrong in 1 of 1 elements."
CHANGED = "The answer changed its input {}. The caller may still need it: write into a new tensor."
RELISTED = "The answer took tensors out of the list grads, or put others in: leave it as it was given."
WRONG = {
    "without the last, in PyTorch": (TORCH, "in grads:", "in grads[:-1]:", "three gradients", VALUE),
    "without the last, in Triton": (ATOMIC, "in grads:", "in grads[:-1]:", "three gradients", VALUE),
    "squares float16, in PyTorch": (TORCH, ".float().square().sum()", ".square().sum()", "large in float16", VALUE),
    "squares float16, in Triton": (ATOMIC, ".to(tl.float32)", "", "large in float16", VALUE),
    "adds norms, in PyTorch": (TORCH, "g.float().square().sum()", "g.float().norm()", "three gradients", VALUE),
    "adds norms, in Triton": (ATOMIC, "tl.sum(v * v))", "tl.sqrt(tl.sum(v * v)))", "three gradients", VALUE),
    "changes one": (
        *(TORCH, SUM, "    for g in grads[1:2]:\n        g.mul_(2)\n" + SUM),
        *("three gradients", CHANGED.format("grads[1]")),
    ),
    "changes half of a buffer": (
        *(ATOMIC, LAUNCH, LAUNCH + "        if g is grads[-1]:\n            g.zero_()\n"),
        *("views of one buffer", CHANGED.format("grads[1]")),
    ),
    "takes each address once, in PyTorch": (
        *(TORCH, "in grads:", "in {g.data_ptr(): g for g in grads}.values():", "one tensor twice", VALUE),
    ),
    "takes each address once, in Triton": (
        *(ATOMIC, "in grads:", "in {g.data_ptr(): g for g in grads if g.numel()}.values():", "one tensor twice", VALUE),
    ),
    "takes each tensor once": (TORCH, "in grads:", "in set(grads):", "one tensor twice", VALUE),
    "empties the list": (TORCH, SUM, "    grads.clear()\n" + SUM, "three gradients", RELISTED),
    "puts another in": (
        *(ATOMIC, "    root[", "    grads[1:2] = [torch.empty_like(g) for g in grads[1:2]]\n    root["),
        *("three gradients", RELISTED),
    ),
    "raises without gradients": (TORCH, SUM, STACK, "no gradients", "stack expects a non-empty TensorList"),
    "reads past the end": (
        *(ATOMIC, "g.numel(), BLOCK", "g.numel() + (g is grads[-1]), BLOCK"),
        *("three gradients", "`squares` loads x (grads[2]) out of bounds in program (1, 0, 0), line 14"),
    ),
}


def failing(report):
    return {case.name: case.message for case in report.cases if case.status in ("fail", "error")}


@pytest.mark.parametrize(("wrong", "isolated"), in_turn(WRONG, (False, True)))
def test_a_wrong_answer_is_told_which_tensor(wrong, isolated, report_on):
    source, old, new, case, says = WRONG[wrong]
    report = report_on(isolated, source, old, new)
    assert says in failing(report)[case]
    assert not report.passed


@ISOLATED
def test_a_report_says_what_each_tensor_of_a_list_is(isolated, report_on):
    many = Case("many", drawn(*[(F32, 333)] * 30), "")
    report = report_on(isolated, ATOMIC, record=replace(RECORD.with_cases((many,)), traffic=None))
    inputs = {case.name: case.inputs for case in report.cases}
    assert report.passed
    assert inputs["mixed dtypes"] == "grads: [float32 (4, 5), float16 (333,), bfloat16 (6, 7)]"
    assert inputs["no gradients"] == "grads: []"
    assert inputs["strided"].startswith("grads: [float32 (8, 6) strides (1, 8), float32 (20,) strides (2,), ")
    assert inputs["many"] == f"grads: [{'float32 (333,), ' * 8}22 more]"


def test_a_case_with_lists_is_about_what_their_tensors_are():
    categories = {case.name: RECORD.category(case, case.inputs(torch.Generator())) for case in CASES}
    assert categories == {
        "three gradients": "plain",
        "mixed dtypes": "dtypes",
        "large in float16": "dtypes",
        "one is empty": "edges",
        "no gradients": "edges",
        "strided": "layouts",
        "views of one buffer": "plain",
        "one tensor twice": "plain",
    }


@ISOLATED
def test_a_result_that_is_a_tensor_of_the_list_is_named(isolated, report_on):
    one = Case("one number", lambda generator: ([torch.rand((), generator=generator) + 1],), "")
    report = report_on(isolated, TORCH, SUM, "    return grads[0]\n", record=replace(RECORD, cases=(one,)))
    assert failing(report)["one number"].startswith("An output shares memory with the input grads[0].")


@ISOLATED
def test_a_bug_is_named_by_what_it_computes_from_a_list(isolated, report_on):
    def adds_norms(grads):
        return sum((g.square().sum().sqrt() for g in grads), torch.zeros(())).sqrt().float()

    bug = WildBug("some library", "a thread", adds_norms, "three gradients", "")
    right = report_on(isolated, TORCH, record=replace(RECORD, wild=(bug,)))
    wrong = report_on(isolated, TORCH, "square().sum()", "norm()", record=replace(RECORD, wild=(bug,)))
    assert (right.fingerprint, wrong.fingerprint) == (None, "this is what some library computed (a thread)")


def test_probe_inputs_are_other_numbers_in_lists_of_the_same_layout():
    for case in CASES:
        (given,) = args = case.inputs(torch.Generator().manual_seed(3))
        for probe_input in (probe_inputs(case, args, 5)(), ProbeInput.any_numbers(args)):
            (other,) = probe_input.args
            assert [(g.dtype, g.shape, g.stride()) for g in other] == [(g.dtype, g.shape, g.stride()) for g in given]
            assert not any(a.equal(b) for a, b in zip(given, other, strict=True) if a.numel())


@ISOLATED
def test_an_instructors_case_has_lists_whose_values_are_not_shown(isolated, report_on):
    grads = [torch.full((3,), 2.0), torch.full((2, 4), 0.5), torch.full((3, 2), 7.0).t()]
    hidden = (Case("hidden: two", lambda generator: (grads,), "Look again.", hidden=True),)
    assert report_on(isolated, PARTIAL, cases=hidden).passed
    case = report_on(isolated, TORCH, "in grads:", "in grads[:-1]:", cases=hidden).cases[len(CASES)]
    assert case.inputs == "grads: [float32 (3,), float32 (2, 4), float32 (2, 3) not contiguous]"
    assert case.message == "The result is wrong on this input, which is your instructor's and not shown."
    assert case.failure is None


@pytest.mark.parametrize(
    "changes, says",
    [
        (
            {"inputs": lambda generator: ([torch.ones(3), 2.0],)},
            "grads holds a float; an answer is given tensors",
        ),
        ({"inputs": lambda generator: ((torch.ones(3),),)}, "grads is a tuple; an answer is given tensors, lists of"),
        ({"inputs": lambda generator: ([torch.rand(3)],)}, "draw random numbers with the generator"),
        ({"swept": "grads"}, "swept is 'grads', which is a list: name a parameter that is one tensor"),
        ({"outputs": (Output("norm", "grads"),)}, 'of grads, of type list: write Output("norm", torch.float32)'),
        ({"gradient_of": "grads"}, "gradient_of is 'grads', which is a list"),
    ],
)
def test_what_cannot_be_a_list_is_said_before_anything_runs(changes, says):
    of_case = {name: value for name, value in changes.items() if name in ("inputs", "swept")}
    case, of_record = replace(CASES[0], **of_case), {n: v for n, v in changes.items() if n not in of_case}
    with pytest.raises(RecordError, match=re.escape(says)):
        validate(replace(RECORD, cases=(case,), **of_record))


def test_a_witness_is_no_list():
    bug = WildBug("some library", "a thread", norm, "three gradients", "")
    with pytest.raises(RecordError, match="grads is a list, which a witness cannot return"):
        validate(Witness("norm_witness", "", RECORD, bug, ""))


def test_names_and_maps_follow_one_order():
    a, b, c = torch.ones(1), torch.ones(2), torch.ones(3)
    args = (a, [b, c], 4, [], None)
    assert Tree(args).named(("x", "grads", "n", "none", "m")) == {"x": a, "grads[0]": b, "grads[1]": c}
    assert Tree(args).map(len) == (1, [2, 3], 4, [], None)
    assert [len(t) for t in Tree(args).tensors] == [1, 2, 3]
    assert Tree(args).any_empty
    assert not Tree((a, [b], 4)).any_empty
    assert Tree((a, [b, torch.ones(0, 2)])).any_empty


def clipped(grads, max_norm):
    """The formula: the norm, and the gradients times max_norm / norm where that is below 1."""
    total = norm(grads)
    scale = (max_norm / total.clamp(min=1e-30)).clamp(max=1)
    return total, [scale * g for g in grads]


def clip_floor(grads, max_norm):
    total, scaled = clipped(grads, max_norm)
    return 8 * EPS * total, [8 * EPS * g.abs() for g in scaled]


def with_max_norm(case):
    return replace(case, inputs=lambda generator: (*case.inputs(generator), 1.5))


CLIP = replace(
    RECORD,
    name="clip_by_global_norm",
    oracle=clipped,
    writes=("grads",),
    cases=tuple(with_max_norm(case) for case in CASES if case.name not in ("strided", "one tensor twice")),
    tolerance=Tolerance(1, 8, "sums of squares in float32, and a division", clip_floor),
    least_bytes=lambda grads, max_norm: 4 + 3 * sum(g.numel() * g.element_size() for g in grads),
    most_bytes=None,
)
CLIP_TORCH = """\
import torch


def clip_by_global_norm(grads, max_norm):
    total = torch.zeros(())
    for g in grads:
        total = total + g.float().square().sum()
    total = total.sqrt()
    scale = (max_norm / total).clamp(max=1)
    for g in grads:
        g.copy_(scale * g.float())
    return total
"""
CLIP_TRITON = (
    ATOMIC.partition("def global_norm")[0]
    + """\
@triton.jit
def scale(x, norm, max_norm, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + offsets, mask=offsets < n, other=0.0).to(tl.float32)
    tl.store(x + offsets, v * tl.minimum(max_norm / tl.load(norm), 1.0), mask=offsets < n)


def clip_by_global_norm(grads, max_norm):
    total = torch.zeros((), device="cuda" if torch.cuda.is_available() else "cpu")
    out = torch.empty_like(total)
    for g in grads:
        squares[(triton.cdiv(g.numel(), 128),)](g, total, g.numel(), BLOCK=128)
    root[(1,)](total, out)
    for g in grads:
        scale[(triton.cdiv(g.numel(), 128),)](g, out, max_norm, g.numel(), BLOCK=128)
    return out
"""
)


@SEEDS
@BOTH
@pytest.mark.parametrize("source", [CLIP_TORCH, CLIP_TRITON], ids=["torch", "triton"])
def test_a_list_is_written_in_place_at_every_seed(source, isolated, seeds, report_on):
    for seed in range(seeds):
        report = report_on(isolated, source, record=CLIP, seed=seed)
        assert report.passed, report
        assert report.score == 1


COPY = "    for g in grads:\n        g.copy_(scale * g.float())\n"
TWO = "grads[1] is wrong in 300 of 300 elements, grads[2] in 130 of 130."
KEPT = f"{TWO} Those of grads[1] are as they came in: write to every element of the tensor"
OTHERS = f"grads[0] is wrong in 35 of 35 elements, grads[1] in 300 of 300, grads[2] in 130 of 130. {RELISTED}"
NEW = "    grads[:] = [(scale * g.float()).to(g.dtype) for g in grads]\n"
PAST = "`scale` stores to x (grads[0]) out of bounds"
NOT_WRITTEN = {
    "the first alone": (CLIP_TORCH, COPY, COPY.replace("in grads:", "in grads[:1]:"), KEPT),
    "the first alone, in Triton": (CLIP_TRITON, "in grads:\n        scale", "in grads[:1]:\n        scale", KEPT),
    "new ones in the list": (
        CLIP_TORCH,
        COPY,
        "    grads[:] = [(scale * g.float()).to(g.dtype) for g in grads]\n",
        OTHERS,
    ),
    "all but the list": (CLIP_TORCH, "    return", "    grads.clear()\n    return", RELISTED),
    "past the end": (
        CLIP_TRITON,
        "1.0), mask=offsets < n",
        "1.0), mask=offsets <= n",
        "`scale` stores to x (grads[0]) out",
    ),
}


@pytest.mark.parametrize(("wrong", "isolated"), in_turn(NOT_WRITTEN, (False, True)))
def test_a_tensor_of_a_list_that_is_not_written_is_named(wrong, isolated, report_on):
    source, old, new, says = NOT_WRITTEN[wrong]
    report = report_on(isolated, source, old, new, record=CLIP)
    assert says in report.cases[0].message


def test_of_many_tensors_that_are_wrong_a_few_are_counted(report_on):
    many = Case("many", lambda generator: (list(torch.randn(90, 3, generator=generator).unbind()), 1.5), "")
    first = COPY.replace("in grads:", "in grads[:1]:")
    report = report_on(False, CLIP_TORCH, COPY, first, record=replace(CLIP, cases=(many,)))
    assert "grads[4] in 3 of 3, and 85 more outputs. Those of grads[1] are" in report.cases[0].message


def test_a_list_that_is_written_may_be_longer_than_before(report_on):
    """A wrong result is compared with those of the cases before, which have fewer."""
    twice_the_last = COPY + "    if len(grads) > 1:\n        grads[-1].mul_(2)\n"
    report = report_on(False, CLIP_TORCH, COPY, twice_the_last, record=replace(CLIP, cases=CLIP.cases[2:4]))
    assert "grads[2] is wrong in 5 of 5" in failing(report)["one is empty"]


@ISOLATED
def test_many_tensors_are_written(isolated, report_on):
    count = 900 if isolated else 90
    many = Case("many", lambda generator: (list(torch.randn(count, 3, generator=generator).unbind()), 1.5), "")
    record = replace(CLIP, cases=(many,))
    validate(record)
    assert report_on(isolated, CLIP_TORCH, record=record).passed
    left_out = CLIP_TORCH, COPY, COPY.replace("in grads:", f"in grads[:{count - 1}]:")
    failure = report_on(isolated, *left_out, record=record).cases[0].failure
    assert (failure.output, failure.wrong) == (f"grads[{count - 1}]", 3)
    assert list(failure.inputs) == [f"grads[{count - 1}]"]  # the others are no inputs to it, though they have its shape
    more = replace(many, inputs=lambda generator: ([torch.ones(1)] * 1001, 1.5))
    with pytest.raises(RecordError, match="its arguments are 1,001 tensors; draw 1,000 at most"):
        validate(replace(CLIP, cases=(more,)))


def test_the_bias_of_a_list_is_that_of_all_its_tensors(report_on):
    halves = Case(
        "halves", lambda generator: (list(torch.randn(10, 100, generator=generator).half().unbind()), 9.0), ""
    )
    report = report_on(False, CLIP_TORCH, record=replace(CLIP, cases=(halves,), unbiased=True))
    (bias,) = (case for case in report.cases if case.name == "bias")
    assert bias.message.startswith("The ")
    assert " rounded results of grads in float16 are on average " in bias.message
    assert bias.status == "pass"


def test_a_written_list_has_a_result_for_each_tensor():
    kept = CLIP.cases[0]
    for oracle, says in (
        (lambda grads, max_norm: norm(grads), "the oracle returns 1 tensors and outputs and writes name 4"),
        (lambda grads, max_norm: (norm(grads), [g[:1] for g in grads]), "oracle's grads[0] has shape (1, 7)"),
        (lambda grads, max_norm: (norm(grads), [g.mul_(2) for g in grads]), "writes into its argument grads"),
    ):
        with pytest.raises(RecordError, match=re.escape(says)):
            validate(replace(CLIP, oracle=oracle, cases=(kept,)))
    rows = replace(kept, inputs=lambda generator: ([torch.ones(3), torch.ones(1, 3).expand(2, 3)], 1.5))
    with pytest.raises(RecordError, match=r"grads\[1\] is written, and elements of it lie in one place"):
        validate(replace(CLIP, cases=(rows,)))
    validate(replace(CLIP, tolerance=derived(clipped), cases=(kept,)))
    assert CLIP.signature == "clip_by_global_norm(grads, max_norm) -> norm, writes grads"


def test_two_trees_have_the_same_bits_or_not():
    nan, zero = torch.tensor([float("nan"), 0.0]), torch.zeros(2)
    assert Tree((nan, [zero])).same_bits((nan.clone(), [zero.clone()]))
    assert not Tree((zero,)).same_bits((-zero,))
    assert not Tree((zero,)).same_bits((zero.half(),))
    assert not Tree((zero,)).same_bits((zero.reshape(2, 1),))
    with pytest.raises(ValueError, match="zip"):
        Tree((zero,)).same_bits((zero, zero))


def test_the_tensors_that_are_meant_are_changed_in_their_layout():
    x, y = torch.arange(6.0).reshape(2, 3), torch.ones(3).expand(2, 3)
    args = Tree((x.t(), 5, [y])).changed(lambda elements: elements + 1, [True, True])
    assert args[0].equal(x.t() + 1) and args[0].stride() == x.t().stride() and args[1] == 5
    assert args[2][0].equal(y + 1) and args[2][0].stride() == (0, 1)
    assert Tree((x,)).changed(lambda elements: elements + 1, [False])[0] is x
