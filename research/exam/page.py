"""The page of results, README.md, and its picture: ``python -m research.exam --page``."""

import textwrap
from collections import Counter
from pathlib import Path

import matplotlib

matplotlib.use("svg")

import matplotlib.pyplot as plt  # noqa: E402

from .row import HERE, KINDS, Row, read  # noqa: E402
from .said import Said, kept  # noqa: E402

OURS = ("sanitize", "check", "compare", "neighbours")
ABOUT_CHECKERS = {  # name: what it is, and the kinds that its authors say it sees
    "sanitize": ("graded-kernels sanitize", ("memory", "race", "uninitialised", "state", "compile")),
    "check": ("graded-kernels check", ("values at an edge", "dtype", "layout", "gradient", "state")),
    "compare": ("graded-kernels compare", ("values at an edge", "dtype", "layout", "gradient", "state", "memory")),
    "neighbours": ("graded-kernels neighbours", ("order",)),
    "allclose": ("allclose as KernelBench", ("values at an edge", "dtype", "gradient")),
    "interpreter": ("Triton's interpreter", ()),
    "triton_viz": ("triton-viz 3.0", ("memory",)),
    "gradcheck": ("PyTorch's gradcheck", ("gradient",)),
    "compute_sanitizer": ("compute-sanitizer (H100)", ("memory",)),
    "torch_cuda_sanitizer": ("torch.cuda._sanitizer", ("race",)),
}
TEXT = """# The exam that checkers take

`python -m research.exam`: {rows} programs, {wrong} of which are wrong in a known way and {right} right, and what each
checker says of them. Not one checker sees every kind. No GPU was here: kernels ran in emulators; only
compute-sanitizer's column is of an H100. What it, Triton's interpreter and triton-viz say of tritonbench was
recorded on 2026-11-23 ([../checkers/tritonbench.md](../checkers/tritonbench.md)); an exception of the interpreter
counts as found.

![{alt}](results.svg)

**found**: of the wrong programs that the checker could take, those that it calls wrong. **accused**: of the right ones
that it could take, those that it calls wrong. **cannot**: programs that it has nothing to say of (no Triton kernel, no
reference, not run here). *seconds*: the middle one, by the clock, on two cores that were shared.

| checker | found | accused | cannot | not asked yet | seconds |
|---|---|---|---|---|---|
{checkers}

## By kind

Found of the wrong programs that the checker could take; in brackets accused of the right ones, where there are any.
*: a kind that its authors say it sees.

| kind | wrong | right | second source | {names} |
|---|---|---|---|{bars}|
{kinds}

{meanings}

*Second source*: rows of which somebody else than the one who labelled them says the same: a maintainer and mathematics
in float64, an author and PyTorch's result, a reader and compute-sanitizer. Rows with two sources alone,
without compute-sanitizer, which is the second source of many of tritonbench's:

| checker | found | accused |
|---|---|---|
{second}

## What ours miss, and whom they accuse

Misses of a kind that the checker says it sees, and every false alarm. `check` and `compare` are asked for the rows that
are an exercise of the course, or that have a reference.

Two kinds of reasons are in the labels. Programs that store *equal values* in one element are a race to those who
label them so, and a hint to `sanitize`, as no order changes the result. *Lanes of a block pointer outside its shape*
have an undefined value by Triton's documentation where no `padding_option` is given; a kernel whose results are made of
them is right by its library's tests, and `sanitize` accuses it, as it finds those of tritonbench that were read by hand
and labelled wrong for that.

{ours}

## Families

| family | wrong | right | what it is |
|---|---|---|---|
{families}

## How to

- **A row**: a table `[[row]]` in a file of `rows/`. Its fields are those of `Row` in `row.py`, which says on each what
  it means; `python -m research.exam --checker sanitize --only NAME` runs it. It needs a source; a second one makes it
  count in the last table. Where the program is yours, put it into `reports/` with its repaired twin; where it is
  somebody else's, give repository, commit and path: nothing of theirs is copied. What comes from a family of the
  project's own (`generate.py`) is made, not written.
- **A checker**: a module of `checkers/` of at most 60 lines with `check(row)`, which returns a `Said`, or raises
  `Cannot` with a sentence. It is called in a process of its own, which is forked from one with PyTorch and Triton and
  has limits; `subject(row)` loads the program, after whatever has to be patched before. `CRASH_IS_FOUND = True` says
  that a program which dies by a signal was found to be wrong.
- **Others' files**: `--checkouts FOLDER`, with a checkout of each repository in `FOLDER/owner+name`, at the commit that
  the row names.
- **Halves**: `half.py` puts each row into the public or the hidden half by its name; `labels.txt` has the hidden
  half's labels as salted hashes. The salt is not in the repository. Who publishes it lets anybody verify that no label
  was changed after a checker's result: `python -m research.exam.half SALT`. The labels of the project's own rows can be
  read in this repository; the halves are for tuning on one and reporting the other, and hide nothing from who looks.

## Fix commits

Kernels before a fix commit of the last twelve months and as of it, drawn by a rule that was written before any was
looked at: the rule, each commit that was drawn and what became of it are in [fixes/DRAWN.md](fixes/DRAWN.md). A call
of a few lines and what is right are in `fixes/`; `python -m research.exam --family fixes --checkouts FOLDER --checker
sanitize` runs them, with a clone that has the history in `FOLDER/owner+name`.

## What this does not show

`allclose` gets draws of each record's ordinary values, which in four exercises leave out what the exercise is about
(averages over ranks, two merged pieces, a gradient from above). With draws of a case that has it, it accepts 83 of
129 functions of `wild` ([../checkers/allclose.md](../checkers/allclose.md)).
But for `fixes`, rows are not drawn from what people write: most wrong ones were written, or chosen, by the authors of
one of the checkers. Of the {own} rows of this project's own families ours were made to see many; the labels of
tritonbench, racebench, fixes and repairs are others'. A checker that finds a wrong program may find something else in
it than the label says. Right means that nobody has found a mistake.
"""
FAMILIES = {
    "answers": "right answers of the course, in PyTorch and Triton",
    "faultless": "right kernels in many styles (tests/material/faultless)",
    "fixes": "kernels of six libraries before a fix commit and as of it ([fixes/DRAWN.md](fixes/DRAWN.md))",
    "order": "functions of a batch (tests/material/batch_kernels.py)",
    "pairs": "a feature of Triton used right, and with one mistake (tests/material/pairs)",
    "planted": "small kernels with one bug each (tests/material/planted)",
    "racebench": "TritonRaceBench, labelled by triton-viz's authors",
    "repairs": "kernels before a repair in their library's history and as of it (../audit/fixes.md)",
    "reports": "programs after public bug reports, with a repaired twin",
    "tritonbench": "TritonBench_G, labelled by its maintainers; the rest of what is flagged was read by hand",
    "wild": "functions bug for bug as libraries shipped them (kernels/wild)",
}


