"""Families of inputs, made from the example: other sizes, memory, magnitudes and dtypes, and special values.

Each is `Arguments` in the vocabulary of a record's inputs: the example's numbers drawn anew, and what is done to them.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch
from torch import Generator, Tensor

from ...gpu import Finding
from ...runner import Args, Tree, Trouble, dtype_name
from ..records.example import SIZES, USUAL, Example
from ..records.inputs import Arguments, Values, draw, views
from ..records.record import RecordError
from ..records.ulp import FLOAT8, HALVES
from .drawing import brought, drawn_like
from .reference import Reference
from .sizes import Dimension

FamilyKind = Literal["values", "sizes", "layout", "dtype", "empty", "no columns"]
TensorChange = Callable[[Tensor, Generator], Tensor]
BLOCKS = (1031, 257, 65)  # past one block of 1,024 elements, or of as many as `MOST` allows
SPECIAL = (-100, -1)  # what stands for no label, as `ignore_index` of PyTorch and of others
MOST = 2**15  # elements of all tensors of a family together
CERTAIN = 10.0  # how far a score lies above the others, so that its probability is nearly 1
SPECIAL_VALUES = (("NaN", torch.nan), ("infinity", torch.inf), ("-infinity", -torch.inf))
TENSORS = 4  # the first ones get special values, each alone
LAID_OUT = 12  # the first ones get a layout, each alone


@dataclass(frozen=True)
class Family:
    """name, what: of it, and what its inputs are in one sentence. arguments: how they are drawn. parameters: whether
    those of a module are others, too. A candidate may refuse a layout, a dtype or nothing in an error of its own; what
    it computes there has to be right. upstream: how the gradients from above lie in memory. twice: whether autograd
    goes through the graph a second time, and those gradients are compared.
    """

    name: str
    what: str
    arguments: Arguments
    kind: FamilyKind = "values"
    parameters: bool = False
    upstream: Callable[[Args], Args] = lambda gradients: gradients
    twice: bool = False

    def draw(self, generator: Generator) -> Args:
        """Returns the arguments. Raises what a step raises, without the name of the argument: nobody wrote the step."""
        try:
            return self.arguments(generator)
        except RecordError as error:
            raise error.__cause__ or error from None

    @property
    def refusable(self) -> bool:
        """Returns whether a candidate may raise instead."""
        return self.kind not in ("values", "sizes")

    def refused_by(self, trouble: Trouble) -> bool:
        """Returns whether this is a refusal of the family. Nothing to compute is refused on purpose, by the candidate's
        own ``raise`` or ``assert``, by Triton's compiler, or by a result that is a constant; but where there are rows
        without columns any error refuses them.
        """
        if trouble.kind == "finding":
            return trouble.code not in Finding.OF_MEMORY
        if trouble.kind != "raised" or not self.refusable:
            return False
        return self.kind != "empty" or trouble.on_purpose or trouble.error == "NotAttached"


def families(
    example: Example,
    reference: Reference,
    dimensions: list[Dimension],
    without: tuple[str, ...] = (),
    gradients: bool = False,
) -> Iterator[Family]:
    """All families of an example. dimensions: those of the reference's arguments that change freely. without: what is
    left out; a dimension that is named there has the example's size in the families of values, too. gradients: whether
    they are compared, and come from above in other layouts, too.
    """
    given, names = reference.given, reference.names
    fresh = _drawn_anew(example, reference)
    yield Family("the example", "The example as it was given.", Arguments().together(lambda g: given, *fresh.names))
    yield Family("other numbers", "Other random numbers in the example's shapes.", fresh)
    if gradients and reference.callee.backward is None:
        what = "The gradients of a second backward() over the same graph: those of the first, or an error."
        yield Family("a second backward", what, fresh, twice=True)
    if reference.callee.parameters:
        yield Family("other parameters", "The module's parameters are other numbers.", fresh, parameters=True)
    if example.sized:
        yield from _of_sizes(example, fresh.names)
    else:
        yield from _resized(reference, dimensions, fresh)
        dimensions = [dimension for dimension in dimensions if dimension.named(names) not in without]
        yield from _all_resized(reference, dimensions, fresh)
    floats = [i for i, a in enumerate(given) if isinstance(a, Tensor) and _is_floating(a)]
    in_odd_sizes = fresh if example.sized else _odd(reference, dimensions, fresh)
    for name, what, values in VALUES:
        yield Family(name, what, in_odd_sizes.each(values, *fresh.names))
    for number in [i for i, a in enumerate(given) if _is_floating(a)][:TENSORS]:
        for word, value in SPECIAL_VALUES if _has_infinity(given[number]) else SPECIAL_VALUES[:1]:
            what = f"One element of {names[number]} is {word}; the reference says what that gives."
            special = in_odd_sizes.together(partial(_with_one_element, value), names[number])
            yield Family(f"{word} in {names[number]}", what, special)
    in_place = [i for i in floats if Tree.has_gradient(given[i])]
    yield from _in_one_place(given, names, in_place, in_odd_sizes)
    yield from _integers(reference, fresh)
    yield from _layouts(given, floats, fresh)
    yield from _layouts_alone(reference, fresh)
    if gradients:
        yield from _upstream_layouts(reference, fresh)
    kinds = {a.dtype for a in Tree(given).differentiable}
    for dtype in (torch.float32, *HALVES):
        if not reference.reads_bits and kinds and kinds != {dtype}:
            name, rounded = dtype_name(dtype), _rounded(dtype)
            what = f"The same numbers rounded to {name}."
            yield Family(name, what, fresh.each(rounded, *fresh.names), "dtype")
            if dtype == torch.float16:
                what = "The numbers are 100 times as large, in float16: squares and sums of them may overflow."
                large = in_odd_sizes.each(_scaled(100.0), *fresh.names).each(rounded, *fresh.names)
                yield Family("float16, large values", what, large, "dtype")


def _drawn_anew(example: Example, reference: Reference) -> Arguments:
    """Other random numbers in the example's shapes."""

    def drawn(generator: Generator) -> Args:
        if example.seeded:
            return example.make(_seed(generator), USUAL)
        numbers = Tree(reference.given).map(lambda a: drawn_like(a, generator, distinct=reference.open.at_indices))
        return reference.parted(numbers)

    return Arguments().together(drawn, *reference.names[: len(reference.given)])


