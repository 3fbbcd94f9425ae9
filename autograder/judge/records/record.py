"""Says what an exercise is: a function stated as mathematics, the inputs that show its bugs, and how close is right.

A record holds data only. It never imports the answers: a grader that checks an answer against itself checks nothing.
"""

import abc
import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeVar

import torch

from ...gpu import ATEN
from ...runner import Args, Contract, Tree
from .category import Category, Flaw
from .ulp import FLOAT8, comparable

COMBINING = ATEN.combining  # for `Exercise.refused` where a sum is the exercise: what adds up elements of a tensor

Inputs = Callable[[torch.Generator], Args]  # the arguments that a case draws
Floors = tuple[torch.Tensor | float, ...]  # an absolute tolerance for each output


SAME = 0.25  # ulp: less than any other number is off by, also below a power of 2


@dataclass(frozen=True)
class Tolerance:
    """Holds how far from the float64 oracle an output may lie: ``ulp * size_of_one_ulp(expected) + floor(*inputs)``.

    half, single: ulp of the output dtype allowed for float16 and bfloat16, and for float32.
        Integers and booleans are compared exactly: no ulp is allowed, whatever these are.
    floor: absolute error per element that honest float32 arithmetic may leave, from the conditioning of the sum.
        Called with the inputs in float64; returns one tensor (or number) an output, in order. Of an integer it is how
        far off it may be: 0, but where rounding decides between two, as in quantisation.
    distinction: the part of the floor that is left in a distinction case: what no float32 code avoids.
    reason: why these numbers, in one sentence a teacher can read.
    estimated: whether the floor is an estimate (`derived`), which a report says.
    float8: ulp allowed for float8. `SAME`: the number itself, since its neighbour is an eighth off, but where the floor
        says that rounding decides. 0: its bits, of which -0 and 0 have different ones. 1: either neighbour, too.
    """

    half: float
    single: float
    reason: str
    floor: Callable[..., Floors] | None = None
    distinction: Callable[..., Floors] | None = None
    estimated: bool = False
    float8: float = SAME

    def ulp(self, dtype: torch.dtype) -> float:
        """The ulp that an output of this dtype may be off by."""
        if not dtype.is_floating_point:
            return 0.0
        if dtype in FLOAT8:
            return self.float8
        return self.single if dtype == torch.float32 else self.half


EXACT = Tolerance(0, 0, "An integer is right or wrong.")


@dataclass(frozen=True)
class Output:
    """One tensor among the results. ``like`` names the input whose dtype it takes, or is the dtype itself.

    What is right is float64 for every floating-point dtype, and integers or booleans for theirs. Where several integers
    are right, as at a tie, the summary says which is meant, or no case has one.
    """

    name: str
    like: str | torch.dtype = "x"


BIAS, MEMORY, TRAFFIC, COMPILE, SPILLS = MEASURED = (
    "bias",
    "peak memory",
    "memory traffic",
    "compiles for a GPU",
    "register spills",
)
Convention = Literal["", "infinity", "no token", "bad label", "empty row"]
Subject = Literal[
    "plain", "again", "empty", "single", "sizes", "layout", "half precision", "range", "masking", "NaN and infinity"
]


class RecordError(ValueError):
    """A record that cannot judge anything; the message is one sentence that names the remedy."""


class Named(abc.ABC):
    """Inputs that name their arguments, for whatever signature has them (`inputs.Arguments`). No protocol: asking
    whether each of 1,600 cases follows one took a tenth of the time that all records take to load.
    """

    @abc.abstractmethod
    def bound(self, exercise: "Exercise") -> "Named":
        """The inputs in the order of this signature. Raises RecordError where they do not fit it."""

    @abc.abstractmethod
    def __call__(self, generator: torch.Generator) -> Args:
        """The arguments, in the order of the signature."""

    @abc.abstractmethod
    def strictly(self, generator: torch.Generator) -> Args:
        """The arguments, where a change that touches nothing is a mistake. Raises RecordError."""


