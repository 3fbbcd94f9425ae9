"""The part of the pytest plugin that ``--sanitize-kernels`` loads."""

import argparse
import contextlib
import os
import sys
import threading
import types
from collections import Counter
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from ...words import count
from ..compiler.ahead_of_time import RunJobs
from ..devices import JUDGED
from ..rules import RULES
from . import cobertura, first_import, revision, run_report
from .allowed import Allowance, Allowances
from .baseline import Baseline, BaselineError, Entry
from .front_end import FrontEnd
from .skipped import left_to_a_gpu
from .totals import Totals

if TYPE_CHECKING:
    from ..emulator import Observed
    from .watching import ProgramWatch

SUMMARY = "kernels in the emulator"
_PRINTS = os.path.join("_pytest", "_io", "saferepr.py")  # pytest's module that prints values beside a failure
BadOption = (BaselineError, revision.RevisionError)  # options that cannot be carried out


def _baseline(options: argparse.Namespace) -> Baseline | None:
    """The baseline that was named. Raises BaselineError and RevisionError."""
    if options.sanitize_update_baseline and not options.sanitize_baseline:
        raise BaselineError(
            "--sanitize-update-baseline: name the file to write, as in --sanitize-baseline=kernels.json"
        )
    if options.sanitize_since:
        revision.check(options.sanitize_since)
    return Baseline(options.sanitize_baseline, options.sanitize_update_baseline) if options.sanitize_baseline else None


