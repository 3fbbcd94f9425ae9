"""`make gpu` without a GPU: every path of it, on a simulated device."""

import json
import re
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
import torch
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.judge import Exercise

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))  # `benchmarks` is no part of the package

from benchmarks.gpu import __main__ as command  # noqa: E402
from benchmarks.gpu import device_tests, peers, plan, planted_bugs, run, speed  # noqa: E402
from benchmarks.gpu.child import simulated_device  # noqa: E402
from benchmarks.gpu.kept import Kept  # noqa: E402
from benchmarks.gpu.operations import OPERATIONS  # noqa: E402
from benchmarks.gpu.page import page  # noqa: E402
from benchmarks.gpu.plan import Piece  # noqa: E402

without_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="not run: there is a GPU, and this simulates one")
PIECES = [Piece("machine", "", 15), Piece("speed", "axpy", 20), Piece("speed", "row_sum", 20)]


def table_rows(text):
    return [line for line in text.splitlines() if line.startswith("| ") and "---" not in line]


def test_without_kept_results_there_is_no_page_and_readme_says_so():
    """README's sentence goes, and the page appears, with the first run."""
    kept, written = Kept(ROOT / "benchmarks" / "gpu.jsonl"), ROOT / "benchmarks" / "gpu.md"
    committed = written.read_text(encoding="utf-8") if written.exists() else None
    assert committed == (page(kept) if kept.results else None), "stale: python -m benchmarks.gpu --page"
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert ("nothing was timed" in readme) is (committed is None)


def test_without_results_every_row_says_not_run(tmp_path):
    text = page(Kept(tmp_path / "none.jsonl"))
    headers = ("| kernel |", "| bug |", "| function |", "| input_precision |", "| exercise |")
    rows = [line for line in table_rows(text) if not line.startswith(headers)]
    assert len(rows) > 140
    assert not [line for line in rows if "not run" not in line]
    assert not [line for line in rows if any(digit in line.split("|", 3)[3] for digit in "0123456789")]


def test_what_is_timed_is_an_exercise_in_triton():
    assert set(OPERATIONS) <= {e.name for e in EXERCISES.values() if isinstance(e, Exercise) and "triton" in e.backends}


def test_an_exercise_in_triton_that_is_not_timed_is_named_on_the_page(tmp_path, monkeypatch):
    left = {name: one for name, one in OPERATIONS.items() if name not in ("axpy", "row_sum")}
    monkeypatch.setattr("benchmarks.gpu.operations.OPERATIONS", left)
    text = page(Kept(tmp_path / "none.jsonl"))
    (said,) = re.findall(r"Not timed, without a row in benchmarks/gpu/operations.py: (.*)\.\n", text)
    assert {"axpy", "row_sum"} <= set(said.split(", "))


def test_the_plan_takes_less_than_its_minutes_and_no_key_twice():
    keys = [piece.key for piece in plan.pieces()]
    assert len(set(keys)) == len(keys)
    assert sum(piece.seconds for piece in plan.pieces()) < 25 * 60


def executed(done, broken=(), interrupted=None):
    """Stands for a process: notes the pieces, and fails or is interrupted at some."""

    def execute(piece, seconds):
        done.append(piece.key)
        if piece.key == interrupted:
            raise KeyboardInterrupt
        if piece.key in broken:
            raise run.Failed("signal 9")
        return speed_result(ours=1.0) if piece.kind == "speed" else {}

    return execute


def test_a_run_goes_on_where_it_was_interrupted(tmp_path):
    path, done, said = tmp_path / "gpu.jsonl", [], []
    with pytest.raises(KeyboardInterrupt):
        run.run(PIECES, Kept(path), 60, executed(done, interrupted="speed axpy"), said.append)
    assert done == ["machine", "speed axpy"]
    assert not run.run(PIECES, Kept(path), 60, executed(done), said.append)
    assert done == ["machine", "speed axpy", "speed axpy", "speed row_sum"]
    assert said[-3] == f"1 of 3 pieces are kept in {path}"
    assert said[-2] == "[1/2] speed axpy; about 1 min left"


def test_a_line_that_was_cut_off_is_left_out(tmp_path):
    path = tmp_path / "gpu.jsonl"
    run.run(PIECES[:2], Kept(path), 60, executed([]), print)
    path.write_text(path.read_text()[:-20])
    kept = Kept(path)
    assert kept.done("machine") and not kept.done("speed axpy")
    run.run(PIECES, kept, 60, executed([]), print)
    assert all(Kept(path).done(piece.key) for piece in PIECES)


def test_a_piece_that_fails_is_named_and_tried_again(tmp_path):
    kept, done = Kept(tmp_path / "gpu.jsonl"), []
    run.run(PIECES, kept, 60, executed(done, broken=["speed axpy"]), print)
    assert kept.results["speed axpy"]["reason"] == "signal 9"
    assert "| axpy | bfloat16 | failed | failed |" in page(Kept(kept.path))
    run.run(PIECES, kept, 60, executed(done), print)
    assert done[3:] == ["speed axpy"]


