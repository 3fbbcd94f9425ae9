"""What the emulator runs and Triton's compiler refuses is a finding, with its line; nothing else that is in the way."""

import contextlib
import contextvars
import importlib

import faultless
import pairs
import pytest
import torch
import triton
import triton.language as tl
from compiler_kernels import COMPILER
from graded_kernels.autograder.gpu.emulator import EmulatorError
from graded_kernels.autograder.gpu.sanitize import front_end
from graded_kernels.autograder.gpu.sanitize.front_end import FrontEnd
from graded_kernels.autograder.gpu.sanitize.watching import watched
from triton.compiler.errors import CompileTimeAssertionFailure
from triton.runtime.errors import InterpreterError, OutOfResources
from triton.tools.tensor_descriptor import TensorDescriptor

FACTOR = 2


@triton.jit
def begins_as_an_integer(x, out, n):
    total = 0
    for i in range(n):  # refused
        total = total + tl.load(x + i)
    tl.store(out, total)


@triton.jit
def grows_in_a_loop(x, out, n):
    total = tl.load(x)
    for i in range(n):  # refused
        total = total + tl.load(x + tl.arange(0, 4) + i)
    tl.store(out, tl.sum(total))


@triton.jit
def one_name_of_two_types(x, out, n):
    if n > 3:  # refused
        value = 1
    else:
        value = 2.5
    tl.store(out, value)


@triton.jit
def a_name_of_one_branch(x, out, n):
    if n > 3:
        value = tl.load(x)
    tl.store(out, value)  # refused


@triton.jit
def one_or_four(n):  # refused
    if n > 3:
        return 1.0
    else:
        return tl.full((4,), 2.0, tl.float32)


@triton.jit
def two_returns(x, out, n):
    tl.store(out + tl.arange(0, 4), one_or_four(n))


@triton.jit
def global_variable(x, out, n):
    tl.store(out, tl.load(x) * FACTOR)  # refused


@triton.jit
def constant_of_an_argument(x, out, n):
    size: tl.constexpr = n + 1
    tl.store(out, size)  # refused


@triton.jit
def const_pointer(x: tl.const, out, n):
    tl.store(x, tl.load(out))  # refused


def doubled(value):
    return value * 2


@triton.constexpr_function
def known(value):
    return value * 2


@triton.jit
def calls_python(x, out, n):
    tl.store(out, doubled(tl.load(x)))  # refused


@triton.jit
def calls_python_nowhere(x, out, n, NEVER: tl.constexpr = False):
    if NEVER:
        tl.store(out, doubled(tl.load(x)))  # refused


@triton.jit
def calls_a_constant_function(x, out, n):
    tl.store(out, tl.load(x) * known(3))


@triton.jit
def right(x, out, n):
    total = 0.0
    for i in range(n):
        total = total + tl.load(x + i)
    tl.store(out, total)


@triton.jit
def out_of_bounds_as_well(x, out, n):
    total = 0
    for i in range(n):  # refused
        total = total + tl.load(x + i + 100)
    tl.store(out, total)


@triton.jit
def called_dtype(x, out, n):
    tl.store(out, tl.float32(0.0))


@triton.jit
def statically_false(x, out, n):
    tl.static_assert(x.dtype == tl.int32, "takes int32")


@triton.jit
def asserting(x, out, n):
    tl.device_assert(n < 3)


@triton.jit
def of_a_private_kind(x, out, n):
    tl.store(out, tl.load(x) + x.dtype.element_ty.itemsize)


@triton.jit
def of_a_tuple(given, out, CHANGES: tl.constexpr):
    total = 0 if CHANGES else 0.0
    for i in range(given[1][0]):  # refused
        total = total + tl.load(given[0] + i * given[1][1])
    tl.store(out, total)


@triton.jit
def of_a_descriptor(given, out, CHANGES: tl.constexpr):
    total = 0 if CHANGES else 0.0
    for i in range(2):  # refused
        total = total + tl.sum(given.load([i, 0]))
    tl.store(out, total)


WRONG = [begins_as_an_integer, grows_in_a_loop, one_name_of_two_types, a_name_of_one_branch, two_returns]
COMPUTED = tl.constexpr(max(2, 4))


@triton.jit
def constant_computed_at_import(x, out, n):
    total = 0
    for i in range(n):  # refused
        total = total + tl.load(x + tl.arange(0, COMPUTED) + i)
    tl.store(out, tl.sum(total))


