"""A plan: what an answer did with its tensors, as data: buffers, kernel launches and the operators between them.

    buffers   {"input": i}                            argument number i
              {"dtype": "float32", "elements": n}     memory the answer allocated
              {"bytes": "0000803f", "dtype": ...}     a small constant of the answer
    steps     {"launch": kernel, "grid": [x, y, z], "arguments": {name: value}, "options": {name: number}}
              {"op": "sum", "overload": "dim_IntList", "args": [value], "kwargs": {name: value}, "out": [ref]}
              with null in ``out`` for what the operator changed in place
    outputs   [ref]
    globals   {name: value}: what names of the module stand for that the kernels use, in the form of `compiler.extract`
    tuned     {"of": "3fe2...", "configuration": number, "steps": [first, end]}: the steps of an autotuned launch, which
              of its configurations it runs in, and a hash of all of them

A value is a number, text or null, {"ref": ref}, {"list": [value]}, {"dtype": name} of PyTorch, {"type": name} of
Triton or {"function": name}, a kernel. A ref is a view: {"buffer", "dtype", "shape", "stride", "offset"}; a tensor of
no elements has no buffer.

It is written in a process that runs a learner's code, so it is checked here, in the parent, before it is replayed.
"""

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

from ....gpu import KernelLaunch
from ...call.elements import span
from . import checked
from .buffers import DTYPES

# What of Python's builtins a kernel may call: arithmetic, and what Triton's compiler knows as well.
BUILTINS = (abs, bool, float, int, isinstance, len, max, min, print, range, round, tuple)
STEPS = 4_000
CONSTANT = 256  # bytes
_TRITON_TYPE = re.compile(r"u?int\d{1,2}|float\d{1,2}\w{0,6}|bfloat16|void")
_FREE = {"device", "pin_memory", "layout", "requires_grad", "memory_format"}  # say nothing about values
_DEPTH = 8


class BadPlan(Exception):
    """A plan that cannot be replayed; the message tells the answer's author why."""


def check(plan: Any, inputs: int, ops: Iterable[str], memory: int) -> dict[str, Any]:
    """Returns ``plan`` if it is valid for this many ``inputs``, these ``ops`` and ``memory`` bytes. Raises BadPlan."""
    try:
        return _PlanCheck(plan, inputs, frozenset(ops), memory).plan()
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError) as error:
        raise BadPlan(f"the record of the launches cannot be read ({type(error).__name__}: {error})") from None


def operators(record: dict[str, Any]) -> set[str]:
    """The names of the operators in a plan that is not checked yet."""
    steps = record.get("steps")
    names = (step.get("op") for step in steps if isinstance(step, dict)) if isinstance(steps, list) else ()
    return {name for name in names if isinstance(name, str)}


def sizes(values: list[Any], in_bytes: bool = False) -> Iterator[int]:
    """The number of elements, or of their bytes, of each tensor among the values of a step, also in lists."""
    for value in values:
        if isinstance(value, dict) and "ref" in value:
            ref = value["ref"]
            yield math.prod(ref["shape"]) * (DTYPES[ref["dtype"]].itemsize if in_bytes else 1)
        elif isinstance(value, dict) and "list" in value:
            yield from sizes(value["list"], in_bytes)


