"""`torch.compile` on a simulated GPU: the kernels that TorchInductor generates are judged like any other."""

import logging
from collections import Counter

import pytest
import torch
import triton
import triton.language as tl
from graded_kernels.autograder import cli
from graded_kernels.autograder.gpu.cuda import compiled
from graded_kernels.autograder.gpu.emulator import EmulatorError
from graded_kernels.autograder.gpu.sanitize.watching import watched
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.testing._internal.two_tensor import TwoTensor

if torch.cuda.is_available():
    pytest.skip("not run: there is a GPU, and the stand-in is for machines without one", allow_module_level=True)


@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n))  # no mask


@pytest.fixture(scope="module", autouse=True)
def asked_without_a_gpu():
    """A process may have compiled something before, and PyTorch remembers that there was no GPU."""
    from torch.utils._triton import has_triton

    assert not has_triton()


@pytest.fixture
def found():
    """Findings and launches of a program on a simulated GPU. The compiler is off, as under `sanitize` and pytest."""
    events = []
    with torch._dynamo.config.patch(disable=True), watched(events.append):
        yield events


def findings(events):
    return [event["finding"] for event in events if "finding" in event and event["finding"]["level"] != "hint"]


def launches(events):
    return [event["launch"]["kernel"] for event in events if "launch" in event]