def judged(rows: list[Row], said: dict[str, Said], wrong: bool) -> tuple[int, int]:
    """How many of the wrong (or right) rows are called wrong, and of how many that could be judged."""
    told = [said[row.name] for row in rows if row.wrong == wrong and row.name in said and not said[row.name].cannot]
    return sum(one.found for one in told), len(told)


def of(found: int, all_of_them: int) -> str:
    return f"{found} of {all_of_them}" if all_of_them else "-"


def middle(values: list[float]) -> str:
    return f"{sorted(values)[len(values) // 2]:.1f}" if values else "-"


def text(rows: dict[str, Row], said: dict[str, dict[str, Said]]) -> str:
    every = list(rows.values())
    asked = {name: one for name, one in said.items() if any(not s.cannot for s in one.values())}
    checkers = []
    for name, (title, _) in ABOUT_CHECKERS.items():
        one = said.get(name, {})
        cannot = sum(bool(s.cannot) for s in one.values() if s.row in rows)
        if name not in asked:
            checkers.append(f"| {title} | not run | | | | |")
            continue
        seconds = middle([s.seconds for s in one.values() if not s.cannot])
        missing = sum(row not in one for row in rows)
        found, accused = of(*judged(every, one, True)), of(*judged(every, one, False))
        checkers.append(f"| {title} | {found} | {accused} | {cannot} | {missing} | {seconds} |")
    kinds = []
    for kind in KINDS:
        mine = [row for row in every if row.kind == kind]
        cells = [cell(mine, name, one, kind) for name, one in asked.items()]
        wrong = sum(row.wrong for row in mine)
        second = sum(bool(row.second) for row in mine)
        kinds.append(f"| {kind} | {wrong} | {len(mine) - wrong} | {second} | {' | '.join(cells)} |")
    sure = [row for row in every if row.second]
    count = Counter((row.family, row.wrong) for row in every)
    return TEXT.format(
        rows=len(every),
        wrong=sum(row.wrong for row in every),
        right=sum(not row.wrong for row in every),
        alt=alt(every, asked),
        checkers="\n".join(checkers),
        names=" | ".join(ABOUT_CHECKERS[name][0] for name in asked),
        bars="|".join("---" for _ in asked),
        kinds="\n".join(kinds),
        meanings="\n".join(f"- *{kind}*: {meaning}" for kind, meaning in KINDS.items()),
        second="\n".join(
            f"| {ABOUT_CHECKERS[name][0]} | {of(*judged(sure, one, True))} | {of(*judged(sure, one, False))} |"
            for name, one in asked.items()
            if name != "compute_sanitizer"  # which is the second source of tritonbench's
        ),
        ours="\n\n".join(mistakes(every, name, asked[name]) for name in OURS if name in asked),
        families="\n".join(
            f"| {family} | {count[family, True]} | {count[family, False]} | {about} |"
            for family, about in FAMILIES.items()
        ),
        own=sum(row.family not in ("tritonbench", "racebench", "fixes", "repairs") for row in every),
    )


