"""suites.md, from what suites.toml names and the rows that suites.py kept in suites.json."""

import re
from pathlib import Path

import torch

FINDING = re.compile(r"\S+\.py:\d+: (?!not judged)\S+ in `")
ABOUT = f"""# Others' tests and programs in the emulator

`python research/audit/suites.py --triton VERSION`, PyTorch {torch.__version__}, no GPU: one was simulated, and Triton
kernels ran in the strict emulator. Tests are the libraries' own, unchanged, under `pytest --sanitize-kernels`; programs
ran under `graded-kernels sanitize`, unchanged but for the numbers that suites.toml changes: sizes of benchmarks. It has
versions, commits and hashes, too, the options of each file, and its limit of processor time; *cut off* is what reached
it, and the counts are of what had ended before.

*Findings*: tests that failed because of what the emulator saw in a kernel. *Left out*: tests that were not chosen.
*s*: processor time, one process, with PyTorch's start; suites.json has the date of each row.
Goal: no finding in a kernel that is right."""

BESIDE = """## Helion

2026-11-25, PyTorch 2.13.0+cpu, Triton 3.7.1, Helion 1.5.1, two cores that were shared, no GPU.

| what | command's options | result | findings |
|---|---|---|---|
| Helion, an addition, a softmax, a layer norm of our own | a given configuration | judged, right | 0 |
| Helion, a load at `tile.index + 1` | a given configuration | status 1 | 1, in the program's line |

45 of Helion's own 57 examples, unchanged, as of its commit ef091f41: 791 launches of kernels that it generated, no
finding. 11 ended, and are the rows `helion/` of [the exam](../exam/README.md); 30 were cut off after 11 to 25 s of
processor time. Four ended otherwise: split_k_barrier launches programs that wait for each other, which the emulator
does not do; nvfp4_gemv has twenty lines of inline assembly; nvfp4_gemm asks for CuTe; bf16xint16_gemm ends at its own
assertion, one element of 262,144 that is .25 off where .01 and a hundredth of the value are allowed. It compares sums
of 512 products of up to 100,000 in bfloat16 with PyTorch's: two orders of summation in PyTorch alone leave the
tolerance at 5 of 6 seeds.

Helion's benchmarks estimate a launch's time by events, of which any two were a millisecond apart here: one benchmark
called a kernel 632 times. Events tell this machine's time now, and it is 9.
"""  # runs with a command of their own, put behind the page

COLUMNS = "what", "file", "Triton", "result", "left out", "launches", "s"


def page(known: dict[str, dict], results: dict[str, dict]) -> str:
    """The whole page. results: rows by ``NAME/FILE`` and version of Triton."""
    lines = [ABOUT, "", f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    read, left = [], []
    for name, suite in known.items():
        for file in suite["files"]:
            rows = results.get(f"{name}/{file['path']}", {})
            short = "/".join(Path(file["path"]).parts[-2:])
            lines += [f"| {' | '.join([title(name, suite), short, *cells])} |" for cells in all_cells(rows)]
            why = suite.get("why", {}) | file.get("why", {})
            read += [f"- {name}, {short}: {text}" for text in reasons(rows, why)]
            left += [f"- {name}, {short}: {file['left_out']}"] if "left_out" in file else []
    chapters = {"Failed, and why": read, "Left out, and why": left}
    told = [line for about, of in chapters.items() for line in ("", f"## {about}", "", *of)]
    return "\n".join([*lines, *told, "", BESIDE])


def title(name: str, suite: dict) -> str:
    return f"{name} {suite['commit'][:8]}" if "commit" in suite else suite["source"].split()[0].replace("==", " ")


def all_cells(rows: dict[str, dict]) -> list[list[str]]:
    """The cells of a file for each version with which it ran."""
    if not rows:
        return [["", "not run", "", "", ""]]
    numbers = "left_out", "launches", "seconds"
    return [[one, result(row), *(str(row.get(name) or "") for name in numbers)] for one, row in sorted(rows.items())]


def result(row: dict) -> str:
    if "unable" in row:
        return "not run"
    if "status" in row:
        return "cut off" if row["status"] == 130 else of_program(row)
    found = sum(bool(FINDING.search(message)) for message in row["failed"].values())
    counts = {"passed": row["passed"], "failed": len(row["failed"]), "skipped": row["skipped"], "findings": found}
    missing = row["chosen"] - row["passed"] - row["skipped"] - len(row["failed"])
    told = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    return told + f"; cut off, {missing} not run" * row["cut_off"]


def of_program(row: dict) -> str:
    """What `sanitize` found in a program, or how it ended."""
    found = [f"**{one['kind']}**{of_tensor(one)}, `{one['kernel']}` line {one['line']}" for one in row["findings"]]
    why = " ".join((row["failed"] or "not judged").split())
    return "; ".join(found) or (f"status {row['status']}: {why}" if row["status"] else "clean")


def of_tensor(finding: dict) -> str:
    return f" of `{finding['tensor']}`" if finding["tensor"] else ""


def reasons(rows: dict[str, dict], why: dict[str, str]) -> list[str]:
    """A sentence for each reason that reading gave, with the tests it is for; the message where none was read."""
    found: dict[str, dict[str, list[str]]] = {}
    for version, row in rows.items():
        for test, message in failures(row).items():
            reason = next((text for part, text in why.items() if part in f"{test}: {message}"), "")
            of = found.setdefault(reason or f"not read: {message[:200]}", {})
            of.setdefault(version, []).append(test.partition("[")[0])
    texts = []
    for reason, of in found.items():
        names = sorted({test for tests in of.values() for test in tests if test})
        counts = ", ".join(f"{len(tests)} with {version}" for version, tests in of.items())
        texts.append(f"{', '.join(names)} ({counts}): {reason}" if names else f"({', '.join(of)}) {reason}")
    return texts


def failures(row: dict) -> dict[str, str]:
    """Messages by test; by "" where a program was not judged whole, or nothing ran."""
    if "unable" in row:
        return {"": row["unable"]}
    if "status" in row:
        return {"": of_program(row)} if row["status"] or row["cut_off"] else {}
    return row.get("failed", {})
