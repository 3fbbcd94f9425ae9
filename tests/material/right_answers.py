"""Right answers in PyTorch, each formula in every arithmetic of `float32_sums`: none may be refused, whatever numbers a
seed draws.

Formulas are written as careful float32 code would have them: a large common part is subtracted before it is squared or
raised to a power, and results are rounded once.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from float32_sums import ARITHMETIC, BASES, LOG2E, Float32
from graded_kernels.autograder.judge import Exercise
from torch import Tensor
from torch.nn import functional as F

Formula = Callable[..., Any]  # (arithmetic, *the exercise's arguments) -> the exercise's results

FORMULAS: dict[str, list[tuple[Formula, tuple[Float32, ...]]]] = {}
ALONE: dict[str, list[Callable[..., Any]]] = {}  # that have no sum and no exponential of their own


def answers(exercise: str, arithmetics: tuple[Float32, ...] = ARITHMETIC) -> Callable[[Formula], Formula]:
    """Registers a formula in these arithmetics."""

    def add(formula: Formula) -> Formula:
        FORMULAS.setdefault(exercise, []).append((formula, arithmetics))
        return formula

    return add


def alone(exercise: str) -> Callable[[Formula], Formula]:
    def add(function: Formula) -> Formula:
        ALONE.setdefault(exercise, []).append(function)
        return function

    return add


def right_answers(exercise: str) -> list[tuple[str, Callable[..., Any]]]:
    """(name, answer)."""
    in_arithmetics = [
        (f"{formula.__name__}, {arithmetic.name}", functools.partial(formula, arithmetic))
        for formula, arithmetics in FORMULAS.get(exercise, ())
        for arithmetic in arithmetics
    ]
    return in_arithmetics + [(function.__name__, function) for function in ALONE.get(exercise, ())]


# Elementwise.


def sigmoid(a: Float32, v: Tensor) -> Tensor:
    return 1 / (1 + a.exp(-v))


@answers("silu_forward", BASES)
def divided(a, x):
    v = x.float()
    return (v / (1 + a.exp(-v))).to(x.dtype)


@answers("silu_forward", BASES)
def times_sigmoid(a, x):
    return (x.float() * sigmoid(a, x.float())).to(x.dtype)


@answers("silu_backward", BASES)
def product_rule(a, dy, x):
    v, s = x.float(), sigmoid(a, x.float())
    return (dy.float() * s * (1 + v * (1 - s))).to(x.dtype)


@answers("silu_backward", BASES)
def product_rule_of_both_sides(a, dy, x):
    v = x.float()
    return (dy.float() * (sigmoid(a, v) * (1 + v * sigmoid(a, -v)))).to(x.dtype)


@answers("swiglu_forward", BASES)
def gated(a, gate, up):
    v = gate.float()
    return (v * sigmoid(a, v) * up.float()).to(up.dtype)


@answers("swiglu_backward", BASES)
def ungated(a, dy, gate, up):
    v, g, s = gate.float(), dy.float(), sigmoid(a, gate.float())
    return (g * up.float() * (s * (1 + v * (1 - s)))).to(gate.dtype), (g * (v * s)).to(up.dtype)


def inner(v: Tensor) -> Tensor:
    return math.sqrt(2 / math.pi) * (v + 0.044715 * v * v * v)


def inner_slope(v: Tensor) -> Tensor:
    return math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * v * v)


def phi(a: Float32, v: Tensor) -> Tensor:
    return a.exp(-0.5 * v * v) / math.sqrt(2 * math.pi)


@answers("gelu_forward", BASES)
def by_erf_and_tanh(a, x, approximate="none"):
    v = x.float()
    share = torch.erf(v / math.sqrt(2)) if approximate == "none" else torch.tanh(inner(v))
    return (0.5 * v * (1 + share)).to(x.dtype)


@answers("gelu_forward", BASES)
def by_erfc_and_sigmoid(a, x, approximate="none"):
    v = x.float()
    share = 0.5 * torch.special.erfc(-v / math.sqrt(2)) if approximate == "none" else sigmoid(a, 2 * inner(v))
    return (v * share).to(x.dtype)


@answers("gelu_backward", BASES)
def slope_by_erf_and_tanh(a, dy, x, approximate="none"):
    v = x.float()
    if approximate == "none":
        slope = 0.5 * (1 + torch.erf(v * math.sqrt(0.5))) + v * phi(a, v)
    else:
        t = torch.tanh(inner(v))
        slope = 0.5 * (1 + t) + 0.5 * v.clamp(-1e4, 1e4) * (1 - t * t) * inner_slope(v.clamp(-1e4, 1e4))
        slope = torch.where(v.abs() > 1e4, (v > 0).float(), slope).where(~v.isnan(), v)
    return (dy.float() * slope).to(x.dtype)


@answers("gelu_backward", BASES)
def slope_by_erfc_and_sigmoid(a, dy, x, approximate="none"):
    v = x.float().clamp(-1e4, 1e4)
    if approximate == "none":
        slope = 0.5 * torch.special.erfc(-v / math.sqrt(2)) + v * phi(a, v)
    else:
        s, t = sigmoid(a, 2 * inner(v)), sigmoid(a, -2 * inner(v))
        slope = s + v * (2 * inner_slope(v)) * s * t
    return (dy.float() * slope).to(x.dtype)


@alone("axpy")
def scaled_and_added(a, x, y):
    return (a * x.float() + y.float()).to(x.dtype)


@alone("axpy")
def fused(a, x, y):
    """In one rounding, as a fused multiply-add."""
    return (a * x.double() + y.double()).float().to(x.dtype)


# Rows.


@answers("row_sum")
def summed(a, x):
    return a.sum(x.float()).squeeze(-1).to(x.dtype)


def taken_first(a: Float32, v: Tensor) -> tuple[Tensor, Tensor]:
    """(mean, variance)."""
    mean = a.mean(v)
    return mean, a.mean((v - mean) ** 2)


def divided_first(a: Float32, v: Tensor) -> tuple[Tensor, Tensor]:
    mean = a.sum(v * (1 / v.shape[-1]))
    return mean, a.sum((v - mean) ** 2 * (1 / v.shape[-1]))


def of_the_rest(a: Float32, v: Tensor) -> tuple[Tensor, Tensor]:
    """From the first element, which may be far from the mean, and then from the mean of what is left."""
    first = a.mean(v)
    mean = first + a.mean(v - first)
    return mean, a.mean((v - first) ** 2) - (mean - first) ** 2


def running(v: Tensor) -> tuple[Tensor, Tensor]:
    """Welford 1962, one column after the other."""
    rows = v.numpy()
    mean, squares = np.zeros(len(rows), np.float32), np.zeros(len(rows), np.float32)
    for count, column in enumerate(np.ascontiguousarray(rows.T), 1):
        d = column - mean
        mean = mean + d / np.float32(count)
        squares = squares + d * (column - mean)
    return torch.from_numpy(mean).unsqueeze(-1), torch.from_numpy(squares / np.float32(v.shape[-1])).unsqueeze(-1)


def merged(a: Float32, v: Tensor, width: int = 256) -> tuple[Tensor, Tensor]:
    """Block by block (Chan et al. 1979)."""
    n = v.shape[-1]
    mean, squares = torch.zeros(len(v), 1), torch.zeros(len(v), 1)
    for start in range(0, n, width):
        block = v[:, start : start + width]
        of_block, variance = taken_first(a, block)
        share = block.shape[-1] / (start + block.shape[-1])
        step = of_block - mean
        mean = mean + step * share
        squares = squares + variance * block.shape[-1] + step * step * (start * share)
    return mean, squares / n


def normalised(statistics: Callable[..., tuple[Tensor, Tensor]], y: Callable[..., Tensor]) -> Formula:
    def layer_norm(a, x, weight, bias, eps=1e-5):
        v, w, b = x.float(), weight.float(), bias.float()
        mean, variance = statistics(a, v)
        rstd = 1 / (variance + eps).sqrt()
        return y(v, mean, rstd, w, b).to(x.dtype), mean.squeeze(-1), rstd.squeeze(-1)

    layer_norm.__name__ = f"{statistics.__name__}, {y.__name__}"
    return layer_norm


def from_the_left(v: Tensor, mean: Tensor, rstd: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return (v - mean) * rstd * w + b


def scaled_once(v: Tensor, mean: Tensor, rstd: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return (v - mean) * (rstd * w) + b


def shifted(v: Tensor, mean: Tensor, rstd: Tensor, w: Tensor, b: Tensor) -> Tensor:
    scale = rstd * w
    return v * scale + (b - mean * scale)


for statistics, y in (
    (taken_first, from_the_left),
    (divided_first, scaled_once),
    (of_the_rest, from_the_left),
    (merged, shifted),
):
    answers("layer_norm_forward")(normalised(statistics, y))


@alone("layer_norm_forward")
def running_mean(x, weight, bias, eps=1e-5):
    def layer_norm_statistics(a, v):
        return running(v)

    return normalised(layer_norm_statistics, from_the_left)(None, x, weight, bias, eps)


@answers("layer_norm_backward")
def three_terms(a, dy, x, weight, mean, rstd):
    g, r = dy.float(), rstd.unsqueeze(-1)
    hat = (x.float() - mean.unsqueeze(-1)) * r
    h = g * weight.float()
    dx = r * (h - a.mean(h) - hat * a.mean(h * hat))
    return dx.to(x.dtype), a.sum(g * hat, 0).squeeze(0).to(weight.dtype), a.sum(g, 0).squeeze(0).to(weight.dtype)


@answers("layer_norm_backward")
def multiplied_out(a, dy, x, weight, mean, rstd):
    """As PyTorch has it: dx = a · g + b · x + c."""
    v, g, r, n = x.float(), dy.float(), rstd.unsqueeze(-1), x.shape[1]
    d = v - mean.unsqueeze(-1)
    h = g * weight.float()
    inner, outer = a.sum(h * d) * r, a.sum(h)
    dx = (n * h - outer - d * r * inner) * (r / n)
    dweight = a.sum(g * d * r, 0).squeeze(0)
    return dx.to(x.dtype), dweight.to(weight.dtype), a.sum(g, 0).squeeze(0).to(weight.dtype)


@answers("rms_norm_forward")
def of_squares(a, x, weight, eps=1e-6):
    v = x.float()
    rstd = 1 / (a.mean(v * v) + eps).sqrt()
    return (v * rstd * weight.float()).to(x.dtype), rstd.squeeze(-1)


@answers("rms_norm_forward")
def scale_first(a, x, weight, eps=1e-6):
    v = x.float()
    rstd = torch.rsqrt(a.sum(v.square() * (1 / v.shape[-1])) + eps)
    return (v * (rstd * weight.float())).to(x.dtype), rstd.squeeze(-1)


@answers("add_rms_norm")
def norm_of_the_exact_sum(a, x, residual, weight, eps=1e-6):
    total = x.float() + residual.float()
    rstd = 1 / (a.mean(total * total) + eps).sqrt()
    return (total * rstd * weight.float()).to(x.dtype), total.to(x.dtype)


@answers("add_rms_norm")
def norm_of_the_rounded_sum(a, x, residual, weight, eps=1e-6):
    """What two kernels compute."""
    total = x + residual
    wide = total.float()
    rstd = torch.rsqrt(a.mean(wide * wide) + eps)
    return (wide * (rstd * weight.float())).to(x.dtype), total


@alone("product_cost")
def tile_by_tile(sizes, block_m=64, block_n=64, element_bytes=2):
    moved, flops = torch.zeros(len(sizes), dtype=torch.int64), sizes.prod(1) * 2
    for at, (m, n, k) in enumerate(sizes.tolist()):
        rows = [min(block_m, m - first) for first in range(0, m, block_m)]
        columns = [min(block_n, n - first) for first in range(0, n, block_n)]
        read = k * (sum(rows) * len(columns) + sum(columns) * len(rows))
        moved[at] = element_bytes * (read + sum(rows) * sum(columns))
    return moved, flops


@answers("rms_norm_backward")
def two_terms(a, dy, x, weight, rstd):
    g, r = dy.float(), rstd.unsqueeze(-1)
    hat, h = x.float() * r, g * weight.float()
    return (r * (h - hat * a.mean(h * hat))).to(x.dtype), a.sum(g * hat, 0).squeeze(0).to(weight.dtype)


@answers("rms_norm_backward")
def cubed(a, dy, x, weight, rstd):
    g, r, v = dy.float(), rstd.unsqueeze(-1), x.float()
    h = g * weight.float()
    dx = h * r - v * (a.sum(h * v * r) * r * r / x.shape[1])
    return dx.to(x.dtype), a.sum(g * (v * r), 0).squeeze(0).to(weight.dtype)


# Losses.


def kept(labels: Tensor, ignore_index: int, classes: int) -> tuple[Tensor, Tensor]:
    """(keep, column), as far as a label is right."""
    keep = labels != ignore_index
    return keep, labels.where(keep, 0).unsqueeze(1)


def log_sum_exp(a: Float32, x: Tensor) -> Tensor:
    top = x.amax(1, keepdim=True)
    top = top.masked_fill(top == -torch.inf, 0)
    return (top + a.log(a.sum(a.exp(x - top)))).squeeze(1)


def online(a: Float32, x: Tensor, width: int = 256) -> Tensor:
    """Block by block, the sum rescaled where the largest grows; the exponent scaled before the largest is taken."""
    top = torch.full((len(x), 1), -torch.inf)
    total = torch.zeros(len(x), 1)
    for start in range(0, x.shape[1], width):
        block = x[:, start : start + width]
        new = torch.maximum(top, block.amax(1, keepdim=True))
        shift = new.masked_fill(new == -torch.inf, 0)
        total = total * a.exp(top - shift) + a.sum(a.exp(block - shift))
        top = new
    return (top + a.log(total)).squeeze(1)


def subtracted(a, lse_of, logits, labels, ignore_index):
    x, (keep, column) = logits.float(), kept(labels, ignore_index, logits.shape[1])
    lse = lse_of(a, x) if x.numel() else x.sum(1)
    own = x.gather(1, column).squeeze(1)
    return (lse - own).where(keep, 0.0), lse.where(keep, 0.0)


@answers("cross_entropy_forward")
def lse_less_logit(a, logits, labels, ignore_index=-100):
    return subtracted(a, log_sum_exp, logits, labels, ignore_index)


@answers("cross_entropy_forward")
def online_lse_less_logit(a, logits, labels, ignore_index=-100):
    return subtracted(a, online, logits, labels, ignore_index)


@answers("cross_entropy_backward")
def p_less_one(a, dloss, logits, labels, lse, ignore_index=-100):
    keep, column = kept(labels, ignore_index, logits.shape[1])
    p = a.exp(logits.float() - lse.unsqueeze(1))
    p = p.scatter_add(1, column, torch.full_like(column, -1, dtype=p.dtype))
    return (p * dloss.unsqueeze(1)).where(keep.unsqueeze(1), 0.0).to(logits.dtype)


@answers("cross_entropy_backward")
def softmax_again(a, dloss, logits, labels, lse, ignore_index=-100):
    x = logits.float()
    return p_less_one(a, dloss, logits, labels, log_sum_exp(a, x) if x.numel() else lse, ignore_index)


@answers("linear_cross_entropy_forward_backward")
def from_all_logits(a, hidden, weight, labels, ignore_index=-100):
    rows = (labels != ignore_index).nonzero().squeeze(1)
    n, x, w = max(len(rows), 1), hidden[rows].float(), weight.float()
    logits, y = a.product(x, w.t()), labels[rows]
    loss, lse = lse_less_logit(a, logits, y)
    dlogits = p_less_one(a, torch.full((len(rows),), 1 / n), logits, y, lse)
    dhidden = torch.zeros(hidden.shape)
    dhidden[rows] = a.product(dlogits, w)
    return a.sum(loss).squeeze() / n, dhidden.to(hidden.dtype), a.product(dlogits.t(), x).to(weight.dtype)


@answers("token_mean")
def sum_of_those_kept(a, loss, labels, ignore_index=-100, num_items=None):
    keep = labels != ignore_index
    items = float(keep.sum() if num_items is None else num_items)
    mean = a.sum(loss.where(keep, 0.0)).squeeze() / items if items else torch.zeros(())
    return mean, Exercise.upstream_of(loss, ()) * keep.float() / items if items else torch.zeros_like(loss)


# A divergence and an entropy.


def ratio(logp: Tensor, ref: Tensor) -> Tensor:
    both = (logp == -torch.inf) & (ref == -torch.inf)
    return (ref.float() - logp.float()).masked_fill(both, 0.0)


def taylor(r: Tensor, terms: int) -> Tensor:
    """r²/2! + r³/3! + ... added up from its smallest term."""
    return sum(r**k / math.factorial(k) for k in range(terms + 1, 1, -1))


@answers("kl_forward", BASES)
def a_long_series(a, logp, ref):
    r = ratio(logp, ref)
    return torch.where(r.abs() < 0.5, taylor(r, 9), (a.exp(r) - 1 - r).where(r < torch.inf, r)).to(logp.dtype)


@answers("kl_forward", BASES)
def a_short_series(a, logp, ref):
    r = ratio(logp, ref)
    return torch.where(r.abs() < 0.01, taylor(r, 4), (torch.expm1(r) - r).where(r < torch.inf, r)).to(logp.dtype)


@answers("kl_forward", BASES)
def by_halving(a, logp, ref):
    """k3(r) = expm1(r / 2)² + 2 k3(r / 2)."""
    r = ratio(logp, ref)
    s = torch.expm1(r / 2)
    near = s * s + 2 * taylor(r / 2, 9)
    return torch.where(r.abs() < 1, near, (a.exp(r) - 1 - r).where(r < torch.inf, r)).to(logp.dtype)


@answers("kl_backward", BASES)
def by_expm1(a, dkl, logp, ref):
    return (-dkl.float() * torch.expm1(ratio(logp, ref))).masked_fill(dkl == 0, 0.0).to(logp.dtype)


@answers("kl_backward", BASES)
def expm1_by_hand(a, dkl, logp, ref):
    """Kahan: (u - 1) r / log u, u = e^r: what u is off by cancels."""
    r = ratio(logp, ref)
    u = a.exp(r)
    small = ((u - 1) * r / u.log()).where(u != 1, r)
    slope = torch.where(r.abs() < 0.5, small, u - 1)
    return (-dkl.float() * slope).masked_fill(dkl == 0, 0.0).to(logp.dtype)


@answers("kl_backward", BASES)
def by_sinh(a, dkl, logp, ref):
    """e^r - 1 = 2 e^(r/2) sinh(r/2), in two factors that overflow later."""
    r = ratio(logp, ref)
    g = -dkl.float()
    far = torch.where(r < 0, g * (a.exp(r) - 1), g * a.exp(r) - g)
    slope = 2 * a.exp(r / 2) * torch.sinh(r / 2)
    return torch.where(r.abs() < 20, g * slope, far).masked_fill(dkl == 0, 0.0).to(logp.dtype)


@answers("entropy_forward")
def of_two_sums(a, logits):
    """log Σ e^d - Σ e^d d / Σ e^d."""
    d, top = below_the_top(logits)
    e = a.exp(d)
    total = a.sum(e).squeeze(1)
    nothing = total == 0
    mean = a.sum(e * d.masked_fill(d == -torch.inf, 0.0)).squeeze(1) / total
    return (total.log() - mean).masked_fill(nothing, 0.0), top.squeeze(1) + total.log()


@answers("entropy_forward")
def mean_of_log_p(a, logits):
    """-Σ p log p, log p = d - log Σ e^d."""
    d, top = below_the_top(logits)
    log_total = a.sum(a.exp(d)).log()
    log_p = (d - log_total).masked_fill(d == -torch.inf, 0.0)
    p = a.exp(log_p).masked_fill(d == -torch.inf, 0.0)
    return -a.sum(p * log_p).squeeze(1), (top + log_total).squeeze(1)


@answers("entropy_forward")
def p_log_p(a, logits):
    """-Σ p log p of a softmax, by xlogy."""
    d, top = below_the_top(logits)
    e = a.exp(d)
    total = a.sum(e)
    p = e / total.masked_fill(total == 0, 1.0)
    return -a.sum(torch.xlogy(p, p)).squeeze(1), (top + total.log()).squeeze(1)


@alone("entropy_forward")
def of_log_softmax(logits):
    """By PyTorch's log_softmax, softmax and logsumexp."""
    z = logits.float()
    log_p = z.log_softmax(1)
    terms = z.softmax(1) * log_p.masked_fill(z == -torch.inf, 0.0)
    return -terms.sum(1).masked_fill((z == -torch.inf).all(1), 0.0), z.logsumexp(1)