WRONG += [constant_computed_at_import]
WRONG += [global_variable, constant_of_an_argument, const_pointer, out_of_bounds_as_well]
WRONG += [calls_python, calls_python_nowhere]


IMPORTED = """
import triton
import triton.language as tl

from .sizes import LANES


@triton.jit
def kernel(x, out, n):
    total = 0
    for i in range(n):  # refused
        total = total + tl.load(x + tl.arange(0, LANES) + i)
    tl.store(out, tl.sum(total))
"""


def test_a_constant_of_a_relative_import_does_not_hide_a_kernel(tmp_path, monkeypatch):
    package = tmp_path / "with_sizes_of_its_own"
    package.mkdir()
    for name, text in (
        ("__init__", ""),
        ("sizes", "import triton.language as tl\nLANES = tl.constexpr(4)\n"),
        ("ops", IMPORTED),
    ):
        (package / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    _, (event,) = events_of(lambda: launched(importlib.import_module("with_sizes_of_its_own.ops").kernel))
    assert event["finding"]["source"] == "for i in range(n):  # refused", event


def events_of(program, shim=False):
    """What the program's run tells, and what the compiler says of it."""
    events = []
    with watched(events.append, shim=shim), contextlib.suppress(EmulatorError):
        program()
    return events, answers(FrontEnd(COMPILER.run_jobs), forms_in(events))


def forms_in(events):
    return [event["form"] for event in events if "form" in event]


def answers(compiler, forms):
    """What the compiler has to say of these forms."""
    return [event for form in forms if (event := compiler.event(form))]


def launched(kernel, n=8):
    kernel[(1,)](torch.ones(16), torch.zeros(16), n)


@pytest.fixture(scope="module")
def refused():
    """Findings of the compiler by kernel."""
    events = [event for kernel in [*WRONG, right] for event in events_of(lambda kernel=kernel: launched(kernel))[0]]
    found = [event["finding"] for event in answers(FrontEnd(COMPILER.run_jobs), forms_in(events))]
    assert len(found) == len({one["kernel"] for one in found})
    return {one["kernel"]: one for one in found}


@pytest.mark.parametrize("kernel", WRONG, ids=lambda kernel: kernel.__name__)
def test_what_runs_and_does_not_compile(refused, kernel):
    finding = refused[kernel.__name__]
    assert finding["source"].endswith("# refused"), finding
    assert (finding["kind"], finding["level"], finding["file"]) == ("unsupported", "fault", __file__)
    assert f"does not compile for a GPU, line {finding['line']}, `{finding['source']}`: " in finding["message"]


def test_a_right_kernel_is_not_accused(refused):
    assert {kernel.__name__ for kernel in WRONG} == refused.keys()


def test_tuples_and_descriptors_are_put_to_the_compiler():
    x = torch.ones(4, 16)
    given = {of_a_tuple: (x, (2, 1)), of_a_descriptor: TensorDescriptor.from_tensor(x, [1, 16])}

    def program(changes):
        for kernel, argument in given.items():
            kernel[(1,)](argument, torch.zeros(1), CHANGES=changes)

    events, asked = events_of(lambda: program(False))
    assert len([event for event in events if "form" in event]) == 2
    assert asked == []
    _, asked = events_of(lambda: program(True))
    assert {event["finding"]["kernel"] for event in asked} == {kernel.__name__ for kernel in given}
    assert all(event["finding"]["source"].endswith("# refused") for event in asked)


def test_a_form_is_asked_about_once(monkeypatch):
    def program():
        for n in (8, 9, 1):  # Triton takes 1 for a constant
            launched(right, n)

    events, asked = events_of(program)
    assert len([event for event in events if "form" in event]) == 2
    assert asked == []
    compiler, said, rows = FrontEnd(COMPILER.run_jobs), [], front_end.front_end

    def counted(*asked, **how):
        if not how.get("whole"):  # the file makes a descriptor: whether it may be launched is asked of the compiler
            said.append(len(asked[0]))
        return rows(*asked, **how)

    monkeypatch.setattr(front_end, "front_end", counted)
    assert answers(compiler, forms_in(events)[:1]) == answers(compiler, forms_in(events)) == []
    assert said == [1, 1]


def test_the_form_that_fails_is_told():
    def program():
        for first in (torch.ones(16, dtype=torch.int32), torch.ones(16)):
            begins_as_an_integer[(1,)](first, torch.zeros(16), 8)

    _, (event,) = events_of(program)
    assert event["finding"]["message"].endswith("(in the launch with x: *fp32)")


def test_a_launch_that_is_refused_already_is_not_asked_about():
    events, _ = events_of(lambda: launched(called_dtype))
    assert [event["finding"]["kind"] for event in events if "finding" in event] == ["kernel-error"]
    assert not any("form" in event for event in events)


def asked_of_compiler(events, **settings):
    """Watches a program, whose launches raise what the compiler refuses."""
    compiler = FrontEnd(COMPILER.run_jobs)
    return watched(events.append, ask=lambda form: compiler.event(form).get("finding"), **settings)


def test_a_launch_raises_what_the_compiler_refuses_each_time():
    with asked_of_compiler(events := [], shim=False):
        for _ in range(2):
            with pytest.raises(triton.CompilationError, match="`total = 0`|Loop-carried variable total"):
                launched(begins_as_an_integer)
        launched(right)
    assert [event["finding"]["kernel"] for event in events if "finding" in event] == ["begins_as_an_integer"]
    assert len([event for event in events if "again" in event]) == 1


def test_a_program_goes_on_behind_a_refusal_that_is_known():
    with asked_of_compiler(events := [], shim=False, known=lambda finding: True):
        launched(begins_as_an_integer)
    assert [event["finding"]["kind"] for event in events if "finding" in event] == ["unsupported"]


def test_a_warm_up_raises_what_the_compiler_refuses():
    with asked_of_compiler(events := []):
        right.warmup(torch.float32, torch.float32, 8, grid=(1,))
        with pytest.raises(triton.CompilationError, match="^`begins_as_an_integer` does not compile"):
            begins_as_an_integer.warmup(torch.float32, torch.float32, 8, grid=(1,))
    assert [event["finding"]["source"] for event in events if "finding" in event] == ["for i in range(n):  # refused"]


@pytest.mark.parametrize(
    ("option", "error", "words"),
    [
        ({"num_warps": 3}, AssertionError, "must be a power of 2"),
        ({"num_ctas": 2}, ValueError, "clusters of blocks need an NVIDIA GPU of sm_90 or later, and this is sm_80"),
        ({"num_wraps": 4}, KeyError, "^`right` has no parameter `num_wraps`"),
    ],
    ids=["warps", "clusters", "unknown"],
)
def test_options_are_refused_as_triton_does_launched_or_not(option, error, words):
    def launched_on_gpu():
        right[(1,)](torch.ones(8, device="cuda"), torch.zeros(8, device="cuda"), 8, **option)

    def warmed_up():
        right.warmup(torch.float32, torch.float32, 8, grid=(1,), **option)

    for called in (launched_on_gpu, warmed_up):
        with asked_of_compiler(events := [], device="a100"), pytest.raises(error, match=words):
            called()
        assert [event["finding"]["kind"] for event in events if "finding" in event] == ["unsupported"]
        assert not [event for event in events if "skipped" in event]
    with asked_of_compiler([], device="h100"):
        right.warmup(torch.float32, torch.float32, 8, grid=(1,), num_ctas=2)


def test_a_kernel_inside_a_function_is_put_to_the_compiler():
    @triton.jit
    def inner(x, out, n):
        total = 0
        for i in range(n):
            total = total + tl.load(x + i)
        tl.store(out, total)

    _, (event,) = events_of(lambda: launched(inner))
    assert event["finding"]["line"] == inner.fn.__code__.co_firstlineno + 3
    assert event["finding"]["source"] == "for i in range(n):"


@triton.jit
def times_factor(x):
    return x * FACTOR


def test_an_attribute_may_have_the_name_of_something_around():
    dtype = tl.float32

    @triton.jit
    def of_a_dtype(x, out, n):
        tl.static_assert(out.dtype.element_ty == dtype)
        total = 0
        for i in range(n):  # refused
            total = total + tl.load(x + i)

    _, (event,) = events_of(lambda: launched(of_a_dtype))
    assert event["finding"]["source"].endswith("# refused")


def test_a_kernel_that_cannot_be_read_is_not_accused():
    """Inside a function, with a name that means something else outside; or with what the compiler's process, not the
    compiler, keeps out.
    """
    FACTOR = tl.constexpr(3)
    renamed = times_factor

    @triton.jit
    def of_two_factors(x, out, n):
        tl.store(out, times_factor(tl.load(x)) * FACTOR)

    @triton.jit
    def by_another_name(x, out, n):
        tl.store(out, renamed(tl.load(x)))

    kernels = (of_two_factors, by_another_name, of_a_private_kind)
    lists = [some for kernel in kernels for some in events_of(lambda kernel=kernel: launched(kernel))]
    assert not [event for some in lists for event in some if "finding" in event]
    told = [event["skipped"] for some in lists for event in some if "skipped" in event]
    assert [said["what"] for said in told] == ["compiler"] * 3
    assert told[0]["why"] == "FACTOR stands for two things in of_two_factors and what it calls"
    assert told[1]["why"] == "renamed, of the function around by_another_name, cannot be described"
    assert "no such attribute" in told[2]["why"]


@pytest.mark.parametrize(
    ("kernel", "refused"), [(called_dtype, True), (statically_false, True), (asserting, False), (right, False)]
)
def test_what_triton_refuses_is_its_own_error(kernel, refused):
    """An assertion that fails is none of the compiler's, nor an address outside."""
    with watched(lambda event: None, shim=False), pytest.raises(EmulatorError) as raised:
        kernel[(1,)](torch.ones(16), torch.zeros(16), 17)
    assert isinstance(raised.value, triton.CompilationError) == isinstance(raised.value, InterpreterError) == refused
    assert isinstance(raised.value, CompileTimeAssertionFailure) == (kernel is statically_false)
    assert str(raised.value) == raised.value.finding.message


@pytest.mark.parametrize(
    ("line", "form", "kind", "says"),
    [
        (0, called_dtype, "unsupported", "Triton's compiler refuses the line as well: 'dtype' object is not callable."),
        (1, called_dtype, "kernel-error", "is not callable"),
        (0, right, "kernel-error", "a gap of the emulator's."),
    ],
)
def test_what_the_compiler_says_of_a_kernel_that_cannot_be_interpreted(line, form, kind, says):
    """Another line that it refuses says nothing. form: the kernel that it is asked about."""
    (finding,) = [event["finding"] for event in events_of(lambda: launched(called_dtype))[0] if "finding" in event]
    assert (finding["kind"], finding["level"], finding["form"]["kernel"]) == ("kernel-error", "unable", "called_dtype")
    (asked,) = [event["form"]["launch"] for event in events_of(lambda: launched(right))[0] if "form" in event]
    finding |= {"line": finding["line"] + line} | ({"form": asked} if form is right else {})
    judged = FrontEnd(COMPILER.run_jobs).settled(finding)
    assert judged.get("accepted", False) == (form is right)
    assert (judged["kind"], judged["level"]) == (kind, "fault" if kind == "unsupported" else "unable")
    assert says in judged["message"]
    assert "form" not in judged


@pytest.mark.exhaustive
def test_no_right_program_is_accused():
    for program in faultless.programs():
        assert [event for event in events_of(program)[1] if "finding" in event] == []
    for one in pairs.PAIRS:
        if not one.without:
            asked = events_of(lambda program=one.program: program(wrong=False), shim=True)[1]
            assert [event for event in asked if "finding" in event] == []


@triton.jit
def casts(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i).to(tl.float8e4nv))


