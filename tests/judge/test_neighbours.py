"""`neighbours`: whether a row's result depends on the rows beside it."""

import json

import pytest
import torch
import triton
import triton.language as tl
from graded_kernels.autograder import CompareError, neighbours
from graded_kernels.autograder.judge.batches.compositions import compositions
from graded_kernels.autograder.judge.batches.dependence import WIDTH


@triton.jit
def product_kernel(a, b, c, M, N, K, BK: tl.constexpr):
    m, n = tl.program_id(0) * 16 + tl.arange(0, 16), tl.program_id(1) * 16 + tl.arange(0, 16)
    total = tl.zeros((16, 16), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        y = tl.load(b + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        total = tl.dot(x, y, total, input_precision="ieee")
    tl.store(c + m[:, None] * N + n[None, :], total, mask=(m[:, None] < M) & (n[None, :] < N))


def product(block_of_k):
    def call(a, b):
        (M, K), N = a.shape, b.shape[1]
        c = a.new_empty(M, N)
        product_kernel[triton.cdiv(M, 16), triton.cdiv(N, 16)](a, b, c, M, N, K, block_of_k(M))
        return c

    return call


@triton.jit
def numbered_kernel(x, y, taken, N: tl.constexpr):
    at, i = tl.program_id(0) * N, tl.arange(0, 8)
    tl.atomic_add(taken, tl.atomic_add(taken, 1) * 0 + 1)
    tl.store(y + at + i, 2 * tl.load(x + at + i, mask=i < N), mask=i < N)


def numbered(x):
    """2x; each program takes a number, so that they run one by one."""
    y = torch.empty_like(x)
    numbered_kernel[(len(x),)](x, y, torch.zeros(1, dtype=torch.int32), x.shape[1])
    return y


def factors(seed=0):
    return torch.randn(24, 200), torch.randn(200, 32)


def rows():
    return torch.randn(7, 5)


def unwrapped(found):
    """The sentences, each without the places where its line is broken."""
    return " ".join(str(found).split())


def test_a_product_whose_block_is_fixed_depends_on_no_neighbour():
    found = neighbours(product(lambda M: 32), factors, batch=("a",))
    assert not found
    assert "the same bits whatever rows are beside it (14 other batches, of 1 to 48 rows)" in unwrapped(found)


def test_a_product_whose_block_follows_the_number_of_rows_is_told():
    """vllm#55131."""
    found = neighbours(product(lambda M: 16 if M <= 16 else 64), factors, batch=("a",))
    assert found
    assert {one.called for one in found.found} >= {"row 0 alone", "row 23 alone", "the first half"}
    assert not {"the batch twice", "the rows in reverse order"} & {one.called for one in found.found}
    assert "row 0 alone (1 row): " in unwrapped(found)
    assert all(0 < one.ulp < 1e4 for one in found.found)
    launch, parted, line = found.reason
    assert launch == "Launched otherwise: `product_kernel` has BK=16 with 1 row, BK=64 with 24"
    with_one, with_all = "with 1 row `tl.dot` adds K in 13 blocks of 16", "with 24 `tl.dot` adds K in 4 blocks of 64"
    assert with_one in parted
    assert with_all in parted
    assert line.strip() == 'total = tl.dot(x, y, total, input_precision="ieee")'
    lines = str(found).splitlines()
    assert len(max(lines, key=len)) <= WIDTH  # JupyterLab breaks a longer one within a word
    assert f"      {line.strip()}" in lines


def test_no_draw_decides_whether_another_order_is_told():
    """Sums of ones have the same bits in any order."""
    ones = torch.ones(24, 200), torch.ones(200, 32)
    assert not neighbours(product(lambda M: 32), ones, batch=("a",))
    found = neighbours(product(lambda M: 16 if M <= 16 else 64), ones, batch=("a",))
    assert [one.called for one in found.found] == ["row 0 alone"]
    assert "32 of 32 elements of result are computed otherwise than in the batch of 24, though" in unwrapped(found)
    assert "13 blocks of 16" in found.reason[1]


def test_programs_that_run_one_by_one_are_named():
    found = neighbours(numbered, rows)
    assert not found
    assert "Not compared: the order of sums: the programs of `numbered_kernel` ran one by one" in unwrapped(found)


def mean_free(x):
    return x - x.mean(0)


def with_first(x):
    return x + 0 * x[:1]


def scaled_down(x):
    return x if x.abs().max() < 100 else x / 2


def by_place(x):
    return x + torch.arange(len(x))[:, None]


def swapped_at_two(x):
    return x if len(x) > 2 else -x


def checks_numbers(x):
    if not x.isfinite().all():
        raise ValueError("x is not finite")
    return 2 * x


@pytest.mark.parametrize(
    ("function", "called"),
    [
        (mean_free, "all but the last row"),
        (with_first, "row 6 beside rows of NaN"),
        (scaled_down, "row 0 beside rows of huge numbers"),
        (by_place, "the last row first, each other one place later"),
        (swapped_at_two, "row 0 twice"),
    ],
)
def test_each_batch_shows_what_no_other_way_need_show(function, called):
    found = neighbours(function, rows)
    assert called in {one.called for one in found.found}


def test_what_refuses_such_neighbours_is_not_asked_about_them():
    found = neighbours(checks_numbers, rows)
    assert not found
    assert "Not compared: row 0 beside rows of NaN: the call raises ValueError: x is not finite" in unwrapped(found)


def test_a_batch_on_which_it_raises_is_found():
    def call(x):
        if len(x) == 1:
            raise IndexError("a batch of one")
        return 2 * x

    assert "row 0 alone (1 row): raises IndexError: a batch of one" in unwrapped(neighbours(call, rows))


def test_a_result_without_rows_is_left_out_and_named():
    """Also one whose size is that of the batch by chance."""
    found = neighbours(lambda x, w: (x @ w, x.sum(), x.T @ x), (torch.randn(5, 5), torch.randn(5, 3)))
    assert not found
    assert [*found.left_out] == ["result_1", "result_2"]


def test_what_is_written_in_place_is_a_result():
    def call(x, y):
        y.copy_(x / x.amax())

    found = neighbours(call, (torch.rand(6, 3), torch.zeros(6, 3)), batch=("x", "y"))
    assert {one.output for one in found.found} == {"y"}


def test_what_is_written_in_place_is_compared_where_nothing_changed():
    """Row 0 alone stays as it is, and in the batch it does not."""

    def call(x):
        x.div_(x.amax())

    x = torch.tensor([[1.0, 0.5], [0.25, 2.0], [0.5, 0.125]])
    found = neighbours(call, (x,))
    assert found.found[0].called == "row 0 alone"
    assert not found.left_out


def test_nan_is_like_any_other_nan_and_zeros_have_signs():
    x = torch.randn(6, 3)
    assert not neighbours(lambda x: x * torch.nan, (x,))
    assert neighbours(lambda x: torch.zeros_like(x) * (1 if len(x) > 5 else -1), (x,))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.bool])
