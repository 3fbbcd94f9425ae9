"""What it costs to read a kernel out of a hostile file: the constants of its module, its helpers, its launches."""

import dataclasses

import pytest
from bounded import bounded
from compiler_kernels import BODY, HEADER, SM_90, described
from graded_kernels.autograder.gpu.compiler.ahead_of_time import compile_report
from graded_kernels.autograder.gpu.compiler.bindings import RefusedKernel
from graded_kernels.autograder.gpu.compiler.extract import extract

USES_C = BODY.format("y = x + C")
DOUBLED = "".join(f"T{i + 1} = (T{i}, T{i})\n" for i in range(41))
TOO_MUCH = {
    "rounded to a billion places": "C = round(5, -10**9)",
    "rounded through a name": "P = -10**9\nC = round(5, P)",
    "a tower of powers": "C = 10**10**10",
    "a long shift": "C = 1 << 10**10",
    "shifts of shifts": "C = 1 << 64 << 64 << 64 << 64 << 64",
    "a tuple of 2**41": "T0 = (1, 2)\n" + DOUBLED + "C = T41",
    "text of 2**41 characters": "S0 = 'ab'\n" + "".join(f"S{i + 1} = S{i} + S{i}\n" for i in range(41)) + "C = S41",
    "a number of a million digits": "C = 0x" + "f" * 900_000,
    "a name for every term": "".join(f"A{i} = A{i + 1} + A{i + 1}\n" for i in range(60)) + "A60 = 1\nC = A0",
    "ten thousand terms": "C = " + "1 + " * 2_500 + "1",
    "a chain of names": "A0 = 1\n" + "".join(f"A{i + 1} = A{i} + 1\n" for i in range(5_000)) + "C = A5000",
    "a factorial": "import math\nC = math.factorial(10**9)",
    "combinations": "import math\nC = math.comb(10**18, 5 * 10**17)",
    "a power of text": "C = 2 ** 'a'",
    "a shift by text": "C = 'abc' << 'abc'",
    "a shift back": "C = 1 << -1",
    "a power of nothing": "C = 2 ** None",
    "a least common multiple": "import math\nC = math.lcm(" + ", ".join(str(2**60 + i) for i in range(20_000)) + ")",
}


@pytest.mark.parametrize("constant", TOO_MUCH.values(), ids=TOO_MUCH)
def test_a_constant_is_computed_within_a_budget(constant):
    source = HEADER + constant + "\n" + USES_C

    def refusal():
        try:
            return str(extract(described(source)).values)
        except RefusedKernel as refused:
            return refused.message

    result = bounded(refusal)
    assert "C is computed when the file runs" in result or "the source cannot be read" in result, result[:300]


def test_constants_of_an_ordinary_module_are_within_the_budget():
    names = "".join(f"C{i} = {i} * BLOCK // 2 + round(2.5 * {i}) - (1 << {i % 32})\n" for i in range(200))
    total = "C = " + " + ".join(f"C{i}" for i in range(0, 200, 8)) + "\n"
    found = extract(described(HEADER + "BLOCK = 1024\n" + names + total + USES_C)).values["C"]
    assert found == sum(i * 1024 // 2 + round(2.5 * i) - (1 << i % 32) for i in range(0, 200, 8))


def test_a_name_used_often_is_looked_up_once():
    """A decorator for every use, and a second choice for every use: neither may be read again each time."""
    many = 12_000
    handlers = "try:\n    import triton.language as extra\n" + "except A:\n    import triton.language as extra\n" * many
    helper = "@triton.jit\n" + "@wrapped\n" * many + "def helper(v):\n    return v\n"
    uses = "y = (" + "helper, extra.exp, " * many + ")"
    source = HEADER + handlers + helper + BODY.format(uses)
    assert bounded(lambda: sorted(extract(described(source)).functions)) == ["helper", "kernel"]


def test_helpers_that_name_each_other_are_refused():
    text = "import triton\nfrom elsewhere import a, b\n@triton.jit\ndef f(v):\n    return a(v) + b(v)\n"
    launch = described(HEADER + "from elsewhere import a, b\n" + BODY.format("y = a(x) + b(x)"))
    launch = dataclasses.replace(launch, helpers={"a": ("f", text), "b": ("f", text)})
    report = bounded(lambda: compile_report([launch], SM_90))
    assert report["status"] == "not-run", report
    assert "helpers" in report["reason"], report


def test_helpers_of_helpers_are_counted():
    """Thirty levels of two names each: 2**30 copies."""
    call = "import triton\nfrom elsewhere import a{0}, b{0}\n@triton.jit\ndef f(v):\n    return a{0}(v) + b{0}(v)\n"
    last = "import triton\n@triton.jit\ndef f(v):\n    return v\n"
    texts = [call.format(i + 1) for i in range(30)] + [last]
    helpers = {f"{name}{i}": ("f", text) for i, text in enumerate(texts) for name in "ab"}
    launch = described(HEADER + "from elsewhere import a0, b0\n" + BODY.format("y = a0(x) + b0(x)"))
    launch = dataclasses.replace(launch, helpers=helpers)
    report = bounded(lambda: compile_report([launch], SM_90))
    assert report["status"] == "not-run", report
    assert "helpers" in report["reason"], report
