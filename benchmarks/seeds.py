"""Wrong answers at many seeds: whether each is named what it is and nothing else, and gets the same points.

    python benchmarks/seeds.py                                    30 seeds; the rows that benchmarks/seeds.md lacks
    python benchmarks/seeds.py --exercise kl_forward --seeds 3    these rows anew
    python benchmarks/seeds.py --draw 7 --points 12               points alone, of answers drawn for 12 minutes
    python benchmarks/seeds.py --draw 8 --exercise clamped_kl --points 2          of answers to these exercises

The answers are the bugs that the exercise names, our answer with each of its mutants and without a wider dtype inside,
and the typical mistakes and marked answers of tests/material: in PyTorch where names are asked, also in Triton where
points are. What a bug is does not come from the check: an answer is a bug where all its errors are the bug's at another
seed, but for mended edges (`is_the_bug`).
"""

import argparse
import functools
import random
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
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
from graded_kernels.autograder.runner.call.contract import Args
from marks import MARKED
from mistakes import MISTAKES
from wrong_answers import WRONG

NOTE = """# Wrong answers at many seeds

PyTorch {torch}.

Every wrong answer of the project: the bugs that shipped and the common mistakes, our answers with a mutant and in the
dtype of their inputs, the typical wrong answers of tests/material. Goal: 0 everywhere.

## Points

{points}

## Names

`python benchmarks/seeds.py`, answers in PyTorch. *False*: seeds at which a bug is named that the answer is not.
*Missed*: at which none is named though it is one.

An answer is a bug where all that it does wrong is what the bug does wrong, within a quarter, and all of it in the case
that was made to see the bug. For *false* it may be right elsewhere, where an edge was mended, and the formula is the
same; for *missed* only where the bug raises or gives NaN or infinity.

{verdict}
"""
HEAD = "| exercise | answers | seeds | false | missed | which | measured |\n" + "|---" * 7 + "|"
POINTS = """`python benchmarks/seeds.py {run} --points {minutes:.1f}`, {date}: {answers} of {all} answers in
PyTorch and Triton, in an order drawn with this number, for {minutes:.1f} minutes of processor time, each at {seeds}
seeds. For {same} of them the same categories fail at every seed at which one fails: the points of {apart}
differ{largest}. For the other {changing} the draw decides which fail: points differ between seeds at which the same do
for {within}.{which}"""
OTHER_SEED = 1001
EQUAL = 1e-6  # points
PAGE = Path(__file__).with_suffix(".md")
NOT_RUN = "not run"


@dataclass(frozen=True)
class Subject:
    """A wrong answer. report: of a check with this seed."""

    what: str
    report: Callable[[int], Report]
    answer: Answer | Callable[..., object]

    @functools.cached_property
    def call(self) -> Callable[..., object]:
        """The answer as a function. Raises AnswerError where it cannot be loaded."""
        return self.answer.load() if isinstance(self.answer, Answer) else self.answer


def subjects(record: Exercise, backend: str = "torch") -> Iterator[Subject]:
    """Each wrong answer to an exercise."""
    if backend not in record.backends:
        return
    for bug in record.wild if backend == "torch" else ():
        yield Subject(bug.who, functools.partial(_of, record, bug.function), bug.function)
    for what, wrong in _programs(record.name, backend):
        yield Subject(what, functools.partial(_report, wrong, backend), wrong)


def _of(record: Exercise, function: Callable[..., object], seed: int) -> Report:
    return check(record.name, lambda *args: function(*args), backend="torch", seed=seed)


def _report(wrong: Answer, backend: str, seed: int) -> Report:
    return check_answer(wrong, Settings(backend, seed=seed, compiler=False))


def _programs(name: str, backend: str) -> Iterator[tuple[str, Answer]]:
    """Texts of the corpora, each with what is wrong in it."""
    for one in mutants().get((name, backend), ()):
        yield one.why, answer(name, backend, one.old, one.new)
    for one in (*WRONG, *MARKED):
        if (one.exercise, one.backend) == (name, backend) and not one.isolated:
            yield one.what, one.answer
    yield from ((one.why, one.answer) for one in MISTAKES if (one.exercise, one.backend) == (name, backend))
    if backend == "torch":
        yield "in the dtype of its inputs", _narrow(answer(name, backend))


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
    which: tuple[str, ...] = ()


def found(record: Exercise, seeds: range) -> Found:
    """Checks every answer at every seed."""
    total = Found()
    for subject in subjects(record):
        try:
            call = subject.call
        except AnswerError:
            continue
        total.answers += 1
        reports = [subject.report(seed) for seed in seeds]
        true = {bug.named for bug in record.wild if is_the_bug(record, call, bug, mended=True)}
        whole = any(is_the_bug(record, call, bug, mended=False) for bug in record.wild)
        false = sum(bool(one.source) and one.source not in true for one in reports)
        missed = sum(whole and not one.passed and not one.source for one in reports)
        total.false, total.missed = total.false + false, total.missed + missed
        if false or missed:
            total.which += (subject.what.replace("|", "/"),)
    return total


def row(name: str, seeds: range, one: Found) -> str:
    counts = f"{one.false} | {one.missed}"
    return f"| `{name}` | {one.answers} | {len(seeds)} | {counts} | {'; '.join(one.which)} | {date.today()} |"


