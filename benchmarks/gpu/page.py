"""benchmarks/gpu.md from what is kept; what was not run says so in its row."""

from collections.abc import Callable, Iterator

from benchmarks.accuracy import Distance, row

from .arithmetic import FUNCTIONS, PRECISIONS
from .errors import ANSWERS, PRODUCTS
from .kept import Kept
from .machine import PACKAGES
from .operations import OPERATIONS, Operation, untimed
from .peers import AUTHORS
from .planted_bugs import MODULES, TOOLS, bugs_of
from .speed import text

NOT_RUN, FAILED, NONE = "not run", "failed", "-"
GOAL = 0.9  # of the copy bandwidth
KINDS = ("float16", "bfloat16", "float32")
NOTHING = "The machine: not run.\n"
BANDWIDTH = """
## Share of the copy bandwidth

The bytes that have to be read and written once, over the kernel's median time, as a share of what a copy of 512 MiB
reaches in the same process; three sizes, smallest first, of which the first may fit into the L2 cache. `torch` is the
formula in PyTorch's operators, `torch.compile` the same compiled. `*`: outside the tolerance of the exercise. Goal:
ours at 0.90 or more at the largest size, and no other there faster.

"""
ARITHMETIC = """
## Share of PyTorch's matrix product

For kernels that are limited by arithmetic: operations a second, as a share of what PyTorch's product of two matrices of
8192 x 8192 reaches in that dtype (float32: without TF32, here as in our kernels).

"""
PLANTED = """
## Planted bugs

The bugs of tests/material/planted: what the launch alone shows on the device, the first complaint of each tool of
compute-sanitizer and how many there are (without PyTorch's caching allocator), and the emulator's word.

"""
INSTRUCTIONS = """
## Approximate instructions

The worst error in ulp over a million numbers in float32. On a GPU `tl.exp` is ex2.approx, `/` is div.full and `tl.sqrt`
sqrt.approx; the emulator is tighter.

"""
TF32_NOTE = """
A product of float32 matrices, in ulp of the sum of the magnitudes of its terms:

"""
ERRORS = """
## The errors that accuracy.md prints

Worst error in ulp, and in parentheses the largest share of the tolerance, of our Triton answers: see accuracy.md. TF32:
the same answers with `input_precision="tf32"` in their products.

"""


def page(kept: Kept) -> str:
    return "\n".join(
        (
            head(kept),
            BANDWIDTH + speeds(kept, lambda operation: operation.flops is None),
            ARITHMETIC + speeds(kept, lambda operation: operation.flops is not None),
            PLANTED + planted(kept),
            INSTRUCTIONS + instructions(kept),
            TF32_NOTE + products(kept),
            ERRORS + errors(kept),
            tests(kept),
        )
    )


def head(kept: Kept) -> str:
    lines = ["# On a GPU", "", "Made by `make gpu`. Goal: everything below in at most 25 minutes.", ""]
    if names := untimed():
        lines += [f"Not timed, without a row in benchmarks/gpu/operations.py: {', '.join(names)}.", ""]
    machine = kept.found("machine")
    if not machine:
        return "\n".join([*lines, NOTHING])
    versions = ", ".join(f"{name} {machine[name]}" for name in ("torch", "cuda", *PACKAGES))
    minutes = sum(result["seconds"] for result in kept.results.values()) / 60
    lines.append(f"{kept.results['machine']['date']}, {machine['device']} ({machine['capability']}, ")
    lines[-1] += f"{machine['memory'] >> 30} GiB, copies {machine['copy'] / 1e9:.0f} GB/s), {machine['cores']} cores; "
    lines[-1] += f"{versions}; {minutes:.0f} minutes."
    return "\n".join([*lines, *failures(kept)])


def failures(kept: Kept) -> Iterator[str]:
    """A line for each piece that failed, before everything else."""
    for key, result in kept.results.items():
        if result["status"] == FAILED:
            yield f"\n`{key}` failed: {result['reason']}"


def table(header: tuple, rows: list[tuple]) -> str:
    return "\n".join(row(*cells) for cells in (header, ("---",) * len(header), *rows)) + "\n"


def speeds(kept: Kept, wanted: Callable[[Operation], bool]) -> str:
    """The operations that are ``wanted``, then why a peer is missing and what failed."""
    rows, notes = [], {}
    for name, operation in OPERATIONS.items():
        if not wanted(operation):
            continue
        status, found = kept.results.get(f"speed {name}", {}).get("status", NOT_RUN), kept.found(f"speed {name}")
        for dtype in map(text, operation.dtypes):
            cells = [shares(found, dtype, author) if found else status for author in AUTHORS]
            goal = (reached(found, dtype) if found else status,) if operation.flops is None else ()
            rows.append((name, dtype, *cells, *goal))
        notes |= dict.fromkeys(
            f"- {author}: {why}" for author, why in found.get("missing", {}).items() if "installed" in why
        )
        notes |= dict.fromkeys(said(name, found))
    goal = ("goal",) if any(len(cells) > len(AUTHORS) + 2 for cells in rows) else ()
    return "\n".join([table(("kernel", "dtype", *AUTHORS, *goal), rows), *notes, *([""] if notes else [])])


