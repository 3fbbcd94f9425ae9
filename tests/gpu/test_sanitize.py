"""`graded-kernels sanitize`: other people's programs under the emulator, what it finds and how it ends."""

import importlib
import json

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from faultless import operations
from graded_kernels.autograder.gpu.emulator import EmulatorError, access, poison
from graded_kernels.autograder.gpu.sanitize import command
from graded_kernels.autograder.gpu.sanitize.watching import watched


@triton.jit
def positive(x, out, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + i, tl.load(x + i) > 0)


@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def as_it_is(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def double_unmasked(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i), mask=i < n)


@triton.jit
def largest(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y, tl.max(tl.load(x + i, mask=i < n), 0))


@triton.jit
def smallest(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y, tl.min(tl.load(x + i, mask=i < n), 0))


@triton.jit
def two_loads(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    harmless = tl.load(x + i, mask=i < n)
    tl.store(y + i, harmless, mask=i < n)
    harmful = tl.load(x + i, mask=i < n)
    tl.store(y, tl.max(harmful, 0))


@triton.jit
def product(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    harmless = tl.load(x + i, mask=i < n)
    one = tl.load(x + i, mask=i < n)
    two = tl.load(x + i, mask=i < n)
    tl.store(y + i, harmless, mask=i < n)
    tl.store(y, tl.sum(one * two, 0))


@triton.jit
def accumulate(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(y + i, mask=i < n, other=0.0) + tl.load(x + i, mask=i < n, other=0.0), mask=i < n)


@triton.jit
def asserting(x, y):
    tl.device_assert(tl.load(x) > 0, "x is positive")
    tl.store(y, 1.0)


@triton.jit
def assembled(x, y):
    tl.store(y, tl.inline_asm_elementwise("brev.b32 $0, $1;", "=r,r", [tl.load(x)], tl.int32, True, 1))


@triton.jit
def shifted(x, y, SHIFT: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.gather(tl.load(x + i), i + SHIFT, 0))


CONFIGS = [triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 32})]


@triton.autotune(configs=CONFIGS, key=["n"], reset_to_zero=["y"])
@triton.jit
def added(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(y + i, tl.load(x + i, mask=i < n, other=0.0), mask=i < n)


@triton.autotune(configs=CONFIGS, key=["n"], restore_value=["x"])
@triton.jit
def doubled_in_place(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)


@triton.autotune(configs=CONFIGS, key=["n"])
@triton.jit
def second_configuration_is_wrong(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i))


@triton.jit
def at_most(BLOCK: tl.constexpr, MOST: tl.constexpr):
    tl.static_assert(BLOCK <= MOST, "too large")


@triton.autotune(configs=CONFIGS, key=["n"])
@triton.jit
def of_at_most_32(x, y, n, MOST: tl.constexpr, BLOCK: tl.constexpr):
    at_most(BLOCK, MOST)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n, other=0.0), mask=i < n)