@pytest.mark.parametrize("device", ["a100", "h100"])
def test_the_compiler_is_asked_for_the_gpu_that_is_simulated(device):
    """An A100 has no float8 with three bits."""
    front, findings = FrontEnd(COMPILER.run_jobs, device), []

    def ask(form):
        findings.append(front.event(form).get("finding"))
        return findings[-1]

    with watched(lambda event: None, device=device, ask=ask):
        x, y = torch.ones(16, device="cuda"), torch.empty(16, dtype=torch.float8_e4m3fn, device="cuda")
        if device == "h100":
            casts[(1,)](x, y, BLOCK=16)
            assert findings == [None]
            return
        with pytest.raises(EmulatorError, match="fp8e4nv not supported"):
            casts[(1,)](x, y, BLOCK=16)
    assert findings[0]["kind"] == "unsupported"
    assert "sm_90 takes it: if the kernel is for such a GPU, pass --device h100" in findings[0]["message"]


@triton.jit
def large_product(a, b, c, K, B: tl.constexpr, BK: tl.constexpr):
    i, j, total = tl.arange(0, B), tl.arange(0, BK), tl.zeros((B, B), tl.float32)
    for start in range(0, K, BK):
        left = tl.load(a + i[:, None] * K + start + j)
        total = tl.dot(left, tl.load(b + (start + j)[:, None] * B + i), total)
    tl.store(c + i[:, None] * B + i, total)