def _doubled(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    torch.library.wrap_triton(double)[(1,)](x, y, x.numel(), BLOCK=16)
    return y


@pytest.fixture
def logged():
    """What PyTorch logs of its compiler, whichever stream its own handler has by now."""
    records = []
    handler = logging.Handler()
    handler.emit = records.append
    logger = logging.getLogger("torch._dynamo")
    logger.addHandler(handler)
    yield records
    logger.removeHandler(handler)


def test_an_operator_of_wrapped_kernels_after_it_was_called_as_it_is(found, logged):
    doubled = torch.library.triton_op("test_compiled::doubled", _doubled, mutates_args=())
    x = torch.ones(16, device="cuda")
    assert doubled(x).tolist() == [2.0] * 16
    assert torch.compile(lambda x: doubled(x) + 1)(x).tolist() == [3.0] * 16
    assert findings(found) == []
    assert launches(found)[:2] == ["double", "double"]
    assert len(launches(found)) == 3  # and TorchInductor's addition
    assert not [record.getMessage() for record in logged if record.levelno >= logging.WARNING]


@pytest.mark.exhaustive
def test_a_model_and_its_backward_pass(found):
    torch.manual_seed(0)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.norm, self.last = torch.nn.Linear(24, 40), torch.nn.LayerNorm(40), torch.nn.Linear(40, 9)

        def forward(self, x, labels):
            assert x.is_cuda
            hidden = functional.gelu(self.norm(self.first(x))) + torch.arange(40, device="cuda") / 40
            return functional.cross_entropy(self.last(torch.softmax(hidden, -1) * hidden), labels)

    model, x = Model().cuda(), torch.randn(37, 24, device="cuda")
    labels, compiled = torch.randint(0, 9, (37,), device="cuda"), torch.compile(model)
    assert [*compiled.parameters()]
    gradients = []
    for called in (compiled, model):
        model.zero_grad()
        loss = called(x, labels)
        assert loss.is_cuda
        loss.backward()
        gradients.append([loss.detach(), *(one.grad.clone() for one in model.parameters())])
    torch.testing.assert_close(*gradients)
    assert len({*launches(found)}) > 4
    assert not findings(found)


@pytest.mark.parametrize("last, line", [(9, ""), (10, "return (x.sin() * 2)[i]")])
def test_an_index_outside_is_found_in_the_programs_line(found, last, line):
    @torch.compile
    def picked(x, i):
        return (x.sin() * 2)[i]

    x, i = torch.randn(10, 3, device="cuda"), torch.tensor([0, last], device="cuda")
    if not line:
        torch.testing.assert_close(picked(x, i), (x.sin() * 2)[i])
        assert not findings(found)
        return
    with pytest.raises(EmulatorError, match="index out of bounds"):
        picked(x, i)
    (finding,) = findings(found)
    assert (finding["kind"], finding["file"], finding["source"]) == ("assertion", __file__, line)
    assert f"TorchInductor generated `{finding['kernel']}`" in finding["message"]


@pytest.mark.parametrize("n", [64, 63])
def test_a_kernel_of_the_programs_own_is_judged_in_its_file(found, n):
    @torch.compile
    def doubled(x):
        y = torch.empty_like(x)
        double[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
        return y + 1

    x = torch.randn(n, device="cuda")
    if n == 64:
        torch.testing.assert_close(doubled(x), 2 * x + 1)
        assert launches(found)[0] == "double"
        assert not findings(found)
        return
    with pytest.raises(EmulatorError, match="out of bounds"):
        doubled(x)
    (finding,) = findings(found)
    assert (finding["kernel"], finding["file"]) == ("double", __file__)
    assert finding["source"].startswith("tl.store")


@pytest.mark.parametrize("last", [9, 10])
def test_each_piece_between_breaks_is_judged(found, capsys, last):
    @torch.compile
    def picked(x, i):
        y = x.sin() * 2
        print("between")
        if y.sum() > 100:
            return y
        return y[i]  # of the third graph

    x, i = torch.randn(10, 3, device="cuda"), torch.tensor([0, last], device="cuda")
    if last == 9:
        graphs = Counter()
        for _ in range(2):
            torch.testing.assert_close(picked(x, i), (x.sin() * 2)[i])
            graphs = graphs or torch._dynamo.utils.counters["stats"].copy()
        assert graphs == torch._dynamo.utils.counters["stats"]  # none is made twice
        assert len(launches(found)) == 6
        assert not findings(found)
    else:
        with pytest.raises(EmulatorError, match="index out of bounds"):
            picked(x, i)
        (finding,) = findings(found)
        assert (finding["file"], finding["source"]) == (__file__, "return y[i]  # of the third graph")
    assert capsys.readouterr().out == "between\n" * (1 + (last == 9))


def test_kernels_of_one_name_have_each_its_line(found):
    @torch.compile
    def picked(x, i, j):
        y = x[i]
        torch._dynamo.graph_break()
        return y[j]

    x, (inside, outside) = torch.randn(10, device="cuda"), torch.tensor([[0, 9], [0, 10]], device="cuda")
    picked(x, inside, inside[:1])
    assert len({*launches(found)}) == 1
    for i, j, line in ((outside, inside, "y = x[i]"), (inside, outside, "return y[j]")):
        found.clear()
        with pytest.raises(EmulatorError, match="index out of bounds"):
            picked(x, i, j)
        (finding,) = findings(found)
        assert finding["source"] == line


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.empty_like(x)
        double[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
        return y

    @staticmethod
    def backward(ctx, dy):
        assert dy.layout == torch.strided  # which Dynamo does not trace
        return 2 * dy


@pytest.mark.parametrize("n", [64, 63])
@pytest.mark.parametrize("alone", [True, False])
def test_a_function_of_autograd_is_judged(found, alone, n):
    x = torch.randn(n, device="cuda").requires_grad_()
    doubled = torch.compile(Double.apply if alone else lambda x: Double.apply(x.sin()).sin())
    if n == 63:
        with pytest.raises(EmulatorError, match="out of bounds"):
            doubled(x)
        (finding,) = findings(found)
        assert (finding["kernel"], finding["file"]) == ("double", __file__)
        return
    plain = 2 * x if alone else (2 * x.sin()).sin()
    torch.testing.assert_close(doubled(x), plain)
    gradients = [torch.autograd.grad(y.sum(), x) for y in (doubled(x), plain)]
    torch.testing.assert_close(*gradients)
    assert len(launches(found)) == (2 if alone else 8)
    assert not findings(found)


def test_a_step_on_the_host_parts_two_graphs(found):
    @torch.compile
    def through(x, factor):
        there = (x.exp() * factor).cpu()
        assert not there.is_cuda
        return (there + torch.arange(5)).cuda().sin() + len(there.tolist())

    x = torch.randn(5, device="cuda")
    torch.testing.assert_close(through(x, torch.tensor(3.0)), (x.exp() * 3 + torch.arange(5, device="cuda")).sin() + 5)
    assert len(launches(found)) == 2
    assert not findings(found)


def test_a_piece_that_computes_nothing(found):
    @torch.compile
    def turned(x):
        y = x.sin()
        torch._dynamo.graph_break()
        return y.t()

    x = torch.randn(5, 3, device="cuda")
    torch.testing.assert_close(turned(x), x.sin().t())
    assert len(launches(found)) == 1
    assert not findings(found)


def test_what_goes_to_the_host_in_a_loop_is_told_and_called(found):
    @torch.compile
    def halves(x):
        torch._dynamo.graph_break()
        for _ in range(2):
            x = (x.cpu() * 2).cuda()  # where Dynamo gives up
        return x

    for _ in range(2):
        assert halves(torch.ones(3, device="cuda")).tolist() == [4, 4, 4]
    (finding,) = findings(found)
    assert finding["level"] == "unable"
    first = halves.__wrapped__.__code__.co_firstlineno
    assert f"`halves` ({__file__}:{first + 2}) runs, whole or in part, without torch.compile" in finding["message"]
    assert (
        f"or back ({__file__}:{first + 4}, `x = (x.cpu() * 2).cuda()  # where Dynamo gives up`)" in finding["message"]
    )


@pytest.mark.parametrize("backward", [False, True])
def test_what_inductor_refuses_is_told_and_called(found, monkeypatch, backward):
    from torch._inductor import compile_fx

    inner = compile_fx.compile_fx_inner

    def fails(graph, inputs, **options):
        if options.get("is_backward", False) == backward:
            raise RuntimeError("refused")
        return inner(graph, inputs, **options)

    monkeypatch.setattr(compile_fx, "compile_fx_inner", fails)
    x = torch.randn(5, device="cuda").requires_grad_()
    squared = torch.compile(lambda x: (x * x).exp())
    (gradient,) = torch.autograd.grad(squared(x).sum(), x)
    torch.testing.assert_close(gradient, 2 * x * (x * x).exp())
    assert len(launches(found)) == backward
    (finding,) = findings(found)
    assert finding["level"] == "unable"
    what = "The backward pass of `squared = torch.compile" if backward else "`<lambda>`"
    assert finding["message"].startswith(what)
    assert "are not judged: RuntimeError: refused" in finding["message"]


def test_what_was_decorated_before_is_judged_as_long_as_there_is_a_gpu(monkeypatch):
    monkeypatch.delenv("TORCHDYNAMO_DISABLE", raising=False)  # which the plugin sets for a process
    with torch._dynamo.config.patch(disable=False):
        earlier = torch.compile(lambda x: x.exp() * 2)
        for _ in range(2):
            events = []
            with watched(events.append):
                x = torch.randn(5, device="cuda")
                torch.testing.assert_close(earlier(x), x.exp() * 2)
            assert len(launches(events)) == 1
            with torch._dynamo.config.patch(disable=True):
                torch.testing.assert_close(earlier(torch.ones(5)), torch.ones(5).exp() * 2)
            assert len(launches(events)) == 1


class Tripled(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **kwargs or {}) * (3 if func is torch.sin else 1)


def test_modes_of_the_function_and_of_the_gpu(found):
    @torch.compile
    def tripled(x):
        with Tripled():
            y = torch.sin(x)
        print("between")
        return y + torch.ones(5, device="cuda")

    x = torch.randn(5, device="cuda")
    torch.testing.assert_close(tripled(x), 3 * x.sin() + 1)
    assert torch.ones(2, device="cuda").is_cuda
    assert len(launches(found)) == 2


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_a_function_that_differentiates(found, device):
    @torch.compile
    def slope(x):
        return torch.func.grad(lambda x: (x.sin() * x).sum())(x).to(device) * 2

    x = torch.randn(5, device="cuda")
    torch.testing.assert_close(slope(x), (2 * (x.cos() * x + x.sin())).to(device))
    if device == "cuda":
        assert launches(found)
        assert not findings(found)
    else:
        (finding,) = findings(found)
        assert "not judged: RuntimeError: the function goes from the GPU to the host, or back" in finding["message"]


def test_a_generated_kernel_of_unknown_lines_has_no_coverage(found, monkeypatch):
    monkeypatch.setattr(compiled, "_lines", lambda traces: [])
    x = torch.randn(5, device="cuda")
    torch.testing.assert_close(torch.compile(lambda x: x.sin() * 2)(x), x.sin() * 2)
    assert len(launches(found)) == 1
    assert not [event for event in found if "coverage" in event]


def test_a_tensor_around_others(found):
    x = torch.randn(5, device="cuda")
    pair = TwoTensor(x, x + 1) * 2
    torch.testing.assert_close((pair + 1).b, 2 * x + 3)
    torch.testing.assert_close(torch.compile(lambda pair: pair.sin() * 2)(TwoTensor(x, -x)).b, (-x).sin() * 2)
    assert launches(found)
    assert not findings(found)


def test_a_function_that_is_given_no_tensor(found):
    assert torch.compile(lambda n: torch.ones(n, device="cuda").cumsum(0) * 2)(4).tolist() == [2, 4, 6, 8]
    assert len(launches(found)) == 1
    assert not findings(found)


@pytest.mark.exhaustive
def test_other_sizes_and_other_ways_to_ask(found):
    ways = [
        torch.compile(lambda x: x.exp() + 1),
        torch.compile(mode="max-autotune", dynamic=True)(lambda x: x.exp() + 1),
    ]
    for way in ways:
        for n in (5, 1, 70, 300):
            x = torch.randn(n, device="cuda")
            torch.testing.assert_close(way(x), x.exp() + 1)
    assert len(launches(found)) == 8
    assert not findings(found)


MINE = """
import torch

def reference(x, w):
    return torch.nn.functional.rms_norm(x, (24,), w, 1e-6)

right = torch.compile(reference)

@torch.compile
def wrong(x, w):
    return x / (x.square().mean(-1, keepdim=True).sqrt() + 1e-3) * w

def arguments():
    return torch.randn(5, 24), torch.randn(24)
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("name, status", [("right", 0), ("wrong", 1)])
def test_compare_judges_a_compiled_candidate_by_its_kernels(tmp_path, capfd, name, status):
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    families = "dimension float16 bfloat16 rows one NaN infinity every strided other sub tiny trans".split()
    without = [word for family in families for word in ("--without", family)]
    command = ["compare", f"{file}:reference", f"{file}:{name}", "--arguments", f"{file}:arguments", *without]
    assert cli.main(command) == status
    shown = " ".join(capfd.readouterr().out.split())
    assert "Computes: in its own kernels." in shown
    assert "Gradients are not compared" not in shown


def test_what_makes_no_triton_kernel_is_not_compiled(found):
    assert torch.compile(lambda x: x + 1)(torch.ones(3)).tolist() == [2, 2, 2]
    for way in (torch.compile(lambda x: x + 1, backend="aot_eager"), torch.compile(backend="eager")(lambda x: x + 1)):
        y = way(torch.ones(3, device="cuda", requires_grad=True))
        y.sum().backward()
        assert y.tolist() == [2, 2, 2]
    assert not launches(found)
    assert not findings(found)


@pytest.mark.exhaustive
def test_half_precision_under_autocast_and_random_numbers(found):
    @torch.compile(fullgraph=True)
    def product(x, w):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            y = x @ w
            assert y.dtype == torch.bfloat16
            return functional.dropout(y, 0.5, True)

    y = product(torch.ones(64, 32, device="cuda"), torch.ones(32, 64, device="cuda"))
    assert y.dtype == torch.bfloat16
    assert {*y.float().flatten().tolist()} == {0.0, 64.0}
    assert 0.4 < (y == 0).float().mean() < 0.6
    assert not findings(found)


def test_beside_a_real_gpu_a_sentence_says_that_it_stays_uncompiled(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    events = []
    with watched(events.append):
        twice = torch.compile(lambda x: 2 * x)

        @torch.compile(dynamic=True)
        def thrice(x):
            return 3 * x

    assert twice(torch.tensor(7.0)) == 14 and thrice(torch.tensor(7.0)) == 21
    first, second = findings(events)
    assert first["kind"] == second["kind"] == "not-emulated" and "CUDA_VISIBLE_DEVICES=" in first["message"]
    assert (first["source"], second["source"]) == (
        "twice = torch.compile(lambda x: 2 * x)",
        "@torch.compile(dynamic=True)",
    )
