"""A tolerance without a theory: what float32 arithmetic may lose, estimated by running the oracle's own formula.

The formula runs in float64, and the result of every operation is brought to float32 as some honest code could have it
(Monte Carlo arithmetic, Parker 1997). Over several seeds the errors have a root mean square, element by element; `WIDE`
times that is the floor of the tolerance. The model:

- an operation's result is rounded up or down, at random; what float32 has exactly stays;
- a sum of n terms is added up in random order, in blocks of about √n, each partial sum rounded;
- its terms may be an ulp off before that, as where code divides by n first or keeps a running mean: no sum counts as
  exact only because its terms, as those of half precision, have few digits;
- or a first mean, right to an ulp of the terms, is taken from each of them and added back: one number, so that terms of
  one size are all rounded by the same amount, and the average of many is off by as much as each;
- a mean that is taken from each element of its row may be a running one (Welford 1962), an ulp off by element;
- a product of matrices has the error of such sums without blocks, in the mean;
- a number of the formula that float32 does not have, such as 0.9, is up to an ulp off, in all elements alike;
- a function such as exp gets its argument an ulp off (exp2(x · log2 e) does), and underflow may give 0;
- erfc, expm1, log1p and tanh are computed as 1 - erf, exp - 1, log(1 + x) and 1 - 2 / (exp(2x) + 1): their digits are
  not asked for;
- an operator of several steps (a GELU, a normalization, a loss, the gradient of one) has the errors of the steps that
  PyTorch's own decomposition of it has;
- what computes many terms and has no model here (a convolution, its gradient) has the error that PyTorch makes of it in
  float32, with arguments an ulp off.
"""

import contextlib
import math
import struct
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ...gpu import ATEN, lazily
from ...runner import Args, Tree
from .borrowed import TorchDispatchMode, decomposition, overload_name, schema, tree_map
from .record import Floors, Tolerance
from .runs import SMALL, Alone, Draws, PartedError, Together, each, is_random, leaves, of_run, stack_of, stacked

SEEDS = 16
CODES = 64  # runs for integers: one of four comes down on the other side of a tie, and each right code has to be seen
WIDE = 6.0
ULP = 2.0**-23
TINY = 2.0**-126  # the smallest normal number of float32

SENSITIVE = frozenset(
    "exp exp2 expm1 log log2 log10 log1p sigmoid tanh erf erfc sin cos pow softplus log_sigmoid_forward logaddexp silu "
    "gelu mish elu".split()
)
ARITHMETIC = frozenset("add sub rsub mul div addcmul addcdiv lerp pow".split())
# Operators that compute nothing: what they hand on was rounded where it was made.
COPIES = frozenset(
    "masked_fill where index gather index_select cat stack clone _to_copy nan_to_num constant_pad_nd".split()
)
MODELLED = frozenset("cumsum sum mean mm bmm addmm baddbmm matmul mv dot amax amin max min aminmax".split())
STEPS = frozenset(
    "_softmax _log_softmax silu gelu mish elu celu selu softplus log_sigmoid_forward logaddexp logsumexp glu hardswish "
    "linalg_vector_norm dist binary_cross_entropy native_layer_norm native_group_norm native_batch_norm "
    "_native_batch_norm_legit _native_batch_norm_legit_no_training _fused_rms_norm "
    "_scaled_dot_product_flash_attention_for_cpu".split()
)
PLAIN: dict[str, Callable[[Tensor], Tensor]] = {  # the size of what the plain form of a careful function subtracts from
    "erfc": torch.ones_like,
    "expm1": lambda x: x.exp().clamp(min=1),
    "log1p": torch.ones_like,
    "tanh": torch.ones_like,
}
REASON = (
    f"The tolerance is derived: the formula was run {SEEDS} times in float32 with random rounding and order of sums. "
    f"{WIDE:g} times the root mean square of its error is allowed, and {{half:g}} ulp of a 16-bit result or "
    "{single:g} of a float32 one."
)


