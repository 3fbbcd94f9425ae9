"""What Triton's compiler says of a kernel at which the emulator failed: whether the fault is the kernel's."""

import sys
from collections.abc import Callable
from typing import Any

from ..compiler import KernelLaunch
from .rules import RULES
from .subprocesses import unreported

Finding = dict[str, Any]  # as `Sanitizer` emits it
Compiler = Callable[[list[KernelLaunch]], dict[str, Any]]  # the report of launches, made in a process of its own


def settled(finding: Finding, compiler: Compiler | None) -> Finding:
    """A finding of a kernel that cannot be interpreted, after its launch, ``form``, was compiled ahead of time: a fault
    where the compiler refuses the same line. Any other finding, or one without a compiler, as it is.
    """
    form = finding.pop("form", None)
    if finding["kind"] != "kernel-error" or not form or not compiler:
        return finding
    print(f"compiling `{finding['kernel']}`, which the emulator cannot run ...", file=sys.stderr)
    with unreported():
        report = compiler([KernelLaunch(**form)])
    refused = [row for row in report["targets"] if row["status"] == "fail" and row["line"] == finding["line"]]
    said = finding["message"].rstrip(".")
    if refused:
        rule, message = RULES["unsupported"], " ".join(refused[0]["message"].split()).rstrip(".")
        said = f"{said}. Triton's compiler refuses the line as well: {message}."
        return finding | {"kind": "unsupported", "level": rule.level, "cure": rule.cure, "message": said}
    if report["status"] == "pass":
        return finding | {"message": f"{said}. Triton's compiler accepts the kernel: this is a gap of the emulator's."}
    return finding
