"""The reference: what is right for given arguments, in which dtype, and what it does not take."""

import contextlib
import inspect
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor

from ...runner import Args, Callee, CompareError, OperatorNotes, Tree, dtype_name
from ..records.ulp import FLOAT8, comparable
from .drawing import varied
from .float64 import LeftOpen, Widened, in_float64
from .method import named
from .sizes import offsets_of

CONTRACTIONS = frozenset("mm bmm addmm baddbmm mv dot addmv convolution _int_mm einsum linear".split())
ADDED_AT = frozenset("scatter_add scatter_reduce index_add index_reduce index_put _index_put_impl".split())
UPSTREAM_ZEROS = 0.25  # of the elements of an upstream gradient
DRAWS = (
    "The reference draws random numbers itself ({}): a candidate that draws others is wrong here. Pass the numbers, or "
    "the mask that is made of them, as an argument."
)


BEYOND = (
    "The reference casts numbers beyond 448 to float8_e4m3fn, which PyTorch 2.11 makes NaN and 2.13 makes 448: what "
    "hangs on them is not judged. Clamp before the cast."
)


class Reference:
    """callee: what is called. example: arguments that it takes.

    writes: which arguments it changes in place. outputs: the names of what it returns. kept: the dtypes that are not
    float64 in the call that says what is right: all, where it reads the bits of its numbers; float8, where it takes
    nothing else in its place. Raises CompareError where it cannot be one.
    """

    def __init__(self, callee: Callee, example: Args):
        self.open = LeftOpen()
        self.callee, self.mode = replace(callee, function=self.open.within(callee.function)), Widened()
        self.given, self.offsets = example, offsets_of(example)
        self.writes: tuple[str, ...] = ()
        self.arguments = example + tuple(callee.parameters.values())
        self.names = callee.argument_names(len(example))
        _assert_judged(Tree(self.arguments).named(self.names), "the example has")
        self.kept: tuple[torch.dtype, ...] = ()
        self._kinds: tuple[torch.dtype, ...] = ()
        try:
            native, changed = self._called(self.arguments)
            _assert_judged({f"result {i}": result for i, result in enumerate(native)}, "the reference returns")
            self._kinds = tuple(result.dtype for result in native)
            self.kept = self._kept(native)
            wide, again = (self._called(self.arguments, wide=True)[0] for _ in range(2))
        except CompareError:
            raise
        except Exception as error:
            where = "" if isinstance(error, NotImplementedError) else ", there or in float64"
            way = ": write it out on x.float()" if self.kept == FLOAT8 else ""
            raise CompareError(
                f"the reference raises on the example{where}: {type(error).__name__}: {error}{way}"
            ) from error
        if not all(a.equal(b) or torch.allclose(a, b, 0, 0, equal_nan=True) for a, b in zip(wide, again, strict=True)):
            raise CompareError(
                "the reference is not deterministic: called twice on the same arguments it gives two results. Where it "
                "draws numbers (dropout), switch that off (`.eval()`) or pass them as an argument"
            )
        if not (self.open.made or self.open.at_indices):
            self.callee = callee  # which takes less time
        self._repeats = self.open.repeated
        self.writes = tuple(changed)
        if not native and not changed:
            raise CompareError("the reference returns no tensor and writes none")
        self.outputs = ("result",) if len(native) == 1 else tuple(f"result_{i}" for i in range(len(native)))
        self.floating = len(Tree(native).differentiable)

    def _kept(self, native: Args) -> tuple[torch.dtype, ...]:
        """See `kept`. native: what it returns for the example as it is."""
        if self.called.as_bits:
            return FLOAT8 if self.called.as_bits <= {*FLOAT8} else JUDGED
        if not any(a.dtype in FLOAT8 for a in Tree(self.arguments).tensors):
            return ()
        try:
            wide, _ = self._called(self.arguments, wide=True)
        except Exception:
            return FLOAT8
        return () if [a.shape for a in wide] == [a.shape for a in native] else FLOAT8

    @cached_property
    def needs_no_gpu(self) -> bool:
        """Returns whether it runs outside of a simulated GPU's block: it names no device. To be asked there."""
        try:
            self._called(self.arguments)
        except (RuntimeError, AssertionError):  # as PyTorch without CUDA says it
            return False
        return True

    @cached_property
    def called(self) -> OperatorNotes:
        """The operators that it calls on the example."""
        mode = OperatorNotes()
        with mode, torch.no_grad():
            self.callee.results(Tree(self.arguments).copied())
        return mode

    def called_on(self, args: Args, above: int) -> OperatorNotes:
        """The operators that it calls on arguments; above: upstream gradients among them."""
        mode = OperatorNotes()
        mode.of_call(self.callee, Tree(args).copied(), above)
        return mode

    @property
    def operators(self) -> Counter[str]:
        """Those that compute, with the elements that they are given."""
        return self.called.elements

    def remarks(self) -> tuple[str, ...]:
        """Returns what a report says of it."""
        sentences = [*self.mode.remarks()]
        if self.kept:
            which = "float8 as it is" if self.kept == FLOAT8 else "its arguments as they are, not in float64"
            sentences.append(f"The reference gets {which}: it reads their bits, or takes nothing else.")
        if any(kind in FLOAT8 for kind in self._kinds):
            sentences.append(
                "A float8 result has to be the number that is right, but where rounding decides between two."
            )
        if self.open.beyond:
            sentences.append(BEYOND)
        return (*sentences, *([DRAWS.format(named(self.called.draws))] if self.called.draws else []))

    @cached_property
    def rounds_within(self) -> bool:
        """Returns whether it has sums, in which a small result is a difference of large ones, with half precision
        inside.
        """
        return any(name in CONTRACTIONS | ADDED_AT or "attention" in name for name in self.operators)

    @cached_property
    def differentiable(self) -> bool:
        """Returns whether its results have gradients."""
        if self.writes or not self.floating:
            return False
        try:
            self._wide.results_and_gradients(self.widened(self.arguments), self.upstream(self.arguments, _generator()))
        except RuntimeError:
            return False
        return True

    def widened(self, args: Args) -> Args:
        """The arguments as the oracle takes them; float8 has no gradient, and stays what it is until `_wide`."""
        return Tree(args).map(lambda a: a.double() if Tree.has_gradient(a) and a.dtype not in self.kept else a)

    @property
    def _wide(self) -> Callee:
        """The reference in float64, with float8 among its arguments, and its results rounded to float8 where they
        are.
        """
        callee, narrow = self.callee, self.callee.backward
        backward = narrow and (lambda *args: narrow(*self._in_float64(args)))
        function = lambda *args: self._rounded(callee.results(self._in_float64(args)))  # noqa: E731
        return replace(callee, function=function, backward=backward)

    def _in_float64(self, args: Args) -> Args:
        return Tree(args).map(lambda a: a.double() if a.dtype in FLOAT8 and a.dtype not in self.kept else a)

    def _rounded(self, results: Args) -> Args:
        if not any(kind in FLOAT8 for kind in self._kinds) or len(results) != len(self._kinds):
            return results
        kinds = zip(results, self._kinds, strict=True)
        return tuple(self.open.rounded(r, kind) if kind in FLOAT8 else r for r, kind in kinds)

    @property
    def reads_bits(self) -> bool:
        """Returns whether all arguments stay what they are: the bits of other numbers would say something else."""
        return self.kept == JUDGED

    def _precision(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext() if self.reads_bits else in_float64(self.mode)

    def with_parameters(self, args: Args, generator: torch.Generator | None = None) -> Args:
        """These inputs, then a module's parameters in the dtype that the inputs have now. generator: of other ones."""
        before, now = (
            next((a.dtype for a in Tree(arguments).differentiable), None) for arguments in (self.given, args)
        )

        def cast(value: Tensor) -> Tensor:
            value = varied(value, generator) if generator else value
            return value.to(now) if now and value.dtype == before else value

        return args + tuple(map(cast, self.callee.parameters.values()))

    def accepts(self, args: Args) -> bool:
        """Returns whether it takes these inputs, as they are and in float64."""
        return not self.refuses(self.with_parameters(self.parted(args)))

    def parted(self, args: Args) -> Args:
        """The arguments, whose offsets fit the sizes that they have now."""
        for offset in self.offsets:
            args = offset.of(args)
        return args

    def exact(self, args: Args) -> Args:
        """All results for arguments in float64, then what was written."""
        results, changed = self._called(args, wide=True)
        written = tuple(changed.get(name, value) for name, value in self._written(args).items())
        return tuple(map(comparable, results + written))

    def exact_with_gradients(self, args: Args, upstream: Args) -> Args:
        """The results, then the gradients of the arguments that have one."""
        with self._precision():
            return tuple(map(comparable, self._wide.results_and_gradients(Tree(args).copied(), upstream)))

    def unwritten(self, args: Args, above: int) -> tuple[Tensor, ...] | None:
        """Of all that `exact` and `exact_with_gradients` give, the elements that hang on what PyTorch leaves open
        (`LeftOpen`); None where it has nothing of that. above: upstream gradients among the arguments.
        """
        if not self.open.made:
            return None
        args = self.widened(args)
        inputs, upstream = (args[:-above], args[-above:]) if above else (args, ())

        def results() -> Args:
            return self.exact_with_gradients(inputs, upstream) if above else self.exact(inputs)

        first = results()
        with self.open.holding(1):
            again = results()
        return tuple((a != b) & ~(a.isnan() & b.isnan()) for a, b in zip(first, again, strict=True))

    def repeats(self, args: Args) -> bool:
        """Returns whether it writes several values to one index for these inputs, and does not for the example."""
        if self._repeats or not self.open.at_indices:
            return False
        self.open.repeated = False
        self._called(self.with_parameters(args))
        return self.open.repeated

    @contextlib.contextmanager
    def numbers_in_float32(self) -> Iterator[bool]:
        """Inside, numbers that its parameters have by default, and a module's attributes, are rounded to float32, as a
        kernel gets them; whether that changes one that the example leaves out.
        """
        left_out = list(self.callee.signature.parameters.values())[len(self.given) :] if self.callee.signature else []
        numbers = {p.name: p.default for p in left_out if type(p.default) is float and p.kind is not p.POSITIONAL_ONLY}
        rounded = {name: number for name, exact in numbers.items() if (number := as_float32(exact)) != exact}
        before = self.callee
        if rounded:
            self.callee = replace(before, function=partial(before.function, **rounded))
        with contextlib.ExitStack() as stack:
            stack.callback(setattr, self, "callee", before)
            attributes = [stack.enter_context(_in_float32(module)) for module in before.modules]
            yield bool(rounded) or any(attributes)

    def native(self, args: Args, above: int) -> Args:
        """All that `exact` and `exact_with_gradients` give, in the dtypes of the arguments. above: upstream gradients
        among them.
        """
        args = Tree(args).copied()
        if above:
            return self.callee.results_and_gradients(args[:-above], args[-above:])
        results, changed = self._called(args)
        return results + tuple(changed.get(name, value) for name, value in self._written(args).items())

    def rounded(self, args: Args, above: int, dtype: torch.dtype) -> Args:
        """Returns what `native` gives where every step is rounded to half precision, whatever the reference converts;
        what it gives itself where PyTorch has no such step.
        """
        try:
            with Widened(dtype):
                return self.native(args, above)
        except (RuntimeError, NotImplementedError):
            return self.native(args, above)

    def dtypes(self, args: Args) -> tuple[torch.dtype, ...]:
        """The dtypes of what it returns for arguments as they come."""
        with torch.no_grad():
            return tuple(r.dtype for r in self._results(Tree(args).copied()))

    def upstream(self, args: Args, generator: torch.Generator) -> Args:
        """A gradient from above for each floating-point result, random numbers and zeros in the result's dtype, of
        which the first is none. The seed is ``generator``'s next number: an example that was drawn with the seed of
        ``generator`` would be its own upstream gradient.
        """
        with torch.no_grad():
            results = self._results(Tree(args).copied())
        drawn, chance = [], torch.Generator()
        chance.manual_seed(int(torch.randint(2**62, (), generator=generator)))
        for result in Tree(results).differentiable:
            dy = torch.randn(result.shape, generator=chance)
            zero = torch.rand(result.shape, generator=chance) < UPSTREAM_ZEROS
            zero.view(-1)[:1] = False  # a kernel that reads this one for all gives no zeros, which would look like less
            drawn.append(dy.masked_fill(zero, 0).to(result.dtype))
        return tuple(drawn)

    def refuses(self, args: Args) -> str:
        """Why these arguments cannot be judged, after "the reference": what it raises for them, as they are or in
        float64, or that it returns something else than for the example; "" where it takes them.
        """
        try:
            results = self._called(args)[0]
            self._called(args, wide=True)
        except CompareError as error:
            return f"does not return what it returns for the example: {error}"
        except Exception as error:
            return f"raises {_told(error)}"
        wanted = len(self.outputs)
        return "" if len(results) == wanted else f"returns {len(results)} tensors here, and {wanted} for the example"

    def refuses_gradients(self, args: Args) -> str:
        """Returns what it raises where its gradients for these arguments are asked for; "" where it has them. Without a
        token, or a row, a result may be a constant.
        """
        try:
            self.exact_with_gradients(self.widened(args), self.widened(self.upstream(args, _generator())))
        except RuntimeError as error:
            return f"raises {_told(error)}"
        return ""

    def overflows(self, args: Args) -> bool:
        """Returns whether a result is NaN or infinite where float64, brought to its dtype, is not."""
        exact, native = self._called(args, wide=True)[0], self._called(args)[0]
        pairs = (
            (e.to(n.dtype).double(), n.double()) for e, n in zip(exact, native, strict=True) if Tree.has_gradient(n)
        )
        return any(bool((e.isfinite() & ~n.isfinite()).any()) for e, n in pairs)

    def _called(self, args: Args, wide: bool = False) -> tuple[tuple[Tensor, ...], dict[str, Tensor]]:
        """(what it returns, the tensors that it changed by name). wide: in float64, as far as it is not `kept` from
        that.
        """
        args = self.widened(args) if wide else args
        mine = Tree(args).copied()
        mine = self._in_float64(mine) if wide else mine
        wide = wide or any(t.dtype == torch.float64 for t in Tree(args).tensors)
        with torch.no_grad(), self._precision() if wide else contextlib.nullcontext():
            results = self.callee.results(mine)
        after = [(n, a, b) for n, a, b in zip(self.names, args, mine, strict=False) if isinstance(a, Tensor)]
        changed = {n: b.to(a.dtype) for n, a, b in after if not _same(comparable(a), comparable(b))}
        results = self._without_written(results, mine, changed)
        return tuple(r.clone() for r in (self._rounded(results) if wide else results)), changed

    def _results(self, args: Args) -> tuple[Tensor, ...]:
        """Returns what it returns, without what it writes."""
        return self._without_written(self.callee.results(args), args)

    def _without_written(
        self, results: tuple[Tensor, ...], args: Args, changed: Collection[str] = ()
    ) -> tuple[Tensor, ...]:
        """The results but for arguments that are written and returned, as by PyTorch's operations in place."""
        named = zip(self.names, args, strict=False)
        written = [a for name, a in named if name in changed or name in self.writes]
        return tuple(r for r in results if not any(r is a for a in written))

    def _written(self, args: Args) -> dict[str, Tensor]:
        arguments = dict(zip(self.names, args, strict=False))
        return {name: arguments[name] for name in self.writes}


JUDGED = (
    *(torch.float64, torch.float32, torch.float16, torch.bfloat16, *FLOAT8, torch.bool),
    *(torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
)


def _assert_judged(tensors: dict[str, Tensor], where: str) -> None:
    """Raises CompareError for a dtype that is not drawn, widened and measured here."""
    for name, tensor in tensors.items():
        if tensor.dtype not in JUDGED or tensor.is_quantized:
            dtype = dtype_name(tensor.dtype)
            way = f"pass its bits as uint8 and view them as {dtype} in both functions"
            if tensor.is_complex():
                way = "pass and return torch.view_as_real of it"
            raise CompareError(f"{where} {name} in {dtype}, which is not judged: {way}")


@contextlib.contextmanager
def _in_float32(module: torch.nn.Module) -> Iterator[bool]:
    """Inside, a module's attributes that are Python's floats are rounded to float32; whether that changes one."""
    numbers = {name: number for name, number in vars(module).items() if type(number) is float}
    changed = {name: number for name, number in numbers.items() if as_float32(number) != number}
    vars(module).update({name: as_float32(number) for name, number in changed.items()})
    try:
        yield bool(changed)
    finally:
        vars(module).update(changed)


def as_float32(number: float) -> float:
    """The number as a kernel gets it."""
    return float(torch.tensor(number, dtype=torch.float32))


def _generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def _told(error: Exception) -> str:
    first = str(error).partition("\n")[0]
    return f"{type(error).__name__}: {first}"


def _same(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and bool(torch.equal(a, b) or torch.allclose(a, b, 0, 0, equal_nan=True))


Oracle = Callable[..., Any]


def signed(function: Oracle, names: tuple[str, ...]) -> Oracle:
    """``function``, which takes any arguments, with a signature of these names."""
    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return function


def parts(args: Args) -> list[Tensor]:
    """The floating-point tensors among the arguments."""
    return [a for a in Tree(args).leaves if isinstance(a, Tensor) and a.is_floating_point()]
