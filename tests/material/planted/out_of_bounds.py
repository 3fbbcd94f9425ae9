"""Kernels that read or write where they may not."""

import torch
import triton
import triton.language as tl

from .bug import bug


@bug("out-of-bounds", r"loads x_ptr out of bounds in program \(0, 0, 0\).*offset -1, 1 element before the start")
def before_the_start():
    """A stencil reads its left neighbour, and element 0 has none."""

    @triton.jit
    def difference(x_ptr, y_ptr, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        left = tl.load(x_ptr + offsets - 1)
        tl.store(y_ptr + offsets, tl.where(offsets > 0, tl.load(x_ptr + offsets) - left, 0.0))

    memory = torch.arange(65.0)
    y = torch.empty(64)
    difference[(2,)](memory[1:], y, BLOCK=32)
    return y, torch.cat([torch.zeros(1), torch.ones(63)])


@bug("out-of-bounds", r"in program \(2, 0, 0\).*Make the descriptor with the tensor's own shape")
def descriptor_too_tall():
    """A tensor descriptor made with more rows than the tensor has."""

    @triton.jit
    def double(x_ptr, y_ptr, rows, COLUMNS: tl.constexpr, R: tl.constexpr):
        x = tl.make_tensor_descriptor(x_ptr, [24, COLUMNS], [COLUMNS, 1], [R, COLUMNS])
        y = tl.make_tensor_descriptor(y_ptr, [rows, COLUMNS], [COLUMNS, 1], [R, COLUMNS])
        row = tl.program_id(0) * R
        y.store([row, 0], 2 * x.load([row, 0]))

    x = torch.arange(20.0 * 16).reshape(20, 16)
    y = torch.empty_like(x)
    double[(3,)](x, y, 20, COLUMNS=16, R=8)
    return y, 2 * torch.arange(20.0 * 16).reshape(20, 16)


@bug("out-of-bounds", r"loads x_ptr out of bounds.*the tensor is empty, shape \(0,\)")
def empty_input():
    """No rows, one program, no mask: it reads from a tensor that has no memory."""

    @triton.jit
    def double(x_ptr, y_ptr, BLOCK: tl.constexpr):
        offsets = tl.arange(0, BLOCK)
        tl.store(y_ptr + offsets, 2 * tl.load(x_ptr + offsets))

    x = torch.empty(0)
    y = torch.empty(0)
    double[(1,)](x, y, BLOCK=16)
    return y, torch.empty(0)


@bug("out-of-bounds", r"stores to y_ptr out of bounds.*the only valid offset is 0.*stride \(0,\)")
def expanded_output():
    """The output is an expanded tensor: all its elements are one place in memory."""

    @triton.jit
    def double(x_ptr, y_ptr, BLOCK: tl.constexpr):
        offsets = tl.arange(0, BLOCK)
        tl.store(y_ptr + offsets, 2 * tl.load(x_ptr + offsets))

    y = torch.empty(1).expand(32)
    double[(1,)](torch.arange(32.0), y, BLOCK=32)
    return y, 2 * torch.arange(32.0)


@bug("gathered-outside", r"`tl.gather` takes index 64 of a block of 64, in program \(0, 0, 0\), line \d+, ")
def gather_outside():
    """An index past the end of the block that tl.gather takes from."""

    @triton.jit
    def shift(x_ptr, y_ptr, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(y_ptr + i, tl.gather(tl.load(x_ptr + i), i + 1, 0))

    x = torch.arange(64.0)
    y = torch.empty_like(x)
    shift[(1,)](x, y, N=64)
    return y, torch.arange(64.0).roll(-1)


@bug("out-of-bounds", r"loads x_ptr out of bounds in program \(0, 0, 0\).*offset -100, 100 elements before the start")
def ignored_label():
    """A gather by label meets ignore_index: offset -100 lies before the row."""

    @triton.jit
    def pick(x_ptr, labels_ptr, y_ptr, N: tl.constexpr):
        row = tl.program_id(0)
        label = tl.load(labels_ptr + row)
        x = tl.load(x_ptr + row * N + label)
        tl.store(y_ptr + row, tl.where(label == -100, 0.0, x))

    x = torch.arange(1000.0)[936:].reshape(4, 16)
    y = torch.empty(4)
    pick[(4,)](x, torch.tensor([-100, 3, -100, 5]), y, N=16)
    return y, torch.tensor([0.0, 955.0, 0.0, 989.0])


@bug(
    "out-of-bounds",
    r"loads x_ptr out of bounds in program \(2, 0, 0\).*wrapped around at 2\^31.*2,147,483,648 does not fit",
)
def int32_overflow():
    """row * stride in 32 bits: rows 2^30 elements apart wrap around at the third."""

    @triton.jit
    def copy_rows(x_ptr, y_ptr, stride, N: tl.constexpr):
        row = tl.program_id(0)
        columns = tl.arange(0, N)
        x = tl.load(x_ptr + row * stride + columns)
        tl.store(y_ptr + row * N + columns, x)

    # Nobody touches the pages between the rows: this tensor costs three pages, not 2 GB.
    x = torch.empty(2**31 + 16, dtype=torch.int8).as_strided((3, 16), (2**30, 1))
    x.copy_(torch.arange(48, dtype=torch.int8).reshape(3, 16))
    y = torch.empty(3, 16, dtype=torch.int8)
    copy_rows[(3,)](x, y, x.stride(0), N=16)
    return y, torch.arange(48, dtype=torch.int8).reshape(3, 16)


@bug("out-of-bounds", r"in program \(1, 0, 0\).*The load's mask lets this lane through")
def mask_of_other_offsets():
    """A mask that asks whether the lane is below n, and not whether the element is: it lets every lane on."""

    @triton.jit
    def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        lanes = tl.arange(0, BLOCK)
        offsets = tl.program_id(0) * BLOCK + lanes
        mask = lanes < n
        tl.store(y_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=mask), mask=mask)

    x = torch.arange(100.0)
    y = torch.empty_like(x)
    double[(2,)](x, y, 100, BLOCK=64)
    return y, 2 * torch.arange(100.0)


@bug("out-of-bounds", r"loads x_ptr out of bounds.*offset 100, 1 element past the end.*mask lets this lane through")
def mask_off_by_one():
    """A mask with <= instead of <: one element too many."""

    @triton.jit
    def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets <= n
        tl.store(y_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=mask), mask=mask)

    x = torch.arange(128.0)[:100]
    y = torch.empty(128)[:100]
    double[(2,)](x, y, 100, BLOCK=64)
    return y, 2 * torch.arange(100.0)


