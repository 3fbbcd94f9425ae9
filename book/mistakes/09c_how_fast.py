"""Every tile is counted whole, also at an edge, where masks leave some of it out. It is right where the sizes are
multiples of the tile.
"""


def product_cost(sizes, block_m=64, block_n=64, element_bytes=2):
    m, n, k = sizes.unbind(1)
    tiles = -(-m // block_m) * -(-n // block_n)
    moved = tiles * (block_m + block_n) * k + m * n
    return element_bytes * moved, 2 * m * n * k