def _seed(generator: Generator) -> int:
    return int(torch.randint(2**31, (), generator=generator))


def _in_one_place(given: Args, names: tuple[str, ...], floats: list[int], fresh: Arguments) -> Iterator[Family]:
    """Yields what is masked in two tensors alike: -infinity less -infinity is NaN."""
    for first, second in itertools.pairwise(floats[:TENSORS]):
        if given[first].shape == given[second].shape:
            both = f"{names[first]} and {names[second]}"
            what = f"Some elements of {both} are -infinity, the same of each."
            yield Family(f"-infinity in {both}", what, fresh.together(_masked_alike, names[first], names[second]))


def _masked_alike(generator: Generator, *tensors: Tensor) -> Args:
    place = torch.rand(tensors[0].shape, generator=generator) < 0.1
    return tuple(tensor.masked_fill(place, -torch.inf) for tensor in tensors)


def _is_floating(given: Any) -> bool:
    first = given[0] if isinstance(given, list) and given else given
    return isinstance(first, Tensor) and first.is_floating_point()


def _has_infinity(given: Any) -> bool:
    """Returns whether its dtype has one, as only one of float8 has."""
    return bool(Tree((given,)).tensors[0].new_tensor(torch.inf).double().isinf())


def _layouts(given: Args, floats: list[int], fresh: Arguments) -> Iterator[Family]:
    for name, what, view in LAYOUTS:
        yield Family(name, what, fresh.each(_viewed(view, _most_dimensions(given)), *fresh.names), "layout")
    if len({given[i].dim() for i in floats} - {0}) > 1:
        what = "Each tensor of one dimension is every second element of one twice as long."
        yield Family("strided vectors", what, fresh.each(_strided_vectors, *fresh.names), "layout")