def said(name: str, found: dict) -> Iterator[str]:
    """What failed or is wrong, a line each."""
    for one in found.get("rows", []):
        where = f"- {name}, {one['dtype']}, {one['author']}"
        if "failed" in one:
            yield f"{where}, {tuple(one['size'])}: {one['failed']}"
        elif one["wrong"]:
            yield f"{where}: {one['wrong']}"


def share(found: dict, one: dict) -> float | None:
    """What a row reaches of the device's bandwidth or arithmetic; None where it failed."""
    if "failed" in one:
        return None
    a_second = (one["flops"] or one["bytes"]) / (one["ms"][1] / 1e3)
    return a_second / (found["matmul"][one["dtype"]] if one["flops"] else found["copy"])


def of_author(found: dict, dtype: str, author: str) -> list[dict]:
    return [one for one in found["rows"] if (one["dtype"], one["author"]) == (dtype, author)]


def shares(found: dict, dtype: str, author: str) -> str:
    """Three shares in a cell, with a star where the results are not those of the exercise."""
    rows = of_author(found, dtype, author)
    if not rows:
        return NONE
    right = all(one["taken"] is not None and one["taken"] <= 1 and not one["wrong"] for one in rows)
    reached = [share(found, one) for one in rows]
    return " ".join(FAILED if one is None else f"{one:.2f}" for one in reached) + ("" if right else " *")


def reached(found: dict, dtype: str) -> str:
    """Whether ours reaches the goal at the largest size, or what is missing."""
    last = {author: rows[-1] for author in AUTHORS if (rows := of_author(found, dtype, author))}
    largest = {author: value for author, one in last.items() if (value := share(found, one)) is not None}
    own = largest.pop("ours", None)
    if own is None:
        return FAILED
    faster = [author for author, value in largest.items() if value > own]
    missed = ([f"{own:.2f} < {GOAL:.2f}"] if own < GOAL else []) + [f"{author} is faster" for author in faster]
    return f"missed: {', '.join(missed)}" if missed else "reached"


def planted(kept: Kept) -> str:
    rows, missing = [], {}
    for module in MODULES:
        found = kept.found(f"planted {module}")
        missing |= {found["missing"]: None} if found.get("missing") else {}
        for name, title in bugs_of(module).items():
            words = found.get("bugs", {}).get(name, {})
            absent = NONE if found.get("missing") else status(kept, f"planted {module}")
            cells = [
                words.get("device", status(kept, f"planted {module}")),
                *(words.get(tool, absent) for tool in TOOLS),
            ]
            rows.append(
                (cell(title), *map(cell, cells), cell(words.get("emulator", status(kept, f"planted {module}"))))
            )
    return "\n".join([table(("bug", "device", *TOOLS, "emulator"), rows), *(f"- {why}\n" for why in missing)])


def cell(said: str) -> str:
    """A text as a cell of a table holds it."""
    return said.replace("|", "\\|").replace("\n", " ")


def status(kept: Kept, key: str) -> str:
    """What stands in a cell of a piece that says nothing."""
    return FAILED if kept.results.get(key, {}).get("status") == FAILED else NOT_RUN


def instructions(kept: Kept) -> str:
    views = [(key, kept.found(key).get("functions", {})) for key in ("arithmetic", "arithmetic emulator")]
    rows = []
    for function in FUNCTIONS:
        ulp = [f"{found[function.name]['ulp']:.2f}" if found else status(kept, key) for key, found in views]
        names = views[0][1].get(function.name, {}).get("instructions", [])
        rows.append((f"`{function.name}`", ", ".join(names) or (NONE if views[0][1] else NOT_RUN), *ulp))
    return table(("function", "instructions", "device", "emulator"), rows)


def products(kept: Kept) -> str:
    views = [(key, kept.found(key).get("products", {})) for key in ("arithmetic", "arithmetic emulator")]
    rows = [
        (precision, *(f"{found[precision]:.2f}" if found else status(kept, key) for key, found in views))
        for precision in PRECISIONS
    ]
    return table(("input_precision", "device", "emulator"), rows)


def errors(kept: Kept) -> str:
    rows = []
    for name in ANSWERS:
        views = [f"errors {name} emulator", f"errors {name}"]
        for kind in KINDS:
            cells = [distance(kept, key, precision, kind) for precision in ("ieee", "tf32") for key in views]
            rows.append((name, kind, *(cells if name in PRODUCTS else (*cells[:2], NONE, NONE))))
    return table(("exercise", "dtype", "emulator", "device", "emulator, TF32", "device, TF32"), rows)


def distance(kept: Kept, key: str, precision: str, kind: str) -> str:
    found = kept.found(key)
    if not found:
        return status(kept, key)
    there = found.get(precision, {}).get(kind)
    return str(Distance(**there)) if there else NONE


def tests(kept: Kept) -> str:
    found = kept.found("device_tests").get("tests", {})
    if not found:
        return f"\n## Tests of the device\n\n{status(kept, 'device_tests')}\n"
    passed = sum(outcome == "passed" for outcome in found.values())
    others = [f"- {name}: {outcome}" for name, outcome in found.items() if outcome != "passed"]
    return "\n".join(["\n## Tests of the device\n", f"{passed} of {len(found)} passed.", "", *others]).rstrip() + "\n"