def test_what_no_time_is_left_for_is_handed_back(tmp_path, monkeypatch):
    clock = iter([0.0, *(40.0 * n for n in range(99))])
    monkeypatch.setattr(run.time, "monotonic", lambda: next(clock))
    left = run.run(PIECES, Kept(tmp_path / "gpu.jsonl"), 60, executed([]), print)
    assert [piece.key for piece in left] == ["speed axpy", "speed row_sum"]


def test_a_process_that_takes_too_long_is_ended():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    begun = time.monotonic()
    assert run.waited(child, 0.1) is None
    assert child.poll() == -9 and time.monotonic() - begun < 60


@pytest.mark.exhaustive
@without_gpu
def test_a_process_that_fails_says_why():
    with pytest.raises(run.Failed, match="KeyError: 'no_such_exercise'"):
        run.in_child(simulated=True)(Piece("speed", "no_such_exercise", 20), 300)


def timed_with(monkeypatch, **functions):
    """The speed of axpy on the simulated device, with other authors than PyTorch beside ours."""
    monkeypatch.setattr(peers, "FORMULAS", {})
    monkeypatch.setattr(speed, "peers", lambda name: (functions, {"quack": "quack is not installed"}))
    with simulated_device():
        return speed.speed("axpy", simulated=True)


@without_gpu
def test_a_kernel_that_fails_or_is_wrong_spoils_its_own_cells_alone(tmp_path, monkeypatch):
    def broken(a, x, y):
        raise RuntimeError("CUDA error: an illegal memory access\nmore")

    wrong = peers.direct(lambda a, x, y: a * x + 1.5 * y)
    found = timed_with(monkeypatch, ours=peers.ours("axpy"), torch=peers.direct(broken), quack=wrong)
    kept = Kept(tmp_path / "gpu.jsonl")
    kept.add("speed axpy", "done", 1.0, found=found | {"copy": 9216 * 1e3})
    text = page(kept)
    cells = next(line for line in table_rows(text) if line.startswith("| axpy | bfloat16")).split(" | ")
    assert cells[2:7] == ["1.50 1.50 1.50", "failed failed failed *", "-", "-", "1.50 1.50 1.50 *"]
    assert "axpy, bfloat16, torch, (1024, 4096): RuntimeError: CUDA error: an illegal memory access\n" in text
    assert "- quack: quack is not installed\n" in text


def speed_result(**milliseconds):
    """What `speed` finds at one size, of 900,000 bytes, where a copy takes a second for 1e9 bytes."""
    rows = [
        {"author": author, "ms": [ms, ms, ms], "bytes": 900_000, "flops": 0, "size": [1, 1], "dtype": dtype}
        | {"taken": 0.5, "wrong": ""}
        for author, ms in milliseconds.items()
        for dtype in ("bfloat16", "float32")
    ]
    return {"copy": 1e9, "missing": {}, "rows": rows}


@pytest.mark.parametrize(
    ("milliseconds", "goal"),
    [
        ({"ours": 1.0, "torch": 1.25}, "reached"),
        ({"ours": 1.0, "torch": 0.9375}, "missed: torch is faster"),
        ({"ours": 1.2, "torch": 1.5}, "missed: 0.75 < 0.90"),
    ],
)
def test_the_goal_is_judged_at_the_largest_size(milliseconds, goal, tmp_path):
    kept = Kept(tmp_path / "gpu.jsonl")
    kept.add("speed silu_forward", "done", 1.0, found=speed_result(**milliseconds))
    row = next(line for line in table_rows(page(kept)) if line.startswith("| silu_forward | float32"))
    share = [f"{0.9 / milliseconds[author]:.2f}" for author in ("ours", "torch")]
    assert row == f"| silu_forward | float32 | {' | '.join(share)} | - | - | - | {goal} |"


TOOL = """\
    #!/bin/sh
    # compute-sanitizer --tool NAME --print-limit 1 python ...
    if [ "$2" = memcheck ]; then
        echo "========= Invalid __global__ read of size 4 bytes"
        echo "=========     at double+0x40 in out_of_bounds.py:26"
        echo "========= ERROR SUMMARY: 28 errors"
    elif [ "$2" = initcheck ]; then
        echo "========= ERROR SUMMARY: 0 errors"
    else
        echo "cannot attach" >&2; exit 1
    fi
"""


def test_what_compute_sanitizer_says(tmp_path, monkeypatch):
    tool = tmp_path / "compute-sanitizer"
    tool.write_text(textwrap.dedent(TOOL))
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert planted_bugs.sanitizer() == str(tool)
    said = [planted_bugs.sanitized(str(tool), "missing_mask_load", check, "device") for check in planted_bugs.TOOLS]
    assert said == ["Invalid __global__ read of size 4 bytes (28)", "nothing", "does not end: cannot attach"]


