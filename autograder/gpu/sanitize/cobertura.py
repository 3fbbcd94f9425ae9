"""Says what a run reached as Cobertura's XML, which CI services and code hosts show beside the lines.

An ``if`` has two conditions, true and false; a mask has two, a lane that it let through and a lane that it did not.
"""

import os
import time
import xml.etree.ElementTree as ElementTree
from itertools import groupby
from typing import Any

from .reached import FunctionLines

_Line = tuple[int, bool, list[bool]]  # its number, whether it ran, its conditions


def xml(functions: list[FunctionLines]) -> str:
    """The document. Files are relative to the current folder where they lie in it."""
    files = [(file, list(some)) for file, some in groupby(functions, key=lambda function: str(function["file"]))]
    every = [line for function in functions for line in _lines(function)]
    root = ElementTree.Element("coverage", _rates(every) | _totals(every) | {"version": "graded-kernels"})
    root.set("timestamp", str(int(time.time())))
    ElementTree.SubElement(ElementTree.SubElement(root, "sources"), "source").text = os.getcwd()
    package = ElementTree.SubElement(
        ElementTree.SubElement(root, "packages"), "package", {"name": "kernels", **_rates(every), "complexity": "0"}
    )
    classes = ElementTree.SubElement(package, "classes")
    for file, some in files:
        _file(classes, file, some)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _file(classes: ElementTree.Element, file: str, functions: list[FunctionLines]) -> None:
    name = os.path.relpath(file)
    lines = [line for function in functions for line in _lines(function)]
    about = {"name": os.path.basename(name), "filename": file if name.startswith("..") else name, "complexity": "0"}
    element = ElementTree.SubElement(classes, "class", about | _rates(lines))
    methods = ElementTree.SubElement(element, "methods")
    for function in functions:
        covered = _lines(function)
        method = ElementTree.SubElement(
            methods, "method", {"name": function["kernel"], "signature": "", **_rates(covered)}
        )
        _write(method, covered)
    _write(element, lines)


def _lines(function: FunctionLines) -> list[_Line]:
    conditions: dict[int, list[bool]] = {}
    for line, true, false in function["branches"]:
        conditions.setdefault(line, []).extend((true, false))
    for line, every, some, none in function["masks"]:
        conditions.setdefault(line, []).extend((every or some, some or none))
    lines = dict(function["lines"])
    return [(line, lines.get(line, True), conditions.get(line, [])) for line in sorted({*lines, *conditions})]


def _write(parent: ElementTree.Element, lines: list[_Line]) -> None:
    written = ElementTree.SubElement(parent, "lines")
    for number, ran, conditions in lines:
        about = {"number": str(number), "hits": str(int(ran)), "branch": "true" if conditions else "false"}
        if conditions:
            share = f"{100 * sum(conditions) // len(conditions)}%"
            about["condition-coverage"] = f"{share} ({sum(conditions)}/{len(conditions)})"
        ElementTree.SubElement(written, "line", about)


def _rates(lines: list[_Line]) -> dict[str, str]:
    ran, conditions = _counts(lines)
    return {"line-rate": _rate(ran), "branch-rate": _rate(conditions)}


def _totals(lines: list[_Line]) -> dict[str, str]:
    ran, conditions = _counts(lines)
    return {
        **{"lines-covered": str(sum(ran)), "lines-valid": str(len(ran))},
        **{"branches-covered": str(sum(conditions)), "branches-valid": str(len(conditions)), "complexity": "0"},
    }


def _counts(lines: list[_Line]) -> tuple[list[bool], list[bool]]:
    return [ran for _, ran, _ in lines], [line for *_, some in lines for line in some]


def _rate(reached: list[Any]) -> str:
    return f"{sum(reached) / len(reached):.4g}" if reached else "1"
