"""Reports made up for the tests of what shows them."""

import math

import numpy as np
from graded_kernels.autograder.judge import Report
from graded_kernels.autograder.judge.report import phrases as words
from graded_kernels.autograder.judge.results.case_result import CaseResult, Curve, Failure

NASTY = "\x1b[2J\x1b]0;title\x07\x9b31m\u202e\r\b<script>alert(1)</script>\"'><img src=x onerror=alert(1)>&amp;"


def curve(wrong_at=(), lost_at=(), wild=True):
    """Every finite bfloat16 value, half an ulp off, but 300 ulp at ``wrong_at`` and NaN at ``lost_at``."""
    x = (np.arange(1 << 16, dtype=np.uint32) << 16).view(np.float32)
    x = np.sort(x[np.isfinite(x)].astype(np.float64))
    ulp = np.full(len(x), 0.5)
    ulp[np.isin(x, wrong_at)] = 300
    ulp[np.isin(x, lost_at)] = np.inf
    bug = np.where(x == 0, np.inf, 2.0) if wild else None
    return Curve("x", "bfloat16", x, ulp, bug, "candle 0.4.1-0.5.0", np.full(len(x), 1.0))


def failure(**changes):
    fields = {"output": "dx", "index": (31744,), "got": math.nan, "expected": -0.25, "ulp": math.inf}
    fields |= {"wrong": 2, "total": 65536, "inputs": {"dy": -0.5, "x": 0.0}}
    return Failure(**(fields | changes))


def case(name, status="pass", bonus=False, message="", **more):
    return CaseResult(name, status, bonus, message, "dy: float16 (65536,), x: float16 (65536,)", **more)


def report(*cases, passed=False, score=0.5, summary="2 of 40 cases fail", **more):
    fields = {"fingerprint": None, "fingerprint_story": "", "traffic": None, "compile": None, "environment": {}}
    return Report("silu_backward", "torch", passed, score, cases, summary, **(fields | more))


def stub():
    said = "not implemented yet"
    only = case("every value", "error", message=said, code=words.STUB)
    return report(only, score=0.0, summary=said, stopped=words.STUB)


def candle():
    """Two failing cases among forty that pass."""
    passing = [case(f"passing {i}", message="worst 0.50 ulp") for i in range(40)]
    drawn = curve(lost_at=0)
    wrong = case("every value", "fail", message="dx is wrong.", hint="look at 0", failure=failure(), curve=drawn)
    other = case("edges", "fail", message="dx is NaN.", hint="another hint", failure=failure())
    return report(
        *passing[:20],
        wrong,
        *passing[20:],
        other,
        fingerprint="this is what candle 0.4.1-0.5.0 computed (huggingface/candle#2082)",
        fingerprint_story="A padded batch held exact zeros.",
    )


def in_order(page, *parts):
    places = [page.index(part) for part in parts]
    assert places == sorted(places), dict(zip(parts, places, strict=True))