@pytest.mark.exhaustive
@without_gpu
def test_planted_bugs_without_compute_sanitizer(tmp_path, monkeypatch):
    monkeypatch.setattr(planted_bugs, "sanitizer", lambda: None)
    monkeypatch.setattr(planted_bugs, "bugs_of", lambda module: {"missing_mask_load": "", "no_such_bug": ""})
    found = planted_bugs.planted("out_of_bounds", simulated=True)
    assert found["missing"] == "compute-sanitizer is not installed"
    assert found["bugs"]["missing_mask_load"]["device"] == "raises EmulatorError"
    assert found["bugs"]["missing_mask_load"]["emulator"].startswith(
        "out-of-bounds: `double` loads x_ptr out of bounds"
    )
    assert found["bugs"]["no_such_bug"]["emulator"] == "ends the process with StopIteration"


def test_the_planted_bugs_are_read_from_their_source():
    from planted import bugs

    read = {name: title for module in planted_bugs.MODULES for name, title in planted_bugs.bugs_of(module).items()}
    assert read == {bug.name: bug.title for bug in bugs()}


def test_the_outcomes_of_the_devices_tests(tmp_path):
    report = tmp_path / "tests.xml"
    cases = (
        "<testcase name='a'/>",
        "<testcase name='b'><failure message='assert 1&#10;more'/></testcase>",
        "<testcase name='c'><skipped message='not run: needs a CUDA device'/></testcase>",
    )
    report.write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")
    outcomes = device_tests.outcomes(report)
    assert outcomes == {"a": "passed", "b": "failed: assert 1", "c": "not run: needs a CUDA device"}
    kept = Kept(tmp_path / "gpu.jsonl")
    kept.add("device_tests", "done", 1.0, found={"tests": outcomes})
    assert "1 of 3 passed.\n\n- b: failed: assert 1\n- c: not run: needs a CUDA device\n" in page(kept)


@without_gpu
def test_without_a_gpu_it_says_what_it_needs(capsys, tmp_path):
    assert command.main(["--into", str(tmp_path)]) == 2
    assert "needs a CUDA device" in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


def test_an_interruption_keeps_what_ended_and_writes_the_page(capsys, tmp_path, monkeypatch):
    execute = executed([], interrupted="speed row_sum")
    monkeypatch.setattr(command, "in_child", lambda simulated: execute)
    assert command.main(["--dry-run", "--into", str(tmp_path), "--only", "speed"]) == 130
    assert "the same command goes on from there" in capsys.readouterr().err
    assert [json.loads(line)["piece"] for line in (tmp_path / "gpu.jsonl").read_text().splitlines()] == ["speed axpy"]
    assert (tmp_path / "gpu.md").exists()


def test_results_of_another_machine_are_not_mixed_in(capsys, tmp_path, monkeypatch):
    there = {"device": "NVIDIA A100", "torch": "2.12.0", "triton": "3.7.0"}
    Kept(tmp_path / "gpu.jsonl").add("machine", "done", 1.0, found=there)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda index: "NVIDIA H100")
    monkeypatch.setattr(command, "in_child", lambda simulated: executed([]))
    arguments = ["--into", str(tmp_path), "--only", "speed axpy"]
    assert command.main(arguments) == 2
    assert "has results of NVIDIA A100, PyTorch 2.12.0 and Triton 3.7.0. GPU_ARGS=--again" in capsys.readouterr().err
    assert command.main([*arguments, "--again"]) == 0
    assert "A100" in (tmp_path / "gpu.jsonl.old").read_text()


SOME = ("machine", "speed swiglu_forward", "planted races", "arithmetic", "errors attention", "device_tests")


@without_gpu
@pytest.mark.release
def test_a_dry_run_of_one_piece_of_each_kind(tmp_path):
    assert {piece.kind for piece in plan.pieces()} == {beginning.split()[0] for beginning in SOME}
    assert command.main(["--dry-run", "--minutes", "60", "--into", str(tmp_path), "--only", *SOME]) == 0
    kept = Kept(tmp_path / "gpu.jsonl")
    for key in ("errors attention_forward", "errors attention_forward emulator"):
        assert kept.found(key)["tf32"]["float32"]["share"] > 10 * kept.found(key)["ieee"]["float32"]["share"]
    products = kept.found("arithmetic emulator")["products"]
    assert products["tf32"] > 100 * products["ieee"]
    rows = table_rows(page(kept))
    assert next(row for row in rows if row.startswith("| swiglu_forward | bfloat16")).count("not run") == 0
    assert kept.found("planted races")["missing"] == "compute-sanitizer is not installed"
    assert set(kept.found("device_tests")["tests"].values()) == {"not run: needs a CUDA device"}
