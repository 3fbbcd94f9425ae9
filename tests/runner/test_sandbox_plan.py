"""The proof's data: a plan of what an answer did, which is checked, and the kernels that are cut out of its text."""

import json

import pytest
import torch
from graded_kernels.autograder.runner.call.answer import Answer, Cell
from graded_kernels.autograder.runner.call.examination import Call
from graded_kernels.autograder.runner.call.outcome import Outcome
from graded_kernels.autograder.runner.sandbox import autotuned, kernels
from graded_kernels.autograder.runner.sandbox.child_calls import Asked, Came
from graded_kernels.autograder.runner.sandbox.proof import Answering, Proof
from graded_kernels.autograder.runner.sandbox.sources import Sources
from graded_kernels.autograder.runner.sandbox.status import Status
from graded_kernels.autograder.runner.sandbox.wire import plan

REF = {"buffer": 0, "dtype": "float32", "shape": [3], "stride": [1], "offset": 0}
OUT = REF | {"buffer": 1}
LAUNCH = {
    "launch": "kernel",
    "grid": [1, 1, 1],
    "arguments": {"x_ptr": {"ref": REF}, "y_ptr": {"ref": OUT}, "n": 3, "dtype": {"type": "float32"}},
    "options": {"num_warps": 4},
}
OP = {"op": "fill_", "overload": "Scalar", "args": [{"ref": OUT}, 0.0], "kwargs": {"device": "cpu"}, "out": [None]}
PLAN = {
    "buffers": [{"input": 0}, {"dtype": "float32", "elements": 3}, {"dtype": "float32", "bytes": "00000000"}],
    "steps": [OP, LAUNCH],
    "outputs": [OUT],
    "globals": {"BLOCK": 128, "WIDE": {"dtype": "fp32"}, "exp": {"import": "triton.language", "name": "exp"}},
    "tuned": [{"of": "3f", "configuration": 1, "steps": [1, 2]}],
}


def checked(given):
    return plan.check(given, 1, {"fill_", "sum"}, 1 << 20)


def test_a_good_plan_is_kept():
    found = checked(json.loads(json.dumps(PLAN)))
    assert found["steps"][1] == LAUNCH
    assert found["outputs"] == [OUT]
    assert found["steps"][0]["kwargs"] == {}


@pytest.mark.parametrize(
    ("allowed", "shape", "kept"), [({"sum"}, [], True), ({"sum"}, [1], True), ({"sum"}, [3], False), (set(), [], False)]
)
def test_one_number_alone_is_divided_outside_of_the_kernels(allowed, shape, kept):
    """The end of a sum, in an exercise that allows sums."""
    one = OUT | {"shape": shape, "stride": [1] * len(shape)}
    step = {"op": "div", "overload": "Tensor", "args": [{"ref": one}, 2.0], "kwargs": {}, "out": [one]}
    answering = Answering(ask=None, job={}, sources=None, allowed=frozenset(allowed), memory=1 << 20)
    proof = Proof(answering, Call((torch.ones(3),)), Asked.of([Came(Outcome(), Status())]), None)
    if kept:
        assert proof._checked(changed(["steps"], [LAUNCH, step]))["steps"][1]["op"] == "div"
    else:
        with pytest.raises(plan.BadPlan, match="arithmetic"):
            proof._checked(changed(["steps"], [LAUNCH, step]))


def changed(where: list, value) -> dict:
    copy = json.loads(json.dumps(PLAN))
    inner = copy
    for key in where[:-1]:
        inner = inner[key]
    inner[where[-1]] = value
    return copy


@pytest.mark.parametrize(
    ("where", "value", "told"),
    [
        (["steps", 1, "arguments", "n"], 4, False),  # a constant of the configuration
        (["steps", 1, "grid"], [2, 1, 1], False),
        (["steps", 1, "options"], {"num_warps": 8}, False),
        (["steps", 1, "launch"], "another", True),
        (["steps", 1, "arguments", "y_ptr"], {"ref": REF}, True),
        (["steps", 0, "args"], [{"ref": OUT}, 1.0], True),
        (["outputs"], [REF], True),
        (["tuned", 0, "of"], "40", True),
        (["tuned"], [], True),
        (["steps"], [OP, LAUNCH, LAUNCH], True),
    ],
)
def test_a_launcher_looks_at_what_an_autotuner_drew(where, value, told):
    mine, other = checked(PLAN), checked(changed(where, value))
    if other["tuned"]:
        other["tuned"][0]["configuration"] = 0
    assert bool(autotuned.trouble_of(mine, other)) == told
    assert autotuned.trouble_of(mine, checked(PLAN)) is None


