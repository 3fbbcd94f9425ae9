"""Typical answers with the marks of 100 that a teacher wrote down before seeing ours.

``python tests/material/marks.py`` prints both, the farthest apart first.
"""

from collections.abc import Iterable

from graded_kernels.autograder.judge import Settings
from graded_kernels.autograder.judge.checking.check import check_answer
from wrong_answers import SHARE_APART, Wrong

WITHIN = 10  # points


def of(exercise: str, backend: str, what: str, mark: int, more: str = "", **other) -> Wrong:
    """An answer with its mark."""
    return Wrong(what, exercise, backend, mark, more, **other)


def weights(what: str, mark: int, result: str) -> Wrong:
    """An answer to accumulation_weights. result: an expression of ``n``, the tokens in float64, and ``R``."""
    body = f"def accumulation_weights(tokens):\n    n, R = tokens.double(), tokens.shape[0]\n    return {result}\n"
    return of("accumulation_weights", "torch", what, mark, body)


def advantage(what: str, mark: int, guard: str, scored: str = "~r.isnan()", at_zero: str = "r") -> Wrong:
    """An answer to group_advantage in PyTorch. guard: where a row counts. scored: of r. at_zero: the rewards used."""
    body = f"""
def group_advantage(rewards, eps=1e-6):
    r = rewards.float()
    if not r.numel():
        return torch.empty_like(r)
    r = {at_zero}
    scored = {scored}
    n = scored.sum(1, keepdim=True)
    mean = r.where(scored, 0).sum(1, keepdim=True) / n
    d = (r - mean).where(scored, 0)
    std = (d.square().sum(1, keepdim=True) / (n - 1)).sqrt()
    smallest = r.where(scored, torch.inf).amin(1, keepdim=True)
    largest = r.where(scored, -torch.inf).amax(1, keepdim=True)
    return (d / (std + eps)).where({guard}, 0)
"""
    return of("group_advantage", "torch", what, mark, body)


def loss(what: str, mark: int, *patches: tuple[str, str]) -> Wrong:
    """An answer to policy_loss_forward in PyTorch."""
    return of("policy_loss_forward", "torch", what, mark, patches=patches)


def witness(name: str, what: str, mark: int, result: str) -> Wrong:
    """An answer to a witness that takes nothing."""
    return of(name, "torch", what, mark, f"def {name}():\n    return {result}\n")


def two_of_three(name: str, without: str) -> Wrong:
    """A witness of 09b that gives an input without the bug for one of its suspects."""
    body = f"""
def {name}(block):
    given = right(block)
    if block == "{without}":
        given = tuple(torch.zeros_like(a[:1]) if isinstance(a, torch.Tensor) else a for a in given)
    return given
"""
    return of(name, "torch", f"two of three (without {without})", 67, body)


def step(what: str, mark: int, *patches: tuple[str, str], backend: str = "torch") -> Wrong:
    """An answer to adamw_step."""
    return of("adamw_step", backend, what, mark, patches=patches)


