"""graded-kernels' `sanitize`: the program runs on a simulated GPU, and what a GPU promises nothing about is told."""

from graded_kernels.autograder.gpu import EmulatorError
from graded_kernels.autograder.gpu.sanitize.watching import watched

from ..row import Row
from ..said import Said
from ..subject import Cannot, subject

KINDS = {
    "out-of-bounds": "memory",
    "gathered-outside": "memory",
    "store-conflict": "race",
    "own-store": "race",
    "own-load": "race",
    "race-read": "race",
    "race-write": "race",
    "unordered-launches": "race",
    "endless-wait": "race",
    "unwritten": "uninitialised",
    "uninitialised-read": "uninitialised",
    "masked-load": "uninitialised",
    "left-state": "state",
    "misleading-hint": "memory",
    "saved-tensor": "gradient",
    "undeclared-store": "state",
    "division-by-zero": "values at an edge",
    "not-associative": "values at an edge",
}


def refuses(row: Row) -> str:
    return "launches no Triton kernel" if row.backend == "torch" else ""


def check(row: Row) -> Said:
    events: list[dict] = []
    raised = ""
    one = subject(row)
    with watched(events.append, shim=one.shim):
        try:
            one.launch()
        except (EmulatorError, SystemExit):
            pass  # it is among the findings
        except Exception as error:
            raised = f"the program raises {type(error).__name__}: {' '.join(str(error).split())[:200]}"
    findings = [event["finding"] for event in events if "finding" in event]
    faults = [finding for finding in findings if finding["level"] != "hint"]
    if faults and {finding["kind"] for finding in faults} != {"not-emulated"}:
        first = next(finding for finding in faults if finding["kind"] != "not-emulated")
        place = f"{first['kernel']} line {first['line']}"
        return Said(row.name, True, KINDS.get(first["kind"], "compile"), place, first["message"][:300])
    if faults or raised:
        raise Cannot(faults[0]["message"][:200] if faults else raised)
    if not any("launch" in event for event in events):
        raise Cannot("launches no Triton kernel")
    return Said(row.name, says=f"a hint: {findings[0]['kind']}" if findings else "")
