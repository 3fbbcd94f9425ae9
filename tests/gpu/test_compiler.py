"""The compiler report: registers, spills, widths and limits, on GPUs that are not here."""

import contextvars
import dataclasses
import importlib
import inspect
import json
import re

import pytest
import torch
import triton
from compiler_kernels import BODY, HEADER, SCALE, SM_90, cache, compile_report, described, load, no_worker, row_of  # noqa: F401
from graded_kernels.autograder.gpu import compiler
from graded_kernels.autograder.gpu.compiler import TARGETS, launch_of, launchable, machine_code, recorded
from graded_kernels.autograder.gpu.devices import DEVICES
from graded_kernels.autograder.gpu.emulator import Emulator


def test_an_honest_kernel_compiles_for_every_gpu():
    source = HEADER + SCALE
    x = torch.linspace(-3, 3, 4096)
    kernel = load(source).scale_kernel
    report = compile_report([launch_of(kernel, (x, torch.empty_like(x), 4096), {"BLOCK": 1024}, source)], TARGETS)
    assert (report["status"], report["reason"]) == ("pass", "")
    assert [row["target"] for row in report["targets"]] == ["sm_80", "sm_90", "sm_100", "gfx942"]
    for row in report["targets"]:
        assert row["status"] == "pass", row
        assert row["aligned"], row
        assert not row["cached"], row
        assert row["spills"] == 0, row
        assert 4 < row["registers"] < 128, row
        assert row["shared"] == 0, row
        assert (row["load_bits"], row["store_bits"]) == (128, 128), row
        bits_a_thread = sum(int(bits) * count for bits, count in row["loads"].items())
        threads = 4 * (64 if row["target"] == "gfx942" else 32)
        assert bits_a_thread * threads == 1024 * 32, row  # BLOCK float32, by the program's four warps
    assert [row["scalar_registers"] is None for row in report["targets"]] == [True, True, True, False]
    json.dumps(report)


def test_widths_of_strided_and_unaligned_accesses():
    strided = HEADER + BODY.format("y = x").replace("x_ptr + offsets", "x_ptr + 2 * offsets")
    wide, odd = described(HEADER + SCALE, "scale_kernel"), described(HEADER + SCALE, "scale_kernel", divisible=())
    half = described(HEADER + SCALE, "scale_kernel", "fp16", divisible=("x_ptr", "y_ptr"))
    report = compile_report([described(strided), wide, half], SM_90)
    assert report["status"] == "pass", report["reason"]
    row = {row["launch"]: row for row in report["targets"] if row["kernel"] == "scale_kernel"}
    row |= {odd.describe(): row_of(compile_report([odd], SM_90))}
    assert (row[wide.describe()]["load_bits"], row[wide.describe()]["aligned"]) == (128, True)
    assert (row[odd.describe()]["load_bits"], row[odd.describe()]["aligned"]) == (32, False)
    assert row[half.describe()]["load_bits"] == 16, "n not divisible by 16 splits every masked access"
    assert "not divisible by 16: n" in half.describe()
    assert "x_ptr: *fp16" in half.describe()
    (last,) = (row for row in report["targets"] if row["kernel"] == "kernel")
    assert (last["load_bits"], last["store_bits"]) == (32, 128), last


def test_spills_are_counted_and_other_stack_use_is_not():
    reduce = "y = x - tl.sum(x)"
    sine = "from triton.language.extra import libdevice\n" + HEADER + BODY.format("y = libdevice.sin(x)")
    spilling = described(HEADER + BODY.format(reduce), constants={"BLOCK": 65536})
    gpus = (*SM_90, TARGETS[-1])
    rows = compile_report([spilling, described(sine)], gpus)["targets"]
    assert [row["status"] for row in rows] == ["pass"] * 4
    assert rows[0]["spills"] > 100, "65,536 values do not fit 4 warps' registers"
    assert rows[0]["shared"] > 0, "65,536 values do not fit 4 warps' registers"
    assert rows[2]["spills"] == 0, "libdevice.sin keeps a table on the stack, which is no spill"


def test_limits_of_the_device_are_told():
    kernel = described(HEADER + BODY.format("y = x - tl.sum(x)"), constants={"BLOCK": 64})
    tiny = dataclasses.replace(SM_90[0], shared=4)
    row = row_of(compile_report([kernel], [tiny]))
    assert row["status"] == "fail", row
    assert re.fullmatch(r"a program needs \d+ bytes of shared memory and NVIDIA H100 and H200 has 4", row["message"]), (
        row
    )


