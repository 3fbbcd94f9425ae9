"""Triton interprets in every test process that has no GPU; the grader sees to that when it is imported before
triton.
"""

import graded_kernels.autograder  # noqa: F401  before any test module can import triton
import pytest

# The modules that take longest, longest first: a test process that gets one of them last keeps everybody waiting.
LONGEST_FIRST = []


def pytest_report_header(config) -> str:
    return f"tests chosen: {config.option.markexpr or 'all'} (make help: which command runs which)"


def pytest_collection_modifyitems(config, items):
    import torch

    place = {name: number for number, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(place)))  # stable: the rest stays in order
    for item in items:
        if "gpu" in item.keywords and not torch.cuda.is_available():
            item.add_marker(pytest.mark.skip(reason="not run: needs a CUDA device"))
