"""Families of inputs, made from the example: other sizes, memory, magnitudes and dtypes, and special values."""

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
from ..records.inputs import views
from ..records.ulp import FLOAT8, HALVES
from .drawing import brought, drawn_like
from .reference import Reference
from .sizes import Dimension

FamilyKind = Literal["values", "sizes", "layout", "dtype", "empty", "no columns"]
ArgumentMaker = Callable[[Generator], Args]
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
    """name, what: of it, and what its inputs are in one sentence. make: the arguments. parameters: whether those of a
    module are others, too. A candidate may refuse a layout, a dtype or nothing in an error of its own; what it computes
    there has to be right. upstream: how the gradients from above lie in memory. twice: whether autograd goes through
    the graph a second time, and those gradients are compared.
    """

    name: str
    what: str
    make: ArgumentMaker
    kind: FamilyKind = "values"
    parameters: bool = False
    upstream: Callable[[Args], Args] = lambda gradients: gradients
    twice: bool = False

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

    def fresh(generator: Generator) -> Args:
        if example.seeded:
            return example.make(int(torch.randint(2**31, (), generator=generator)), USUAL)
        drawn = Tree(given).map(lambda a: drawn_like(a, generator, distinct=reference.open.at_indices))
        return reference.parted(drawn)

    yield Family("the example", "The example as it was given.", lambda g: given)
    yield Family("other numbers", "Other random numbers in the example's shapes.", fresh)
    if gradients and reference.callee.backward is None:
        what = "The gradients of a second backward() over the same graph: those of the first, or an error."
        yield Family("a second backward", what, fresh, twice=True)
    if reference.callee.parameters:
        yield Family("other parameters", "The module's parameters are other numbers.", fresh, parameters=True)
    if example.sized:
        yield from _of_sizes(example)
    else:
        yield from _resized(reference, dimensions, fresh)
        dimensions = [dimension for dimension in dimensions if dimension.named(names) not in without]
        yield from _all_resized(reference, dimensions, fresh)
    floats = [i for i, a in enumerate(given) if isinstance(a, Tensor) and _is_floating(a)]
    in_odd_sizes = fresh if example.sized else _odd(reference, dimensions, fresh)
    for name, what, change in VALUES:
        yield Family(name, what, _on_floats(in_odd_sizes, change))
    for number in [i for i, a in enumerate(given) if _is_floating(a)][:TENSORS]:
        for word, value in SPECIAL_VALUES if _has_infinity(given[number]) else SPECIAL_VALUES[:1]:
            what = f"One element of {names[number]} is {word}; the reference says what that gives."
            yield Family(f"{word} in {names[number]}", what, _one_element(in_odd_sizes, number, value))
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
            yield Family(name, what, _on_floats(fresh, rounded), "dtype")
            if dtype == torch.float16:
                what = "The numbers are 100 times as large, in float16: squares and sums of them may overflow."
                large = _on_floats(_on_floats(in_odd_sizes, _scaled(100.0)), rounded)
                yield Family("float16, large values", what, large, "dtype")


def _in_one_place(given: Args, names: tuple[str, ...], floats: list[int], fresh: ArgumentMaker) -> Iterator[Family]:
    """Yields what is masked in two tensors alike: -infinity less -infinity is NaN."""
    for first, second in itertools.pairwise(floats[:TENSORS]):
        if given[first].shape == given[second].shape:
            both = f"{names[first]} and {names[second]}"

            def make(generator: Generator, chosen: tuple[int, int] = (first, second)) -> Args:
                args = list(fresh(generator))
                place = torch.rand(args[chosen[0]].shape, generator=generator) < 0.1
                for number in chosen:
                    args[number] = args[number].masked_fill(place, -torch.inf)
                return tuple(args)

            yield Family(f"-infinity in {both}", f"Some elements of {both} are -infinity, the same of each.", make)


def _is_floating(given: Any) -> bool:
    first = given[0] if isinstance(given, list) and given else given
    return isinstance(first, Tensor) and first.is_floating_point()


def _has_infinity(given: Any) -> bool:
    """Returns whether its dtype has one, as only one of float8 has."""
    return bool(Tree((given,)).tensors[0].new_tensor(torch.inf).double().isinf())


def _layouts(given: Args, floats: list[int], fresh: ArgumentMaker) -> Iterator[Family]:
    for name, what, view in LAYOUTS:
        yield Family(name, what, _on_floats(fresh, _viewed(view, _most_dimensions(given))), "layout")
    if len({given[i].dim() for i in floats} - {0}) > 1:
        what = "Each tensor of one dimension is every second element of one twice as long."
        yield Family("strided vectors", what, _on_floats(fresh, _strided_vectors), "layout")


