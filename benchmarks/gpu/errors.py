"""A piece of the plan: the errors in benchmarks/accuracy.md of our Triton answers, where this process runs them."""

import importlib
import importlib.util
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.runner import InProcess
from graded_kernels.course.learner import ROOT
from graded_kernels.course.regions import find_regions

from benchmarks import accuracy

ANSWERS = (
    "silu_forward",
    "gelu_forward",
    "layer_norm_forward",
    "rms_norm_forward",
    "masked_softmax_forward",
    "cross_entropy_forward",
    "entropy_forward",
    "attention_forward",
    "matmul",
)
PRODUCTS = ("attention_forward", "matmul")  # also with their products in TF32
IEEE, TF32 = 'input_precision="ieee"', 'input_precision="tf32"'


def errors(name: str, simulated: bool) -> dict:
    """By precision of products and dtype: ``ulp``, ``share`` of the tolerance, ``trouble``; as `accuracy.Distance`."""
    found = {"ieee": of_function(name, answer(name))}
    if name in PRODUCTS:
        with tempfile.TemporaryDirectory() as folder:
            found["tf32"] = of_function(name, getattr(in_tf32(module_of(name), Path(folder)), name))
    return found


def of_function(name: str, function: Callable) -> dict:
    record = EXERCISES[name]
    runner = InProcess(function, record.contract, "triton")
    worst: dict[str, accuracy.Distance] = {}
    for kind, _, found in accuracy.distances(record, {"ours, Triton": runner}):
        worst[kind] = worst.get(kind, accuracy.Distance()) | found
    return {kind: vars(found) for kind, found in worst.items() if kind}


def module_of(name: str) -> ModuleType:
    return importlib.import_module(f"graded_kernels.kernels.{find_regions(ROOT)['kernels', name].path.stem}")


def answer(name: str) -> Callable:
    return getattr(module_of(name), name)


def in_tf32(module: ModuleType, folder: Path) -> ModuleType:
    """The module once more, from a file in ``folder``, with every product that it asks for exactly in TF32."""
    source = Path(module.__file__).read_text(encoding="utf-8")
    if IEEE not in source:
        raise ValueError(f"{module.__file__} has no {IEEE}")
    path = folder / f"{module.__name__.rpartition('.')[2]}_tf32.py"
    path.write_text(source.replace(IEEE, TF32), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(f"{module.__package__}.{path.stem}", path)
    sys.modules[spec.name] = made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made
