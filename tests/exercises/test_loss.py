"""Cross-entropy as a training script imports it, over one process and two."""

import subprocess
import sys
import textwrap

import pytest
import torch
from graded_kernels.autograder.gpu import Emulator
from graded_kernels.kernels import (
    cross_entropy,
    cross_entropy_function,
    linear_cross_entropy,
    linear_cross_entropy_function,
)
from library import random
from torch.nn import functional as F
from turns import in_turn

REDUCTIONS = ("mean", "sum", "none")


def batch(dtype=torch.float32):
    """hidden (3, 4, 5), weight (7, 5) and labels (3, 4), two of them ignored."""
    labels = torch.randint(0, 7, (3, 4), generator=torch.Generator().manual_seed(2))
    labels[0, 1] = labels[2, 3] = -100
    return random(3, 4, 5, dtype=dtype).requires_grad_(), random(7, 5, dtype=dtype, seed=4).requires_grad_(), labels


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_like_pytorchs_own_where_tokens_count(reduction):
    hidden, weight, labels = batch()
    logits = hidden @ weight.t()
    theirs = F.cross_entropy(logits.permute(0, 2, 1), labels, reduction=reduction)
    upstream = random(*theirs.shape, seed=6)
    wanted = torch.autograd.grad(theirs, (hidden, weight), upstream, retain_graph=True)
    fused = linear_cross_entropy(hidden, weight, labels, reduction=reduction)
    for mine in (cross_entropy(logits, labels, reduction=reduction), fused):
        torch.testing.assert_close(mine, theirs)
        got = torch.autograd.grad(mine, (hidden, weight), upstream, retain_graph=True)
        for g, w in zip(got, wanted, strict=True):
            torch.testing.assert_close(g, w, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("rows", [0, 4])
@pytest.mark.parametrize(
    "more", [{}, {"num_items": 0}, {"num_items": 9}, {"num_items": torch.tensor(0)}, {"reduction": "sum"}]
)
def test_no_token_gives_zero_with_gradients_of_zero(rows, more):
    hidden, weight = random(rows, 5).requires_grad_(), random(7, 5, seed=4).requires_grad_()
    labels = torch.full((rows,), -100)
    for loss in (
        cross_entropy(hidden @ weight.t(), labels, **more),
        linear_cross_entropy(hidden, weight, labels, **more),
    ):
        assert (loss.item(), loss.requires_grad, loss.dtype) == (0.0, True, torch.float32)
        for gradient in torch.autograd.grad(loss, (hidden, weight)):
            assert gradient.eq(0).all()


def test_zero_items_gives_zero_even_where_labels_count():
    logits = random(4, 7).requires_grad_()
    loss = cross_entropy(logits, torch.arange(4), num_items=0)
    loss.backward()
    assert loss.item() == 0
    assert logits.grad.eq(0).all()


def test_micro_batches_add_up_to_the_whole_batch():
    hidden, weight, labels = batch()
    whole = torch.autograd.grad(cross_entropy(hidden @ weight.t(), labels), weight)[0]
    items = (labels != -100).sum()
    parts = [linear_cross_entropy(h, weight, y, num_items=items) for h, y in zip(hidden, labels, strict=True)]
    torch.testing.assert_close(torch.autograd.grad(sum(parts), weight)[0], whole)
    means = [cross_entropy(h @ weight.t(), y) for h, y in zip(hidden, labels, strict=True)]
    mean_of_means = torch.autograd.grad(sum(means) / 3, weight)[0]
    assert not torch.allclose(mean_of_means, whole, rtol=1e-2)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_has_a_float32_loss_and_gradients_of_its_own_dtype(dtype):
    hidden, weight, labels = batch(dtype)
    loss = linear_cross_entropy(hidden, weight, labels)
    loss.backward()
    assert (loss.dtype, hidden.grad.dtype, weight.grad.dtype) == (torch.float32, dtype, dtype)
    logits = random(6, 9, dtype=dtype).requires_grad_()
    loss = cross_entropy(logits, torch.arange(6), reduction="none")
    loss.sum().backward()  # hands back a gradient of stride 0
    assert (loss.dtype, logits.grad.dtype) == (torch.float32, dtype)


def test_inputs_are_left_as_they_are():
    hidden, weight, labels = batch()
    logits = (hidden @ weight.t()).detach()
    before = [t.clone() for t in (hidden, weight, labels, logits)]
    leaf = logits.requires_grad_()
    cross_entropy(leaf, labels, reduction="sum").backward()
    linear_cross_entropy(hidden, weight, labels).backward()
    for now, then in zip((hidden, weight, labels, logits), before, strict=True):
        assert torch.equal(now.detach(), then.detach())


def test_ops_are_what_pytorch_wants_of_ops():
    hidden, weight, labels = (x.detach() for x in batch())
    rows, y = hidden.reshape(-1, 5), labels.reshape(-1)
    ops = torch.ops.graded_kernels
    torch.library.opcheck(ops.cross_entropy.default, (rows @ weight.t(), y, -100, False))
    torch.library.opcheck(ops.linear_cross_entropy.default, (rows, weight, y, -100, False))


WAITS = {"aten::item", "aten::nonzero"}  # on CUDA, for the device


KEPT = {"none": slice(0), "one": slice(3, 4), "some": slice(2, 37), "all": slice(40)}


@pytest.mark.parametrize(("kept", "trusted"), in_turn(KEPT, (True, False)))
def test_kernels_agree_and_with_trusted_labels_the_host_never_waits(kept, trusted, monkeypatch):
    """As on CUDA, with the kernels in the emulator. Rows that do not count hold NaN."""
    hidden, weight = random(40, 5), random(7, 5, seed=4)
    labels = torch.full((40,), -100)
    labels[KEPT[kept]] = torch.arange(40)[KEPT[kept]] % 7
    hidden[labels == -100] = torch.nan
    tensors = [t.requires_grad_() for t in (hidden, weight)]

    def losses_and_gradients(plain):
        fused = linear_cross_entropy(*tensors, labels, num_items=50, trusted=trusted)
        mean = cross_entropy(plain, labels, num_items=50, trusted=trusted)
        return fused, *torch.autograd.grad(fused, tensors), mean, *torch.autograd.grad(mean, plain)

    plain = (hidden @ weight.t()).detach().requires_grad_()
    wanted = losses_and_gradients(plain)
    for module in (cross_entropy_function, linear_cross_entropy_function):
        monkeypatch.setattr(module, "use_triton", lambda x: True)
    with Emulator() as emulator, torch.autograd.profiler.profile() as profile:
        got = losses_and_gradients(plain)
    assert emulator.findings == ()
    waits = {event.name for event in profile.function_events} & WAITS
    assert waits == (set() if trusted else WAITS)
    for one, other in zip(got, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("by_triton", [False, True])
def test_strides_make_no_difference(by_triton, monkeypatch):
    dense = random(20, 5), random(7, 5, seed=4), torch.arange(20) % 7, random(20, 7, seed=5)
    views = dense[0].repeat_interleave(2, 1)[:, ::2], dense[1].t().contiguous().t(), dense[2].repeat_interleave(2)[::2]
    views = *views, dense[3].t().contiguous().t()
    assert not any(view.is_contiguous() for view in views)
    for module in (cross_entropy_function, linear_cross_entropy_function):
        monkeypatch.setattr(module, "use_triton", lambda x: by_triton)
    results = []
    for hidden, weight, labels, logits in (dense, views):
        leaves = [t.detach().requires_grad_() for t in (hidden, weight, logits)]
        with Emulator() as emulator:
            fused = linear_cross_entropy(*leaves[:2], labels)
            each = cross_entropy(leaves[2], labels, reduction="none")
            gradients = torch.autograd.grad(fused + each.sum(), leaves)
        assert emulator.findings == ()
        results.append((fused, each, *gradients))
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other)


LOGITS, LABELS = random(3, 5), torch.tensor([0, -100, 5])


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: cross_entropy(LOGITS, LABELS), IndexError, r"labels\[2\] is 5: no class, 0 to 4"),
        (lambda: linear_cross_entropy(random(3, 2), random(5, 2), LABELS), IndexError, r"labels\[2\] is 5"),
        (
            lambda: cross_entropy(LOGITS, torch.zeros(4, dtype=torch.int64)),
            ValueError,
            r"logits is \(3, 5\) .* labels must be \(3,\) int64; they are \(4,\) int64",
        ),
        (lambda: cross_entropy(LOGITS, LABELS.int()), ValueError, "they are .* int32"),
        (lambda: cross_entropy(LOGITS, LABELS, reduction="average"), ValueError, "'sum' or 'none', not 'average'"),
        (
            lambda: cross_entropy(LOGITS, LABELS, reduction="sum", num_items=3),
            ValueError,
            "num_items is the divisor of a mean",
        ),
        (
            lambda: linear_cross_entropy(random(3, 2), random(5, 3), LABELS),
            ValueError,
            r"weight must be \(V, 2\); it is \(5, 3\)",
        ),
    ],
)
def test_errors_name_what_to_mend(call, error, says):
    with pytest.raises(error, match=says):
        call()


