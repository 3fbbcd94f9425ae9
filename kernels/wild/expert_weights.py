"""The weights of the experts that a router chose, as they shipped, bug for bug: (T, k) float32 for logits (T, E) and
experts (T, k). A router of this kind ranks experts by σ(x) + bias and weighs them by σ(x).
"""

import torch

BIAS = 11.3  # GLM-5.2's lie between 11.13 and 11.32: github.com/sgl-project/sglang/pull/31001


def gathered(logits, experts):
    """(the logits of the experts, which of them there are)."""
    there = experts >= 0
    return logits.float().gather(1, experts.where(there, 0)), there


def shares(sigma, there, scale, eps=0.0):
    """sigma · scale / (its sum + eps), 0 where there is no expert."""
    sigma = sigma.masked_fill(~there, 0)
    return (sigma * scale / (sigma.sum(1, keepdim=True) + eps)).masked_fill(~there, 0)


def weights_undone(logits, experts, scale=1.0, bias=BIAS):
    """flashinfer before pull request 3803 (2026-07-02): the score that ranked the expert, σ(x) + bias, minus the bias.

    ScaledSumNormalizePostprocess in RoutingCustomPolicy.cuh: "Recover sigmoid score: selection_score = sigmoid(raw) +
    bias, so sigmoid = score - bias". Of a σ below half an ulp of the bias nothing is left, and 0 / 0 is NaN.
    github.com/sgl-project/sglang/issues/30989, github.com/flashinfer-ai/flashinfer/pull/3875.
    """
    x, there = gathered(logits, experts)
    return shares((x.sigmoid() + bias) - bias, there, scale)


def weights_undone_with_epsilon(logits, experts, scale=1.0, bias=BIAS):
    """flashinfer between pull requests 3803 and 3875: the same, divided by its sum + 1e-20. No NaN, and no weight."""
    x, there = gathered(logits, experts)
    return shares((x.sigmoid() + bias) - bias, there, scale, 1e-20)


def weights_gathered(logits, experts, scale=1.0):
    """σ of the chosen logits, divided by its sum: 0 / 0 where every σ is 0, as PyTorch computes it from -88.8 on."""
    x, there = gathered(logits, experts)
    return shares(x.sigmoid(), there, scale)


def weights_gathered_with_epsilon(logits, experts, scale=1.0):
    """The gate of DeepSeek-V3, and many after it: σ of the chosen logits over its sum + 1e-20. Where the sum is below
    1e-20 the weights add up to less than scale, and in the end to nothing.

    huggingface.co/deepseek-ai/DeepSeek-V3, modeling_deepseek.py.
    """
    x, there = gathered(logits, experts)
    return shares(x.sigmoid(), there, scale, 1e-20)


def weights_from_tanh(logits, experts, scale=1.0):
    """σ as flashinfer and TensorRT-LLM compute it, tanh(x / 2) / 2 + 1/2, gathered and divided by its sum + 1e-20.
    Below x = -18 tanh is -1, and σ is 0.

    sigmoid_accurate in RoutingKernel.cuh; github.com/flashinfer-ai/flashinfer/pull/3946 (2026-07).
    """
    x, there = gathered(logits, experts)
    return shares(0.5 * torch.tanh(0.5 * x) + 0.5, there, scale, 1e-20)


def router_undone(logits, bias, k=8) -> torch.Tensor:
    """The router whole: the k experts of largest σ + bias, and for each ((σ + bias) - bias) over their sum, as
    `weights_undone` has it.
    """
    bias = bias.float()
    score, experts = (logits.float().sigmoid() + bias).topk(k, 1)
    sigma = score - bias[experts]
    return sigma / sigma.sum(1, keepdim=True)


def softmax_of_logits(logits, experts, scale=1.0):
    """The softmax of x where that of log σ(x) is asked for. They agree where every x is far below 0."""
    x, there = gathered(logits, experts)
    return scale * x.masked_fill(~there, -torch.inf).softmax(1).masked_fill(~there, 0)


def over_all_experts(logits, experts, scale=1.0):
    """σ over the sum of all E, and not of those that were chosen."""
    x, there = gathered(logits, experts)
    return (scale * x.sigmoid() / logits.float().sigmoid().sum(1, keepdim=True)).masked_fill(~there, 0)


def absent_counted(logits, experts, scale=1.0):
    """A place of -1 as an index: in PyTorch the last expert, which then has a weight and is in the sum."""
    x = logits.float().gather(1, experts % logits.shape[1])
    return scale * torch.nn.functional.logsigmoid(x).softmax(1)


def without_scale(logits, experts, scale=1.0):
    """scale is forgotten."""
    x, there = gathered(logits, experts)
    log_sigma = torch.nn.functional.logsigmoid(x).masked_fill(~there, -torch.inf)
    return log_sigma.softmax(1).masked_fill(~there, 0)


def scattered(slope, logits, experts):
    """dlogits, like logits, from those of the places."""
    there = experts >= 0
    dlogits = torch.zeros(logits.shape)
    return dlogits.scatter_add(1, experts.where(there, 0), slope.masked_fill(~there, 0)).to(logits.dtype)


def slopes(dweights, experts, weights, scale):
    """w (dw - Σ w dw / scale): what a softmax has for a gradient."""
    there = experts >= 0
    w, dw = weights.masked_fill(~there, 0), dweights.float().masked_fill(~there, 0)
    return w * (dw - (w * dw).sum(1, keepdim=True) / scale)


def backward_one_minus_sigma(dweights, logits, experts, weights, scale=1.0):
    """1 - σ(x) as it stands: 0 from x = 17 on, where σ(-x) still has all its digits."""
    x, _ = gathered(logits, experts)
    return scattered(slopes(dweights, experts, weights, scale) * (1 - x.sigmoid()), logits, experts)


def backward_of_a_softmax(dweights, logits, experts, weights, scale=1.0):
    """The gradient of a softmax of x: the derivative of log σ, 1 - σ, is left out."""
    return scattered(slopes(dweights, experts, weights, scale), logits, experts)


def backward_without_the_sum(dweights, logits, experts, weights, scale=1.0):
    """dw · w · (1 - σ): as if a weight did not depend on the logits of the others."""
    x, there = gathered(logits, experts)
    slope = weights.masked_fill(~there, 0) * dweights.float().masked_fill(~there, 0) * (-x).sigmoid()
    return scattered(slope, logits, experts)


def best_expert_of_rounded_bias(logits, bias):
    """The expert of largest σ + bias, the bias rounded to bfloat16 before: of those that tie the first.

    SGLang on AMD's GPUs until github.com/sgl-project/sglang/pull/37133 (2026-08-30).
    """
    return (logits.float().sigmoid() + bias.bfloat16().float()).argmax(1)
