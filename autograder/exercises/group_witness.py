"""Two kernels to break: sums with a scale for each group. Cases: sglang#39626, FBGEMM#6159."""

from dataclasses import replace

import torch
from torch import Tensor

from ...kernels.wild import group_scales as wild
from .cases.suspect import first, suspect


def scaled_sum(x: Tensor, scale: Tensor, group: int = 128) -> Tensor:
    """(M,) float32: the sum of each row of x (M, K), where element k counts scale[m, k // group] times.
    scale: (M, K / group, rounded up).
    """
    return (x * scale[:, torch.arange(x.shape[1]) // group]).sum(1)


def grouped_sum(x: Tensor, scale: Tensor) -> Tensor:
    """(M,) float32: the sum of each row of x (M, K), where element k counts scale[m, k // 128] times.
    scale: (M, K / 128, rounded up).
    """
    return scaled_sum(x, scale)


def _no_groups(x: Tensor, scale: Tensor, group: int = 128) -> str:
    shaped = x.dim() == 2 and x.numel() > 0 and group >= 1
    return first(
        (shaped, "x is a matrix (M, K) with elements, and group is 1 or more."),
        (
            not shaped or scale.shape == (len(x), -(-x.shape[1] // group)),
            "scale is (M, K / group, rounded up): a scale for each group of a row.",
        ),
        (all(bool((t.double().abs() <= 100).all()) for t in (x, scale)), "Numbers lie between -100 and 100."),
    )


tile_witness = replace(
    suspect(
        scaled_sum,
        torch.float32,
        wild.scaled_sum_of_tiles,
        thread="sgl-project/sglang#39626",
        story="sglang read one scale for a tile of 64, and accepted groups of 32. Its own tuner left such tiles out; "
        "whoever wrote a configuration by hand was not told.",
        apart=lambda x, scale, group=128: 1.0,
        asked="1",
        complaint=_no_groups,
        hint="How many groups are in a tile, and how many scales does the kernel read for it?",
        who="the kernel",
    ),
    name="tile_witness",
    summary="(x, scale, group) on which a sum of the kernel is off by more than 1",
)

group_witness = replace(
    suspect(
        grouped_sum,
        torch.float32,
        wild.scaled_sum_without_the_last_group,
        thread="pytorch/FBGEMM#6159",
        story="FBGEMM applied the last scale where less than a tile was left, and not where exactly one was: K = 640 "
        "with groups of 256 was off by ten thousand times.",
        apart=lambda x, scale: 1.0,
        asked="1",
        complaint=_no_groups,
        hint="For which numbers of tiles is the group not full at the end? What is K - 64 · i in the last of them?",
        who="the kernel",
    ),
    name="group_witness",
    summary="(x, scale) on which a sum of the kernel is off by more than 1",
)