def _var(x: Tensor, dim: Any = None, correction: float | None = None, keepdim: bool = False) -> Tensor:
    """As PyTorch's ``var``, in steps; PyTorch's own decomposition has none of it."""
    dims = list(range(x.dim())) if not dim else dim
    rest = x - x.mean(dims, keepdim=True)
    count = math.prod(x.shape[d] for d in dims) - (1 if correction is None else correction)
    return (rest * rest).sum(dims, keepdim) / max(0, count)


def _mean(x: Tensor, dim: Any = None, correction: float | None = None, keepdim: bool = False) -> Tensor:
    return x.mean(dim or list(range(x.dim())), keepdim)


MOMENTS: dict[str, Callable[..., Any]] = {
    "var": _var,
    "std": lambda *args, **kwargs: _var(*args, **kwargs).sqrt(),
    "var_mean": lambda *args, **kwargs: (_var(*args, **kwargs), _mean(*args, **kwargs)),
    "std_mean": lambda *args, **kwargs: (_var(*args, **kwargs).sqrt(), _mean(*args, **kwargs)),
}


class FormulaError(ValueError):
    """A formula from which no tolerance can be derived; the message names the remedy."""


def derived(oracle: Callable[..., Any], half: float = 1, single: float = 8, casts: bool = False) -> Tolerance:
    """A tolerance whose floor is estimated from ``oracle``: the formula with PyTorch's functions (what is computed
    elsewhere counts as exact), written as careful float32 code would have it. half, single: as `Tolerance` has them.
    casts: the formula may cast its arguments and compute in float32, where nothing can be estimated. Without it the
    floor raises FormulaError there.
    """
    floor = floor_of(oracle, casts)
    return Tolerance(half, single, REASON.format(half=half, single=single), floor, floor, estimated=True)


def floor_of(oracle: Callable[..., Any], casts: bool = False) -> Callable[..., Floors]:
    """Returns the floor of a `Tolerance`: for each element `WIDE` times the spread of `SEEDS` runs in float32; of an
    integer, which a float was rounded to, as far as the farthest of `CODES` runs is off. Raises FormulaError where the
    formula computes in fewer bits than float64 and ``casts`` does not allow that.
    """

    def floor(*args: Any) -> Floors:
        exact = Tree.of(oracle(*args)).leaves
        totals = [torch.zeros(result.shape, dtype=torch.float64) for result in exact]
        coded = any(not result.is_floating_point() for result in exact) and any(map(_is_float64, Tree(args).tensors))
        runs = CODES if coded else SEEDS
        for stacks in _in_float32(oracle, args, casts, runs):
            for total, result, stack in zip(totals, exact, stacks, strict=True):
                # NaN and infinity say nothing of rounding.
                error = (stack.double() - result.double()).nan_to_num(0, 0, 0)
                if result.is_floating_point():
                    total += error.square().sum(0)
                else:
                    torch.maximum(total, error.abs().amax(0), out=total)
        rows = zip(totals, exact, strict=True)
        return tuple(WIDE * (result / runs).sqrt() if e.is_floating_point() else result for result, e in rows)

    return floor


