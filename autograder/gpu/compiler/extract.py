"""Cuts a kernel and what it needs out of a learner's file, so that the file itself is never run.

The result travels to the worker as JSON:

    functions   name -> Function: the text of a ``@triton.jit`` function from its ``def`` on, without decorators
    values      name -> what the functions refer to by that name:
        3, 1.5, "x", None, True                    a plain module-level value
        {"constexpr": 3}                           tl.constexpr(3)
        {"import": "triton.language"}              a module of Triton's language, or ``math``
        {"import": "triton.language", "name": "exp"}, or a member, "PropagateNan.ALL"
        {"any": [value, ...]}                      the first that can be imported
        {"floats": {"pi": 3.14}}                   numpy or torch, of which a kernel can use the constants
        {"function": name, "of": extract}          a jit function of another module
        {"opaque": true}                           a list, a dictionary: there, and of no use to a kernel

What was recorded of the launch (`KernelLaunch.values`) comes before what the text says: a name may be bound in ways
that nobody can read without running them.

A compiler that meets a call evaluates Python: ``tl.core.inspect.os.system("...")`` in a kernel would run. So a kernel
reaches nothing but Triton's language: private attributes and computed ``getattr`` are refused here, and the worker
follows every dotted name and refuses those that leave ``triton.language`` (`name_check`).
"""

import ast
import builtins
import functools
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from .bindings import Bound, BoundNames, Import, RefusedKernel, bindings
from .constants import Evaluator, Unknown
from .kernel_launch import Json, KernelLaunch

ADVICE = "paste the function into your answer, or name the folder where imports of your own package begin, with --root"
HELPERS = 32  # functions of other modules that a launch may need, counted at every place that names one
_OPTIONS = ("noinline", "debug", "do_not_specialize", "do_not_specialize_on_alignment")
_PYTHON = frozenset(dir(builtins))
_DEFAULT = ast.Constant | ast.Name | ast.Attribute | ast.UnaryOp | ast.unaryop | ast.Load  # of a parameter
_USELESS = ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.JoinedStr | ast.Lambda  # to a kernel


@dataclass(frozen=True)
class FunctionText:
    """line: where ``def`` stands in the source. options: as given to ``@triton.jit``."""

    text: str
    line: int
    options: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Extract:
    """Holds what was cut out of a source: see the module's docstring."""

    functions: dict[str, FunctionText]
    values: dict[str, object]

    def content(self) -> Json:
        """Returns plain data, equal for kernels that compile to the same code: line numbers are left out."""
        content = asdict(self)
        for function in content["functions"].values():
            del function["line"]
        return content


def extract(launch: KernelLaunch) -> Extract:
    """Returns the launch's kernel, the functions that are passed to it as constants, and what they use, cut out.

    Raises Refused where a kernel uses what a GPU cannot have, or what is not in the source. All of it may have been
    written to take for ever, the launch as well: every name is looked up once, and what can multiply is counted.
    """
    passed = [v["function"] for v in launch.constants.values() if isinstance(v, dict) and "function" in v]
    return _Extractor(launch.source, launch, launch.values, []).run(launch.kernel, *passed)


@functools.lru_cache(maxsize=2)  # 5 % of a check of attention_backward, which reads one source for 51 launches
def _bindings(source: str) -> BoundNames:
    """The names that the top level of ``source`` binds (`bindings`). Raises Refused where it cannot be read."""
    try:
        return bindings(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise RefusedKernel("not-run", f"the source cannot be read: {error}") from error


@functools.lru_cache(maxsize=64)  # 6 % of a check of layer_norm_backward, which reads a function for 38 launches
def _read(node: ast.FunctionDef) -> tuple[set[str], list[ast.Name], dict[ast.Name, str]]:
    """Names that the function binds, names that it looks up, and the attributes that it takes of these. Refuses what is
    private.
    """
    local = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
    local |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    parts = [n for child in (node.args, *node.body) for n in ast.walk(child)]
    for part in parts:
        _check_attributes(part)
    attributes = {n.value: n.attr for n in parts if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)}
    return local, [n for n in parts if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)], attributes