def randn(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def found_in(program):
    """What a program's run tells: findings by kind, in order, and all events."""
    events = []
    with watched(events.append, shim=False):
        try:
            program()
        except Exception as error:
            events.append({"raised": error})
    return {event["finding"]["kind"]: event["finding"] for event in events if "finding" in event}, events


def test_a_right_program_is_clean():
    y = torch.empty(100)
    found, events = found_in(lambda: (double[(2,)](randn(100), y, 100, BLOCK=64), y.sum()))
    assert found == {}
    assert [e["launch"]["kernel"] for e in events if "launch" in e] == ["double"]
    assert y.equal(2 * randn(100))


def test_a_finding_says_where_and_what():
    found, events = found_in(lambda: double_unmasked[(2,)](randn(100), torch.empty(100), 100, BLOCK=64))
    (finding,) = found.values()
    assert finding["kind"] == "out-of-bounds"
    assert finding["level"] == "fault"
    assert finding["kernel"] == "double_unmasked"
    assert finding["file"] == __file__
    assert "tl.load(x + i)" in finding["source"]
    assert finding["program"] == [1, 0, 0]
    assert finding["tensor"] == "x"
    assert finding["offset"] == 100
    assert "mask" in finding["cure"].lower()
    assert json.dumps(finding)
    assert "EmulatorError" in type(events[-1]["raised"]).__name__


def test_a_finding_is_told_once_and_counted_by_launch():
    def program():
        for _ in range(3):
            accumulate[(1,)](randn(8), torch.empty(8), 8, BLOCK=8)

    _, events = found_in(program)
    listener = command.Listener()
    for event in events:
        listener.handle(event)
    (finding,) = listener.findings.values()
    assert finding["kind"] == "uninitialised-read"
    assert finding["times"] == 3
    assert listener.totals.kernels.total() == 3


@pytest.mark.parametrize(("kernel", "sign"), [(largest, 1), (smallest, -1)])
def test_masked_lanes_that_reach_the_result(kernel, sign):
    """0 is neither the maximum of these numbers nor their minimum: a right value on today's backends hides it."""
    x, y = sign * randn(100).abs() + sign, torch.empty(1)
    found, _ = found_in(lambda: kernel[(1,)](x, y, 100, BLOCK=128))
    assert found["masked-load"]["line"]
    assert "depends on masked-off lanes" in found["masked-load"]["message"]
    assert y.item() == (x.max() if sign > 0 else x.min())


def test_only_the_load_that_matters_is_named():
    _, events = found_in(lambda: two_loads[(1,)](randn(100).abs(), torch.empty(100), 100, BLOCK=128))
    assert [event["finding"]["source"][:7] for event in events if "finding" in event] == ["harmful"]
    _, events = found_in(lambda: product[(1,)](randn(100), torch.empty(100), 100, BLOCK=128))
    assert [event["finding"]["source"][:3] for event in events if "finding" in event] == ["one", "two"]


def test_masked_lanes_that_reach_nothing_are_not_a_finding():
    found, _ = found_in(lambda: double[(1,)](randn(100), torch.zeros(128), 100, BLOCK=128))
    assert found == {}


def test_a_tail_that_was_not_written_is_found_where_it_is_read():
    def program():
        y = torch.empty(100)
        double[(1,)](randn(100), y, 64, BLOCK=64)
        assert y[:64].equal(2 * randn(100)[:64])
        (y.clone() + 1).sum()

    found, events = found_in(program)
    assert found.keys() == {"unwritten"}
    assert found["unwritten"]["kernel"] == "double"
    assert "36 elements of `y`" in found["unwritten"]["message"]
    assert "y.clone() + 1" in found["unwritten"]["source"]
    assert not any("raised" in event for event in events)


READ = {
    "mean": lambda y: y.numpy().mean(),
    "function": lambda y: np.mean(y.numpy()),
    "expression": lambda y: (1 + y.numpy()) * 2,
    "one element": lambda y: float(y.numpy()[99]),
    "item": lambda y: y.numpy().item(99),
    "list": lambda y: y.tolist(),
    "comparison": lambda y: np.testing.assert_allclose(y.numpy(), 0),
    "copy": lambda y: y.numpy().copy().sum(),
    "asarray": lambda y: np.asarray(y).sum(),
    "array of an array": lambda y: np.array(np.asarray(y.numpy())).sum(),
    "in place": lambda y: np.add(y.numpy(), 1, out=y.numpy()),
    "printed": lambda y: str(y.numpy()),
}
LEFT_ALONE = {
    "numpy": lambda y: y.numpy(),
    "part": lambda y: (y.numpy()[:99].mean(), y.numpy()[5], y.numpy()[3:90].tolist(), y.tolist),
    "part of asarray": lambda y: (
        np.asarray(y)[:99].sum(),
        np.array(y.numpy())[3:90].tolist(),
        np.asarray([1, 2]).sum(),
    ),
    "replaced": lambda y: (y.numpy().__setitem__(99, 0.0), y.numpy().sum()),
    "shape": lambda y: (len(y.numpy()), y.numpy().reshape(10, 10).T.shape),
}


@pytest.mark.parametrize(
    ("read", "kinds"),
    [(READ[name], {"unwritten"}) for name in READ] + [(LEFT_ALONE[name], set()) for name in LEFT_ALONE],
    ids=[*READ, *LEFT_ALONE],
)
def test_the_last_element_is_read_outside_of_pytorch(read, kinds):
    def program():
        y = torch.empty(100)
        double[(2,)](randn(100), y, 99, BLOCK=64)
        read(y)

    found, events = found_in(program)
    assert found.keys() == kinds
    if kinds:
        assert (
            "1 element of `y` (100 in all) was never written; the first is at index (99,)"
            in found["unwritten"]["message"]
        )
        assert "lambda y" in found["unwritten"]["source"]


def test_a_row_that_was_never_written_is_not_the_whole_tensor():
    def program():
        y = torch.empty(3, 8)
        double[(1,)](randn(8), y, 8, BLOCK=8)
        assert str(y)

    message = found_in(program)[0]["unwritten"]["message"]
    assert "This part of `y` (8 elements) was never written. Store the result in it." in message


def test_what_nobody_reads_and_what_pytorch_wrote_is_not_a_finding():
    def program():
        y = torch.empty(100)
        double[(1,)](randn(100), y, 64, BLOCK=64)
        y[:64].sum()
        y[64:] = 1.0
        y.sum()
        codes = torch.empty(64, dtype=torch.uint8)
        codes.fill_(0x5B)  # the very bits of the poison
        double[(1,)](codes, torch.zeros(64), 64, BLOCK=64)

    assert found_in(program)[0] == {}


def _poisoned(dtype, n=8):
    """Values, all of them written, that have the very bits of the poison."""
    values = torch.zeros(n, dtype=dtype)
    poison.fill(values)
    return values


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32, torch.bool])
def test_what_pytorch_wrote_is_written_whatever_its_bits(dtype):
    def program():
        values, y = _poisoned(dtype), torch.empty(16, dtype=dtype)
        as_it_is[(1,)](values, y, 8, BLOCK=8)
        y[8:12].copy_(values[:4])
        y.index_copy_(0, torch.arange(12, 16), values[:4])
        y.sum()
        as_it_is[(1,)](y, torch.empty(16, dtype=dtype), 16, BLOCK=16)  # whose loads are judged, too

    assert found_in(program)[0] == {}


