"""Our Triton kernels that compute half precision by a way of its own: how far they are from the truth."""

import importlib

import pytest
import torch
from graded_kernels.autograder.exercises.gelu import gelu
from graded_kernels.autograder.exercises.silu import silu
from graded_kernels.autograder.gpu import Emulator
from graded_kernels.autograder.judge import ulp_error

# By name: as attributes of the package, gelu and silu are the functions.
gelu_forward = importlib.import_module("graded_kernels.kernels.gelu").gelu_forward
silu_forward = importlib.import_module("graded_kernels.kernels.silu").silu_forward
products = importlib.import_module("graded_kernels.kernels.matmul")
head = importlib.import_module("graded_kernels.kernels.linear_cross_entropy")

FUNCTIONS = {
    "gelu": (gelu_forward, gelu),
    "gelu, tanh": (lambda x: gelu_forward(x, "tanh"), lambda x: gelu(x, "tanh")),
    "silu": (silu_forward, silu),
}
FARTHEST = {torch.bfloat16: 0.502, torch.float16: 0.505}  # half an ulp is the rounding itself


@pytest.mark.parametrize("dtype", FARTHEST)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_finite_value_is_as_good_as_rounded_once(name, dtype):
    forward, oracle = FUNCTIONS[name]
    x = torch.arange(-(2**15), 2**15, dtype=torch.int16).view(dtype)
    x = x[x.isfinite()]
    with Emulator():  # Triton's own interpreter rounds bfloat16 otherwise
        y = forward(x)
    assert ulp_error(y, oracle(x.double()), dtype).max() <= FARTHEST[dtype]


@pytest.mark.parametrize("columns", [100, 300])
def test_products_of_large_tiles(columns):
    a = torch.randn(130, 70, generator=torch.Generator().manual_seed(1)).to(torch.bfloat16).t().contiguous().t()
    b = torch.randn(70, columns, generator=torch.Generator().manual_seed(2)).to(torch.bfloat16)
    with Emulator() as emulator:
        c = products.matmul(a, b)
    assert products.tiles(a, b) == (128, 128 if columns == 100 else 256, 64)
    assert emulator.findings == ()
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=2**-8, atol=1e-5)


@pytest.mark.parametrize("dtype", FARTHEST)
@pytest.mark.parametrize("columns", [30, 200])
def test_product_of_float32_and_half_precision_loses_no_bit_of_either(columns, dtype):
    a = torch.randn(70, 500, generator=torch.Generator().manual_seed(1)) * 2.0 ** torch.arange(-90, -20).unsqueeze(1)
    b = torch.randn(500, columns, generator=torch.Generator().manual_seed(2)).to(dtype)
    c = torch.empty(70, columns)
    with Emulator() as emulator:
        head.add_product(a, b, c)
    assert head.tiles_of_product(a, b) == ((64, 64, 32) if columns == 30 else (128, 256, 32))
    assert emulator.findings == ()
    error = (c.double() - a.double() @ b.double()).abs() / (a.double().abs() @ b.double().abs())
    assert error.max() < 2.0**-21  # two pieces: 2^-18


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf, 3.4028235e38])
@pytest.mark.parametrize("dtype", FARTHEST)
def test_product_in_pieces_keeps_large_numbers_and_what_is_not_finite(dtype, value):
    a = torch.tensor([[value, 1.0], [1.0, 2.0]])
    if value != value:
        a.view(torch.int32)[0, 0] = 0x7F800001  # a NaN whose first 16 bits are infinity's
    c = torch.empty(2, 1)
    with Emulator():
        head.add_product(a, torch.tensor([[0.5], [0.25]], dtype=dtype), c)
    if dtype == torch.float16 and abs(value) == torch.inf:
        value = torch.nan  # infinity times the second piece of 0.5, which is 0
    torch.testing.assert_close(c, torch.tensor([[value / 2], [1.0]]), equal_nan=True)
