"""What the threads of one program may do to each other, and what a kernel claims of its values to the compiler."""

import pytest
import torch
import triton
import triton.language as tl
from both_ways import assert_same, observe
from graded_kernels.autograder.gpu.emulator import Emulator


@triton.jit
def scoped_kernel(x_ptr, total_ptr, SCOPE: tl.constexpr, PLACES: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(total_ptr + tl.program_id(0) % PLACES, tl.sum(tl.load(x_ptr + at)), scope=SCOPE)


def scoped(scope: str, places: int):
    total = torch.zeros(4)
    scoped_kernel[(4,)](torch.ones(64), total, SCOPE=scope, PLACES=places, BLOCK=16)
    return total


@pytest.mark.parametrize("scope, places, raced", [("cta", 1, True), ("cta", 4, False), ("gpu", 1, False)])
def test_an_atomic_of_one_programs_scope_is_a_race_where_two_programs_meet(scope, places, raced):
    with Emulator() as emulator:
        scoped(scope, places)
    assert [finding.kind for finding in emulator.findings] == ["store-conflict"] * raced
    if raced:
        (finding,) = emulator.findings
        assert finding.tensor == "total_ptr"
        assert 'leave out `scope="cta"`' in finding.message
        assert "tl.atomic_add(" in finding.message
        assert "16.0 becomes 32.0" in finding.message
    assert_same(lambda: scoped(scope, places))


@triton.jit
def largest_kernel(x_ptr, most_ptr, SCOPE: tl.constexpr):
    tl.atomic_max(most_ptr, tl.load(x_ptr + tl.program_id(0)), scope=SCOPE)


@pytest.mark.parametrize("values", [(9, 5), (5, 9)])
@pytest.mark.parametrize(("scope", "kinds"), [("cta", ["store-conflict"]), ("gpu", [])])
def test_an_atomic_that_changes_nothing_here_may_lose_a_value(values, scope, kinds):
    most = torch.zeros(1, dtype=torch.int32)
    with Emulator() as emulator:
        largest_kernel[(2,)](torch.tensor(values, dtype=torch.int32), most, SCOPE=scope)
    assert [finding.kind for finding in emulator.findings] == kinds
    assert most.item() == 9


@triton.jit
def turned_kernel(x_ptr, scratch_ptr, y_ptr, WAY: tl.constexpr, BLOCK: tl.constexpr):
    own = tl.program_id(0).to(tl.int64) * BLOCK
    i = tl.arange(0, BLOCK)
    tl.store(scratch_ptr + own + i, tl.load(x_ptr + own + i))
    if WAY == "waits":
        tl.debug_barrier()
    back = i if WAY == "same lanes" else BLOCK - 1 - i
    tl.store(y_ptr + own + i, tl.load(scratch_ptr + own + back))


def turned(way: str):
    x, scratch, y = torch.arange(32.0), torch.empty(32), torch.empty(32)
    turned_kernel[(2,)](x, scratch, y, WAY=way, BLOCK=16)
    return y


@pytest.mark.parametrize("way, hinted", [("at once", True), ("waits", False), ("same lanes", False)])
def test_a_load_of_what_other_lanes_stored_is_hinted_at(way, hinted):
    with Emulator() as emulator:
        turned(way)
    assert emulator.findings == ()
    assert [hint.kind for hint in emulator.hints] == ["own-store"] * hinted
    assert emulator.looser == (("barrier",) if hinted else ())
    if hinted:
        assert "tl.load(scratch_ptr" in emulator.hints[0].message
        assert "`tl.debug_barrier()`" in emulator.hints[0].message
    fallbacks = assert_same(lambda: turned(way))
    assert [reason for _, reason in fallbacks] == ["a program that loads what it stored, by other lanes"] * hinted


@triton.jit
def shifted_kernel(x_ptr, y_ptr, SHIFT: tl.constexpr, BETWEEN: tl.constexpr, ROUNDS: tl.constexpr, BLOCK: tl.constexpr):
    own = tl.program_id(0) * ROUNDS * BLOCK
    i = tl.arange(0, BLOCK)
    for k in range(ROUNDS):
        values = tl.load(x_ptr + own + k * BLOCK + i + SHIFT, mask=i + SHIFT < BLOCK, other=0.0)
        if BETWEEN == "barrier":
            tl.debug_barrier()
        elif BETWEEN == "sum":
            values += tl.sum(values)
        elif BETWEEN == "atomic":
            tl.atomic_add(y_ptr, 1.0)
        elif BETWEEN == "atomic whose result is used":
            values += 0.0 * tl.atomic_add(y_ptr, 1.0)
        tl.store(x_ptr + own + k * BLOCK + i, values)


def shifted(shift, between):
    x, y = torch.arange(3 * 2 * 16.0), torch.zeros(1)
    shifted_kernel[(3,)](x, y, SHIFT=shift, BETWEEN=between, ROUNDS=2, BLOCK=16)
    return x, y


@pytest.mark.parametrize(
    "shift, between, found",
    [
        *((1, "", True), (0, "", False), (1, "barrier", False), (1, "sum", False)),
        *((1, "atomic", True), (1, "atomic whose result is used", False)),
    ],
)
def test_a_store_to_what_other_lanes_loaded_is_hinted_at(shift, between, found):
    """A sum of what was loaded is there when all have loaded it, and so is what an atomic on one element returns."""
    with Emulator() as emulator:
        shifted(shift, between)
    assert emulator.findings == ()
    assert [(hint.kind, hint.kernel, hint.tensor) for hint in emulator.hints] == [
        ("own-load", "shifted_kernel", "x_ptr")
    ] * found
    if found:
        assert "tl.store(x_ptr" in emulator.hints[0].message
    fallbacks = assert_same(lambda: shifted(shift, between))
    assert [reason for _, reason in fallbacks] == ["a program that stores what it loaded, by other lanes"] * found


@triton.jit
def all_loaded_first_kernel(x_ptr, SHIFT: tl.constexpr, ROUNDS: tl.constexpr, BLOCK: tl.constexpr):
    own = x_ptr + tl.program_id(0) * ROUNDS * BLOCK
    i = tl.arange(0, BLOCK)
    values = tl.zeros((BLOCK,), tl.float32)
    for k in range(ROUNDS):
        values += tl.load(own + k * BLOCK + i)
    tl.store(own + (i + SHIFT) % BLOCK, values)


@pytest.mark.parametrize("rounds, reason", [(20, "stores what it loaded"), (80, "more loads of what is stored to")])
@pytest.mark.parametrize("shift", [0, 1])
def test_a_load_is_held_against_a_store_however_many_loads_are_between(shift, rounds, reason):
    def program():
        x = torch.arange(3.0 * rounds * 16)
        all_loaded_first_kernel[(3,)](x, SHIFT=shift, ROUNDS=rounds, BLOCK=16)
        return x

    with Emulator() as emulator:
        program()
    assert [(hint.kind, hint.tensor) for hint in emulator.hints] == [("own-load", "x_ptr")] * shift
    reasons = [sentence for _, sentence in assert_same(program)]
    assert len(reasons) == (shift or rounds == 80) and all(reason in sentence for sentence in reasons)


@triton.jit
def counted_kernel(x_ptr, y_ptr, FIRST: tl.constexpr, THEN: tl.constexpr, WAITS: tl.constexpr, BLOCK: tl.constexpr):
    """Two accesses to a row of y_ptr, by the lanes in order or by those of the numbers in x_ptr."""
    i = tl.arange(0, BLOCK)
    own = y_ptr + tl.program_id(0) * BLOCK
    other = own + tl.load(x_ptr + i)
    if FIRST == "atomic":
        tl.atomic_add(other, 1)
    elif FIRST == "store":
        tl.store(own + i, i)
    else:
        tl.store(x_ptr + i, tl.load(own + i), mask=i > BLOCK)
    if WAITS:
        tl.debug_barrier()
    if THEN == "atomic":
        tl.atomic_add(other, 1)
    elif THEN == "store":
        tl.store(own + i, i)
    else:
        tl.store(x_ptr + i, tl.load(own + i), mask=i > BLOCK)


UNORDERED = {  # the kind, and what is said of the second access and of the first
    ("store", "atomic"): ("own-store", "updates elements of y_ptr that other lanes of the same program have stored"),
    ("atomic", "load"): ("own-store", "loads elements of y_ptr that other lanes of the same program have updated with"),
    ("load", "atomic"): ("own-load", "updates elements of y_ptr that other lanes of the same program have loaded"),
    ("atomic", "store"): ("own-load", "stores to elements of y_ptr that other lanes of the same program have updated"),
    ("atomic", "atomic"): None,
}


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("first", "then"), UNORDERED)
def test_an_atomic_of_other_lanes_is_not_in_order(first, then, turned, waits):
    """A lane is in order with its own atomic."""
    lanes = torch.arange(16, dtype=torch.int32)
    y = torch.zeros(2, 16, dtype=torch.int32)
    with Emulator() as emulator:
        counted_kernel[(2,)](lanes.flip(0) if turned else lanes, y, FIRST=first, THEN=then, WAITS=waits, BLOCK=16)
    expected = UNORDERED[first, then] if turned and not waits else None
    assert [hint.kind for hint in emulator.hints] == ([expected[0]] if expected else [])
    if expected:
        assert expected[1] in emulator.hints[0].message


