"""``pytest --sanitize-kernels``: every Triton kernel that a test launches runs in the strict emulator.

A report that a test asserts is shown where the assertion fails.

Loaded by pytest wherever this package is installed, so nothing here is imported or changed before the flag asks for it.
"""

import os
import sys
import traceback
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from graded_kernels.autograder import Emulator

NAME = "graded-kernels-sanitizer"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options."""
    group = parser.getgroup("graded-kernels")
    group.addoption(
        "--sanitize-kernels",
        action="store_true",
        help="run Triton kernels in the strict emulator, without a GPU; what it finds fails the test",
    )
    group.addoption(
        "--no-cuda-shim",
        action="store_true",
        help="with --sanitize-kernels: do not simulate CUDA where there is none",
    )
    group.addoption(
        "--sanitize-device",
        default="a100",
        choices=("a100", "h100", "b200"),
        help="with --sanitize-kernels: the GPU to simulate, whose properties a suite may ask for (a100)",
    )
    group.addoption(
        "--sanitize-coverage",
        metavar="FILE",
        type=Path,
        help="with --sanitize-kernels: write which lines, branches and masks of the kernels ran, as Cobertura's XML",
    )
    group.addoption(
        "--sanitize-baseline",
        metavar="FILE",
        type=Path,
        help="with --sanitize-kernels: findings that are known; they are counted and fail no test",
    )
    group.addoption(
        "--sanitize-update-baseline",
        action="store_true",
        help="with --sanitize-baseline: write the findings of this run to it",
    )
    group.addoption(
        "--sanitize-since",
        metavar="REVISION",
        default="",
        help="with --sanitize-kernels: judge the kernels that have changed since this revision in git, or call a "
        "function that has",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Loads the plugin itself, before a `conftest.py` can import Triton. Raises UsageError where that is too late."""
    if not early_config.known_args_namespace.sanitize_kernels:
        return
    if "triton" in sys.modules and os.environ.get("TRITON_INTERPRET") != "1":
        raise pytest.UsageError(
            "--sanitize-kernels: triton was imported before the tests, perhaps by a plugin; set TRITON_INTERPRET=1 in "
            "the environment"
        )
    os.environ["TRITON_INTERPRET"] = "1"
    os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")
    from graded_kernels.autograder.gpu.sanitize.under_pytest import BadOption, Plugin
    from graded_kernels.autograder.runner.sandbox.compile_jobs import compile_jobs

    try:
        plugin = Plugin(early_config, early_config.known_args_namespace, compile_jobs)
    except BadOption as error:
        raise pytest.UsageError(str(error)) from None
    early_config.pluginmanager.register(plugin, NAME)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Shows a report of `check` or `compare` that a test asserts, where that fails: pytest shows a line of its text."""
    outcome = yield
    if outcome.failed and call.excinfo and (report := _report_type()):
        frame = [frame for frame, _ in traceback.walk_tb(call.excinfo.tb)][-1]
        for value in frame.f_locals.values():  # those of pytest's own rewritten assertion among them
            if isinstance(value, report) and not value.passed:
                outcome.sections.append(("graded-kernels", str(value)))
                break
    return outcome


def _report_type() -> type[Any] | None:
    """That of a report of `check`; None where nothing of ours was imported, or another package has our name."""
    return getattr(sys.modules.get("graded_kernels.autograder"), "Report", None)


def pytest_configure(config: pytest.Config) -> None:
    """Registers the two markers."""
    config.addinivalue_line(
        "markers",
        "expect_kernel_finding(*kinds): with --sanitize-kernels the test must have a finding of one of these "
        "kinds, or of any kind where none is named",
    )
    config.addinivalue_line(
        "markers",
        "allow_kernel_finding(*kinds): with --sanitize-kernels such findings do not fail the test, which goes on "
        "behind an access out of bounds",
    )


@pytest.fixture
def emulator(request: pytest.FixtureRequest) -> "Iterator[Emulator]":
    """The strict emulator that the test's kernels run in: ``findings``, ``hints``, ``launches``, ``traffic``."""
    plugin = request.config.pluginmanager.get_plugin(NAME)
    if plugin:
        yield plugin.emulator
        return
    from graded_kernels.autograder import Emulator

    with Emulator() as emulator:
        yield emulator
