"""The kernels of an answer without the rest of it: its ``@triton.jit`` functions and their constants, extracted from
the text.

The interpreter runs a kernel as Python, and Python can do anything. What is extracted here is restricted to what a
kernel can do: arithmetic, loops, and the public names of Triton's language (`compiler.extract`, `compiler.name_check`
check the names).
"""

import ast
import builtins
import functools
import json
from dataclasses import asdict
from typing import Any

from ...gpu import KernelLaunch, RefusedKernel, extract
from .sources import Sources
from .wire.plan import BUILTINS, BadPlan

_STATEMENTS = (
    ast.Assign,
    ast.AugAssign,
    ast.AnnAssign,
    ast.Expr,
    ast.Return,
    ast.Pass,
    ast.Break,
    ast.Continue,
    ast.Assert,
) + (ast.For, ast.While, ast.If, ast.arguments, ast.arg, ast.keyword)
_EXPRESSIONS = (
    (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.Attribute, ast.Subscript, ast.Slice)
    + (ast.Name, ast.Constant, ast.Tuple, ast.List, ast.Starred, ast.JoinedStr, ast.FormattedValue)
    + (ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context)
)
_PYTHON = frozenset(dir(builtins)) - {function.__name__ for function in BUILTINS}
_SYNTAX_NAMES = {ast.ListComp: "list comprehension", ast.Import: "import", ast.ImportFrom: "import", ast.Try: "try"}


def cut_out(sources: Sources, plan: dict[str, Any]) -> dict[str, Any]:
    """The launches of a checked plan, for `replay`: the functions, the values of the names they use, and under
    ``more`` the same of other modules. Raises BadPlan.
    """
    launched = [step for step in plan["steps"] if "launch" in step]
    passed = [v["function"] for step in launched for v in step["arguments"].values() if _is_function(v)]
    texts: dict[str, list[str]] = {}  # the kernels that each defines
    for name in dict.fromkeys([step["launch"] for step in launched] + passed):
        texts.setdefault(sources.text_with(name), []).append(name)
    surroundings = json.dumps([sources.helpers, plan["globals"]])
    parts = [_cut_out(text, tuple(names), surroundings) for text, names in texts.items()]
    first, *more = parts or [{"functions": {}, "values": {}}]
    return first | {"more": more}


@functools.lru_cache(maxsize=16)  # 2 to 9 % of a check: an answer launches the same kernels in most cases
def _cut_out(text: str, names: tuple[str, ...], given: str) -> dict[str, Any]:
    """given: the helpers of `Sources` and the values of globals, as JSON."""
    helpers, values = json.loads(given)
    first, *others = names
    constants = {f"function_{i}": {"function": name} for i, name in enumerate(others)}
    try:
        extracted = extract(KernelLaunch(first, text, {}, constants, modules=_MODULES, values=values, helpers=helpers))
    except RefusedKernel as refused:
        where = f", line {refused.line}" if refused.line else ""
        raise BadPlan(f"{first}{where}: {refused.message}") from None
    except (ValueError, RecursionError) as error:
        raise BadPlan(f"{first}: {error}") from None
    cut = {"functions": {k: asdict(f) for k, f in extracted.functions.items()}, "values": extracted.values}
    _check_all(cut)
    return cut


def _check_all(cut: dict[str, Any]) -> None:
    """Every function, those of helpers' modules, too."""
    for name, function in cut["functions"].items():
        _check(name, function["text"], function.get("line", 1), frozenset(cut["values"]))
    for value in cut["values"].values():
        if isinstance(value, dict) and "of" in value:
            _check_all(value["of"])


_MODULES = {"tl": "triton.language", "triton": "triton"}


def _is_function(value: object) -> bool:
    return isinstance(value, dict) and "function" in value


def _check(name: str, text: str, line: int, bound: frozenset[str]) -> None:
    """Raises BadPlan where a kernel contains Python that is not Triton. bound: the module's names."""
    function = ast.parse(text).body[0]
    assert isinstance(function, ast.FunctionDef)  # that is what was cut out
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    local_names = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    local_names |= {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    python = {node for node in names if node.id in _PYTHON and node.id not in local_names and node.id not in bound}
    for node in ast.walk(function):
        if node is function or (isinstance(node, _STATEMENTS + _EXPRESSIONS) and node not in python):
            continue
        what = node.id if node in python else _SYNTAX_NAMES.get(type(node), type(node).__name__)
        at = line + getattr(node, "lineno", 1) - 1
        raise BadPlan(f"{name}, line {at}: {what} is Python, not Triton; a GPU does not compile it")
