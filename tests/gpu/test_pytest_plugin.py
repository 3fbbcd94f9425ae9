"""``pytest --sanitize-kernels`` on small suites: what fails a test, what is allowed, what the summary says."""

import shutil
import subprocess
from pathlib import Path

import graded_kernels.autograder.gpu.sanitize.watching  # noqa: F401  a small suite's end drops what it imported; torch stays
import pytest

pytest_plugins = "pytester"

KERNELS = """
import torch
import triton
import triton.language as tl
from pytest import mark

@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)

@triton.jit
def conflict(y):
    tl.store(y, tl.program_id(0))

@triton.jit
def assembled(x, y):
    tl.store(y, tl.inline_asm_elementwise("brev.b32 $0, $1;", "=r,r", [tl.load(x)], tl.int32, True, 1))

def doubled(x, n):
    y = torch.empty_like(x)
    double[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)
    return y
"""


@pytest.fixture
def run(pytester):
    def outcome(tests, *arguments):
        pytester.makepyfile(KERNELS + tests)
        flags = ("-p", "graded_kernels.pytest_plugin", "-p", "no:cacheprovider", *arguments)
        return pytester.runpytest_inprocess(*flags)

    return outcome


RIGHT = """
def test_right():
    x = torch.randn(100, device="cuda")
    assert torch.equal(doubled(x, 100), 2 * x)
"""
CONFLICT = """
def test_conflict():
    y = torch.zeros(1, dtype=torch.int32, device="cuda")
    conflict[(4,)](y)
    assert torch.equal(y, torch.full_like(y, 3))
"""


def test_right_kernels_pass_and_are_counted(run):
    result = run(RIGHT, "--sanitize-kernels")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*was simulated*", "1 kernel, 1 launch, 800 bytes moved: nothing found"])


def test_what_no_test_reached_is_said(run, pytester):
    result = run(RIGHT.replace("100", "128"), "--sanitize-kernels", "--sanitize-coverage", "kernels.xml")
    result.stdout.fnmatch_lines(["Not reached*", "*.py:7 `double`: mask never False in line 9"])
    assert 'number="9" hits="1" branch="true" condition-coverage="50% (1/2)"' in (
        (pytester.path / "kernels.xml").read_text()
    )
    result = run(RIGHT, "--sanitize-kernels")
    result.stdout.no_fnmatch_line("*mask never*")
    result.stdout.fnmatch_lines(["never launched or called, 2 functions of this folder: `conflict`, `assembled`"])


def test_a_finding_fails_a_test_whose_own_assertion_holds(run):
    result = run(RIGHT + CONFLICT, "--sanitize-kernels")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*.py:13: store-conflict in `conflict`",
            "*tl.store(y, tl.program_id(0))",
            "2 kernels, 2 launches*1 store-con*",
        ]
    )


def test_an_access_out_of_bounds_is_told_without_the_emulators_own_frames(run):
    result = run("def test(): doubled(torch.randn(8, device='cuda'), 20)", "--sanitize-kernels")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*.py:9: out-of-bounds in `double`"])
    assert "patches.py" not in result.stdout.str()


def test_a_tail_that_was_not_written(run):
    body = "x = torch.randn(100, device='cuda'); assert torch.equal(doubled(x, 64)[:64], 2 * x[:64])"
    run(f"def test(): {body}", "--sanitize-kernels").assert_outcomes(passed=1)
    result = run(f"def test(): {body}; doubled(x, 64).sum()", "--sanitize-kernels")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*unwritten in `double`"])


@pytest.mark.parametrize("style", ["--tb=long", "--showlocals"])
def test_what_pytest_prints_beside_a_failure_is_not_read(style, run):
    """A launch that stops half-way leaves elements unwritten, and pytest prints the tensors of the frames."""
    test = "def test():\n    y = torch.empty(100, device='cuda')\n    stopped(y, torch.zeros(36, device='cuda'))\n"
    test += "\ndef stopped(y, x):\n    double[(2,)](x, y, 100, BLOCK=64)\n"
    result = run(test, "--sanitize-kernels", style)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["* bytes moved: 1 out-of-bounds"])
    asserted = test.replace(
        "stopped(y, torch.zeros(36, device='cuda'))", "double[(1,)](y, y, 0, BLOCK=64)\n    assert not y.shape, y"
    )
    result = run(asserted, "--sanitize-kernels", style)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["* bytes moved: nothing found"])


