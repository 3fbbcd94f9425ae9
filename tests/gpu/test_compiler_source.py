"""What the compiler report takes out of a learner's file: kernels, helpers, constants, and nothing that runs."""

import dataclasses
import importlib
import sys

import pytest
import torch
from compiler_kernels import BODY, COMPILER, HEADER, SM_90, cache, compile_report, described, load, no_worker, row_of  # noqa: F401
from graded_kernels.autograder.gpu import compiler
from graded_kernels.autograder.gpu.compiler import SEAM, launch_of
from graded_kernels.autograder.gpu.compiler.ahead_of_time import front_end


def test_nothing_of_the_learners_file_runs(tmp_path):
    mark = tmp_path / "mark"
    touch = f"open({str(mark)!r}, 'w').close()"
    top = f"{touch}\ndef decorate(f):\n    {touch}\n    return f\n"
    source = HEADER + top + BODY.format("y = x").replace("@triton.jit", "@decorate\n@triton.jit")
    assert row_of(compile_report([described(source)], SM_90))["status"] == "pass"
    assert not mark.exists()
    load(source)
    assert mark.exists(), "run as a file, the source does leave its mark"


# Triton makes a type of this text with ``eval``.
EVIL = "tensordesc<fp32[16],open('MARK','w')"


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("y = tl.core.inspect.os.system('touch MARK')", "fail"),
        ("y = tl.sum.get_capture_scope().get('core').inspect.os.system('touch MARK')", "fail"),
        ("y = tl.load.__globals__['inspect'].os.system('touch MARK')", "not-run"),
        ("y = getattr(getattr(tl.core, 'inspect'), 'os').system('touch MARK')", "not-run"),
        ("y = inspect.os.system('touch MARK')", "fail"),
        (f"if n < 0:\n        tl.str_to_ty({EVIL!r}.value, None)\n    y = x", "fail"),
        ("tl.str_to_ty(f'{TEXT}', None)\n    y = x", "fail"),
        ("tl.core.extern_elementwise('MARK', 'MARK', [x], {}, True)\n    y = x", "fail"),
        ("m = tl\n    m.str_to_ty(TEXT, None)\n    y = x", "fail"),
        ("y = tl.load(x_ptr + offsets, _semantic=None)", "fail"),
    ],
    ids=["through-a-module", "through-a-function", "private", "getattr", "imported", "evaluated-type"]
    + ["evaluated-f-string", "library", "module-as-value", "private-keyword"],
)
def test_a_kernel_cannot_run_python_in_the_compiler(tmp_path, line, status):
    mark = tmp_path / "mark"
    text = f"TEXT = tl.constexpr({EVIL!r})\n"
    source = "from triton.language.core import inspect\n" + HEADER + text + BODY.format(line)
    source = source.replace("MARK", str(mark))
    report = compile_report([described(source)], SM_90)
    assert row_of(report)["status"] == status, report
    assert not mark.exists(), report


ASSEMBLY = """
@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    y = {}
    tl.store(y_ptr + offsets, y)
"""


def test_assembly_is_there_to_be_read_and_names_no_file():
    call = "tl.inline_asm_elementwise({}, '=r,r', [x], dtype=tl.float32, is_pure=True, pack=1)"
    expected = {
        call.format("'tanh.approx.f32 $0, $1;'"): "",
        call.format("TANH"): "",
        call.format("'.incbin \"/etc/passwd\"'"): "quotation marks",
        call.format("INCLUDE"): "quotation marks",
        call.format("'.altmacro' + TANH"): "written out in the call",
        call.replace("({}, ", "(*TANH, "): "written out in the call",
        "(tl.inline_asm_elementwise, 1)[0](INCLUDE, '=r,r', [x], tl.float32, True, 1)": "written out in the call",
    }
    constants = "TANH = tl.constexpr('tanh.approx.f32 $0, $1;')\nINCLUDE = tl.constexpr('.include \"x\"')\n"
    sources = [HEADER + constants + ASSEMBLY.format(line).replace("=r,r", "=f,f") for line in expected]
    report = compile_report([described(source) for source in sources], SM_90)
    for (line, words), row in zip(expected.items(), report["targets"], strict=True):
        assert row["status"] == ("fail" if words else "pass"), (line, row)
        assert words in row["message"], (line, row)


