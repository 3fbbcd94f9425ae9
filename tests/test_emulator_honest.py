"""No false alarm: honest kernels in every style, in order and shuffled, are right and raise nothing."""

import pytest
import torch
import triton
import triton.language as tl
from graded_kernels.autograder.emulator import Emulator
from planted import Uninitialised
from triton.runtime.errors import InterpreterError
from triton.tools.tensor_descriptor import TensorDescriptor


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask) + tl.load(y_ptr + offsets, mask), mask)


def elementwise():
    x, y = randn(1000), randn(1000, seed=1)
    out = torch.empty_like(x)
    add_kernel[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](x, y, out, 1000, BLOCK=128)
    return out, x + y


def in_place():
    x, y = randn(1000), randn(1000, seed=1)
    expected = x + y
    add_kernel[(8,)](x, y, x, 1000, BLOCK=128)
    return x, expected


def same_tensor_twice():
    x = randn(1000)
    out = torch.empty_like(x)
    add_kernel[(8,)](x, x, out, 1000, BLOCK=128)
    return out, 2 * x


def halves_of_one_tensor():
    both = randn(2000)
    out = torch.empty(1000)
    add_kernel[(8,)](both[:1000], both[1000:], out, 1000, BLOCK=128)
    return out, both[:1000] + both[1000:]


def empty_input():
    x = torch.empty(0)
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(0, 128),)](x, x, out, 0, BLOCK=128)
    return out, x


@triton.autotune(
    configs=[triton.Config({"BLOCK": b}, num_warps=w) for b, w in ((64, 1), (256, 4), (512, 8))], key=["n"]
)
@triton.jit
def tuned_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, 3 * tl.load(x_ptr + offsets, offsets < n), offsets < n)


def autotuned():
    x = randn(1000)
    out = torch.empty_like(x)
    tuned_kernel[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, out, 1000)
    return out, 3 * x


@triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(args["n"])})
@triton.jit
def softmax_kernel(x_ptr, out_ptr, stride, n, BLOCK: tl.constexpr):
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + columns, mask=columns < n, other=-float("inf"))
    tl.store(out_ptr + row * n + columns, tl.softmax(x), mask=columns < n)


def heuristics_and_row_stride():
    x = randn(5, 80)[:, :70]
    out = torch.empty(5, 70)
    softmax_kernel[(5,)](x, out, x.stride(0), 70)
    return out, x.softmax(1)


@triton.jit
def scale(x, factor):
    return x * factor


@triton.jit
def helper_kernel(x_ptr, out_ptr, factor, rows, columns, stride_r, stride_c, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.program_id(1) * C + tl.arange(0, C)
    mask = (r[:, None] < rows) & (c[None, :] < columns)
    x = tl.load(x_ptr + r[:, None] * stride_r + c[None, :] * stride_c, mask=mask)
    tl.store(out_ptr + r[:, None] * columns + c[None, :], scale(x, factor), mask=mask)


def two_dimensional_grid_on_a_transposed_view():
    x = randn(70, 50).t()
    out = torch.empty(50, 70)
    helper_kernel[(triton.cdiv(50, 16), triton.cdiv(70, 32))](x, out, 0.25, 50, 70, *x.stride(), R=16, C=32)
    return out, x * 0.25


def expanded_input():
    x = randn(1, 1).expand(50, 70)
    out = torch.empty(50, 70)
    helper_kernel[(4, 3)](x, out, 2.0, 50, 70, *x.stride(), R=16, C=32)
    return out, 2 * x


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + row * n + columns, mask=columns < n, other=0.0)
    tl.store(out_ptr + row, tl.sum(acc, axis=0))


def loop_over_blocks():
    x = randn(6, 300)
    out = torch.empty(6)
    row_sum_kernel[(6,)](x, out, 300, BLOCK=64)
    return out, x.sum(1)