class _Extractor:
    """given: what names of this module stand for. helpers: names of the functions of other modules that have been cut
    out so far, for all modules together.
    """

    def __init__(self, source: str, launch: KernelLaunch, constants: Mapping[str, object], helpers: list[str]):
        self.names = dict(_bindings(source))
        for name, module in launch.modules.items():
            if name not in self.names or _elsewhere(self.names[name][0]):
                self.names[name] = [Import(module)]
        self.lines = source_lines(source)
        self.evaluate = Evaluator(self.names)
        self.launch, self.given, self.helpers = launch, constants, helpers
        self._found: dict[str, ast.FunctionDef | None] = {}
        self.functions: dict[str, FunctionText] = {}
        self.values: dict[str, object] = {}

    def run(self, *roots: str) -> Extract:
        queue = list(roots)
        while queue:
            name = queue.pop()
            if name in self.functions:
                continue
            node = self._jit_function(name) or (self._launched(name) if name in roots else None)
            if node is None:
                raise RefusedKernel("not-run", self._missing(name))
            self.functions[name] = self._function(node)
            queue += self._uses(node)
        return Extract(dict(sorted(self.functions.items())), dict(sorted(self.values.items())))

    def _missing(self, name: str) -> str:
        imports = [choices[0] for choices in self.names.values() if isinstance(choices[0], Import)]
        imported = next((binding for binding in imports if binding.name == name and not binding.in_triton), None)
        if imported:
            return f"{name} is imported from {imported.module}: {ADVICE}"
        if self.lines == [""]:
            return f"{name} was made without source text (by `exec`), and there is nothing to compile"
        return f"{name} is not a @triton.jit function at the top level of the source"

    def _launched(self, name: str) -> ast.FunctionDef | None:
        """A function without a decorator that was launched: a kernel made by `triton.jit(...)` of it, which may have
        its name.
        """
        nodes = [node for node in self.names.get(name, ()) if isinstance(node, ast.FunctionDef)]
        return nodes[-1] if nodes and not nodes[-1].decorator_list else None

    def _jit_function(self, name: str) -> ast.FunctionDef | None:
        if name not in self._found:
            node = self.names.get(name, [None])[0]
            self._found[name] = node if isinstance(node, ast.FunctionDef) and self._jit(node) is not None else None
        return self._found[name]

    def _jit(self, node: ast.FunctionDef, maker: str = "jit") -> ast.expr | None:
        """The decorator of Triton's that is called so."""
        for decorator in node.decorator_list:
            path = self.evaluate.path(decorator.func if isinstance(decorator, ast.Call) else decorator) or ""
            if path == maker or (path.startswith("triton.") and path.endswith(f".{maker}")):
                return decorator
        return None

    def _function(self, node: ast.FunctionDef) -> FunctionText:
        arguments = node.args
        for default in [*arguments.defaults, *(d for d in arguments.kw_defaults if d is not None)]:
            if not all(isinstance(part, _DEFAULT) for part in ast.walk(default)):
                message = "the default value of a kernel's parameter is computed; write a constant"
                raise RefusedKernel("not-run", message, default.lineno)
        decorator = self._jit(node)
        keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
        options = {k.arg: _option(k.value) for k in keywords if k.arg in _OPTIONS}
        block = self.lines[node.lineno - 1 : node.end_lineno]
        text = "\n".join(line[node.col_offset :] if not line[: node.col_offset].strip() else line for line in block)
        return FunctionText(text, node.lineno, options)

    def _uses(self, node: ast.FunctionDef) -> list[str]:
        """Check every name and attribute of a function; fill ``values``; return the functions it calls."""
        local, names, attributes = _read(node)
        called = []
        for name in names:
            if self._jit_function(name.id) is not None:
                called.append(name.id)
            elif name.id not in local or self._reaches_triton(name.id):
                self._bind(name, attributes.get(name))
        return called

    def _reaches_triton(self, name: str) -> bool:
        """Such a name is there even where a local one hides it: the worker has to see it."""
        if isinstance(self.given.get(name), dict):
            return True
        bound = self.names.get(name, [None])[0]
        return isinstance(bound, Import) and (bound.in_triton or bound.module == "math")

    def _bind(self, node: ast.Name, attribute: str | None) -> None:
        name, choices = node.id, self.names.get(node.id)
        if name in self.values and not _of_floats(self.values[name]):
            return
        if name in self.given:
            self.values[name] = self.given[name]
        elif choices is None:
            if name not in _PYTHON:  # the compiler has its own words for Python's builtins
                raise RefusedKernel("not-run", f"the source does not define {name}", node.lineno)
        elif isinstance(choices[0], Import):
            self.values[name] = self._imported(node, [c for c in choices if isinstance(c, Import)], attribute)
        elif isinstance(choices[0], ast.expr):
            self.values[name] = self._evaluated(node, choices[0])
        elif isinstance(choices[0], ast.FunctionDef) and self._jit(choices[0], "constexpr_function"):
            message = f"{name} is a @triton.constexpr_function: the compiler would run it as Python"
            raise RefusedKernel("not-run", message, node.lineno)
        else:
            what = "class" if isinstance(choices[0], ast.ClassDef) else "function without @triton.jit"
            # Triton looks for functions in all of a kernel, whether or not they are reached. A decorator may make
            # something else of one.
            known = isinstance(choices[0], ast.FunctionDef) and not choices[0].decorator_list and len(choices) == 1
            raise RefusedKernel("fail", f"{name} is a Python {what}: a GPU cannot call it", node.lineno, known)

    def _imported(self, node: ast.Name, choices: list[Import], attribute: str | None) -> object:
        name, first = node.id, choices[0]
        allowed = [c for c in choices if c.in_triton or c.module == "math"]
        if allowed:
            values = [{"import": c.module, "name": c.name} if c.name else {"import": c.module} for c in allowed]
            return values[0] if len(values) == 1 else {"any": values}
        if name in self.launch.helpers:
            return self._helper(node)
        shown = first.path + (f".{attribute}" if attribute else "")
        try:
            value = self.evaluate.float_of(shown)
        except Unknown:
            if first.name and first.module.partition(".")[0] not in ("numpy", "torch"):
                message = f"{name} is imported from {first.module}: {ADVICE}"
                raise RefusedKernel("not-run", message, node.lineno) from None
            message = f"{shown} is Python for the CPU: a kernel can use triton.language and other @triton.jit functions"
            raise RefusedKernel("fail", message, node.lineno) from None
        if first.name:
            return value
        held = self.values.get(name)
        floats = held.get("floats", {}) if isinstance(held, dict) else {}
        return {"floats": {**floats, attribute: value}}

    def _helper(self, node: ast.Name) -> Json:
        """Returns what a function of another module needs; where it is refused, the line is that of ``node``, its use
        here.
        """
        self.helpers.append(node.id)
        if len(self.helpers) > HELPERS:
            raise RefusedKernel("not-run", f"the kernel needs more than {HELPERS} helpers of other modules")
        function, source = self.launch.helpers[node.id]
        try:
            extracted = _Extractor(source, self.launch, {}, self.helpers).run(function)
        except RefusedKernel as refused:
            raise RefusedKernel(refused.status, refused.message, node.lineno, refused.known) from None
        return {"function": function, "of": extracted.content()}

    def _evaluated(self, node: ast.Name, expression: ast.expr) -> object:
        try:
            return self.evaluate.value(expression)
        except Unknown:
            if isinstance(expression, _USELESS):
                return {"opaque": True}
            message = f"{node.id} is computed when the file runs; the compiler report reads constants only"
            raise RefusedKernel("not-run", message, node.lineno) from None