def below_the_top(logits: Tensor) -> tuple[Tensor, Tensor]:
    z = logits.float()
    top = z.amax(1, keepdim=True)
    top = top.masked_fill(top == -torch.inf, 0.0)
    return z - top, top


@answers("entropy_backward")
def of_what_is_given(a, dentropy, logits, entropy, lse):
    z, impossible = logits.float(), logits == -torch.inf
    log_p = (z - lse.unsqueeze(1)).masked_fill(impossible, 0.0)
    slope = a.exp(log_p) * (log_p + entropy.unsqueeze(1))
    return (-dentropy.unsqueeze(1) * slope).masked_fill(impossible, 0.0).to(logits.dtype)


@answers("entropy_backward")
def of_sums_taken_anew(a, dentropy, logits, entropy, lse):
    """-dH p (d - Σ p d): the mean is taken from d, and nothing that was saved is used."""
    d, _ = below_the_top(logits)
    e = a.exp(d)
    total = a.sum(e)
    p = e / total.masked_fill(total == 0, 1.0)
    d = d.masked_fill(d == -torch.inf, 0.0)
    return (-dentropy.unsqueeze(1) * p * (d - a.sum(p * d))).to(logits.dtype)


@answers("entropy_backward")
def of_what_is_expected(a, dentropy, logits, entropy, lse):
    """dH p (Σ p z - z), Σ p z = lse - H."""
    impossible = logits == -torch.inf
    z = logits.float().masked_fill(impossible, 0.0)
    saved = lse.masked_fill(lse == -torch.inf, 0.0).unsqueeze(1)
    p = a.exp(z - saved).masked_fill(impossible, 0.0)
    return (dentropy.unsqueeze(1) * p * (saved - entropy.unsqueeze(1) - z)).to(logits.dtype)