@dataclass(frozen=True)
class Case:
    """One call of the answer.

    inputs: makes the arguments, in the order of the signature, from a seeded generator: tensors, lists of tensors,
        numbers, strings and None. An answer gets each tensor in memory of its own, also where two share theirs here,
        but one that a list holds twice, which is one tensor there, too.
    hint: what to look at when this case fails; shown to the learner with the failing value. A part of it in
        parentheses that begins with "In Triton," is shown of Triton answers alone.
    bonus: a distinction: extra credit, never needed to pass.
    within: judge only elements whose every input is at most this large (NaN and infinity are judged always).
    swept: the parameter that runs through many values, over which the error is worth drawing.
    raises, says: this call must raise this error, its message matching this pattern.
    repaired: the arguments of such a call with the bad input left out, for which there is a right result.
    hidden: an instructor's own; the report tells its name, the kind of its input and the hint.
    convention: what the case rests on that mathematics leaves open and a library has to choose. Where asked to, the
        check takes PyTorch's choice (`Exercise.peer`) for right as well.
    category: what it is about, where its arguments do not say so (`Exercise.category`).
    each_row_alone: whether the answer is called on other batches of the rows, too, in which each row has to have the
        same bits; rows are dimension 0 of the first argument and of each output. Wrong values in it count as plain.
    twice: whether gradients are those of a second way through the graph (`Call`).
    shared: whether several programs of a Triton answer have to share the work, as where one long row is all there is.
    family, subject: the family that it comes from, and what its hint is about: the cases of a family that are about
        one subject share a hint, or ask the same in other numbers. A case of one exercise alone has neither.
    """

    name: str
    inputs: Inputs
    hint: str
    bonus: bool = False
    within: float | None = None
    swept: str = ""
    raises: type[Exception] | None = None
    says: str = ""
    repaired: Callable[[Args], Args] | None = None
    hidden: bool = False
    convention: Convention = ""
    category: Category | None = None
    each_row_alone: bool = False
    twice: bool = False
    shared: bool = False
    family: str = ""
    subject: Subject | None = None


@dataclass(frozen=True)
class WildBug:
    """A bug as a library shipped it: who, where it is documented, the function bug for bug, and the case made to see
    it. Where that case is one of the point or of the edges, an answer that fails it earns at most half of the points.

    variants: the same formula in another order of operations, which rounds otherwise, or with an edge mended that gives
    integers; where it gives NaN or infinity, none is needed.
    """

    who: str
    thread: str
    function: Callable[..., Any]
    seen_by: str
    story: str
    variants: tuple[Callable[..., Any], ...] = ()

    @property
    def named(self) -> str:
        """Returns what a report says of an answer that computes the same."""
        return f"this is what {self.who} computed ({self.thread})"


@dataclass(frozen=True)
class CommonMistake:
    """A mistake that many make and nobody is known to have shipped: what it is, a function that makes it, and the case
    made to see it. A report names it, and it costs what it makes wrong.
    """

    who: str
    function: Callable[..., Any]
    seen_by: str
    story: str

    @property
    def named(self) -> str:
        """Returns what a report says of an answer that computes the same."""
        return f"a common mistake: {self.who.rstrip(',')}"


Bug = WildBug | CommonMistake


@dataclass(frozen=True)
class Large:
    """A call so large that the memory its process holds tells what the answer held: a small call's rows at places that
    nobody can foresee, among ``times`` as many. No two rows are alike, so none can be computed once for many. The
    oracle says what is right for the rows of the small call, in the time that a small call takes.

    inputs: makes the arguments of the small call. `Exercise.most_bytes` of the large one should be at least twice
        `worker.confine.SLACK`, and what an answer must not hold twice as much again.
    rows: which arguments have rows, in their dimension ``dimension``, as the outputs have.
    shares: for each output what its rows are of those of the small call; None for a sum over all rows, of which the
        few say nothing: it is not judged here.
    terms: how many times as many terms the sums of the judged outputs have as those that the floor was set on. Added
        one by one they lose as many times as much: dhidden of 32,768 classes 16 times what 1,024 lose, in a product of
        matrices of MKL on an AMD EPYC.
    """

    inputs: Inputs
    times: int
    rows: tuple[int, ...]
    dimension: int
    shares: tuple[float | None, ...]
    terms: int = 1


