"""Triton interprets in every test process that has no GPU; the grader sees to that when it is imported before
triton.
"""

import graded_kernels.autograder  # noqa: F401  before any test module can import triton
import pytest


def pytest_addoption(parser):
    parser.addoption("--exhaustive", action="store_true", help="run the slow, exhaustive tests too")


def pytest_collection_modifyitems(config, items):
    import torch

    for item in items:
        if "gpu" in item.keywords and not torch.cuda.is_available():
            item.add_marker(pytest.mark.skip(reason="not run: needs a CUDA device"))
        if "exhaustive" in item.keywords and not config.getoption("--exhaustive"):
            item.add_marker(pytest.mark.skip(reason="not run: slow; make test-all runs it"))
