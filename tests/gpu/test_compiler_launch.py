"""The record of a launch: specialised as Triton does it, and checked when it comes from elsewhere."""

import dataclasses
import json
from collections import namedtuple

import pytest
import torch
from compiler_kernels import HEADER, SCALE, cache, described, load  # noqa: F401
from graded_kernels.autograder.gpu.compiler import KernelLaunch, launch_of, recorded
from graded_kernels.autograder.gpu.emulator import Emulator


@pytest.mark.parametrize(
    "value", [0, 1, 2, 16, 17, -16, 2**31 - 1, 2**31, -(2**31) - 1, 2**63, 0.5, 1.0, True, False, None]
)
def test_scalars_are_specialised_as_triton_does(value):
    from triton._C.libtriton import native_specialize_impl
    from triton.backends.compiler import BaseBackend

    source = HEADER + "@triton.jit\ndef kernel(a):\n    pass\n"
    kind, note = native_specialize_impl(BaseBackend, value, False, True, True)
    launch = launch_of(load(source).kernel, (value,), {}, source)
    assert launch.signature == ({} if kind == "constexpr" else {"a": kind})
    assert launch.constants == ({"a": value} if kind == "constexpr" else {})
    assert launch.divisible == (("a",) if note == "D" else ())
    if value is None or (type(value) is int and value == 1):
        assert launch.constants == {"a": value}, "a GPU launch makes these constants"


@pytest.mark.parametrize(
    ("dtype", "kind", "step"),
    [
        (torch.float32, "*fp32", 4),
        (torch.float16, "*fp16", 8),
        (torch.bfloat16, "*bf16", 8),
        (torch.int64, "*i64", 2),
        (torch.bool, "*u1", 16),
    ],
)
def test_tensors_are_aligned_by_their_place_in_the_allocation(dtype, kind, step):
    source = HEADER + "@triton.jit\ndef kernel(x_ptr, n, BLOCK: tl.constexpr = 8):\n    pass\n"
    kernel = load(source).kernel
    memory = torch.zeros(64, dtype=dtype)
    for offset in range(2 * step):
        launch = launch_of(kernel, (memory[offset:], 3), {"num_warps": 8, "num_stages": None}, source)
        assert launch.signature == {"x_ptr": kind, "n": "i32"}
        assert launch.constants == {"BLOCK": 8}
        assert launch.divisible == (("x_ptr",) if offset % step == 0 else ())
        assert launch.within_2gb == ("x_ptr",)
        assert launch.options == {"num_warps": 8}
        with Emulator() as emulator:
            kernel[(1,)](memory[offset:], 3, num_warps=8)
        assert recorded(emulator.launches[0], source) == launch


def test_decorators_and_annotations_change_the_specialisation():
    source = HEADER + (
        '@triton.jit(do_not_specialize=["a"], do_not_specialize_on_alignment=["b"])\n'
        "def kernel(a, b, c: tl.int64, d: 'fp16', e: tl.constexpr):\n    pass\n"
    )
    launch = launch_of(load(source).kernel, (1, 16, 16, 2.0, tl_float16()), {}, source)
    assert launch.signature == {"a": "i32", "b": "i32", "c": "i64", "d": "fp16"}
    assert launch.divisible == ("c",)
    assert launch.constants == {"e": {"dtype": "fp16"}}


def tl_float16():
    import triton.language as tl

    return tl.float16


def test_a_tuple_is_described_by_its_items():
    source = HEADER + "@triton.jit\ndef kernel(a, b):\n    pass\n"
    launch = launch_of(load(source).kernel, ((torch.zeros(1), (2, 1)), 16), {}, source)
    assert launch.signature == {"a.0": "*fp32", "a.1.0": "i32", "b": "i32"}
    assert launch.constants == {"a.1.1": 1}
    assert launch.divisible == ("a.0", "b")
    with pytest.raises(ValueError, match="identifiers"):
        dataclasses.replace(launch, signature={"a.x": "i32"})
    with pytest.raises(ValueError, match="not one of Triton's"):
        dataclasses.replace(launch, signature={"a": "tensordesc<fp32[16, x]>"})


def test_arguments_that_cannot_be_described_are_named():
    source = HEADER + "@triton.jit\ndef kernel(a, B: tl.constexpr):\n    pass\n"
    kernel = load(source).kernel
    with pytest.raises(TypeError, match="argument a of kernel is a Named"):
        launch_of(kernel, (namedtuple("Named", "x")(2), 1), {}, source)
    with pytest.raises(TypeError, match="constant B of kernel is a set"):
        launch_of(kernel, (1, {1}), {}, source)


def test_a_launch_crosses_processes_as_json_and_is_checked():
    launch = described(
        HEADER + SCALE, constants={"BLOCK": 8, "t": {"tuple": [1, {"dtype": "fp16"}]}, "f": float("inf")}
    )
    again = KernelLaunch(**json.loads(json.dumps(dataclasses.asdict(launch))))
    assert again == launch
    assert again.key() == launch.key()
    for wrong in (
        {"kernel": "os.system('x')"},
        {"source": 7},
        {"source": "x" * 2_000_000},
        {"signature": {"x_ptr": "*fp32; drop"}},
        {"constants": {"BLOCK": [1]}},
        {"constants": {"BLOCK": {"import": "os"}}},
        {"options": {"extern_libs": "/etc/passwd"}},
        {"modules": {"tl": "os"}},
        {"helpers": {"f": ["a-b", ""]}},
        {"allocates": 1},
    ):
        with pytest.raises(ValueError, match="kernel"):
            dataclasses.replace(launch, **wrong)


def test_launches_have_one_key_only_where_every_text_is_the_same():
    launch = described(HEADER + SCALE, helpers={"f": ("f", "def f(): ..."), "g": ("g", "x")})
    moved = dataclasses.replace(launch, helpers={"f": ("f", "def f(): "), "g": ("g", "...x")})
    longer = dataclasses.replace(
        launch, source=launch.source + "def", helpers={"f": ("f", " f(): ..."), "g": ("g", "x")}
    )
    swapped = dataclasses.replace(launch, helpers={"f": ("g", "def f(): ..."), "g": ("f", "x")})
    other = dataclasses.replace(launch, options={"num_warps": 8})
    assert len({one.key() for one in (launch, moved, longer, swapped, other)}) == 5
    assert dataclasses.replace(launch).key() == launch.key()
    assert dataclasses.asdict(launch).keys() == {field.name for field in dataclasses.fields(launch)}