@pytest.mark.parametrize("stages", [1, 5])
@pytest.mark.parametrize("tuned", [False, True])
def test_more_shared_memory_than_the_gpu_has(stages, tuned):
    """An autotuner passes over such a configuration, as it does on a GPU."""
    front, kinds = FrontEnd(COMPILER.run_jobs, "a100"), []

    def ask(form):
        said = front.event(form).get("finding")
        kinds.extend([said["kind"]] if said else [])
        return said

    kernel, options = large_product, {"num_stages": stages}
    if tuned:
        kernel, options = triton.autotune([triton.Config({}, num_stages=s) for s in (stages, 2)], [])(kernel), {}
    events = []
    with watched(events.append, device="a100", ask=ask):
        a, b = (torch.randn(128, 512, device="cuda").half() for _ in range(2))
        c = torch.empty(128, 128, device="cuda")
        with pytest.raises(OutOfResources) if stages == 5 and not tuned else contextlib.nullcontext():
            kernel[(1,)](a, b, c, 512, B=128, BK=128, **options)
    found = [event["finding"]["kind"] for event in events if "finding" in event]
    assert found == ["resources"] * (stages == 5 and not tuned)
    assert kinds == ["resources"] * (stages == 5)


@triton.jit
def made_descriptors(x, y, n, B: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [n, B], [B, 1], [8, B])
    tl.make_tensor_descriptor(y, [n, B], [B, 1], [8, B]).store([0, 0], source.load([0, 0]))


