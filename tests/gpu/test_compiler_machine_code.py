"""What the machine code of a launch allows of a card at most: counted where kernels are compiled, per element here."""

import dataclasses
import inspect
import json
import sys

import pytest
import torch
from compiler_kernels import BODY, COMPILER, HEADER, SCALE, cache, described, load  # noqa: F401
from graded_kernels.autograder.gpu.compiler import KernelLaunch, recorded
from graded_kernels.autograder.gpu.compiler.ahead_of_time import machine_code_report
from graded_kernels.autograder.gpu.compiler.sass.trips import source_loops
from graded_kernels.autograder.gpu.emulator import Emulator
from graded_kernels.kernels.scaled_matmul import scaled_matmul

LOOP = """
@triton.jit
def loop_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    for start in range(0, n, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        tl.store(y_ptr + offsets, tl.load(x_ptr + offsets) * 2.0)
"""


def launched(source, kernel, *shape, grid=1, **constants):
    """A launch as the emulator notes it."""
    module, x = load(HEADER + source), torch.ones(*shape)
    with Emulator() as emulator:
        getattr(module, kernel)[(grid,)](x, torch.empty_like(x), x.numel(), **constants)
    return recorded(emulator.launches[0], HEADER + source)


def sized(source, elements=1024, **changes):
    size = {"grid": [elements // 1024, 1, 1], "numbers": {"n": elements}, "elements": elements, "bytes": 8 * elements}
    return described(HEADER + source, size=size, **changes)


def row_of(launch):
    (row,) = COMPILER.machine_code([launch])["kernels"]
    return row


def test_a_kernel_that_moves_each_element_once_is_bound_by_bandwidth():
    row = row_of(launched(SCALE, "scale_kernel", 64, 1024, grid=64, BLOCK=1024))
    assert (row["elements"], row["bytes"]) == (65536, 8.0)
    assert row["traffic"] == pytest.approx(1) and row["loads"] == {"128": 2} and row["stores"] == {"128": 2}
    assert 2 < row["instructions"] < 8 and row["instructions"] <= row["at_most"], "a load and a store of 128 bits"
    assert (row["spills"], row["barriers"], row["shares"]["H100"]) == (0, 0, 1.0)
    said = row["text"]
    assert (
        "loads 2x128, stores 2x128; 8.00 bytes an element of 65,536, 1.00 times moved. At most 1.00 of an H100's"
        in said
    )
    json.dumps(row)


def test_a_loop_is_multiplied_out_by_the_numbers_of_the_launch():
    """Unrolled, with a rest that is counted as well."""
    row = row_of(launched(LOOP, "loop_kernel", 65536, BLOCK=1024))
    assert row["traffic"] == pytest.approx(1, abs=0.1) and row["notes"] == ()
    assert 1 < row["instructions"] < 4, "a load and a store of 128 bits, and the loop around them"


def test_products_of_int8_are_counted_once_and_take_half_the_time():
    """By the products themselves: threads that hold the same scales load them again, as if a loop were unrolled."""
    a, b, scales = torch.ones(64, 512, dtype=torch.int8), torch.ones(512, 64, dtype=torch.int8), torch.ones(64, 4)
    with Emulator() as emulator:
        scaled_matmul(a, scales, b, scales.t().contiguous())
    row = row_of(recorded(emulator.launches[0], inspect.getsource(sys.modules[scaled_matmul.__module__])))
    assert (row["elements"], row["products"], row["notes"]) == (512 * 64, 64 * 64 * 512 / (512 * 64), ())
    assert row["resources"]["H100"] == "bandwidth"


def test_a_product_in_three_parts_is_three():
    shapes = "tensor<4x64x32xf32> * tensor<4x32x16xf32> -> tensor<4x64x16xf32>"
    line = f"  %s = tt.dot %x, %y, %c, inputPrecision = {{}} : {shapes}"
    loop = ["%a = scf.for %i = %b to %n step %c -> (i32) {", "  {}", "}"]
    for precision, times in (("tf32", 1), ("tf32x3", 3), ("bf16x6", 6)):
        text = "\n".join(loop).replace("{}", line.replace("{}", precision))
        (found,) = source_loops(text, {"b": 0, "n": 96, "c": 32}, (1, 1, 1))
        assert (found.trips, found.multiplied) == (3, times * 4 * 64 * 32 * 16)


def test_a_tensor_that_a_view_repeats_is_read_from_one_place():
    module, x = load(HEADER + SCALE), torch.ones(1, 64).expand(32, 64)
    with Emulator() as emulator:
        module.scale_kernel[(1,)](x, torch.empty(64), 64, BLOCK=64)
    assert recorded(emulator.launches[0], "").size == {
        "grid": [1, 1, 1],
        "numbers": {"n": 64},
        "elements": 64,
        "bytes": 512,
    }


def test_what_has_no_count_says_why():
    product = BODY.format("y = x") + "    tl.static_assert(BLOCK < 8)\n"
    assert row_of(sized(product))["text"].startswith("Not compiled for NVIDIA H100 and H200: ")
    wide = """
@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    rows, columns = tl.arange(0, 32), tl.arange(0, 2048)
    x = tl.load(x_ptr + rows[:, None] * 2048 + columns[None, :])
    tl.store(y_ptr + rows[:, None] * 32 + rows[None, :], tl.dot(x, tl.trans(x)))
"""
    row = row_of(sized(wide))
    assert "a program needs 294,912 bytes of shared memory and NVIDIA H100 and H200 has 232,448" in row["text"]
    assert "shares" not in row


def test_of_a_kernels_launches_the_largest_counts():
    asked = []

    def run_jobs(modules, jobs, **more):
        asked.extend(job["size"]["elements"] for job in jobs)
        return [(number, {"unsuited": "not now", "seconds": 0.0}) for number in range(len(jobs))]

    odd = sized(SCALE, 17 * 1024, divisible=("x_ptr", "y_ptr"), kernel="scale_kernel")
    launches = [sized(SCALE, size * 1024, kernel="scale_kernel") for size in (2, 16, 4)]
    half = sized(SCALE, 1024, kernel="scale_kernel", signature={"x_ptr": "*fp16", "y_ptr": "*fp16", "n": "i32"})
    report = machine_code_report([*launches, odd, half, dataclasses.replace(odd, size={})], run_jobs)
    assert sorted(asked) == [1024, 16 * 1024]
    assert {row["text"] for row in report["kernels"]} == {"Not compiled for NVIDIA H100 and H200: not now"}
    assert all(word in report["about"] for word in ("L1", "L2", "occupancy", "bank conflicts"))


def test_launches_that_differ_in_size_alone_compile_to_one_code():
    assert sized(SCALE, 1024).key() == sized(SCALE, 4096).key()


@pytest.mark.parametrize(
    "size",
    [
        {"grid": [1, 1, 1], "numbers": {}, "elements": 4},
        {"grid": [1, 1], "numbers": {}, "elements": 4, "bytes": 16},
        {"grid": [1, 1, 1], "numbers": {}, "elements": -4, "bytes": 16},
        {"grid": [1, 1, 1], "numbers": {"n": 0.5}, "elements": 4, "bytes": 16},
        {"grid": [1, 1, 1], "numbers": [], "elements": 4, "bytes": 2**70},
    ],
)
def test_a_size_is_made_of_numbers(size):
    with pytest.raises(ValueError, match="not made of numbers"):
        KernelLaunch("kernel", "", {}, size=size)