def two_launches():
    x = randn(6, 300)
    partial, out = torch.empty(6), torch.empty(1)
    row_sum_kernel[(6,)](x, partial, 300, BLOCK=64)
    row_sum_kernel[(1,)](partial, out, 6, BLOCK=64)
    return out, x.sum().reshape(1)


@triton.jit
def atomic_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out_ptr, tl.sum(tl.load(x_ptr + offsets, offsets < n, other=0.0)))


def atomic_sum():
    x, out = randn(1000), torch.zeros(1)
    atomic_kernel[(8,)](x, out, 1000, BLOCK=128)
    return out, x.sum().reshape(1)


@triton.jit
def histogram_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.atomic_add(out_ptr + x, 1, sem="relaxed")


def atomic_histogram():
    x = torch.randint(0, 10, (256,), generator=torch.Generator().manual_seed(0), dtype=torch.int32)
    out = torch.zeros(10, dtype=torch.int32)
    histogram_kernel[(4,)](x, out, BLOCK=64)
    return out, torch.bincount(x, minlength=10).int()


@triton.jit
def locked_kernel(x_ptr, out_ptr, lock_ptr, N: tl.constexpr):
    columns = tl.arange(0, N)
    x = tl.load(x_ptr + tl.program_id(0) * N + columns)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    count = tl.load(lock_ptr + 1)
    if count == 0:
        tl.atomic_xchg(lock_ptr + 1, 1)
    else:
        x += tl.load(out_ptr + columns)
    tl.store(out_ptr + columns, x)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


def sum_under_a_lock():
    x = randn(7, 32)
    out, lock = torch.empty(32), torch.zeros(2, dtype=torch.int32)
    locked_kernel[(7,)](x, out, lock, N=32)
    return out, x.sum(0)


