"""Kernels as source texts, and launches of them as the compiler report takes them."""

import atexit
import dataclasses
import importlib.util
import itertools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from graded_kernels.autograder.gpu import KernelLaunch
from graded_kernels.autograder.gpu.compiler import TARGETS
from graded_kernels.autograder.runner import Compiler

SM_90 = tuple(target for target in TARGETS if target.name == "sm_90")
HEADER = "import triton\nimport triton.language as tl\n"
SCALE = """
@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(y_ptr + offsets, x * 2.0, mask=mask)
"""
BODY = """
@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    {}
    tl.store(y_ptr + offsets, y, mask=mask)
"""
FOLDER = tempfile.TemporaryDirectory()
numbers = itertools.count()
COMPILER = Compiler()
atexit.register(COMPILER.close)
compile_report = COMPILER.report


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """A cache of the module that imports it, in which nothing is compiled already. Other modules share the user's, in
    which an answer that several of them check is compiled once.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def load(source):
    """Runs a source text as a module, as a learner's file would be."""
    path = Path(FOLDER.name) / f"learner_{next(numbers)}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def described(source, kernel="kernel", dtype="fp32", **changes):
    """A launch of a kernel (x_ptr, y_ptr, n, BLOCK) whose arguments are all divisible by 16."""
    signature = {"x_ptr": f"*{dtype}", "y_ptr": f"*{dtype}", "n": "i32"}
    launch = KernelLaunch(kernel, source, signature, {"BLOCK": 1024}, tuple(signature), ("x_ptr", "y_ptr"))
    return dataclasses.replace(launch, **changes)


def row_of(report):
    assert len(report["targets"]) == 1, report
    return report["targets"][0]


def no_worker(modules, jobs, **more):
    raise AssertionError("a process was started")


def printed_alone(script: str, folder: Path, module: str, body: str):
    """What a script prints, as JSON, in a process of its own without the interpreter, where the file ``module`` holds a
    kernel with this body that may call the device library. Its argument is a folder for Triton.
    """
    kernel = HEADER + "from triton.language.extra import libdevice\n" + BODY.format(body)
    (folder / f"{module}.py").write_text(kernel)
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment["PYTHONPATH"] = os.pathsep.join([str(folder), *sys.path])
    command = [sys.executable, "-c", script, str(folder / "cache")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
