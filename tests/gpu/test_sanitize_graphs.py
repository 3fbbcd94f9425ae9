"""CUDA graphs of the simulated GPU: nothing is computed by a capture, everything by each replay."""

import pytest
import torch
import triton
from doubling import double, double_tuned
from graded_kernels.autograder.gpu.emulator import EmulatorError
from graded_kernels.autograder.gpu.sanitize.watching import watched

if torch.cuda.is_available():
    pytest.skip("not run: there is a GPU, and the stand-in is for machines without one", allow_module_level=True)


@pytest.fixture
def events():
    found = []
    with watched(found.append):
        yield found


def launches(events):
    return sum("launch" in event for event in events)


def doubled(x):
    y = torch.empty_like(x)
    n = x.numel()
    double[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
    n = 0  # a graph has the grid of its capture
    return y


def captured(function):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = function()
    return graph, result


def test_a_replay_computes_what_was_captured(events):
    x, total = torch.arange(40.0, device="cuda"), torch.zeros(40, device="cuda")

    def step():
        assert torch.cuda.is_current_stream_capturing()
        assert torch.cuda.current_stream().is_capturing()
        start = torch.ones(40, device="cuda")
        start += doubled(x).view(4, 10).flatten()
        total.add_(start)
        most, at = start.max(0)
        return start, most, at, start.view(4, 10)[1]

    graph, (start, most, at, row) = captured(step)
    assert not torch.cuda.is_current_stream_capturing()
    assert launches(events) == 0
    assert total.eq(0).all()
    expected = torch.zeros(40)
    for values in (torch.arange(40.0), torch.randn(40), torch.randn(40)):
        x.copy_(values)
        graph.replay()
        once = 1 + 2 * values
        expected += once
        assert start.is_cuda
        assert torch.equal(start.cpu(), once)
        assert torch.equal(total.cpu(), expected)
        assert torch.equal(row.cpu(), once[10:20])
        assert (most.item(), at.item()) == (once.max().item(), once.argmax().item())
    assert launches(events) == 3
    assert not [event for event in events if "finding" in event]


def test_a_step_of_training_in_a_graph(events):
    torch.manual_seed(0)
    model, twin = torch.nn.Linear(6, 3).cuda(), torch.nn.Linear(6, 3)
    twin.load_state_dict({name: value.cpu() for name, value in model.state_dict().items()})
    x, target = torch.randn(5, 6, device="cuda"), torch.randn(5, 3, device="cuda")

    def step(model, x, target):
        loss = torch.nn.functional.cross_entropy(model(x).tanh(), target.softmax(1))
        for parameter, slope in zip(model.parameters(), torch.autograd.grad(loss, model.parameters()), strict=True):
            parameter.data.sub_(slope, alpha=0.1)
        return loss

    graph, loss = captured(lambda: step(model, x, target))
    for _ in range(3):
        x.copy_(torch.randn(5, 6))
        graph.replay()
        torch.testing.assert_close(loss.cpu(), step(twin, x.cpu(), target.cpu()))
    for ours, theirs in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(ours.cpu(), theirs)


def test_a_gradient_is_taken_of_what_a_replay_computed(events):
    x = torch.zeros(9, device="cuda", requires_grad=True)
    graph, (factor, y) = captured(lambda: (factor := torch.rand(9, device="cuda"), (factor * x).exp()))
    for _ in range(2):
        with torch.no_grad():
            x.normal_()
        graph.replay()
        (slope,) = torch.autograd.grad(y.sum(), x, retain_graph=True)
        torch.testing.assert_close(slope, factor * (factor * x).exp())


def test_a_wrong_kernel_is_found_when_it_is_replayed(events):
    x, y = torch.randn(20, device="cuda"), torch.zeros(32, device="cuda")
    graph, _ = captured(lambda: double[(2,)](x, y, 21))
    assert not events
    with pytest.raises(EmulatorError, match="loads x out of bounds"):
        graph.replay()
    (finding,) = [event["finding"] for event in events if "finding" in event]
    assert finding["kind"] == "out-of-bounds"
    assert finding["source"].startswith("tl.store(y + i, 2 * tl.load(x + i")


def test_what_cuda_forbids_in_a_capture(events):
    x, y = torch.arange(20.0, device="cuda"), torch.zeros(20, device="cuda")
    tune = lambda: double_tuned[lambda meta: (triton.cdiv(20, meta["BLOCK"]),)](x, y, 20)  # noqa: E731
    wrong = [
        *(x.sum().item, lambda: bool(x[0]), x.nonzero, lambda: x[x > 1], x.cpu, lambda: y.copy_(torch.ones(20).cuda())),
        *(lambda: captured(lambda: doubled(x)), tune, torch.cuda.CUDAGraph().replay, torch.cuda.synchronize),
    ]
    for forbidden in wrong:
        with pytest.raises(RuntimeError, match="not permitted when stream is capturing|without a preceding"):
            captured(forbidden)
        assert not torch.cuda.is_current_stream_capturing()
    tune()
    graph, _ = captured(tune)
    y.zero_()
    graph.replay()
    assert y.equal(2 * x)


def test_a_pinned_tensor_is_copied_by_each_replay(events):
    host = torch.randn(20).pin_memory()
    graph, there = captured(lambda: host.to("cuda", non_blocking=True))
    for _ in range(2):
        host.normal_()
        graph.replay()
        assert torch.equal(there.cpu(), host)


@pytest.mark.parametrize("keeps", ["the workspace", "a view of it", "nothing"])
@pytest.mark.parametrize("writes", ["a kernel", "PyTorch"])
def test_memory_that_is_freed_after_a_capture_is_not_the_graphs(events, keeps, writes):
    """TensorRT-LLM's workspace: a larger one takes its place, and the graph writes to where the first one was."""
    x, held = torch.randn(20, device="cuda"), [torch.zeros(20, device="cuda")]

    def step():
        double[(2,)](x, held[0], 20) if writes == "a kernel" else held[0].copy_(x)
        within = torch.zeros(20, device="cuda")  # freed at the end, in memory that is the graph's
        double[(2,)](x, within, 20)

    graph, _ = captured(step)
    graph.replay()
    if keeps == "a view of it":
        held.append(held[0][3:])
    held[0] = held[0] if keeps == "the workspace" else torch.zeros(40, device="cuda")
    for _ in range(2):
        graph.replay()
    findings = [event["finding"] for event in events if "finding" in event]
    if keeps != "nothing":
        assert not findings
        return
    assert [finding["kind"] for finding in findings] == ["freed-memory"]
    who = ("double", "y") if writes == "a kernel" else ("aten::copy_", "self")
    assert (findings[0]["kernel"], findings[0]["tensor"]) == who
    assert "which was freed after the capture" in findings[0]["message"]
    assert findings[0]["source"] == "graph.replay()"
