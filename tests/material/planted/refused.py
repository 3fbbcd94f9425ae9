"""What a GPU's compiler or driver refuses."""

import torch
import triton
import triton.language as tl

from .bug import bug


@bug("kernel-error", r"line \d+, .*tl\.arange\(0, N\).*must be a power of 2")
def arange_not_power_of_two():
    """tl.arange over 100 elements: blocks are powers of two."""

    @triton.jit
    def double(x_ptr, y_ptr, N: tl.constexpr):
        offsets = tl.arange(0, N)
        tl.store(y_ptr + offsets, 2 * tl.load(x_ptr + offsets))

    x = torch.arange(100.0)
    y = torch.empty_like(x)
    double[(1,)](x, y, N=100)
    return y, 2 * torch.arange(100.0)


@bug("kernel-error", r"line \d+, `if x > 0:`.*has no single truth value.*tl\.where")
def branch_on_block():
    """An if on a block: the interpreter takes it, a GPU compiler refuses it."""

    @triton.jit
    def relu(x_ptr, y_ptr, BLOCK: tl.constexpr):
        offsets = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets)
        if x > 0:
            tl.store(y_ptr + offsets, x)

    y = torch.zeros(4)
    relu[(1,)](torch.tensor([1.0, -1.0, 2.0, -3.0]), y, BLOCK=4)
    return y, torch.tensor([1.0, 0.0, 2.0, 0.0])


@bug("unsupported", r"`double` is a kernel, and line \d+, .* calls it like a function. Launch it on a grid")
def called_like_a_function():
    """A kernel called without a grid, like a function."""

    @triton.jit
    def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=offsets < n), mask=offsets < n)

    x = torch.arange(100.0)
    y = torch.empty_like(x)
    double(x, y, 100, BLOCK=128)
    return y, 2 * torch.arange(100.0)


@bug(
    "unsupported",
    r"The kernel does not compile for a GPU, line \d+, `factors = .*Dict is Python that Triton cannot compile",
)
def dict_in_kernel():
    """A dictionary in a kernel: the interpreter runs it, a GPU compiler refuses it."""

    @triton.jit
    def scale(x_ptr, y_ptr, BLOCK: tl.constexpr):
        offsets = tl.arange(0, BLOCK)
        factors = {"two": 2.0}
        tl.store(y_ptr + offsets, factors["two"] * tl.load(x_ptr + offsets))

    y = torch.empty(32)
    scale[(1,)](torch.arange(32.0), y, BLOCK=32)
    return y, 2 * torch.arange(32.0)


@bug("kernel-error", r"line \d+, `product = tl\.dot\(.*K >= 16")
def dot_too_small():
    """A tl.dot over four columns: a GPU's matrix unit takes 16 at least."""

    @triton.jit
    def matmul(a_ptr, b_ptr, c_ptr, M: tl.constexpr, K: tl.constexpr):
        m, k = tl.arange(0, M), tl.arange(0, K)
        a = tl.load(a_ptr + m[:, None] * K + k[None, :])
        product = tl.dot(a, tl.load(b_ptr + k[:, None] * M + m[None, :]))
        tl.store(c_ptr + m[:, None] * M + m[None, :], product)

    a, b = torch.ones(16, 4, dtype=torch.float16), torch.ones(4, 16, dtype=torch.float16)
    c = torch.empty(16, 16)
    matmul[(1,)](a, b, c, M=16, K=4)
    return c, torch.full((16, 16), 4.0)


@bug("kernel-error", r"line \d+, `tl.device_assert\(x > 0.*AssertionError: x is not positive")
def false_assertion():
    """An assertion that does not hold; the interpreter never asks it."""

    @triton.jit
    def logarithm(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n)
        tl.device_assert(x > 0, "x is not positive", mask=i < n)
        tl.store(y_ptr + i, tl.log(x), mask=i < n)

    x = torch.arange(50.0)
    y = torch.empty_like(x)
    logarithm[(1,)](x, y, 50, BLOCK=64)
    return y, torch.arange(50.0).log()


@bug("kernel-error", r"NameError: name 'np' is not defined. numpy does not run on a GPU: use the functions of `tl`")
def forgotten_import():
    """numpy in a kernel whose module does not import it: the interpreter has put its own names there."""

    @triton.jit
    def scale(x_ptr, y_ptr, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(y_ptr + i, tl.load(x_ptr + i) * np.pi)  # noqa: F821  the bug

    x = torch.arange(64.0)
    y = torch.empty_like(x)
    scale[(1,)](x, y, N=64)
    return y, torch.arange(64.0) * torch.pi


@bug("grid", r"The grid of `fill` is \(1, 70000, 1\); a GPU allows")
def grid_too_large():
    """70,000 programs along y: a GPU stops at 65,535."""

    @triton.jit
    def fill(y_ptr):
        tl.store(y_ptr + tl.program_id(1), 1.0)

    y = torch.empty(70000)
    fill[(1, 70000)](y)
    return y, torch.ones(70000)


@bug("kernel-error", r"parts\.append\(.*has no attribute 'append'")
def list_in_kernel():
    """A Python list that grows: ordinary Python to the interpreter, nothing a GPU compiler knows."""

    @triton.jit
    def total(x_ptr, y_ptr, BLOCK: tl.constexpr):
        parts = []
        for block in range(2):
            parts.append(tl.sum(tl.load(x_ptr + block * BLOCK + tl.arange(0, BLOCK))))
        tl.store(y_ptr, parts[0] + parts[1])

    y = torch.empty(1)
    total[(1,)](torch.arange(64.0), y, BLOCK=32)
    return y, torch.tensor([2016.0])


@bug("unsupported", r"`double` has no parameter `BLOK`")
def misspelt_parameter():
    """A launch with a misspelt keyword: the interpreter drops it and the default takes its place."""

    @triton.jit
    def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr = 64):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        tl.store(y_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=mask), mask=mask)

    x = torch.arange(100.0)
    y = torch.empty_like(x)
    double[(2,)](x, y, 100, BLOK=64)
    return y, 2 * torch.arange(100.0)


@bug("unsupported", r"`x_ptr` of `double` is of type ndarray: a kernel takes tensors, numbers")
def numpy_argument():
    """A numpy array given to a kernel in the place of a tensor."""

    @triton.jit
    def double(x_ptr, y_ptr, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(y_ptr + i, 2 * tl.load(x_ptr + i))

    x = torch.arange(64.0)
    y = torch.empty_like(x)
    double[(1,)](x.numpy(), y, N=64)
    return y, 2 * torch.arange(64.0)
