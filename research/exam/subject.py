"""The program of a row, ready to be run. A checker's adapter loads it when its own preparations are done."""

import importlib
import importlib.util
import os
import random
import runpy
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import graded_kernels.autograder  # noqa: F401  before triton
import numpy
import torch
from graded_kernels.autograder import EXERCISES, Exercise
from graded_kernels.autograder.judge.checking.judge import arguments
from graded_kernels.autograder.runner.call.tree import Tree

from . import causal_kernels, gpuemu, invariance
from .fixes import Library
from .repairs import REPAIRS
from .row import HERE, Row

MATERIAL = HERE.parents[1] / "tests" / "material"
SEED = 1  # of a launch: the one that the recorded runs on an H100 had
RANDOM = {  # where ordinary values leave out what an exercise is about, the case that random numbers would be
    "accumulation_weights": "several ranks",
    "cross_entropy_backward": "a dloss for each row",
    "merge_attention": "lse near 3",
    "policy_loss_backward": "some tokens count",
}
Results = tuple[list[torch.Tensor], list[torch.Tensor]]  # what came out, and what is right


class Cannot(Exception):
    """Why a checker has nothing to say of a row, in a sentence."""


NOT_HERE = (ImportError, subprocess.CalledProcessError)  # what a program needs is missing: it says nothing of a kernel


@dataclass(frozen=True)
class Subject:
    """run: runs the program on inputs of this seed; None where it says nothing of what is right. seeded: whether other
    seeds give other inputs. shim: whether it asks for a GPU. function, reference, example: where it has them.
    batch: the places of the arguments that are a batch, or have positions. causal: the dimension of time, None where
    there is none. file: of a program that is a file.
    """

    run: Callable[[int], Results | None]
    seeded: bool = False
    shim: bool = False
    function: Callable[..., Any] | None = None
    reference: Callable[..., Any] | None = None
    example: Callable[[int], tuple[Any, ...]] | None = None
    exercise: Exercise | None = None
    batch: tuple[int, ...] = ()
    causal: int | None = None
    file: Path | None = None

    def launch(self) -> None:
        """Runs the program once as its author does, a file as a script, and reads the result."""
        told = _script_of(self.file)(SEED) if self.file else self.run(SEED)
        for result in told[0] if told else ():
            (result == result).all().item()


def subject(row: Row) -> Subject:
    """Imports the row's program. Raises Cannot where it is somebody else's and not here, or cannot be imported."""
    if str(MATERIAL) not in sys.path:
        sys.path.insert(0, str(MATERIAL))
    try:
        return globals()[f"_{row.how}"](row)
    except (ImportError, AttributeError, LookupError, StopIteration) as error:
        raise Cannot(f"{row.entry} cannot be imported: {type(error).__name__}: {error}") from None


def sown(seed: int, run: Callable[[], Any]) -> Any:
    for sow in (random.seed, numpy.random.seed, torch.manual_seed):
        sow(seed)
    return run()


def results(outputs: Any, right: Any) -> Results:
    return Tree.of(outputs).tensors, Tree.of(right).tensors


def named(entry: str) -> Any:
    module, _, name = entry.partition(":")
    return getattr(importlib.import_module(module), name)


def _exercise(row: Row) -> Subject:
    return _called(named(row.entry), EXERCISES[row.exercise])


def _answer(row: Row) -> Subject:
    function, record = getattr(_module(HERE / row.entry), row.exercise), EXERCISES[row.exercise]
    return _called(function, record) if isinstance(record, Exercise) else Subject(_unknown, function=function)


def _unknown(seed: int) -> None:
    """A witness is asked for inputs, and nobody says one that is right."""


def _called(function: Callable[..., Any], record: Exercise) -> Subject:
    contract = record.contract
    random = RANDOM.get(record.name)
    ordinary = [case for case in record.cases if case.name.endswith("ordinary values") or case.name == random]

    def run(seed: int) -> Results:
        outputs: list[torch.Tensor] = []
        right: list[torch.Tensor] = []
        for case in ordinary:
            args = arguments(case, 0, seed)
            came = contract.results_of(contract.with_gradient(function), args)
            outputs += came
            right += [exact.to(one.dtype) for one, exact in zip(came, record.exact(args), strict=True)]
        return outputs, right

    def example(seed: int) -> tuple[Any, ...]:
        return arguments(ordinary[0], 0, seed)

    return Subject(run, seeded=True, function=function, example=example, exercise=record)


def _program(row: Row) -> Subject:
    program = named(row.entry)
    return Subject(lambda seed: results(*sown(seed, program)))


def _pair(row: Row) -> Subject:
    program = named(row.entry)
    without = next(one.without for one in importlib.import_module("pairs").PAIRS if one.program is program)
    if without:
        raise Cannot(f"this Triton has no {without}")
    return Subject(lambda seed: results(*sown(seed, lambda: program(row.wrong))), seeded=True, shim=True)