def test_results_of_any_dtype(dtype):
    x = torch.randn(6, 3)
    assert not neighbours(lambda x: (4 * x).to(dtype), (x,))
    assert neighbours(lambda x: (4 * x + (len(x) == 1)).to(dtype), (x.abs() * 0,))


@pytest.mark.parametrize(
    ("function", "arguments", "batch", "says"),
    [
        (mean_free, rows, (), "name the arguments whose dimension 0 is the batch"),
        (mean_free, rows, ("y",), "there is no argument y: there are x"),
        (mean_free, rows, (1,), "there is no argument 1: the example has 1"),
        (torch.add, (torch.ones(3, 2), torch.ones(4, 2)), (0, 1), "3 rows in x0, 4 rows in x1"),
        (mean_free, (torch.ones(1, 2),), (0,), "the example's batch has 1 row: give it two or more"),
        (torch.mul, (torch.ones(3, 2), 2.0), (1,), "x1 is of type float"),
        (mean_free, (torch.tensor(1.0),), (0,), "x is a tensor without dimensions"),
        (torch.rand_like, rows, (0,), "is not deterministic: result of one call twice has other bits"),
        (torch.sum, rows, (0,), "has no result of rows"),
        (torch.linalg.inv, rows, (0,), "raises on the example: "),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(function, arguments, batch, says):
    with pytest.raises(CompareError) as error:
        neighbours(function, arguments, batch)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_no_two_batches_are_of_the_same_rows():
    for count in range(2, 12):
        made = [(one.rows, one.beside, one.alone) for one in compositions(count)]
        assert len(set(made)) == len(made)
        assert all(0 <= row < count for rows, *_ in made for row in rows)
        assert all(rows for rows, *_ in made)


MINE = """
import torch
def fixed(x, w): return (x[:, :, None] * w).sum(1)
def follows(x, w): return x @ w - x.mean(0) @ w
def example(): return torch.randn(9, 4), torch.randn(4, 3)
"""


@pytest.mark.parametrize(
    ("name", "status"),
    [
        pytest.param("fixed", 0, marks=pytest.mark.exhaustive),
        ("follows", 1),
        pytest.param("missing", 2, marks=pytest.mark.exhaustive),
    ],
)
def test_from_the_shell(tmp_path, monkeypatch, called, name, status):
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    ended = called("neighbours", f"mine.py:{name}", "--arguments", "mine.py:example", "--batch", "x", "--json")
    assert ended.returncode == status, ended.stderr
    if status == 2:
        assert "has no function missing" in ended.stderr
    else:
        found = json.loads(ended.stdout)
        assert (found["passed"], found["rows"], found["batch"]) == (not status, 9, ["x"])
        assert bool(found["found"]) is bool(status)


@triton.jit
def part_sums_kernel(x, sums, columns, parts, INTO_ONE: tl.constexpr, BLOCK: tl.constexpr):
    row, part = tl.program_id(0), tl.program_id(1)
    i = part * BLOCK + tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + row * columns + i, mask=i < columns, other=0.0), 0)
    if INTO_ONE:
        tl.atomic_add(sums + row, total)
    else:
        tl.store(sums + row * parts + part, total)