@pytest.mark.parametrize(
    "moved",
    [
        lambda y: y.double(),
        lambda y: y.half(),
        lambda y: y[torch.arange(4, 12)],
        lambda y: torch.cat([torch.ones(3), y]),
        lambda y: torch.where(torch.arange(16) > 3, y, 0.0),
        lambda y: torch.nn.functional.pad(y, (0, 1)),
        lambda y: torch.ones(16).copy_(y),
    ],
)
def test_what_nobody_wrote_is_so_wherever_it_is_moved(moved):
    def program(n):
        y = torch.empty(16)
        double[(1,)](randn(16), y, n, BLOCK=16)
        moved(y).sum()

    assert found_in(lambda: program(8))[0].keys() == {"unwritten"}
    assert found_in(lambda: program(16))[0] == {}


def test_a_hook_before_a_launch_gets_arguments_as_they_were_given(monkeypatch):
    given = []
    monkeypatch.setattr(positive, "pre_run_hooks", [lambda *args, **named: given.append((args, named))])
    x, out = randn(8), torch.empty(8, dtype=torch.bool)
    assert found_in(lambda: positive[(1,)](x, out, N=8, num_warps=2))[0] == {}
    ((args, named),) = given
    assert args[0] is x
    assert args[1] is out
    assert len(args) == 2
    assert named == {"N": 8, "num_warps": 2}


def test_memory_that_is_freed_is_forgotten():
    with watched(lambda event: None, shim=False) as watch:
        y = torch.empty(64)
        address = y.untyped_storage().data_ptr()
        assert address in watch.emulator.poisoned
        del y
        assert address not in watch.emulator.poisoned


def test_a_copy_that_is_freed_is_forgotten():
    """A boolean tensor may get its memory, whose True looks like memory that nobody wrote."""
    with watched(lambda event: None, shim=False) as watch:
        copy = torch.empty(64).clone()
        address = copy.untyped_storage().data_ptr()
        assert address in watch.emulator.poisoned
        del copy
        assert address not in watch.emulator.poisoned