def _of_floats(value: object) -> bool:
    return isinstance(value, dict) and "floats" in value


def _option(node: ast.expr) -> object:
    """The value of a literal: true, false, or names and numbers of parameters."""
    match node:
        case ast.Constant(value=bool() | int() | str() | None as value):
            return value
        case ast.List(elts=items) | ast.Tuple(elts=items) if all(isinstance(i, ast.Constant) for i in items):
            return [_option(item) for item in items]
    raise RefusedKernel("not-run", "an option of @triton.jit is computed; write it out", node.lineno)


def _elsewhere(bound: Bound) -> bool:
    """Returns whether it is bound by an import from outside of Triton, such as that of a module which re-exports it."""
    return isinstance(bound, Import) and not bound.in_triton


def _check_attributes(node: ast.AST) -> None:
    if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
        raise RefusedKernel(
            "not-run", f"{node.attr} is private: only Triton's public language is compiled here", node.lineno
        )
    if isinstance(node, ast.Name) and node.id in ("getattr", "hasattr"):
        raise RefusedKernel(
            "not-run", f"{node.id} reaches past Triton's language: write the attribute's name", node.lineno
        )


def source_lines(source: str) -> list[str]:
    """Returns the lines as Python counts them; str.splitlines also breaks at form feeds and other separators."""
    return source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
