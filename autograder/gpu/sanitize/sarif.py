"""A run as SARIF 2.1.0, which code hosts show at the line (OASIS, "Static Analysis Results Interchange Format")."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..rules import RULES
from .run_report import Run

_LEVELS = {"fault": "error", "unable": "warning", "hint": "note"}


def log(run: Run, hints: bool = False) -> dict[str, Any]:
    """The run as a SARIF log, which is to be written as JSON. hints: whether they are among its results."""
    findings = [*run.findings, *run.unable, *run.known, *run.allowed, *(run.hints if hints else ())]
    kinds = sorted({finding["kind"] for finding in findings})
    rules = [_rule(kind) for kind in kinds]
    driver = {"name": "graded-kernels", "rules": rules}
    results = [_result(finding, kinds.index(finding["kind"])) for finding in findings]
    for finding, result in zip(findings, results, strict=True):
        if "reason" in finding:
            result["suppressions"] = [{"kind": "inSource", "justification": finding["reason"]}]
        elif finding in run.known:
            result["suppressions"] = [{"kind": "external", "justification": "known, in the baseline"}]
    invocation = {"executionSuccessful": not (run.unusable or run.failed or run.interrupted)}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "invocations": [invocation], "results": results}],
    }


def _rule(kind: str) -> dict[str, Any]:
    rule = RULES[kind]
    return {
        "id": kind,
        "shortDescription": {"text": rule.title},
        "help": {"text": rule.cure},
        "defaultConfiguration": {"level": _LEVELS[rule.level]},
    }


def _result(finding: dict[str, Any], rule: int) -> dict[str, Any]:
    result = {
        "ruleId": finding["kind"],
        "ruleIndex": rule,
        "level": _LEVELS[finding["level"]],
        "message": {"text": finding["message"]},
        "occurrenceCount": finding["times"],
        "properties": {name: finding[name] for name in ("kernel", "program", "tensor", "offset")},
    }
    if finding["line"]:
        place = {"artifactLocation": {"uri": _uri(finding["file"])}, "region": {"startLine": finding["line"]}}
        result["locations"] = [{"physicalLocation": place}]
    return result


def _uri(file: str) -> str:
    """Relative to the current folder, as a code host looks for it in the repository."""
    inside = os.path.relpath(file)
    if inside.startswith(".."):
        return Path(file).absolute().as_uri()
    return quote(os.fsencode(inside))  # a name need not be UTF-8