def test_what_an_earlier_part_wrote_is_written():
    """A module's fixture is used by several tests of a suite."""
    with watched((events := []).append, shim=False) as watch:
        flags = torch.empty(512, dtype=torch.bool)
        positive[(2,)](randn(512).abs() + 1, flags, 256)
        watch.sanitizer.next()
        assert flags.sum().item() == 512
        tail = torch.empty(512, dtype=torch.bool)
        positive[(1,)](randn(256).abs() + 1, tail, 256)
        watch.sanitizer.next()
        tail.sum()
    assert [event["finding"]["kind"] for event in events if "finding" in event] == ["unwritten"]


def test_every_configuration_runs_and_hooks_are_honoured():
    y, x = torch.ones(100), randn(100)
    found, events = found_in(lambda: added[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](x, y, 100))
    assert found == {}
    assert y.equal(x)
    assert sum("launch" in event for event in events) == 5  # the first configuration twice: `left_state`
    x = randn(100)
    found_in(lambda: doubled_in_place[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](x, 100))
    assert x.equal(2 * randn(100))


def test_a_fault_in_a_configuration_that_is_not_the_first():
    x, y = randn(32), torch.zeros(32)
    found, events = found_in(lambda: second_configuration_is_wrong[lambda m: (triton.cdiv(32, m["BLOCK"]),)](x, y, 32))
    assert "In the configuration BLOCK: 64" in found["out-of-bounds"]["message"]
    assert not any("raised" in event for event in events)  # the first one is right, and is chosen
    assert x.equal(y)


def test_a_configuration_that_does_not_compile_is_passed_over():
    """As Triton's autotuner does. TritonBench's int8_matmul_kernel was refused for one of its six."""
    x, y = randn(32), torch.zeros(32)
    found, events = found_in(lambda: of_at_most_32[lambda m: (triton.cdiv(32, m["BLOCK"]),)](x, y, 32, MOST=32))
    assert found == {}
    assert y.equal(x)
    assert not any("raised" in event for event in events)
    found, _ = found_in(lambda: of_at_most_32[(2,)](x, y, 32, MOST=8))  # none of them compiles
    assert "too large" in found["assertion"]["message"]


def test_an_assertion_is_a_finding_an_unknown_instruction_is_not():
    found, _ = found_in(lambda: asserting[(1,)](-torch.ones(1), torch.zeros(1)))
    assert found["assertion"]["level"] == "fault"
    found, _ = found_in(lambda: assembled[(1,)](torch.ones(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)))
    assert found["not-emulated"]["level"] == "unable"


EXECUTED = """
@triton.jit
def executed(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for k in range(tl.program_id(0) + 1):
        if k % 2 == 0 and n > 0:
            tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)
"""


@pytest.mark.parametrize(("size", "kinds"), [(100, []), (90, ["out-of-bounds"])])
def test_a_kernel_made_by_exec_runs_without_lines(size, kinds):
    space = {"triton": triton, "tl": tl}
    exec(EXECUTED, space)
    x, y = randn(size), torch.empty(100)
    found, events = found_in(lambda: (space["executed"][(2,)](x, y, 100, BLOCK=64), y.sum()))
    assert [*found] == kinds
    if not kinds:
        assert y.equal(2 * x)
        (told,) = [event["skipped"] for event in events if "skipped" in event]
        assert (told["what"], told["kernel"]) == ("compiler", "executed")
        assert "without source text" in told["why"]


@triton.jit
def flags(y, value, EQUAL: tl.constexpr):
    """Every program stores to one element."""
    tl.store(y, value if EQUAL else tl.program_id(0))


def test_programs_that_store_equal_values_are_a_hint():
    y = torch.zeros(1)
    found, _ = found_in(lambda: flags[(3,)](y, 7, EQUAL=True))
    assert [(kind, finding["level"]) for kind, finding in found.items()] == [("equal-stores", "hint")]
    assert "what program (0, 0, 0) has stored there in the same launch (7.0)" in found["equal-stores"]["message"]
    found, _ = found_in(lambda: flags[(3,)](y, 7, EQUAL=False))
    assert found["store-conflict"]["level"] == "fault"
    assert "`tl.atomic_max` for a maximum" in found["store-conflict"]["message"]
    assert found_in(lambda: flags[(1,)](y, 7, EQUAL=True))[0] == {}