# The weights of experts, and the sum of their rows.


def chosen(logits: Tensor, experts: Tensor) -> tuple[Tensor, Tensor]:
    """(the logits of the experts in float32, which places have one). Raises IndexError."""
    bad = (experts < -1) | (experts >= logits.shape[1])
    if bad.any():
        token = int(bad.any(1).nonzero()[0])
        raise IndexError(f"token {token} has expert {experts[token][bad[token]][0]}")
    return logits.gather(1, experts.clamp(min=0)).float(), experts >= 0


def of_shares(a: Float32, log_sigma: Tensor, there: Tensor, scale: float) -> Tensor:
    if not log_sigma.numel():
        return log_sigma
    s = log_sigma.masked_fill(~there, -torch.inf)
    e = a.exp(s - s.amax(1, keepdim=True).nan_to_num(neginf=0.0, nan=torch.nan)).masked_fill(~there, 0.0)
    total = a.sum(e)
    return (scale * e / total.masked_fill(total == 0, 1.0)).masked_fill(~there, 0.0)


@answers("expert_weights_forward")
def softmax_of_logsigmoid(a, logits, experts, scale=1.0):
    x, there = chosen(logits, experts)
    return of_shares(a, F.logsigmoid(x), there, scale)


@answers("expert_weights_forward")
def softmax_of_minus_softplus(a, logits, experts, scale=1.0):
    x, there = chosen(logits, experts)
    return of_shares(a, -F.softplus(-x), there, scale)


