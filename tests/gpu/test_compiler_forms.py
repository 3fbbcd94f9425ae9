"""Every form of a kernel's launches goes through Triton's front end, and all that it does through the compiler."""

import dataclasses

import pytest
from compiler_kernels import HEADER, SM_90, cache, compile_report, described, no_worker  # noqa: F401
from graded_kernels.autograder.gpu import compiler
from graded_kernels.autograder.gpu.compiler import TARGETS, Target, ahead_of_time
from graded_kernels.autograder.gpu.compiler.operations import operations
from graded_kernels.autograder.runner import Compiler, Limits

BRANCHES = """
PLAIN = 0.5

@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr, FLAG: tl.constexpr = False, MODE: tl.constexpr = 0):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    {}
    tl.store(y_ptr + offsets, x, mask=mask)
"""
REFUSED = "x = x * PLAIN"  # by the front end
UNKNOWN = (  # to NVIDIA's assembler, which comes last
    "x = tl.inline_asm_elementwise('no.such.f32 $0, $1;', '=f,f', [x.to(tl.float32)], tl.float32, True, 1)"
)
ENTERED = {  # a condition, the launch that meets it, and what the report says of it
    "FLAG": ({"FLAG": True}, "fp32", "FLAG=True"),
    "not FLAG and MODE == 1": ({"MODE": 1}, "fp32", "MODE=1"),
    "BLOCK == 64": ({"BLOCK": 64}, "fp32", "BLOCK=64"),
    "x.dtype == tl.bfloat16": ({}, "bf16", "x_ptr: *bf16, y_ptr: *bf16"),
}


def launched(source: str, dtype: str = "fp32", **constants):
    return described(source, dtype=dtype, constants={"BLOCK": 1024, "FLAG": False, "MODE": 0} | constants)


def others(source: str) -> list:
    """Forms that meet none of the conditions; the first are the best aligned and the largest."""
    return [launched(source, **more) for more in ({}, {"dtype": "fp16"}, {"FLAG": True, "MODE": 2}, {"MODE": 2})]


@pytest.mark.parametrize("refused", [REFUSED, UNKNOWN], ids=["front end", "assembler"])
@pytest.mark.parametrize("condition", ENTERED)
def test_a_branch_that_does_not_compile_fails_in_the_launch_that_enters_it(condition, refused):
    constants, dtype, told = ENTERED[condition]
    source = HEADER + BRANCHES.format(f"if {condition}:\n        {refused}")
    rest = [one for one in others(source) if condition != "FLAG" or not one.constants["FLAG"]]
    assert compile_report(rest, SM_90)["status"] == "pass", "no other launch enters it"
    found = compile_report([*rest, launched(source, dtype, **constants)], SM_90)
    assert found["status"] == "fail", found["reason"]
    assert f"(in the launch with {told})" in found["reason"], found["reason"]
    if refused is REFUSED:
        (row,) = (row for row in found["targets"] if row["status"] == "fail")
        assert row["line_text"] == REFUSED
        assert f"`{REFUSED}`" in found["reason"]


def test_a_branch_that_no_launch_compiles_is_told_without_a_launch():
    source = HEADER + BRANCHES.format(REFUSED)
    assert "(in the launch" not in compile_report(others(source), SM_90)["reason"]


def test_what_was_compiled_is_counted():
    source = HEADER + BRANCHES.format("if FLAG:\n        x = tl.exp(x.to(tl.float32))")
    launches = [launched(source, dtype, FLAG=flag) for dtype in ("fp16", "bf16") for flag in (False, True)]
    launches += [launched(source, BLOCK=block) for block in (16, 32, 64, 128)]
    found = compile_report([*launches, dataclasses.replace(launches[0], divisible=())], SM_90)
    assert (found["status"], found["forms"], found["left_out"]) == ("pass", 8, 0)
    shown = [row["launch"] for row in found["targets"]]
    assert found["complete"] == len(shown) < 8
    for part in ("*fp16", "*bf16", "*fp32", "FLAG=True", "FLAG=False", "BLOCK=1024"):
        assert any(part in launch for launch in shown), part
    assert (found["compiled_for"], found["not_compiled_for"]) == (["sm_90"], ["sm_80", "sm_100", "gfx942"])


