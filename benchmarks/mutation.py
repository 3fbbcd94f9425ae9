"""Mutation operators: Python source in, the same source with one small mistake out, for every place and every operator.

    for mutant in mutants(source):
        print(mutant.operator, mutant.line, mutant.old, "->", mutant.new)

They know Python, PyTorch and Triton, and nothing of what a mutant is put to: a check, or a test suite. Annotations,
decorators, docstrings, messages and launch options that change no value (`SILENT`) are left alone.
"""

import ast
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

SILENT = frozenset({"num_warps", "num_stages"})
RELATIONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mod, ast.Mult),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,),
}
FUNCTIONS = {
    "max": ("min", "sum"),
    "min": ("max",),
    "amax": ("amin", "sum"),
    "amin": ("amax",),
    "argmax": ("argmin",),
    "maximum": ("minimum",),
    "minimum": ("maximum",),
    "sum": ("max", "mean"),
    "mean": ("sum",),
    "exp": ("exp2",),
    "exp_": ("exp2_",),
    "exp2": ("exp",),
    "expm1": ("exp",),
    "log": ("log2",),
    "log2": ("log",),
    "log1p": ("log",),
    "sqrt": ("rsqrt",),
    "rsqrt": ("sqrt",),
    "sigmoid": ("tanh",),
    "tanh": ("sigmoid",),
    "floor": ("ceil",),
    "zeros": ("empty", "ones"),
    "zeros_like": ("empty_like", "ones_like"),
    "any": ("all",),
    "all": ("any",),
}
COMMUTATIVE = frozenset({"max", "min", "maximum", "minimum", "promote_types", "logaddexp"})
DTYPES = {
    "float64": ("float32",),
    "float32": ("float16", "bfloat16"),
    "int64": ("int32",),
    "int32": ("int16",),
    "int16": ("int32",),
}
INFINITE = {"-inf": ("inf", -50000.0), "inf": ("-inf", 50000.0), "nan": (0.0,)}
ATOMS = (ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript, ast.Starred, ast.Tuple, ast.List)

Edit = tuple[ast.AST, ast.AST]  # a node and what takes its place
Edits = tuple[Edit, ...]
Draft = tuple[str, Edits, ast.AST]  # an operator, what it changes, and the parent of that


@dataclass(frozen=True)
class Mutant:
    """``source`` is the whole text with ``old``, which begins in ``line`` of it, made ``new``."""

    operator: str
    line: int
    old: str
    new: str
    source: str


@dataclass(frozen=True)
class Site:
    """A node of code, the one that holds it, and the function it stands in, if any."""

    node: ast.AST
    parent: ast.AST
    function: ast.FunctionDef | None

    @property
    def parameters(self) -> list[str]:
        return [one.arg for one in self.function.args.args] if self.function else []

    @property
    def bound(self) -> set[str]:
        """The names that have a value before the statement of this site."""
        names = [n for n in ast.walk(self.function) if isinstance(n, ast.Name)] if self.function else []
        line = getattr(self.node, "lineno", 0)
        return {*self.parameters, *(n.id for n in names if isinstance(n.ctx, ast.Store) and n.lineno < line)}


def mutants(source: str) -> list[Mutant]:
    """All of them, those of one place together, no text twice: where two operators agree, the first one has it."""
    found: dict[str, Mutant] = {}
    for draft in drafts(source):
        if mutant := written(source, draft):
            found.setdefault(mutant.source, mutant)
    return list(found.values())


def drafts(source: str) -> Iterator[Draft]:
    """The edits of every mutant, those of one place together. Cheap: no text is written and parsed."""
    tree = ast.parse(source)
    for site in sites(tree, tree, None):
        for operator in OPERATORS:
            yield from ((operator.__name__, edits, site.parent) for edits in operator(site))


def written(source: str, draft: Draft) -> Mutant | None:
    """The mutant of these edits; None where it is the same text, or no Python."""
    mutant = _written(source, *draft)
    return mutant if mutant.source != source and _is_python(mutant.source) else None


def sites(node: ast.AST, parent: ast.AST, function: ast.FunctionDef | None) -> Iterator[Site]:
    """The node and all below it that are code."""
    if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Raise) or _is_text(node):
        return
    if isinstance(node, ast.keyword) and node.arg in SILENT:
        return
    yield Site(node, parent, function)
    inner = node if isinstance(node, ast.FunctionDef) else function
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns", "decorator_list", "type_params"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from sites(child, node, inner)