@answers("expert_weights_forward")
def logarithm_by_hand(a, logits, experts, scale=1.0):
    x, there = chosen(logits, experts)
    return of_shares(a, torch.where(x > 0, 0, x) - a.log(1 + a.exp(-x.abs())), there, scale)


@alone("expert_weights_forward")
def sigma_over_the_largest(logits, experts, scale=1.0):
    """Each σ over the largest of its token: e^(min(x, 0) - m) / (1 + e^-|x|), m the largest min(x, 0)."""
    x, there = chosen(logits, experts)
    if not x.numel():
        return x
    below = torch.where(x > 0, 0, x).masked_fill(~there, -torch.inf)
    top = below.amax(1, keepdim=True)
    e = ((below - top.where(top > -torch.inf, 0 * top.nan_to_num(neginf=0.0, nan=torch.nan))).exp()).masked_fill(
        ~there, 0.0
    ) / (1 + (-x.abs()).exp())
    e = e.masked_fill(~there, 0.0)
    return (scale / e.sum(1, keepdim=True).clamp(min=1e-9) * e).masked_fill(~there, 0.0)


def slopes_of(a: Float32, dweights: Tensor, there: Tensor, w: Tensor, scale: float) -> Tensor:
    w, dw = w.masked_fill(~there, 0.0), dweights.float().masked_fill(~there, 0.0)
    return w * (dw - a.sum(w * dw) / scale)


