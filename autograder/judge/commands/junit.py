"""Reports in the XML that CI services read: a suite for each file, a test for each case."""

import xml.etree.ElementTree as xml
from pathlib import Path
from typing import TYPE_CHECKING

from ...words import UsageError, visible

if TYPE_CHECKING:
    from ..report.report import Report

_ELEMENT = {"fail": "failure", "error": "error", "not-run": "skipped"}


def write(path: Path, checked: "list[tuple[Path, Report | str]]") -> None:
    """Writes the file. checked: files with their reports, or with the reason why there is none. Raises UsageError."""
    suites = xml.Element("testsuites", name="graded-kernels")
    for file, report in checked:
        suites.append(_suite(file, report))
    try:
        xml.ElementTree(suites).write(path, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        raise UsageError(f"the results cannot be written to {path}: {error}") from None


def _suite(file: Path, report: "Report | str") -> xml.Element:
    suite = xml.Element("testsuite", name=visible(str(file)))
    if isinstance(report, str):
        test = xml.SubElement(suite, "testcase", name="check", classname=visible(str(file)))
        xml.SubElement(test, "error", message=visible(report))
    else:
        for case in report.cases:
            test = xml.SubElement(
                suite, "testcase", name=visible(case.name), classname=visible(f"{report.exercise}.{file.stem}")
            )
            required = case.kind is None or case.kind in report.required
            if case.status != "pass":
                kind = _ELEMENT[case.status] if required and not case.bonus else "skipped"
                element = xml.SubElement(test, kind, message=visible(case.message))
                element.text = visible("\n".join(filter(None, (case.inputs, case.details, case.hint))))
    for counted, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(counted, str(len(list(suite.iter(tag)))))
    return suite