ALLOW = "graded-kernels: allow"
OUTSIDE = "def test_outside(): doubled(torch.randn(8, device='cuda'), 20)"


@pytest.mark.parametrize(
    "test, marker, outcome, says",
    [
        (CONFLICT, 'expect_kernel_finding("store-conflict")', "passed", "*1 store-conflict*"),
        (CONFLICT, 'allow_kernel_finding("store-conflict")', "passed", "*nothing new, 1 allowed by marks"),
        (OUTSIDE, 'expect_kernel_finding("out-of-bounds")', "passed", "*1 out-of-bounds*"),
        (RIGHT, "expect_kernel_finding()", "failed", "*no finding of the kernels, but expected: any"),
        (CONFLICT, 'allow_kernel_finding("race-read")', "failed", "*store-conflict in `conflict`"),
        (RIGHT, 'allow_kernel_finding("race")', "errors", "there is no finding 'race'; there are out-of-bounds, *"),
    ],
)
def test_markers_expect_and_allow(test, marker, outcome, says, run):
    result = run(test.replace("def test", f"@mark.{marker}\ndef test"), "--sanitize-kernels", "--strict-markers")
    result.assert_outcomes(**{outcome: 1})
    result.stdout.fnmatch_lines([says])


def test_a_baseline_is_written_and_then_lets_its_findings_pass(run, pytester):
    flags = "--sanitize-kernels", "--sanitize-baseline=known.json"
    assert run(CONFLICT, *flags).ret == pytest.ExitCode.USAGE_ERROR
    assert run(CONFLICT, "--sanitize-kernels", "--sanitize-update-baseline").ret == pytest.ExitCode.USAGE_ERROR
    run(CONFLICT, *flags, "--sanitize-update-baseline").assert_outcomes(passed=1)
    result = run(CONFLICT.replace("(4,)", "(5,)").replace("3)", "4)"), *flags)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["1 kernel, 1 launch, * bytes moved: nothing new, 1 known"])
    run(CONFLICT + OUTSIDE, *flags).assert_outcomes(passed=1, failed=1)
    result = run(CONFLICT.replace("(4,)", "(1,)").replace("3)", "0)"), *flags)
    result.stdout.fnmatch_lines(["No longer found, though in known.json: store-conflict in `conflict`, `tl.store(y, *"])
    assert "No longer" not in run(RIGHT, *flags).stdout.str()
    some = CONFLICT.replace("(4,)", "(1,)").replace("3)", "0)") + CONFLICT.replace("test_conflict", "test_other")
    assert "No longer" not in run(some, *flags, "-k", "conflict and not other").stdout.str()


def test_a_test_goes_on_behind_a_known_access_out_of_bounds(run):
    flags = "--sanitize-kernels", "--sanitize-baseline=known.json"
    run(OUTSIDE, *flags, "--sanitize-update-baseline").assert_outcomes(passed=1)
    result = run(f"{OUTSIDE}; 1 / 0", *flags)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E * ZeroDivisionError*", "* bytes moved: nothing new, 2 known"])


def test_a_test_goes_on_behind_an_access_that_its_mark_allows(run):
    test = f'@mark.allow_kernel_finding("out-of-bounds")\n{OUTSIDE}; 1 / 0\n{OUTSIDE.replace("outside", "next")}'
    result = run(test, "--sanitize-kernels")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        ["E * ZeroDivisionError*", "*: out-of-bounds in `double`", "* 1 out-of-bounds, 2 allowed by marks"]
    )


def test_a_test_that_another_known_finding_stopped_is_counted(run):
    flags = "--sanitize-kernels", "--sanitize-baseline=known.json"
    test = "def test_it(): conflict[(1, 1, 1, 1)](torch.zeros(1, device='cuda')); 1 / 0"
    run(test, *flags, "--sanitize-update-baseline").assert_outcomes(passed=1)
    result = run(test, *flags)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["No test launched a Triton kernel: nothing was checked."])