def scattered(slope: Tensor, logits: Tensor, experts: Tensor, there: Tensor) -> Tensor:
    dx = slope.masked_fill(~there, 0.0).to(logits.dtype)
    return torch.zeros_like(logits).scatter_add(1, experts.clamp(min=0), dx)


@answers("expert_weights_backward")
def of_the_weights_given(a, dweights, logits, experts, weights, scale=1.0):
    x, there = chosen(logits, experts)
    slope = slopes_of(a, dweights, there, weights, scale) / (1 + a.exp(x.clamp(max=88.0)))
    return scattered(torch.where(x > 88, 0 * slope, slope), logits, experts, there)


@answers("expert_weights_backward")
def of_weights_taken_anew(a, dweights, logits, experts, weights, scale=1.0):
    x, there = chosen(logits, experts)
    w = of_shares(a, F.logsigmoid(x), there, scale)
    return scattered(slopes_of(a, dweights, there, w, scale) * torch.sigmoid(-x), logits, experts, there)


@alone("moe_sum_forward")
def by_index_add(rows, weights, slots):
    """Over the rows that have a token."""
    token_of_places(slots, len(rows))
    token, place = (slots >= 0).nonzero().unbind(1)
    y = torch.zeros(len(slots), rows.shape[1])
    return y.index_add_(0, token, weights[token, place, None] * rows[slots[token, place]].float()).to(rows.dtype)


@alone("moe_sum_forward")
def from_the_last_place(rows, weights, slots):
    token_of_places(slots, len(rows))
    padded = torch.cat([rows.float(), torch.zeros(1, rows.shape[1])])
    y = torch.zeros(len(slots), rows.shape[1])
    for j in reversed(range(slots.shape[1])):
        y = torch.addcmul(y, weights[:, j : j + 1].where(slots[:, j : j + 1] >= 0, 0.0), padded[slots[:, j]])
    return y.to(rows.dtype)


def token_of_places(slots: Tensor, count: int) -> None:
    """Raises IndexError for the first slot that is no row."""
    for token, places in enumerate(slots.tolist()):
        for slot in places:
            if not -1 <= slot < count:
                raise IndexError(f"token {token}, slot {slot}")


@answers("moe_sum_backward")
def of_the_token_of_each_row(a, dy, rows, weights, slots):
    """Each row looks for its token."""
    drows, dweights = torch.zeros_like(rows), torch.zeros_like(weights)
    token, place = (slots >= 0).nonzero().unbind(1)
    at = slots[token, place]
    drows[at] = (dy[token].float() * weights[token, place, None]).to(rows.dtype)
    if len(at):
        dweights[token, place] = a.sum(dy[token].float() * rows[at].float()).squeeze(1)
    return drows, dweights


# Softmax and attention.


