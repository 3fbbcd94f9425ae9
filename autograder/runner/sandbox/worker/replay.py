"""Replays a plan in a process that contains an answer's kernels and nothing else of it."""

import linecache
from collections.abc import Iterator
from typing import Any

import torch
import triton
import triton.language as tl

from ....gpu import bound, place
from ...call.borrowed import is_view
from ...call.elements import span
from ...call.tree import Tree
from ..wire.buffers import DTYPES
from ..wire.plan import BUILTINS

_FILE = "<kernels>"


class Kernels:
    """The functions of `kernels.cut_out`, made callable. Raises `compiler.name_check.Refusal` for a name that is not in
    Triton's language.
    """

    def __init__(self, cut_out: dict[str, Any]):
        functions = cut_out["functions"]
        text = _at_their_lines(functions)
        file = _FILE if _FILE not in linecache.cache else f"<kernels {len(linecache.cache)}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        builtins = {f.__name__: f for f in (*BUILTINS, AssertionError)}
        self.names = bound(cut_out, text, file, builtins, lambda of, name: Kernels(of).names[name])
        for name in functions:
            self.names[name] = triton.jit(self.names[name], **functions[name]["options"])
        for module in cut_out.get("more", []):
            kernels = Kernels(module).names
            self.names |= {name: kernels[name] for name in module["functions"]}

    def launch(self, name: str, grid: list[int], arguments: dict[str, Any]) -> None:
        """Launches the kernel of this name."""
        self.names[name][tuple(grid)](**arguments)


def forget() -> None:
    """Drops the lines of all `Kernels` so far, none of which is called again."""
    for file in [name for name in linecache.cache if name.startswith(_FILE[:-1])]:
        del linecache.cache[file]


def _at_their_lines(functions: dict[str, Any]) -> str:
    """One text with every function where it stood in the answer, so that messages name the answer's lines."""
    text, line = "", 1
    for function in sorted(functions.values(), key=lambda f: f.get("line", 1)):
        text += "\n" * max(0, function.get("line", 1) - line) + function["text"] + "\n"
        line = text.count("\n") + 1
    return text


class Player:
    """A checked plan as a function of the arguments it was recorded with, for other numbers. Each buffer is held from
    its first use to its last. gpu: whether its buffers lie on a simulated GPU.
    """

    def __init__(self, plan: dict[str, Any], kernels: Kernels, gpu: bool = False):
        self.plan, self.kernels, self.gpu = plan, kernels, gpu
        used = {number: step for step, what in enumerate(plan["steps"]) for number in _buffers(what)}
        used |= dict.fromkeys(_buffers(plan["outputs"]), len(plan["steps"]))
        self.done = [[number for number, last in used.items() if last == step] for step in range(len(plan["steps"]))]

    def __call__(self, *args: Any) -> Any:
        self.inputs = Tree(args).tensors
        self.memory: dict[int, torch.Tensor] = {}
        for step, done in zip(self.plan["steps"], self.done, strict=True):
            if "launch" in step:
                arguments = {name: self._value(v, kernel=True) for name, v in step["arguments"].items()}
                self.kernels.launch(step["launch"], step["grid"], arguments | step["options"])
                del arguments
            else:
                self._operator(step)
            for number in done:
                self.memory.pop(number, None)
        outputs = tuple(self._view(ref) for ref in self.plan["outputs"])
        return outputs[0] if len(outputs) == 1 else outputs

    def _operator(self, step: dict[str, Any]) -> None:
        function = getattr(getattr(torch.ops.aten, step["op"]), step["overload"])
        kwargs = {name: self._value(v) for name, v in step["kwargs"].items()}
        result = function(*(self._value(v) for v in step["args"]), **kwargs)
        results = Tree.of(result).tensors
        for ref, tensor in zip(step["out"], results, strict=True):
            if ref is not None and not self._adopted(ref, tensor):
                self._view(ref).copy_(tensor)

    def _adopted(self, ref: dict[str, Any], tensor: torch.Tensor) -> bool:
        """Returns whether the memory that an operator made can serve as the buffer: the sizes agree, and it is not
        shared.
        """
        if 0 in ref["shape"] or ref["buffer"] in self.memory or is_view(tensor):
            return False
        buffer, flat = self.plan["buffers"][ref["buffer"]], tensor.untyped_storage().nbytes() // tensor.element_size()
        fits = buffer.get("elements") == flat and DTYPES[buffer["dtype"]] == tensor.dtype
        if fits and [list(tensor.shape), list(tensor.stride()), 0] == [ref["shape"], ref["stride"], ref["offset"]]:
            self.memory[ref["buffer"]] = self._placed(tensor.as_strided((flat,), (1,)))
            return True
        return False

    def _view(self, ref: dict[str, Any]) -> torch.Tensor:
        dtype = DTYPES[ref["dtype"]]
        if 0 in ref["shape"]:
            return torch.empty(ref["shape"], dtype=dtype)
        number = ref["buffer"]
        if number not in self.memory:
            self.memory[number] = self._placed(_memory(self.plan["buffers"][number], self.inputs, ref))
        memory = self.memory[number]
        if memory.dtype != dtype:
            memory = _flat(memory).view(dtype)
        elif [list(memory.shape), list(memory.stride()), memory.storage_offset()] == _place(ref):
            return memory
        return memory.as_strided(*_place(ref))

    def _placed(self, tensor: torch.Tensor) -> torch.Tensor:
        return place(tensor, True) if self.gpu else tensor

    def _value(self, value: Any, kernel: bool = False) -> Any:
        if not isinstance(value, dict):
            return value
        [(kind, inner)] = value.items()
        if kind == "ref":
            return self._view(inner)
        if kind == "list":
            items = [self._value(part, kernel) for part in inner]
            return tuple(items) if kernel else items
        if kind == "dtype":
            return DTYPES[inner]
        if kind == "type":
            return getattr(tl, inner)
        if kind == "function":
            return self.kernels.names[inner]
        return tl.constexpr(self._value(inner))


def _buffers(what: Any) -> Iterator[int]:
    """The indices of the buffers that a step or a list of refs mentions."""
    if isinstance(what, dict):
        if "shape" in what and "buffer" in what:
            yield what["buffer"]
        what = what.values()
    if not isinstance(what, str | int | float | None):
        for part in what:
            yield from _buffers(part)


def _place(ref: dict[str, Any]) -> list[Any]:
    return [ref["shape"], ref["stride"], ref["offset"]]


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    """All of the memory that it lies in."""
    return tensor.as_strided((tensor.untyped_storage().nbytes() // tensor.element_size(),), (1,), 0)


def _memory(buffer: dict[str, Any], inputs: list[torch.Tensor], ref: dict[str, Any]) -> torch.Tensor:
    """A tensor in the memory behind all views of a buffer; where it can be, the one that ``ref`` asks for."""
    if "input" in buffer:
        return inputs[int(buffer["input"])]
    dtype = DTYPES[buffer["dtype"]]
    if "elements" not in buffer:
        return torch.frombuffer(bytearray.fromhex(buffer["bytes"]), dtype=dtype)
    elements = buffer["elements"]
    if ref["dtype"] == buffer["dtype"] and not ref["offset"] and span(ref["shape"], ref["stride"]) == elements:
        return torch.empty_strided(ref["shape"], ref["stride"], dtype=dtype)
    return torch.empty(elements, dtype=dtype)