def by_atomics(x, block):
    sums, parts = torch.zeros(len(x), dtype=x.dtype), triton.cdiv(x.shape[1], block)
    part_sums_kernel[len(x), parts](x, sums, x.shape[1], parts, True, block)
    return sums


def in_parts(x, block):
    """Row sums: parts of ``block`` numbers, which PyTorch adds up."""
    parts = triton.cdiv(x.shape[1], block)
    sums = torch.empty(len(x), parts)
    part_sums_kernel[len(x), parts](x, sums, x.shape[1], parts, False, block)
    return sums.sum(1)


def passed_on(x):
    y = torch.empty(len(x))
    part_sums_kernel[len(x), 1](by_atomics(x, 32), y, 1, 1, False, 16)
    return y


def test_a_sum_of_more_than_two_floats_by_atomics_is_in_nobodys_order():
    x = torch.randn(6, 100)
    found = neighbours(lambda x: by_atomics(x, 32), (x,))
    assert found and "result is a sum in nobody's order: 4 atomic additions, in any order (line" in unwrapped(found)
    assert found.to_dict()["passed"] is False
    assert neighbours(passed_on, (x,)), "the sums are on the way to the result"
    assert not neighbours(lambda x: by_atomics(x, 64), (x,)), "of two floats every order has one sum"
    assert not neighbours(lambda x: by_atomics(x, 32), (torch.randint(9, (6, 100), dtype=torch.int32),))


def test_another_launch_comes_first_and_pytorch_is_named():
    x = torch.randn(6, 100, generator=torch.Generator().manual_seed(0))
    told = unwrapped(neighbours(lambda x: in_parts(x, 32 if len(x) < 4 else 64), (x,)))
    first = told.index("Launched otherwise: `part_sums_kernel` has grid (1, 4), BLOCK=32 with 1 row, grid (6, 2)")
    assert first < told.index(
        "They part here: with 1 row `sum` of PyTorch on a tensor of shape (1, 4); with 6 `sum`"
    ), told
    assert "autotuning" not in told, "a configuration follows the shapes here"
