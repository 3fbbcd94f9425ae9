"""Writes rows of the exercises and of the tests' material into `rows/`: ``python -m research.exam.generate``.

They are committed, because a label stays as it was published while that material goes on; a test holds them to what
this makes. A row from elsewhere is written by hand, into a file of its own.
"""

import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from .row import HERE, ROWS

MATERIAL = HERE.parents[1] / "tests" / "material"
if str(MATERIAL) not in sys.path:
    sys.path.insert(0, str(MATERIAL))

import faultless  # noqa: E402
import graded_kernels.autograder  # noqa: E402, F401  before triton
import pairs  # noqa: E402
import planted  # noqa: E402
import torch  # noqa: E402
from answers import our_answer  # noqa: E402
from graded_kernels.autograder import EXERCISES, Exercise, WildBug  # noqa: E402
from graded_kernels.autograder.judge.checking.judge import arguments  # noqa: E402
from graded_kernels.autograder.runner.call.tree import Tree  # noqa: E402

from . import order, sequences  # noqa: E402
from .computed_rows import ISSUE, kind_of_exercise, row  # noqa: E402

FOUND = {  # a finding of the emulator -> the kind that it is of
    "out-of-bounds": "memory",
    "gathered-outside": "memory",
    "store-conflict": "race",
    "own-store": "race",
    "own-load": "race",
    "race-read": "race",
    "race-write": "race",
    "unwritten": "uninitialised",
    "uninitialised-read": "uninitialised",
    "masked-load": "uninitialised",
    "left-state": "state",
    "misleading-hint": "memory",
    "saved-tensor": "gradient",
    "undeclared-store": "state",
    "division-by-zero": "values at an edge",
    "not-associative": "values at an edge",
    "assertion": "compile",
    "kernel-error": "compile",
    "unsupported": "compile",
    "grid": "compile",
    "order": "race",
    "wrong-value": "values at an edge",
}
THEMES = {"synchronisation": "race", "language": "compile", "annotations": "compile", "blocks": "values at an edge"}
PUBLISHED = {  # a label that stays as it was published, while another case shows the mistake first
    "silu_backward_candle_now": "dtype",  # from 256 on in bfloat16, 2048 in float16; in float32 from 2^24 on
}
DOCUMENTED = "PyTorch, whose documentation says is_causal"
SECOND = {  # of a function of a sequence, who says so, too
    "linear_attention": ISSUE,
    "pytorch_attention": DOCUMENTED,
    "pytorch_attention_bfloat16": DOCUMENTED,
}
AUTHOR = "its author, who wrote it to be so; the docstring says how"
RETURNED = "PyTorch, whose result the program returns beside its own: a test holds them equal"