@triton.jit
def last_block_kernel(x_ptr, partial_ptr, count_ptr, out_ptr, P: tl.constexpr, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    tl.store(partial_ptr + program, tl.sum(tl.load(x_ptr + program * BLOCK + tl.arange(0, BLOCK))))
    if tl.atomic_add(count_ptr, 1) == P - 1:
        tl.store(out_ptr, tl.sum(tl.load(partial_ptr + tl.arange(0, P))))


def the_last_program_sums_up():
    x = randn(8 * 64)
    out, count = torch.empty(1), torch.zeros(1, dtype=torch.int32)
    last_block_kernel[(8,)](x, torch.empty(8), count, out, P=8, BLOCK=64)
    return out, x.sum().reshape(1)


@triton.jit
def flag_kernel(x_ptr, flag_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    if tl.max(x) > 100:
        tl.store(flag_ptr, 1)


def every_program_may_raise_the_same_flag():
    x, flag = 200 * torch.ones(512), torch.zeros(1, dtype=torch.int32)
    flag_kernel[(4,)](x, flag, BLOCK=128)
    return flag, torch.ones(1, dtype=torch.int32)


@triton.jit
def refresh_kernel(flag_ptr, out_ptr):
    flag = tl.load(flag_ptr)
    tl.store(flag_ptr, flag)
    tl.store(out_ptr + tl.program_id(0), flag)


def a_store_that_changes_nothing_may_be_read():
    flag, out = torch.ones(1), torch.empty(4)
    refresh_kernel[(4,)](flag, out)
    return out, torch.ones(4)


@triton.jit
def block_pointer_kernel(x_ptr, out_ptr, rows, columns, R: tl.constexpr, C: tl.constexpr):
    x = tl.make_block_ptr(x_ptr, (rows, columns), (columns, 1), (tl.program_id(0) * R, 0), (R, C), (1, 0))
    y = tl.make_block_ptr(out_ptr, (rows, columns), (columns, 1), (tl.program_id(0) * R, 0), (R, C), (1, 0))
    for _ in range(0, columns, C):
        tl.store(y, 2 * tl.load(x, boundary_check=(0, 1)), boundary_check=(0, 1))
        x = tl.advance(x, (0, C))
        y = tl.advance(y, (0, C))


def block_pointers():
    x = randn(20, 50)
    out = torch.empty_like(x)
    block_pointer_kernel[(3,)](x, out, 20, 50, R=8, C=16)
    return out, 2 * x


@triton.jit
def descriptor_kernel(x_ptr, out_ptr, rows, columns, R: tl.constexpr, C: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [rows, columns], [columns, 1], [R, C])
    y = tl.make_tensor_descriptor(out_ptr, [rows, columns], [columns, 1], [R, C])
    r, c = tl.program_id(0) * R, tl.program_id(1) * C
    y.store([r, c], x.load([r, c]) + 1)


def tensor_descriptors_made_in_the_kernel():
    x = randn(20, 48)
    out = torch.empty_like(x)
    descriptor_kernel[(3, 3)](x, out, 20, 48, R=8, C=16)
    return out, x + 1


@triton.jit
def host_descriptor_kernel(x, y, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.program_id(0) * R, tl.program_id(1) * C
    y.store([r, c], x.load([r, c]) * 2)


def tensor_descriptors_from_the_host():
    x = randn(20, 48)
    out = torch.empty_like(x)
    descriptors = [TensorDescriptor.from_tensor(t, [8, 16]) for t in (x, out)]
    host_descriptor_kernel[(3, 3)](*descriptors, R=8, C=16)
    return out, 2 * x


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, B: tl.constexpr):
    m = (tl.program_id(0) * B + tl.arange(0, B)) % M
    n = (tl.program_id(1) * B + tl.arange(0, B)) % N
    k = tl.arange(0, B)
    acc = tl.zeros((B, B), dtype=tl.float32)
    for start in range(0, tl.cdiv(K, B)):
        a = tl.load(
            a_ptr + m[:, None] * stride_am + (start * B + k)[None, :], mask=k[None, :] < K - start * B, other=0.0
        )
        b = tl.load(
            b_ptr + (start * B + k)[:, None] * stride_bk + n[None, :], mask=k[:, None] < K - start * B, other=0.0
        )
        acc = tl.dot(a, b, acc, input_precision="ieee")
    r, c = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    tl.store(c_ptr + r[:, None] * N + c[None, :], acc, mask=(r[:, None] < M) & (c[None, :] < N))


def matmul_with_wrapped_rows():
    a, b = randn(40, 50), randn(50, 24, seed=1)
    c = torch.empty(40, 24)
    matmul_kernel[(3, 2)](a, b, c, 40, 24, 50, a.stride(0), b.stride(0), B=16)
    return c, a @ b


@triton.jit
def shapes_kernel(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    grid = tl.reshape(x, (N // 4, 4))
    total = tl.sum(tl.trans(grid), axis=1)
    peak = tl.max(grid, axis=0, keep_dims=True)
    spread = tl.broadcast_to(peak, (N // 4, 4)) + tl.expand_dims(total, 0)
    left, right = tl.split(tl.reshape(grid + spread, (N // 4, 2, 2)))
    y = tl.reshape(tl.join(left, right), (N,))
    tl.store(out_ptr + tl.arange(0, N), tl.flip(tl.sort(y), 0))


def views_and_broadcasts():
    x = randn(64)
    out = torch.empty(64)
    shapes_kernel[(1,)](x, out, N=64)
    grid = x.reshape(16, 4)
    return out, (grid + grid.max(0).values + grid.sum(0)).reshape(-1).sort(descending=True).values


@triton.jit
def scan_kernel(x_ptr, sum_ptr, product_ptr, back_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(sum_ptr + i, tl.cumsum(x, axis=0))
    tl.store(product_ptr + i, tl.cumprod(x, axis=0))
    tl.store(back_ptr + i, tl.cumsum(x, axis=0, reverse=True))


def scans():
    x = randn(64) * 0.1 + 1
    outs = [torch.empty(64) for _ in range(3)]
    scan_kernel[(1,)](x, *outs, N=64)
    return torch.stack(outs), torch.stack([x.cumsum(0), x.cumprod(0), x.flip(0).cumsum(0).flip(0)])


@triton.jit
def welford(count_a, mean_a, m2_a, count_b, mean_b, m2_b):
    count = count_a + count_b
    delta = mean_b - mean_a
    return count, mean_a + delta * count_b / count, m2_a + m2_b + delta * delta * count_a * count_b / count


@triton.jit
def welford_kernel(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * N + tl.arange(0, N))
    _, _, m2 = tl.reduce((tl.full([N], 1.0, tl.float32), x, tl.zeros([N], tl.float32)), 0, welford)
    tl.store(out_ptr + tl.program_id(0), m2 / N)


def a_reduction_of_our_own():
    x = randn(4, 64) + 10
    out = torch.empty(4)
    welford_kernel[(4,)](x, out, N=64)
    return out, x.var(1, unbiased=False)


@triton.jit
def indices_kernel(x_ptr, value_ptr, index_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * N + tl.arange(0, N))
    value, index = tl.max(x, axis=0, return_indices=True)
    tl.store(value_ptr + tl.program_id(0), value)
    tl.store(index_ptr + tl.program_id(0), index)


def maximum_with_index():
    x = randn(4, 64)
    values, index = torch.empty(4), torch.empty(4, dtype=torch.int32)
    indices_kernel[(4,)](x, values, index, N=64)
    return torch.stack([values, index.float()]), torch.stack([x.max(1).values, x.argmax(1).float()])


@triton.jit
def dropout_kernel(x_ptr, out_ptr, seed, p, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    keep = tl.rand(seed, offsets) > p
    tl.store(out_ptr + offsets, tl.where(keep, tl.load(x_ptr + offsets) / (1 - p), 0.0))


def random_numbers():
    out, again = torch.empty(256), torch.empty(256)
    dropout_kernel[(1,)](torch.ones(256), out, 123, 0.5, BLOCK=256)
    dropout_kernel[(1,)](torch.ones(256), again, 123, 0.5, BLOCK=256)
    return out, again


@triton.jit
def gather_kernel(x_ptr, index_ptr, out_ptr, n, C: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.arange(0, BLOCK)
    rows = tl.load(index_ptr + r, mask=r < n)
    at = rows.to(tl.int64)[:, None] * C + tl.arange(0, C)[None, :]
    tl.store(
        out_ptr + r[:, None] * C + tl.arange(0, C)[None, :],
        tl.load(x_ptr + at, mask=r[:, None] < n),
        mask=r[:, None] < n,
    )


def gather_rows_with_a_masked_index():
    x, index = randn(9, 8), torch.tensor([8, 0, 3, 3, 1])
    out = torch.empty(5, 8)
    gather_kernel[(1,)](x, index, out, 5, C=8, BLOCK=8)
    return out, x[index]


@triton.jit
def types_kernel(x_ptr, flags_ptr, out_ptr, eps, negate, none_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i).to(tl.float32)
    flags = tl.load(flags_ptr + i)
    y = tl.where(flags, x + eps, -x)
    if negate:
        y = -y
    if none_ptr is not None and not negate:
        y += tl.load(none_ptr + i)
    tl.store(out_ptr + i, y.to(out_ptr.dtype.element_ty))


def scalars_flags_and_none():
    x, flags = randn(64).to(torch.bfloat16), randn(64, seed=1) > 0
    out = torch.empty(64, dtype=torch.float16)
    types_kernel[(1,)](x, flags, out, 0.5, True, None, N=64)
    return out, -torch.where(flags, x.float() + 0.5, -x.float()).half()


@triton.jit
def guarded_kernel(x_ptr, out_ptr, n, FIRST: tl.constexpr):
    row = tl.program_id(0)
    if row >= n:
        return
    x = tl.load(x_ptr + row)
    if FIRST and x > 0:
        x = x * 2
    elif x < 0 or row == 3:
        x = -x
    while x > 1:
        x = x / 2
    tl.store(out_ptr + row, x)


def scalar_control_flow():
    x = torch.tensor([1.0, -2.0, 0.0, 3.0, 5.0])
    out = torch.empty(5)
    guarded_kernel[(8,)](x, out, 5, FIRST=True)
    return out, torch.tensor([1.0, 1.0, 0.0, 0.75, 0.625])


@triton.jit
def tuple_kernel(tensors, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.load(tensors[0] + i) - tl.load(tensors[1] + i))


def a_tuple_of_tensors():
    x, y = randn(32), randn(32, seed=1)
    out = torch.empty(32)
    tuple_kernel[(1,)]((x, y), out, N=32)
    return out, x - y


@triton.jit
def pointer_choice_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    source = tl.where(i % 2 == 0, x_ptr + i, y_ptr + i)
    tl.store(out_ptr + i, tl.load(source))


def pointers_chosen_lane_by_lane():
    x, y = randn(32), randn(32, seed=1)
    out = torch.empty(32)
    pointer_choice_kernel[(1,)](x, y, out, N=32)
    return out, torch.where(torch.arange(32) % 2 == 0, x, y)


if triton.__version__ >= "3.9":  # removed there
    block_pointers = None

HONEST = [
    elementwise,
    in_place,
    same_tensor_twice,
    halves_of_one_tensor,
    empty_input,
    autotuned,
    heuristics_and_row_stride,
    two_dimensional_grid_on_a_transposed_view,
    expanded_input,
    loop_over_blocks,
    two_launches,
    atomic_sum,
    atomic_histogram,
    sum_under_a_lock,
    the_last_program_sums_up,
    every_program_may_raise_the_same_flag,
    a_store_that_changes_nothing_may_be_read,
    block_pointers,
    tensor_descriptors_made_in_the_kernel,
    tensor_descriptors_from_the_host,
    matmul_with_wrapped_rows,
    views_and_broadcasts,
    scans,
    a_reduction_of_our_own,
    maximum_with_index,
    random_numbers,
    gather_rows_with_a_masked_index,
    scalars_flags_and_none,
    scalar_control_flow,
    a_tuple_of_tensors,
    pointers_chosen_lane_by_lane,
]


HONEST = [program for program in HONEST if program]


@pytest.mark.parametrize("shuffle", [None, 1], ids=["in order", "shuffled"])
@pytest.mark.parametrize("program", HONEST, ids=lambda program: program.__name__)
def test_an_honest_kernel_raises_nothing(program, shuffle):
    emulator = Emulator(shuffle=shuffle)
    with emulator, Uninitialised(emulator):
        output, expected = program()
        missing = emulator.unwritten(output)
    assert emulator.findings == () and missing is None
    assert emulator.launches
    torch.testing.assert_close(output.double(), expected.double(), rtol=2e-6, atol=2e-6)


# What the plain interpreter cannot run on a machine without a GPU, or on Triton 3.7.
_NOT_PLAIN = {autotuned, tensor_descriptors_from_the_host, scalars_flags_and_none, a_reduction_of_our_own}


@pytest.mark.parametrize("program", [p for p in HONEST if p not in _NOT_PLAIN], ids=lambda program: program.__name__)
def test_the_values_are_the_plain_interpreters(program):
    try:
        plain, _ = program()
    except InterpreterError as error:
        if "only 0-dimensional arrays" in str(error):
            pytest.skip("not run: the interpreter of Triton 3.6 cannot loop to a runtime bound with this numpy")
        raise
    with Emulator():
        ours, _ = program()
    torch.testing.assert_close(ours.double(), plain.double(), rtol=2e-6, atol=2e-6)