def test_a_default_value_is_not_computed(tmp_path):
    source = HEADER + BODY.format("y = x").replace("constexpr)", f"constexpr = open({str(tmp_path / 'mark')!r}, 'w'))")
    report = compile_report([described(source)], SM_90)
    assert row_of(report)["status"] == "not-run"
    assert "default value" in report["reason"]
    assert not (tmp_path / "mark").exists()


def test_sources_that_do_not_hold_the_kernel_are_not_judged():
    cases = {
        "def kernel(": "cannot be read",
        HEADER: "kernel is not a @triton.jit function",
        HEADER + "def make():" + BODY.format("y = x").replace("\n", "\n    "): "kernel is not a @triton.jit function",
        BODY.format("y = x").replace("triton", "numba"): "kernel is not a @triton.jit function",
        HEADER + "import os\nC = tl.constexpr(os.getpid())\n" + BODY.format("y = x + C"): "C is computed",
        HEADER + BODY.format("y = somewhere(x)"): "does not define somewhere",
    }
    for source, words in cases.items():
        report = compiler.compile_report([described(source)], no_worker, SM_90)
        assert report["status"] == "not-run", report
        assert words in report["reason"], report


def test_the_last_of_two_definitions_counts():
    first, second = BODY.format("y = x + {}"), BODY.format("y = x")
    assert row_of(compile_report([described(HEADER + first + second)], SM_90))["status"] == "pass"
    assert row_of(compile_report([described(HEADER + second + first)], SM_90))["status"] == "fail"


def test_helpers_and_constants_are_carried_along():
    helpers = """
import math
HALF = 512
SIZE = tl.constexpr(2 * HALF)
RATE = tl.constexpr(1.0 / math.log(2.0) + -float("0.5"))
DOUBLE = RATE * 2
KEEP = tl.constexpr(tl.PropagateNan.ALL)
if True:
    @triton.jit(noinline=False)
    def twice(v):
        return v * DOUBLE

@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr, INNER: tl.constexpr, TYPE: tl.constexpr):
    offsets = tl.arange(0, SIZE)
    tl.static_print("ptxas info: Used 1 registers, 99 bytes spill stores")
    v = INNER(tl.load(x_ptr + offsets)).to(TYPE)
    v = tl.minimum(v, 9.0, propagate_nan=tl.PropagateNan.ALL)
    tl.store(y_ptr + offsets, tl.maximum(v, 0.0, propagate_nan=KEEP) * math.pi)
"""
    constants = {"BLOCK": 1, "INNER": {"function": "twice"}, "TYPE": {"dtype": "fp32"}}
    row = row_of(compile_report([described(HEADER + helpers, constants=constants)], SM_90))
    assert row["status"] == "pass", row
    assert row["loads"] == {"128": 2}, "1024 float32 by 128 threads: SIZE arrived with its value"
    assert row["spills"] == 0, "what a kernel prints is not what ptxas says"
    assert row["registers"] > 1, "what a kernel prints is not what ptxas says"


def test_an_error_in_a_helper_is_told_at_the_helpers_line():
    helper = "@triton.jit\ndef pick(v):\n    w = v + 1\n    return w[0]\n"
    source = HEADER + helper + BODY.format("y = pick(x)")
    row = row_of(compile_report([described(source)], SM_90))
    assert row["status"] == "fail", row
    assert row["line_text"] == "return w[0]", row
    assert row["line"] == 6, row


def test_a_line_is_counted_in_the_file_or_cell_it_stands_in():
    first = HEADER + "@triton.jit\ndef pick(v):\n    return v[0]\n"
    both = SEAM.join(["import math", first, BODY.format("y = pick(x)")])
    report = compile_report([described(both)], SM_90)
    row = row_of(report)
    assert row["line_text"] == "return v[0]", row
    assert first.split("\n")[row["line"] - 1].strip() == "return v[0]", row
    assert f"does not compile for sm_90, line {row['line']}, `return v[0]`: " in report["reason"]


