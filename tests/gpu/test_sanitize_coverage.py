"""What a run reached of each kernel: lines, branches, masks; and how that is said."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl
from graded_kernels.autograder.gpu.emulator import Emulator
from graded_kernels.autograder.gpu.sanitize import cobertura, run_report
from graded_kernels.autograder.gpu.sanitize.reached import Reached, called, missed
from graded_kernels.autograder.gpu.sanitize.watching import watched


@triton.jit
def plus(a, MORE: tl.constexpr):
    if MORE:
        return a + 1
    return a


@triton.jit
def branching(x, y, n, MORE: tl.constexpr, BLOCK: tl.constexpr):
    """Its text is no statement."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(
        x + i,
        mask=i < n,
        other=0.0,
    )
    v = plus(v, MORE)
    if tl.program_id(0) == 0:
        v = v * 2
    elif tl.program_id(0) == 7:
        v = v * 3
    else:
        v = v * 4
    for _ in range(n - 60):
        v += 1
    tl.store(y + i, v, mask=i < n)


@triton.jit
def summed(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + i, mask=i < n), 0)
    if total > 100:
        total = total * 0
    tl.store(y, total)


@triton.jit
def outside(x, y):
    v = tl.load(x + 64)
    tl.store(y, v)


@triton.jit
def counted(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(y + i, 1.0)
    tl.atomic_add(y + i, 1.0, mask=i < n)
    tl.atomic_add(x + i, tl.atomic_add(y + i, 1.0), i < n)


@triton.autotune(configs=[triton.Config({})], key=[])
@triton.jit
def stored(y):
    tl.store(y, 1.0)


def reached(launch, together=True):
    """Functions by name, with line numbers counted from each one's ``def``."""
    total, before = Reached(), Emulator.together
    Emulator.together = together
    try:
        with watched(lambda event: total.add(event.get("coverage", [])), shim=False):
            launch(torch.zeros(64), torch.zeros(64))
    finally:
        Emulator.together = before
    return {one["kernel"]: one for one in total.functions()}


def rows(function, part):
    return [(line - function["line"], *reached) for line, *reached in function[part]]


@pytest.mark.parametrize("together", [True, False])
def test_lines_branches_and_masks(together):
    found = reached(lambda x, y: branching[(4,)](x, y, 60, MORE=False, BLOCK=16), together)
    kernel, helper = found["branching"], found["plus"]
    assert [line for line, ran in rows(kernel, "lines") if not ran] == [12, 16]
    assert [line for line, ran in rows(kernel, "lines") if ran] == [2, 3, 8, 9, 10, 11, 14, 15, 17]
    assert rows(kernel, "branches") == [(9, True, True), (11, False, True)]
    assert rows(kernel, "masks") == [(3, True, True, False), (17, True, True, False)]
    assert rows(helper, "lines") == [(1, True), (2, False), (3, True)]
    assert rows(helper, "branches") == [(1, False, True)]


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("n, some", [(40, True), (32, False)])
def test_a_mask_without_a_lane(n, some, together):
    kernel = reached(lambda x, y: branching[(4,)](x, y, n, MORE=True, BLOCK=16), together)["branching"]
    assert rows(kernel, "masks") == [(3, True, some, True), (17, True, some, True)]


def test_launches_add_up():
    def launches(x, y):
        for n, more in ((64, True), (61, False)):
            branching[(4,)](x, y, n, MORE=more, BLOCK=16)

    found = reached(launches)
    assert missed(found["plus"]) == ""
    first = found["branching"]["line"]
    assert missed(found["branching"]) == f"line {first + 12} never ran; `if` never true in line {first + 11}"


def test_a_launch_that_is_run_again_with_other_values_does_not_count():
    kernel = reached(lambda x, y: summed[(1,)](x, y, 60, BLOCK=64))["summed"]
    assert rows(kernel, "branches") == [(3, False, True)]
    assert rows(kernel, "lines")[3:] == [(4, False), (5, True)]


def test_what_comes_after_a_finding_that_stops_the_launch_is_not_reached():
    def launch(x, y):
        with pytest.raises(Exception, match="out of bounds"):
            outside[(1,)](x, y)

    assert rows(reached(launch)["outside"], "lines") == [(1, True), (2, False)]


def test_a_kernel_that_was_never_launched(monkeypatch):
    monkeypatch.chdir(Path(__file__).parent)
    total = Reached()
    with watched(lambda event: total.add(event.get("coverage", [])), shim=False) as watch:
        stored[(1,)](torch.zeros(64))
        watch.sanitizer.never_called()
    found = {one["kernel"]: one for one in total.functions() if one["file"] == __file__}
    assert {name for name, one in found.items() if called(one)} == {"stored"}
    assert rows(found["plus"], "lines") == [(1, False), (2, False), (3, False)]
    assert rows(found["branching"], "branches") == [(9, False, False), (11, False, False)]
    assert found.keys() == {"plus", "branching", "summed", "outside", "counted", "stored"}


def test_an_atomic_without_a_mask_has_none():
    kernel = reached(lambda x, y: counted[(4,)](x, y, 60, BLOCK=16))["counted"]
    assert rows(kernel, "masks") == [(3, True, True, False)]


FUNCTION = {
    **{"kernel": "k", "file": "k.py", "line": 3, "lines": [[4, True], [5, True], [6, False], [7, False], [9, False]]},
    **{"branches": [[5, True, False]], "masks": [[4, True, False, False], [5, False, False, True]]},
}


def test_what_is_missing_is_one_line_a_kernel():
    run = run_report.Run("p.py", launches=1, kernels={"k": 1}, coverage=[FUNCTION])
    shown = " ".join(run_report.text(run, 0, False, False).split())
    assert (
        "Not reached, so nothing is known of it: k.py:3 `k`: lines 6 to 7 and 9 never ran; `if` never false in line 5; "
        "mask never False in line 4; mask never True in line 5" in shown
    )
    assert "nothing found in 1 launch of 1 kernel, in the parts that were reached." in shown
    (many,) = run_report.not_reached([FUNCTION] * 23)[-1:]
    assert many == "and parts of 3 kernels more"
    library = FUNCTION | {"file": "/else/l.py"}
    assert [line[:5] for line in run_report.not_reached([library, FUNCTION])[1:]] == ["k.py:"]
    assert [line[:5] for line in run_report.not_reached([library])[1:]] == ["/else"]
    never = [FUNCTION | {"kernel": f"k{i}", "lines": [[4, False]], "branches": [], "masks": []} for i in range(7)]
    assert run_report.not_reached([never[0], FUNCTION])[2:] == [
        "never launched or called, 1 function of this folder: `k0`"
    ]
    assert run_report.not_reached(never)[1:] == [
        "never launched or called, 7 functions of this folder: `k0`, `k1`, `k2`, `k3`, `k4` and others"
    ]
    everything = FUNCTION | {"lines": [[4, True]], "branches": [], "masks": [[4, True, True, False]]}
    assert run_report.not_reached([everything]) == []


def test_the_same_file_for_cobertura():
    root = ElementTree.fromstring(cobertura.xml([FUNCTION, FUNCTION | {"kernel": "l", "file": "/else/l.py"}]))
    assert [(root.get(f"{what}-covered"), root.get(f"{what}-valid")) for what in ("lines", "branches")] == [
        ("4", "10"),
        ("6", "12"),
    ]
    here, there = root.iter("class")
    assert (here.get("filename"), there.get("filename")) == ("k.py", "/else/l.py")
    lines = here.find("lines")
    assert [(one.get("number"), one.get("hits"), one.get("condition-coverage")) for one in lines] == [
        ("4", "1", "50% (1/2)"),
        ("5", "1", "50% (2/4)"),
        ("6", "0", None),
        ("7", "0", None),
        ("9", "0", None),
    ]
