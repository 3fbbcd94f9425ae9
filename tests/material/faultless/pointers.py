"""Pointers of every kind: block pointers, descriptors, tuples, indices from memory."""

import contextvars

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from . import randn


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


def with_scratch_memory(launch):
    """Calls it where Triton has an allocator, which descriptors made in a kernel need on a GPU, and nowhere else."""

    def allocating():
        triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
        launch()

    contextvars.copy_context().run(allocating)


@triton.jit
def descriptor_kernel(x_ptr, out_ptr, rows, columns, R: tl.constexpr, C: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [rows, columns], [columns, 1], [R, C])
    y = tl.make_tensor_descriptor(out_ptr, [rows, columns], [columns, 1], [R, C])
    r, c = tl.program_id(0) * R, tl.program_id(1) * C
    y.store([r, c], x.load([r, c]) + 1)


def tensor_descriptors_made_in_the_kernel():
    x = randn(20, 48)
    out = torch.empty_like(x)
    with_scratch_memory(lambda: descriptor_kernel[(3, 3)](x, out, 20, 48, R=8, C=16))
    return out, x + 1


@triton.jit
def strided_descriptor_kernel(x_ptr, out_ptr, rows, columns, row, column, R: tl.constexpr, C: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [rows, columns], [row, column], [R, C])
    y = tl.make_tensor_descriptor(out_ptr, [rows, columns], [row, column], [R, C])
    r, c = tl.program_id(0) * R, tl.program_id(1) * C
    y.store([r, c], x.load([r, c]) * 3)


def tensor_descriptors_with_strides_as_arguments():
    """The last of them is 1, which Triton takes for a constant."""
    x = randn(20, 48)
    out = torch.empty_like(x)
    with_scratch_memory(lambda: strided_descriptor_kernel[(3, 3)](x, out, *x.shape, *x.stride(), R=8, C=16))
    return out, x * 3


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


PROGRAMS = [
    tensor_descriptors_made_in_the_kernel,
    tensor_descriptors_with_strides_as_arguments,
    tensor_descriptors_from_the_host,
    gather_rows_with_a_masked_index,
    a_tuple_of_tensors,
    pointers_chosen_lane_by_lane,
]
if triton.__version__ < "3.9":  # removed there
    PROGRAMS.append(block_pointers)