def _batch(row: Row) -> Subject:
    table, _, name = row.entry.rpartition(".")
    function, args, batch, *_ = named(table)[name]

    def run(seed: int) -> None:
        function(*args)

    return Subject(run, function=function, example=lambda seed: args, batch=batch)


def _rows(row: Row) -> Subject:
    checkout(row)
    function, example, batch, *_ = (invariance.WRONG if row.wrong else invariance.RIGHT)[row.entry]

    def run(seed: int) -> None:
        function(*Tree(example()).map(lambda one: one.to("cuda")))

    return Subject(run, shim=True, function=function, example=lambda seed: example(), batch=batch)


def _sequence(row: Row) -> Subject:
    table, _, name = row.entry.rpartition(".")
    function, args, places, dim, *_ = named(table)[name]

    def run(seed: int) -> None:
        function(*args)

    return Subject(run, function=function, example=lambda seed: args, batch=places, causal=dim)


def _positions(row: Row) -> Subject:
    checkout(row)
    function, arguments, dim, *_ = (causal_kernels.WRONG if row.wrong else causal_kernels.RIGHT)[row.entry]
    make = causal_kernels.OF[arguments]
    places = tuple(range(len(make())))

    def run(seed: int) -> None:
        function(*(one.to("cuda") for one in make()))

    return Subject(run, shim=True, function=function, example=lambda seed: make(), batch=places, causal=dim)


def _file(row: Row) -> Subject:
    path = HERE / row.entry
    beside = path.with_name(f"{path.stem.removesuffix('_right')}_reference.py")
    if not beside.is_file():
        return _run_as_it_is(path)
    reference = _module(beside)
    name = next(name for name, one in vars(reference).items() if callable(one) and name != "arguments")

    def run(seed: int) -> Results:
        function, (given, same) = vars(_module(path))[name], (reference.arguments(seed) for _ in range(2))
        on_gpu = Tree(given).map(lambda one: one.to("cuda"))
        return results(Tree.of(function(*on_gpu)).map(lambda one: one.cpu()), getattr(reference, name)(*same))

    return Subject(
        run, seeded=True, shim=True, reference=getattr(reference, name), example=reference.arguments, file=path
    )


def _script(row: Row) -> Subject:
    return _run_as_it_is(checkout(row) / row.entry)


def _run_as_it_is(path: Path) -> Subject:
    return Subject(_script_of(path), shim=True, file=path)


def _script_of(path: Path) -> Callable[[int], Results | None]:
    def run(seed: int) -> None:
        sys.argv = [str(path)]
        sown(seed, lambda: runpy.run_path(str(path), run_name="__main__"))

    return run


def _launch(row: Row) -> Subject:
    sys.path.insert(0, str(checkout(row)))
    from evaluation.kernels.tritonracebench import CORPUS

    spec = next(one for one in CORPUS.specs if one.name == row.entry)

    def run(seed: int) -> None:
        spec.kernel_fn[spec.grid](*spec.make_args(seed), **spec.constexprs)

    return Subject(run, seeded=True)


def _fix(row: Row) -> Subject:
    library = Library(checkout(row), row.commit)

    def run(seed: int) -> Results:
        came, right = sown(seed, lambda: named(row.entry)(library))
        return results(Tree.of(came).map(lambda one: one.cpu()), Tree.of(right).map(lambda one: one.cpu()))

    return Subject(run, seeded=True, shim=True)


def _repair(row: Row) -> Subject:
    recipe = REPAIRS[row.entry]
    library = Library(checkout(row), row.commit)

    def run(seed: int) -> None:
        os.environ["HOME"] = os.getcwd()  # FlagGems keeps there which configuration of an autotuner it chose
        sys.path.insert(0, str(library.part(recipe.folder) / recipe.on_path))
        sown(seed, recipe.call)

    return Subject(run, shim=True)


def _arrays(row: Row) -> Subject:
    function, reference = gpuemu.function(row.entry, checkout(row)), gpuemu.reference(row.entry)

    def example(seed: int) -> tuple[Any, ...]:
        return gpuemu.arguments(row.entry, seed)

    def run(seed: int) -> Results:
        args = example(seed)
        return results(function(*args), reference(*(one.double() for one in args)))

    return Subject(run, seeded=True, shim=True, function=function, reference=reference, example=example)


def checkout(row: Row) -> Path:
    """Where the files of a repository are: a folder of checkouts, each named owner+name. Raises Cannot."""
    folder = Path(os.environ.get("EXAM_CHECKOUTS", "checkouts")) / row.repository.replace("/", "+")
    if not folder.is_dir():
        raise Cannot(
            f"not run: {folder} is not here; clone github.com/{row.repository} into it, check out {row.commit}, and "
            "name the folder of checkouts by --checkouts"
        )
    return folder.resolve()


def _module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
