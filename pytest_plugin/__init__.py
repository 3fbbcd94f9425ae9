"""``pytest --sanitize-kernels``: every Triton kernel that a test launches runs in the strict emulator.

Loaded by pytest wherever this package is installed, so nothing here is imported or changed before the flag asks for it.
"""

import os
import sys

import pytest

NAME = "graded-kernels-sanitizer"


def pytest_addoption(parser):
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


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config):
    if not early_config.known_args_namespace.sanitize_kernels:
        return
    if "triton" in sys.modules and os.environ.get("TRITON_INTERPRET") != "1":
        raise pytest.UsageError(
            "--sanitize-kernels: triton was imported before the tests, by a plugin say; set TRITON_INTERPRET=1 in the "
            "environment"
        )
    os.environ["TRITON_INTERPRET"] = "1"
    os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")
    from graded_kernels.autograder.sanitize.under_pytest import Plugin

    plugin = Plugin(early_config, shim=not early_config.known_args_namespace.no_cuda_shim)
    early_config.pluginmanager.register(plugin, NAME)


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        "expect_kernel_finding(*kinds): with --sanitize-kernels the test has a finding of one of these kinds, of any "
        "where none is named, and fails without",
    )
    config.addinivalue_line(
        "markers", "allow_kernel_finding(*kinds): with --sanitize-kernels such findings do not fail the test"
    )


@pytest.fixture
def emulator(request):
    """The strict emulator that the test's kernels run in: ``findings``, ``hints``, ``launches``, ``traffic``."""
    plugin = request.config.pluginmanager.get_plugin(NAME)
    if plugin:
        yield plugin.sanitizer
        return
    from graded_kernels.autograder import Emulator

    with Emulator() as own:
        yield own