def _layouts_alone(reference: Reference, fresh: ArgumentMaker) -> Iterator[Family]:
    """Each tensor in a layout that no other has: a kernel may read one through the strides of another."""
    given, names = reference.given, reference.names
    tensors = [i for i, a in enumerate(given) if isinstance(a, Tensor) and a.dim() and a.numel() > 1]
    for number in tensors[:LAID_OUT] if len(tensors) > 1 else ():
        for word, view in ALONE:
            if (given[number].dim() > 1) is (view is not views.every_second):

                def make(generator: Generator, chosen: int = number, view: views.TensorView = view) -> Args:
                    return tuple(view(a) if i == chosen else a for i, a in enumerate(fresh(generator)))

                what = f"{names[number]} alone lies in memory otherwise: {word}."
                yield Family(f"{names[number]} alone, {word}", what, make, "layout")


def _upstream_layouts(reference: Reference, fresh: ArgumentMaker) -> Iterator[Family]:
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


def _of_sizes(example: Example) -> Iterator[Family]:
    def of(size: int) -> ArgumentMaker:
        return lambda generator: example.make(int(torch.randint(2**31, (), generator=generator)), size)

    for size in SIZES:
        yield Family(
            f"size {size}", f"The arguments of size {size:,}.", of(size), "sizes" if size else _nothing(example)
        )


def _nothing(example: Example) -> FamilyKind:
    """Returns the kind of the arguments of size 0: without columns where a matrix of them has none."""
    matrices = [a for a in Tree(example.make(0, 0)).tensors if a.dim() > 1]
    return "no columns" if any(not a.shape[-1] for a in matrices) else "empty"


def _resized(reference: Reference, dimensions: list[Dimension], fresh: ArgumentMaker) -> Iterator[Family]:
    """Each dimension alone."""
    for dimension in dimensions:
        name = dimension.named(reference.names)
        least = 2 if any((offset.argument, 0) in dimension.places for offset in reference.offsets) else 0  # of one part
        for size in (size for size in other_sizes(dimension, reference.given) if size >= least):
            what = f"{name.capitalize()} is {size:,} instead of {dimension.size:,}."
            made = _at(reference, [(dimension, size)], fresh)
            nothing: FamilyKind = "no columns" if dimension.is_last(reference.given) else "empty"
            yield Family(f"{name}: {size:,}", what, made, "sizes" if size else nothing)


def _all_resized(reference: Reference, dimensions: list[Dimension], fresh: ArgumentMaker) -> Iterator[Family]:
    """All dimensions at once: a kernel that leaves out the end of the last block is right as long as one size is a
    multiple of the block.
    """
    odd = _odd_sizes(dimensions)
    if len(odd) > 1 and any(dimension.size != size for dimension, size in odd):
        listed = ", ".join(f"{dimension.named(reference.names)} is {size:,}" for dimension, size in odd)
        yield Family("odd sizes", f"All sizes at once: {listed}.", _at(reference, odd, fresh), "sizes")


def _odd(reference: Reference, dimensions: list[Dimension], fresh: ArgumentMaker) -> ArgumentMaker:
    """The example in odd sizes, where the reference takes that: in whole blocks, special values find no padding."""
    made = _at(reference, _odd_sizes(dimensions), fresh)
    return made if reference.accepts(made(Generator().manual_seed(0))) else fresh


def _odd_sizes(dimensions: list[Dimension]) -> list[tuple[Dimension, int]]:
    return [(dimension, dimension.size | 1) for dimension in dimensions]


def _at(reference: Reference, sizes: list[tuple[Dimension, int]], fresh: ArgumentMaker) -> ArgumentMaker:
    """The example in other sizes."""

    def make(generator: Generator) -> Args:
        args = fresh(generator)
        for dimension, size in sizes:
            args = dimension.at(args, size, generator, reference.open.at_indices)
            if 0 < size < dimension.size and not reference.accepts(args):
                args = Tree(args).map(partial(_within, size=size))
        return reference.parted(args)

    return make


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
    found = [s for s in dict.fromkeys(fitting) if s not in BLOCKS or s in (past, block)]
    return [*found, 1, 0] if size != 1 else [*found, 0]


def _on_floats(fresh: ArgumentMaker, change: TensorChange) -> ArgumentMaker:
    def make(generator: Generator) -> Args:
        return Tree(fresh(generator)).map(lambda a: change(a, generator) if a.is_floating_point() else a)

    return make


def _one_element(fresh: ArgumentMaker, number: int, value: float) -> ArgumentMaker:
    def make(generator: Generator) -> Args:
        args = list(fresh(generator))
        given = args[number]
        changed, *rest = given if isinstance(given, list) else [given]
        changed = changed.clone()
        if changed.numel():
            changed.view(-1)[int(torch.randint(changed.numel(), (), generator=generator))] = value
        args[number] = [changed, *rest] if isinstance(given, list) else changed
        return tuple(args)

    return make


