"""A row of the exam: one program, what is wrong with it or that nothing is, and who says so."""

import tomllib
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROWS = HERE / "rows"
KINDS = {
    "values at an edge": "some inputs give wrong numbers: an exact zero, infinity, an empty row, a large mean, a label",
    "dtype": "computed in, or rounded to, another dtype than promised",
    "layout": "right for contiguous tensors alone",
    "memory": "an access outside of a tensor",
    "race": "programs or lanes meet in one element, and their order decides",
    "uninitialised": "the result holds what nobody wrote, or what a masked-off lane happens to hold",
    "state": "an argument is changed, or what an earlier call left decides",
    "gradient": "the gradient is not that of the function",
    "order": "a row's bits depend on the rows beside it",
    "causality": "a position's bits depend on what comes behind it",
    "compile": "no GPU compiles or launches it",
}
WAYS = {
    "exercise": "a function, called on the ordinary values of a record, whose mathematics in float64 is right",
    "answer": "a file with an answer to an exercise, a function of its name; otherwise the same",
    "program": "a function without arguments that launches kernels, and returns a result and the right one",
    "pair": "the same, told whether to be wrong",
    "file": "a program of its own; where NAME_reference.py lies beside it, that has the right function and arguments",
    "batch": "a function of a batch, from a table of (function, arguments, places of the batch)",
    "rows": "somebody else's function of a batch, by its name in invariance.py",
    "sequence": "a function of a sequence, from a table that has the dimension of time, too",
    "positions": "somebody else's function of a sequence, by its name in causal_kernels.py",
    "script": "somebody else's file, run as it is: repository, commit and path say which",
    "fix": "somebody else's kernels as of a commit, called by a function of ours that says what is right",
    "repair": "the same, by the name of a call in repairs.py, which says nothing of what is right",
    "launch": "somebody else's kernel, arguments and grid, by the name of a row of their table",
    "arrays": "somebody else's function of NumPy arrays, by its folder; gpuemu.py has inputs, and what is right",
}
CONTRACT = "its author, who had only the contract; the first line says how"  # of an answer to an exercise
OTHERS = ("rows", "positions", "script", "fix", "repair", "launch", "arrays")


@dataclass(frozen=True)
class Row:
    """name: unique. kind: of KINDS, for a right row what it could be accused of. place: what is wrong, and where.
    how: of WAYS. entry: module:function, or a file. source: who says so. second: who says so, too, "" for nobody.
    twin: the row of the same program repaired. exercise, backend: of a record. repository, commit: of others' files.
    """

    name: str
    kind: str
    wrong: bool
    how: str
    entry: str
    source: str
    licence: str
    place: str = ""
    second: str = ""
    twin: str = ""
    exercise: str = ""
    backend: str = ""
    repository: str = ""
    commit: str = ""

    @property
    def family(self) -> str:
        return self.name.partition("/")[0]


def read(folder: Path | None = None) -> tuple[dict[str, Row], list[str]]:
    """The rows by name, in order, and a sentence on each that is left out. folder: whose files are read; None for
    `rows/` and what is computed beside it (`computed_rows`).
    """
    rows: dict[str, Row] = {}
    written, complaints = tables_of(folder or ROWS)
    tables = written if folder else written | computed()
    for family, number, table in ((f, n, t) for f in sorted(tables) for n, t in enumerate(tables[f], 1)):
        name = table.get("name") or f"row {number} of {family}"
        why = misfit(table) or ("there are two rows of this name" if name in rows else "")
        if why:
            complaints.append(f"{name}: {why}")
        else:
            rows[name] = Row(**table)
    for name, why in [(row.name, why) for row in rows.values() if (why := untwinned(row, rows))]:
        complaints.append(f"{name}: {why}")
        del rows[name]
    return rows, complaints


def tables_of(folder: Path) -> tuple[dict[str, list[dict]], list[str]]:
    """The tables of each file of a folder, and a sentence on each file that is left out."""
    tables, complaints = {}, []
    for file in sorted(folder.glob("*.toml")):
        try:
            rows = tomllib.loads(file.read_text(encoding="utf-8")).get("row", [])
        except ValueError as error:  # no TOML, or no UTF-8
            complaints.append(f"{file.name} is no TOML: {error}")
            continue
        if isinstance(rows, list):
            tables[file.name] = rows
        else:
            complaints.append(f"{file.name}: a row is a table [[row]], with two brackets")
    return tables, complaints


def computed() -> dict[str, list[dict]]:
    """The tables of each family that no file holds, by the name that its file would have."""
    from .computed_rows import COMPUTED  # which needs PyTorch, Triton and the exercises; a row needs none of them

    return {f"{family}.toml": list(rows()) for family, rows in COMPUTED.items()}


def misfit(table: dict) -> str:
    """Why a table is no row, in a sentence; "" where it is one."""
    known = {field.name: field for field in fields(Row)}
    unknown = [name for name in table if name not in known]
    missing = [name for name, field in known.items() if field.default is MISSING and table.get(name) in (None, "")]
    if unknown or missing:
        return f"it has no {missing[0]}" if missing else f"no row has a {unknown[0]}"
    for name, value in table.items():
        if not isinstance(value, bool if name == "wrong" else str):
            return f"{name} is {value!r}, and not {'true or false' if name == 'wrong' else 'a text'}"
    if table["kind"] not in KINDS:
        return f"{table['kind']!r} is no kind; kinds are {', '.join(KINDS)}"
    if table["how"] not in WAYS:
        return f"{table['how']!r} is no way to run it; ways are {', '.join(WAYS)}"
    if table["wrong"] and not table.get("place"):
        return "it is wrong, and place does not say what is"
    if table["how"] in OTHERS and not (table.get("repository") and table.get("commit")):
        return "somebody else's program needs repository and commit"
    if table["how"] in ("file", "answer") and not (HERE / table["entry"]).is_file():
        return f"there is no file {table['entry']} in research/exam"
    if table["how"] in ("exercise", "answer") and not table.get("exercise"):
        return "what is called as an exercise needs the exercise's name"
    return ""


def untwinned(row: Row, rows: dict[str, Row]) -> str:
    """What is wrong with a row's twin, "" where nothing is."""
    if not row.twin:
        return ""
    twin = rows.get(row.twin)
    if twin is None:
        return f"its twin {row.twin} is no row"
    if twin.wrong == row.wrong:
        return f"its twin {row.twin} is {'wrong' if row.wrong else 'right'}, too"
    if (twin.entry, twin.commit) == (row.entry, row.commit) and row.how != "pair":
        return f"its twin {row.twin} is the same program"
    if row.how == "file" and body(row) == body(twin):
        return f"its twin {row.twin} does not differ from it"
    return ""


def body(row: Row) -> str:
    """A file's text without comments of a whole line."""
    lines = (HERE / row.entry).read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("#"))


def chosen(rows: dict[str, Row], kind: str = "", family: str = "", only: str = "") -> Iterator[Row]:
    """The rows of a kind, of a family, and whose name has ``only`` in it."""
    for row in rows.values():
        if row.kind.startswith(kind) and row.family.startswith(family) and only in row.name:
            yield row