class Plugin:
    """Runs the session under one `Sanitizer` from the first import of PyTorch or Triton on, which a suite without
    kernels may never make, and looks after every test what was found in it. Whoever makes that import, such as a
    `conftest.py`, may well ask next whether there is a GPU, and is watched already.

    Under pytest-xdist the workers run the tests, and this process adds up what they report.
    """

    def __init__(self, config: pytest.Config, options: argparse.Namespace, compiler: RunJobs | None):
        self._front_end = FrontEnd(compiler, JUDGED if options.no_cuda_shim else options.sanitize_device)
        self.config, self.since, self.baseline = config, options.sanitize_since, _baseline(options)
        self._options = options
        self.allowances = Allowances()
        self.found: list[dict[str, Any]] = []  # in the test that is running
        self.hints: list[dict[str, Any]] = []  # in the test that is running
        self.allowed: list[tuple[str, ...]] = []  # by its marks: kinds each, none for any
        self.outside: list[dict[str, Any]] = []  # of any test: while a module was imported, say
        self.totals = Totals()
        self.kinds: Counter[str] = Counter()
        self.passed: Counter[str] = Counter()  # findings that a baseline knows or a comment allows
        self.moved = 0
        self._stack = contextlib.ExitStack()
        config.add_cleanup(self._stack.close)
        self.shim = ""  # what a report calls the simulated GPU
        self.watch: ProgramWatch | None = None  # before the first import
        self._stack.enter_context(first_import.after(("torch", "triton"), self._begin))

    def _begin(self) -> None:
        """Begins to watch. What PyTorch has of it holds for one thread, so that this one must be the tests'."""
        if self.watch or threading.current_thread() is not threading.main_thread():
            return
        from .watching import watched

        shim, device = not self._options.no_cuda_shim, self._options.sanitize_device
        watching = watched(self._record, shim, device, self.since, self._passes, self._asked)
        self.watch = self._stack.enter_context(watching)
        self.shim = self.watch.shim

    @property
    def emulator(self) -> "Observed":
        """The emulator that kernels run in."""
        self._begin()
        assert self.watch
        return self.watch.emulator

    # the session

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Ends watching in a process that only gathers; elsewhere begins to note Python processes, too."""
        if self._gathers():
            self._stack.close()
            return
        from .subprocesses import reported

        self._stack.enter_context(reported(self.totals.spawned.append))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Fails the session for findings outside any test, and hands a worker's summary on."""
        if self.watch:
            self.moved += self.watch.sanitizer.moved
            if not self._gathers():
                self.watch.sanitizer.never_called()
        self._stack.close()
        self.outside += self._failing(self.found)
        if self.outside and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput[SUMMARY] = self._data()

    def _data(self) -> dict[str, Any]:
        """A worker's summary."""
        return {
            **{"totals": self.totals.data(), "kinds": dict(self.kinds), "passed": dict(self.passed)},
            **{
                "moved": self.moved,
                "shim": self.shim,
                "used": [list(allowance) for allowance in self.allowances.used],
            },
            "outside": self.outside,
            "occurred": [list(entry) for entry in self.baseline.occurred] if self.baseline else [],
        }

    def _gathers(self) -> bool:
        option = self.config.option
        distributed = getattr(option, "numprocesses", None) or getattr(option, "tx", None)
        return bool(distributed) and not hasattr(self.config, "workerinput")

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Adds a worker's summary."""
        if data := getattr(node, "workeroutput", {}).get(SUMMARY):
            self.totals.add(data["totals"])
            self.kinds.update(data["kinds"])
            self.passed.update(data["passed"])
            keys = [finding["key"] for finding in self.outside]  # each worker imports what another one does
            self.outside += [finding for finding in data["outside"] if finding["key"] not in keys]
            self.moved += data["moved"]
            self.shim = data["shim"] or self.shim
            self.allowances.used.update(Allowance(*entry) for entry in data["used"])
            if self.baseline:
                self.baseline.occurred.update(Entry(*entry) for entry in data["occurred"])

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Prints what was launched and found, and writes the files that were asked for."""
        terminalreporter.section(SUMMARY)
        functions = self.totals.reached.functions()
        judged = self.totals.judged if self._whole(terminalreporter) else set()
        if file := self.config.option.sanitize_coverage:
            file.write_text(cobertura.xml(functions), encoding="utf-8")
        if self.baseline and self.baseline.update:
            self.baseline.file.write_text(self.baseline.text(judged), encoding="utf-8")
        lines = [run_report.shim_notice(self.shim)] if self.shim else []
        if self.totals.kernels:
            totals = self.totals
            since = self.since, len(totals.kernels), len(totals.judged), totals.set_aside
            lines += [self._counts(), run_report.unchanged(*since), str(totals.skipped)]
            lines += run_report.not_reached(functions) + self.allowances.remarks(functions)
            lines += self.baseline.remarks(judged) if self.baseline else []
        else:
            lines += ["No test launched a Triton kernel: nothing was checked."]
        lines += [run_report.not_watched(self.totals.spawned).strip()]
        lines += [f"outside any test, {run_report.three_lines(finding)}" for finding in self.outside]
        for line in filter(None, lines):
            terminalreporter.line(line)

    def _whole(self, reporter: pytest.TerminalReporter) -> bool:
        """Returns whether all tests of the suite ran to their ends, so that what was not found is not there."""
        chosen = self.config.args_source is pytest.Config.ArgsSource.ARGS or reporter.stats.get("deselected")
        return not chosen and not any(reporter.stats.get(how) for how in ("failed", "error"))

    def _counts(self) -> str:
        totals = self.totals
        summary = ", ".join(f"{number} {kind}" for kind, number in (+self.kinds).most_common())
        summary = summary or f"nothing {'new' if self.passed else 'found'}"
        summary += "".join(f", {number} {how}" for how, number in self.passed.items())
        launches, kernels = (
            count(totals.kernels.total(), "launch"),
            count(len(totals.kernels), "kernel"),
        )
        return f"{kernels}, {launches}, {self.moved:,} bytes moved: {summary}"

    # a test

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        """Begins a new part of the sanitizer. Fails the test where a marker names an unknown finding."""
        self.outside += self._failing(self.found)
        self.found.clear()
        self.hints.clear()
        if "torch" in sys.modules:  # also where another thread imported it
            self._begin()
        if self.watch:
            self.watch.unlike_gpu.clear()
            self.watch.sanitizer.next()
        self.allowed = [mark.args for mark in item.iter_markers("allow_kernel_finding")]
        for mark in (*item.iter_markers("expect_kernel_finding"), *item.iter_markers("allow_kernel_finding")):
            if unknown := set(mark.args) - RULES.keys():
                pytest.fail(f"there is no finding {min(unknown)!r}; there are {', '.join(RULES)}", pytrace=False)
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Judges what the test's kernels did; where the test failed by itself, adds what was found to its report."""
        from ..emulator import EmulatorError

        result = stopped = None
        try:
            result = yield
        except EmulatorError as error:
            stopped = error
        except BaseException as error:
            said = [
                left_to_a_gpu(error),
                *map(run_report.three_lines, self._unexpected(item) + self._failing(self.hints)),
                run_report.half_precision([*self.watch.unlike_gpu] if self.watch else []).strip(),
            ]
            if any(said):
                item.add_report_section("call", SUMMARY, "\n".join(filter(None, said)))
            self.found.clear()
            raise
        self._judge(item, stopped)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, object, object]:
        """Judges what fixtures launched when they ended."""
        result = yield
        self._judge(item, expects=False)
        self.allowed = []
        return result

    def _judge(self, item: pytest.Item, error: BaseException | None = None, expects: bool = True) -> None:
        """Fails the test for unexpected findings, for expected ones that are missing, and for a kernel that
        could not be judged; skips it where that is allowed.
        """
        if error is None:
            self._pass_refused()
        findings, unexpected = list(self.found), self._unexpected(item)
        self.found.clear()
        if unexpected:
            pytest.fail("\n\n".join(map(run_report.three_lines, unexpected)), pytrace=False)
        wanted = [mark.args for mark in item.iter_markers("expect_kernel_finding")] if expects else []
        for kinds in wanted:
            if not any(not kinds or finding["kind"] in kinds for finding in findings):
                pytest.fail(f"no finding of the kernels, but expected: {', '.join(kinds) or 'any'}", pytrace=False)
        if error and all(finding["passed"] for finding in findings):  # or its kernel is not judged
            self.passed["stopped a test, which counts as passed"] += 1
        if error and any(finding["level"] == "unable" for finding in findings):
            pytest.skip(f"not judged: {error}")

    def _pass_refused(self) -> None:
        """Passes the kernels that were refused where they were launched: the test has caught the error, as it would
        catch the compiler's.
        """
        for finding in self._failing(self.found):
            if finding["refused"]:
                finding["passed"] = how = "refused, which the test expects"
                self.kinds[finding["kind"]] -= 1
                self.passed[how] += 1

    def _unexpected(self, item: pytest.Item) -> list[dict[str, Any]]:
        expected = [mark.args for mark in item.iter_markers("expect_kernel_finding")]
        return [finding for finding in self._failing(self.found) if not _among(finding, expected)]

    def _failing(self, findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The findings that no baseline knows and no comment or mark allows."""
        return [finding for finding in findings if not finding["passed"]]

    def _record(self, event: dict[str, Any]) -> None:
        if "finding" in event and event["finding"]["kind"] == "unwritten" and _printed_by_pytest():
            return
        self.totals.handle(event)
        if "finding" in event:
            finding = self._front_end.settled(event["finding"])
            finding["passed"] = how = self._how_passed(finding)
            finding["refused"] = _is_refused(finding)
            if finding["level"] != "hint":
                (self.passed if how else self.kinds)[how or finding["kind"]] += 1
                self.found.append(finding)
            else:
                self.hints.append(finding)

    def _asked(self, form: dict[str, Any]) -> dict[str, Any] | None:
        """The compiler's finding about a form of a launch."""
        event = self._front_end.event(form)
        self._record({name: said for name, said in event.items() if name != "finding"})
        return event.get("finding")

    def _passes(self, finding: dict[str, Any]) -> bool:
        return bool(self._how_passed(finding))

    def _how_passed(self, finding: dict[str, Any]) -> str:
        """Why a finding fails nothing, "" where it does."""
        if self.allowances.reason(finding):
            return "allowed by comments"
        if _among(finding, self.allowed):
            return "allowed by marks"
        known = self.baseline and finding["level"] != "hint" and self.baseline.knows(finding)
        return "known" if known else ""


def _is_refused(finding: dict[str, Any]) -> bool:
    """Says whether a launch was stopped by what stops it on a GPU as well, as far as is known: an error of Triton's."""
    static = finding["kind"] == "assertion" and "StaticAssertionError" in finding["message"]
    failed = finding["kind"] == "kernel-error" and not finding.pop("accepted", False)
    return finding["kind"] == "unsupported" or static or failed


def _among(finding: dict[str, Any], marks: list[tuple[str, ...]]) -> bool:
    """Returns whether a finding is of a kind that one of the marks names; one that names none means any."""
    return any(not kinds or finding["kind"] in kinds for kinds in marks)


def _printed_by_pytest() -> bool:
    """Returns whether pytest is printing a value beside a failure, which may be the result of a launch that did not
    end.
    """
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and not frame.f_code.co_filename.endswith(_PRINTS):
        frame = frame.f_back
    return frame is not None
