"""Functions of a batch from `tests/material/batch_kernels.py`: the arguments, and the places of those of the batch.

The way in which a wrong one computes a row follows the number of rows, so that its bits depend on its neighbours.
"""

import batch_kernels as kernels
import torch
import triton

ROWS, LENGTH = 24, 160
DRAW = torch.Generator().manual_seed(0)
A, W, X = (torch.randn(*shape, generator=DRAW) for shape in ((ROWS, 200), (200, 32), (ROWS, 200)))
Q = torch.randn(ROWS, 16, 32, generator=DRAW)
K, V = (torch.randn(ROWS, LENGTH, 32, generator=DRAW) for _ in range(2))
PRODUCT, OF_X, ATTENTION = ((A, W), (0,)), ((X,), (0,)), ((Q, K, V, torch.full((ROWS,), LENGTH)), (0, 1, 2, 3))


def by_16(M):
    return 16 if M <= 16 else 64


def few(M):
    return 4 if M <= 4 else 2


def wide(M):
    return 256 if M < 9 else 512


RIGHT = {
    "product": (kernels.product(lambda M: 32), *PRODUCT),
    "split_k": (kernels.product(lambda M: 16, lambda M: 4), *PRODUCT),
    "softmax": (kernels.softmax(lambda M: 64), *OF_X),
    "attention": (kernels.attention(lambda B: 1), *ATTENTION),
    "attention_splits": (kernels.attention(lambda B: 2), *ATTENTION),
    "welford": (kernels.var(lambda M: 256), *OF_X),
    "cumsum": (kernels.scan(lambda M: 256), *OF_X),
    "rows_of_a_tile": (kernels.rows2d(lambda M: 16 if M < 9 else 4), *OF_X),
}
WRONG = {  # what follows the number of rows
    "product": (kernels.product(by_16), *PRODUCT, "the block of K"),
    "split_k": (kernels.product(lambda M: 16, few), *PRODUCT, "the number of pieces of K"),
    "softmax": (kernels.softmax(triton.next_power_of_2), *OF_X, "the block of a row"),
    "attention": (
        kernels.attention(lambda B: 1, block=lambda B: 16 if B < 8 else 32),
        *ATTENTION,
        "the block of keys",
    ),
    "attention_splits": (kernels.attention(lambda B: max(1, 8 // B)), *ATTENTION, "the number of pieces of the keys"),
    "welford": (kernels.var(wide), *OF_X, "the block of a row"),
    "cumsum": (kernels.scan(wide, True), *OF_X, "the block of a row"),
    "rows_of_a_tile": (
        kernels.rows2d(lambda M: 4, lambda M: 64 if M < 9 else 32),
        *OF_X,
        "the columns of a tile",
    ),
}
