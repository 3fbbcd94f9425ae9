"""What makes large arrays quick in a pass changes no bit of them."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from graded_kernels.autograder.emulator import Emulator, arithmetic

LARGE = 1 << 14


@pytest.mark.parametrize("word", ["f2", "f4", "f8", "i1", "u2", "i4", "i8", "?"])
@pytest.mark.parametrize("shapes", [((4, 1), (1, LARGE)), ((1, LARGE), (1, 1)), ((4, LARGE), (4, LARGE))], ids=str)
@pytest.mark.parametrize("truth", ["some", "all", "none"])
def test_a_choice_is_that_of_numpy_bit_for_bit(word, shapes, truth):
    bits = np.random.default_rng(1)
    values, others = (bits.integers(0, 256, (*shape, np.dtype(word).itemsize), np.uint8) for shape in shapes)
    values, others = (np.squeeze(array.view(word if word != "?" else "u1"), -1) for array in (values, others))
    if word == "?":
        values, others = values > 127, others > 127
    condition = bits.integers(0, 3, (4, LARGE), np.uint8).view(bool)  # a truth of 2 is one, too
    condition = {"some": condition, "all": np.ones_like(condition), "none": np.zeros_like(condition)}[truth]
    chosen, expected = arithmetic.select(condition, values, others), np.where(condition, values, others)
    assert (chosen.shape, chosen.dtype) == (expected.shape, expected.dtype)
    assert chosen.tobytes() == expected.tobytes()


@triton.jit
def longer_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    e = tl.exp(-x)
    tl.store(y_ptr + at, x / (1 + e) + tl.exp(x * x + 1) * (x - 3) + e)


def faults() -> int:
    """Pages that the system gives a launch which follows another."""
    x, y = torch.zeros(1 << 17), torch.empty(1 << 17)
    with Emulator() as emulator:
        for _ in range(4):
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            longer_kernel[(128,)](x, y, BLOCK=1024)
    assert not emulator.fallbacks
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_a_launch_computes_in_the_memory_of_the_one_before():
    around = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    code = "import test_emulator_elements; print(test_emulator_elements.faults())"
    child = subprocess.run(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=around | {"TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])},
    )
    assert int(child.stdout.splitlines()[-1]) < 200