def _is_text(node: ast.AST) -> bool:
    """A docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _written(source: str, operator: str, edits: Edits, parent: ast.AST) -> Mutant:
    """The text with the edits made, from the last to the first, so that positions stay. Positions are in bytes."""
    text = source.encode()
    starts = [0, *itertools.accumulate(len(line) for line in text.splitlines(keepends=True))]
    spans = []
    for old, new in edits:
        first = starts[old.lineno - 1] + old.col_offset
        last = starts[old.end_lineno - 1] + old.end_col_offset
        spans.append((first, last, _parenthesised(old, new, parent)))
    spans.sort()
    mutated = text
    for first, last, new in reversed(spans):
        mutated = mutated[:first] + new.encode() + mutated[last:]
    old = " ... ".join(text[first:last].decode() for first, last, _ in spans)
    line = text[: spans[0][0]].count(b"\n") + 1
    return Mutant(operator, line, old, " ... ".join(new for *_, new in spans), mutated.decode())


def _parenthesised(old: ast.AST, new: ast.AST, parent: ast.AST) -> str:
    """The new node's text; in parentheses where an operator around it could tear it apart."""
    text = ast.unparse(new)
    loose = isinstance(new, ast.expr) and not isinstance(new, ATOMS)
    operators = ast.BinOp | ast.UnaryOp | ast.BoolOp | ast.Compare | ast.IfExp | ast.Attribute | ast.Starred
    inside = isinstance(parent, operators) or getattr(parent, "func", None) is old or _is_subscripted(parent, old)
    return f"({text})" if loose and inside else text


def _is_subscripted(parent: ast.AST, node: ast.AST) -> bool:
    return isinstance(parent, ast.Subscript) and parent.value is node


