"""One launch of a kernel as plain data: what the compiler has to know to compile what the launch would have run."""

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .names import MODULES

_SCALAR = r"(u1|[iu](8|16|32|64)|bf16|fp(16|32|64)|fp8\w{2,6})"
_TYPE = re.compile(rf"\*?k?{_SCALAR}|tensordesc<{_SCALAR}\[\d{{1,7}}(, \d{{1,7}}){{0,4}}\]>")
_ITEM = re.compile(r"(\.\d{1,3}){0,8}")  # of a tuple, behind its name
_SOURCE_LIMIT = 1 << 20
NAME, TEXT = 200, 4_000  # characters of a name, and of a constant that is text
ELEMENTS, DEEP = 1_000, 8  # of a constant that is a tuple, and tuples in tuples
Json = dict[str, Any]  # an object as JSON has it
SEAM = "\n\n# the next file or cell\n"  # between texts joined to one source; lines are counted from the last one


@dataclass(frozen=True)
class KernelLaunch:
    """Holds what was recorded of a launch. `asdict` makes JSON of it, ``KernelLaunch(**loaded)`` reads and checks it
    again.

    kernel: name of the ``@triton.jit`` function.
    source: text of the module where it lives: a file, or the cells of a notebook `joined`.
    signature: parameter -> "*fp32", "*bf16", "i32", "i64", "fp32", "u1", "tensordesc<fp32[16, 16]>", ...; parameters in
        ``constants`` are absent. Of a tuple ``t`` each item has its own, ``t.0``, in all fields.
    constants: values of constexpr parameters, and of parameters that are 1 or None, which Triton makes constants.
        A dtype is ``{"dtype": "fp32"}``, another kernel ``{"function": name}``, a tuple ``{"tuple": [...]}``.
    divisible: parameters whose value, or whose address, is divisible by 16.
    within_2gb: tensors that AMD's buffer instructions can address.
    options: num_warps, num_stages, num_ctas and the like.
    modules: names the kernel uses that stand for Triton's modules, for a source that does not import them itself:
        "tl" -> "triton.language".
    helpers: ``@triton.jit`` functions of other modules: name in the kernel -> [its own name, that module's text].
    values: what other names of its module stood for when the kernel was launched, as `extract` writes values: numbers,
        text and permitted functions of Triton's. They count in place of the expressions that the source binds.
    size: how large it was, the fields of a `sass.roofline.Size`; nothing where that is not known.
    allocates: whether `triton.set_allocator` had been called. Launches that differ in these two alone compile to the
        same code.

    Raises ValueError where a field holds something else: a launch may come from a process that is not trusted.
    """

    kernel: str
    source: str
    signature: Mapping[str, str]
    constants: Mapping[str, object] = field(default_factory=dict)
    divisible: tuple[str, ...] = ()
    within_2gb: tuple[str, ...] = ()
    options: Mapping[str, object] = field(default_factory=dict)
    modules: Mapping[str, str] = field(default_factory=dict)
    helpers: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    values: Mapping[str, object] = field(default_factory=dict)
    size: Mapping[str, Any] = field(default_factory=dict, compare=False)
    allocates: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("divisible", "within_2gb"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        parameters = [*self.signature, *self.constants, *self.divisible, *self.within_2gb]
        names = [self.kernel, *(_parameter(parameter) for parameter in parameters), *self.options]
        names += [*self.modules, *self.values, *self.helpers, *(function for function, _ in self.helpers.values())]
        if not all(isinstance(name, str) and len(name) <= NAME and name.isidentifier() for name in names):
            raise ValueError("a kernel launch names its kernel, parameters and options with Python identifiers")
        texts = [self.source, *(text for _, text in self.helpers.values())]
        if not all(isinstance(text, str) for text in texts) or sum(map(len, texts)) > _SOURCE_LIMIT:
            raise ValueError(f"the source of kernel {self.kernel} is not text of at most {_SOURCE_LIMIT:,} characters")
        for name, kind in self.signature.items():
            if not isinstance(kind, str) or not _TYPE.fullmatch(kind):
                raise ValueError(f"{name} of kernel {self.kernel} has type {kind!r}, which is not one of Triton's")
        if not all(isinstance(m, str) and m.split(".")[0] == "triton" for m in self.modules.values()):
            raise ValueError(f"kernel {self.kernel} names a module that is not one of Triton's")
        for name, value in self.constants.items():
            if not is_constant(value):
                kind = type(value).__name__
                raise ValueError(
                    f"constant {name} of kernel {self.kernel} is not plain data, or too much of it: a {kind}"
                )
        for name, value in self.values.items():
            if not self.is_value(value):
                raise ValueError(f"the module of kernel {self.kernel} binds {name} to what is not a value of a kernel")
        for name, value in self.options.items():
            if not isinstance(value, bool | int) or abs(value) >= 2**64:
                kind = type(value).__name__
                raise ValueError(f"option {name} of kernel {self.kernel} is not a number of 64 bits, but a {kind}")
        if not isinstance(self.allocates, bool):
            raise ValueError(f"whether a launch of kernel {self.kernel} has an allocator is not said by a bool")
        if self.size and not _is_size(self.size):
            raise ValueError(f"the size of a launch of kernel {self.kernel} is not made of numbers")

    @property
    def aligned(self) -> bool:
        """Returns whether every pointer and integer argument is divisible by 16."""
        return not self.unaligned

    @property
    def elements(self) -> int:
        """Returns how many its largest tensor has; 0 where that is not known."""
        return int(self.size.get("elements", 0))

    @property
    def unaligned(self) -> tuple[str, ...]:
        """The names of the pointer and integer arguments that are not divisible by 16."""
        whole = (name for name, kind in self.signature.items() if kind[0] in "*iu" and kind != "u1")
        return tuple(name for name in whole if name not in self.divisible)

    def describe(self) -> str:
        """Returns types, constants and options for people to read, and what keeps loads narrow."""
        parts = self.parts()
        if self.unaligned:
            parts.append(f"not divisible by 16: {' '.join(self.unaligned)}")
        return ", ".join(parts)

    def parts(self) -> list[str]:
        """Returns types, constants and options: ``["x_ptr: *fp16", "BLOCK=1024", "num_warps=4"]``."""
        parts = [f"{name}: {kind}" for name, kind in self.signature.items()]
        parts += [f"{name}={_show(value)}" for name, value in self.constants.items()]
        return parts + [f"{name}={value}" for name, value in self.options.items()]

    def key(self) -> str:
        """Returns a text that is equal for launches that compile to the same code."""
        return self._text(vars(self))

    def form(self) -> str:
        """Returns a text that is equal for launches of one form, which the front end reads alike."""
        return self._text(vars(self) | {"divisible": (), "within_2gb": ()})

    def _text(self, fields: Mapping[str, object]) -> str:
        texts = [self.source, *(text for _, (_, text) in sorted(self.helpers.items()))]
        helpers = {name: function for name, (function, _) in self.helpers.items()}
        rest = {**fields, "source": list(map(len, texts)), "helpers": helpers, "size": None, "allocates": None}
        return json.dumps(rest, sort_keys=True) + "".join(texts)

    @staticmethod
    def joined(texts: Iterable[str]) -> str:
        """The source of several files or cells, of which the last counts for its lines."""
        return SEAM.join(texts)

    @staticmethod
    def is_value(value: object) -> bool:
        """Says whether ``value`` is what a name of a kernel's module may stand for, and no larger than it has to be."""
        if isinstance(value, dict) and "constexpr" in value:
            inner = value["constexpr"]
            return len(value) == 1 and not _is_constexpr(inner) and KernelLaunch.is_value(inner)
        if isinstance(value, dict) and "import" in value:
            module, name = value["import"], value.get("name")
            known = isinstance(module, str) and module in MODULES and isinstance(name, str | None)
            return known and value.keys() <= {"import", "name"} and (name is None or name in MODULES[module])
        return is_constant(value)


def _parameter(name: object) -> object:
    """The parameter of which this is, or is an item."""
    head, dot, rest = name.partition(".") if isinstance(name, str) else (name, "", "")
    return head if _ITEM.fullmatch(dot + rest) else name


def is_constant(value: object) -> bool:
    """Returns whether ``value`` is plain data, and no larger than a kernel's constant has to be."""
    return _elements(value, 0) <= ELEMENTS


def _is_size(size: Mapping[str, Any]) -> bool:
    if size.keys() != {"grid", "numbers", "elements", "bytes"} or not isinstance(size["numbers"], dict):
        return False
    counts = [*size["grid"], size["elements"], size["bytes"]]
    return (
        len(counts) == 5
        and all(_is_number(count) and count >= 0 for count in counts)
        and all(
            isinstance(name, str) and len(name) <= NAME and _is_number(value) for name, value in size["numbers"].items()
        )
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int) and abs(value) < 2**62


def _is_constexpr(value: object) -> bool:
    return isinstance(value, dict) and "constexpr" in value


def _elements(value: object, depth: int) -> float:
    """Returns how many values there are in it, itself included; infinity where one is not plain data."""
    if isinstance(value, dict) and len(value) == 1:
        [(kind, inner)] = value.items()
        if kind == "tuple" and isinstance(inner, list) and depth < DEEP:
            return 1 + sum(_elements(item, depth + 1) for item in inner)
        plain = kind in ("dtype", "function") and isinstance(inner, str) and len(inner) <= NAME and inner.isidentifier()
    elif isinstance(value, str):
        plain = len(value) <= TEXT
    else:
        plain = value is None or isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**64)
    return 1 if plain else math.inf


def _show(value: object) -> str:
    if isinstance(value, dict):
        (inner,) = value.values()
        return f"({', '.join(map(_show, inner))})" if isinstance(inner, list) else inner
    return repr(value)