@triton.jit
def waits(flag, y, ATOMIC: tl.constexpr, HELPS: tl.constexpr):
    """Program 1 waits for program 0; program 0 for the caller, or for program 1 that ``HELPS``."""
    before = flag + tl.program_id(0)
    if HELPS:
        if tl.program_id(0) == 1:
            tl.atomic_xchg(flag, 1)
    if ATOMIC:
        while tl.atomic_add(before, 0) == 0:
            pass
    else:
        seen = tl.load(before, volatile=True)
        while seen == 0:
            seen = tl.load(before, volatile=True)
    tl.store(y + tl.program_id(0), 1.0)
    tl.atomic_xchg(before + 1, 1)


@pytest.mark.parametrize("atomic", [True, False], ids=["atomic", "volatile"])
def test_a_program_that_waits_for_nobody_ends(monkeypatch, atomic):
    monkeypatch.setattr(access, "PATIENCE", 100)
    y, flag = torch.zeros(2), torch.zeros(3, dtype=torch.int32)
    for programs in (1, 2):
        found, _ = found_in(lambda count=programs: waits[(count,)](flag, y, ATOMIC=atomic, HELPS=False))
        assert found["endless-wait"]["level"] == "fault"
        assert found["endless-wait"]["program"] == [0, 0, 0]
        assert "waits at flag for another value than 0" in found["endless-wait"]["message"]
    found, _ = found_in(lambda: waits[(2,)](flag, y, ATOMIC=atomic, HELPS=True))
    assert found["not-emulated"]["level"] == "unable"
    assert "(1 have not begun)" in found["not-emulated"]["message"]
    assert "as the message says" in found["not-emulated"]["cure"]
    flag.zero_()[0] = 1
    found, _ = found_in(lambda: waits[(2,)](flag, y, ATOMIC=atomic, HELPS=False))
    assert found == {} and y.tolist() == [1, 1]


@triton.jit
def promised(x, y, stride, N: tl.constexpr):
    tl.assume(stride > 0)
    tl.store(y + tl.arange(0, N), tl.load(x + stride * tl.arange(0, N)))


def test_a_promise_that_is_false_shows_the_number():
    found, _ = found_in(lambda: promised[(1,)](torch.ones(4), torch.zeros(4), 0, N=4))
    assert "stride is 0, so the promise is false. A compiler that believes it" in found["assertion"]["message"]


@triton.jit
def adds(x, y, N: tl.constexpr, ATOMIC: tl.constexpr):
    i = tl.arange(0, N)
    if ATOMIC:
        tl.atomic_add(y + i, tl.load(x + i))
    else:
        tl.store(x + i, tl.load(y + i))


@pytest.mark.parametrize(("atomic", "cure"), [(True, "`torch.zeros`"), (False, "write it before, or mask the lane")])
def test_zeros_are_advised_where_a_kernel_adds(atomic, cure):
    found, _ = found_in(lambda: adds[(1,)](torch.ones(4), torch.empty(4), N=4, ATOMIC=atomic))
    assert cure in found["uninitialised-read"]["message"]


def test_what_is_read_of_a_part_is_measured_by_the_whole():
    def program():
        y = torch.empty(64)
        double[(1,)](torch.ones(64), y, 40, BLOCK=64)
        return y[30:50].sum()

    found, _ = found_in(program)
    assert "10 elements of this part of `y` (20 in all)" in found["unwritten"]["message"]
    assert "no mask cuts off its end" in found["unwritten"]["message"]


@triton.jit
def turned(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + N - 1 - i, tl.load(x + i))
    tl.store(y + i, tl.load(x + i))


def test_lanes_that_do_not_wait_for_each_other_are_a_fault():
    found, _ = found_in(lambda: turned[(1,)](randn(16), torch.zeros(16), N=16))
    assert {kind: (one["level"], one["kernel"], one["tensor"]) for kind, one in found.items()} == {
        "own-load": ("fault", "turned", "x"),
        "own-store": ("fault", "turned", "x"),
    }


