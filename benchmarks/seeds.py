"""Wrong answers at many seeds: whether each gets the same points, and is named what it is and nothing else.

    python benchmarks/seeds.py                                    30 seeds; the rows that benchmarks/seeds.md lacks
    python benchmarks/seeds.py --exercise kl_forward --seeds 3    these rows anew

The answers are the bugs that the exercise names, our answer with each of its mutants and without a wider dtype inside,
and the typical mistakes and marked answers of tests/material, all in PyTorch. What a bug is does not come from the
check: an answer is a bug where all its errors are the bug's at another seed, but for mended edges (`is_the_bug`).
"""

import argparse
import functools
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "material"))

import torch
from answers import answer
from broken import mutants
from graded_kernels.autograder import EXERCISES, check
from graded_kernels.autograder.judge import Case, Exercise, Report, Settings
from graded_kernels.autograder.judge.checking.check import check_answer
from graded_kernels.autograder.judge.comparing.closeness import Expected, compare_all, expect
from graded_kernels.autograder.judge.comparing.form import as_asked
from graded_kernels.autograder.judge.comparing.trial import arguments
from graded_kernels.autograder.judge.explaining.fingerprint import wild_outputs
from graded_kernels.autograder.judge.records.record import Bug
from graded_kernels.autograder.runner import Answer, AnswerError, Cell
from graded_kernels.autograder.runner.call.answer import load
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

An answer is a bug where all that it does wrong is what the bug does wrong, within a quarter, and all of it in the case
that was made to see the bug. For *false* it may be right elsewhere, where an edge was mended, and the formula is the
same; for *missed* only where the bug raises or gives NaN or infinity.

{verdict}
"""
HEAD = "| exercise | answers | seeds | false | missed | points | largest | which | measured |\n" + "|---" * 9 + "|"
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


def is_the_bug(record: Exercise, call: Callable[..., object], bug: Bug, mended: bool) -> bool:
    """Whether all that an answer does wrong is what a bug does wrong, and all of it in the case that was made to see
    the bug. mended: whether it may be right elsewhere; else only where the bug raises, or gives what is not finite.
    """
    for number, case in enumerate(record.cases):
        if case.bonus:
            continue
        put = Put(record, case, arguments(case, number, OTHER_SEED))
        own, theirs = put.to(call), put.to(bug.function)
        if put.right(own):
            if case.name == bug.seen_by:
                return False
            if mended or put.expected is None or isinstance(theirs, str) or put.right(theirs):
                continue
        elif put.right(theirs):
            return False
        if not put.same_errors(own, theirs, bug, mended):
            return False
    return True


@dataclass(frozen=True)
class Put:
    """A case that is put to an answer and to a bug."""

    record: Exercise
    case: Case
    args: Args

    @functools.cached_property
    def expected(self) -> Expected | None:
        return None if self.case.raises else expect(self.record, self.case, self.args)

    def to(self, function: Callable[..., object]) -> Args | str:
        """The results in the form that is asked for, or the name of an error."""
        contract = self.record.contract
        try:
            found = contract.results_of(contract.with_gradient(function), self.args)
        except Exception as error:
            return type(error).__name__
        if not all(isinstance(one, torch.Tensor) for one in found):
            return "no tensors"
        return as_asked(self.expected, found)[0] if self.expected else found

    def right(self, came: Args | str) -> bool:
        if isinstance(came, str) or self.expected is None:
            return self.case.raises is not None and came == self.case.raises.__name__
        return not any(one.complaint or one.failure for one in compare_all(self.expected, came, {}))

    def same_errors(self, own: Args | str, theirs: Args | str, bug: Bug, mended: bool) -> bool:
        """Of results that are not both right."""
        elsewhere = self.case.name != bug.seen_by
        if self.expected is None or isinstance(own, str):
            names = {one if isinstance(one, str) else "" for one in (own, theirs)}
            return len(names) == 1
        if isinstance(theirs, str):
            return elsewhere
        wrong = [one.wrong for one in compare_all(self.expected, own, {})]
        if any(mask is None for mask in wrong):
            return False
        for form in wild_outputs(self.record, bug, self.args):
            masks = [one.wrong for one in compare_all(self.expected, form, {})]
            if self.right(form) or any(mask is None for mask in masks):
                continue
            places = elsewhere or all(map(_same_places, wrong, masks))
            left_out = [~form.isfinite() | (~mask & mended) for form, mask in zip(form, wrong, strict=True)]
            left_out = [elsewhere & mask for mask in left_out]
            if places and all(map(_alike, own, form, self.expected.values, left_out, [elsewhere] * len(own))):
                return True
        return False


def _same_places(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two masks of wrong elements differ in less than a quarter of the second."""
    return bool((one ^ other).sum() <= other.sum() / 4)


def _alike(own: torch.Tensor, theirs: torch.Tensor, right: torch.Tensor, left_out: torch.Tensor, coarse: bool) -> bool:
    """Whether results make the same errors, within a quarter of them. coarse: what is off by less than 1 % may be
    rounding.
    """
    told = ~left_out
    if not own.isfinite()[told].equal(theirs.isfinite()[told]):
        return False
    told &= theirs.isfinite() & right.isfinite()
    floating = theirs.is_floating_point()
    rounding = 0.0 if not floating else 0.01 if coarse else 4 * torch.finfo(theirs.dtype).eps
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
        true = {bug.named for bug in record.wild if is_the_bug(record, subject.call, bug, mended=True)}
        whole = any(is_the_bug(record, subject.call, bug, mended=False) for bug in record.wild)
        false = sum(bool(one.source) and one.source not in true for one in reports)
        missed = sum(whole and not one.passed and not one.source for one in reports)
        scores = [[100 * one.score for one in reports if one.passed is passed] for passed in (True, False)]
        spread = max(max(one) - min(one) for one in scores if one)
        total.false, total.missed = total.false + false, total.missed + missed
        total.apart, total.largest = total.apart + (spread > EQUAL), max(total.largest, spread)
        if false or missed or spread > EQUAL:
            total.which += (subject.what.replace("|", "/"),)
    return total


def row(name: str, seeds: range, one: Found) -> str:
    counts = f"{one.false} | {one.missed} | {one.apart} | {one.largest:.0f}"
    return f"| `{name}` | {one.answers} | {len(seeds)} | {counts} | {'; '.join(one.which)} | {date.today()} |"


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
        rows = [kept.get(one, f"| `{one}` | {NOT_RUN} | | | | | | | |") for one in every]
        PAGE.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
