"""Single cases on which alone a small mistake in the judge shows: another row, an integer, a number that overflows."""

import inspect
import re
from dataclasses import replace
from unittest.mock import Mock

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from compared import FEW, SIZES_ALONE
from graded_kernels.autograder import cli, compare
from graded_kernels.autograder.judge.batches.compositions import compositions
from graded_kernels.autograder.judge.batches.order_of_sums import parting_lines
from graded_kernels.autograder.judge.checking.check import choose_backend
from graded_kernels.autograder.judge.comparing.closeness import Expected, near
from graded_kernels.autograder.judge.comparing.form import as_asked
from graded_kernels.autograder.judge.explaining.changed_inputs import changed
from graded_kernels.autograder.judge.explaining.place import place
from graded_kernels.autograder.judge.explaining.up_to import GRAPH, but_for_its_graph
from graded_kernels.autograder.judge.records.derived import floor_of
from graded_kernels.autograder.judge.records.named import named
from graded_kernels.autograder.judge.records.table import EXERCISES
from graded_kernels.autograder.judge.report import notebook, plot, terminal
from graded_kernels.autograder.judge.report.measured import targets
from graded_kernels.autograder.judge.report.phrases import CaseText, CauseText
from graded_kernels.autograder.judge.report.worst_element import off_by
from graded_kernels.autograder.judge.side_by_side import values_and_rows
from graded_kernels.autograder.judge.side_by_side.sides import sides_of, word_of
from reports import case, failure, report


def test_a_row_of_the_middle_is_asked_alone():
    assert [batch.rows for batch in compositions(7)][:3] == [(0,), (3,), (6,)]


def test_an_exercise_with_one_backend_is_judged_on_it():
    assert choose_backend(EXERCISES["row_sum"], None, lambda x: x.sum(-1)) == "triton"


@pytest.mark.parametrize("command", ["neighbours f.py:f --arguments e.py:a --batch x", "compare a.py:f b.py:f"])
def test_the_seed_is_0_where_none_is_named(command):
    assert cli.parser().parse_args(command.split()).seed == 0


@pytest.mark.parametrize("more, gradients", [([], None), (["--forward-only"], False)], ids=str)
def test_the_command_compares_gradients_unless_it_is_asked_not_to(more, gradients, monkeypatch):
    class Asked(Exception):
        pass

    def compare(*sides, **options):
        raise Asked(options["gradients"])

    monkeypatch.setattr(values_and_rows, "compare", compare)
    with pytest.raises(Asked, match=str(gradients)):
        cli.main(["compare", "a.py:f", "b.py:f", "--arguments", "a.py:x", *more])


def test_a_new_exercise_needs_a_family(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["new", "softcap"])
    assert ended.value.code == 2 and "--like" in capsys.readouterr().err


def expected_of(value, dtype):
    exact = torch.tensor(value, dtype=dtype)
    nothing = torch.zeros(exact.shape, dtype=torch.float64)
    return Expected(("y",), (dtype,), (exact,), (nothing + 1,), (nothing,), None, nothing.bool())


def test_an_integer_is_not_near_because_it_is_large():
    assert near(expected_of([100_000, 200_000], torch.int64), (torch.tensor([100_001, 200_000]),)) == 0
    assert near(expected_of([100_000.0, 200_000.0], torch.float64), (torch.tensor([100_001.0, 200_000.0]),)) == 1


def test_a_right_result_without_its_graph_lacks_the_gradient_alone():
    y, dx = expected_of([1.0, 2.0], torch.float32), expected_of([3.0, 4.0], torch.float32)
    fields = {name: (*getattr(y, name), *getattr(dx, name)) for name in ("dtypes", "values", "sizes", "allowed")}
    both = replace(y, names=("y", "dx"), **fields)
    assert but_for_its_graph(both, (torch.tensor([1.0, 2.0]),)) == ((GRAPH, 1.0),)
    assert but_for_its_graph(both, (torch.tensor([1.0, 3.0]),)) == ()
    assert but_for_its_graph(both, (torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))) == ()


def test_results_in_another_order_are_told_and_taken_in_theirs():
    y, dx = expected_of([1.0, 2.0], torch.float32), expected_of([3.0, 4.0], torch.float32)
    fields = {name: (*getattr(y, name), *getattr(dx, name)) for name in ("dtypes", "values", "sizes", "allowed")}
    both = replace(y, names=("y", "dx"), **fields)
    outputs, fault = as_asked(both, (torch.tensor([3.0, 4.0]), torch.tensor([1.0, 2.0])))
    assert [output.tolist() for output in outputs] == [[1, 2], [3, 4]]
    assert fault.message == "y and dx are exchanged."
    outputs, _ = as_asked(both, (torch.tensor([9.0, 9.0], dtype=torch.float64), torch.tensor([3.0, 4.0])))
    assert [output.dtype for output in outputs] == [torch.float32] * 2


def test_other_numbers_come_from_another_seed_and_not_another_size():
    asked = []

    def arguments(seed, size):
        asked.append((seed, size))
        return torch.randn(min(size, 50), 3)

    compare(torch.exp, torch.exp, arguments=arguments, gradients=False, any_method=True, without=SIZES_ALONE)
    assert len({seed for seed, _ in asked}) > 1
    assert max(size for _, size in asked) < 10_000


def test_indices_are_named_by_their_values():
    def rows(x, i):
        return x[i]

    example = torch.randn(5, 3), torch.tensor([1, 3])
    report = compare(rows, rows, arguments=example, gradients=False, any_method=True, without=FEW)
    assert {"i all 1", "i all 3", "i all 4"} <= {case.name for case in report.cases}


