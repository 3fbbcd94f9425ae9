"""What the last chapter says of kernels: their costs, the learner's own first, and what a GPU measured."""

import json

import nbformat
import pytest
from graded_kernels.autograder.judge import ReportData
from graded_kernels.course import kernel_costs, recorded_run


@pytest.fixture
def only_silu(monkeypatch):
    name = "silu_forward"
    monkeypatch.setattr(kernel_costs, "ARGUMENTS", {name: kernel_costs.ARGUMENTS[name]})


def saved(folder, **changes):
    """A notebook with a report on silu_forward in Triton."""
    rows = [{"target": "sm_90", "registers": 77, "spills": 16, "load_bits": 32}]
    report = {"exercise": "silu_forward", "backend": "triton", "passed": True, "cases": [], "traffic": {"ratio": 2.0}}
    report |= {"compile": {"targets": rows}} | changes
    output = nbformat.v4.new_output("execute_result", {ReportData.MIME: report})
    cell = nbformat.v4.new_code_cell("check(...)", outputs=[output])
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), folder / "01_silu.ipynb")


def test_without_a_report_the_costs_are_those_of_the_courses_kernel(only_silu, tmp_path):
    (cost,) = kernel_costs.yours(tmp_path)
    assert (cost.moved, cost.spills, cost.load_bits, cost.whose) == (1.0, 0, 128, "the course's")
    assert cost.intensity == 2.5  # ten operations, for two bytes loaded and two stored


def test_a_report_that_passed_is_the_learners_kernel(only_silu, tmp_path):
    (ours,) = kernel_costs.yours(tmp_path)
    saved(tmp_path)
    (cost,) = kernel_costs.yours(tmp_path)
    assert (cost.moved, cost.registers, cost.spills, cost.load_bits, cost.yours) == (2.0, 77, 16, 32, True)
    assert cost.intensity == pytest.approx(ours.intensity / 2)
    assert "16 bytes spilled, 32-bit loads  (yours)" in str(cost)


def test_a_report_that_did_not_pass_is_left_aside(only_silu, tmp_path):
    saved(tmp_path, passed=False)
    (cost,) = kernel_costs.yours(tmp_path)
    assert not cost.yours


def test_without_a_run_there_is_nothing_to_compare_with(tmp_path):
    assert recorded_run.shares("silu_forward", results=tmp_path / "gpu.jsonl") == recorded_run.NOTHING


def test_a_run_is_read_at_its_largest_size(tmp_path):
    def row(author, ms, **more):
        return {"author": author, "dtype": "bfloat16", "ms": [ms] * 3, "bytes": 9e8, "flops": 0} | more

    found = {"copy": 1e12, "rows": [row("ours", 9.0), row("ours", 1.0), row("torch", 0, failed="out of memory")]}
    lines = [
        {"piece": "machine", "status": "done", "found": {"device": "NVIDIA H100"}},
        {"piece": "speed silu_forward", "status": "done", "found": found},
    ]
    results = tmp_path / "gpu.jsonl"
    results.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    said = recorded_run.shares("silu_forward", "matmul", results=results).splitlines()
    assert said[0].startswith("Measured on NVIDIA H100")
    assert said[1].split() == ["silu_forward", "ours", "0.90,", "torch", "failed"]
    assert said[2].split() == ["matmul", "not", "run"]