MADE = (
    HEADER
    + """
@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [n, BLOCK], [BLOCK, 1], [8, BLOCK])
    y = tl.make_tensor_descriptor(y_ptr, [n, BLOCK], [BLOCK, 1], [8, BLOCK])
    y.store([0, 0], x.load([0, 0]))
"""
)


def test_scratch_memory_without_an_allocator_is_refused():
    """Triton's launcher raises there. Descriptors made in a kernel need it from sm_90 on."""
    launch = described(MADE, constants={"BLOCK": 64})
    a100, h100 = compile_report([launch], [*TARGETS[:1], *SM_90])["targets"]
    assert (a100["status"], a100["scratch"]) == ("pass", 0)
    assert (h100["status"], h100["scratch"]) == ("fail", 256), h100
    assert "a program needs 256 bytes of scratch memory" in h100["message"]
    row = row_of(compile_report([dataclasses.replace(launch, allocates=True)], SM_90))
    assert (row["status"], row["reads"]) == ("pass", 1), row


def test_loads_that_the_compiler_leaves_out_are_not_there():
    launches = [described(HEADER + BODY.format(f"y = {factor} * x"), dtype="i32") for factor in (0, 3)]
    assert [row_of(compile_report([one], SM_90))["reads"] for one in launches] == [0, 1]


def test_a_launch_knows_whether_there_is_an_allocator():
    kernel, x = load(HEADER + SCALE).scale_kernel, torch.ones(4)

    def launch():
        return launch_of(kernel, (x, x, 4), {"BLOCK": 4}, HEADER + SCALE)

    def allocating():
        triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8))
        return launch()

    assert [contextvars.Context().run(one).allocates for one in (launch, allocating)] == [False, True]


@pytest.mark.parametrize("programs", [2112, 2113])
def test_a_cooperative_grid_has_to_fit_on_the_gpu(programs):
    """16 programs of four warps on each of 132 multiprocessors."""
    size = {"grid": [programs, 1, 1], "numbers": {}, "elements": 1, "bytes": 4}
    launch = described(HEADER + SCALE, "scale_kernel", options={"launch_cooperative_grid": True})
    small = dataclasses.replace(launch, size=size | {"grid": [1, 1, 1]})
    report = compile_report([dataclasses.replace(launch, size=size), small], SM_90)
    assert report["status"] == ("pass" if programs == 2112 else "fail")
    if programs > 2112:
        assert (
            "scale_kernel cannot be launched on sm_90: a cooperative grid of 2,113 programs is refused"
            in report["reason"]
        )
        assert "holds 2,112 of them at a time, 16 on each of 132 multiprocessors" in report["reason"]


def test_what_a_multiprocessor_holds():
    gpu = DEVICES["h100"]
    given = [(4, 32, 0), (1, 16, 0), (4, 128, 0), (8, 255, 0), (4, 32, 100 << 10), (32, 64, 0)]
    assert [launchable.at_a_time(gpu, *one) for one in given] == [16, 32, 4, 1, 2, 1]


@pytest.mark.parametrize(
    ("options", "right", "words"),
    [
        ({"num_warps": 32}, "sm_80 sm_90 sm_100", "num_warps=32 makes programs of 2,048 threads"),
        ({"num_warps": 32, "waves_per_eu": 1}, "", "waves_per_eu=1, which is an option of AMD's GPUs alone. Launch it"),
        (
            {"num_warps": 64},
            "",
            "num_warps=64 makes programs of 2,048 threads, and a GPU runs at most 1,024. Launch it",
        ),
        ({"num_ctas": 16}, "sm_90 sm_100", "launched with num_ctas=16: num_ctas > 1 requires NVIDIA SM90+"),
        (
            {"maxnreg": 1},
            "sm_80 sm_90 sm_100",
            "maxnreg=1, which is an option of NVIDIA's GPUs alone. Launch it without",
        ),
        ({"waves_per_eu": 2}, "gfx942", "waves_per_eu=2, which is an option of AMD's GPUs alone. Launch it without"),
        ({"num_warps": 3}, "", "num_warps must be a power of 2"),
        ({"num_wraps": 4}, "", "num_wraps is neither a parameter of the kernel nor a launch option"),
    ],
)
def test_a_launchs_options_keep_it_off_a_gpu_and_the_kernel_fails_there(options, right, words):
    """Nothing of it is "not run": a launch's options are the answer's doing, and no tool that is missing."""
    report = compile_report([described(HEADER + SCALE, "scale_kernel", options=options)], TARGETS)
    found = {row["target"]: row["status"] for row in report["targets"]}
    assert found == {target.name: "pass" if target.name in right.split() else "fail" for target in TARGETS}
    assert report["status"] == "fail", report["reason"]
    assert words in report["reason"], report["reason"]