def cell(rows: list[Row], name: str, said: dict[str, Said], kind: str) -> str:
    found, accused = judged(rows, said, True), judged(rows, said, False)
    star = "*" if kind in ABOUT_CHECKERS[name][1] and found[1] else ""
    return f"{of(*found)}{star}" + (f" ({of(*accused)})" if accused[1] else "")


def mistakes(rows: list[Row], name: str, said: dict[str, Said]) -> str:
    """The checker's misses and false alarms, a line each."""
    title, sees = ABOUT_CHECKERS[name]
    told = [(row, said[row.name]) for row in rows if row.name in said and not said[row.name].cannot]
    missed = [
        f"- missed **{row.name}** ({row.kind}): {row.place}" + (f". It gives {one.says}" if one.says else "")
        for row, one in told
        if row.wrong and not one.found and row.kind in sees
    ]
    accused = [f"- accused **{row.name}**: {one.says}" for row, one in told if one.found and not row.wrong]
    other = sum(one.found and row.wrong and one.kind not in ("", row.kind) for row, one in told)
    named = [f"In {other} of the wrong programs that it finds, what it names first is of another kind.", ""]
    return "\n".join([f"### {title}", "", *(named if other else ()), *(missed + accused or ["None."])])


def alt(rows: list[Row], asked: dict[str, dict[str, Said]]) -> str:
    shares = []
    for name, one in asked.items():
        found, accused = judged(rows, one, True), judged(rows, one, False)
        shares.append(f"{ABOUT_CHECKERS[name][0]} finds {of(*found)} wrong and accuses {of(*accused)} right")
    return "Checkers by kinds of mistakes, the darker the more of the wrong programs are found. " + "; ".join(shares)


def drawn(rows: dict[str, Row], said: dict[str, dict[str, Said]], file: Path) -> None:
    """A grid: kinds by checkers, the share of the wrong programs of the kind that is found."""
    every, names = list(rows.values()), [name for name in ABOUT_CHECKERS if name in said]
    names = [name for name in names if any(not one.cannot for one in said[name].values())]
    plt.rcParams["svg.hashsalt"] = "exam"
    figure, axes = plt.subplots(figsize=(9.5, 5.3))
    counted = [f"{kind} ({sum(row.wrong and row.kind == kind for row in every)})" for kind in KINDS]
    for y, kind in enumerate(KINDS):
        wrong = [row for row in every if row.kind == kind and row.wrong]
        for x, name in enumerate(names):
            found, taken = judged(wrong, said[name], True)
            share = found / taken if taken else 0
            axes.add_patch(plt.Rectangle((x, y), 0.96, 0.9, color=plt.cm.Blues(0.05 + 0.8 * share)))
            label = f"{found} of {taken}" if taken else "·"
            axes.text(x + 0.48, y + 0.45, label, ha="center", va="center", color="white" if share > 0.6 else "black")
    axes.set_xlim(0, len(names))
    axes.set_ylim(len(KINDS), 0)
    heads = [textwrap.fill(ABOUT_CHECKERS[name][0], 11) for name in names]  # no wider than a column
    axes.set_xticks([x + 0.48 for x in range(len(names))], heads)
    axes.xaxis.tick_top()
    axes.set_yticks([y + 0.45 for y in range(len(KINDS))], counted)
    axes.tick_params(length=0, labelsize=9)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_xlabel("wrong programs found, of those that the checker takes; in brackets: all of the kind")
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)


def write(folder: Path = HERE) -> None:
    rows, complaints = read()
    said = {name: kept(name) for name in ABOUT_CHECKERS}
    said = {name: {row: one for row, one in told.items() if row in rows} for name, told in said.items() if told}
    drawn(rows, said, folder / "results.svg")
    (folder / "README.md").write_text(text(rows, said), encoding="utf-8")
    for complaint in complaints:
        print(f"left out: {complaint}")
