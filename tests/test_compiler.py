"""The compiler report: registers, spills, widths and limits, on four GPUs that are not here."""

import dataclasses
import importlib
import inspect
import json
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from compiler_kernels import BODY, HEADER, SCALE, SM_90, cache, compile_report, described, load, no_worker, row_of  # noqa: F401
from graded_kernels.autograder import compiler
from graded_kernels.autograder.compiler import TARGETS, launch_of, machine_code, recorded
from graded_kernels.autograder.emulator import Emulator


def test_an_honest_kernel_compiles_for_every_gpu_with_wide_loads_and_no_spills():
    source = HEADER + SCALE
    x = torch.linspace(-3, 3, 4096)
    kernel = load(source).scale_kernel
    report = compile_report([launch_of(kernel, (x, torch.empty_like(x), 4096), {"BLOCK": 1024}, source)])
    assert (report["status"], report["reason"]) == ("pass", "")
    assert [row["target"] for row in report["targets"]] == ["sm_80", "sm_90", "sm_100", "gfx942"]
    for row in report["targets"]:
        assert row["status"] == "pass" and row["aligned"] and not row["cached"], row
        assert row["spills"] == 0 and 4 < row["registers"] < 128 and row["shared"] == 0, row
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
    report = compile_report([described(strided), wide, odd, half], SM_90)
    assert report["status"] == "pass", report["reason"]
    row = {row["launch"]: row for row in report["targets"] if row["kernel"] == "scale_kernel"}
    assert (row[wide.describe()]["load_bits"], row[wide.describe()]["aligned"]) == (128, True)
    assert (row[odd.describe()]["load_bits"], row[odd.describe()]["aligned"]) == (32, False)
    assert row[half.describe()]["load_bits"] == 16, "n not divisible by 16 splits every masked access"
    assert "not divisible by 16: n" in half.describe() and "x_ptr: *fp16" in half.describe()
    (last,) = (row for row in report["targets"] if row["kernel"] == "kernel")
    assert (last["load_bits"], last["store_bits"]) == (32, 128), last


def test_spills_are_counted_and_other_stack_use_is_not():
    reduce = "y = x - tl.sum(x)"
    sine = "from triton.language.extra import libdevice\n" + HEADER + BODY.format("y = libdevice.sin(x)")
    spilling = described(HEADER + BODY.format(reduce), constants={"BLOCK": 65536})
    gpus = (*SM_90, TARGETS[-1])
    rows = compile_report([spilling, described(sine)], gpus)["targets"]
    assert [row["status"] for row in rows] == ["pass"] * 4
    assert rows[0]["spills"] > 100 and rows[0]["shared"] > 0, "65,536 values do not fit 4 warps' registers"
    assert rows[2]["spills"] == 0, "libdevice.sin keeps a table on the stack, which is no spill"


def test_limits_of_the_device_are_told():
    kernel = described(HEADER + BODY.format("y = x - tl.sum(x)"), constants={"BLOCK": 64})
    tiny = dataclasses.replace(SM_90[0], shared=4)
    row = row_of(compile_report([kernel], [tiny]))
    assert row["status"] == "fail" and "shared memory" in row["message"], row
    options = ({"num_warps": 64}, {"num_warps": 3}, {"num_wraps": 4})
    report = compile_report([dataclasses.replace(kernel, options=option) for option in options], SM_90)
    assert [row["status"] for row in report["targets"]] == ["fail"] * 3
    for row, words in zip(report["targets"], ("64 warps", "power of 2", "num_wraps"), strict=True):
        assert words in row["message"], row


def test_options_for_other_gpus_are_no_fault_of_the_kernel():
    options = {"num_warps": 32}, {"waves_per_eu": 2}, {"num_ctas": 2}
    launches = [described(HEADER + SCALE, "scale_kernel", options=option) for option in options]
    report = compile_report(launches, [TARGETS[0], TARGETS[-1]])
    results = {
        (row["target"], row["launch"].split(", ")[-1]): (row["status"], row["message"]) for row in report["targets"]
    }
    assert [status for status, _ in results.values()] == ["pass", "not-run", "not-run", "pass", "not-run", "not-run"]
    assert "warps of 32" in results["gfx942", "num_warps=32"][1] and "warps of 32" in report["reason"]
    assert "waves_per_eu is for other GPUs" in results["sm_80", "waves_per_eu=2"][1]
    assert "num_ctas" in results["sm_80", "num_ctas=2"][1] and "num_ctas" in results["gfx942", "num_ctas=2"][1]
    assert report["status"] == "not-run"


