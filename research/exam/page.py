"""The pages of results, here and in the folder above, and the picture: ``python -m research.exam --page``."""

from collections import Counter
from pathlib import Path

from .counts import ABOUT_CHECKERS, asked, judged, of
from .front import front
from .picture import drawn
from .row import HERE, KINDS, Row, read
from .said import RESULTS, Said, kept

TEXT = """# The exam: its rows, and how to add to them

What each checker says of all of them, and what ours miss: [../README.md](../README.md). Here: the same by the kind of
mistake and by whose programs they are, with the second sources; then how to add a row or a checker.

## By kind

Found of the wrong programs that the checker could take; in brackets accused of the right ones, where there are any.
*: a kind that its authors say it sees.

| kind | wrong | right | second source | {names} |
|---|---|---|---|{bars}|
{kinds}

{meanings}

*Second source*: rows of which somebody else than the one who labelled them says the same: a maintainer and mathematics
in float64, an author and PyTorch's result, a reader and compute-sanitizer. The front page counts them apart.

## By whose programs

Found of the wrong ones, in brackets accused of the right ones; '-' where the checker takes none of them.

| family | wrong | right | {names} |
|---|---|---|{bars}|
{families}

{about_families}

## How to

- **A row**: a table `[[row]]` in a file of `rows/`. Its fields are those of `Row` in `row.py`, which says on each what
  it means; `python -m research.exam --checker sanitize --only NAME` runs it. It needs a source; a second one makes it
  count in the first columns of the front page. Where the program is yours, put it into `reports/` with its repaired
  twin; where it is somebody else's, give repository, commit and path: nothing of theirs is copied. What comes from a
  family of the project's own is made, not written: as it is read (`computed_rows.py`), or into `rows/`
  (`generate.py`). A row that is none (no source, a twin that does not differ) is named and left out, and the rest runs.
- **A checker**: a module of `checkers/` of at most 60 lines with `check(row)`, which returns a `Said`, or raises
  `Cannot` with a sentence. It is called in a process of its own, which is forked from one with PyTorch and Triton and
  has limits; `subject(row)` loads the program, after whatever has to be patched before. Where a row's fields tell that
  the checker cannot take it, `refuses(row)` returns why, and no process is started. `CRASH_IS_FOUND = True` says that a
  program which dies by a signal was found to be wrong. An adapter that raises is named as such, row by row. Its title,
  and the kinds that its authors say it sees, stand in `counts.py`.
- **Others' files**: `--checkouts FOLDER`, with a clone of each repository in `FOLDER/owner+name`, at the commit that
  the row names; of `fixes`, `repairs` and `releases` the history is read. What a family or a checker needs beside
  it, its file says (`rows/helion.toml`, `invariance.py`, `causal_kernels.py`, `checkers/triton_viz.py`). Without it
  a row is "not run", and what was said before stays.
- **Halves**: `half.py` puts each row into the public or the hidden half by its name; `labels.txt` has the hidden
  half's labels as salted hashes. The salt is not in the repository. Who publishes it lets anybody verify that no label
  was changed after a checker's result: `python -m research.exam.half` asks for it, or takes it from `EXAM_SALT`. After
  new rows `python -m research.exam.half --add` verifies the old labels, and publishes those of the new ones; those of
  `others`, and of the exercises on the decay, the router and the scale, are not published yet. The labels of the
  project's own rows can be read in this repository; the halves are for tuning on one and reporting the other, and hide
  nothing from who looks.

## Fix commits

Kernels before a fix commit of the last twelve months and as of it, drawn by a rule that was written before any was
looked at: the rule, each commit that was drawn and what became of it are in [fixes/DRAWN.md](fixes/DRAWN.md). A call
of a few lines and what is right are in `fixes/`; `python -m research.exam --family fixes --checkouts FOLDER --checker
sanitize` runs them, with a clone that has the history in `FOLDER/owner+name`.

## What this does not show

No GPU was here: kernels ran in emulators. compute-sanitizer's column is of an H100, where tritonbench was run on
2026-11-23; of that day are what Triton's interpreter and triton-viz say of tritonbench, too. An exception in Triton's
interpreter counts as found, for `allclose` as well, whose kernels ran in it: {raised} of the {alarms} right programs
that `allclose` accuses raise there, and of the others, but for a sum that cancels (`dequantised_first`), the
interpreter's result is not PyTorch's.

PyTorch is 2.13.0, whose cast to float8 differs from that of 2.11.0. The 123 answers to the exercises of the scale were
put to `check` with 2.11.0 and Triton 3.6.0, too: the verdicts are the same, and so is the case named first.

But for `fixes`, rows are not drawn from what people write: most wrong ones were written, or chosen, by the authors of
one of the checkers. Of the {own} rows of this project's own families ours were made to see many, and ours had flagged
the rows `releases` before they were read; the labels of tritonbench, racebench, gpuemu, invariance, causality, fixes,
repairs and helion are others'. A checker that finds a wrong program may find something else in it than the label says.
Right means that nobody has found a mistake.
"""
OTHERS = ("tritonbench", "racebench", "gpuemu", "invariance", "causality", "fixes", "repairs", "releases", "helion")
FAMILIES = {
    "answers": "right answers of the course, in PyTorch and Triton",
    "causality": "functions of a sequence whose kernels are causal, or take a row in the middle of a block "
    "([causal_kernels.py](causal_kernels.py))",
    "faultless": "right kernels in many styles (tests/material/faultless)",
    "fixes": "kernels of six libraries before a fix commit and as of it ([fixes/DRAWN.md](fixes/DRAWN.md))",
    "gpuemu": "gpuemu's corpus: language models' mistakes in ten operators, and controls",
    "helion": "Helion's examples, whose kernels it generates",
    "invariance": "functions of a batch that their authors call invariant, or whose launch follows the rows "
    "([invariance.py](invariance.py))",
    "order": "functions of a batch (tests/material/batch_kernels.py)",
    "others": "answers to exercises of the first chapters and of attention by authors who had only the contract, "
    "written before the grader judged these exercises; to those of the router and of the scale by one who had read our "
    "answers and no case, before the grader judged them; kinds by the words of their first lines ([others](others))",
    "pairs": "a feature of Triton used right, and with one mistake (tests/material/pairs)",
    "planted": "small kernels with one bug each (tests/material/planted)",
    "racebench": "TritonRaceBench, labelled by triton-viz's authors",
    "repairs": "kernels before a repair in their library's history and as of it ([repairs.py](repairs.py))",
    "releases": "faults that libraries released, called beside what is right ([releases.py](releases.py))",
    "reports": "programs after public bug reports, with a repaired twin",
    "sequences": "functions of a sequence ([sequences.py](sequences.py))",
    "tritonbench": "TritonBench_G, labelled by its maintainers; the rest of what is flagged was read by hand",
    "wild": "functions bug for bug as libraries shipped them (kernels/wild)",
}


