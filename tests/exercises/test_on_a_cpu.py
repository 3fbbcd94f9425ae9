"""Elementwise functions of the library on a CPU: how far from the truth, and that an element's bits are its own."""

import pytest
import torch
from graded_kernels import kernels
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.judge import ulp_error
from graded_kernels.kernels import on_a_cpu
from torch.fx.experimental.proxy_tensor import make_fx
from turns import in_turn

ARGUMENTS = {"silu": 1, "gelu": 1, "gelu, tanh": 1, "swiglu": 2, "kl": 2}
DTYPES = [torch.float32, torch.float16, torch.bfloat16]
FARTHEST = {torch.float32: 0.8, torch.float16: 0.501, torch.bfloat16: 0.501}  # in ulp; half of one is the rounding


def function(name: str):
    if name == "gelu, tanh":
        return lambda x: kernels.gelu(x, "tanh")
    return getattr(kernels, name)


def oracle(name: str, *tensors: torch.Tensor) -> torch.Tensor:
    record = EXERCISES[f"{name.split(',')[0]}_forward"]
    return record.oracle(*(x.double() for x in tensors), *(["tanh"] if "tanh" in name else []))


def numbers(dtype: torch.dtype) -> torch.Tensor:
    """Every finite one of 16 bits; of float32 those up to 2^7, each power of two as often, the last places drawn."""
    bits = torch.arange(-(2**15), 2**15).to(torch.int16)
    if dtype != torch.float32:
        x = bits.view(dtype)
        return x[x.isfinite()]
    drawn = torch.randint(2**16, bits.shape, generator=torch.Generator().manual_seed(0), dtype=torch.int32)
    x = (bits.int() << 16 | drawn).view(torch.float32)
    return x[x.abs() < 128]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_element_is_the_truth_rounded_once(name, dtype):
    x = numbers(dtype)
    tensors = [x, *([x.flip(0)] if ARGUMENTS[name] == 2 else [])]
    if name == "kl":  # of both signs and every size
        tensors = [torch.zeros_like(x), x]
    y = function(name)(*tensors)
    assert y.dtype == dtype
    error = ulp_error(y, oracle(name, *tensors), dtype)
    assert error.max() <= FARTHEST[dtype]


@pytest.mark.parametrize(("name", "dtype"), in_turn(ARGUMENTS, DTYPES))
def test_an_elements_bits_do_not_depend_on_its_place(name, dtype):
    """Beside others or alone, in a tensor of several blocks, transposed, in one thread or two; forward and gradient."""
    shape = (3, 2**15 + 7)
    draw = torch.Generator().manual_seed(1)
    tensors = [torch.randn(shape, generator=draw).to(dtype).requires_grad_() for _ in range(ARGUMENTS[name])]
    dy = torch.randn(shape, generator=draw).to(dtype)

    def results(some) -> list[torch.Tensor]:
        leaves = [some(x) for x in tensors]
        y = function(name)(*leaves)
        return [y, *torch.autograd.grad(y, leaves, some(dy))]

    whole = results(lambda x: x)
    for rows in (slice(1, 2), slice(2, 3)):
        for a, b in zip(whole, results(lambda x, rows=rows: x[rows, :1000]), strict=True):
            assert torch.equal(a[rows, :1000], b)
    for a, b in zip(whole, results(lambda x: x.t()), strict=True):
        assert torch.equal(a.t(), b)
    threads = torch.get_num_threads()
    torch.set_num_threads(3 - min(threads, 2))
    try:
        for a, b in zip(whole, results(lambda x: x), strict=True):
            assert torch.equal(a, b)
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("dtype", DTYPES)
def test_infinity_and_no_number(dtype):
    inf, nan = torch.inf, torch.nan
    x = torch.tensor([inf, -inf, nan], dtype=dtype)
    for name in ("silu", "gelu", "gelu, tanh"):
        assert torch.allclose(function(name)(x), torch.tensor([inf, 0, nan], dtype=dtype), equal_nan=True)
    logp = torch.tensor([-inf, -inf, -1, nan, -1], dtype=dtype)
    ref = torch.tensor([-inf, -1, -inf, -1, nan], dtype=dtype)
    right = torch.tensor([0, inf, inf, nan, nan], dtype=dtype)
    assert torch.allclose(kernels.kl(logp, ref), right, equal_nan=True)


def test_a_gradient_of_zero_is_zero_where_the_slope_is_infinite():
    logp = torch.tensor([-torch.inf, -2000.0]).requires_grad_()
    y = kernels.kl(logp, torch.zeros(2))
    (dlogp,) = torch.autograd.grad(y, logp, torch.tensor([0.0, 0.0]))
    assert dlogp.eq(0).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_the_result_is_on_a_cpu_whatever_the_default_device(name, dtype):
    tensors = [torch.ones(3, dtype=dtype)] * ARGUMENTS[name]
    on_a_cpu._every_half.cache_clear()
    with torch.device("meta"):
        y = function(name)(*tensors)
    assert y.equal(function(name)(*tensors))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_traced_call_has_the_bits_of_a_plain_one(name, dtype):
    draw = torch.Generator().manual_seed(2)
    tensors = [torch.randn(1000, generator=draw).to(dtype) for _ in range(ARGUMENTS[name])]
    traced = make_fx(lambda *some: function(name)(*some), tracing_mode="fake")(*tensors)
    assert traced(*tensors).equal(function(name)(*tensors))