def test_a_last_stride_that_is_taken_for_1_reads_the_columns_between():
    x = torch.arange(8.0).view(2, 4)[:, ::2]
    changes = dict(changed(inspect.signature(lambda x: x).parameters, (x,)))
    (value,) = changes["the last stride of x were 1"]
    assert value.tolist() == [[0, 1], [4, 5]]


PROBLEM = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2


class ModelNew(Model):
    pass


def get_inputs():
    return [torch.ones(3)]


def get_init_inputs():
    return []
"""


def test_a_seed_does_not_isolate_a_candidate_of_kernelbenchs_form(tmp_path):
    file = tmp_path / "problem.py"
    file.write_text(PROBLEM)
    sides = sides_of(str(file), str(file), None, None, 3, False)
    assert type(sides.candidate).__name__ == "ModelNew"


class WrongBelowZero(torch.autograd.Function):
    """x², with a gradient that is 0 below 0."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        return 2 * dy * x.clamp(min=0)


def test_the_smallest_input_of_a_wrong_gradient_is_found():
    def square(x):
        return x * x

    report = compare(square, WrongBelowZero.apply, arguments=torch.randn(5, 7), any_method=True, without=FEW)
    told = " ".join(str(report).split())
    assert re.search(
        r"The smallest input found that fails: x = \[\[-[\d.]+\]\], upstream = \[\[-?[\d.]+\]\]; dx\[0, 0\]", told
    )


def test_labels_other_than_one_may_be_what_wrong_rows_share():
    labels = torch.tensor([0, 1, -100, 2] * 4)
    wrong = labels != -100
    exact, near_by = torch.ones(16), torch.zeros(16)
    sentence = place("loss", wrong, exact, near_by, {"labels": labels, "ignore_index": -100})
    assert sentence == "loss is wrong only where labels is not ignore_index."


def test_a_number_that_overflows_float32_leaves_the_others_an_error():
    (floor,) = floor_of(lambda x: x * x)(torch.tensor([1.1, 2.3, 1e30], dtype=torch.float64))
    assert (floor[:2] > 0).all()


def test_a_variance_is_taken_about_the_mean():
    x = 1000 + torch.randn(64, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    (far,), (about_0,) = (floor_of(lambda x: x.var(-1))(values) for values in (x, x - 1000))
    assert far < 1000 * about_0


def test_a_module_that_holds_a_value_of_no_module_is_taken(tmp_path):
    file = tmp_path / "holds_values.py"
    file.write_text("class Held:\n    pass\n\n\nvalue = Held()\nvalue.__module__ = []\n\n\ndef f(x):\n    return x\n")
    assert named(f"{file}:f")(3) == 3


def test_a_name_is_its_own_word():
    assert word_of("reference.py:rotary", "reference") == "'reference.py:rotary'"


def test_the_one_case_of_a_cause_is_named_and_several_are_folded():
    cases = [CaseText(name, name, "", "", "fail") for name in ("first case", "second case")]
    page = notebook.cases_of(CauseText("not correct", "", (cases[0],), None))
    assert "first case" in page and "<details>" not in page
    assert "<details>" in notebook.cases_of(CauseText("not correct", "", tuple(cases), None))


def test_another_cause_has_its_label_in_colour_and_its_message_alone():
    causes = (
        case("one", "fail", message="dx is wrong.", failure=failure()),
        case("two", "error", message="It raised."),
    )
    text = terminal.render(report(*causes), color=True)
    assert "\x1b[31mnot correct\x1b[0m    It raised.\n" in text


def test_the_compilers_message_is_told_with_the_first_line_that_has_it():
    row = {"status": "fail", "message": "No.", "kernel": "f", "target": "sm_90"}
    rows = [row | {"line": line, "line_text": f"x = {line}"} for line in (7, 9)]
    assert targets(rows) == [("fail", "sm_90 f: No., line 7: x = 7")]


def test_a_tolerance_at_zero_that_is_large_is_told():
    small = failure(got=1e-3, expected=0.0, ulp=7e41, allowed=30.0, step=1.4e-45)
    assert off_by(small).endswith("where 0 belongs")
    assert not off_by(replace(small, allowed=7e40)).endswith("where 0 belongs")


def test_a_lost_element_is_marked_at_its_place_on_the_top_edge():
    axes = plt.figure().add_subplot()
    axes.set_xlim(0, 10)
    plot.mark_lost(axes, np.array([4.0]), 100.0)
    (marks,) = axes.lines
    assert marks.get_xydata().tolist() == [[4.0, 100.0]]
    plt.close("all")


def test_the_axis_of_errors_begins_below_one_ulp():
    axes = plt.figure().add_subplot()
    plot.scale_errors(axes, 100.0, False)
    assert axes.get_yticks()[:2].tolist() == [0.1, 1.0]
    plt.close("all")


def test_a_grid_is_told_up_to_its_last_axis_with_programs():
    one, other = Mock(), Mock()
    one.element.return_value.parting.return_value = None
    one.launches, other.launches = [("f", (4, 1, 1), ())], [("f", (2, 1, 3), ())]
    sides = (({"y": None}, call) for call in (one, other))
    (line,) = parting_lines(*sides, "y", (0,), (0,), ("with 1 row", "with 4"))
    assert line == "Launched otherwise: `f` has grid (4, 1) with 1 row, grid (2, 1, 3) with 4"
