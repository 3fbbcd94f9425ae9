"""What the pages of benchmarks/ are made of: which row a case belongs to, what was run, what is worse than PyTorch."""

import sys
from pathlib import Path

import torch
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.judge.comparing.trial import arguments
from shares import Margin

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))  # `benchmarks` is no part of the package

from benchmarks import accuracy, margins  # noqa: E402


def kind_of(name):
    record = EXERCISES[name]
    return accuracy.kind(record, arguments(record.cases[0], 0, 0))


def test_a_case_without_floats_belongs_to_the_dtype_of_its_result():
    assert kind_of("accumulation_weights") == kind_of("bias_correction") == "float32"
    assert kind_of("product_cost") == ""


def test_the_share_told_is_that_of_the_element_furthest_off():
    total = accuracy.Distance(ulp=2.0, share=0.5, takes=0.2) | accuracy.Distance(ulp=3.0, share=0.1, takes=0.1)
    assert (total.ulp, total.share, total.takes) == (3.0, 0.5, 0.1)


def test_a_row_further_off_than_pytorchs_is_told_with_what_it_takes():
    far, near = accuracy.Distance(ulp=4.0, share=0.6, takes=0.25), accuracy.Distance(ulp=2.0, share=0.1)
    table = {("f", "float32", "PyTorch"): near, ("f", "float32", "ours, PyTorch"): near}
    table["f", "float32", "ours, Triton"] = far
    assert list(accuracy.further(table)) == ["| f | ours, Triton | float32 | 4.00 | 2.00 | 25.0% |"]


def test_a_page_of_margins_keeps_what_was_run_and_says_what_was_not():
    found = Margin(share=0.82, case="large", answer="ours", seed=3, answers=7, cases={"large": 0.82})
    run = margins.row(("silu_forward", "torch", range(1)), found)
    text = margins.page([run, f"| `axpy` | triton | {margins.NOT_RUN} | | | | | |"], {"torch": 100, "triton": 5})
    assert margins.rows_of(text) == {("silu_forward", "torch"): run}
    assert "7 answers in 1 rows: 1 rows above 70%. 1 rows are not run." in text
    assert torch.__version__ in text