CaseOrLarge = TypeVar("CaseOrLarge", Case, Large)


def ordinary(args: Args) -> bool:
    """Returns whether every tensor has elements, some tensor a dimension, and all numbers are finite."""
    tensors = Tree(args).tensors
    alone = bool(tensors) and not any(a.dim() for a in tensors)
    return not alone and not Tree(args).any_empty and all(bool(comparable(a).isfinite().all()) for a in tensors)


@functools.cache
def _signature(oracle: Callable[..., Any]) -> inspect.Signature:
    """The oracle's, kept because each of its cases asks for it."""
    return inspect.signature(oracle)


@dataclass(frozen=True)
class Exercise:
    """A function to write.

    oracle: the function in float64; its parameters are the signature. It returns all `results` and writes nothing.
    outputs: what an answer returns, in order; none where all its results are written.
    writes: names of parameters, tensors that an answer changes in place, as the step of an optimizer does. Their values
        after the call are results, behind those in ``outputs``: compared in the memory that was given, whatever its
        strides, in the dtype that it has. Every other input stays as it was. `wild` and `peer` write in place, too.
    cases: in the order a learner should meet them. The first is where to begin: plain values.
    tolerance: how close is right. An exercise whose outputs are all integers or booleans needs none.
    refused: names of PyTorch operators that are the answer itself (``silu``, ``silu_backward``), matched on ``aten::``.
    allowed: operators a Triton answer may call besides allocation and views (``sum`` for partial sums, say).
    peer: PyTorch's own function of the same signature. Its value at infinity is accepted as well as the limit.
    either: another oracle, of the arguments as they are, whose values are as right: what lies between may be rounded.
    least_bytes: bytes that must move for these arguments: every input read once, every result written once.
    traffic: the ratio to ``least_bytes`` that a Triton answer may reach, or None where it is not graded.
    spills: the bytes that a thread of a Triton answer may spill in the largest case, or None where it is not graded.
    upcast: whether the oracle gets its inputs in float64; not where what is right depends on their dtype.
    gradient_of: an input whose gradient is the last output. The answer returns the one before, attached to the graph,
        and the check takes the gradient of it for `upstream_of`.
    most_bytes: the most memory for these arguments that an answer's tensors may take at once, what it returns included.
    forward: the exercise whose outputs this one takes as saved, where it is a gradient.
    large: a call on which the process of an isolated PyTorch answer is held to ``most_bytes``, too.
    unbiased: whether the mean error of half-precision results is judged, too: a step or a residual stream adds up what
        truncation takes off, half an ulp each time. The cases need some hundreds of such results
        (`judge.checking.bias`).
    about: names of the cases without which an answer is worth little, those of `MEASURED` among them.
    notes: whether a report on a Triton answer that passed says what may be otherwise on a GPU; not on a first kernel.
    """

    upstream_of: ClassVar = staticmethod(Contract.upstream_of)

    name: str
    summary: str
    oracle: Callable[..., Any]
    outputs: tuple[Output, ...]
    cases: tuple[Case, ...]
    hint: str
    tolerance: Tolerance = EXACT
    backends: tuple[str, ...] = ("torch", "triton")
    points: int = 4
    refused: frozenset[str] = frozenset()
    allowed: frozenset[str] = frozenset()
    peer: Callable[..., Any] | None = None
    either: Callable[..., Any] | None = None
    wild: tuple[Bug, ...] = ()
    least_bytes: Callable[..., int] | None = None
    traffic: float | None = None
    spills: int | None = None
    upcast: bool = True
    gradient_of: str = ""
    most_bytes: Callable[..., int] | None = None
    large: Large | None = None
    forward: "Exercise | None" = None
    unbiased: bool = False
    about: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    notes: bool = True

    def __post_init__(self) -> None:
        """Puts arguments that are named into the order of the signature."""
        if isinstance(self.cases, tuple):  # else `validate` says so
            object.__setattr__(self, "cases", tuple(map(self._ordered, self.cases)))
        if self.large:
            object.__setattr__(self, "large", self._ordered(self.large))

    def _ordered(self, call: CaseOrLarge) -> CaseOrLarge:
        inputs = getattr(call, "inputs", None)
        return replace(call, inputs=inputs.bound(self)) if isinstance(inputs, Named) else call

    @property
    def oracle_signature(self) -> inspect.Signature:
        """Its parameters with their defaults."""
        return _signature(self.oracle)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the oracle's parameters, in order."""
        return tuple(self.oracle_signature.parameters)

    def results(self, args: Args) -> tuple[Output, ...]:
        """All that is compared of a call: what an answer returns, then each tensor that it writes in place."""
        return self.outputs + tuple(Output(name, like=name) for name in self.contract.written(args))

    @property
    def contract(self) -> Contract:
        """Returns what a runner may know of it."""
        return Contract(
            self.name,
            self.parameters,
            tuple(output.name for output in self.outputs),
            fewest=len(self.outputs),
            writes=self.writes,
            refused=self.refused,
            allowed=self.allowed,
            gradient_of=self.gradient_of,
            counted=self.most_bytes is not None,
        )

    def named(self, args: Args) -> dict[str, torch.Tensor]:
        """The tensors of the arguments by the names of the parameters: see `Tree.named`."""
        return Tree(args).named(self.parameters)

    def with_cases(self, cases: tuple[Case, ...]) -> "Exercise":
        """The exercise with these cases after its own."""
        return replace(self, cases=self.cases + cases)

    def widened(self, args: Args) -> Args:
        """``args`` as the oracle takes them: floating-point tensors in float64."""
        return Tree(args).map(lambda a: a.double() if self.upcast and a.is_floating_point() else a)

    def dtypes(self, args: Args) -> tuple[torch.dtype, ...]:
        """The dtypes of the right results for ``args``."""
        named = self.named(args)
        return tuple(o.like if isinstance(o.like, torch.dtype) else named[o.like].dtype for o in self.results(args))

    def exact(self, args: Args) -> Args:
        """The right results for ``args``, in float64; integers and booleans as they are."""
        return Tree.of(self.oracle(*self.widened(args))).leaves

    def saved(self, given: Mapping[str, Any]) -> dict[str, torch.Tensor]:
        """Its outputs by name for these arguments, contiguous, in the dtypes that a backward pass takes them in. What
        it does not take is ignored.
        """
        args = {name: given[name] for name in self.parameters if name in given}
        wide = dict(zip(args, self.widened(tuple(args.values())), strict=True))
        values = Tree.of(self.oracle(**wide)).leaves
        dtypes = (o.like if isinstance(o.like, torch.dtype) else args[o.like].dtype for o in self.outputs)
        saved = zip(self.outputs, values, dtypes, strict=True)
        return {output.name: value.to(dtype).contiguous() for output, value, dtype in saved}

    def unwritten(self, args: Args) -> Args | None:
        """Masks of the elements of each result that may hold anything; None where none may."""
        return None

    def floors(self, args: Args, bonus: bool = False, estimate: Floors | None = None) -> Floors:
        """The absolute tolerance of each result for ``args``; that of a distinction where it is for a ``bonus``.
        estimate: as `estimate` makes it, where that is done.
        """
        if estimate is not None:
            return estimate
        floor = self.tolerance.distinction if bonus else self.tolerance.floor
        return Tree(floor(*self.widened(args))).leaves if floor else (0.0,) * len(self.results(args))

    def estimate(self, args: Args) -> Floors | None:
        """Of a tolerance that is estimated, what its formula's many runs give, which is most of its time; None where it
        is no estimate.
        """
        return Exercise.floors(self, args) if self.tolerance.estimated else None

    def category(self, case: Case, args: Args) -> Category:
        """Returns what a case is about: what the record says, or else what its arguments are."""
        if case.name in self.about:
            return Category.POINT
        if case.category:
            return case.category
        tensors = Tree(args).tensors
        if case.raises or case.convention or Tree(args).any_empty:
            return Category.EDGES
        if any(t.dtype in (torch.float16, torch.bfloat16) for t in tensors):
            return Category.DTYPES
        if not all(t.is_contiguous() for t in tensors):
            return Category.LAYOUTS
        return Category.PLAIN if ordinary(args) else Category.EDGES

    def flaw_of_values(self, case: Case, category: Category) -> Flaw:
        """Returns the flaw of wrong values in a case of this category."""
        shipped = case.name in {bug.seen_by for bug in self.wild if isinstance(bug, WildBug)}
        return Flaw.SHIPPED if shipped and category in (Category.POINT, Category.EDGES) else Flaw.VALUES

    @property
    def signature(self) -> str:
        """The call and its results in a line: ``silu_forward(x) -> y``, ``step(param, grad) writes param``."""
        plain = [p.replace(annotation=p.empty) for p in self.oracle_signature.parameters.values()]
        returned = f" -> {', '.join(o.name for o in self.outputs)}" if self.outputs else ""
        written = f" writes {', '.join(self.writes)}" if self.writes else ""
        return f"{self.name}{inspect.Signature(plain)}{','.join(filter(None, (returned, written)))}"


