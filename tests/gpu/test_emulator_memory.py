"""Memory that a GPU promises nothing about: poison, elements nobody wrote, addresses from elsewhere, huge storages."""

import tracemalloc

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from both_ways import assert_same
from graded_kernels.autograder.gpu.emulator import Emulator, EmulatorError, poison
from graded_kernels.autograder.gpu.emulator.address_space import AddressLayout
from graded_kernels.autograder.gpu.emulator.footprint import BLOCK, Kept
from graded_kernels.autograder.gpu.emulator.order import Order
from graded_kernels.autograder.gpu.emulator.shadow import Pages, Shadow


@triton.jit
def copy_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets))


@triton.jit
def last_row_kernel(x_ptr, y_ptr, stride, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    tl.store(y_ptr + columns, tl.load(x_ptr + 4 * stride + columns))


def test_poison_fills_the_allocation_and_unwritten_names_what_is_left():
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int32, torch.int64, torch.int8):
        with Emulator() as emulator:
            y = emulator.poison_(torch.zeros(4, 8, dtype=dtype))
            assert not y.eq(0).any()
            assert not dtype.is_floating_point or y.isnan().all()
            emulator.note_written(torch.ops.aten.unsqueeze_.default, (y, 0), {})  # which writes none of them
            finding = emulator.unwritten(y, "dx")
            assert finding.message == "dx (32 elements) was never written. Store the result in it."
            y[0] = 1
            message = "24 elements of dx (32 in all) were never written; the first is at index (1, 0)."
            assert emulator.unwritten(y, "dx").message.startswith(message)
            y.copy_(torch.ones(4, 8))
            assert emulator.unwritten(y) is None


def test_a_kernel_may_write_the_very_bits_of_the_poison():
    with Emulator() as emulator:
        x, y = emulator.poison_(torch.zeros(64)), emulator.poison_(torch.zeros(64))
        copy_kernel[(1,)](x, y, BLOCK=64)
        assert emulator.unwritten(x) is not None
        assert emulator.unwritten(y) is None
    assert [h.kind for h in emulator.hints] == ["uninitialised-read"]


@pytest.mark.parametrize("together", [True, False])
def test_poison_that_a_kernel_stored_is_read_without_a_hint(together):
    @triton.jit
    def pass_on_kernel(stored_ptr, z_ptr, BLOCK: tl.constexpr):
        offsets = tl.arange(0, BLOCK)
        tl.store(z_ptr + offsets, tl.load(stored_ptr + offsets))

    with Emulator() as emulator:
        emulator.together = together
        x, y = emulator.poison_(torch.zeros(64)), emulator.poison_(torch.zeros(64))
        copy_kernel[(1,)](x, y, BLOCK=64)
        pass_on_kernel[(1,)](y, torch.zeros(64), BLOCK=64)
    assert [h.tensor for h in emulator.hints] == ["x_ptr"]


def test_every_element_of_overlapping_windows_may_be_read():
    windows = torch.arange(12.0).as_strided((5, 4), (2, 1))
    y = torch.zeros(4)
    with Emulator() as emulator:
        last_row_kernel[(1,)](windows, y, windows.stride(0), BLOCK=4)
    assert emulator.findings == ()
    assert y.tolist() == [8, 9, 10, 11]


def test_unwritten_looks_at_the_view_it_is_given():
    with Emulator() as emulator:
        whole = emulator.poison_(torch.zeros(128))
        copy_kernel[(1,)](torch.zeros(64), whole[:64], BLOCK=64)
        assert emulator.unwritten(whole[:64]) is None
        assert emulator.unwritten(whole).offset == 64


def test_a_tensor_without_the_pattern_is_not_looked_at_element_by_element():
    with Emulator() as emulator:
        y = emulator.poison_(torch.empty(1 << 20))
        y.zero_()
        tracemalloc.start()
        assert emulator.unwritten(y) is None
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert most < 4 * y.numel()  # the place of each element alone takes eight bytes


