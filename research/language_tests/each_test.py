"""A plugin of pytest for `run_language_tests.py`: a sample of a file's tests, each with a limit, a line of JSON each.

The environment has its settings: ``EACH_TEST_OUT``, a file to which lines are added; ``EACH_TEST_MOST``, how many
parametrizations of a test function run at most; ``EACH_TEST_SECONDS``, the limit of each in processor time.

Of a test function with c parametrizations each n-th runs, in the order in which pytest collects them from the first on,
with n = ceil(c / most): nothing but their number decides which.
"""

import json
import math
import os
import signal
from collections import Counter

import pytest

OUT, MOST, SECONDS = (
    os.environ["EACH_TEST_OUT"],
    *(int(os.environ[f"EACH_TEST_{name}"]) for name in ("MOST", "SECONDS")),
)
BY_THE_CLOCK = 6  # how many times as long it may take
_TEXT = 2_000  # characters of a failure that are told


def name_of(item):
    return item.nodeid.partition("::")[2]


def tell(**event):
    with open(OUT, "a", encoding="utf-8") as lines:
        lines.write(json.dumps(event) + "\n")


def begun():
    """The tests that an earlier process has begun: one of them ended it."""
    with open(OUT, encoding="utf-8") as lines:
        return {event["begins"] for event in map(json.loads, lines) if "begins" in event}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Leaves the sample, without what has run already."""
    functions = [name_of(item).partition("[")[0] for item in items]
    number, count, earlier = Counter(), Counter(functions), begun()
    chosen = []
    for item, function in zip(items, functions, strict=True):
        if number[function] % math.ceil(count[function] / MOST) == 0:
            chosen.append(item)
        number[function] += 1
    tell(collected=len(items), chosen=len(chosen))
    items[:] = [item for item in chosen if name_of(item) not in earlier]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    tell(begins=name_of(item))
    return (yield)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item):
    """Fails a test that takes too long."""

    def ended(number, frame):
        pytest.fail(f"longer than {SECONDS} s of processor time", pytrace=False)

    timers = {
        signal.SIGPROF: (signal.ITIMER_PROF, SECONDS),
        signal.SIGALRM: (signal.ITIMER_REAL, BY_THE_CLOCK * SECONDS),
    }
    before = {number: signal.signal(number, ended) for number in timers}
    try:
        for timer, seconds in timers.values():
            signal.setitimer(timer, seconds)
        return (yield)
    finally:
        for number, (timer, _) in timers.items():
            signal.setitimer(timer, 0)
            signal.signal(number, before[number])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "call" or not report.passed:
        why = ""
        if call.excinfo and not report.passed:
            why = report.longrepr[2] if isinstance(report.longrepr, tuple) else call.excinfo.exconly()
        tell(ended=name_of(item), outcome=report.outcome, why=why[:_TEXT])
    return report
