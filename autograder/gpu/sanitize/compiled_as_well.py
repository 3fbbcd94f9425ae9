"""What Triton's compiler says of a kernel at which the emulator failed: whether the fault is the kernel's."""

import sys
from typing import Any

from .rules import RULES
from .subprocesses import unreported

Finding = dict[str, Any]  # as `Sanitizer` emits it


def settled(finding: Finding) -> Finding:
    """A finding of a kernel that cannot be interpreted, after its launch, ``form``, was compiled ahead of time: a fault
    where the compiler refuses the same line. Any other finding as it is.
    """
    form = finding.pop("form", None)
    if finding["kind"] != "kernel-error" or not form:
        return finding
    print(f"compiling `{finding['kernel']}`, which the emulator cannot run ...", file=sys.stderr)
    from ...runner.sandbox.compiler import shared_compiler
    from ..compiler import KernelLaunch

    with unreported():
        report = shared_compiler().report([KernelLaunch(**form)])
    refused = [row for row in report["targets"] if row["status"] == "fail" and row["line"] == finding["line"]]
    said = finding["message"].rstrip(".")
    if refused:
        rule, message = RULES["unsupported"], " ".join(refused[0]["message"].split()).rstrip(".")
        said = f"{said}. Triton's compiler refuses the line as well: {message}."
        return finding | {"kind": "unsupported", "level": rule.level, "cure": rule.cure, "message": said}
    if report["status"] == "pass":
        return finding | {"message": f"{said}. Triton's compiler accepts the kernel: this is a gap of the emulator's."}
    return finding