def test_a_wrapped_product_that_lands_inside_is_hinted_at():
    @triton.jit
    def wrap_kernel(x_ptr, y_ptr, stride):
        tl.store(y_ptr, tl.load(x_ptr + (tl.program_id(0) + 4) * stride))

    with Emulator() as emulator:
        wrap_kernel[(1,)](torch.ones(1), torch.zeros(1), 2**30)
    assert emulator.findings == ()
    assert [h.kind for h in emulator.hints] == ["wrapped-integer"]
    assert "4,294,967,296 became 0" in emulator.hints[0].message


@triton.jit
def table_kernel(table_ptr, y_ptr, N: tl.constexpr):
    source = tl.load(table_ptr + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    i = tl.arange(0, N)
    tl.store(y_ptr + tl.program_id(0) * N + i, tl.load(source + i))


def test_addresses_stored_in_a_tensor_may_be_followed():
    parts = [torch.arange(8.0), torch.arange(8.0) + 100]
    table, y = torch.tensor([p.data_ptr() for p in parts]), torch.zeros(2, 8)
    with Emulator() as emulator:
        table_kernel[(2,)](table, y, N=8)
    assert emulator.findings == ()
    assert y.equal(torch.stack(parts))
    with Emulator() as emulator, pytest.raises(EmulatorError, match="out of bounds|none of the launch's tensors"):
        table_kernel[(2,)](table, y, N=16)


@triton.jit
def added_kernel(table_ptr, size_ptr, count, BLOCK: tl.constexpr):
    """Adds 1 to the elements of tensors, the first half of the programs by a loop over all, the others to one each."""
    p, programs = tl.program_id(0), tl.num_programs(0) // 2
    if p < programs:
        for tensor in range(count):
            x_ptr, n = tl.load(table_ptr + tensor).to(tl.pointer_type(tl.float32)), tl.load(size_ptr + tensor) // 2
            for start in range(p * BLOCK, n, programs * BLOCK):
                i = start + tl.arange(0, BLOCK)
                tl.store(x_ptr + i, tl.load(x_ptr + i, mask=i < n, other=0.0) + 1, mask=i < n)
    else:
        own = (p - programs) % count
        x_ptr, n = tl.load(table_ptr + own).to(tl.pointer_type(tl.float32)), tl.load(size_ptr + own)
        if p - programs < count:
            for start in range(n // 2, n, BLOCK):
                i = start + tl.arange(0, BLOCK)
                tl.store(x_ptr + i, tl.load(x_ptr + i, mask=i < n, other=0.0) + 1, mask=i < n)


@pytest.mark.parametrize("shuffle", [None, 1])
def test_programs_that_follow_one_stored_address_go_together(shuffle):
    """As products of several pairs of matrices do, with the addresses in a tensor."""
    sizes = [100, 37, 260]

    def program(more=0):
        parts = [torch.arange(float(n)) for n in sizes]
        table, counts = torch.tensor([p.data_ptr() for p in parts]), torch.tensor(sizes, dtype=torch.int32) + more
        added_kernel[(8,)](table, counts, 3, BLOCK=16)
        return parts

    with Emulator(shuffle=shuffle) as emulator:
        assert all(part.equal(torch.arange(float(n)) + 1) for part, n in zip(program(), sizes, strict=True))
    assert emulator.traffic["table_ptr"]["loaded"] == (4 * 3 + 4) * 8
    assert assert_same(program, shuffle) == []
    assert [reason for _, reason in assert_same(lambda: program(1), shuffle)] == ["a load outside a stored address"]


def test_a_tensor_that_vmap_made_is_in_no_memory():
    """It is a plain tensor by its type, and kept here as a program may keep it: every tensor is looked at."""
    kept = []
    torch.func.vmap(lambda x: kept.append(x) or x)(torch.ones(3, 4))
    with Emulator(), pytest.raises(EmulatorError, match="none of the launch's tensors"):
        table_kernel[(1,)](torch.tensor([64]), torch.zeros(1, 2), N=2)
    assert kept


def test_an_address_behind_the_end_of_a_view_is_in_no_tensor():
    view = torch.empty(0).set_(torch.arange(8.0).untyped_storage(), 0, (4,))
    table = torch.tensor([view.data_ptr() + 4 * 4])
    with Emulator(), pytest.raises(EmulatorError, match="none of the launch's tensors"):
        table_kernel[(1,)](table, torch.zeros(1, 2), N=2)


def test_layouts_know_their_elements():
    view = torch.zeros(3, 4, 5).permute(2, 0, 1)[:, :, ::2]
    layout = AddressLayout(tuple(view.shape), view.stride())
    offsets = {
        sum(i * s for i, s in zip(index, view.stride(), strict=True))
        for index in torch.ones(view.shape).nonzero().tolist()
    }
    assert {i for i in range(layout.span) if layout.holds(torch.tensor([i]).numpy())[0]} == offsets
    assert not layout.dense
    assert AddressLayout((4, 8), (8, 1)).dense
    assert AddressLayout((8, 4), (1, 8)).dense
    assert AddressLayout((5, 1), (1, 77)).dense
    assert AddressLayout((0, 4), (4, 1)).span == 0
    assert AddressLayout((3,), (0,)).span == 1


def test_a_shadow_of_a_huge_storage_costs_what_is_touched():
    shadow = Shadow(0, 2**40, 1)
    far = torch.tensor([5, 2**39, 2**39 + 2**16]).numpy()
    assert isinstance(shadow.writer, Pages)
    shadow.store(far, far > 0, 7, 1, Order(), atomic=False)
    assert shadow.written(far).all()
    assert not shadow.written(far + 1).any()
    assert shadow.read(far, 8, 1, Order()).other == 7


def test_a_launch_keeps_of_a_large_storage_what_it_stores_to():
    """What makes 2^24 elements and one more cost as much as 2^24."""
    x, y = torch.zeros(1 << 25)[-64:], torch.zeros(64)
    with Emulator() as emulator:
        copy_kernel[(4,)](y + 1, x, BLOCK=16)
        copy_kernel[(4,)](x, y, BLOCK=16)
    assert emulator.fallbacks == []
    assert y.eq(1).all()
    kept = Kept(poison.memory(x.untyped_storage().data_ptr(), x.untyped_storage().nbytes()))
    assert kept.keep(0, 3 * BLOCK - 1, lambda: np.array([5, 2 * BLOCK])) == [0, 2]
    assert kept.keep(2 * BLOCK, 4 * BLOCK) == [3, 4]
    assert kept.nbytes == 4 * BLOCK
    kept.raw[[5, 2 * BLOCK + 1, 4 * BLOCK]] = 7
    kept.put_back()
    assert not kept.raw[: 5 * BLOCK].any()


def test_the_shadow_of_a_tensor_goes_with_it_and_not_with_a_view():
    with Emulator() as emulator:
        for _ in range(20):
            x, y = torch.zeros(64), emulator.poison_(torch.zeros(64))
            view = y[1:]
            copy_kernel[(1,)](x, y, BLOCK=64)
            del y
            assert len(emulator._shadows) == 2
            assert emulator.unwritten(view) is None
    del x, view
    assert not emulator._shadows


@triton.jit
def neighbour_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    own = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + own, own)
    tl.store(y_ptr + own, tl.load(x_ptr + own - BLOCK, mask=own >= BLOCK, other=0))


@triton.jit
def same_place_kernel(x_ptr, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    tl.store(x_ptr + columns, (columns >= 5) * (tl.program_id(0) + 1))


@pytest.mark.parametrize("seen_as", [torch.int32, torch.int16])
def test_a_race_is_at_the_element_whatever_the_memory_was_seen_as_before(seen_as):
    x = torch.zeros(32, dtype=torch.int32)
    with Emulator() as emulator:
        copy_kernel[(1,)](x.view(seen_as), torch.zeros(64, dtype=seen_as), BLOCK=16)
        neighbour_kernel[(2,)](x, torch.zeros(32, dtype=torch.int32), BLOCK=16)
        same_place_kernel[(2,)](x, BLOCK=16)
    assert [(f.kind, f.offset) for f in emulator.findings] == [("race-read", 1), ("store-conflict", 5)]