def written(rows: list[dict]) -> str:
    """A file of rows. Strings of JSON are strings of TOML."""
    lines = ["# Made by `python -m research.exam.generate`."]
    for table in rows:
        lines += ["", "[[row]]", *(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def functions() -> list[Exercise]:
    return [record for record in EXERCISES.values() if isinstance(record, Exercise)]


def kind_of(record: Exercise, case_name: str = "") -> str:
    """By the case that sees it: a half dtype, then a layout; by the exercise: writes arguments, then a gradient."""
    for case in record.cases:
        if case.name == case_name:
            tensors = Tree(arguments(case, 0, 0)).tensors
            if any(one.dtype in (torch.float16, torch.bfloat16) for one in tensors):
                return "dtype"
            if not all(one.is_contiguous() for one in tensors):
                return "layout"
    return kind_of_exercise(record)


def answers() -> Iterator[dict]:
    for record in functions():
        for backend in record.backends:
            entry = our_answer(record.name, backend)
            both = len(record.backends) == 2
            yield row(
                f"answers/{record.name}/{backend}",
                kind_of(record),
                False,
                "exercise",
                f"{entry.__module__}:{entry.__qualname__}",
                "float64 mathematics: the record's oracle, in all of its cases",
                second="the answer in the other of PyTorch and Triton, which agrees" if both else "",
                exercise=record.name,
                backend=backend,
            )


def wild() -> Iterator[dict]:
    for record in functions():
        for bug in record.wild:
            mathematics = f"float64 mathematics: the record's oracle, in the case '{bug.seen_by}'"
            threaded = isinstance(bug, WildBug)
            peer = "the formula as PyTorch's users write it agrees with the mathematics" if record.peer else ""
            function = bug.function
            yield row(
                f"wild/{function.__name__}/{record.name}",
                PUBLISHED.get(function.__name__) or kind_of(record, bug.seen_by),
                True,
                "exercise",
                f"{function.__module__}:{function.__qualname__}",
                f"{bug.who}: {bug.thread}" if threaded else mathematics,
                place=f"{bug.who.rstrip(',')}; seen in the case '{bug.seen_by}'",
                second=mathematics if threaded else peer,
                twin=f"answers/{record.name}/torch",
                exercise=record.name,
                backend="torch",
            )


def planted_bugs() -> Iterator[dict]:
    for bug in planted.bugs():
        entry = f"{bug.run.__module__}:{bug.name}"
        yield row(f"planted/{bug.name}", FOUND[bug.kind], True, "program", entry, AUTHOR, place=bug.title)


def faultless_programs() -> Iterator[dict]:
    for program in faultless.programs():
        theme = program.__module__.rpartition(".")[2]
        entry = f"{program.__module__}:{program.__name__}"
        kind = THEMES.get(theme, "memory")
        yield row(f"faultless/{program.__name__}", kind, False, "program", entry, AUTHOR, second=RETURNED)


def features() -> Iterator[dict]:
    for pair in pairs.PAIRS:
        name = pair.program.__name__
        for wrong in (True, False):
            yield row(
                f"pairs/{name}/{'wrong' if wrong else 'right'}",
                FOUND[pair.kind],
                wrong,
                "pair",
                f"{pair.program.__module__}:{name}",
                AUTHOR,
                place=inspect.getdoc(pair.program).removeprefix("Wrong: ") if wrong else "",
                second="" if wrong else RETURNED,
                twin=f"pairs/{name}/{'right' if wrong else 'wrong'}",
            )


def batches() -> Iterator[dict]:
    for name, (*_, follows) in order.WRONG.items():
        for wrong in (True, False):
            yield row(
                f"order/{name}/{'wrong' if wrong else 'right'}",
                "order",
                wrong,
                "batch",
                f"research.exam.order:{'WRONG' if wrong else 'RIGHT'}.{name}",
                "its author: the way to compute a row follows the number of rows, or does not",
                place=f"{follows} follows the number of rows" if wrong else "",
                second="the histories of each float (tests/gpu/test_history.py)",
                twin=f"order/{name}/{'right' if wrong else 'wrong'}",
            )


def of_sequences() -> Iterator[dict]:
    for wrong, table in ((True, sequences.WRONG), (False, sequences.RIGHT)):
        for name, (*_, why) in table.items():
            twin = f"sequences/{name}/{'right' if wrong else 'wrong'}"
            yield row(
                f"sequences/{name}/{'wrong' if wrong else 'right'}",
                "causality",
                wrong,
                "sequence",
                f"research.exam.sequences:{'WRONG' if wrong else 'RIGHT'}.{name}",
                "its author: a position's result is made of what comes behind it, or is not",
                place=why if wrong else "",
                second=SECOND.get(name, ""),
                twin=twin if name in sequences.WRONG and name in sequences.RIGHT else "",
            )


FILES = {
    "answers": answers,
    "wild": wild,
    "planted": planted_bugs,
    "faultless": faultless_programs,
    "pairs": features,
    "order": batches,
    "sequences": of_sequences,
}


def files() -> dict[str, str]:
    """The text of each file of rows, by its name."""
    return {f"{name}.toml": written(list(make())) for name, make in FILES.items()}


def main(folder: Path = ROWS) -> None:
    for name, text in files().items():
        (folder / name).write_text(text, encoding="utf-8")
        print(f"{name}: {text.count('[[row]]')} rows")


if __name__ == "__main__":
    main()
