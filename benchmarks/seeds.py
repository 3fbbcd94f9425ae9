"""Wrong answers at many seeds: whether each gets the same points, and is named what it is and nothing else.

    python benchmarks/seeds.py                                    30 seeds; the rows that benchmarks/seeds.md lacks
    python benchmarks/seeds.py --exercise kl_forward --seeds 3    these rows anew

The answers are the bugs that the exercise names, our answer with each of its mutants and without a wider dtype inside,
and the typical mistakes and marked answers of tests/material, all in PyTorch. What a bug is does not come from the
check: an answer is a bug where both make the same errors in all cases at another seed, but for mended edges.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "material"))

import torch
from answers import answer
from broken import mutants
from graded_kernels.autograder import EXERCISES, check
from graded_kernels.autograder.judge.checking import check_answer
from graded_kernels.autograder.judge.closeness import compare_all, expect
from graded_kernels.autograder.judge.fingerprint import wild_outputs
from graded_kernels.autograder.judge.records.record import Bug, Exercise
from graded_kernels.autograder.judge.report.report import Report
from graded_kernels.autograder.judge.settings import Settings
from graded_kernels.autograder.judge.trial import arguments
from graded_kernels.autograder.runner.call.answer import Answer, AnswerError, Cell, load
from graded_kernels.autograder.runner.call.contract import Args
from marks import MARKED
from mistakes import MISTAKES
from wrong_answers import WRONG

NOTE = """# Wrong answers at many seeds

`python benchmarks/seeds.py`, PyTorch {torch}.

Every wrong answer of the project in PyTorch: the bugs that shipped and the common mistakes, our answers with a mutant
and in the dtype of their inputs, the typical wrong answers of tests/material. *False*: seeds at which a bug is named
that the answer is not. *Missed*: at which none is named though it is one. *Points*: answers whose points differ
between two seeds at which they fail, and the largest difference. Goal: 0 everywhere.

An answer is a bug where both make the same errors, within a quarter, in all cases at another seed, and no others. A
guard at an edge, where the bug raises or gives NaN or infinity, makes no other formula of it, but in the case that was
made to see the bug.

{verdict}
"""
HEAD = "| exercise | answers | seeds | false | missed | points | largest | which |\n" + "|---" * 8 + "|"
OTHER_SEED = 1001
EQUAL = 1e-6  # points
PAGE = Path(__file__).with_suffix(".md")
NOT_RUN = "not run"


@dataclass(frozen=True)
class Subject:
    """A wrong answer. report: of a check with this seed. call: the answer itself."""

    what: str
    report: Callable[[int], Report]
    call: Callable[..., object]


def subjects(record: Exercise) -> Iterator[Subject]:
    """Each of an exercise that can be loaded."""
    for bug in record.wild:
        yield Subject(bug.who, lambda seed, f=bug.function: _of(record, f, seed), bug.function)
    for what, wrong in _programs(record):
        try:
            yield Subject(what, lambda seed, a=wrong: check_answer(a, Settings("torch", seed=seed)), load(wrong))
        except AnswerError:
            continue


def _of(record: Exercise, function: Callable[..., object], seed: int) -> Report:
    return check(record.name, lambda *args: function(*args), backend="torch", seed=seed)


def _programs(record: Exercise) -> Iterator[tuple[str, Answer]]:
    name = record.name
    for one in mutants().get((name, "torch"), ()):
        yield one.why, answer(name, "torch", one.old, one.new)
    for one in (*WRONG, *MARKED):
        if (one.exercise, one.backend) == (name, "torch") and not one.isolated:
            yield one.what, one.answer
    yield from ((one.why, one.answer) for one in MISTAKES if (one.exercise, one.backend) == (name, "torch"))
    if "torch" in record.backends:
        yield "in the dtype of its inputs", _narrow(answer(name, "torch"))


def _narrow(right: Answer) -> Answer:
    """Our answer without a wider dtype inside."""

    def narrow(text: str) -> str:
        return re.sub(r"torch\.promote_types\(([\w.]+), torch\.float32\)", r"\1", text).replace(".float()", "")

    return Answer(right.exercise, tuple(Cell(cell.name, narrow(cell.source)) for cell in right.cells))


def is_the_bug(record: Exercise, call: Callable[..., object], bug: Bug) -> bool:
    """Whether an answer makes the same errors as a bug, within a quarter of them, and no others.

    All of them in the case that was made to see the bug; elsewhere it may be right where the bug raises, or gives what
    is not finite: an edge that was mended, and the same formula.
    """
    shown = False
    for number, case in enumerate(record.cases):
        if case.bonus:
            continue
        args = arguments(case, number, OTHER_SEED)
        own, theirs = _called(record, call, args), _called(record, bug.function, args)
        mended = case.name != bug.seen_by
        right = case.raises.__name__ if case.raises else ""
        errors = [one if isinstance(one, str) else "" for one in (own, theirs)]
        shown |= errors[1] != right
        if errors[0] != errors[1] and not (mended and errors[1] and errors[0] == right):
            return False
        if any(errors) or case.raises:
            continue
        expected = expect(record, case, args)
        wrong = [one.wrong for one in compare_all(expected, own, {})]
        if any(one.failure for one in compare_all(expected, theirs, {})):
            shown = True
            forms = wild_outputs(record, bug, args)
            if not any(all(map(_alike, own, form, expected.values, wrong, [mended] * len(own))) for form in forms):
                return False
        elif any(one is None or one.any() for one in wrong):
            return False
    return shown


def _called(record: Exercise, function: Callable[..., object], args: Args) -> Args | str:
    """The results, or the name of an error."""
    try:
        found = record.contract.results_of(record.contract.with_gradient(function), args)
        return found if all(isinstance(one, torch.Tensor) for one in found) else "no tensors"
    except Exception as error:
        return type(error).__name__


def _alike(
    own: torch.Tensor, theirs: torch.Tensor, right: torch.Tensor, wrong: torch.Tensor | None, mended: bool
) -> bool:
    """Whether results make the same errors, but for rounding. wrong: where ``own`` does; None where it has another
    shape or dtype.
    """
    if wrong is None or own.shape != theirs.shape:
        return False
    told = right.isfinite() & ~(mended & ~wrong & ~theirs.isfinite())
    if not own.isfinite()[told].equal(theirs.isfinite()[told]):
        return False
    told &= theirs.isfinite()
    rounding = 4 * torch.finfo(theirs.dtype).eps if theirs.is_floating_point() else 0.0
    own, theirs, right = (t.double()[told] for t in (own, theirs, right))
    return bool((own - theirs).norm() <= (theirs - right).norm() / 4 + rounding * right.norm())


@dataclass
class Found:
    """What many seeds show of an exercise's answers. which: those that are not as they should be."""

    answers: int = 0
    false: int = 0
    missed: int = 0
    apart: int = 0
    largest: float = 0.0
    which: tuple[str, ...] = ()


