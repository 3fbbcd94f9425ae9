"""How far from the exact result: our answers in both backends beside PyTorch's own functions, in ulp of the output.

    python benchmarks/accuracy.py             every exercise; writes benchmarks/accuracy.md and prints it
    python benchmarks/accuracy.py silu_forward gelu_forward        these exercises only; prints, writes nothing

The inputs are the cases of the exercises: all 65,536 values of float16 and bfloat16 for elementwise functions, samples
of float32, rows and matrices for the others. The exact result, the distance and the tolerance are the check's own.
Triton kernels run in the emulator, PyTorch's functions on the CPU.
"""

import dataclasses
import importlib
import math
import sys
from collections.abc import Iterator
from datetime import date
from importlib.metadata import version
from pathlib import Path

import torch
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.judge import Case, Exercise
from graded_kernels.autograder.judge.comparing.closeness import compare, expect
from graded_kernels.autograder.runner import Call, InProcess, Tree
from graded_kernels.course.regions import BACKENDS, find_regions

ROOT = Path(__file__).resolve().parent.parent
FORMATS = (torch.float16, torch.bfloat16, torch.float32)  # narrowest first: a case belongs to the first that it holds
AUTHORS = ("PyTorch", "ours, PyTorch", "ours, Triton")
MORE = 1.1  # times PyTorch's error that ours may be before it is told
NOTE = """# Accuracy

`python benchmarks/accuracy.py`, {date}, PyTorch {torch} ({cpu}), Triton {triton} in the emulator, whose `exp`, `sqrt`
and `/` are tighter than a GPU's.

The worst error in ulp of the output's dtype over all needed cases of a kind; in parentheses the largest share of the
tolerance that one element takes, perhaps another one: where terms cancel or a result vanishes, many ulp may be as
little as float32 arithmetic allows. `inf`: a NaN or an infinity where there should be none, or the reverse. A case
belongs to the narrowest dtype of its inputs, or of its outputs where no input is a tensor of floating-point numbers;
what has integers alone has no row. Goal: ours within 70%, at this seed and at every other (margins.md).
"""
FURTHER = """
## Where ours is further off than PyTorch's own

In ulp. *Takes*: the share of its tolerance that this worst element of ours takes. Where that is a few hundredths, terms
cancel: the floor of the record, what float32 arithmetic loses there, is many ulp of a small result. SiLU and SwiGLU in
float32 are within PyTorch's worst error and take more of their tolerance than x / (1 + e^-x), which loses the tail.

| exercise | computed by | dtype | ours | PyTorch | takes |
|---|---|---|---|---|---|
"""


@dataclasses.dataclass(frozen=True)
class Distance:
    """The worst error in ulp, and the largest share of the tolerance that one element takes. takes: that of the element
    with the worst error.
    """

    ulp: float = 0.0
    share: float = 0.0
    trouble: str = ""
    takes: float = 0.0

    def __or__(self, other: "Distance") -> "Distance":
        worst = max(self, other, key=lambda one: one.ulp)
        return Distance(worst.ulp, max(self.share, other.share), self.trouble or other.trouble, worst.takes)

    def __str__(self) -> str:
        if self.trouble:
            return self.trouble
        ulp = f"{self.ulp:.2f}" if self.ulp < 1000 else f"{self.ulp:.1e}"
        return f"{ulp} ({self.share:.0%})" if self.share <= 10 else f"{ulp} (x {self.share:.2g})"


def runners(record: Exercise) -> dict[str, InProcess]:
    """Who computes this exercise, by `AUTHORS`."""
    found = {}
    if record.peer:
        permitted = dataclasses.replace(record.contract, refused=frozenset(), witness=True)  # any operator
        found["PyTorch"] = InProcess(record.peer, permitted, "torch")
    regions = find_regions(ROOT)
    for (folder, backend), author in zip(BACKENDS.items(), AUTHORS[1:], strict=True):
        if backend in record.backends:
            module = importlib.import_module(f"graded_kernels.{folder}.{regions[folder, record.name].path.stem}")
            found[author] = InProcess(getattr(module, record.name), record.contract, backend)
    return found