def test_of_two_launches_in_one_configuration_all_is_compared():
    assert autotuned.trouble_of(checked(PLAN), checked(changed(["steps", 1, "grid"], [2, 1, 1])))


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (["buffers", 0], {"input": 1}),
        (["buffers", 0], {"input": -1}),
        (["buffers", 1, "elements"], 2),  # the output reaches out of it
        (["buffers", 1, "elements"], 2**40),
        (["buffers", 1, "elements"], -3),
        (["buffers", 1, "dtype"], "object"),
        (["buffers", 2, "bytes"], "00" * 257),
        (["buffers", 2, "bytes"], "zz"),
        (["buffers"], 5),
        (["steps"], [OP] * 5000),
        (["steps", 0, "op"], "silu"),
        (["steps", 0, "op"], "__class__"),
        (["steps", 0, "overload"], "a.b"),
        (["steps", 0, "args"], [{"call": "os.system"}]),
        (["steps", 1, "launch"], "os.system"),
        (["steps", 1, "grid"], [1]),
        (["steps", 1, "grid"], [1, 1, -1]),
        (["steps", 1, "grid"], [1, 1, 1.5]),
        (["steps", 1, "arguments"], {"x ptr": 1}),
        (["steps", 1, "arguments"], {"x": 2**100}),
        (["steps", 1, "arguments"], {"x": {"type": "core"}}),
        (["steps", 1, "options"], {"num_warps": "4"}),
        (["outputs", 0, "buffer"], 3),
        (["outputs", 0, "buffer"], None),
        (["outputs", 0, "offset"], 1),
        (["outputs", 0, "offset"], -1),
        (["outputs", 0, "stride"], [2]),
        (["outputs", 0, "shape"], [3, 1]),
        (["outputs", 0, "dtype"], "float64"),
        (["tuned"], [{"of": "3f", "configuration": 1, "steps": [1, 3]}]),
        (["tuned"], [{"of": "3f", "configuration": 1, "steps": [2, 1]}]),
        (["tuned"], [{"of": "not hex", "configuration": 1, "steps": [1, 2]}]),
        (["tuned"], [{"of": "3f", "configuration": -1, "steps": [1, 2]}]),
        (["globals"], {"a-b": 1}),
        (["globals"], {"a": 2**64}),
        (["globals"], {"a": {"import": "os", "name": "system"}}),
        (["globals"], {"a": {"import": "triton.language", "name": "str_to_ty"}}),
        (["globals"], {"a": {"import": "triton.language.core", "name": "inspect"}}),
        (["globals"], {"a": {"import": "triton.language.core.inspect"}}),
        (["globals"], {"a": {"constexpr": {"import": "os"}}}),
        (["globals"], {"a": {"tuple": [[1]]}}),
        (["globals"], {"a": {"any": [1]}}),
    ],
)
def test_a_plan_that_cannot_be_followed_is_refused(where, value):
    with pytest.raises(plan.BadPlan):
        checked(changed(where, value))


@pytest.mark.parametrize("given", [None, 3, [], "plan", {}, {"buffers": [{}], "steps": []}])
def test_what_is_no_plan_is_refused(given):
    with pytest.raises(plan.BadPlan):
        checked(given)


# Kernels

TEXT = """import os
import math
import triton
import triton.language as tl
from somewhere import helper

SIZE = compute()
DEEP = 1{deep}


@triton.jit
def square(x):
    return x * x


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    {line}
    tl.store(y_ptr + at, square(x), mask=at < n)
""".replace("{deep}", " + 1" * 500)


def sources(line: str) -> Sources:
    return Sources(TEXT.replace("{line}", line))


def cut(line: str, **constants) -> dict:
    steps = [{"launch": "kernel", "grid": [1, 1, 1], "arguments": {}, "options": {}}]
    return kernels.cut_out(sources(line), {"steps": steps, "globals": constants})


def test_a_kernel_takes_its_helpers_along_and_nothing_else():
    found = cut("x = x * SIZE", SIZE=128)
    assert set(found["functions"]) == {"kernel", "square"}
    assert "os" not in found["values"]
    assert found["values"]["SIZE"] == 128
    assert found["functions"]["kernel"]["line"] == 17


@pytest.mark.parametrize(
    "line",
    [
        "os.system('x')",
        "import os",
        "helper(x)",
        "x.__class__",
        "x = [i for i in range(3)]",
        "x = (lambda y: y)(x)",
        "exec('x')",
        "getattr(x, 'handle')",
        "global os",
        "x = {}",
        "x = SIZE",
        "x = DEEP",
        "with x: pass",
        "unknown(x)",
    ],
)
def test_what_is_no_kernel_is_refused(line):
    with pytest.raises(plan.BadPlan):
        cut(line)


def test_a_kernel_of_another_module_is_told_by_its_import():
    steps = [{"launch": "helper", "grid": [1, 1, 1], "arguments": {}, "options": {}}]
    with pytest.raises(plan.BadPlan, match="helper is imported from somewhere: paste the function .* --root"):
        kernels.cut_out(sources("pass"), {"steps": steps, "globals": {}})


def test_the_text_of_a_notebook_is_without_cells_that_are_not_python():
    assert Answer("x", (Cell("a", "y <- f(x) z"), Cell("b", "y = 1"))).python == "y = 1"
