"""The operators of sarkar-dipankar/gpuemu-corpus: what is right in float64, and inputs of a benchmark's shapes.

Its kernels are functions of a dict of NumPy arrays, and are read out of a checkout: nothing of theirs is here.
"""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

FOLDER = "gpuemu_corpus/data"
ROWS, KEYS = (2, 7, 256), (8, 256, 64)  # powers of 2 where a row is reduced


def l2_norm(x):
    return x * (x.square().sum(-1, keepdim=True) + 1e-12).rsqrt()


def rms_norm(x):
    return x * (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt()


def layer_norm(x):
    return (x - x.mean(-1, keepdim=True)) * (x.var(-1, correction=0, keepdim=True) + 1e-5).rsqrt()


def gelu(x):
    return 0.5 * x * (1 + ((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)).tanh())


def attention(q, k, v):
    return (q @ k.mT * q.shape[1] ** -0.5).softmax(-1) @ v


OPERATORS: dict[str, Callable[..., torch.Tensor]] = {
    "attention": attention,
    "elu": torch.nn.functional.elu,
    "flash_attention": attention,
    "gelu": gelu,
    "l2norm": l2_norm,
    "layernorm": layer_norm,
    "leaky_relu": torch.nn.functional.leaky_relu,
    "matmul": torch.matmul,
    "relu": torch.relu,
    "rmsnorm": rms_norm,
    "sigmoid": torch.sigmoid,
    "silu": torch.nn.functional.silu,
    "softmax": lambda x: x.softmax(-1),
    "tanh": torch.tanh,
}
WRONG = {  # the folder of a wrong one: what is wrong, by its docstring, and the folder of its twin
    "attention_triton_buggy": ("the scores are not divided by the root of D", "attention_triton"),
    "flash_attention_triton_buggy": (
        "the accumulator is not rescaled where the maximum grows: wrong beyond 32 keys",
        "flash_attention_triton",
    ),
    "gelu_triton_buggy": ("the factor 0.5 is left out", "gelu_triton"),
    "l2norm_triton_buggy": ("divided by the square of the norm", "l2norm_triton"),
    "leaky_relu_triton_buggy": ("the slope is 0.1 instead of 0.01", "leaky_relu_triton"),
    "matmul_triton_buggy": ("the accumulator is overwritten in each step of K", "matmul_triton"),
    "rmsnorm_triton_buggy": ("divided by the mean square, not by its root", "rmsnorm_triton"),
    "silu_triton_buggy": ("the sigmoid is of 2x", "silu_triton"),
    "softmax_llm_buggy": ("the padding to 128 columns is part of the sum", "softmax"),
    "softmax_triton_buggy": ("masked-off lanes are 0 and part of the sum", "softmax_triton"),
}
RIGHT = (*(f"{name}_triton" for name in OPERATORS if name != "layernorm"), "softmax", "layernorm", "matmul")


def names(folder: str) -> tuple[str, ...]:
    """The names of an operator's arguments."""
    if "attention" in folder:
        return ("q", "k", "v")
    return ("a", "b") if "matmul" in folder else ("input",)


def reference(folder: str) -> Callable[..., torch.Tensor]:
    operator = folder
    for end in ("_buggy", "_triton", "_llm"):
        operator = operator.removesuffix(end)
    return OPERATORS[operator]


def arguments(folder: str, seed: int = 0) -> tuple[torch.Tensor, ...]:
    draw = torch.Generator().manual_seed(seed)
    queries, keys, size = KEYS
    shapes: tuple[tuple[int, ...], ...] = (ROWS,)
    if "attention" in folder:
        shapes = ((queries, size), (keys, size), (keys, size))
    if "matmul" in folder:
        shapes = ((64, 64), (64, 64))
    return tuple(torch.randn(*shape, generator=draw) for shape in shapes)


def function(folder: str, checkout: Path) -> Callable[..., torch.Tensor]:
    """Their function, of tensors. It is imported when it is called, since the file asks then whether there is a GPU."""

    def called(*args: torch.Tensor) -> torch.Tensor:
        spec = importlib.util.spec_from_file_location(folder, checkout / FOLDER / folder / "kernel.py")
        assert spec and spec.loader
        module: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        given = {name: one.detach().cpu().numpy() for name, one in zip(names(folder), args, strict=True)}
        return torch.from_numpy(module.run(given)).to(args[0].device)

    return called