def test_what_is_too_much_for_the_whole_compiler_is_counted(monkeypatch):
    monkeypatch.setattr(ahead_of_time, "WHOLE", 2)
    source = HEADER + BRANCHES.format("pass")
    launches = [launched(source, dtype) for dtype in ("fp32", "fp16", "bf16")]
    launches += [
        dataclasses.replace(one, kernel="second", source=source.replace("kernel(", "second(")) for one in launches
    ]
    found = compile_report(launches, SM_90)
    assert (found["status"], found["forms"], found["complete"], found["left_out"]) == ("pass", 6, 2, 4)
    assert {row["kernel"] for row in found["targets"]} == {"kernel", "second"}


def test_more_forms_than_can_be_compiled_fail(monkeypatch):
    monkeypatch.setattr(ahead_of_time, "FORMS", 3)
    found = compiler.compile_report(others(HEADER + BRANCHES.format("pass")), no_worker, SM_90)
    assert found["status"] == "fail"
    assert found["reason"] == (
        "The kernels are launched in 4 forms, with other constants, types or options each time; at most 3 can be "
        "compiled, and all of them must be."
    )


TILES = (
    HEADER
    + """
@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    rows, k = tl.arange(0, BLOCK), tl.arange(0, 32)
    a = tl.load(x_ptr + rows[:, None] * n + k[None, :])
    b = tl.load(x_ptr + k[:, None] * n + rows[None, :])
    tl.store(y_ptr + rows[:, None] * n + rows[None, :], tl.dot(a, b, input_precision="ieee"))
"""
)


def test_one_limit_holds_for_all_launches_and_targets():
    """Tiles of 512 x 512 take half a minute for one GPU. The limit is that of the report, and not of a kernel or of a
    GPU; what the control takes, which shows that the compiler works, is beyond it.
    """
    launches = [
        described(TILES, constants={"BLOCK": 512}),
        described(TILES, "kernel", "fp16", constants={"BLOCK": 512}),
    ]
    with Compiler(limits=Limits(seconds=60.0, total_seconds=2.0)) as own:
        found = own.report(launches, TARGETS)
        assert own.spent < 8
    assert found["status"] == "not-run"
    assert "compiling what the answer launches took more than 2 s" in found["reason"], found["reason"]


def test_operations_are_told_by_their_types_and_texts_and_not_by_sizes():
    text = """
    module {
      tt.func public @kernel(%x: !tt.ptr<f16> {tt.divisibility = 16 : i32} loc("x")) attributes {noinline = false} {
        %0 = arith.constant dense<0.000000e+00> : tensor<64x64xf32> loc(#loc1)
        %1 = tt.load %9, %8, %cst : tensor<1024x!tt.ptr<bf16>> loc(#loc3)
        %2 = tt.elementwise_inline_asm "tanh.approx.f32 $0, $1;" {constraints = "=f,f"} %1 : f32 -> tensor<8xf32>
        %3, %4 = "tt.reduce"(%2) <{axis = 0 : i32}> ({
    """
    assert operations(text) == [
        "arith.constant f32",
        'tt.elementwise_inline_asm f32 "tanh.approx.f32 $0, $1;" "=f,f"',
        "tt.func i32",
        "tt.load bf16",
        "tt.reduce i32",
    ]
    assert operations(text.replace("1024", "16")) == operations(text)


def test_targets_are_chosen_by_name():
    assert Target.named() == SM_90
    assert Target.named("all") == TARGETS
    assert [target.name for target in Target.named(["gfx942", "sm_80"])] == ["sm_80", "gfx942"]
    for wrong in ("sm_70", [], ["sm_90", "all"]):
        with pytest.raises(ValueError, match="is not a GPU to compile for; name gfx942, sm_100, sm_80, sm_90, or all"):
            Target.named(wrong)
