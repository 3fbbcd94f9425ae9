"""Attention's kernels move what their tiles need, and not a byte more."""

import importlib
from collections import Counter

import pytest
import torch
from graded_kernels.autograder.gpu import Emulator
from library import random

LIBRARY = importlib.import_module("graded_kernels.kernels.attention_function")
TILES = importlib.import_module("graded_kernels.kernels.attention").blocks
TILES_OF_KEYS = importlib.import_module("graded_kernels.kernels.attention_backward").blocks_of_keys


def needed(m: int, n: int, causal: bool, block_m: int, block_n: int) -> list[tuple[int, int]]:
    """Queries and keys of each tile in which a query sees a key."""
    return [
        (min(block_m, m - i), min(block_n, n - j))
        for i in range(0, m, block_m)
        for j in range(0, n, block_n)
        if not causal or j <= min(i + block_m, m) - 1 + n - m
    ]


def least(heads: int, m: int, n: int, d: int, size: int, keys: int, queries: int) -> dict[str, int]:
    """Bytes by parameter. keys, queries: how many are read for tiles of queries, and for tiles of keys."""
    row, count = d * size, Counter()
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
    keys = sum(some for _, some in needed(m, n, causal, *TILES(q, k)[:2]))
    queries = sum(some for some, _ in needed(m, n, causal, *TILES_OF_KEYS(q, k)))
    assert emulator.findings == ()
    assert moved == least(4, m, n, d, q.element_size(), keys, queries)