@triton.jit
def halves_kernel(x_ptr, y_ptr, SWAP: tl.constexpr, HALF: tl.constexpr):
    """Rotates pairs in place; y_ptr may be the same tensor."""
    own = tl.program_id(0) * 2 * HALF
    i = tl.arange(0, HALF)
    first, second = tl.load(x_ptr + own + 2 * i), tl.load(x_ptr + own + 2 * i + 1)
    lane = (i ^ 1) if SWAP else i
    tl.store(y_ptr + own + 2 * lane, first - second)
    tl.store(y_ptr + own + 2 * i + 1, first + second)


@triton.jit
def part_kernel(x_ptr, n, m, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x_ptr + i, mask=tl.arange(0, BLOCK) >= n, other=0.0)
    tl.store(x_ptr + i, values, mask=tl.arange(0, BLOCK) < m)
    tl.store(x_ptr + i - 1, values, mask=tl.arange(0, BLOCK) > n)


def test_lanes_that_are_on_in_one_of_two_accesses():
    """Lanes store what they have loaded, or what no lane has; the last store goes to the lanes before."""

    def program():
        x = torch.arange(64.0)
        part_kernel[(4,)](x, 3, 9, BLOCK=16)
        return x

    with Emulator() as emulator:
        program()
    assert [(hint.kind, hint.source) for hint in emulator.hints] == [
        ("own-load", "tl.store(x_ptr + i - 1, values, mask=tl.arange(0, BLOCK) > n)")
    ]
    assert_same(program)


