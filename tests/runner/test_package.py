"""An answer in a file of a package: what it imports travels with it, and nothing else does."""

import ast

import pytest
from answers import FOLDERS, ROOT, regions
from graded_kernels.autograder.judge import EXERCISES, Job, make_verdict
from graded_kernels.autograder.runner.call.answer import Answer, AnswerError, AnswerRefused, Cell
from graded_kernels.autograder.runner.call.package import PackageModule, absolute, collect
from graded_kernels.autograder.runner.sandbox import Limits
from graded_kernels.autograder.runner.sandbox.sources import Sources


@pytest.fixture
def files(tmp_path):
    """A package `ops` with a folder `more`, beside it a module `plain`; and a file outside."""
    texts = {
        "root/plain.py": "one = 1\n",
        "root/ops/__init__.py": "from . import unused\nhere = 7\n",
        "root/ops/unused.py": "raise ValueError('this is not imported')\n",
        "root/ops/helpers.py": "from ..plain import one\nfrom .more.deep import two\n",
        "root/ops/more/deep.py": "two = 2\n",
        "root/ops/f.py": "from .helpers import one, two\n\ndef f(x):\n    return x + one + two\n",
        "outside/secret.py": "seven = 7\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def names(files, path="root/ops/f.py", root="root"):
    name, modules = collect(files / path, files / root)
    return name, {module.name for module in modules if module.source}


def test_what_a_file_imports_is_collected_and_parents_are_not_run(files):
    assert names(files) == (
        "package_root.ops.f",  # `..plain` reaches the root itself
        {"package_root.ops.helpers", "package_root.plain", "package_root.ops.more.deep"},
    )
    (files / "root/ops/helpers.py").write_text(
        "from plain import one\nimport ops.more.deep\nimport torch, os.path\ntwo = 2\n"
    )
    assert names(files) == ("ops.f", {"ops.helpers", "plain", "ops.more.deep"})


def test_a_name_of_the_package_itself_brings_its_init(files):
    (files / "root/ops/f.py").write_text("from . import here\n")
    assert names(files) == ("ops.f", {"ops", "ops.unused"})


def test_a_file_that_is_not_below_the_root_is_told_so(files):
    with pytest.raises(AnswerError, match="is not below .*: name the folder that its imports begin in with --root"):
        Answer.read(files / "outside/secret.py", "f", files / "root")
    (files / "root/plain.py").write_text("from ...outside import secret\n")
    with pytest.raises(AnswerError, match="imports from above .*: name a folder further up with --root"):
        Answer.read(files / "root/ops/f.py", "f", files / "root")


def test_no_link_leads_out_of_the_root(files):
    (files / "root/ops/linked.py").symlink_to(files / "outside/secret.py")
    (files / "root/away").symlink_to(files / "outside")
    (files / "root/ops/f.py").write_text("from .linked import seven\nfrom away.secret import seven\n")
    assert names(files) == ("ops.f", set())


def test_nor_does_one_beside_a_folder_of_its_name(files):
    (files / "root/ops/more.py").symlink_to(files / "outside/secret.py")
    (files / "root/ops/more/__init__.py").symlink_to(files / "outside/secret.py")
    (files / "root/ops/f.py").write_text("from .more import seven\n")
    assert names(files) == ("ops.f", set())


def test_the_function_is_loaded_with_its_package_and_a_later_one_anew(files):
    assert Answer.read(files / "root/ops/f.py", "f", files / "root").load()(1) == 4
    (files / "root/plain.py").write_text("one = 100\n")
    assert Answer.read(files / "root/ops/f.py", "f", files / "root").load()(1) == 103
    with pytest.raises(AnswerError, match="imports from the package around it: .* Name the folder .* with --root"):
        Answer.read(files / "root/ops/f.py", "f").load()


def test_the_package_may_not_import_the_course(files):
    (files / "root/plain.py").write_text("from graded_kernels.kernels import silu\none = 1\n")
    with pytest.raises(AnswerRefused, match="imports graded_kernels"):
        Answer.read(files / "root/ops/f.py", "f", files / "root").load()


@pytest.mark.parametrize(
    "statement, name, package, found",
    [
        ("from .x import y", "a.b", False, "a.x"),
        ("from . import y", "a.b", True, "a.b"),
        ("from ..x import y", "a.b.c", False, "a.x"),
        ("from .. import y", "a.b", True, "a"),
        ("from .x import y", "a", False, None),
        ("from .. import y", "a", True, None),
        ("from x import y", "a.b", False, "x"),
    ],
)
def test_relative_imports_are_read_as_python_reads_them(statement, name, package, found):
    assert absolute(ast.parse(statement).body[0], name, package) == found


def test_a_helper_is_found_through_a_module_that_hands_it_on():
    kernel = "import triton\n\n@triton.jit\ndef helper(x):\n    return x\n"
    modules = (
        PackageModule("p", "p", "from .deep import helper as again\n", True),
        PackageModule("p.deep", "deep.py", kernel),
    )
    answer = Answer("f", (Cell("f.py", "from . import again\n"),), name="p.f", modules=modules)
    sources = Sources(answer.python, answer.name, answer.modules)
    assert sources.helpers == {"again": ("helper", kernel)}
    assert sources.text_with("helper") == kernel
    assert sources.text_with("another") == sources.text


# Computes in PyTorch, in another file than the kernel that pretends to.
CHEAT = {
    "language.py": "import triton\nimport triton.language as tl\nimport numpy\n",
    "copied.py": """
from .language import triton, tl

@triton.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n, other=0.0), mask=i < n)
""",
    "silu.py": """
import numpy, torch
from .copied import copy_kernel

def silu_forward(x):
    w = x.detach().cpu().numpy()
    done = torch.from_numpy((w / (1 + numpy.exp(-w))).astype("float32"))
    y = torch.empty_like(x)
    copy_kernel[(-(-x.numel() // 1024),)](done, y, x.numel(), BLOCK=1024)
    return y
""",
}


def verdict_on(path, root, exercise, worker):
    return make_verdict(Job(Answer.read(path, exercise, root), "triton", 0, Limits()), worker)


@pytest.mark.exhaustive
def test_kernels_of_another_file_are_the_ones_that_are_proven(tmp_path, worker):
    (tmp_path / "p").mkdir()
    for name, text in CHEAT.items():
        (tmp_path / "p" / name).write_text(text)
    verdict = verdict_on(tmp_path / "p/silu.py", tmp_path, "silu_forward", worker)
    assert not verdict.report["passed"]
    assert verdict.report["score"] == 0
    assert "made outside of the kernels" in verdict.report["cases"][0]["message"], verdict.text


@pytest.mark.exhaustive
@pytest.mark.parametrize("exercise", [name for name, e in EXERCISES.items() if "triton" in e.backends])
def test_our_own_kernels_can_be_checked_where_they_are(exercise, worker):
    path = regions()[FOLDERS["triton"], exercise].path
    verdict = verdict_on(path, ROOT, exercise, worker)
    assert verdict.report["passed"], verdict.text