@pytest.mark.parametrize(
    ("device", "allocates", "kinds"), [("h100", False, ["unsupported"]), ("h100", True, []), ("a100", False, [])]
)
def test_descriptors_made_in_a_kernel_need_an_allocator(device, allocates, kinds):
    front, events = FrontEnd(COMPILER.run_jobs, device), []

    def launch():
        if allocates:
            triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8))
        with watched(events.append, device=device, ask=lambda form: front.event(form).get("finding")):
            x, y = torch.ones(8, 16, device="cuda"), torch.empty(8, 16, device="cuda")
            with contextlib.suppress(EmulatorError):
                made_descriptors[(1,)](x, y, 8, B=16)

    contextvars.Context().run(launch)
    found = [event["finding"] for event in events if "finding" in event]
    assert [finding["kind"] for finding in found] == kinds, found
    assert all("cannot be launched on a GPU: a program needs 256 bytes of scratch" in one["message"] for one in found)


@triton.jit
def copies(x, y, n, B: tl.constexpr):
    made_descriptors(x, y, n, B)


@pytest.mark.parametrize(("kernel", "wholes"), [(right, []), (made_descriptors, [True]), (copies, [True])])
def test_only_a_kernel_that_makes_descriptors_is_compiled_whole(kernel, wholes, monkeypatch):
    """This file has both: what decides is the text of a kernel and of what it calls."""
    asked, ask = [], front_end.front_end

    def counted(launches, *more, whole=False, **options):
        asked.extend([whole] * whole)
        return ask(launches, *more, whole=whole, **options)

    monkeypatch.setattr(front_end, "front_end", counted)
    front = FrontEnd(COMPILER.run_jobs, "h100")

    def launch():
        with watched(lambda event: None, device="h100", ask=lambda form: front.event(form).get("finding")):
            x, y = torch.ones(8, 16, device="cuda"), torch.empty(8, 16, device="cuda")
            with contextlib.suppress(EmulatorError):
                kernel[(1,)](x, y, 8, *([16] if wholes else []))

    contextvars.Context().run(launch)  # without the allocator that another test has set
    assert asked == wholes


def made_by_a_call(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = 0
    for _ in range(3):  # refused
        total = total + tl.load(x + i)
    tl.store(y + i, total)


made_by_a_call = triton.jit(made_by_a_call)


def test_a_kernel_made_by_a_call_is_put_to_the_compiler():
    front = FrontEnd(COMPILER.run_jobs)
    with watched(lambda event: None, shim=False, ask=lambda form: front.event(form).get("finding")):
        with pytest.raises(EmulatorError, match="does not compile for a GPU"):
            made_by_a_call[(1,)](torch.ones(4), torch.ones(4), BLOCK=4)