def _integers(reference: Reference, fresh: ArgumentMaker) -> Iterator[Family]:
    """Indices at both ends of their range and all the same; masks of one value."""
    for number, tensor in enumerate(reference.given):
        if not isinstance(tensor, Tensor) or tensor.is_floating_point() or not tensor.numel():
            continue
        name = reference.names[number]
        if number in [offset.argument for offset in reference.offsets]:
            for word in ("first", "last"):
                made = _all_in_one(reference, fresh, number, word == "first")
                yield Family(f"{name}, all in the {word} part", f"The {word} part has all, the others nothing.", made)
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
                yield Family(f"{name} of every value", what, _of_range(fresh, number, *whole))
        for value in ends:
            word = str(bool(value) if tensor.dtype == torch.bool else value)
            made = _filled(fresh, number, value, 1.0)
            yield Family(f"{name} all {word}", f"Every element of {name} is {word}.", made)
        for value in special:
            made = _filled(fresh, number, value, 0.3)
            yield Family(f"{name} {value} in places", f"Some elements of {name} are {value}.", made)
        yield from _certain(reference, number, fresh)


def _all_in_one(reference: Reference, fresh: ArgumentMaker, number: int, first: bool) -> ArgumentMaker:
    def make(generator: Generator) -> Args:
        args = list(fresh(generator))
        args[number] = torch.full_like(args[number], int(args[number].max()) if first else 0)
        return reference.parted(tuple(args))

    return make


def _certain(reference: Reference, number: int, fresh: ArgumentMaker) -> Iterator[Family]:
    """A label that is nearly certain, in half precision, too: p - 1 there is small, and no random number is so."""
    labels = reference.given[number]
    rows = (i for i, a in enumerate(reference.given) if isinstance(a, Tensor) and Tree.has_gradient(a) and a.dim())
    scored = next((i for i in rows if reference.given[i].shape[:-1] == labels.shape), None)
    if labels.dtype == torch.bool or scored is None or int(labels.max()) >= reference.given[scored].shape[-1]:
        return

    def make(generator: Generator) -> Args:
        args = list(fresh(generator))
        column = args[number].long().clamp(min=0).unsqueeze(-1)
        args[scored] = args[scored].scatter_add(-1, column, args[scored].new_full(column.shape, CERTAIN))
        return tuple(args)

    name, where = f"{reference.names[number]} nearly certain", f"{CERTAIN:g} is added to the element of "
    what = f"{where}{reference.names[scored]} that {reference.names[number]} names."
    yield Family(name, what, make)
    yield Family(
        f"{name}, bfloat16", f"The same in bfloat16: {what}", _on_floats(make, _rounded(torch.bfloat16)), "dtype"
    )


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


def _of_range(fresh: ArgumentMaker, number: int, least: int, most: int) -> ArgumentMaker:
    def make(generator: Generator) -> Args:
        args = list(fresh(generator))
        given = args[number]
        args[number] = torch.randint(least, most + 1, given.shape, generator=generator, dtype=given.dtype)
        return tuple(args)

    return make


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


def _filled(fresh: ArgumentMaker, number: int, value: int, share: float) -> ArgumentMaker:
    def make(generator: Generator) -> Args:
        args = list(fresh(generator))
        chosen = torch.rand(args[number].shape, generator=generator) < share
        args[number] = args[number].masked_fill(chosen, value)
        return tuple(args)

    return make


def _most_dimensions(given: Args) -> int:
    """2, or 1 where no tensor has as many: a layout is about matrices, where there are any."""
    return min(2, max(a.dim() for a in Tree(given).tensors))


def _viewed(view: views.TensorView, least: int) -> TensorChange:
    return lambda a, g: view(a) if a.dim() >= max(1, least) else a


def _strided_vectors(a: Tensor, generator: Generator) -> Tensor:
    return views.every_second(a) if a.dim() == 1 else a


def _rounded(dtype: torch.dtype) -> TensorChange:
    return lambda a, g: a if a.dtype in FLOAT8 else a.to(dtype)


def _scaled(factor: float) -> TensorChange:
    return lambda a, g: (a.double() * _within_float8(a, factor)).to(a.dtype)


def _within_float8(a: Tensor, factor: float) -> float:
    """The factor, by which the largest number of a tensor of float8 stays a normal one."""
    if a.dtype not in FLOAT8 or not a.numel():
        return factor
    range_of, largest = torch.finfo(a.dtype), float(a.double().abs().nan_to_num(0, 0).max())
    if largest and abs(factor) > 1:
        return min(factor, range_of.max / largest)
    return max(factor, range_of.smallest_normal / largest) if largest and 0 < factor < 1 else factor


def _shifted(a: Tensor, generator: Generator) -> Tensor:
    return brought(a.double() + 1000, a.dtype)


def _of_rows(a: Tensor, generator: Generator) -> Tensor:
    return a[..., :1].expand(a.shape).clone() if a.dim() else a


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


VALUES: tuple[tuple[str, str, TensorChange], ...] = (
    ("zeros", "Every floating-point number is 0.", lambda a, g: torch.zeros_like(a)),
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