@dataclass(frozen=True)
class Spread:
    """Points of an answer at many seeds. name: of the answer. categories: the sets of them that fail at some seed.
    largest: the largest difference between seeds at which the same categories fail.
    """

    name: str
    categories: int
    largest: float


def spread(name: str, reports: Iterable[Report]) -> Spread:
    """The spread of these; seeds at which nothing fails are left out."""
    scores: dict[frozenset[str], list[float]] = defaultdict(list)
    for report in reports:
        failing = [case for case in report.cases if case.status != "pass" and not case.bonus]
        if failing:
            scores[frozenset(str(case.category) for case in failing)].append(100 * report.score)
    largest = max((max(points) - min(points) for points in scores.values()), default=0.0)
    return Spread(name, len(scores), largest)


def drawn(records: Iterable[Exercise], draw: int) -> list[tuple[str, Subject]]:
    """All answers in PyTorch and Triton, with their names, in an order that this number decides."""
    every = [
        (f"{subject.what}, `{record.name}` ({backend})".replace("|", "/"), subject)
        for record in records
        for backend in ("torch", "triton")
        for subject in subjects(record, backend)
    ]
    random.Random(draw).shuffle(every)
    return every


def points(every: list[tuple[str, Subject]], seeds: range, minutes: float, run: str) -> Iterator[str]:
    """The paragraph on points after each answer, of as many as this many minutes of processor time are enough for."""
    spreads: list[Spread] = []
    begun = time.process_time()
    for name, subject in every:
        if time.process_time() > begun + 60 * minutes:
            break
        spreads.append(spread(name, map(subject.report, seeds)))
        print(spreads[-1], flush=True)
        yield paragraph_of(spreads, len(every), seeds, (time.process_time() - begun) / 60, run)


def paragraph_of(spreads: list[Spread], every: int, seeds: range, minutes: float, run: str) -> str:
    """The paragraph on points of these answers, drawn from so many. run: the options that drew them."""
    same = [one for one in spreads if one.categories <= 1]
    apart, within = (
        [one for one in spreads if one.largest > EQUAL and (one.categories <= 1) is steady] for steady in (True, False)
    )
    largest = f", by {max(one.largest for one in apart):.0f} at most" if apart else ""
    told = "; ".join(f"{one.name}, by {one.largest:.0f}" for one in (*apart, *within))
    counts = {"same": len(same), "changing": len(spreads) - len(same), "apart": len(apart), "within": len(within)}
    fields = counts | {"all": every, "answers": len(spreads), "seeds": len(seeds), "minutes": minutes}
    return POINTS.format(**fields, run=run, date=date.today(), largest=largest, which=f" {told}." if told else "")


def joined(section: str, paragraph: str) -> str:
    """The section on points with this paragraph, in place of the one on the same run, if there is one."""
    run = paragraph.partition(" --points")[0]
    others = [text for text in section.split("\n\n") if text != NOT_RUN and text.partition(" --points")[0] != run]
    return "\n\n".join((*others, paragraph))


def rows_of(text: str) -> dict[str, str]:
    """The rows of a page that were run, by exercise."""
    rows = (line for line in text.splitlines() if line.startswith("| `") and NOT_RUN not in line)
    return {line.split("`")[1]: line for line in rows}


def page(rows: list[str], points: str) -> str:
    cells = [line.strip("| ").split(" | ") for line in rows if NOT_RUN not in line]
    answers, false, missed = (sum(int(one[column]) for one in cells) for column in (1, 3, 4))
    verdict = f"{answers} answers to {len(cells)} exercises: {false} false names, {missed} missed."
    verdict += f" {len(rows) - len(cells)} exercises are not run." * (len(cells) < len(rows))
    return "\n".join((NOTE.format(torch=torch.__version__, points=points, verdict=verdict), HEAD, *rows)) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--exercise", nargs="+", default=[])
    parser.add_argument(
        "--points", type=float, default=0, metavar="MINUTES", help="of processor time, for points alone"
    )
    parser.add_argument("--draw", type=int, default=0, help="decides the order of the answers whose points are asked")
    asked = parser.parse_args()
    every = {name: one for name, one in EXERCISES.items() if isinstance(one, Exercise) and one.wild}
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    kept, section = rows_of(text), text.partition("## Points\n\n")[2].partition("\n\n## Names")[0] or NOT_RUN

    def write(section: str) -> None:
        rows = [kept.get(one, f"| `{one}` | {NOT_RUN} | | | | | |") for one in every]
        PAGE.write_text(page(rows, section), encoding="utf-8")

    if asked.points:
        names = asked.exercise or list(EXERCISES)
        records = [one for one in map(EXERCISES.__getitem__, names) if isinstance(one, Exercise)]
        run = " ".join((f"--draw {asked.draw}", *(["--exercise", *names] if asked.exercise else [])))
        for paragraph in points(drawn(records, asked.draw), range(asked.seeds), asked.points, run):
            write(joined(section, paragraph))
        return
    for name in asked.exercise or [name for name in every if name not in kept]:
        kept[name] = row(name, range(asked.seeds), found(every[name], range(asked.seeds)))
        print(kept[name], flush=True)
        write(section)


if __name__ == "__main__":
    main()