class _PlanCheck:
    def __init__(self, plan: Any, inputs: int, ops: frozenset[str], memory: int) -> None:
        self.given, self.inputs, self.ops, self.memory = plan, inputs, ops, memory
        self.buffers: list[dict[str, Any]] = []

    def plan(self) -> dict[str, Any]:
        self.buffers = [self.buffer(item) for item in checked.items(self.given["buffers"])]
        total = sum(b["elements"] * DTYPES[b["dtype"]].itemsize for b in self.buffers if "elements" in b)
        if total > self.memory:
            raise BadPlan(f"the answer allocates {total:,} bytes in one call; {self.memory:,} are allowed")
        steps = checked.items(self.given["steps"])
        if len(steps) > STEPS:
            raise BadPlan(f"the answer takes {len(steps):,} steps in one call; at most {STEPS:,} can be replayed")
        steps = [self.launch(s) if "launch" in s else self.op(s) for s in steps]
        outputs = [self.ref(item) for item in checked.items(self.given["outputs"])]
        values = {checked.name(k): _value(v) for k, v in self.given["globals"].items()}
        tuned = [self.tuned(item, len(steps)) for item in checked.items(self.given["tuned"])]
        return {"buffers": self.buffers, "steps": steps, "outputs": outputs, "globals": values, "tuned": tuned}

    def tuned(self, record: dict[str, Any], steps: int) -> dict[str, Any]:
        first, end = map(checked.count, record["steps"])
        if not first <= end <= steps:
            raise ValueError("an autotuned launch has steps that there are not")
        of = bytes.fromhex(record["of"]).hex()
        return {"of": of[:64], "configuration": checked.count(record["configuration"]), "steps": [first, end]}

    def buffer(self, record: dict[str, Any]) -> dict[str, Any]:
        if "input" in record:
            if record["input"] not in range(self.inputs):
                raise ValueError("no such input")
            return {"input": int(record["input"])}
        dtype = _dtype(record["dtype"])
        if "bytes" in record:
            data = bytes.fromhex(record["bytes"])
            if not 0 < len(data) <= CONSTANT or len(data) % DTYPES[dtype].itemsize:
                raise BadPlan(f"a tensor of {len(data):,} bytes comes from outside of the kernels")
            return {"dtype": dtype, "bytes": data.hex()}
        return {"dtype": dtype, "elements": checked.count(record["elements"])}

    def ref(self, record: dict[str, Any]) -> dict[str, Any]:
        ref: dict[str, Any] = {"dtype": _dtype(record["dtype"])}
        ref |= {key: [checked.count(n) for n in checked.items(record[key])] for key in ("shape", "stride")}
        if len(ref["shape"]) != len(ref["stride"]) or len(ref["shape"]) > 16:
            raise ValueError("a view of another rank than its strides")
        if 0 in ref["shape"]:
            return ref
        if record.get("buffer") not in range(len(self.buffers)):
            raise BadPlan(
                "a tensor was made outside of the kernels: by NumPy, by PyTorch in another thread, or by hand"
            )
        ref |= {"buffer": int(record["buffer"]), "offset": checked.count(record["offset"])}
        buffer = self.buffers[ref["buffer"]]
        if "elements" in buffer:
            end = (ref["offset"] + span(ref["shape"], ref["stride"])) * DTYPES[ref["dtype"]].itemsize
            if end > buffer["elements"] * DTYPES[buffer["dtype"]].itemsize:
                raise ValueError("a view reaches out of its memory")
        return ref

    def launch(self, record: dict[str, Any]) -> dict[str, Any]:
        grid = [checked.count(n) for n in checked.items(record["grid"])]
        if len(grid) != 3:
            raise ValueError("a grid has three dimensions")
        arguments = {checked.name(k): self.value(v) for k, v in record["arguments"].items()}
        options = {checked.name(k): checked.number(v) for k, v in record["options"].items()}
        return {"launch": checked.name(record["launch"]), "grid": grid, "arguments": arguments, "options": options}

    def op(self, record: dict[str, Any]) -> dict[str, Any]:
        name = checked.name(record["op"])
        if name not in self.ops:
            raise BadPlan(f"{name} is PyTorch's arithmetic; this exercise wants it in the kernel")
        args = [self.value(v) for v in checked.items(record["args"])]
        kwargs = {checked.name(k): self.value(v) for k, v in record["kwargs"].items() if k not in _FREE}
        out = [None if item is None else self.ref(item) for item in checked.items(record["out"])]
        return {"op": name, "overload": checked.name(record["overload"]), "args": args, "kwargs": kwargs, "out": out}

    def value(self, given: Any, depth: int = 0) -> Any:
        if not isinstance(given, dict):
            return self.scalar(given)
        [(kind, inner)] = given.items()
        if kind == "ref":
            return {"ref": self.ref(inner)}
        if kind == "list" and depth < _DEPTH:
            return {"list": [self.value(item, depth + 1) for item in checked.items(inner)]}
        return self.scalar(given)

    def scalar(self, given: Any) -> Any:
        if isinstance(given, dict):
            [(kind, inner)] = given.items()
            if kind == "constexpr":
                return {"constexpr": self.scalar(inner)}
            if kind == "dtype":
                return {"dtype": _dtype(inner)}
            if kind == "type" and _TRITON_TYPE.fullmatch(inner):
                return {"type": inner}
            if kind == "function":
                return {"function": checked.name(inner)}
            raise ValueError(f"an argument of unknown kind {kind!r:.40}")
        if given is None or isinstance(given, bool | float):
            return given
        if isinstance(given, str) and len(given) <= 100:
            return given
        return checked.number(given)


def _value(given: Any) -> Any:
    if not KernelLaunch.is_value(given):
        raise ValueError(f"what a name stands for is not a value of a kernel: {given!r:.40}")
    return given


def _dtype(given: Any) -> str:
    if given not in DTYPES:
        raise BadPlan(f"a tensor has dtype {given!r:.40}, which cannot be replayed")
    return str(given)