def test_a_comment_in_the_source_lets_its_finding_pass(run, pytester, monkeypatch):
    line = "    tl.store(y, tl.program_id(0))"
    monkeypatch.setattr(f"{__name__}.KERNELS", KERNELS.replace(line, f"{line}  # {ALLOW} store-conflict: for a test"))
    result = run(CONFLICT, "--sanitize-kernels")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["* bytes moved: nothing new, 1 allowed by comments"])
    result = run(CONFLICT.replace("(4,)", "(1,)").replace("3)", "0)"), "--sanitize-kernels")
    result.stdout.fnmatch_lines(["*.py:13: no finding needs the comment that allows store-conflict; take it out."])


def test_kernels_of_a_revision_are_not_judged(run, pytester):
    pytester.makepyfile(KERNELS + CONFLICT)
    for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x"]):
        subprocess.run(["git", *command], check=True, capture_output=True)
    assert run(CONFLICT, "--sanitize-kernels", "--sanitize-since=nowhere").ret == pytest.ExitCode.USAGE_ERROR
    result = run(CONFLICT, "--sanitize-kernels", "--sanitize-since=HEAD")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["No kernel has changed since HEAD: not judged; 1 finding there left out."])


def test_a_kernel_that_cannot_be_judged_fails_or_is_skipped(run):
    test = "def test_it():\n    x = torch.ones(1, dtype=torch.int32, device='cuda')\n    assembled[(1,)](x, x)\n"
    result = run(test, "--sanitize-kernels")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*not judged: not-emulated*"])
    run(f'@mark.allow_kernel_finding("not-emulated")\n{test}', "--sanitize-kernels").assert_outcomes(skipped=1)


REFUSED = """
@triton.jit
def called_dtype(y, N: tl.constexpr):
    tl.store(y, tl.float32(N))

@mark.parametrize("n", [1, 2])
def test_refused(n):
    called_dtype[(1,)](torch.zeros(1, device="cuda"), n)
"""


def test_a_line_that_the_compiler_refuses_as_well_is_a_finding(run):
    """The compiler's process is none of the suite's."""
    result = run(RIGHT + CONFLICT + REFUSED, "--sanitize-kernels")
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(["*: unsupported in `called_dtype`", "*compiler refuses the line as well*"])
    result.stdout.fnmatch_lines(["*bytes moved: 2 unsupported, 1 store-conflict"])
    assert "not watched" not in result.stdout.str()
    allowed = REFUSED.replace("@mark", '@mark.allow_kernel_finding("kernel-error")\n@mark', 1)
    run(allowed, "--sanitize-kernels").assert_outcomes(failed=2)


def test_the_fixture_shows_the_launches_of_the_test(run):
    tests = (
        RIGHT + "def test_fixture(emulator):\n    test_right()\n    assert [one.name for one in emulator.launches] == "
    )
    run(tests + "['double']", "--sanitize-kernels").assert_outcomes(passed=2)
    run(tests.replace('device="cuda"', 'device="cpu"') + "['double']").assert_outcomes(passed=2)


def test_a_launch_outside_any_test_counts(run):
    result = run(
        "doubled(torch.randn(8), 8)\nconflict[(4,)](torch.zeros(1))\ndef test(): pass",
        "--sanitize-kernels",
        "--no-cuda-shim",
    )
    assert result.ret == 1
    result.stdout.fnmatch_lines(["outside any test, *store-conflict in `conflict`"])


def test_the_gpu_is_there_when_a_conftest_asks_for_it(run, pytester):
    import torch

    pytester.makeconftest(
        "import torch\n\ndef pytest_report_header():\n    return f'GPU {GPU}'\n\nGPU = torch.cuda.is_available()"
    )
    run("def test(): pass", "--sanitize-kernels").stdout.fnmatch_lines(["GPU True"])
    assert run("", "--sanitize-kernels", "--help").ret == 0  # no session ends there
    assert not torch.cuda.is_available()


