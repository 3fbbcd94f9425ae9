"""No false alarm: honest kernels in every style, in order and shuffled, are right and raise nothing."""

import faultless
import pytest
import torch
from graded_kernels.autograder.gpu.emulator import Emulator
from planted import Uninitialised
from triton.runtime.errors import InterpreterError

HONEST = faultless.programs()


@pytest.mark.parametrize("shuffle", [None, 1], ids=["in order", "shuffled"])
@pytest.mark.parametrize("program", HONEST, ids=lambda program: program.__name__)
def test_an_honest_kernel_raises_nothing(program, shuffle):
    emulator = Emulator(shuffle=shuffle)
    with emulator, Uninitialised(emulator):
        output, expected = program()
        missing = emulator.unwritten(output)
    assert emulator.findings == () and missing is None
    assert emulator.launches
    torch.testing.assert_close(output.double(), expected.double(), rtol=2e-6, atol=2e-6)


# What the plain interpreter cannot run on a machine without a GPU, or on Triton 3.7, or gets wrong.
_NOT_PLAIN = {
    "autotuned",
    "tensor_descriptors_from_the_host",
    "scalars_flags_and_none",
    "a_reduction_of_our_own",
    "a_kernel_inside_a_function",
    "assertions_and_minima_of_blocks",
    "integers_divide_toward_zero",
    "float8_with_three_bits",
    "float8_with_two_bits",
}


@pytest.mark.parametrize(
    "program", [p for p in HONEST if p.__name__ not in _NOT_PLAIN], ids=lambda program: program.__name__
)
def test_the_values_are_the_plain_interpreters(program):
    try:
        plain, _ = program()
    except InterpreterError as error:
        if "only 0-dimensional arrays" in str(error):
            pytest.skip("not run: the interpreter of Triton 3.6 cannot loop to a runtime bound with this numpy")
        raise
    with Emulator():
        ours, _ = program()
    torch.testing.assert_close(ours.double(), plain.double(), rtol=2e-6, atol=2e-6)