def test_helpers_of_other_modules_and_reexported_triton(monkeypatch):
    common = load(HEADER + "@triton.jit\ndef doubled(v):\n    return v * 2.0\n")
    monkeypatch.setitem(sys.modules, "common", common)
    source = "from common import doubled, tl, triton\n" + BODY.format("y = doubled(x)")
    module = load(source)
    x = torch.zeros(1024)
    launch = launch_of(module.kernel, (x, x, 1024), {"BLOCK": 1024}, source)
    assert launch.modules == {"tl": "triton.language", "triton": "triton"}
    assert list(launch.helpers) == ["doubled"]
    assert row_of(compile_report([launch], SM_90))["status"] == "pass"
    alone = dataclasses.replace(launch, helpers={})
    row = row_of(compile_report([alone], SM_90))
    assert row["status"] == "not-run"
    assert "doubled is imported from common: paste the function" in row["message"]


def test_helpers_of_helpers_in_a_third_module(monkeypatch):
    """Where one is not there, the line is that of the kernel's own text, however long the other texts are."""
    deepest = "@triton.jit\ndef doubled(v):\n    return v * 2.0\n"
    middle = "from deepest import doubled\n" + "\n" * 100 + "@triton.jit\ndef around(v):\n    return doubled(v)\n"
    for name, text in (("deepest", deepest), ("middle", middle)):
        monkeypatch.setitem(sys.modules, name, load(HEADER + text))
    source = HEADER + "from middle import around\n" + BODY.format("y = around(x)")
    x = torch.zeros(1024)
    launch = launch_of(load(source).kernel, (x, x, 1024), {"BLOCK": 1024}, source)
    assert row_of(compile_report([launch], SM_90))["status"] == "pass"
    (row,) = front_end([dataclasses.replace(launch, helpers={"around": launch.helpers["around"]})], COMPILER.run_jobs)
    assert (row["status"], row["line_text"]) == ("not-run", "y = around(x)")
    assert "doubled is imported from deepest: " in row["message"]


def test_a_name_of_two_helpers_is_not_compiled(monkeypatch):
    """The kernel's `scaled` calls another module's, of the same name."""
    for name, text in (
        ("deepest", "@triton.jit\ndef scaled(v):\n    return v * 2.0\n"),
        ("middle", "from deepest import scaled\n@triton.jit\ndef around(v):\n    return scaled(v)\n"),
        ("beside", "@triton.jit\ndef scaled(v):\n    return v * 0.5\n"),
    ):
        monkeypatch.setitem(sys.modules, name, load(HEADER + text))
    source = HEADER + "from middle import around\nfrom beside import scaled\n" + BODY.format("y = around(scaled(x))")
    x = torch.zeros(1024)
    launch = launch_of(load(source).kernel, (x, x, 1024), {"BLOCK": 1024}, source)
    assert list(launch.helpers) == ["around"]
    assert row_of(compile_report([launch], SM_90))["status"] == "not-run"


def test_a_helper_that_names_triton_in_a_parameter_alone(monkeypatch):
    helper = "@triton.jit\ndef scaled(v, TWICE: tl.constexpr):\n    if TWICE:\n        v = v * 2.0\n    return v\n"
    monkeypatch.setitem(sys.modules, "common", load(HEADER + helper))
    source = HEADER + "from common import scaled\n" + BODY.format("y = scaled(x, True)")
    x = torch.zeros(1024)
    launch = launch_of(load(source).kernel, (x, x, 1024), {"BLOCK": 1024}, source)
    row = row_of(compile_report([launch], SM_90))
    assert row["status"] == "pass", row


PYTHON_IN_A_KERNEL = {  # what only the interpreter runs -> a word of the reason
    "y = [x, x]; y.append(x); y = y[0] + y[2]": "append",
    "y = {'two': 2.0}['two'] * x": "Dict",
    "y = x * float(np.sqrt(4.0))": "numpy.sqrt",
    "y = double(x)": "double is a Python function",
    "y = x * TABLE[1]": "TABLE",
    "y = x * PLAIN": "PLAIN",
    "y = x * sum([1.0, 1.0])": "sum",
}