def test_without_the_flag_nothing_is_watched_and_nothing_is_said(run):
    result = run(CONFLICT.replace('device="cuda"', 'device="cpu"'))
    result.assert_outcomes(passed=1)
    assert "emulator" not in result.stdout.str()


def test_a_suite_that_launches_nothing_is_told_so(run):
    result = run("def test(): pass", "--sanitize-kernels")
    result.stdout.fnmatch_lines(["No test launched a Triton kernel: nothing was checked."])


def test_a_suite_without_pytorch_and_triton_imports_neither(pytester):
    pytester.makepyfile("import sys\ndef test(): assert not {'torch', 'triton', 'numpy'} & sys.modules.keys()")
    result = pytester.runpytest_subprocess("-p", "graded_kernels.pytest_plugin", "--sanitize-kernels")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["No test launched a Triton kernel: nothing was checked."])


@pytest.mark.exhaustive
def test_a_gpu_is_there_in_a_test_that_imports_pytorch_first(pytester):
    pytester.makepyfile("def test_it():\n    import torch\n    assert torch.cuda.is_available()")
    result = pytester.runpytest_subprocess("-p", "graded_kernels.pytest_plugin", "--sanitize-kernels")
    result.assert_outcomes(passed=1)


@pytest.mark.exhaustive
def test_the_example_passes_and_fails_without_its_mask(pytester):
    shutil.copytree(Path(__file__).parents[2] / "examples" / "scaled", pytester.path, dirs_exist_ok=True)
    flags = "-p", "graded_kernels.pytest_plugin", "--sanitize-kernels"
    pytester.runpytest_subprocess(*flags).assert_outcomes(passed=3)
    kernel, load = pytester.path / "scaled.py", "tl.load(scale + i{})"
    text, masked = kernel.read_text(), load.format(", mask=inside, other=0.0")
    assert text.count(masked) == 1
    kernel.write_text(text.replace(masked, load.format("")))
    result = pytester.runpytest_subprocess(*flags)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["scaled.py:14: out-of-bounds in `_scaled`"])


@pytest.mark.exhaustive
def test_workers_tell_what_they_saw(run, pytester):
    pytester.makepyfile(KERNELS + RIGHT + CONFLICT)
    result = pytester.runpytest_subprocess("-p", "graded_kernels.pytest_plugin", "--sanitize-kernels", "-n", "2")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["2 kernels, 2 launches, * bytes moved: 1 store-conflict"])
    known = "--sanitize-baseline=known.json", "--sanitize-update-baseline"
    for flags, ending in ((known, "1 known"), (known[:1], "1 known")):
        result = pytester.runpytest_subprocess(
            "-p", "graded_kernels.pytest_plugin", "--sanitize-kernels", "-n", "2", *flags
        )
        result.assert_outcomes(passed=2)
        result.stdout.fnmatch_lines([f"2 kernels, 2 launches, * bytes moved: nothing new, {ending}"])
    pytester.makepyfile(KERNELS + RIGHT.replace("100", "128") + RIGHT.replace("right", "less").replace("100", "63"))
    result = pytester.runpytest_subprocess("-p", "graded_kernels.pytest_plugin", "--sanitize-kernels", "-n", "2")
    result.assert_outcomes(passed=2)
    result.stdout.no_fnmatch_line("*mask never*")
    result.stdout.fnmatch_lines(["never launched or called, 2 functions of this folder: `conflict`, `assembled`"])


@pytest.mark.exhaustive
def test_what_workers_find_outside_any_test_fails_the_session(pytester):
    launched = "doubled(torch.randn(8), 8)\nconflict[(4,)](torch.zeros(1))\ndef test(): pass\ndef test_again(): pass"
    pytester.makepyfile(KERNELS + launched)
    flags = "--sanitize-kernels", "--no-cuda-shim", "-n", "2"
    result = pytester.runpytest_subprocess("-p", "graded_kernels.pytest_plugin", *flags)
    result.assert_outcomes(passed=2)
    assert result.ret == 1
    told = [line for line in result.outlines if line.startswith("outside any test, ")]
    assert len(told) == 1 and "store-conflict in `conflict`" in told[0]


