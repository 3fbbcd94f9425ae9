"""Functions of rows that the rows beside them change. Cases: sglang's and vLLM's fused MoE kernel, tokenspeed#904."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from ...kernels.wild import neighbours as wild
from .cases.suspect import SCORES, first, suspect

WORKGROUPS = 16  # of a GPU so small that a small input fills it
_decode_sum: Callable[..., Tensor] = wild.decode_sum


def expert_product(a: Tensor, b: Tensor, few: int = 1) -> Tensor:
    """Returns how many elements of the first ``few`` rows of a @ b have other bits when these rows of a are alone: 0.
    a: (M, K), b: (K, N), float32.
    """
    return torch.zeros((), dtype=torch.int64)


def decode_sum(x: Tensor, few: int = 1) -> Tensor:
    """Returns how many of the sums of the first ``few`` rows of x have other bits when these rows are alone: 0. x: (M,
    K), float32.
    """
    return torch.zeros((), dtype=torch.int64)


def other_bits(function: Callable[..., Tensor], x: Tensor, few: int, *more: Tensor) -> Tensor:
    """Returns how many elements of the first rows differ between a call on these alone and one on all."""
    return (function(x[:few].float(), *more) != function(x.float(), *more)[:few]).sum()


def _no_rows(x: Tensor, few: int) -> str:
    return first(
        (x.dim() == 2 and x.numel() > 0, "Rows are a matrix (M, K)."),
        (bool((x.abs() <= 1e4).all()), "Numbers lie between -10,000 and 10,000."),
        (0 < few <= len(x), "few is 1 or more, and at most the number of rows."),
    )


def _no_factors(a: Tensor, b: Tensor, few: int = 1) -> str:
    return _no_rows(a, few) or first(
        (b.dim() == 2 and b.shape[0] == a.shape[1] and b.numel() > 0, "b is (K, N)."),
        (bool((b.abs() <= 1e4).all()), "Numbers of b lie between -10,000 and 10,000."),
        (len(a) * b.shape[1] <= SCORES, f"a @ b has at most {SCORES:,} elements."),
    )


SUSPECTS = (
    suspect(
        expert_product,
        torch.int64,
        lambda a, b, few=1: other_bits(wild.expert_product, a, few, b.float()),
        thread="sgl-project/sglang, get_default_config; vllm-project/vllm#34846",
        story="sglang's and vLLM's fused MoE kernel added K in blocks of 64 where there were no more rows than "
        "experts, and in blocks of 32 where there were more.",
        apart=lambda a, b, few=1: 0,
        asked="0: one element",
        complaint=_no_factors,
        floats=(torch.float32,),
        hint="From how many rows on does it choose another block? And how long has K to be for the two to differ?",
    ),
    suspect(
        decode_sum,
        torch.int64,
        lambda x, few=1: other_bits(lambda rows: _decode_sum(rows, WORKGROUPS), x, few),
        thread="lightseekorg/tokenspeed#904",
        story="tokenspeed cut the keys into as many parts as kept 256 workgroups busy, here 16: the more rows, the "
        "fewer parts.",
        apart=lambda x, few=1: 0,
        asked="0: one sum",
        complaint=lambda x, few=1: _no_rows(x, few),
        floats=(torch.float32,),
        hint="The block is fixed, and the number of parts is not. How many parts has a row alone, and among how many "
        "rows are they fewer than its blocks?",
    ),
)

neighbour_witness = replace(
    SUSPECTS[0],
    name="neighbour_witness",
    summary="for each of expert_product and decode_sum arguments that show that a row depends on the rows beside it",
    others=SUSPECTS[1:],
)