MARKED = (
    witness("accumulation_witness", "equal counts", 0, "(torch.tensor([[5, 5]]),)"),
    witness("accumulation_witness", "float counts", 0, "(torch.tensor([[5.0, 1.0]]),)"),
    weights("mean of means", 20, "torch.full(tokens.shape, 1 / max(tokens.shape[1], 1))"),
    weights("forgets the ranks", 50, "(n / n.sum().clamp(min=1)).float()"),
    weights("divides by the ranks", 50, "(n / n.sum().clamp(min=1) / max(R, 1)).float()"),
    weights("own rank's tokens only", 30, "(n / n.sum(1, keepdim=True).clamp(min=1)).float()"),
    weights("right, no guard for no token", 75, "(n * R / n.sum()).float()"),
    weights("right, float32 all through", 95, "tokens.float() * R / tokens.float().sum().clamp(min=1)"),
    weights("right, float64 returned", 85, "n * R / n.sum().clamp(min=1)"),
    of(
        "accumulation_weights",
        "torch",
        "right, by loops and .item()",
        100,
        """
def accumulation_weights(tokens):
    R, A = tokens.shape
    total = 0
    for r in range(R):
        for a in range(A):
            total += tokens[r, a].item()
    weights = torch.zeros(R, A)
    for r in range(R):
        for a in range(A):
            weights[r, a] = tokens[r, a].item() * R / max(total, 1)
    return weights
""",
    ),
    advantage("threshold std > 1e-8 (the wrong cure)", 50, "std > 1e-8"),
    advantage("compares right, an unscored is 0 (trl)", 60, "largest > smallest", at_zero="r.nan_to_num(0.0)"),
    of(
        "group_advantage",
        "torch",
        "right, eps forgotten",
        85,
        patches=(("(d / (std + eps))", "(d / std)"),),
    ),
    of(
        "group_advantage",
        "triton",
        "threshold on std in the kernel",
        50,
        patches=(
            ("d = tl.where(scored, r - smallest, 0.0)", "d = tl.where(scored, r, 0.0)"),
            ("tl.where(largest > smallest, d", "tl.where(std > 1e-8, d"),
        ),
    ),
    of(
        "group_advantage",
        "triton",
        "all in PyTorch, the kernel copies",
        0,
        """
@triton.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n, other=0.0), mask=offsets < n)


def group_advantage(rewards, eps=1e-6):
    r = rewards.float()
    scored = ~r.isnan()
    n = scored.sum(1, keepdim=True)
    d = (r - r.where(scored, 0).sum(1, keepdim=True) / n).where(scored, 0)
    std = (d.square().sum(1, keepdim=True) / (n - 1)).sqrt()
    result, y = (d / (std + eps)).contiguous(), torch.empty(r.shape)
    copy_kernel[(triton.cdiv(y.numel(), 1024),)](result, y, y.numel(), BLOCK=1024)
    return y
""",
    ),
    loss(
        "clamp alone, no minimum",
        50,
        ("terms = torch.where(beyond, end, ratio) * A", "terms = ratio.clamp(1 - clip, 1 + clip) * A"),
    ),
    loss(
        "times mask: 0 * NaN",
        60,
        (".where(mask & (A != 0), 0).exp()", ".where(A != 0, 0).exp()"),
        ("terms.where(mask, 0)", "(terms * mask)"),
    ),
    loss(
        "divides by numel, not by the mask",
        50,
        ("mask.sum() if count is None", "mask.sum() * 0 + mask.numel() if count is None"),
    ),
    loss("0 / 0 without tokens", 85, ("return torch.where(items > 0, total / items, 0)", "return total / items")),
    of(
        "policy_loss_backward",
        "torch",
        "dloss forgotten",
        50,
        patches=(("over_count(-dloss, mask, count)", "over_count(-torch.ones(()), mask, count)"),),
    ),
    of(
        "policy_loss_backward",
        "torch",
        "not divided",
        40,
        patches=(("over_count(-dloss, mask, count)", "-dloss"),),
    ),
    of(
        "policy_loss_backward",
        "torch",
        "ratio forgotten",
        35,
        patches=(("over_count(-dloss, mask, count) * A * ratio", "over_count(-dloss, mask, count) * A"),),
    ),
    of(
        "policy_loss_forward",
        "triton",
        "kernel sums, the host divides, on the device",
        85,
        patches=SHARE_APART,
    ),
    of("bias_correction", "torch", "root forgotten", 0, patches=((".sqrt()", ""),)),
    of(
        "bias_correction",
        "torch",
        "betas written down, arguments unused",
        70,
        patches=(("t = steps.double()", "t, beta1, beta2 = steps.double(), 0.9, 0.999"),),
    ),
    witness("counter_witness", "100,000 steps", 100, "(torch.tensor([100_000]),)"),
    witness("counter_witness", "1 to 5000, one of them shows it", 100, "(torch.arange(1, 5001),)"),
    step("no decay", 50, (" * (1 - lr * weight_decay)", "")),
    step(
        "decay after the update (bitsandbytes)",
        50,
        ("w = param.to(m.dtype) * (1 - lr * weight_decay)", "w = param.to(m.dtype)"),
        ("value=-lr / (1 - beta1**step))", "value=-lr / (1 - beta1**step)) * (1 - lr * weight_decay)"),
    ),
    step(
        "m and v rebound, not updated in place",
        45,
        ("m.mul_(beta1).add_(g, alpha=1 - beta1)", "m = m * beta1 + g * (1 - beta1)"),
        ("v.mul_(beta2).addcmul_(g, g, value=1 - beta2)", "v = v * beta2 + g * g * (1 - beta2)"),
    ),
    step("step + 1", 40, ("    g = grad", "    step = step + 1\n    g = grad")),
    step("no .contiguous() of grad", 78, ("grad.contiguous()", "grad"), backend="triton"),
    witness("norm_witness", "60000 four times: the norm is inf", 0, "(torch.full((4,), 60000.0).half(),)"),
    witness("norm_witness", "a list of gradients", 100, "[torch.full((9,), 100.0, dtype=torch.float16)]"),
    of(
        "global_norm",
        "torch",
        "norm of the norms, each in its dtype",
        60,
        """
def global_norm(grads):
    return torch.stack([torch.zeros(()), *(g.norm().float() for g in grads)]).norm()
""",
    ),
    of("global_norm", "torch", "root forgotten", 0, patches=(("total.sqrt()", "total"),)),
    of(
        "clip_coefficient",
        "torch",
        "right, no ValueError",
        75,
        patches=(("    if not max_norm >= 0:\n", "    if False:\n"),),
    ),
    of(
        "clip_coefficient",
        "torch",
        "AssertionError for ValueError",
        90,
        patches=(("raise ValueError", "raise AssertionError"),),
    ),
    of(
        "stochastic_round", "torch", "cut off, bits unused", 15, patches=(("+ bits) & -65536", "+ 0 * bits) & -65536"),)
    ),
    of(
        "stochastic_round",
        "torch",
        "negative numbers the other way",
        50,
        patches=(("x.view(torch.int32) + bits", "x.view(torch.int32) + torch.where(x < 0, 65535 - bits, bits)"),),
    ),
    two_of_three("precision_witness", "embedding_gradient"),
    two_of_three("router_witness", "decay"),
    two_of_three("scan_witness", "reverse_cumsum"),
    two_of_three("sampler_witness", "top_k_probs"),
)

# What lies more than WITHIN apart, and what it gets.
APART = {
    ("accumulation_weights", "mean of means"): 40,
    ("accumulation_weights", "own rank's tokens only"): 50,
    ("group_advantage", "right, eps forgotten"): 70,
    ("bias_correction", "betas written down, arguments unused"): 40,
    ("policy_loss_forward", "0 / 0 without tokens"): 60,
    ("stochastic_round", "cut off, bits unused"): 45,
}


def scores(marked: Iterable[Wrong] = MARKED) -> Iterable[tuple[Wrong, float, str]]:
    """Each answer, the points that it gets, and why."""
    for one in marked:
        report = check_answer(one.answer, Settings(one.backend, compiler=False))
        costs = ", ".join(f"{line.name} {line.points:g}" for line in report.costs)
        failing = [case.name for case in report.cases if case.status in ("fail", "error") and not case.bonus]
        yield one, 100 * report.score, f"{costs}. {report.source} {failing}"


if __name__ == "__main__":
    found = sorted(scores(), key=lambda row: -abs(row[1] - row[0].points))
    for one, points, why in found:
        print(f"{points:4.0f} {one.points:4d}  {one.exercise}, {one.backend}: {one.what}\n           {why[:700]}")