def test_what_does_not_compile_fails_each_test_that_launches_it(run):
    tests = """
@triton.jit
def summed(x, y, n):
    total = 0
    for i in range(n):  # no GPU's compiler takes it
        total = total + tl.load(x + i)
    tl.store(y, total)

def test_sum():
    y = torch.zeros(1, device="cuda")
    summed[(1,)](torch.ones(8, device="cuda"), y, 8)
    assert y == 8

def test_sum_again():
    test_sum()

@mark.allow_kernel_finding("unsupported")
def test_allowed():
    test_sum()

@mark.expect_kernel_finding("unsupported")
def test_expected():
    test_sum()

def test_fails_by_itself():
    test_sum()
    assert False
"""
    result = run(tests, "--sanitize-kernels")
    result.assert_outcomes(passed=2, failed=3)
    sentence = "`summed` runs here and does not compile for a GPU, line 27"
    sections = result.stdout.str().split("short test summary info")[0]  # pytest repeats it there under CI
    assert sections.count(sentence) == 3
    result.stdout.fnmatch_lines(["*5 launches*: 4 unsupported, 1 allowed by marks"])


def test_a_test_that_expects_the_compilers_error_passes(run):
    """Where the error reached the test alone: what went on behind it is judged."""
    tests = """
from pytest import raises

@triton.jit
def seven(y):
    tl.store(y + tl.arange(0, 7), 1.0)

@triton.jit
def runs_here(y):
    total = 0
    for i in range(8):
        total = total + tl.load(y + i)
    tl.store(y, total)

@triton.jit
def asserts(y):
    tl.static_assert(y.dtype.element_ty == tl.int32)

names = {}
exec("@triton.jit\\ndef of_a_float(y): tl.store(y, tl.load(y) & 1)", globals(), names)

def test_without_source():  # and the compiler has nothing to read
    with raises(triton.CompilationError):
        names["of_a_float"][(1,)](torch.zeros(8, device="cuda"))

@mark.parametrize("error", [triton.TritonError, triton.CompilationError])
@mark.parametrize("kernel", [seven, runs_here, asserts])
def test_refused(kernel, error):
    with raises(error):
        kernel[(1,)](torch.zeros(8, device="cuda"))

@mark.parametrize("kernel", [seven, runs_here])
def test_warm_up(kernel):
    with raises(triton.CompilationError):
        kernel.warmup(torch.float32, grid=(1,))

def test_refused_and_more():
    test_refused(seven, triton.CompilationError)
    test_conflict()
"""
    result = run(CONFLICT + tests, "--sanitize-kernels")
    result.assert_outcomes(passed=9, failed=2)
    result.stdout.fnmatch_lines(["*bytes moved: 2 store-conflict, 10 refused, which the test expects"])


def test_hints_are_told_where_a_test_fails_by_itself(run):
    tests = """
@triton.jit
def product(x, y):
    i = tl.arange(0, 16)
    at = i[:, None] * 16 + i[None, :]
    tl.store(y + at, tl.dot(tl.load(x + at), tl.load(x + at)))

def test_product():
    x = torch.randn(16, 16, device="cuda")
    y = torch.empty_like(x)
    product[(1,)](x, y)
    assert torch.allclose(y, (x.double() @ x.double()).float(), rtol=RTOL, atol=RTOL)
"""
    result = run(tests.replace("RTOL", "1e-6"), "--sanitize-kernels")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*Captured kernels in the emulator call*", "*: hint: tf32 in `product`*", "*multiplies float32 in TF32*"]
    )
    result = run(tests.replace("RTOL", "1e-1"), "--sanitize-kernels")
    result.assert_outcomes(passed=1)
    assert "TF32" not in result.stdout.str()


def test_what_only_cuda_itself_could_do_is_said(run):
    tests = """
def test_ahead():
    raise NotImplementedError("Could not run 'aten::empty_strided' with arguments from the 'CUDA' backend. ...")
"""
    result = run(tests, "--sanitize-kernels")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*Captured kernels in the emulator call*", "PyTorch's C++ asks a GPU for aten::*"])