@dataclass(frozen=True)
class Witness:
    """An input to find: ``function()`` returns arguments of ``exercise`` on which ``bug`` is wrong and right code is
    not.

    asked: more than which the bug has to be off by, in the words that the contract of the answer has, too.
    apart: the same in a number, or one for each element, for arguments in float64; None where that is all that the
        tolerance allows. What rounding may cost beside it is in the tolerance, too.
    complaint: says what is wrong with arguments that the exercise's contract calls bad input; "" where they are good.
        It gets tensors, also without elements, of floating-point numbers or, for the names in ``integers``, of int64;
        and for parameters with a default what has the default's type.
    floats: the dtypes that floating-point numbers may have.
    most: elements of all tensors together: what is right is computed in the process that judges, for some functions in
        time that grows as the square of them.
    others: further witnesses that the same function is to give: it is called with the name of an exercise of theirs, or
        of this one, as ``function("rotary")``. A check asks for each, and each is worth as many of the points.
    """

    name: str
    summary: str
    exercise: Exercise
    bug: WildBug
    hint: str
    asked: str = "what rounding in float32 explains"
    apart: Callable[..., torch.Tensor | float] | None = None
    complaint: Callable[..., str] = lambda *args: ""
    integers: frozenset[str] = frozenset()
    floats: tuple[torch.dtype, ...] = (torch.float32, torch.float16, torch.bfloat16)
    points: int = 2
    backends: tuple[str, ...] = ("torch",)
    most: int = 65_536
    others: tuple["Witness", ...] = ()

    @property
    def all(self) -> tuple["Witness", ...]:
        """Each witness that the function is to give."""
        return (replace(self, others=()), *self.others)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the arguments to find, in order."""
        return self.exercise.parameters

    @property
    def fewest(self) -> int:
        """Returns how many arguments there are to find: those that have no default."""
        parameters = self.exercise.oracle_signature.parameters.values()
        return sum(p.default is p.empty for p in parameters)

    @property
    def contract(self) -> Contract:
        """Returns what a runner may know of it: a witness may leave out the arguments that have a default."""
        if not self.others:
            return Contract(self.name, (), self.parameters, self.fewest, witness=True)
        most = max(len(witness.parameters) for witness in self.all)
        names = tuple(f"argument {number}" for number in range(1, most + 1))
        return Contract(self.name, ("block",), names, min(witness.fewest for witness in self.all), witness=True)

    @property
    def signature(self) -> str:
        """The call and its result in a line: ``silu_witness() -> (dy, x)``."""
        if self.others:
            return (
                f"{self.name}(block) -> the arguments of {' or '.join(witness.exercise.name for witness in self.all)}"
            )
        return f"{self.name}() -> ({', '.join(self.parameters)})"