def exponentials(a: Float32, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """(e^(x - the largest); their sum over what the mask leaves, 1 where it is 0)."""
    scores = x.float().masked_fill(~mask, -torch.inf)
    top = scores.amax(1, keepdim=True)
    e = a.exp(scores - top.masked_fill(top == -torch.inf, 0))
    total = a.sum(e)
    return e, total.masked_fill(total == 0, 1)


@answers("masked_softmax_forward")
def largest_first(a, x, mask):
    if not x.numel():
        return x.clone()
    e, total = exponentials(a, x, mask)
    return (e / total).masked_fill(~mask, 0).to(x.dtype)


@answers("masked_softmax_forward")
def times_reciprocal(a, x, mask):
    if not x.numel():
        return x.clone()
    e, total = exponentials(a, x, mask)
    return (e * (1 / total)).masked_fill(~mask, 0).to(x.dtype)


@answers("masked_softmax_backward")
def less_the_mean(a, dy, y):
    g, p = dy.float(), y.float()
    return (p * (g - a.sum(p * g))).to(y.dtype)


@answers("masked_softmax_backward")
def two_products(a, dy, y):
    g, p = dy.float(), y.float()
    t = p * g
    return (t - p * a.sum(t)).to(y.dtype)


def unpadded(x: Tensor, key_lengths: Tensor | None) -> Tensor:
    if key_lengths is None:
        return x.float()
    return x.float().masked_fill(torch.arange(x.shape[2]).view(-1, 1) >= key_lengths.view(-1, 1, 1, 1), 0)


def hidden_keys(q: Tensor, k: Tensor, key_lengths: Tensor | None, causal: bool) -> Tensor:
    (B, _, M, _), N = q.shape, k.shape[2]
    lengths = (torch.full((B,), N) if key_lengths is None else key_lengths).view(-1, 1, 1, 1)
    j = torch.arange(N)
    seen = j < lengths
    return ~(seen & (j <= torch.arange(M).view(-1, 1) + lengths - M) if causal else seen)


@answers("attention_forward")
def all_scores(a, q, k, v, key_lengths=None, causal=False, scale=None):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    s = a.product(q.float(), unpadded(k, key_lengths).mT) * scale
    s = s.masked_fill(hidden_keys(q, k, key_lengths, causal), -torch.inf)
    top = s.amax(-1, keepdim=True) if s.shape[-1] else s.new_full((*s.shape[:-1], 1), -torch.inf)
    e = a.exp(s - top.masked_fill(top == -torch.inf, 0))
    total = a.sum(e)
    o = a.product(e, unpadded(v, key_lengths)) / total.masked_fill(total == 0, 1)
    return o.to(q.dtype), (top + a.log(total)).squeeze(-1)


def blockwise(size: int, rounded: bool) -> Formula:
    """Keys block by block, everything in base 2, p rounded to the dtype of v before the product: flash-attention."""

    def flash(a, q, k, v, key_lengths=None, causal=False, scale=None):
        scale = (q.shape[-1] ** -0.5 if scale is None else scale) * LOG2E
        keys, values = unpadded(k, key_lengths), unpadded(v, key_lengths)
        hidden = hidden_keys(q, k, key_lengths, causal).expand(q.shape[0], 1, q.shape[2], k.shape[2])
        top = torch.full((*q.shape[:3], 1), -torch.inf)
        total, acc = torch.zeros_like(top), torch.zeros(q.shape)
        for i in range(0, k.shape[2], size):
            s = a.product(q.float(), keys[:, :, i : i + size].mT) * scale
            s = s.masked_fill(hidden[..., i : i + size], -torch.inf)
            new = torch.maximum(top, s.amax(-1, keepdim=True))
            shift = new.masked_fill(new == -torch.inf, 0)
            p, keep = torch.exp2(s - shift), torch.exp2(top - shift)
            total = total * keep + a.sum(p)
            p = p.to(v.dtype).float() if rounded else p
            acc, top = acc * keep + a.product(p, values[:, :, i : i + size]), new
        o = acc / total.masked_fill(total == 0, 1)
        return o.to(q.dtype), ((top + total.log2()) * math.log(2)).squeeze(-1)

    flash.__name__ = f"blocks of {size}{', p rounded' if rounded else ''}"
    return flash


answers("attention_forward")(blockwise(16, rounded=False))
answers("attention_forward")(blockwise(64, rounded=True))


def backward(rounded: bool, summed_up: bool) -> Formula:
    """rounded: p and ds to half before their products. summed_up: delta is Σ p dp in place of do · o."""

    def gradients(a, do, q, k, v, o, lse, key_lengths=None, causal=False, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        keys, values, x, g = unpadded(k, key_lengths), unpadded(v, key_lengths), q.float(), do.float()
        hidden = hidden_keys(q, k, key_lengths, causal)
        p = a.exp(a.product(x, keys.mT) * scale - lse.unsqueeze(-1)).masked_fill(hidden, 0)
        dp = a.product(g, values.mT)
        delta = a.sum(p * dp) if summed_up else a.sum(g * o.float())
        ds = (p * (dp - delta)).masked_fill(hidden, 0)
        if rounded:
            p, ds = p.to(do.dtype).float(), ds.to(q.dtype).float()
        dq, dk, dv = a.product(ds, keys) * scale, a.product(ds.mT, x) * scale, a.product(p.mT, g)
        return dq.to(q.dtype), unpadded(dk, key_lengths).to(k.dtype), unpadded(dv, key_lengths).to(v.dtype)

    gradients.__name__ = f"delta of {'p dp' if summed_up else 'o'}{', p and ds rounded' if rounded else ''}"
    return gradients


answers("attention_backward")(backward(rounded=False, summed_up=True))
answers("attention_backward")(backward(rounded=True, summed_up=False))


@answers("merge_attention", BASES)
def weighed(a, o_a, lse_a, o_b, lse_b):
    top = torch.maximum(lse_a, lse_b)
    shift = top.masked_fill(top == -torch.inf, 0)
    of_a, of_b = a.exp(lse_a - shift), a.exp(lse_b - shift)
    total = of_a + of_b
    share = total.masked_fill(total == 0, 1).unsqueeze(-1)
    o = o_a.float() * (of_a.unsqueeze(-1) / share) + o_b.float() * (of_b.unsqueeze(-1) / share)
    return o.to(o_a.dtype), top + a.log(total)


@answers("merge_attention", BASES)
def by_the_new_lse(a, o_a, lse_a, o_b, lse_b):
    _, lse = weighed(a, o_a, lse_a, o_b, lse_b)
    base = lse.masked_fill(lse == -torch.inf, 0)
    o = a.exp(lse_a - base).unsqueeze(-1) * o_a.float() + a.exp(lse_b - base).unsqueeze(-1) * o_b.float()
    return o.to(o_a.dtype), lse


@answers("merge_attention", BASES)
def by_sigmoid(a, o_a, lse_a, o_b, lse_b):
    """As ring-flash-attention has it: o_a - s(lse_b - lse_a) (o_a - o_b)."""
    gap = (lse_b - lse_a).masked_fill((lse_a == -torch.inf) & (lse_b == -torch.inf), 0)
    o = o_a.float() - sigmoid(a, gap).unsqueeze(-1) * (o_a.float() - o_b.float())
    return o.to(o_a.dtype), torch.where(lse_a == -torch.inf, lse_b, lse_a - F.logsigmoid(-gap))


@answers("matmul")
def tiles(a, x, y):
    return a.product(x.float(), y.float()).to(x.dtype)


@alone("gelu_forward")
def pytorchs_own_gelu(x, approximate="none"):
    return F.gelu(x, approximate=approximate)


@alone("accumulation_weights")
def shares_of_a_float_total(tokens):
    n = tokens.float()
    total = n.sum()
    return n / total.masked_fill(total == 0, 1) * tokens.shape[0]


@alone("accumulation_weights")
def divided_by_the_mean_of_ranks(tokens):
    n = tokens.float()
    per_rank = n.sum() / max(tokens.shape[0], 1)
    return torch.where(per_rank > 0, n / per_rank, torch.zeros_like(n))


def scored_statistics(a: Float32, rewards: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(r - mean where it is scored, std, whether the row has two rewards that differ)."""
    scored = ~rewards.isnan()
    r = rewards.float().masked_fill(~scored, 0)
    n = scored.sum(1, keepdim=True)
    d = (r - a.sum(r) / n.clamp(min=1)).masked_fill(~scored, 0)
    low = r.masked_fill(~scored, torch.inf).amin(1, keepdim=True)
    high = r.masked_fill(~scored, -torch.inf).amax(1, keepdim=True)
    return d, (a.sum(d * d) / (n - 1).clamp(min=1)).sqrt(), high > low


@answers("group_advantage")
def compared_with_the_mean(a, rewards, eps=1e-6):
    if not rewards.numel():
        return torch.empty(rewards.shape)
    d, std, differ = scored_statistics(a, rewards)
    return torch.where(differ, d / (std + eps), 0.0)


@alone("group_advantage")
def row_by_row(rewards, eps=1e-6):
    """With PyTorch's own mean and std, of the rewards that are scored."""
    y = torch.zeros(rewards.shape)
    for row, out in zip(rewards.float(), y, strict=True):
        scored = ~row.isnan()
        r = row[scored]
        if r.unique().numel() > 1:
            out[scored] = (r - r.mean()) / (r.std() + eps)
    return y


def ratio_of(a: Float32, logp: Tensor, old: Tensor, mask: Tensor) -> Tensor:
    return a.exp((logp.float() - old.float()).where(mask, 0))


def products(a, logp, old, advantage, mask, clip) -> tuple[Tensor, Tensor]:
    """ρA and clamp(ρ) A, 0 where A is 0."""
    A = advantage.float().unsqueeze(1)
    ratio = ratio_of(a, logp, old, mask)
    return tuple((x * A).masked_fill(A == 0, 0) for x in (ratio, ratio.clamp(1 - clip, 1 + clip)))


def per_token(total: Tensor, mask: Tensor, count) -> Tensor:
    n = int(mask.sum()) if count is None else count
    return total / n if n else total * 0


@answers("policy_loss_forward")
def smaller_product(a, logp, old, advantage, mask, count=None, clip=0.2):
    terms = torch.minimum(*products(a, logp, old, advantage, mask, clip)).where(mask, 0)
    return per_token(-a.sum(terms.flatten()).squeeze(0), mask, count)


@answers("policy_loss_forward")
def larger_loss_row_by_row(a, logp, old, advantage, mask, count=None, clip=0.2):
    losses = torch.maximum(*(-x for x in products(a, logp, old, advantage, mask, clip))).where(mask, 0)
    return per_token(a.sum(a.sum(losses).flatten()).squeeze(0), mask, count)


@answers("policy_loss_backward", BASES)
def where_the_first_is_not_larger(a, dloss, logp, old, advantage, mask, count=None, clip=0.2):
    first, second = products(a, logp, old, advantage, mask, clip)
    slope = first.where(mask & ~(first > second), 0)  # a NaN stays
    return per_token(-dloss * slope, mask, count).to(logp.dtype)


@answers("policy_loss_backward", BASES)
def divided_first(a, dloss, logp, old, advantage, mask, count=None, clip=0.2):
    A = per_token(advantage.float(), mask, count).unsqueeze(1)
    ratio = ratio_of(a, logp, old, mask)
    beyond = torch.where(A > 0, ratio > 1 + clip, ratio < 1 - clip)
    return (-dloss * (A * ratio)).where(~beyond & mask & (A != 0), 0).to(logp.dtype)


# A step of AdamW.


@alone("bias_correction")
def powers_in_float32(steps, beta1=0.9, beta2=0.999):
    t = steps.float()
    return (1 - beta2**t).sqrt() / (1 - beta1**t)


@alone("bias_correction")
def powers_by_expm1(steps, beta1=0.9, beta2=0.999):
    t = steps.float()
    first = 1 if beta1 == 0 else -torch.expm1(t * math.log(beta1))
    return (-torch.expm1(t * math.log(beta2)) / (first * first)).sqrt()


@alone("adamw_step")
def as_pytorch_orders_it(param, grad, m, v, step, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01):
    g = grad.float()
    m, v = torch.lerp(m, g, 1 - beta1), v * beta2 + (1 - beta2) * g * g
    denominator = v.sqrt() / math.sqrt(1 - beta2**step) + eps
    w = param.float() * (1 - lr * weight_decay)
    return (w.addcdiv(m, denominator, value=-lr / (1 - beta1**step))).to(param.dtype), m, v


@alone("adamw_step")
def with_a_scaled_epsilon(param, grad, m, v, step, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01):
    """As apex and bitsandbytes have it: the root's correction is taken out, and eps multiplied by it."""
    g = grad.float()
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
    root = math.sqrt(1 - beta2**step)
    w = param.float()
    w = w - lr * weight_decay * w - lr * root / (1 - beta1**step) * (m / (v.sqrt() + eps * root))
    return w.to(param.dtype), m, v


@alone("adamw_step")
def with_betas_in_float32(param, grad, m, v, step, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01):
    """As a kernel does it that is handed the betas, and takes 1 - β and β^t in float32 itself."""
    g, t = grad.float(), torch.tensor(float(step))
    b1, b2 = torch.tensor(beta1), torch.tensor(beta2)
    m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * (g * g)
    update = m / (1 - b1**t) / ((v / (1 - b2**t)).sqrt() + eps)
    w = param.float()
    return (w * (1 - lr * weight_decay) - lr * update).to(param.dtype), m, v


@answers("global_norm")
def of_all_in_one(a, grads):
    numbers = torch.cat([torch.zeros(1), *(g.float().flatten() for g in grads)])
    return a.sum(numbers * numbers).squeeze(0).sqrt()


@answers("global_norm")
def of_norms(a, grads):
    """As PyTorch takes it: the norm of the norms of the tensors."""
    norms = [a.sum(g.float().flatten().square()).sqrt() for g in grads if g.numel()]
    return a.sum(torch.cat([torch.zeros(1), *norms]).square()).squeeze(0).sqrt()


@alone("clip_coefficient")
def as_pytorch_adds_to_the_norm(norm, max_norm):
    """(max_norm / (norm + 1e-6)).clamp(max=1), which has no number where a norm is not finite or nothing may move."""
    ratio = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    return torch.where(norm.isfinite(), ratio, torch.nan)


# A rotation, a sampler, Gemma's norm, and an operation of one's own.


def split(x: Tensor, interleaved: bool) -> tuple[Tensor, Tensor]:
    return (x[..., ::2], x[..., 1::2]) if interleaved else x.chunk(2, -1)


def joined(first: Tensor, second: Tensor, interleaved: bool) -> Tensor:
    return torch.stack((first, second), -1).flatten(-2) if interleaved else torch.cat((first, second), -1)


def single_angle(positions: Tensor, inv_freq: Tensor) -> Tensor:
    """(B, 1, M, D / 2): a float32 product."""
    return (positions.float().unsqueeze(-1) * inv_freq).unsqueeze(1)


@alone("rotary_forward")
def two_products_each(x, positions, inv_freq, interleaved=False):
    angle, (first, second) = single_angle(positions, inv_freq), split(x.float(), interleaved)
    y = joined(first * angle.cos() - second * angle.sin(), second * angle.cos() + first * angle.sin(), interleaved)
    return y.to(x.dtype)


@alone("rotary_forward")
def llamas_half_rotation(x, positions, inv_freq, interleaved=False):
    """x · cos + rotate_half(x) · sin, each of the two as long as x."""
    angle = single_angle(positions, inv_freq)
    angle, (first, second) = joined(angle, angle, interleaved), split(x.float(), interleaved)
    return (x.float() * angle.cos() + joined(-second, first, interleaved) * angle.sin()).to(x.dtype)


@alone("rotary_forward")
def in_turns(x, positions, inv_freq, interleaved=False):
    """Whole turns are taken out in float32, which rounds the angle once more."""
    turns = positions.float().unsqueeze(-1) * (inv_freq / (2 * math.pi))
    angle, (first, second) = (turns - turns.round()).unsqueeze(1) * (2 * math.pi), split(x.float(), interleaved)
    cos, sin = angle.cos(), angle.sin()
    return joined(first * cos - second * sin, first * sin + second * cos, interleaved).to(x.dtype)


@alone("rotary_forward")
def as_complex_numbers(x, positions, inv_freq, interleaved=False):
    angle = single_angle(positions, inv_freq)
    number = torch.complex(*(part.contiguous() for part in split(x.float(), interleaved)))
    y = number * torch.polar(torch.ones_like(angle), angle)
    return joined(y.real, y.imag, interleaved).to(x.dtype)


@alone("rotary_backward")
def turned_back(dy, positions, inv_freq, interleaved=False):
    return two_products_each(dy, -positions, inv_freq, interleaved)


@alone("rotary_backward")
def transposed_matrix(dy, positions, inv_freq, interleaved=False):
    angle, (first, second) = single_angle(positions, inv_freq), split(dy.float(), interleaved)
    dx = joined(first * angle.cos() + second * angle.sin(), second * angle.cos() - first * angle.sin(), interleaved)
    return dx.to(dy.dtype)


@alone("gumbel_argmax")
def clamped_noise(logits, u):
    """The noise itself is bounded, at both ends."""
    g = (-(-u.log()).log()).clamp(-math.log(32 * math.log(2)), 32 * math.log(2))
    score = logits.float() + g
    return torch.where(score.amax(1) == -torch.inf, -1, score.argmax(1))


@alone("gumbel_argmax")
def smallest_waiting_time(logits, u):
    """The same race by waiting times: the smallest of -log u · e^-z, as logarithms."""
    waiting = u.double().clamp(2.0**-32, 1 - 2.0**-32).log().neg().log() - logits.double()
    first = waiting.argmin(1)
    return first.masked_fill(waiting.amin(1) == torch.inf, -1)


@answers("gemma_norm")
def with_a_float_weight(a, x, weight, eps=1e-6):
    v = x.float()
    rstd = 1 / torch.sqrt(a.mean(v * v) + eps)
    return ((1 + weight.float()) * (v * rstd)).to(x.dtype)


@answers("gemma_norm")
def one_product_and_a_sum(a, x, weight, eps=1e-6):
    v = x.float()
    normal = v * torch.rsqrt(a.mean(v * v) + eps)
    return (normal + normal * weight.float()).to(x.dtype)


@alone("decay_scan")
def scan_row_by_row(x: Tensor, log_decay: Tensor) -> Tensor:
    h, rows = torch.zeros(x.shape[1]), [x[:0].float()]
    for t, decay in enumerate(log_decay.exp()):
        h = decay * h + x[t].float()
        rows.append(h[None])
    return torch.cat(rows).to(x.dtype)


def _scan_in_chunks(x: Tensor, log_decay: Tensor, length: int) -> Tensor:
    """Within a chunk a weight for each pair of rows, e^(the decays between them), none of which is formed from sums of
    -inf, and only rows up to t added.
    """
    before, rows = torch.zeros(x.shape[1]), [x[:0].float()]
    for part, g in zip(x.float().split(length), log_decay.split(length), strict=True):
        h = []
        for i in range(len(part)):
            weights = g[1 : i + 1].flip(0).cumsum(0).flip(0).exp()
            h.append((weights[:, None] * part[:i]).sum(0) + part[i] + g[: i + 1].sum().exp() * before)
        rows += [row[None] for row in h]
        before = h[-1] if h else before
    return torch.cat(rows).to(x.dtype)


@alone("decay_scan")
def scan_in_chunks_of_16(x: Tensor, log_decay: Tensor) -> Tensor:
    return _scan_in_chunks(x, log_decay, 16)


@alone("decay_scan")
def scan_in_chunks_of_64(x: Tensor, log_decay: Tensor) -> Tensor:
    return _scan_in_chunks(x, log_decay, 64)


@alone("decay_scan")
def scan_in_base_2(x: Tensor, log_decay: Tensor) -> Tensor:
    return scan_row_by_row(x, torch.exp2(log_decay * LOG2E).log())


@alone("decay_scan")
def scan_by_differences_of_64(x: Tensor, log_decay: Tensor) -> Tensor:
    """e^(c_i - c_j) with c the running sum within 64 rows, masked before the exponential; -inf counts as -1e4."""
    before, rows = torch.zeros(x.shape[1]), [x[:0].float()]
    for part, g in zip(x.float().split(64), log_decay.split(64), strict=True):
        starts = (g == -torch.inf).cumsum(0)
        c = g.masked_fill(g == -torch.inf, 0).cumsum(0)
        h = torch.zeros_like(part)
        for i in range(len(part)):
            there = starts[: i + 1] == starts[i]
            weights = torch.where(there, (c[i] - c[: i + 1]).exp(), 0)
            h[i] = torch.where(there[:, None], weights[:, None] * part[: i + 1], 0).sum(0)
            h[i] += torch.where(starts[i] == 0, c[i].exp(), 0) * before
        rows.append(h)
        before = h[-1] if len(h) else before
    return torch.cat(rows).to(x.dtype)