def test_launches_that_differ_in_alignment_are_one_form():
    source = "import numpy\n" + HEADER + BODY.format("y = numpy.exp(x)")
    odd = described(source, divisible=())
    launches = [odd, odd, described(source, "kernel", "fp16"), described(source)]
    launches += [described(source.replace("def kernel", "def other"), "other", divisible=())]
    report = compiler.compile_report(launches, no_worker, SM_90)  # refused before any compiler is asked
    assert (report["forms"], report["complete"], report["left_out"]) == (3, 0, 0)
    assert [(row["kernel"], row["aligned"]) for row in report["targets"]] == [
        ("kernel", True),
        ("kernel", True),
        ("other", False),
    ]
    assert compile_report([], SM_90)["status"] == "not-run"


def test_our_own_kernels_compile():
    silu = importlib.import_module("graded_kernels.kernels.silu")
    source = inspect.getsource(silu)
    x = torch.linspace(-3, 3, 48, dtype=torch.bfloat16)
    with Emulator() as emulator:
        silu.silu_backward(torch.ones_like(x), x)
    report = compile_report([recorded(launch, source) for launch in emulator.launches], TARGETS)
    assert report["status"] == "pass", report["reason"]
    assert [row["spills"] for row in report["targets"]] == [0, 0, 0, 0]
    assert [row["load_bits"] for row in report["targets"]] == [128, 128, 128, 64]


def test_widths_are_read_from_every_form_of_instruction():
    ptx = """
        @%p1 ld.global.v4.b32 { %r1, %r2, %r3, %r4 }, [ %rd1 + 0 ];
        @!%p1 ld.global.L1::evict_last.v8.b32 { %r1 }, [ %rd1 + 0 ];
        ld.global.nc.v2.f32 { %f1, %f2 }, [ %rd1 + 0 ];
        ld.volatile.global.b8 %rs1, [ %rd1 + 0 ];
        cp.async.cg.shared.global [ %r5 + 0 ], [ %rd1 + 0 ], 0x10, %r7;
        cp.async.ca.shared.global [ %r5 + 0 ], [ %rd1 + 0 ], 8, 8;
        ld.shared.v4.b32 { %r1, %r2, %r3, %r4 }, [ %r5 ];
        ld.param.b64 %rd1, [kernel_param_0];
        st.global.b16 [ %rd1 + 0 ], { %rs1 };
        st.shared.b64 [ %r5 ], %rd2;
    """
    ptxas = "0 bytes stack frame, 12 bytes spill stores\nUsed 40 registers, 380 bytes cmem"
    found = machine_code.nvidia(ptx, ptxas)
    assert found["loads"] == {"256": 1, "128": 2, "64": 2, "8": 1}
    assert found["stores"] == {"16": 1}
    assert found["reads"] == 1
    without = [line for line in ptx.splitlines() if "global" not in line or line.strip().startswith("st.")]
    storing = """
        cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {%r1, %r2}], [%r3];
        ldmatrix.sync.aligned.b16 {%r1}, [%r5];
    """
    assert machine_code.nvidia("\n".join([*without, storing]), ptxas)["reads"] == 0
    loading = """
        cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2}], [%r3];
    """
    assert machine_code.nvidia("\n".join([*without, loading]), ptxas)["reads"] == 1
    assert (found["registers"], found["spills"], found["load_bits"], found["store_bits"]) == (40, 12, 128, 16)
    assembly = """
	global_load_dwordx4 v[2:5], v[2:3], off
	buffer_load_dwordx2 v[2:3], v2, s[4:7], 0 offen
	global_load_ushort v1, v[2:3], off
	global_load_short_d16_hi v1, v[2:3], off
	s_load_dwordx8 s[4:11], s[0:1], 0x8
	global_store_byte v[2:3], v1, off
    .sgpr_count:     20
    .vgpr_count:     31
    .vgpr_spill_count: 3
    """
    found = machine_code.amd(assembly)
    assert found["loads"] == {"128": 1, "64": 1, "16": 2}
    assert found["stores"] == {"8": 1}
    assert (found["registers"], found["scalar_registers"], found["spills"]) == (31, 20, 12)
    for unreadable in (
        lambda: machine_code.amd(""),
        lambda: machine_code.nvidia(ptx, "Used 40 registers"),
    ):
        with pytest.raises(machine_code.UnreadableAssembly):
            unreadable()
