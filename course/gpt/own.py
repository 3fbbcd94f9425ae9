"""The learner's own kernels in place of the course's: ``ops, whose = own.ops()``.

They are read from the notebooks of the folder, where the answer to ``swiglu_forward`` in Triton is the cell of the id
``swiglu_forward-triton``. A function is the learner's where both halves of it are written; otherwise it is the
course's. What is run is the learner's own code, in their own kernel, as when they run those notebooks.
"""

import json
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from ...autograder.classroom.nbgrader.rebuild import DEMONSTRATION
from ...autograder.runner import AnswerError, Args, Cell, Tree
from ...autograder.runner.call.answer import is_stub, run
from .block import COURSE, EPS, Ops

Function = Callable[..., Any]


@dataclass(frozen=True)
class Pair:
    """A function and its gradient. kept: what backward takes behind dy, from the arguments and results of forward:
    tensors first.
    """

    forward: Function
    backward: Function
    kept: Callable[[Args, Args], Args]


class Joined(torch.autograd.Function):
    """A pair as one differentiable function; the first result of its forward is the value."""

    @staticmethod
    def forward(ctx: Any, pair: Pair, *args: Any) -> Any:
        """The value."""
        results = Tree.of(pair.forward(*args)).args
        kept = pair.kept(args, results)
        tensors = [tensor for tensor in kept if isinstance(tensor, torch.Tensor)]
        ctx.save_for_backward(*tensors)
        ctx.pair, ctx.rest, ctx.count = pair, kept[len(tensors) :], len(args)
        return results[0]

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        """A gradient for each of the first arguments, None for the others."""
        gradients = Tree.of(ctx.pair.backward(dy.contiguous(), *ctx.saved_tensors, *ctx.rest)).args
        return None, *gradients, *[None] * (ctx.count - len(gradients))


ALONE = "adamw_step"  # which has no gradient
KEPT: dict[str, Callable[[Args, Args], Args]] = {
    "rms_norm": lambda args, results: (*args[:2], results[1]),  # x, weight, rstd
    "rotary": lambda args, results: args[1:],  # positions, inv_freq
    "attention": lambda args, results: (*args[:3], *results, *args[3:]),  # q, k, v, o, lse, key_lengths, causal
    "swiglu": lambda args, results: args,
    "cross_entropy": lambda args, results: (*args, results[1]),  # logits, labels, lse
}


def ops(folder: Path | None = None) -> tuple[Ops, dict[str, str]]:
    """Returns what a block is made of, and for each function whether it is ``yours`` or the ``course's``.

    folder: with the learner's notebooks; the one in which this one lies where it is left out. Raises ValueError for a
    file there that is no notebook.
    """
    written = answers(sorted((folder or Path.cwd()).glob("*.ipynb")))
    pairs = {
        name: Pair(written[f"{name}_forward"], written[f"{name}_backward"], kept)
        for name, kept in KEPT.items()
        if f"{name}_forward" in written and f"{name}_backward" in written
    }
    replaced = {name: _function(name, pair) for name, pair in pairs.items()}
    replaced |= {ALONE: written[ALONE]} if ALONE in written else {}
    whose = {name: "yours" if name in replaced else "the course's" for name in (*KEPT, ALONE)}
    return replace(COURSE, **replaced), whose


def _function(name: str, pair: Pair) -> Function:
    """The pair with the signature that `Ops` asks for."""
    call: Function = Joined.apply
    wide: dict[str, Function] = {
        "rms_norm": lambda x, weight: call(pair, x.flatten(0, -2), weight, EPS).view(x.shape),
        "rotary": lambda x, positions, inv_freq: call(pair, x, positions.expand(len(x), -1), inv_freq),
        "attention": lambda q, k, v: call(pair, q, k, v, None, True),
        "swiglu": lambda gate, up: call(pair, gate, up),
        "cross_entropy": lambda logits, labels: call(pair, logits.contiguous(), labels).mean(),
    }
    return wide[name]


def answers(notebooks: list[Path]) -> dict[str, Function]:
    """The Triton answers to `KEPT` and `ALONE` that are written in some notebooks, by the name of the exercise."""
    functions: dict[str, Function] = {}
    for path in notebooks:
        try:
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        except (ValueError, TypeError, KeyError):
            raise ValueError(f"{path.name} is no notebook that can be read: move it out of {path.parent}") from None
        if any(_exercise(cell) for cell in cells):
            functions |= _written(path.stem, cells)
    return functions


def _exercise(cell: dict[str, Any]) -> str:
    """The exercise of those that the cell is the Triton answer to, or ""."""
    name, _, backend = cell.get("id", "").rpartition("-")
    half = name.removesuffix("_forward").removesuffix("_backward")
    return name if backend == "triton" and (name == ALONE or (half in KEPT and half != name)) else ""


def _written(notebook: str, cells: list[dict[str, Any]]) -> dict[str, Function]:
    """Runs the setup, the Triton answers and what the learner's own cells define, in a module of their own. A cell that
    stops is passed over, as a check would.
    """
    module, functions = types.ModuleType(f"answers_of_{notebook}"), {}
    sys.modules[module.__name__] = module  # where Triton looks
    for cell in cells:
        if not _runs(cell):
            continue
        code = Cell(f"{notebook}, {cell.get('id', 'a cell')}", "".join(cell["source"]))
        whole = "nbgrader" in cell["metadata"]
        try:
            run(code if whole else code.definitions, module)
        except AnswerError:
            continue
        function = module.__dict__.get(name := _exercise(cell))
        if callable(function) and not is_stub(function):
            functions[name] = function
    return functions


def _runs(cell: dict[str, Any]) -> bool:
    shown = DEMONSTRATION in cell["metadata"].get("tags", ())
    other = cell.get("id", "").endswith(("-torch", "-check"))
    return cell["cell_type"] == "code" and not shown and not other
