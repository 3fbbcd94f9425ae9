"""Histories: two rows are told apart where they were computed otherwise, and nowhere else."""

import batch_kernels as kernels
import numpy as np
import pytest
import torch
import triton
from graded_kernels.autograder.gpu.emulator import Emulator
from graded_kernels.autograder.gpu.emulator.address_space import Region
from graded_kernels.autograder.gpu.emulator.grid.grid_builder import GridBuilder
from graded_kernels.autograder.gpu.emulator.history import followed
from graded_kernels.autograder.gpu.emulator.history.stored import Stored

ROWS, LENGTH, HELD = 24, 160, 16
DRAW = torch.Generator().manual_seed(0)
A, W, X = (torch.randn(*shape, generator=DRAW) for shape in ((ROWS, 200), (200, 32), (ROWS, 200)))
Q = torch.randn(ROWS, 16, 32, generator=DRAW)
K, V = (torch.randn(ROWS, LENGTH, 32, generator=DRAW) for _ in range(2))
FULL, SOME = torch.full((ROWS,), LENGTH), torch.randint(1, LENGTH + 1, (ROWS,), generator=DRAW)
PAGES = torch.randn(ROWS * 8, HELD, 32, generator=DRAW)
PAGED = Q[:, 0].contiguous(), torch.randint(1, 8 * HELD + 1, (ROWS,), generator=DRAW), torch.arange(ROWS)
SUBSETS = ([5], [23, 0], [7, 3, 11], [*range(8)], [*range(ROWS)][::-1][:17], [*range(ROWS)][::-1])
PRODUCT, OF_X = ((A, W), (0,)), ((X,), (0,))
ATTENTION, LENGTHS = ((Q, K, V, FULL), (0, 1, 2, 3)), ((Q, K, V, SOME), (0, 1, 2, 3))
power = triton.next_power_of_2


def by_16(M):
    return 16 if M <= 16 else 64


def few(M):
    return 4 if M <= 4 else 2


def share(B):
    return max(1, 8 // B)


def block(B):
    return 16 if B < 8 else 32


def wide(M):
    return 256 if M < 9 else 512


def fixed(rows):
    return 0


def count(rule):
    return lambda rows: rule(len(rows))


# name: function, arguments and the places of those of the batch, and by what of the rows the way to compute changes.
CASES = {
    "product, fixed block of K": (kernels.product(lambda M: 32), *PRODUCT, fixed),
    "product, block of K by M": (kernels.product(by_16), *PRODUCT, count(by_16)),
    "split-K, 4 always": (kernels.product(lambda M: 16, lambda M: 4), *PRODUCT, fixed),
    "split-K by M": (kernels.product(lambda M: 16, few), *PRODUCT, count(few)),
    "split-K by atomics, 4 always": (kernels.product(lambda M: 16, lambda M: 4, True), *PRODUCT, fixed),
    "split-K by atomics, by M": (kernels.product(lambda M: 16, few, True), *PRODUCT, count(few)),
    "softmax, fixed block": (kernels.softmax(lambda M: 64), *OF_X, fixed),
    "softmax, block by M": (kernels.softmax(power), *OF_X, count(power)),
    "attention, no split": (kernels.attention(lambda B: 1), *ATTENTION, fixed),
    "attention, 2 splits always": (kernels.attention(lambda B: 2), *ATTENTION, fixed),
    "attention, splits by B": (kernels.attention(share), *ATTENTION, count(share)),
    "attention, block of keys by B": (kernels.attention(lambda B: 1, block=block), *ATTENTION, count(block)),
    "attention, up to the longest": (kernels.attention(lambda B: 1, True), *LENGTHS, fixed),
    "attention, in 2 splits of the longest": (
        kernels.attention(lambda B: 2, True),
        *LENGTHS,
        lambda rows: -(-int(SOME[rows].max()) // 64),
    ),
    "attention, beside garbage": (kernels.of_lengths_beside_garbage, *LENGTHS, fixed),
    "one number of a sum, block by M": (kernels.pick(wide), *OF_X, fixed),
    "parts beyond a length are left out": (kernels.parts, (X, SOME), (0, 1), fixed),
    "attention, paged": (kernels.paged(PAGES, 8), PAGED, (0, 1, 2), fixed),
    "welford": (kernels.var(lambda M: 256), *OF_X, fixed),
    "welford, block by M": (kernels.var(wide), *OF_X, count(wide)),
    "cumsum": (kernels.scan(lambda M: 256), *OF_X, fixed),
    "cumsum, reverse, block by M": (kernels.scan(wide, True), *OF_X, count(wide)),
    "persistent, 5 programs": (kernels.persistent, *OF_X, fixed),
    "rows of a tile by M": (kernels.rows2d(lambda M: 16 if M < 9 else 4), *OF_X, fixed),
    "one row a tile by M": (kernels.rows2d(lambda M: 1 if M < 9 else 4), *OF_X, fixed),
    "one column a tile by M": (kernels.cols(lambda M: 1 if M < 9 else 4), *OF_X, fixed),
    "columns of a tile by M": (kernels.rows2d(lambda M: 4, lambda M: 64 if M < 9 else 32), *OF_X, count(wide)),
    "product of ones": (kernels.product(by_16), (torch.ones_like(A), torch.ones_like(W)), (0,), count(by_16)),
    "product of many zeros": (kernels.product(by_16), (A.relu(), W.relu()), (0,), count(by_16)),
}
QUICK = {"product, block of K by M", "split-K by atomics, by M", "welford, block by M", "attention, paged"}
QUICK.add("parts beyond a length are left out")


def run(function, arguments, batch, chosen):
    given = [one[chosen].clone() if place in batch else one for place, one in enumerate(arguments)]
    with Emulator(follow=True) as emulator:
        result = function(*given)
    assert not emulator.fallbacks
    return result, emulator.histories


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.exhaustive) for name in CASES]
)
def test_rows_are_told_apart_where_they_are_computed_otherwise(name):
    function, arguments, batch, rule = CASES[name]
    every = [*range(ROWS)]
    whole, histories = run(function, arguments, batch, every)
    for chosen in SUBSETS:
        part, others = run(function, arguments, batch, chosen)
        differ = others.of(part) != histories.of(whole)[chosen]
        assert differ.any() == (rule(chosen) != rule(every)), chosen
        bits = (part.view(torch.int32) != whole[chosen].view(torch.int32)).numpy()
        assert not (bits & ~differ).any(), "one history and other bits"


