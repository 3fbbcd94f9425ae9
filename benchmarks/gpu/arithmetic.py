"""What an approximate instruction costs: functions and products on a sample of float32, against float64.

A GPU computes `tl.exp` by ex2.approx, `/` by div.full, and a product of matrices in TF32 where nobody says otherwise;
the emulator is tighter. The same code runs on both.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from graded_kernels.autograder.judge import ulp_error, ulp_size

SAMPLE, BLOCK, SIDE = 1 << 20, 1024, 64
INSTRUCTION = re.compile(r"\b(?:ex2|lg2|rcp|div|sqrt|rsqrt|tanh)\.[a-z0-9.]+")
PRECISIONS = ("ieee", "tf32x3", "tf32")


@dataclass(frozen=True)
class Function:
    """A function of triton.language, where it is sampled, and its exact value in float64."""

    name: str
    low: float
    high: float
    exact: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


FUNCTIONS = (
    Function("tl.exp(x)", -87.0, 88.0, lambda x, y: x.exp()),
    Function("tl.exp2(x)", -126.0, 127.0, lambda x, y: x.exp2()),
    Function("tl.log(x)", 1e-30, 1e30, lambda x, y: x.log()),
    Function("x / y", -1e4, 1e4, lambda x, y: x / y),
    Function("tl.div_rn(x, y)", -1e4, 1e4, lambda x, y: x / y),
    Function("tl.sqrt(x)", 0.0, 1e8, lambda x, y: x.sqrt()),
    Function("tl.sqrt_rn(x)", 0.0, 1e8, lambda x, y: x.sqrt()),
    Function("tl.rsqrt(x)", 1e-8, 1e8, lambda x, y: x.rsqrt()),
    Function("tl.sigmoid(x)", -87.0, 87.0, lambda x, y: x.sigmoid()),
    Function("tl.erf(x)", -4.0, 4.0, lambda x, y: x.erf()),
)


@triton.jit
def function_kernel(x_ptr, y_ptr, out_ptr, NUMBER: tl.constexpr, BLOCK: tl.constexpr):
    """The function NUMBER of `FUNCTIONS`."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + at), tl.load(y_ptr + at)
    if NUMBER == 0:
        out = tl.exp(x)
    elif NUMBER == 1:
        out = tl.exp2(x)
    elif NUMBER == 2:
        out = tl.log(x)
    elif NUMBER == 3:
        out = x / y
    elif NUMBER == 4:
        out = tl.div_rn(x, y)
    elif NUMBER == 5:
        out = tl.sqrt(x)
    elif NUMBER == 6:
        out = tl.sqrt_rn(x)
    elif NUMBER == 7:
        out = tl.rsqrt(x)
    elif NUMBER == 8:
        out = tl.sigmoid(x)
    else:
        out = tl.erf(x)
    tl.store(out_ptr + at, out)


@triton.jit
def product_kernel(a_ptr, b_ptr, c_ptr, PRECISION: tl.constexpr, SIDE: tl.constexpr):
    at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
    tl.store(c_ptr + at, tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at), input_precision=PRECISION))


def arithmetic(name: str, simulated: bool) -> dict:
    """``functions``: the worst error of each in ulp, with the instructions it became where there is a compiler;
    ``products``: that of a product in each precision, in ulp of the sum of the terms' magnitudes.
    """
    functions = {function.name: of_function(number) for number, function in enumerate(FUNCTIONS)}
    return {"functions": functions, "products": {precision: of_product(precision) for precision in PRECISIONS}}


def of_function(number: int) -> dict:
    function = FUNCTIONS[number]
    generator = torch.Generator().manual_seed(number)
    x, y = (torch.rand(SAMPLE, generator=generator, dtype=torch.float64) for _ in range(2))
    x, y = (function.low + x * (function.high - function.low)).float(), (0.1 + 10 * y).float()
    out = torch.empty(SAMPLE, device="cuda")
    launched = function_kernel[(SAMPLE // BLOCK,)](x.cuda(), y.cuda(), out, NUMBER=number, BLOCK=BLOCK)
    error = ulp_error(out.cpu(), function.exact(x.double(), y.double()), torch.float32)
    return {"ulp": error.max().item(), "instructions": instructions(launched)}


def instructions(launched: object) -> list[str]:
    """The approximate or rounded instructions in a compiled kernel's PTX; none of an interpreted one."""
    ptx = getattr(launched, "asm", {}).get("ptx", "")
    return sorted(set(INSTRUCTION.findall(ptx)))


def of_product(precision: str) -> float:
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(SIDE, SIDE, generator=generator) for _ in range(2))
    c = torch.empty(SIDE, SIDE, device="cuda")
    product_kernel[(1,)](a.cuda(), b.cuda(), c, PRECISION=precision, SIDE=SIDE)
    a, b = a.double(), b.double()
    size = ulp_size(a.abs() @ b.abs(), torch.float32)
    return ulp_error(c.cpu(), a @ b, torch.float32, size).max().item()
