"""How a kernel is launched: autotuners, heuristics, grids, benchmarks, warm-ups, hooks, knobs."""

import torch
import triton
import triton.language as tl

from .pair import pair


@triton.jit
def double_kernel(x, y, n, BLOCK: tl.constexpr, MASKED: tl.constexpr = True):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if MASKED:
        tl.store(y + i, 2 * tl.load(x + i, mask=i < n, other=0.0), mask=i < n)
    else:
        tl.store(y + i, 2 * tl.load(x + i))


def in_place_kernel(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, 2 * tl.load(x + i, mask=i < n, other=0.0), mask=i < n)


def total_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(y, tl.sum(tl.load(x + i, mask=i < n, other=0.0)))


def small(configs, named_args, **options):
    return [config for config in configs if config.kwargs["BLOCK"] <= 32]


@pair("left-state")
def configurations_that_are_pruned(wrong):
    """A kernel that works in place. Wrong: what it changed is not restored."""
    configs = [triton.Config({"BLOCK": block}) for block in (16, 32, 64)]
    restored = {} if wrong else {"restore_value": ["x"]}
    tune = triton.autotune(configs, key=["n"], prune_configs_by={"early_config_prune": small}, **restored)
    x = torch.randn(50, device="cuda")
    expected = 2 * x.cpu()
    tune(triton.jit(in_place_kernel))[lambda meta: (triton.cdiv(50, meta["BLOCK"]),)](x, 50)
    return x, expected


@pair("left-state")
def hooks_of_configurations(wrong):
    """Sums that begin at zero. Wrong: one configuration has no hook that sees to it."""

    def zero(arguments):
        arguments["y"].zero_()

    configs = [
        triton.Config({"BLOCK": 16}, pre_hook=zero),
        triton.Config({"BLOCK": 32}, pre_hook=None if wrong else zero),
    ]
    x, y = torch.randn(50, device="cuda"), torch.zeros(1, device="cuda")
    kernel = triton.autotune(configs, key=["n"])(triton.jit(total_kernel))
    kernel[lambda meta: (triton.cdiv(50, meta["BLOCK"]),)](x, y, 50)
    return y, x.sum().view(1)


@pair("out-of-bounds")
def heuristics(wrong):
    """Wrong: a mask is left out for sizes that the block does not divide."""
    whole = {"BLOCK": lambda args: 32, "MASKED": lambda args: args["n"] % (16 if wrong else args["BLOCK"]) != 0}
    x, y = torch.randn(48, device="cuda"), torch.empty(48, device="cuda")
    triton.heuristics(whole)(double_kernel)[lambda meta: (triton.cdiv(48, meta["BLOCK"]),)](x, y, 48)
    return y, 2 * x


@triton.jit
def batched_kernel(x, y, n, heads, BLOCK: tl.constexpr):
    head, batch = tl.program_id(1), tl.program_id(2)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = (batch * heads + head) * n + i
    tl.store(y + at, 2 * tl.load(x + at, mask=i < n, other=0.0), mask=i < n)


@pair("out-of-bounds")
def a_grid_of_three_dimensions(wrong):
    """Wrong: heads and batch are swapped."""
    x, y = torch.randn(2, 5, 20, device="cuda"), torch.zeros(2, 5, 20, device="cuda")
    rest = (2, 5) if wrong else (5, 2)
    batched_kernel[lambda meta: (triton.cdiv(20, meta["BLOCK"]), *rest)](x, y, 20, 5, BLOCK=16)
    return y, 2 * x


@pair("out-of-bounds")
def a_benchmark(wrong):
    """Wrong: the kernel that is timed runs without its mask."""
    x, y = torch.randn(48, device="cuda"), torch.empty(48, device="cuda")
    times = triton.testing.do_bench(
        lambda: double_kernel[(2,)](x, y, 48, BLOCK=32, MASKED=not wrong), quantiles=[0.5, 0.2, 0.8]
    )
    assert len(times) == 3
    return y, 2 * x


@pair("out-of-bounds")
def a_warm_up(wrong):
    """Wrong: it is compiled, and then launched, without its mask."""
    x, y = torch.randn(48, device="cuda"), torch.empty(48, device="cuda")
    kernel = double_kernel.warmup(torch.float32, torch.float32, 48, BLOCK=32, MASKED=not wrong, grid=(1,))
    kernel._init_handles()
    assert kernel.metadata.shared >= 0
    kernel[(2,)](x, y, 48)
    return y, 2 * x