def test_equal_launches_count_once_and_the_best_aligned_come_first():
    source = "import numpy\n" + HEADER + BODY.format("y = numpy.exp(x)")
    odd = described(source, divisible=())
    launches = [odd, odd, described(source, "kernel", "fp16"), described(source)]
    launches += [described(source.replace("def kernel", "def other"), "other", divisible=())]
    report = compiler.compile_report(launches, no_worker, SM_90, limit=3)  # refused before any compiler is asked
    assert report["left_out"] == 1
    assert [(row["kernel"], row["aligned"]) for row in report["targets"]] == [
        ("kernel", True),
        ("other", False),
        ("kernel", True),
    ]
    assert compile_report([], SM_90)["status"] == "not-run"


def test_our_own_kernels_compile():
    silu = importlib.import_module("graded_kernels.kernels.silu")
    source = inspect.getsource(silu)
    x = torch.linspace(-3, 3, 48, dtype=torch.bfloat16)
    with Emulator() as emulator:
        silu.silu_backward(torch.ones_like(x), x)
    report = compile_report([recorded(launch, source) for launch in emulator.launches])
    assert report["status"] == "pass", report["reason"]
    assert [row["spills"] for row in report["targets"]] == [0, 0, 0, 0]
    assert [row["load_bits"] for row in report["targets"]] == [128, 128, 128, 64]


@pytest.mark.exhaustive
def test_the_widths_in_machine_code_are_those_of_its_disassembly(tmp_path):
    script = Path(__file__).parent / "sass_widths.py"
    environment = os.environ | {"TRITON_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment)
    assert re.fullmatch(r"\d{3,} accesses compared, 0 kernels differ\n", done.stdout), done.stdout + done.stderr


def test_machine_code_that_was_never_compared_is_left_to_the_disassembler():
    instruction = struct.pack("<QQ", 0x981, 7 << 9)  # LDG of a width that no kernel here has had
    header = struct.pack("<IIQQQQ", 0, 1, machine_code._EXECUTABLE, 0, 0x40, 16)
    elf = bytearray(0x40) + instruction + header
    struct.pack_into("<Q", elf, 0x28, 0x50)
    struct.pack_into("<HH", elf, 0x3A, len(header), 1)
    assert machine_code.instructions(bytes(elf), 90) is None and machine_code.instructions(bytes(elf), 120) is None
    elf[0x49] = 6 << 1
    assert machine_code.instructions(bytes(elf), 90) == ({128: 1}, {})
    without_code = elf.copy()
    without_code[0x58] = 0  # the section's flags
    for other in (b"", b"\x7fELF", bytes(elf[:-1]), bytes(elf[:0x48]) + bytes(elf[0x50:]), bytes(without_code)):
        assert machine_code.instructions(other, 90) is None


def test_widths_are_read_from_every_form_of_instruction():
    sass = """
        /*0010*/ @!P0 LDG.E.128 R4, desc[UR4][R10.64] ;
        /*0020*/ LDG.E.ENL2.256 R4, R8, desc[UR4][R10.64] ;
        /*0030*/ LDG.E.U16.CONSTANT R4, [R10.64] ;
        /*0040*/ LDGSTS.E.BYPASS.LTC128B.64 [R1], [R2.64] ;
        /*0050*/ LDG.E.S8 R4, [R10.64] ;
        /*0060*/ LDS.128 R4, [R10] ;
        /*0070*/ LDL.128 R4, [R10] ;
        /*0080*/ STG.E [R2.64], R4 ;
        /*0090*/ STL.64 [R2], R4 ;
    """
    ptxas = "0 bytes stack frame, 12 bytes spill stores\nUsed 40 registers, 380 bytes cmem"
    found = machine_code.nvidia(machine_code.disassembled(sass), ptxas)
    assert found["loads"] == {"256": 1, "128": 1, "64": 1, "16": 1, "8": 1} and found["stores"] == {"32": 1}
    assert (found["registers"], found["spills"], found["load_bits"], found["store_bits"]) == (40, 12, 256, 32)
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
    assert found["loads"] == {"128": 1, "64": 1, "16": 2} and found["stores"] == {"8": 1}
    assert (found["registers"], found["scalar_registers"], found["spills"]) == (31, 20, 12)
    for unreadable in (
        lambda: machine_code.amd(""),
        lambda: machine_code.disassembled(""),
        lambda: machine_code.nvidia(machine_code.disassembled(sass), "Used 40 registers"),
    ):
        with pytest.raises(machine_code.Unreadable):
            unreadable()
