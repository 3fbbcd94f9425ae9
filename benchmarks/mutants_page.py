"""What came of mutants, as a page: who reads a mutant that passes writes into `mutants.toml` what it is.

An entry says ``why``, and which mutants it means: ``answers`` ("silu_forward triton"), ``operators``, and texts, of the
``lines`` they stand in, ``olds`` and ``news``. In all but the operators * stands for anything; what is left out may be
anything.
"""

import datetime
import functools
import platform
import re
import tomllib
from importlib import metadata
from pathlib import Path

READ = Path(__file__).with_name("mutants.toml")
Row = dict[str, str | int]
ABOUT = """# Mutants of our answers

`python benchmarks/mutants.py --seed {seeds} --count {count} --page`, {date}, Python {python}, PyTorch {torch},
Triton {triton}.

Each answer of ours with one small mistake (benchmarks/mutation.py has the operators): a sample for each seed, which is
also the seed of the inputs. *Killed*: the check refuses it. *Noted*: right in every case that can be run, and the
report warns. *Distinction*: only a case of extra credit sees it. *Survived*: no case sees it, and it is wrong or not
read yet. *Equivalent*: the check passes it as well, and a reader called it right for every input that an exercise
promises (benchmarks/mutants.toml says why). That is a judgement, by those who made the cases and after they had seen
what passes, and no result of a check: so there is no share of killed ones.
"""


def read(kind: str, row: Row) -> str:
    """What `mutants.toml` says of a mutant that passes, among its ``equivalent`` or its ``survivor``; "" if nothing."""
    answer, text = f"{row['exercise']} {row['backend']}", {"line": row["text"], "old": row["old"], "new": row["new"]}
    for entry in entries().get(kind, []):
        patterns = [(entry.get("answers", ["*"]), answer), *((entry.get(f"{k}s", ["*"]), v) for k, v in text.items())]
        if row["operator"] in entry.get("operators", [row["operator"]]) and all(matches(*pair) for pair in patterns):
            return str(entry["why"])
    return ""


@functools.cache
def entries() -> dict[str, list[dict]]:
    return tomllib.loads(READ.read_text(encoding="utf-8"))


def matches(patterns: list[str], text: str) -> bool:
    """Whether it is one of these, in which * stands for anything."""
    return any(re.fullmatch(re.escape(p).replace(r"\*", ".*"), text, re.DOTALL) for p in patterns)


def outcome(row: Row) -> str:
    """What the check made of it; of one that it passes what a reader made of it."""
    for kind in ("killed", "noted", "distinction"):
        if kind in row:
            return kind
    return "equivalent" if read("equivalent", row) else "survived"


def table(rows: list[Row]) -> list[str]:
    """A line for each exercise, and one for all."""
    groups: dict[str, list[str]] = {}
    for row in rows:
        groups.setdefault(str(row["exercise"]), []).append(outcome(row))
    lines = [
        "| exercise | mutants | killed | noted | distinction | survived | equivalent |",
        "|---|---|---|---|---|---|---|",
    ]
    for group, came in [*sorted(groups.items()), ("**all**", [outcome(row) for row in rows])]:
        counts = [came.count(kind) for kind in ("killed", "noted", "distinction", "survived", "equivalent")]
        lines.append(f"| {group} | {len(came)} | {' | '.join(map(str, counts))} |")
    return lines


def page(rows: dict[int, list[Row]]) -> str:
    """rows: of each seed."""
    everything = [row for some in rows.values() for row in some]
    versions = {name: metadata.version(name) for name in ("torch", "triton")}
    seeds = " ".join(map(str, rows))
    lines = [
        ABOUT.format(
            seeds=seeds,
            count=max(map(len, rows.values())),
            date=datetime.date.today(),
            python=platform.python_version(),
            **versions,
        )
    ]
    for seed, some in rows.items():
        came = [outcome(row) for row in some]
        killed, survived = came.count("killed"), came.count("survived")
        lines.append(f"- seed {seed}: of {len(some)} mutants the check refuses {killed}, and {survived} survived")
    lines += ["", *table(everything), "", "## Survivors", ""]
    left = [row for row in everything if outcome(row) == "survived"]
    lines += [f"- {shown(row)}: {read('survivor', row) or 'not read yet'}" for row in left] or ["None."]
    lines += ["", "## Called equivalent", ""]
    alike = [row for row in everything if outcome(row) == "equivalent"]
    lines += [f"- {shown(row)}: {read('equivalent', row)}" for row in alike] or ["None."]
    return "\n".join(lines) + "\n"


def shown(row: Row) -> str:
    old, new = (" ".join(str(row[side]).split()) for side in ("old", "new"))
    return f"`{row['exercise']}` ({row['backend']}, {row['operator']}), `{row['text']}`: `{old}` made `{new}`"