@pytest.mark.parametrize(
    ("name", "here", "there"),
    [
        ("product, block of K by M", "`tl.dot` adds K in 13 blocks of 16", "`tl.dot` adds K in 4 blocks of 64"),
        ("split-K by M", "`+` 3 times in a row", "`+` once"),
        ("split-K by atomics, by M", "4 atomic additions, in any order", "2 atomic additions, in any order"),
        ("welford, block by M", "reduction welford of 256 numbers, once", "reduction welford of 512 numbers, once"),
    ],
)
def test_where_two_rows_part(name, here, there):
    function, arguments, batch, _ = CASES[name]
    part, one = run(function, arguments, batch, [5])
    whole, two = run(function, arguments, batch, [*range(ROWS)])
    h, k = one.of(part)[0], two.of(whole)[5]
    found = one.parting(h.flat[0], two, k.flat[0])
    assert (found.here.partition(" (line")[0], found.there.partition(" (line")[0]) == (here, there)
    assert found.lines


NOT_FOLLOWED = set(
    "addptr advance assert assume barrier descriptor_gather descriptor_load descriptor_reduce descriptor_scatter "
    "descriptor_store get_num_programs get_program_id load make_block_ptr make_range make_tensor_descriptor "
    "masked_load masked_store print store tensor_pointer_load tensor_pointer_store atomic_cas atomic_load atomic_poll "
    "atomic_store fp_ext fp_trunc bitcast dot_scaled inline_asm".split()
)  # memory and places, which have hooks of their own, conversions (`cast_impl`); and the last three: by bits alone


def test_every_operation_on_floats_has_a_rule():
    """One that Triton adds has to be put into one of the lists."""
    known = {*followed.COMMUTES, *followed.COMPUTES, *followed.CHOOSES, *followed.MOVES, *NOT_FOLLOWED}
    known |= {"extern_elementwise", "atomic_rmw", "dot", "fp_to_fp"}
    names = {name.removeprefix("create_") for name in dir(GridBuilder) if name.startswith("create_")}
    integers = {name for name in names if name.startswith(("icmp", "fcmp", "fp_to_", "si_to", "ui_to", "int_", "ptr_"))}
    integers |= {
        "add",
        "sub",
        "mul",
        "sdiv",
        "udiv",
        "srem",
        "urem",
        "idiv",
        "umulhi",
        "iabs",
        "and",
        "or",
        "xor",
        "shl",
    }
    integers |= {"lshr", "ashr", "histogram", "maxsi", "maxui", "minsi", "minui"}
    assert names - known - integers == set()


def test_another_storage_at_the_address_of_one_that_is_gone_has_no_history():
    """A longer one, as an allocator hands out: its elements have the histories of their bits."""
    longer = torch.arange(8.0)
    whole = Region("x_ptr", longer, 1, 4, (8,), (1,))
    gone = Region("x_ptr", longer, 1, 4, (8,), (1,))
    gone.held = 16
    at, histories = np.arange(4), np.arange(1, 5, dtype=np.uint64)
    stored = Stored()
    stored.store(gone, at, longer[:4].numpy(), histories)
    assert (stored.of(longer) == Stored().of(longer)).all()
    stored.store(whole, at, longer[:4].numpy(), histories)
    assert (stored.of(longer)[:4] == histories).all()