@pytest.mark.parametrize("swap, in_place, found", [(True, True, True), (False, True, False), (True, False, False)])
def test_a_tensor_under_two_names(swap, in_place, found):
    def program():
        x = torch.arange(64.0)
        y = x if in_place else torch.zeros(64)
        halves_kernel[(4,)](x, y, SWAP=swap, HALF=8)
        return y

    with Emulator() as emulator:
        program()
    assert [(hint.kind, hint.tensor) for hint in emulator.hints] == [("own-load", "y_ptr")] * found
    assert_same(program)


@triton.jit
def claiming_kernel(x_ptr, y_ptr, step, shift, CLAIM: tl.constexpr, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK) * step + shift
    if CLAIM == "multiple_of":
        at = tl.multiple_of(at, SIZE)
    elif CLAIM == "max_contiguous":
        at = tl.max_contiguous(at, SIZE)
    elif CLAIM == "max_constancy":
        at = tl.max_constancy(at, SIZE)
    else:
        x_ptr = tl.multiple_of(x_ptr, SIZE)
    tl.store(y_ptr + at, tl.load(x_ptr + at))


def claiming(claim, step=1, shift=0, size=8, offset=0):
    claiming_kernel[(2,)](torch.arange(256.0)[offset:], torch.zeros(256), step, shift, CLAIM=claim, SIZE=size, BLOCK=16)


@pytest.mark.parametrize(
    "claim, options, says",
    [
        ("multiple_of", {}, ""),
        ("multiple_of", {"shift": 3}, "3 begins a run of neighbours and is not a multiple of 8"),
        ("multiple_of", {"step": 2}, "2 begins a run of neighbours and is not a multiple of 8"),
        ("multiple_of", {"shift": 4}, "4 begins a run of neighbours and is not a multiple of 8"),
        ("multiple_of", {"step": 8}, ""),
        ("max_contiguous", {"shift": 3}, ""),
        ("max_contiguous", {"step": 2}, "2 does not follow 0 as its neighbour, in a run of 8"),
        ("max_constancy", {}, "1 comes after 0, in a group of 8 equal values"),
        ("pointer", {"size": 16}, ""),
        ("pointer", {"size": 16, "offset": 1}, "byte 4 of x_ptr begins a run of neighbours"),
    ],
)
def test_a_false_claim_about_values_is_found(claim, options, says):
    """One that misaligns an access misleads the compiler; four floats are as many as it joins."""
    with Emulator() as emulator:
        claiming(claim, **options)
    misleads = claim in ("multiple_of", "pointer") and options.get("shift") != 4
    kind = "misleading-hint" if misleads else "false-hint"
    assert [finding.kind for finding in emulator.findings if "hint" in finding.kind] == [kind] * bool(says)
    if says:
        finding = emulator.findings[0]
        assert says in finding.message
        assert f"line {finding.line}" in finding.message
        assert "(0, 0, 0)" in finding.message
        assert finding.tensor == ("x_ptr" if claim == "pointer" else "")
    assert_same(lambda: claiming(claim, **options))