@pytest.fixture(scope="session")
def interpreted_only():
    """One report on all of them, each seen to run in the interpreter: line -> (source, row, the report's reason)."""
    x = torch.linspace(-3, 3, 64)
    launches = []
    for line in PYTHON_IN_A_KERNEL:
        source = "import numpy as np\n" + HEADER + "TABLE = [1.0, 2.0]\nPLAIN = 2.0\ndef double(v):\n    return v * 2\n"
        source += BODY.format(line)
        y = torch.empty_like(x)
        kernel = load(source).kernel
        kernel[(1,)](x, y, 64, BLOCK=64)
        assert y.equal(2 * x), line
        launches.append(launch_of(kernel, (x, y, 64), {"BLOCK": 64}, source))
    report = compile_report(launches, SM_90)
    assert report["status"] == "fail"
    assert report["left_out"] == 0
    rows = zip(PYTHON_IN_A_KERNEL, launches, report["targets"], strict=True)
    return {line: (launch.source, row, report["reason"]) for line, launch, row in rows}


@pytest.mark.parametrize("line", PYTHON_IN_A_KERNEL)
def test_what_only_the_interpreter_runs_fails_at_the_learners_line(interpreted_only, line):
    source, row, reason = interpreted_only[line]
    assert row["status"] == "fail"
    assert row["line_text"] == line
    assert source.split("\n")[row["line"] - 1].strip() == line
    assert PYTHON_IN_A_KERNEL[line] in row["message"]
    assert row["registers"] is row["load_bits"] is None
    assert reason.startswith("kernel does not compile for sm_90, line ")
    assert "append" in reason


def test_what_the_compiler_would_run_as_python_is_not_run():
    half = "@triton.constexpr_function\ndef half(n):\n    return n // 2\n"
    row = row_of(compile_report([described(HEADER + half + BODY.format("y = x * half(4)"))], SM_90))
    assert (row["status"], row["line_text"]) == ("not-run", "y = x * half(4)")
    assert "half is a @triton.constexpr_function" in row["message"]


def test_a_source_too_deep_to_read_is_not_run():
    deep = "DEEP = " + " + ".join(["1"] * 5000) + "\n"
    report = compile_report([described(HEADER + deep + BODY.format("y = x + DEEP"))], SM_90)
    assert row_of(report)["status"] == "not-run", report


BOUND_BY_RUNNING = """
from triton.language.extra import libdevice
exp, HALF = libdevice.exp, tl.constexpr(sum((0.25, 0.25)))
for name in ("maximum",):
    globals()["larger"] = getattr(tl, name)
"""


def test_what_names_stood_for_is_recorded_with_the_launch():
    source = HEADER + BOUND_BY_RUNNING + BODY.format("y = larger(exp(x), 0.0) * HALF")
    kernel, x = load(source).kernel, torch.zeros(1024)
    launch = launch_of(kernel, (x, x, 1024), {"BLOCK": 1024}, source)
    assert launch.values["HALF"] == {"constexpr": 0.5}
    assert launch.values["larger"] == {"import": "triton.language.core", "name": "maximum"}
    assert row_of(compile_report([launch], SM_90))["status"] == "pass"
    row = row_of(compile_report([dataclasses.replace(launch, values={})], SM_90))
    assert row["status"] == "not-run"
    assert "does not define" in row["message"]


def test_a_constant_that_is_none_of_a_gpus_is_seen_although_it_is_computed():
    source = HEADER + "C = float(sum(range(3)))\n" + BODY.format("y = x * C")
    kernel, x = load(source).kernel, torch.zeros(1024)
    row = row_of(compile_report([launch_of(kernel, (x, x, 1024), {"BLOCK": 1024}, source)], SM_90))
    assert row["status"] == "fail", row
    assert "Cannot access global variable C" in row["message"], row


@pytest.mark.parametrize("name", ["str_to_ty", "extern_elementwise", "builtins"])
def test_a_record_names_nothing_that_is_not_permitted(name):
    with pytest.raises(ValueError, match="binds f to what is not a value of a kernel"):
        described(HEADER + BODY.format("y = f(x)"), values={"f": {"import": "triton.language.core", "name": name}})


def test_a_source_is_read_once_for_all_its_launches(monkeypatch):
    extract_module = importlib.import_module("graded_kernels.autograder.gpu.compiler.extract")
    read, bindings = [], extract_module.bindings
    monkeypatch.setattr(extract_module, "bindings", lambda tree: read.append(tree) or bindings(tree))
    source = HEADER + BODY.format("y = x + 1.0 / 7")
    for block in (512, 1024):
        extract_module.extract(described(source, constants={"BLOCK": block}))
    assert len(read) == 1