def _layouts_alone(reference: Reference, fresh: Arguments) -> Iterator[Family]:
    """Each tensor in a layout that no other has: a kernel may read one through the strides of another."""
    example, names = reference.given, reference.names
    tensors = [i for i, a in enumerate(example) if isinstance(a, Tensor) and a.dim() and a.numel() > 1]
    for number in tensors[:LAID_OUT] if len(tensors) > 1 else ():
        for word, view in ALONE:
            if (example[number].dim() > 1) is (view is not views.every_second):
                what = f"{names[number]} alone lies in memory otherwise: {word}."
                alone = fresh.each(draw.same.view(view), names[number])
                yield Family(f"{names[number]} alone, {word}", what, alone, "layout")


def _upstream_layouts(reference: Reference, fresh: Arguments) -> Iterator[Family]:
    """The gradient of each result in a layout of its own: a kernel may read it through the strides of the result."""
    with torch.no_grad():
        shapes = [r.shape for r in reference.upstream(reference.arguments, Generator().manual_seed(0))]
    for number, shape in enumerate(shapes):
        name = "the upstream gradient" if len(shapes) == 1 else f"upstream gradient {number}"
        for word, view in (*ALONE, ("one number, expanded", views.one_number)):
            if shape and (len(shape) > 1) is (view is not views.every_second):

                def above(given: Args, chosen: int = number, view: views.TensorView = view) -> Args:
                    return tuple(view(a) if i == chosen else a for i, a in enumerate(given))

                yield Family(f"{name}, {word}", f"{name.capitalize()}: {word}.", fresh, "layout", upstream=above)


def _of_sizes(example: Example, names: list[str]) -> Iterator[Family]:
    def of(size: int) -> Arguments:
        return Arguments().together(lambda generator: example.make(_seed(generator), size), *names)

    for size in SIZES:
        yield Family(
            f"size {size}", f"The arguments of size {size:,}.", of(size), "sizes" if size else _nothing(example)
        )


def _nothing(example: Example) -> FamilyKind:
    """Returns the kind of the arguments of size 0: without columns where a matrix of them has none."""
    matrices = [a for a in Tree(example.make(0, 0)).tensors if a.dim() > 1]
    return "no columns" if any(not a.shape[-1] for a in matrices) else "empty"


def _resized(reference: Reference, dimensions: list[Dimension], fresh: Arguments) -> Iterator[Family]:
    """Each dimension alone."""
    for dimension in dimensions:
        name = dimension.named(reference.names)
        least = 2 if any((offset.argument, 0) in dimension.places for offset in reference.offsets) else 0  # of one part
        for size in (size for size in other_sizes(dimension, reference.given) if size >= least):
            what = f"{name.capitalize()} is {size:,} instead of {dimension.size:,}."
            resized = _at(reference, [(dimension, size)], fresh)
            nothing: FamilyKind = "no columns" if dimension.is_last(reference.given) else "empty"
            yield Family(f"{name}: {size:,}", what, resized, "sizes" if size else nothing)


def _all_resized(reference: Reference, dimensions: list[Dimension], fresh: Arguments) -> Iterator[Family]:
    """All dimensions at once: a kernel that leaves out the end of the last block is right as long as one size is a
    multiple of the block.
    """
    odd = _odd_sizes(dimensions)
    if len(odd) > 1 and any(dimension.size != size for dimension, size in odd):
        listed = ", ".join(f"{dimension.named(reference.names)} is {size:,}" for dimension, size in odd)
        yield Family("odd sizes", f"All sizes at once: {listed}.", _at(reference, odd, fresh), "sizes")


def _odd(reference: Reference, dimensions: list[Dimension], fresh: Arguments) -> Arguments:
    """The example in odd sizes, where the reference takes that: in whole blocks, special values find no padding."""
    odd = _at(reference, _odd_sizes(dimensions), fresh)
    return odd if reference.accepts(odd(Generator().manual_seed(0))) else fresh


def _odd_sizes(dimensions: list[Dimension]) -> list[tuple[Dimension, int]]:
    return [(dimension, dimension.size | 1) for dimension in dimensions]


