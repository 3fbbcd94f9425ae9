"""What works with each differentiable function: every cell of the table in book/library.md is tried."""

import re
import sys
from collections.abc import Callable

import pytest
import torch
from answers import ROOT
from graded_kernels import kernels
from graded_kernels.autograder.gpu import Emulator
from library import CALLS, IN_PLACE, call, random
from torch.autograd import forward_ad
from turns import one_in

WITHOUT_GRADIENT = {*IN_PLACE, "gumbel_argmax", "quantize_blocks", "quantize_mx", "scaled_matmul"}
LINES = re.findall(r"^\| (.+) \|$", (ROOT / "book/library.md").read_text(encoding="utf-8"), re.MULTILINE)
(_, *COLUMNS), *ROWS = [[cell.strip("` ") for cell in line.split(" | ")] for line in LINES]
TABLE = {(name, column): cell for name, *cells in ROWS for column, cell in zip(COLUMNS, cells, strict=True)}
SAYS = r"is differentiable once|has no derivative in forward mode"

Function = Callable[..., torch.Tensor]
Tensors = list[torch.Tensor]


def example(name: str, dtype: torch.dtype = torch.float64) -> tuple[Function, Tensors]:
    return call(next((one for one in CALLS if one.startswith(f"{name}, ")), name), dtype)


def weighted(function: Function) -> Function:
    """A number whose gradient is none of ones."""

    def loss(*tensors):
        y = function(*tensors)
        return (y * torch.linspace(-1, 2, y.numel(), dtype=y.dtype).view(y.shape)).sum()

    return loss


def second_derivative(function: Function, leaves: Tensors) -> None:
    assert torch.autograd.gradgradcheck(function, leaves, fast_mode=True)


def func_grad(function: Function, leaves: Tensors) -> None:
    loss, everything = weighted(function), tuple(range(len(leaves)))
    right = torch.autograd.grad(loss(*leaves), leaves)
    plain = [one.detach() for one in leaves]
    same(torch.func.grad(loss, everything)(*plain), right)
    both = [torch.stack([one, one * 0.5]) for one in plain]
    each = [torch.func.grad(loss, everything)(*sample) for sample in zip(*both, strict=True)]
    same(torch.func.vmap(torch.func.grad(loss, everything))(*both), map(torch.stack, zip(*each, strict=True)))


def jacrev(function: Function, leaves: Tensors) -> None:
    """Of some results: a row of the matrix for each."""

    def some(*tensors):
        return function(*tensors).flatten()[::5]

    jacobians = torch.func.jacrev(some, tuple(range(len(leaves))))(*(one.detach() for one in leaves))
    same(jacobians, torch.autograd.functional.jacobian(some, tuple(leaves)))


def vmap(function: Function, leaves: Tensors) -> None:
    """Over all tensors, and over the first one alone."""
    first, *rest = (one.detach() for one in leaves)
    batch = torch.stack([first, first * 0.5, -first], 1)
    right = torch.stack([function(one, *rest) for one in batch.unbind(1)])
    same([torch.func.vmap(function, (1, *(None for _ in rest)))(batch, *rest)], [right])
    alike = [torch.stack([one] * 3) for one in rest]
    same([torch.func.vmap(function, (1, *(0 for _ in rest)))(batch, *alike)], [right])


def forward_mode(function: Function, leaves: Tensors) -> None:
    """By all three, and under torch.compile, which took the derivative for 0."""
    plain = tuple(one.detach() for one in leaves)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(plain[-1], torch.ones_like(plain[-1]))
        refused(lambda: function(*plain[:-1], dual))
    torch.compiler.reset()
    for one in (function, torch.compile(function, backend="aot_eager")):
        refused(lambda one=one: torch.func.jvp(one, plain, plain))
    torch.func.jacfwd(function)(*plain)


def refused(make: Callable) -> None:
    with pytest.raises(NotImplementedError, match=SAYS):
        make()


def compiles(function: Function, leaves: Tensors) -> None:
    torch.compiler.reset()  # which compiles one code so many times and no more
    results = []
    for one in (function, torch.compile(function, fullgraph=True, backend="aot_eager")):
        y = one(*leaves)
        results.append((y, *torch.autograd.grad(y, leaves, random(*y.shape, seed=9, dtype=y.dtype))))
    same(*results)


def exports(function: Function, leaves: Tensors) -> None:
    class Module(torch.nn.Module):
        def forward(self, *tensors):
            return function(*tensors)

    plain = tuple(one.detach() for one in leaves)
    same([torch.export.export(Module(), plain).module()(*plain)], [function(*plain)])


def autocast(function: Function, leaves: Tensors) -> None:
    """It would make the matrix products of a CPU bfloat16, which on a GPU are the kernels' own."""
    found = []
    for enabled in (False, True):
        with torch.autocast("cpu", enabled=enabled):
            found.append((function(*leaves), *torch.autograd.grad(weighted(function)(*leaves), leaves)))
    same(*found)


def meta(function: Function, leaves: Tensors) -> None:
    y, right = function(*(one.detach().to("meta") for one in leaves)), function(*leaves)
    assert (y.shape, y.dtype, y.device.type) == (right.shape, right.dtype, "meta")


def same(found, right) -> None:
    for one, other in zip(found, right, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


TRIED = dict(
    zip(
        COLUMNS,
        (second_derivative, func_grad, jacrev, vmap, forward_mode, compiles, exports, autocast, meta),
        strict=True,
    )
)


@pytest.mark.parametrize("name", one_in(4, ((name,) for name, *_ in ROWS)))
def test_torch_func_reaches_our_kernels(name, monkeypatch):
    """In the emulator, which a batch of vmap's or a tensor of grad's would not get past."""
    monkeypatch.setattr(sys.modules[getattr(kernels, name).__module__], "use_triton", lambda x: True)
    with Emulator() as emulator:
        func_grad(*example(name, torch.float32))
    assert emulator.findings == ()
    assert emulator.launches


def test_the_table_has_every_differentiable_function():
    functions = [name for name in kernels.__all__ if name not in WITHOUT_GRADIENT]
    assert [name for name, *_ in ROWS] == functions, "each has a row in the table of book/library.md"


@pytest.mark.parametrize(("name", "column"), one_in(7, TABLE))  # of nine columns
def test_the_cell_says_what_happens(name, column):
    narrow = column in ("torch.compile", "autocast")
    function, leaves = example(name, torch.float32 if narrow else torch.float64)
    if TABLE[name, column] == "yes":
        TRIED[column](function, leaves)
    else:
        assert TABLE[name, column] == "raises"
        with pytest.raises((RuntimeError, NotImplementedError), match=f"{name} ({SAYS})"):
            TRIED[column](function, leaves)