def text(rows: dict[str, Row], said: dict[str, dict[str, Said]]) -> str:
    every, those = list(rows.values()), asked(said)
    alarms = [one for row, one in said.get("allclose", {}).items() if one.found and not rows[row].wrong]
    return TEXT.format(
        alarms=len(alarms),
        raised=sum(one.says.startswith("raises") for one in alarms),
        names=" | ".join(ABOUT_CHECKERS[name][0] for name in those),
        bars="|".join("---" for _ in those),
        kinds="\n".join(of_a_kind(kind, [row for row in every if row.kind == kind], those) for kind in KINDS),
        meanings="\n".join(f"- *{kind}*: {meaning}" for kind, meaning in KINDS.items()),
        families="\n".join(
            of_a_family(family, [row for row in every if row.family == family], those) for family in FAMILIES
        ),
        about_families="\n".join(f"- *{family}*: {about}" for family, about in FAMILIES.items()),
        own=sum(row.family not in OTHERS for row in every),
    )


def of_a_kind(kind: str, rows: list[Row], those: dict[str, dict[str, Said]]) -> str:
    count = Counter(row.wrong for row in rows)
    second = sum(bool(row.second) for row in rows)
    cells = [
        cell(rows, one, star=kind in ABOUT_CHECKERS[name][1] and judged(rows, one, True)[1] > 0)
        for name, one in those.items()
    ]
    return f"| {kind} | {count[True]} | {count[False]} | {second} | {' | '.join(cells)} |"


def of_a_family(family: str, rows: list[Row], those: dict[str, dict[str, Said]]) -> str:
    count = Counter(row.wrong for row in rows)
    return f"| {family} | {count[True]} | {count[False]} | {' | '.join(cell(rows, one) for one in those.values())} |"


def cell(rows: list[Row], said: dict[str, Said], star: bool = False) -> str:
    found, accused = judged(rows, said, True), judged(rows, said, False)
    return of(*found) + "*" * star + (f" ({of(*accused)})" if accused[1] else "")


def write(folder: Path = HERE, above: Path = HERE.parent) -> None:
    rows, complaints = read()
    said = {name: kept(name) for name in ABOUT_CHECKERS}
    said = {name: {row: one for row, one in told.items() if row in rows} for name, told in said.items() if told}
    drawn(rows, said, folder / "results.svg")
    (folder / "README.md").write_text(text(rows, said), encoding="utf-8")
    (above / "README.md").write_text(front(rows, said), encoding="utf-8")
    unknown = [
        f"{file.stem} has no title in counts.py" for file in RESULTS.glob("*.jsonl") if file.stem not in ABOUT_CHECKERS
    ]
    for complaint in complaints + sorted(unknown):
        print(f"left out: {complaint}")