@pair("out-of-bounds")
def hooks_of_launches(wrong):
    """Wrong: the kernel that they are called for runs without its mask."""
    x, y, called = torch.randn(48, device="cuda"), torch.empty(48, device="cuda"), []
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.launch_enter_hook.add(called.append)
        double_kernel[(2,)](x, y, 48, BLOCK=32, MASKED=not wrong)
    return y, 2 * x


@pair("out-of-bounds")
def knobs(wrong):
    """Wrong: the kernel that they are turned for runs without its mask."""
    x, y = torch.randn(48, device="cuda"), torch.empty(48, device="cuda")
    with triton.knobs.runtime.scope(), triton.knobs.compilation.scope():
        triton.knobs.runtime.debug = triton.knobs.compilation.disable_line_info = True
        double_kernel[(2,)](x, y, 48, BLOCK=32, MASKED=not wrong, num_warps=8)
    return y, 2 * x


@pair("unwritten")
def a_hook_that_looks_at_trials(wrong):
    """It adds up what a trial has stored, and the caller does so itself. Wrong: the caller takes the hook's sum."""
    sums = []

    def look(arguments, exception=None):
        sums.append(arguments["y"].sum())

    configs = [triton.Config({"BLOCK": block}) for block in (16, 32)]
    kernel = triton.autotune(configs, key=["n"], post_hook=look)(double_kernel)
    for _ in range(2):  # the second launch has its configuration, and no trials
        x, y = torch.randn(50, device="cuda"), torch.empty(50, device="cuda")
        kernel[lambda meta: (triton.cdiv(50, meta["BLOCK"]),)](x, y, 50)
    return (sums[-1] if wrong else y.sum()) + 0.0, 2 * x.sum()


@triton.jit
def push_kernel(x, state, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(state + i, tl.load(state + i) + tl.load(x + i))


def _push(name, mutates):
    @torch.library.custom_op(f"kernel_pairs::{name}", mutates_args=mutates)
    def push(x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        push_kernel[(1,)](x, state, N=64)
        return 2 * x

    return push


PUSHES = {False: _push("push", ("state",)), True: _push("push_undeclared", ())}


@pair("undeclared-store")
def a_custom_operator_and_what_it_changes(wrong):
    """Wrong: its schema does not say that it changes an argument."""
    x, state = torch.randn(64, device="cuda"), torch.zeros(64, device="cuda")
    expected = x.clone()
    PUSHES[wrong](x, state)
    return state, expected


@triton.jit
def loss_kernel(p, gradient, loss, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    values = tl.load(p + at)
    tl.store(loss + tl.program_id(0), tl.sum(values * values))
    tl.debug_barrier()
    tl.store(gradient + at, 2 * values)


class Squares(torch.autograd.Function):
    @staticmethod
    def forward(ctx, p, in_place):
        gradient, loss = p if in_place else torch.empty_like(p), torch.empty(p.shape[0], device=p.device)
        loss_kernel[(p.shape[0],)](p, gradient, loss, N=p.shape[1])
        ctx.save_for_backward(gradient)
        return loss

    @staticmethod
    def backward(ctx, upstream):
        (gradient,) = ctx.saved_tensors
        return gradient * upstream[:, None], None


@pair("saved-tensor")
def a_loss_that_keeps_its_gradient(wrong):
    """Wrong: over its input, which the softmax before it has saved for its own backward pass."""
    x = torch.randn(6, 32, device="cuda", requires_grad=True)
    like = x.detach().cpu().requires_grad_()
    like.softmax(1).square().sum().backward()
    try:
        Squares.apply(x.softmax(1), wrong).sum().backward()
    except RuntimeError:
        return like.grad, like.grad
    return x.grad, like.grad


@pair("saved-tensor")
def a_loss_of_a_view(wrong):
    """Wrong: over a part of what the softmax has saved, in another shape."""
    x = torch.randn(6, 32, device="cuda", requires_grad=True)
    like = x.detach().cpu().requires_grad_()
    like.softmax(1).square().sum().backward()
    p = x.softmax(1)
    part = p.detach().view(12, 16)[2:]
    gradient = part if wrong else torch.empty_like(part)
    loss_kernel[(10,)](part, gradient, torch.empty(10, device="cuda"), N=16)
    try:
        p.square().sum().backward()
    except RuntimeError:
        return like.grad, like.grad
    return x.grad, like.grad