PROCESS = """
    import sys
    import torch
    import torch.distributed as dist
    from graded_kernels.kernels import cross_entropy

    rank, store = int(sys.argv[1]), sys.argv[2]
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.manual_seed(0)
    layer = torch.nn.Linear(5, 7)
    model = torch.nn.parallel.DistributedDataParallel(layer)
    hidden = torch.randn(2, 6, 5)[rank]
    labels = torch.arange(6) if rank == 0 else torch.full((6,), -100)
    items = (labels != -100).sum()
    dist.all_reduce(items)
    (cross_entropy(model(hidden), labels, num_items=items) * 2).backward()  # DDP divides by the number of processes
    print(layer.weight.grad.tolist())
    dist.destroy_process_group()
"""


@pytest.mark.exhaustive
@pytest.mark.skipif(not torch.distributed.is_available(), reason="not run: this PyTorch has no torch.distributed")
def test_two_processes_of_which_one_has_no_token(tmp_path):
    """They end, with one gradient: that of the only process that has tokens."""
    script = tmp_path / "process.py"
    script.write_text(textwrap.dedent(PROCESS))
    command = [sys.executable, str(script)]
    processes = [
        subprocess.Popen([*command, str(rank), str(tmp_path / "store")], stdout=subprocess.PIPE, text=True)
        for rank in (0, 1)
    ]
    try:
        outputs = [p.communicate(timeout=900)[0] for p in processes]
    finally:
        for p in processes:
            p.kill()
    assert [p.returncode for p in processes] == [0, 0]
    torch.manual_seed(0)
    layer = torch.nn.Linear(5, 7)
    F.cross_entropy(layer(torch.randn(2, 6, 5)[0]), torch.arange(6)).backward()
    for one in outputs:
        torch.testing.assert_close(torch.tensor(eval(one)), layer.weight.grad)
