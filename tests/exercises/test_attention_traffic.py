"""Attention's kernels move what their tiles need, and not a byte more."""

import importlib
from collections import Counter

import pytest
import torch
from graded_kernels.autograder.gpu.emulator import Emulator
from library import random

LIBRARY = importlib.import_module("graded_kernels.kernels.attention_function")
TILES = importlib.import_module("graded_kernels.kernels.attention").blocks


def least(heads: int, m: int, n: int, d: int, size: int, causal: bool, tile: int) -> dict[str, int]:
    """Bytes by parameter. A tile is needed where one of its queries sees one of its keys."""
    row, count = d * size, Counter()
    needed = [
        (min(tile, m - i), min(tile, n - j))
        for i in range(0, m, tile)
        for j in range(0, n, tile)
        if not causal or j <= min(i + tile, m) - 1 + n - m
    ]
    keys, queries = sum(k for _, k in needed), sum(q for q, _ in needed)
    count.update(q_ptr=m * row, k_ptr=keys * row, v_ptr=keys * row, o_ptr=m * row, lse_ptr=m * 4)  # forward
    count.update(q_ptr=m * row, do_ptr=m * row, o_ptr=m * row, k_ptr=keys * row, v_ptr=keys * row)  # δ and dq
    count.update(lse_ptr=m * 4, delta_ptr=m * 4, dq_ptr=m * row)
    count.update(k_ptr=n * row, v_ptr=n * row, q_ptr=queries * row, do_ptr=queries * row)  # dk and dv
    count.update(lse_ptr=queries * 4, delta_ptr=queries * 4, dk_ptr=n * row, dv_ptr=n * row)
    return {name: heads * moved for name, moved in count.items()}


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_every_tile_is_moved_once(dtype, causal):
    m, n, d = 70, 133, 24
    do, q = (random(2, 2, m, d, dtype=dtype, seed=seed) for seed in (1, 2))
    k, v = (random(2, 2, n, d, dtype=dtype, seed=seed) for seed in (3, 4))
    with Emulator() as emulator:
        o, lse = LIBRARY.attention_forward(q, k, v, None, causal)
        LIBRARY.attention_backward(do, q, k, v, o, lse, None, causal)
    moved = {name: sum(both.values()) for name, both in emulator.traffic.items()}
    tile, *_ = TILES(q, k)
    assert emulator.findings == ()
    assert moved == least(4, m, n, d, q.element_size(), causal, tile)