def found(record: Exercise, seeds: range) -> Found:
    """Checks every answer at every seed."""
    total = Found()
    for subject in subjects(record):
        total.answers += 1
        reports = [subject.report(seed) for seed in seeds]
        true = {bug.named for bug in record.wild if is_the_bug(record, subject.call, bug)}
        false = sum(bool(one.source) and one.source not in true for one in reports)
        missed = sum(bool(true) and not one.passed and not one.source for one in reports)
        scores = [[100 * one.score for one in reports if one.passed is passed] for passed in (True, False)]
        spread = max(max(one) - min(one) for one in scores if one)
        total.false, total.missed = total.false + false, total.missed + missed
        total.apart, total.largest = total.apart + (spread > EQUAL), max(total.largest, spread)
        if false or missed or spread > EQUAL:
            total.which += (subject.what.replace("|", "/"),)
    return total


def row(name: str, seeds: range, one: Found) -> str:
    counts = f"{one.false} | {one.missed} | {one.apart} | {one.largest:.0f}"
    return f"| `{name}` | {one.answers} | {len(seeds)} | {counts} | {'; '.join(one.which)} |"


def rows_of(text: str) -> dict[str, str]:
    """The rows of a page that were run, by exercise."""
    rows = (line for line in text.splitlines() if line.startswith("| `") and NOT_RUN not in line)
    return {line.split("`")[1]: line for line in rows}


def page(rows: list[str]) -> str:
    cells = [line.strip("| ").split(" | ") for line in rows if NOT_RUN not in line]
    answers, false, missed, apart = (sum(int(one[column]) for one in cells) for column in (1, 3, 4, 5))
    verdict = f"{answers} answers to {len(cells)} exercises: {false} false names, {missed} missed, "
    verdict += f"{apart} whose points differ."
    verdict += f" {len(rows) - len(cells)} exercises are not run." * (len(cells) < len(rows))
    return "\n".join((NOTE.format(torch=torch.__version__, verdict=verdict), HEAD, *rows)) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--exercise", nargs="+", default=[])
    asked = parser.parse_args()
    every = {name: one for name, one in EXERCISES.items() if isinstance(one, Exercise) and one.wild}
    kept = rows_of(PAGE.read_text(encoding="utf-8")) if PAGE.exists() else {}
    for name in asked.exercise or [name for name in every if name not in kept]:
        kept[name] = row(name, range(asked.seeds), found(every[name], range(asked.seeds)))
        print(kept[name], flush=True)
        rows = [kept.get(one, f"| `{one}` | {NOT_RUN} | | | | | | |") for one in every]
        PAGE.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
