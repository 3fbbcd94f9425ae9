"""Says what a check returns: its findings, and how they are shown in a terminal and in a notebook."""

import os
from typing import Any

from ..results.data import ReportData
from . import notebook, terminal


class Report(ReportData):
    """Holds what ``check`` returns, as data (`ReportData`) that can show itself; ``to_dict`` gives it to a program."""

    @classmethod
    def of(cls, data: ReportData) -> "Report":
        """The report that shows this data."""
        return cls(**vars(data))

    def __repr__(self) -> str:
        """One line: ``print(report)`` shows all of it."""
        passed = "passed" if self.passed else "not passed"
        return f"<Report on {self.exercise} ({self.backend}): {passed}, {self.score:.0%}; print(report) shows it>"

    def __str__(self) -> str:
        return terminal.render(self, color=False)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # what IPython prints where it cannot show HTML
        printer.text(str(self))

    def _ipython_display_(self) -> None:
        """Shows nothing where nbgrader runs the notebook, which takes the output of a check for points; else IPython
        asks for the other forms.
        """
        if "NBGRADER_EXECUTION" not in os.environ:
            raise NotImplementedError

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        """The report as data: it is saved with the notebook, and `graded-kernels progress` reads it."""
        return {self.MIME: self.to_dict()}

    def _repr_html_(self) -> str:
        return notebook.render(self)