def _in_float32(oracle: Callable[..., Any], args: Args, casts: bool, runs: int) -> Iterator[tuple[Tensor, ...]]:
    """The results of the runs, stacked: of `SEEDS` of them at once, or of one after the other."""
    if sum(leave.numel() for leave in leaves(args) if isinstance(leave, Tensor)) <= SMALL:
        for seed in range(runs // SEEDS):
            together, results = Together(SEEDS), None
            with contextlib.suppress(PartedError):
                results = _run(oracle, args, seed, casts, together)
            if results is None or together.parted:
                break
            yield results
        else:
            return
    for seed in range(runs):
        yield _run(oracle, args, seed, casts, Alone())


def _run(oracle: Callable[..., Any], args: Args, seed: int, casts: bool, runs: Alone) -> tuple[Tensor, ...]:
    with _RandomRounding(seed, casts, runs):
        results = Tree.of(oracle(*args)).leaves
    return tuple(stack_of(runs.given(result), runs.count) for result in results)


@lazily
class _RandomRounding(TorchDispatchMode):
    """Changes every float64 result of an operator into one that float32 code could have had."""

    def __init__(self, seed: int, casts: bool, runs: Alone):
        super().__init__()  # type: ignore[no-untyped-call]
        self.casts = casts
        self.runs = runs
        self.narrowed: dict[int, Tensor] = {}  # what was cast from float64 to fewer bits, by memory as `means` is
        self.generator = torch.Generator().manual_seed(seed)
        self.means: dict[int, Tensor] = {}  # sums and means by their memory, which views share and nothing else gets

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kind, kwargs = _kind(func), kwargs or {}
        name = kind.name
        if kind.view:
            return self.runs.view(func, name, args, kwargs)
        if kind.not_in_place and _is_float64(args[0]):
            return self.runs.write(args[0], self.__torch_dispatch__(kind.not_in_place, types, args, kwargs))
        if kind.steps is not None and all(_has_elements(a) for a in args):
            with self:
                return kind.steps(*args, **kwargs)
        if kind.writes:
            changed = self.runs.change(func, args, kwargs)
            self._follow_casts(name, changed, leaves((args, kwargs)))
            return changed
        moved = self._arguments(name, args, kwargs)
        seen, drawn = self.runs.call(func, name, (args, kwargs), moved)
        self._follow_casts(name, seen, leaves((args, kwargs)))
        if name not in COPIES and not is_random(func):
            drawn = self._in_float32(func, name, drawn, moved, args)
        kept = self.runs.keep(seen, drawn)
        if _is_float64(kept) and (name in ("sum", "mean") or (name == "div" and self._is_mean(args[0]))):
            self.means[kept.untyped_storage().data_ptr()] = kept
        return kept

    def _arguments(self, name: str, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """The arguments of an operator in each run: as they are, or moved by up to an ulp."""
        positional, named = each(self.runs.given, (list(args), kwargs))
        if name in SENSITIVE:
            positional = [
                self._each_moved(value) if _is_float64(a) else value for value, a in zip(positional, args, strict=True)
            ]
        if name in ARITHMETIC:
            positional, named = (
                [self._number(value) for value in positional],
                {key: self._number(value) for key, value in named.items()},
            )
        if name == "sub" and self._is_mean(args[1]) and _is_float64(args[0]):
            wide = self._stack(positional[1])
            shape = torch.broadcast_shapes(args[0].shape, args[1].shape)
            wide = wide.reshape(len(wide), *(1,) * (len(shape) + 1 - wide.dim()), *wide.shape[1:])
            positional[1] = self._each_moved(Draws(wide.expand(len(wide), *shape)))
        return positional, named

    def _in_float32(self, func: Any, name: str, drawn: Any, own: Any, args: Any) -> Any:
        """The result in each run, off by what float32 may lose in this operator."""
        if name not in MODELLED and name not in ATEN.pointwise:
            return self._opaque(func, drawn, *own)
        if not isinstance(drawn, Tensor | Draws) or self._stack(drawn).dtype != torch.float64:
            return drawn
        result = self._stack(drawn)
        if name in ("sum", "mean"):
            result = result + self._error_of_sum(result, self._stack(own[0][0]), args, own[1], name)
        elif name == "cumsum":
            result = result + self._error_of_cumsum(self._stack(own[0][0]), args[1])
        elif name in ("mm", "bmm", "addmm", "baddbmm", "matmul", "mv", "dot"):
            result = result + self._error_of_product(result, *map(self._stack, own[0][-2:]))
        elif name in SENSITIVE:
            result = self._of_function(name, result, own[0][0])
        return Draws(self._rounded(result))

    def _stack(self, value: Any) -> Tensor:
        return stack_of(value, self.runs.count)

    def _each_moved(self, value: Any) -> Draws:
        return Draws(self._moved(self._stack(value)))

    def _follow_casts(self, name: str, result: Any, values: list[Any]) -> None:
        """Raises FormulaError where an operator computes with what was cast to fewer bits than float64 has: it is
        rounded as PyTorch rounds, every time the same, and the estimate would be that any other rounding is wrong.
        """
        if self.casts:
            return
        cast = [v for v in values if isinstance(v, Tensor) and v.untyped_storage().data_ptr() in self.narrowed]
        if name in COPIES:
            if (cast or any(map(_is_float64, values))) and _is_narrow(result):
                self.narrowed[result.untyped_storage().data_ptr()] = result
        elif cast:
            kind = str(cast[0].dtype).removeprefix("torch.")
            raise FormulaError(
                f"derived(formula): the formula casts to {kind} and computes `{name}` there, where no rounding can be "
                "estimated; give it the formula without `.float()`, `.half()` or `.to(dtype)`: its arguments come in "
                "float64, and are to stay so"
            )

    def _opaque(self, func: Any, drawn: Any, args: Any, kwargs: Any) -> Any:
        """The result of an operator without a model: off by what PyTorch's float32 is, on arguments an ulp off."""

        def narrow(value: Any) -> Any:
            return self._moved(value).float() if _is_float64(value) else value

        def off(exact: Any, rough: Any) -> Any:
            return exact + (rough.double() - exact).nan_to_num(0, 0, 0) if _is_float64(exact) else exact

        errors = []
        for run in range(self.runs.count):
            exact, positional, named = of_run(run, (drawn, args, kwargs))
            try:
                errors.append(tree_map(off, exact, func(*each(narrow, positional), **each(narrow, named))))
            except (RuntimeError, TypeError):  # there is no such kernel for float32
                return drawn
        return stacked(errors)

    def _is_mean(self, value: object) -> bool:
        return isinstance(value, Tensor) and value.untyped_storage().data_ptr() in self.means

    def _uniform(self, like: Tensor) -> Tensor:
        """Random numbers from -1 to 1 in the shape of ``like``, float64."""
        return 2 * torch.rand(like.shape, generator=self.generator, dtype=torch.float64) - 1

    def _moved(self, x: Tensor) -> Tensor:
        """The numbers, each moved by up to an ulp."""
        return x * (1 + ULP * self._uniform(x))

    def _number(self, value: Any) -> Any:
        """A Python number as a kernel may have it."""
        if type(value) is not float or struct.unpack("f", struct.pack("f", value))[0] == value:
            return value
        return Draws(self._moved(torch.full((self.runs.count,), value, dtype=torch.float64)).tolist())

    def _of_function(self, name: str, result: Tensor, argument: Any) -> Tensor:
        if name in PLAIN:
            result = result + ULP / 2 * PLAIN[name](self._stack(argument)) * self._uniform(result)
        lost = (result.abs() < TINY) & (self._uniform(result) < 0)
        return self._moved(result).masked_fill(lost, 0)

    def _error_of_sum(self, result: Tensor, x: Tensor, args: Args, kwargs: dict[str, Any], name: str) -> Tensor:
        """The error of a sum of terms an ulp off that are added in random order, within blocks and then block by block,
        each partial sum rounded; and of what subtracting a first mean leaves of each term.
        """
        dims = args[1] if len(args) > 1 else kwargs.get("dim")
        rank = x.dim() - 1
        chosen = range(rank) if dims is None or dims == [] else [d % rank for d in dims] if rank else []
        kept = [d for d in range(rank) if d not in chosen]
        count = math.prod(x.shape[1 + d] for d in chosen)
        if not x.numel():
            return torch.zeros_like(result)
        terms = x.permute((0, *(1 + d for d in (*kept, *chosen))))
        terms = terms.reshape(*(x.shape[d] for d in (0, *(1 + d for d in kept))), count)
        order = torch.stack([torch.randperm(count, generator=self.generator) for _ in range(len(x))])
        order = order.reshape(len(x), *(1,) * len(kept), count).expand_as(terms)
        moved = self._rounded(self._moved(terms.gather(-1, order)))
        width = math.isqrt(count)
        blocks = torch.nn.functional.pad(moved, (0, -count % width)).unflatten(-1, (width, -1)).cumsum(-1)
        wholes = blocks[..., -1].cumsum(-1)
        error = self._error(blocks).sum((-2, -1)) + self._error(wholes).sum(-1)
        error += (moved.sum(-1) - terms.sum(-1)).nan_to_num(0, 0, 0)
        size = terms.abs().mean(-1)
        first = self._rounded(terms.mean(-1) + ULP * size * self._uniform(size))
        rest = terms - first.unsqueeze(-1)
        error += (rest.float().double() - rest).nan_to_num(0, 0, 0).sum(-1)
        return (error / (count if name == "mean" else 1)).reshape(result.shape)

    def _error_of_cumsum(self, x: Tensor, dim: int) -> Tensor:
        """The error of terms an ulp off that are added one after the other, each partial sum rounded."""
        if x.dim() == 1:  # a number in each run
            return self._moved(x) - x
        axis = 1 + dim % (x.dim() - 1)
        partial = self._moved(x).cumsum(axis)
        return partial - x.cumsum(axis) + self._error(partial).cumsum(axis)

    def _error_of_product(self, result: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """The error of a sum of random signs plus one of equal signs; partial sums would take too much memory."""
        count = a.shape[-1]
        sizes = torch.stack([torch.matmul(left, right) for left, right in zip(a.square(), b.square(), strict=True)])
        variance = count / 3 * result.square() + count / 2 * sizes
        noise = torch.randn(result.shape, generator=self.generator, dtype=torch.float64)
        return (noise * (variance / 3).sqrt() * ULP / 2).nan_to_num(0, 0, 0)

    def _error(self, x: Tensor) -> Tensor:
        """The error of rounding to a float32; 0 where that is not finite."""
        return (self._rounded(x) - x).nan_to_num(0, 0, 0)

    def _rounded(self, x: Tensor) -> Tensor:
        """Up or down to a float32; unchanged where it is one, or where float32 ends."""
        near = x.float()
        # The bits of neighbours differ by 1: up for the one that is farther from 0.
        step = (x.abs() - near.double().abs()).sign_().to(torch.int32)
        step *= torch.rand(x.shape, generator=self.generator, dtype=torch.float64) < 0.5
        rounded, finite = (near.view(torch.int32) + step).view(torch.float32).double(), near.isfinite()
        return rounded if finite.all() else torch.where(finite, rounded, x)


class _Kind(NamedTuple):
    """Holds what is done with an operator.

    not_in_place: the operator that computes what this one writes into its first argument; None where it is no such
    operator. steps: the function that computes it in several; None where it is one operation of float32 code.
    writes: whether it changes an argument.
    """

    name: str
    not_in_place: Any
    steps: Callable[..., Any] | None
    view: bool
    writes: bool


@cache
def _kind(func: Any) -> _Kind:
    name = schema(func).name.partition("::")[2]
    steps = MOMENTS.get(name) or (decomposition(func) if _has_steps(name) else None)
    return _Kind(name, _not_in_place(func, name), steps, func.is_view, schema(func).is_mutable)


def _not_in_place(func: Any, name: str) -> Any:
    """The operator that computes what this one writes into its first argument; None where it is no such operator."""
    base = name[:-1]
    if name[-1:] != "_" or base not in (ATEN.pointwise | MODELLED) - COPIES - ATEN.rearrange:
        return None
    return getattr(getattr(torch.ops.aten, base, None), overload_name(func), None)


def _is_narrow(value: Tensor) -> bool:
    return value.is_floating_point() and value.dtype != torch.float64


def _has_steps(name: str) -> bool:
    """Returns whether an operator is more than one operation of float32 code."""
    return name in STEPS or name.endswith("_loss") or ("_backward" in name and name not in ATEN.pointwise)


def _has_elements(value: object) -> bool:
    """Of what has none, nothing is computed, and a decomposition may divide by their number."""
    return not isinstance(value, Tensor) or value.numel() > 0


def _is_float64(value: object) -> bool:
    return isinstance(value, Tensor) and value.dtype == torch.float64