def _is_python(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


def _called(node: ast.AST) -> str:
    """The last word of what is called: ``where`` of ``tl.where(...)``; "" for anything but a call by name."""
    function = node.func if isinstance(node, ast.Call) else None
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _of_module(node: ast.Call) -> bool:
    """Whether a function of a module is called, not a method of a value."""
    return not isinstance(node.func, ast.Attribute) or ast.unparse(node.func.value) in ("tl", "torch", "math", "triton")


def _changed(call: ast.Call, **fields: object) -> ast.Call:
    """The call with another ``func``, ``args`` or ``keywords``."""
    return ast.Call(**{"func": call.func, "args": call.args, "keywords": call.keywords} | fields)


def _without(call: ast.Call, name: str, instead: ast.expr | None = None) -> ast.Call:
    """The call without this keyword, or with this value of it."""
    left = [k for k in call.keywords if k.arg != name]
    return _changed(call, keywords=left if instead is None else [*left, ast.keyword(name, instead)])


def _is_zero(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def return_order(site: Site) -> Iterator[Edits]:
    """Two of the values that are returned change places."""
    value = site.node.value if isinstance(site.node, ast.Return) else None
    if isinstance(value, ast.Tuple):
        yield from _neighbours_swapped(value.elts)


def _neighbours_swapped(nodes: list[ast.expr]) -> Iterator[Edits]:
    for one, other in itertools.pairwise(nodes):
        if ast.dump(one) != ast.dump(other):
            yield (one, other), (other, one)


def defaults(site: Site) -> Iterator[Edits]:
    """A default value with another sign, or ten times as large."""
    if not isinstance(site.node, ast.arguments):
        return
    for node in [*site.node.defaults, *filter(None, site.node.kw_defaults)]:
        value = node.operand if isinstance(node, ast.UnaryOp) else node
        if isinstance(value, ast.Constant) and type(value.value) in (int, float):
            yield ((node, value if node is not value else ast.UnaryOp(ast.USub(), value)),)
            yield ((value, ast.Constant(value.value * 10)),)


def other(site: Site) -> Iterator[Edits]:
    """What masked-off lanes hold is left open, or another number."""
    for keyword in getattr(site.node, "keywords", ()):
        if keyword.arg == "other":
            yield ((site.node, _without(site.node, "other")),)
            yield ((keyword.value, ast.Constant(1.0 if _is_zero(keyword.value) else 0.0)),)


def masks(site: Site) -> Iterator[Edits]:
    """A mask dropped, negated, joined by the other word, or half of it; a choice between two values made for good."""
    node = site.node
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr):
        joined = ast.BitOr() if isinstance(node.op, ast.BitAnd) else ast.BitAnd()
        yield from (((node, one),) for one in (ast.BinOp(node.left, joined, node.right), node.left, node.right))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        yield ((node, node.operand),)
    for keyword in getattr(node, "keywords", ()):
        if keyword.arg == "mask":
            left = [k for k in node.keywords if k.arg not in ("mask", "other")]
            yield ((node, _changed(node, keywords=left)),)
            yield ((keyword.value, ast.UnaryOp(ast.Invert(), keyword.value)),)
    if _called(node) == "where" and _of_module(node) and len(node.args) == 3:
        yield from (((node, one),) for one in node.args[1:])
    if _called(node) in ("where", "masked_fill", "masked_fill_") and not _of_module(node):
        yield ((node, node.func.value),)


def casts(site: Site) -> Iterator[Edits]:
    """A conversion left out."""
    node = site.node
    if _called(node) in ("to", "float", "double", "long", "int", "bool", "half") and isinstance(
        node.func, ast.Attribute
    ):
        yield ((node, node.func.value),)
    if (
        _called(node) in ("float", "int")
        and isinstance(node.func, ast.Name)
        and not isinstance(node.args[0], ast.Constant)
    ):
        yield ((node, node.args[0]),)


def strides(site: Site) -> Iterator[Edits]:
    """``contiguous()`` left out, another axis's stride, or a stride of 1; of a parameter so called, its neighbour's."""
    node = site.node
    if _called(node) == "contiguous":
        yield ((node, node.func.value),)
    if _called(node) == "stride" and len(node.args) == 1 and isinstance(node.args[0], ast.Constant):
        axis = node.args[0].value
        yield ((node, _changed(node, args=[ast.Constant(axis - 1 if axis > 0 else axis + 1)])),)
        yield ((node, ast.Constant(1)),)
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in site.parameters:
        names = [name for name in site.parameters if _is_stride(name)]
        if node.id in names:
            yield ((node, ast.Constant(1)),)
            yield ((node, ast.Name(names[names.index(node.id) - 1], ast.Load())),)


def _is_stride(name: str) -> bool:
    """``stride_m`` and ``row_stride``, and ``q_b``, ``a_row``: a tensor's name and its axis's."""
    tensor, _, axis = name.rpartition("_")
    return "stride" in name or (len(tensor) in (1, 2) and (len(axis) == 1 or axis in ("row", "col")))


def bounds(site: Site) -> Iterator[Edits]:
    """A range or a grid that ends early or starts late; a division that does not round up."""
    node = site.node
    if _called(node) == "range":
        stop = node.args[0] if len(node.args) == 1 else node.args[1]
        step = node.args[2] if len(node.args) == 3 else ast.Constant(1)
        yield ((stop, ast.BinOp(stop, ast.Sub(), step)),)
        if len(node.args) > 1:
            yield ((node.args[0], ast.BinOp(node.args[0], ast.Add(), step)),)
    if _called(node) == "arange":
        yield ((node, ast.BinOp(node, ast.Add(), ast.Constant(1))),)
    if _called(node) == "cdiv":
        yield ((node, ast.BinOp(node.args[0], ast.FloorDiv(), node.args[1])),)
    grid = node.func.slice if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript) else None
    if isinstance(grid, ast.Tuple):
        for size in grid.elts:
            yield ((size, ast.Constant(1)),)
            yield ((size, ast.BinOp(size, ast.Sub(), ast.Constant(1))),)


def dtypes(site: Site) -> Iterator[Edits]:
    """Another dtype: half as wide, or float32 for that of an input."""
    node = site.node
    if isinstance(node, ast.Attribute):
        for name in DTYPES.get(node.attr, ()):
            yield ((node, ast.Attribute(node.value, name, ast.Load())),)
        if node.attr == "dtype" and not isinstance(site.parent, ast.Attribute):
            yield ((node, ast.Attribute(ast.Name("torch", ast.Load()), "float32", ast.Load())),)
    if _called(node) == "promote_types":
        yield from (((node, one),) for one in node.args)


def flags(site: Site) -> Iterator[Edits]:
    """True for False; the precision of a product."""
    node = site.node
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ((node, ast.Constant(not node.value)),)
    if isinstance(node, ast.Constant) and node.value == "ieee":
        yield ((node, ast.Constant("tf32")),)