def test_an_index_outside_the_block_is_a_fault():
    found, _ = found_in(lambda: shifted[(1,)](randn(32), torch.empty(32), SHIFT=1, BLOCK=32))
    finding = found["gathered-outside"]
    assert (finding["level"], finding["kernel"], finding["program"]) == ("fault", "shifted", [0, 0, 0])
    assert "takes index 32 of a block of 32" in finding["message"]
    assert "i + SHIFT" in finding["source"]
    assert found_in(lambda: shifted[(1,)](randn(32), torch.empty(32), SHIFT=0, BLOCK=32))[0] == {}


def test_a_long_program_keeps_the_last_launches(monkeypatch):
    monkeypatch.setattr("graded_kernels.autograder.gpu.emulator.observed._MOST", 4)
    x, y = randn(8), torch.zeros(8)
    with watched((events := []).append, shim=False) as watch:
        for _ in range(10):
            double[(1,)](x, y, 8, BLOCK=8)
        assert len(watch.emulator.launches) <= 4
    assert [event["launch"]["number"] for event in events if "launch" in event] == list(range(1, 11))


def test_what_is_wrong_with_a_launch_is_told_at_the_launch():
    x = randn(8)
    found, _ = found_in(lambda: double[(1, 1, 1, 1)](x, x, 8, BLOCK=8))
    assert found["grid"]["file"] == __file__
    assert "double[(1, 1, 1, 1)]" in found["grid"]["source"]
    found, _ = found_in(lambda: double[(1,)](x, x, 8, BLOCK=8, stages=3))
    assert "stages=3" in found["unsupported"]["source"]


HELION = """
import triton
import triton.language as tl

@triton.jit
def _helion_shifted(x, out):
    # src[shift.py:5]: for tile in hl.tile(x.size(0)):
    indices_0 = tl.arange(0, 16)
    # src[shift.py:6]: out[tile] = hl.load(x, [tile.index + 1])
    v_1 = indices_0 + 1
    load = tl.load(x + v_1)
    tl.store(out + indices_0, load)
"""


def test_a_finding_in_a_kernel_of_helion_names_the_programs_line(tmp_path, monkeypatch):
    (tmp_path / "generated_by_helion.py").write_text(HELION)
    monkeypatch.syspath_prepend(tmp_path)
    kernel = importlib.import_module("generated_by_helion")._helion_shifted
    with watched((events := []).append, shim=False), pytest.raises(EmulatorError):
        kernel[(1,)](torch.zeros(16), torch.zeros(16))
    (finding,) = [event["finding"] for event in events if "finding" in event]
    assert "for line 6 of shift.py, `out[tile] = hl.load(x, [tile.index + 1])`." in finding["message"]


@triton.jit
def astray(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i + 1, mask=i < n, other=7.0)
    tl.store(y + i, v + tl.load(x + i))
    tl.atomic_add(z + i - 4, 1.0)


def test_a_launch_goes_on_behind_accesses_out_of_bounds_that_are_known():
    x, y, z, events = torch.arange(6.0), torch.zeros(6), torch.zeros(2), []
    with watched(events.append, shim=False, known=lambda finding: True):
        astray[(2,)](x, y, z, 6, BLOCK=4)
    # A load behind the end gives `other`, or 0 where there is none; nothing is stored or added outside.
    assert y.tolist() == [1.0, 3.0, 5.0, 7.0, 9.0, 12.0]
    assert z.tolist() == [1.0, 1.0]
    found = [event["finding"] for event in events if "finding" in event]
    assert {one["kind"] for one in found} == {"out-of-bounds"}
    assert sorted(one["tensor"] for one in found) == ["x", "x", "y", "z"]
    with watched(events.append, shim=False, known=lambda finding: finding["tensor"] == "x"):
        with pytest.raises(EmulatorError, match="on z out of bounds"):
            astray[(2,)](x, torch.zeros(6), z, 6, BLOCK=4)


def test_a_launch_that_ran_one_by_one_is_told():
    events = []
    with watched(events.append, shim=False):
        operations.arithmetic_on_addresses()
        with pytest.raises(EmulatorError):
            double_unmasked[(2,)](torch.ones(5), torch.ones(5), 5, BLOCK=4)
    why = "an address that is not an argument plus an offset"
    assert [event["alone"] for event in events if "alone" in event] == [{"kernel": "address_kernel", "why": why}]