@bug(
    "out-of-bounds",
    r"loads x_ptr out of bounds in program \(1, 0, 0\).*offset 100, 1 element past the end.*has no mask",
)
def missing_mask_load():
    """A load without a mask: the last block reads past the end, and the right answer comes out all the same."""

    @triton.jit
    def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets)
        tl.store(y_ptr + offsets, 2 * x, mask=offsets < n)

    x = torch.arange(100.0)
    y = torch.empty_like(x)
    double[(2,)](x, y, 100, BLOCK=64)
    return y, 2 * torch.arange(100.0)


@bug("out-of-bounds", r"stores to y_ptr out of bounds.*offset 100, 1 element past the end.*28 lanes.*store has no mask")
def missing_mask_store():
    """A store without a mask: it overwrites whatever lies behind the output."""

    @triton.jit
    def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets, mask=offsets < n)
        tl.store(y_ptr + offsets, 2 * x)

    x = torch.arange(100.0)
    y = torch.empty(128)[:100]
    double[(2,)](x, y, 100, BLOCK=64)
    return y, 2 * torch.arange(100.0)


@bug("masked-load", r"loads x_ptr with a mask and no `other`")
def no_other_in_sum():
    """A masked load without other goes into a sum: a GPU promises nothing about the padding lanes."""

    @triton.jit
    def total(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets, mask=offsets < n)
        tl.store(y_ptr, tl.sum(x))

    y = torch.empty(1)
    total[(1,)](torch.arange(100.0), y, 100, BLOCK=128)
    return y, torch.tensor([4950.0])


@bug("out-of-bounds", r"loads x_ptr out of bounds in program \(3, 0, 0\).*offset 3, 1 element past the end")
def no_short_circuit():
    """Python's and does not protect a load: a GPU evaluates both sides."""

    @triton.jit
    def positive(x_ptr, y_ptr, n):
        row = tl.program_id(0)
        if row < n and tl.load(x_ptr + row) > 0:
            tl.store(y_ptr + row, 1.0)

    y = torch.zeros(3)
    positive[(4,)](torch.tensor([1.0, -1.0, 2.0, 5.0])[:3], y, 3)
    return y, torch.tensor([1.0, 0.0, 1.0])


@bug(
    "out-of-bounds",
    r"loads x_ptr.*offset 6 lies between the elements of this view of shape \(4, 6\) and stride \(8, 1\).*strides",
)
def stride_ignored():
    """The input is a slice of wider rows; the kernel walks it as if it were contiguous."""

    @triton.jit
    def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.arange(0, BLOCK)
        mask = offsets < n
        tl.store(y_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=mask), mask=mask)

    x = torch.arange(32.0).reshape(4, 8)[:, :6]
    y = torch.empty(4, 6)
    double[(1,)](x, y, 24, BLOCK=32)
    return y, 2 * torch.arange(32.0).reshape(4, 8)[:, :6]


@bug("out-of-bounds", r"belongs to none of the launch's tensors.*masked load without `other`")
def undefined_index():
    """An index from a masked load without other is used in a load without a mask."""

    @triton.jit
    def gather(x_ptr, index_ptr, y_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.arange(0, BLOCK)
        mask = offsets < n
        index = tl.load(index_ptr + offsets, mask=mask)
        tl.store(y_ptr + offsets, tl.load(x_ptr + index), mask=mask)

    y = torch.empty(6)
    gather[(1,)](torch.arange(8.0), torch.tensor([5, 4, 3, 2, 1, 0]), y, 6, BLOCK=8)
    return y, torch.arange(5.0, -1.0, -1.0)


@bug("out-of-bounds", r"loads w_ptr out of bounds in program \(1, 0, 0\).*offset 16, 1 element past the end")
def wrong_tensor_size():
    """The weight of a row is indexed with the offsets of the whole matrix."""

    @triton.jit
    def scale(x_ptr, w_ptr, y_ptr, N: tl.constexpr):
        offsets = tl.program_id(0) * N + tl.arange(0, N)
        tl.store(y_ptr + offsets, tl.load(x_ptr + offsets) * tl.load(w_ptr + offsets))

    x, w = torch.arange(64.0).reshape(4, 16), torch.ones(64)[:16]
    y = torch.empty_like(x)
    scale[(4,)](x, w, y, N=16)
    return y, torch.arange(64.0).reshape(4, 16)