def _at(reference: Reference, sizes: list[tuple[Dimension, int]], fresh: Arguments) -> Arguments:
    """The example in other sizes."""

    def resized(generator: Generator, *args: Any) -> Args:
        for dimension, size in sizes:
            args = dimension.at(args, size, generator, reference.open.at_indices)
            if 0 < size < dimension.size and not reference.accepts(args):
                args = Tree(args).map(partial(_within, size=size))
        return reference.parted(args)

    return fresh.together(resized, *fresh.names)


def _within(tensor: Tensor, size: int) -> Tensor:
    """Labels of fewer classes: those at ``size`` and past it, which the reference refuses, begin again at 0."""
    if tensor.is_floating_point() or tensor.dtype == torch.bool:
        return tensor
    return torch.where(tensor < 0, tensor, tensor % size)


def other_sizes(dimension: Dimension, given: Args) -> list[int]:
    """An odd number, one past the next power of two, past a block; at last one and none, at which a mistake looks like
    others.
    """
    size = dimension.size
    past = 2 ** (size - 1).bit_length() + 1 if size > 1 else 3
    most = max(MOST, 2 * dimension.elements(given, size))  # an example that is larger grows as well
    fitting = [s for s in (7, past, *BLOCKS) if s != size and dimension.elements(given, s) <= most]
    block = next((s for s in BLOCKS if s in fitting and s > past), None)
    sizes = [s for s in dict.fromkeys(fitting) if s not in BLOCKS or s in (past, block)]
    return [*sizes, 1, 0] if size != 1 else [*sizes, 0]


def _of_floats(change: TensorChange) -> Values:
    """The argument as it was drawn, changed where it holds floating-point numbers."""
    return draw.same.map_at_random(lambda a, generator: change(a, generator) if _has_floats(a) else a)


