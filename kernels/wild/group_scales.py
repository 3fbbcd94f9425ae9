"""Sums of numbers that have a scale for each group, as they shipped, bug for bug."""

import torch


def scaled_sum_of_tiles(x, scale, group=128, tile=64):
    """sglang's product of 8-bit blocks reads one scale for a tile of K, as if a tile lay in one group; a tile of 64 is
    accepted with groups of 32. (There the tiles after the first go on with the first scale.)

    github.com/sgl-project/sglang/issues/39626 (2026-09-15, open).
    """
    starts = torch.arange(0, x.shape[1], tile)
    tiles = torch.stack([part.sum(1) for part in x.float().split(tile, 1)], 1)
    return (tiles * scale.float()[:, starts // group]).sum(1)


def scaled_sum_without_the_last_group(x, scale, group=128, tile=64):
    """FBGEMM's product of float8 blocks applies a scale when its group is full, or when less than a tile is left. A row
    that ends with a whole tile in the middle of a group loses that group.

    `_kernel_matmul_fp8_block_fastacc`, until github.com/pytorch/FBGEMM/pull/6160 (2026-08-14, landed in September).
    """
    total, part, K = torch.zeros(len(x)), torch.zeros(len(x)), x.shape[1]
    for number, start in enumerate(range(0, K, tile)):
        part = part + x[:, start : start + tile].float().sum(1)
        if (number + 1) % (group // tile) == 0 or K - start < tile:
            total, part = total + part * scale[:, start // group].float(), torch.zeros(len(x))
    return total
