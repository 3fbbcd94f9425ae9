"""Products of matrices whose elements are summed over k in one order, wherever they lie in a block.

BLAS adds in an order that hangs on the place in the block and on the number of threads, and is several times as fast.
A sum in float64 that is rounded to float32 has nearly always the same bits in any order: BLAS is asked, and where
another order could round otherwise, the element is summed again in order.
"""

import numpy as np

from .arithmetic import to_tf32

_FEW = 1 << 15  # products of two numbers; fewer are summed in order at once
_CACHED = 1 << 15  # elements of a result that are computed at a time
_DOUBT = 0.05  # of the elements; with more, all are summed in order


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``a @ b`` in float64, each element summed over k from the first to the last.

    A product of two float32 is exact in float64, so that fused or not it has the same bits on any processor.
    """
    left, right = (np.ascontiguousarray(each, dtype=np.float64) for each in (a, b))
    if right.shape[-1] == 1:  # numpy would make k its inner axis, and add in another order
        return product(left, np.repeat(right, 2, axis=-1))[..., :1]
    sums: np.ndarray = np.einsum("...mk,...kn->...mn", left, right, optimize=False)
    return sums


def product_float32(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`product` of factors no wider than float32, rounded to float32. A few programs at a time, which a cache holds."""
    if a.size * b.shape[-1] < _FEW:
        return product(a, b).astype(np.float32)
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
    programs = shape[0] if len(shape) == 3 else 1
    step = max(1, _CACHED // (shape[-1] * shape[-2]))
    if programs <= step:
        return _nearly_always_by_blas(a, b)
    result = np.empty(shape, np.float32)
    for at in range(0, programs, step):
        some = (each if len(each) == 1 else each[at : at + step] for each in (a, b))
        result[at : at + step] = _nearly_always_by_blas(*some)
    return result


def _nearly_always_by_blas(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`product`, rounded to float32.

    Two orders of K exact products differ by at most 2 K u |a| |b| (u = 2^-53, to first order; Euclidean norms): twice
    that is allowed for, which holds the rounding of the norms and of the limits. An element both of whose limits round
    to the same bits has them in any order.
    """
    left, right = (np.ascontiguousarray(each, dtype=np.float64) for each in (a, b))
    norms = np.sqrt(np.einsum("...mk,...mk->...m", left, left)) * (left.shape[-1] * 2.0**-51)
    others = np.sqrt(np.einsum("...kn,...kn->...n", right, right))
    if not (np.isfinite(norms).all() and np.isfinite(others).all()):
        return product(left, right).astype(np.float32)
    near = np.matmul(left, right)
    distance = norms[..., None] * others[..., None, :]
    least, most = np.empty(near.shape, np.float32), np.empty(near.shape, np.float32)
    with np.errstate(over="ignore"):
        np.subtract(near, distance, out=least, casting="same_kind")
        np.add(near, distance, out=most, casting="same_kind")
    doubtful = np.flatnonzero(least.view(np.int32) != most.view(np.int32))
    if len(doubtful) > _DOUBT * least.size:
        return product(left, right).astype(np.float32)
    least.flat[doubtful] = _in_order(left, right, near.shape, np.unravel_index(doubtful, near.shape))
    return least


def _in_order(left: np.ndarray, right: np.ndarray, shape: tuple[int, ...], at: tuple[np.ndarray, ...]) -> np.ndarray:
    """Some elements of `product`, by their places. 0 comes first, as it does there: a sum of -0 alone is 0."""
    *programs, m, n = at
    rows = np.broadcast_to(left, (*shape[:-2], *left.shape[-2:]))[(*programs, m)]
    columns = np.broadcast_to(right, (*shape[:-2], *right.shape[-2:])).swapaxes(-1, -2)[(*programs, n)]
    sums: np.ndarray = np.cumsum(rows * columns, axis=-1)[:, -1]
    return sums + 0.0


def product_tf32(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``a @ b`` of float32 in TF32, in float32."""
    return product_float32(to_tf32(a), to_tf32(b))


def product_tf32x3(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``a @ b`` of float32 as three products in TF32, the way Triton's compiler takes it apart: the factors as sums of
    two, without the product of the small parts. A NaN that comes from there alone counts as 0.
    """
    large_a, large_b = to_tf32(a, nearest=True), to_tf32(b, nearest=True)
    small_a, small_b = to_tf32(a - large_a, nearest=True), to_tf32(b - large_b, nearest=True)
    first, other, large = (
        product_float32(left, right) for left, right in ((small_a, large_b), (large_a, small_b), (large_a, large_b))
    )
    small = first + other
    total: np.ndarray = np.add(np.where(np.isnan(small), np.float32(0), small), large)
    return total
