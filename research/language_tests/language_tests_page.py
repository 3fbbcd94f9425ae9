"""The page of `run_language_tests.py`: a table of files, and the failures of ours by reason."""

import re
from collections import defaultdict

import triton

HEAD = """# Triton's own language tests, here and in Triton's interpreter

The tests of `python/test/unit/language` of Triton's repository at commit 0bc402c968 (2026-02-04), where the language is
that of Triton {version}, which ran them. *ours*: `pytest --sanitize-kernels --sanitize-device=h100 --device=cuda`;
*interpreter*: Triton's own, `TRITON_INTERPRET=1 pytest --device=cpu`. PyTorch on a CPU, two cores that were shared, no
GPU. Nothing of Triton's is in this repository:

```
git clone https://github.com/triton-lang/triton && git -C triton checkout 0bc402c968
python research/language_tests/run_language_tests.py triton
```

test_core alone has 9,334 tests, so that a sample runs: of a test function with c parametrizations each n-th, in the
order in which pytest collects them, the first included, n = ⌈c / {most}⌉. A test has {seconds} s of processor time; one
that ends its process has failed. Ran on {dates}; a file that is not in the table has not run.

"""

COLUMNS = [
    *("file", "tests", "run", "ours: passed", "failed", "skipped", "interpreter: passed", "failed", "skipped"),
    *("passed by ours alone", "by the interpreter alone"),
]
# Why ours fails: a sentence, and a part of the failure's text that says so. The first that is there counts.
REASONS = [
    ("longer than the limit", r"longer than \d+ s"),
    ("the test loads what `torch.empty` made and nobody wrote: true", "uninitialised-read in"),
    ("the test stores behind the end of its tensor: true", "out-of-bounds in"),
    (
        "a block pointer without `padding_option` is loaded outside of its shape, which has no value by Triton's "
        "documentation: true",
        "masked-load in",
    ),
    ("the test takes a lock without `acquire`: true", "race-read in"),
    (
        "the kernel was made by `exec`, as the suite does where it sees an interpreter: without its text there is no "
        "code to show, and no compiler's error",
        "without source text|DID NOT RAISE CompilationError|no attribute 'type'",
    ),
    ("a float8 of AMD's", "fp8e4b8|fp8e5b16|float8e4b8|float8e5b16"),
    ("a cooperative launch", "cooperative launch"),
    ("another architecture by `arch=`", "option arch of kernel"),
    ("a clock of AMD's, which the suite asks for where it sees no GPU", "forget to add @triton.jit"),
    ("the compiled kernel's name by `repr=`", "'is_one' in"),
    ("an error of the launcher's where nothing is launched", "DID NOT RAISE (AssertionError|ValueError)"),
    ("a process of the test's own, in which no GPU is simulated", "CompletedProcess|active drivers"),
    ("lines in machine code, which name the compiler's temporary file", "check_file_lines|file_lines"),
    ("an attribute of the interpreter's insides", "FunctionRewriter"),
    ("a hook of the compiler's cache, or a file of its reproducer", "assert None is not None|repro"),
    (
        "`triton.compile` in the test's own process: a jit function that an attribute or a list leads to, the cause of "
        "an error, a language that a launch has patched",
        "TypeError.'ret..: incompatible|is a kernel, and line|CHECK|assert 'None' ==",
    ),
    ("the type of an argument of 1 in a tuple, a constant on a GPU", "constexpr_type"),
]
OTHER = "other"
WAYS, HOWS = ("ours", "interpreter"), ("passed", "failed", "skipped")


def page(results: dict, most: int, seconds: int) -> str:
    files = {name: rows for name, rows in results.items() if any(row.get("chosen") for row in rows.values())}
    dates = sorted({row["date"] for rows in files.values() for row in rows.values()})
    head = HEAD.format(version=triton.__version__, most=most, seconds=seconds, dates=" and ".join(dates))
    lines = [f"| {' | '.join(COLUMNS)} |\n", "|---" * len(COLUMNS) + "|\n"]
    lines += [table_row(name, rows) for name, rows in files.items()]
    return head + "".join(lines) + total(files) + reasons(files) + unable(files)


def table_row(name: str, rows: dict) -> str:
    ours, stock = rows["ours"], rows["interpreter"]
    counts = [numbers(ours), numbers(stock) if "unable" not in stock else "not imported | |"]
    alone = [len(alone_in(rows, way)) for way in WAYS]
    return f"| {name} | {ours['collected']:,} | {ours['chosen']} | {' | '.join(counts)} | {alone[0]} | {alone[1]} |\n"


def numbers(row: dict) -> str:
    return " | ".join(f"{counted(row, how):,}" for how in HOWS)


def counted(row: dict, how: str) -> int:
    held = row.get(how, 0)
    return held if isinstance(held, int) else len(held)


def alone_in(rows: dict, way: str) -> list[str]:
    """The tests that failed the other way, and passed this one."""
    (other,) = rows.keys() - {way}
    not_passed = {*rows[way]["failed"], *rows[way]["skipped"]}
    return [] if "unable" in rows[way] else [name for name in rows[other]["failed"] if name not in not_passed]


def total(files: dict) -> str:
    def summed(way: str, how: str) -> int:
        return sum(counted(rows[way], how) for rows in files.values())

    counts = " | ".join(f"{summed(way, how):,}" for way in WAYS for how in HOWS)
    alone = " | ".join(str(sum(len(alone_in(rows, way)) for rows in files.values())) for way in WAYS)
    return f"| all | {summed('ours', 'collected'):,} | {summed('ours', 'chosen'):,} | {counts} | {alone} |\n"


def reason(text: str) -> str:
    return next((said for said, pattern in REASONS if re.search(pattern, text)), OTHER)


def reasons(files: dict) -> str:
    found, worse = defaultdict(list), defaultdict(int)
    for file, rows in files.items():
        alone = alone_in(rows, "interpreter")
        for name, text in rows["ours"]["failed"].items():
            found[reason(text)].append(f"{file}, {name}")
            worse[reason(text)] += name in alone
    lines = "\n## What ours fails, and why\n\n*true*: a mistake in the test's kernel, which a GPU does not show.\n\n"
    lines += "| why | tests | of these the interpreter passes | such as |\n|---|---|---|---|\n"
    for said, tests in sorted(found.items(), key=lambda one: -len(one[1])):
        lines += f"| {said} | {len(tests)} | {worse[said]} | {tests[0].replace('|', '∣')} |\n"
    return lines


def unable(files: dict) -> str:
    lines = [(name, rows["interpreter"]["unable"]) for name, rows in files.items() if "unable" in rows["interpreter"]]
    if not lines:
        return ""
    return "\n## Files that the interpreter cannot import\n\n" + "".join(f"- {name}: `{why}`\n" for name, why in lines)