def functions(site: Site) -> Iterator[Edits]:
    """Another function of the same kind; an absolute value or a bound left out; memory that nobody wrote."""
    node = site.node
    for name in FUNCTIONS.get(_called(node), ()):
        function = node.func
        named = ast.Attribute(function.value, name) if isinstance(function, ast.Attribute) else ast.Name(name)
        yield ((node, _changed(node, func=named)),)
    if _called(node) == "abs":
        yield ((node, node.args[0] if node.args else node.func.value),)
    if _called(node) in ("maximum", "minimum", "max", "min") and len(node.args) == 2:
        yield from (((node, one),) for one in node.args if isinstance(one, ast.expr))


def arguments(site: Site) -> Iterator[Edits]:
    """Two arguments of a call change places."""
    if isinstance(site.node, ast.Call) and _called(site.node) not in COMMUTATIVE:
        yield from _neighbours_swapped(site.node.args)


def conditions(site: Site) -> Iterator[Edits]:
    """A branch that is always taken, or never; ``or`` for ``and``."""
    node = site.node
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        yield from (((node.test, ast.Constant(value)),) for value in (True, False))
    if isinstance(node, ast.BoolOp):
        joined = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield ((node, ast.BoolOp(joined, node.values)),)


def relations(site: Site) -> Iterator[Edits]:
    """``<=`` or ``>`` for ``<``, and so on."""
    if isinstance(site.node, ast.Compare):
        ops = site.node.ops
        for at, op in enumerate(ops):
            for new in RELATIONS[type(op)]:
                changed = [*ops[:at], new(), *ops[at + 1 :]]
                yield ((site.node, ast.Compare(site.node.left, changed, site.node.comparators)),)


def arithmetic(site: Site) -> Iterator[Edits]:
    """``-`` for ``+``, and so on."""
    node = site.node
    if isinstance(node, ast.BinOp | ast.AugAssign):
        for new in ARITHMETIC.get(type(node.op), ()):
            if isinstance(node, ast.BinOp):
                yield ((node, ast.BinOp(node.left, new(), node.right)),)
            else:
                yield ((node, ast.AugAssign(node.target, new(), node.value)),)


def operands(site: Site) -> Iterator[Edits]:
    """One side of an operation alone."""
    node = site.node
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        yield ((node, node.left),)
        yield ((node, node.right),)


def constants(site: Site) -> Iterator[Edits]:
    """Another number: by 1, by a hundredth, by a hundred thousandth, 0; another infinity, or a number for it."""
    node = site.node
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield from (((node, ast.Constant(n)),) for n in (node.value + 1, node.value - 1, 0))
    if isinstance(node, ast.Constant) and type(node.value) is float:
        values = (1.0,) if node.value == 0 else (node.value * 1.01, node.value * 1.00001, 0.0)
        yield from (((node, ast.Constant(value)),) for value in values)
    if _called(node) == "float" and node.args and isinstance(node.args[0], ast.Constant):
        for value in INFINITE.get(node.args[0].value, ()):
            new = _changed(node, args=[ast.Constant(value)]) if isinstance(value, str) else ast.Constant(value)
            yield ((node, new),)
    if isinstance(node, ast.Attribute) and node.attr == "inf":
        yield ((node, ast.Constant(50000.0)),)


def signs(site: Site) -> Iterator[Edits]:
    """A minus or a ``not`` left out."""
    if isinstance(site.node, ast.UnaryOp) and isinstance(site.node.op, ast.USub | ast.Not):
        yield ((site.node, site.node.operand),)


def statements(site: Site) -> Iterator[Edits]:
    """A statement left out: a call, an early return, or a new value of a name that has one."""
    node = site.node
    dropped = isinstance(node, ast.Expr | ast.AugAssign | ast.Continue | ast.Break)
    if isinstance(node, ast.Return):
        dropped = isinstance(site.parent, ast.If | ast.For | ast.While)
    if isinstance(node, ast.Assign):
        stored = [
            n for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        ]
        dropped = {n.id for n in stored} <= site.bound and site.function is not None
    if dropped:
        yield ((node, ast.Pass()),)


Operator = Callable[[Site], Iterator[Edits]]
OPERATORS: tuple[Operator, ...] = (
    return_order,
    defaults,
    other,
    masks,
    casts,
    strides,
    bounds,
    dtypes,
    flags,
    functions,
    arguments,
    conditions,
    relations,
    arithmetic,
    operands,
    constants,
    signs,
    statements,
)