@triton.jit
def sometimes_false_kernel(x_ptr, y_ptr, ROUNDS: tl.constexpr, BLOCK: tl.constexpr):
    """Later programs claim falsely in earlier rounds, and those of an odd number at a line of their own."""
    p = tl.program_id(0)
    for i in range(ROUNDS):
        at = (p * ROUNDS + i) * BLOCK + tl.arange(0, BLOCK)
        first = p // 2 + i
        if p % 2 == 1:
            first = tl.multiple_of(first, ROUNDS)
        else:
            first = tl.multiple_of(first + 1, ROUNDS)
        tl.store(y_ptr + at, tl.load(x_ptr + at) + first)


@pytest.mark.parametrize("shuffle", [None, 1, 2])
def test_the_first_program_whose_claim_is_false_is_reported(shuffle):
    def program():
        y = torch.empty(6 * 4, 64)
        sometimes_false_kernel[(6,)](torch.arange(6.0 * 4 * 64), y, ROUNDS=4, BLOCK=64)
        return y

    with Emulator(shuffle=shuffle) as emulator:
        program()
    assert [finding.kind for finding in emulator.findings] == ["false-hint"] * 2
    assert assert_same(program, shuffle) == []


@triton.jit
def tiles_kernel(x_ptr, y_ptr, stride, ROWS: tl.constexpr, COLS: tl.constexpr):
    """The claims of Triton's own kernels for matrix products."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.max_contiguous(tl.multiple_of(tl.arange(0, COLS), COLS), COLS)
    rows = tl.max_contiguous(tl.multiple_of(rows, ROWS), ROWS)
    at = tl.multiple_of(rows[:, None] * stride + cols[None, :], [1, 16])
    tl.store(y_ptr + at, tl.load(x_ptr + at))


@pytest.mark.parametrize("stride, false", [(32, False), (17, True)])
def test_claims_about_a_tile(stride, false):
    def program():
        tiles_kernel[(2,)](torch.ones(1200), torch.zeros(1200), stride, ROWS=16, COLS=16)

    with Emulator() as emulator:
        program()
    assert [finding.kind for finding in emulator.findings] == ["misleading-hint"] * false
    assert assert_same(program) == []


@triton.jit
def wrapped_kernel(x_ptr, y_ptr, M, N: tl.constexpr, BLOCK: tl.constexpr):
    """As kernels of matrix products claim of rows that wrap around in the last block, which are not stored."""
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    wrapped = tl.max_contiguous(tl.multiple_of(rows % M, BLOCK), BLOCK)
    cols = tl.arange(0, N)
    tl.store(y_ptr + rows[:, None] * N + cols, tl.load(x_ptr + wrapped[:, None] * N + cols), mask=rows[:, None] < M)


def test_rows_that_wrap_around_mislead_nobody():
    with Emulator() as emulator:
        wrapped_kernel[(2,)](torch.ones(20, 8), torch.zeros(20, 8), 20, N=8, BLOCK=16)
    assert [finding.kind for finding in emulator.findings] == ["false-hint"]


@triton.jit
def volatile_kernel(x_ptr, y_ptr):
    at = tl.program_id(0)
    tl.store(y_ptr + at, tl.load(x_ptr + at, volatile=True))


def test_a_volatile_load_is_not_made_by_all_programs_together():
    """It may wait for what another program stores."""

    def program():
        y = torch.zeros(4)
        volatile_kernel[(4,)](torch.arange(4.0), y)
        return y

    assert observe(program, "together")[1] == [("volatile_kernel", "a volatile load")]


@triton.jit
def reversing_kernel(src_ptr, dst_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(dst_ptr + n - 1 - i, tl.load(src_ptr + i, mask=i < n, other=0.0), mask=i < n)


def test_two_parameters_with_one_memory_are_both_named():
    x = torch.arange(300.0)
    with Emulator() as emulator:
        reversing_kernel[(5,)](x, x, 300, BLOCK=64)
    (race,), (own,) = emulator.findings, emulator.hints
    assert (race.kind, own.kind) == ("race-read", "own-load")
    assert "src_ptr and dst_ptr are the same memory" in race.message
    assert "dst_ptr and src_ptr are the same memory" in own.message
