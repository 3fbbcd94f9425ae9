"""Mistakes in Triton, in kernels and in the functions that launch them."""

from .mistake import on

SUM = """
@triton.jit
def kernel(x_ptr, y_ptr, M, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    {}


def row_sum(x):
    M, N = x.shape
    y = torch.empty(M, dtype=x.dtype)
    if M:
        kernel[(M,)](x.contiguous(), y, M, N, BLOCK={})
    return y
"""
WHOLE = "triton.next_power_of_2(max(N, 1))"
SILU = """
@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + offsets, x * tl.sigmoid(x), mask=mask)


def silu_forward(x):
    x = x.contiguous()
    y, n = torch.empty_like(x), {}
    silu_kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
    return y
"""
MATMUL = """
@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, BLOCK: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)[:, None]
    cols = tl.program_id(1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)[None, :]
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, {depth}, BLOCK):
        k = start + tl.arange(0, BLOCK).to(tl.int64)
        a = tl.load(a_ptr + rows * a_row + k[None, :] * a_col, mask=(rows < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + k[:, None] * b_row + cols * b_col, mask=(k[:, None] < K) & (cols < N), other=0.0)
        {loaded}
        total += tl.dot(a, b, input_precision="ieee"){added}
    tl.store(c_ptr + rows * N + cols, total.to(c_ptr.dtype.element_ty), mask=(rows < M) & (cols < N))


def matmul(a, b):
    (M, K), N = a.shape, b.shape[1]
    {first}
    c = torch.empty(M, N, dtype={dtype}, device=a.device)
    if c.numel():
        matmul_kernel[{grid}](a, b, c, M, N, K, *a.stride(), *b.stride(), BLOCK=64)
    return {result}
"""
RIGHT = {
    "depth": "K",
    "loaded": "pass",
    "added": "",
    "first": "pass",
    "dtype": "a.dtype",
    "grid": "(triton.cdiv(M, 64), triton.cdiv(N, 64))",
    "result": "c",
}


def _matmul(why: str, case: str, **changed: str):
    (mistake,) = on("matmul", "triton", "{}", (why, case, MATMUL.format(**RIGHT | changed)))
    return mistake


KERNELS = (
    *on(
        "row_sum",
        "triton",
        SUM,
        (
            "adds in the dtype of x",
            "bfloat16",
            "x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=0.0)\n    tl.store(y_ptr + row, tl.sum(x))",
            WHOLE,
        ),
        (
            "a block of 1024 and no loop",
            "longer than a block",
            "x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=0.0).to(tl.float32)\n"
            "    tl.store(y_ptr + row, tl.sum(x).to(y_ptr.dtype.element_ty))",
            "1024",
        ),
        (
            "a block of two halves",
            "one column",
            "x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=0.0).to(tl.float32)\n"
            "    tl.store(y_ptr + row, tl.sum(x).to(y_ptr.dtype.element_ty))",
            "triton.next_power_of_2(N) // 2 * 2",
        ),
        (
            "no other=",
            "ordinary values",
            "x = tl.load(x_ptr + row * N + cols, mask=cols < N).to(tl.float32)\n"
            "    tl.store(y_ptr + row, tl.sum(x).to(y_ptr.dtype.element_ty))",
            WHOLE,
        ),
    ),
    *on(
        "silu_forward",
        "triton",
        SILU,
        ("counts the rows", "odd shape, several blocks", "len(x) if x.dim() else 1"),
        (
            "counts rows and columns",
            "odd shape, several blocks",
            "x.shape[0] * x.shape[1] if x.dim() > 1 else x.numel()",
        ),
    ),
    _matmul("returns None for no rows", "no rows", first="if not M: return None"),
    _matmul("returns None for no columns", "no columns", first="if not N: return None"),
    _matmul("adds what is rounded", "float16", added=".to(a.dtype)"),
    _matmul("returns float32", "float16", dtype="torch.float32"),
    _matmul("hides NaN in a", "infinity and NaN", loaded="a = tl.where(a == a, a, 0.0)"),
    _matmul("hides NaN in b", "infinity and NaN", loaded="b = tl.where(b == b, b, 0.0)"),
    _matmul("hides infinity", "infinity and NaN", loaded="a = tl.where(tl.abs(a) < 1e30, a, 0.0)"),
    _matmul("squeezes a row", "a row times a matrix", result="c.squeeze(0)"),
    _matmul("squeezes a column", "a matrix times a column", result="c.squeeze(1)"),
    _matmul("leaves out the last of K", "K is 1", depth="K - 1"),
    _matmul("a grid of one tile", "ordinary values", grid="(1, 1)"),
    _matmul("a grid that rounds down", "several tiles", grid="(max(M // 64, 1), max(N // 64, 1))"),
)