def _has_floats(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


def _with_one_element(value: float, generator: Generator, argument: Any) -> Args:
    """The argument with this value at one element, chosen at random; of a list, of its first tensor."""
    first, *rest = argument if isinstance(argument, list) else [argument]
    changed = first.clone()
    if changed.numel():
        changed.view(-1)[int(torch.randint(changed.numel(), (), generator=generator))] = value
    return ([changed, *rest] if isinstance(argument, list) else changed,)


def _integers(reference: Reference, fresh: Arguments) -> Iterator[Family]:
    """Indices at both ends of their range and all the same; masks of one value."""
    for number, tensor in enumerate(reference.given):
        if not isinstance(tensor, Tensor) or tensor.is_floating_point() or not tensor.numel():
            continue
        name = reference.names[number]
        if number in [offset.argument for offset in reference.offsets]:
            for word in ("first", "last"):
                all_in_one = _all_in_one(reference, fresh, number, word == "first")
                what = f"The {word} part has all, the others nothing."
                yield Family(f"{name}, all in the {word} part", what, all_in_one)
            continue
        if tensor.dtype == torch.bool:
            ends, special = [0, 1], []
        else:
            special = _special(reference, number)
            whole = _whole_range(reference, number)
            ends = [int(tensor.min()), int(tensor.max()), *_last(reference, number), *special, *whole]
            ends = list(dict.fromkeys(ends))
            if whole:
                what = f"{name} holds any of the {whole[1] - whole[0] + 1} values of its dtype."
                yield Family(f"{name} of every value", what, fresh.each(_of_range(*whole), name))
        for value in ends:
            word = str(bool(value) if tensor.dtype == torch.bool else value)
            what = f"Every element of {name} is {word}."
            yield Family(f"{name} all {word}", what, fresh.each(_filled(value, 1.0), name))
        for value in special:
            what = f"Some elements of {name} are {value}."
            yield Family(f"{name} {value} in places", what, fresh.each(_filled(value, 0.3), name))
        yield from _certain(reference, number, fresh)


def _all_in_one(reference: Reference, fresh: Arguments, number: int, first: bool) -> Arguments:
    def parted(generator: Generator, *drawn: Any) -> Args:
        args = list(drawn)
        args[number] = torch.full_like(args[number], int(args[number].max()) if first else 0)
        return reference.parted(tuple(args))

    return fresh.together(parted, *fresh.names)


def _certain(reference: Reference, number: int, fresh: Arguments) -> Iterator[Family]:
    """A label that is nearly certain, in half precision, too: p - 1 there is small, and no random number is so."""
    labels = reference.given[number]
    rows = (i for i, a in enumerate(reference.given) if isinstance(a, Tensor) and Tree.has_gradient(a) and a.dim())
    scored = next((i for i in rows if reference.given[i].shape[:-1] == labels.shape), None)
    if labels.dtype == torch.bool or scored is None or int(labels.max()) >= reference.given[scored].shape[-1]:
        return

    label, scores = reference.names[number], reference.names[scored]
    name, what = f"{label} nearly certain", f"{CERTAIN:g} is added to the element of {scores} that {label} names."
    certain = fresh.together(_with_certain_labels, label, scores)
    yield Family(name, what, certain)
    rounded = certain.each(_rounded(torch.bfloat16), *fresh.names)
    yield Family(f"{name}, bfloat16", f"The same in bfloat16: {what}", rounded, "dtype")


def _with_certain_labels(generator: Generator, labels: Tensor, scores: Tensor) -> Args:
    column = labels.long().clamp(min=0).unsqueeze(-1)
    return labels, scores.scatter_add(-1, column, scores.new_full(column.shape, CERTAIN))


def _last(reference: Reference, number: int) -> list[int]:
    """The last index of a range that a size of the example gives, where the example has a smaller one: the reference
    takes it and refuses the next.
    """
    most = int(reference.given[number].max())
    sizes = {size for tensor in reference.given if isinstance(tensor, Tensor) for size in tensor.shape}
    longer = sorted(size for size in sizes if size - 1 > most)
    return [size - 1 for size in longer if _takes(reference, number, size - 1) and not _takes(reference, number, size)]


def _whole_range(reference: Reference, number: int) -> list[int]:
    """The least and the largest value of 8 bits, where the example has more than a flag's two and the reference takes
    both: such integers are codes, and a code at an end may mean something of its own.
    """
    tensor = reference.given[number]
    range_of = torch.iinfo(tensor.dtype)
    whole = [range_of.min, range_of.max]
    is_code = range_of.bits == 8 and len(tensor.unique()) > 2
    return whole if is_code and all(_takes(reference, number, value) for value in whole) else []


def _of_range(least: int, most: int) -> Values:
    """Integers from ``least`` to ``most`` in the argument's shape and dtype."""
    return draw.same.map_at_random(lambda a, g: torch.randint(least, most + 1, a.shape, generator=g, dtype=a.dtype))


def _special(reference: Reference, number: int) -> list[int]:
    """Says what stands for no label: the reference takes it and refuses its neighbors, or names it in its signature."""

    def refused(value: int) -> bool:
        return value >= 0 or not _takes(reference, number, value)

    least = int(reference.given[number].min())
    alone = [v for v in SPECIAL if v < least and refused(v - 1) and refused(v + 1) and not refused(v)]
    named = [v for v in _ignored(reference) if v < least and _takes(reference, number, v)]
    return list(dict.fromkeys(alone + named))


def _ignored(reference: Reference) -> list[int]:
    """Returns what the reference's parameters ignore by default, such as ``ignore_index=-100``."""
    parameters = reference.callee.signature.parameters.values() if reference.callee.signature else ()
    return [p.default for p in parameters if type(p.default) is int and p.name.startswith(("ignore", "pad"))]


def _takes(reference: Reference, number: int, value: int) -> bool:
    """Returns whether the dtype holds this, and the reference takes the example with it as its first index there."""
    range_of = torch.iinfo(reference.given[number].dtype)
    if not range_of.min <= value <= range_of.max:
        return False
    args = list(reference.given)
    args[number] = args[number].clone()
    args[number].view(-1)[0] = value
    return reference.accepts(tuple(args))


def _filled(value: int, share: float) -> Values:
    """The argument with ``value`` in this share of its elements, chosen at random."""
    return draw.same.map_at_random(lambda a, g: a.masked_fill(torch.rand(a.shape, generator=g) < share, value))


def _most_dimensions(given: Args) -> int:
    """2, or 1 where no tensor has as many: a layout is about matrices, where there are any."""
    return min(2, max(a.dim() for a in Tree(given).tensors))


def _viewed(view: views.TensorView, least: int) -> Values:
    return draw.same.view(lambda a: view(a) if _has_floats(a) and a.dim() >= max(1, least) else a)


def _rounded(dtype: torch.dtype) -> Values:
    return _of_floats(lambda a, g: a if a.dtype in FLOAT8 else a.to(dtype))


def _scaled(factor: float) -> Values:
    return _of_floats(lambda a, g: (a.double() * _within_float8(a, factor)).to(a.dtype))


def _within_float8(a: Tensor, factor: float) -> float:
    """The factor, by which the largest number of a tensor of float8 stays a normal one."""
    if a.dtype not in FLOAT8 or not a.numel():
        return factor
    range_of, largest = torch.finfo(a.dtype), float(a.double().abs().nan_to_num(0, 0).max())
    if largest and abs(factor) > 1:
        return min(factor, range_of.max / largest)
    return max(factor, range_of.smallest_normal / largest) if largest and 0 < factor < 1 else factor


@_of_floats
def _shifted(a: Tensor, generator: Generator) -> Tensor:
    return brought(a.double() + 1000, a.dtype)


@_of_floats
def _of_rows(a: Tensor, generator: Generator) -> Tensor:
    return a[..., :1].expand(a.shape).clone() if a.dim() else a


@_of_floats
def _outlier(a: Tensor, generator: Generator) -> Tensor:
    wide = a.double()
    if a.numel():
        wide.view(-1)[int(torch.randint(a.numel(), (), generator=generator))] *= 1e4
    return brought(wide, a.dtype)


def _with_gaps(a: Tensor) -> Tensor:
    """As `views.with_gaps`, which has NaN between the rows; 0 where there is none."""
    return views.with_gaps(a) if a.is_floating_point() else torch.nn.functional.pad(a, (3, 30))[..., 3:-30]


def _transposed(a: Tensor) -> Tensor:
    return views.transposed(a) if a.dim() > 1 else a


_strided_vectors = draw.same.view(lambda a: views.every_second(a) if _has_floats(a) and a.dim() == 1 else a)
VALUES: tuple[tuple[str, str, Values], ...] = (
    ("zeros", "Every floating-point number is 0.", _of_floats(lambda a, g: torch.zeros_like(a))),
    ("tiny values", "The numbers are 1e-6 times as large.", _scaled(1e-6)),
    ("subnormal values", "The numbers are 1e-39 times as large: below the smallest normal float32.", _scaled(1e-39)),
    ("large values", "The numbers are 100 times as large: exp of them overflows.", _scaled(100.0)),
    ("very large values", "The numbers are 10,000 times as large.", _scaled(1e4)),
    ("far from zero", "1,000 is added to the numbers: their mean is far larger than their spread.", _shifted),
    ("other signs", "The numbers have the other sign.", _scaled(-1.0)),
    ("rows of one value", "All numbers of a row are the same.", _of_rows),
    ("one outlier", "One element of each tensor is 10,000 times as large.", _outlier),
)
ALONE: tuple[tuple[str, views.TensorView], ...] = (
    ("transposed", _transposed),
    ("rows with gaps", _with_gaps),
    ("every second element", views.every_second),  # of vectors
)
LAYOUTS: tuple[tuple[str, str, views.TensorView], ...] = (
    ("transposed", "The last two dimensions lie in memory the other way round.", _transposed),
    ("every second column", "Each tensor is every second column of one twice as wide.", views.every_second),
    ("rows with gaps", "Each tensor is the middle of longer rows; NaN lies between them.", views.with_gaps),
    ("one number, expanded", "Each tensor is one number at stride 0.", views.one_number),
)
