"""The part of the pytest plugin that ``--sanitize-kernels`` loads."""

import contextlib
from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest

from . import cobertura, report
from .coverage import Reached
from .rules import RULES
from .skipped import Skipped

SUMMARY = "kernels in the emulator"


class Plugin:
    """Runs the whole session under one `Sanitizer`, and looks after every test what was found in it. It begins before
    a suite's `conftest.py` is imported, which may well ask whether there is a GPU.

    Under pytest-xdist the workers run the tests, and this process adds up what they report.
    """

    def __init__(self, config: pytest.Config, shim: bool, device: str):
        from .watch import watched

        self.config = config
        self.found: list[dict[str, Any]] = []  # in the test that is running
        self.outside: list[dict[str, Any]] = []  # of any test: while a module was imported, say
        self.kernels: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.moved = 0
        self.reached = Reached()
        self.spawned: list[str] = []
        self.skipped = Skipped()
        self._stack = contextlib.ExitStack()
        config.add_cleanup(self._stack.close)
        watch = self._stack.enter_context(watched(self._record, shim=shim, device=device))
        self.sanitizer, self.shim = watch.sanitizer, watch.shim

    # the session

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Ends watching in a process that only gathers; elsewhere begins to note Python processes, too."""
        if self._gathers():
            self._stack.close()
            return
        from .subprocesses import reported

        self._stack.enter_context(reported(self.spawned.append))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Fails the session for findings outside any test, and hands a worker's summary on."""
        self.moved += self.sanitizer.moved
        self._stack.close()
        self.outside += self.found
        if self.outside and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if hasattr(self.config, "workeroutput"):
            counts = dict(self.kernels), dict(self.kinds), self.moved
            summary = [*counts, self.shim, self.spawned, self.skipped.data(), self.reached.functions()]
            self.config.workeroutput[SUMMARY] = summary

    def _gathers(self) -> bool:
        option = self.config.option
        distributed = getattr(option, "numprocesses", None) or getattr(option, "tx", None)
        return bool(distributed) and not hasattr(self.config, "workerinput")

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Adds a worker's summary."""
        nothing = [{}, {}, 0, "", [], [], []]
        summary = getattr(node, "workeroutput", {}).get(SUMMARY, nothing)
        kernels, kinds, moved, shim, spawned, skipped, coverage = summary
        for one in skipped:
            self.skipped.add(**one)
        self.reached.add(coverage)
        self.spawned += spawned
        self.kernels.update(kernels)
        self.kinds.update(kinds)
        self.moved += moved
        self.shim = shim or self.shim

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Prints what was launched and found, and writes what was reached."""
        terminalreporter.section(SUMMARY)
        if file := self.config.option.sanitize_coverage:
            file.write_text(cobertura.xml(self.reached.functions()), encoding="utf-8")
        if self.shim:
            terminalreporter.line(report.shim_notice(self.shim))
        if not self.kernels:
            terminalreporter.line(
                "No test launched a Triton kernel: nothing was checked." + report.not_watched(self.spawned)
            )
            return
        launches, kinds = report.count(self.kernels.total(), "launch"), self.kinds
        found = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common()) or "nothing found"
        kernels = report.count(len(self.kernels), "kernel")
        terminalreporter.line(f"{kernels}, {launches}, {self.moved:,} bytes moved: {found}")
        if skipped := str(self.skipped):
            terminalreporter.line(skipped)
        for line in report.not_reached(self.reached.functions()):
            terminalreporter.line(line)
        if self.spawned:
            terminalreporter.line(report.not_watched(self.spawned).strip())
        for finding in self.outside:
            terminalreporter.line(f"outside any test, {report.three_lines(finding)}")

    # a test

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        """Begins a new part of the sanitizer. Fails the test where a marker names an unknown finding."""
        self.outside += self.found
        self.found.clear()
        self.sanitizer.next()
        for mark in self._marks(item):
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
        except BaseException:
            if unexpected := self._unexpected(item):
                item.add_report_section("call", SUMMARY, "\n".join(map(report.three_lines, unexpected)))
            self.found.clear()
            raise
        self._judge(item, stopped)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, object, object]:
        """Judges what fixtures launched when they ended."""
        result = yield
        self._judge(item, expects=False)
        return result

    def _judge(self, item: pytest.Item, error: BaseException | None = None, expects: bool = True) -> None:
        """Fails the test for unexpected findings, for expected ones that are missing, and for a kernel that
        could not be judged; skips it where that is allowed.
        """
        found, unexpected = list(self.found), self._unexpected(item)
        self.found.clear()
        if unexpected:
            pytest.fail("\n\n".join(map(report.three_lines, unexpected)), pytrace=False)
        wanted = [mark.args for mark in item.iter_markers("expect_kernel_finding")] if expects else []
        for kinds in wanted:
            if not any(not kinds or one["kind"] in kinds for one in found):
                pytest.fail(f"no finding of the kernels, but expected: {', '.join(kinds) or 'any'}", pytrace=False)
        if error and any(one["level"] == "unable" for one in found):
            pytest.skip(f"not judged: {error}")

    def _unexpected(self, item: pytest.Item) -> list[dict[str, Any]]:
        marks = self._marks(item)
        return [one for one in self.found if not any(not mark.args or one["kind"] in mark.args for mark in marks)]

    def _marks(self, item: pytest.Item) -> list[pytest.Mark]:
        return [*item.iter_markers("expect_kernel_finding"), *item.iter_markers("allow_kernel_finding")]

    def _record(self, event: dict[str, Any]) -> None:
        if "launch" in event:
            self.kernels[event["launch"]["kernel"]] += 1
        elif "coverage" in event:
            self.reached.add(event["coverage"])
        elif "finding" in event and event["finding"]["level"] != "hint":
            self.kinds[event["finding"]["kind"]] += 1
            self.found.append(event["finding"])
        elif "skipped" in event:
            self.skipped.add(**event["skipped"])