def distance(record: Exercise, case: Case, args: tuple, runner: InProcess) -> Distance:
    """One call, over all outputs."""
    outcome = runner.examine(Call(args)).first
    if outcome.trouble:
        return Distance(math.inf, math.inf, outcome.trouble.error or outcome.trouble.kind)
    expected, total = expect(record, case, args), Distance()
    named = record.named(args)
    for index, output in enumerate(outcome.outputs):
        found = compare(expected, index, output, named)
        if found.complaint:
            return Distance(math.inf, math.inf, found.complaint)
        # An exact element takes nothing even of a tolerance of 0, and a stray NaN all of any.
        shares = (found.error / expected.allowed[index]).masked_fill(found.error == 0, 0.0)
        shares = shares.masked_fill(found.error.isinf(), math.inf)
        if shares.numel():
            takes = float(shares.flatten()[found.error.nan_to_num().argmax()])
            total |= Distance(found.worst, float(shares.max()), takes=takes)
    return total


def kind(record: Exercise, args: tuple) -> str:
    """The narrowest dtype of the inputs, or of the outputs where no input has one; "" for integers alone."""
    inputs = {a.dtype for a in Tree(args).tensors}
    dtypes = inputs if inputs & set(FORMATS) else set(record.dtypes(args))
    return next((text_of(d) for d in FORMATS if d in dtypes), "")


def text_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def distances(record: Exercise, judges: dict[str, InProcess]) -> Iterator[tuple[str, str, Distance]]:
    """(kind of case, author, distance), with the inputs that the check's seed 0 gives. judges: runners by author."""
    for number, case in enumerate(record.cases):
        if case.raises or case.bonus:
            continue
        args = case.inputs(torch.Generator().manual_seed(number))
        for author, runner in judges.items():
            yield kind(record, args), author, distance(record, case, args, runner)


def measure(records: list[Exercise]) -> dict[tuple[str, str, str], Distance]:
    """The worst over all cases of a kind, by (exercise, kind, author)."""
    table: dict[tuple[str, str, str], Distance] = {}
    for number, record in enumerate(records, 1):
        print(f"{number}/{len(records)} {record.name}", file=sys.stderr, flush=True)
        for what, author, found in distances(record, runners(record)):
            key = record.name, what, author
            table[key] = table.get(key, Distance()) | found
    return table


def row(*cells) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def page(records: list[Exercise], table: dict) -> str:
    kinds = [text_of(d) for d in FORMATS]
    cpu = torch.backends.cpu.get_cpu_capability()
    versions = {"torch": torch.__version__, "triton": version("triton"), "cpu": cpu, "date": date.today()}
    lines = [NOTE.format(**versions), row("exercise", "computed by", *kinds), "|---|---|---|---|---|"]
    for record in records:
        for author in AUTHORS:
            cells = [table.get((record.name, k, author), "-") for k in kinds]
            if set(cells) != {"-"}:
                lines.append(row(record.name, author, *cells))
    return "\n".join(lines) + "\n" + FURTHER + "\n".join(further(table)) + "\n"


def further(table: dict) -> Iterator[str]:
    for (name, what, author), found in table.items():
        peer = table.get((name, what, "PyTorch"))
        if author != "PyTorch" and peer and found.ulp > MORE * peer.ulp and not peer.trouble:
            yield row(name, author, what, f"{found.ulp:.2f}", f"{peer.ulp:.2f}", f"{found.takes:.1%}")


if __name__ == "__main__":
    functions = [e for e in EXERCISES.values() if isinstance(e, Exercise) and e.name in (sys.argv[1:] or EXERCISES)]
    text = page(functions, measure(functions))
    print(text)
    if not sys.argv[1:]:
        Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")
