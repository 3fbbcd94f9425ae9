"""What a tiled matrix product moves and computes, from its sizes alone.

    bytes = element_bytes · (M K ⌈N / block_n⌉ + K N ⌈M / block_m⌉ + M N),   flops = 2 M N K

a: (M, K), b: (K, N), c: (M, N); a program makes one tile (block_m, block_n) of c, and walks along K. Every column of
tiles reads all of a, every row of tiles all of b, and c is written once.
"""

import torch


# %% product_cost
def product_cost(
    sizes: torch.Tensor, block_m: int = 64, block_n: int = 64, element_bytes: int = 2
) -> tuple[torch.Tensor, torch.Tensor]:
    """(moved, flops), both (P,) int64, of the P products whose sizes are the rows M, N, K of sizes (P, 3) int64: the
    bytes that all programs load and store together, where each masks off what does not exist, and the floating-point
    operations, a multiplication and an addition for each of the M · N · K pairs.
    """
    m, n, k = sizes.unbind(1)
    rows, columns = -(-m // block_m), -(-n // block_n)  # of tiles, rounded up
    moved = m * k * columns + k * n * rows + m * n
    return element_bytes * moved, 2 * m * n * k
