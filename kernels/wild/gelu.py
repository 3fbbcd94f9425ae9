"""GELU as it has been written down wrong: one slip a function. Every operation is rounded to the dtype of its input.

Each takes the place of one form, "tanh" or "none", and leaves the other right, unless its docstring says otherwise.
Those without a thread are constructed: slips of the pen that leave a smooth curve. None is known to have shipped.
"""

import math

import torch


def erf_form(x):
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))


def tanh_form(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def gelu_ten_times_the_cubic(x: torch.Tensor, approximate: str = "none") -> torch.Tensor:
    """0.44715 for 0.044715, in the tanh form."""
    if approximate == "none":
        return erf_form(x)
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.44715 * x * x * x)))


def gelu_without_x(x, approximate="none"):
    """The factor x left out: tanh-GELU in TVM's relax, May to November 2023.

    github.com/apache/tvm/pull/14814 brought it, with a test whose expected value was the compiled program itself;
    github.com/apache/tvm/pull/16188 mended both.
    """
    if approximate == "none":
        return erf_form(x)
    return 0.5 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def gelu_root_of_two_only(x, approximate="none"):
    """√2 / π for √(2 / π), in the tanh form: math.sqrt(2) / math.pi."""
    if approximate == "none":
        return erf_form(x)
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2) / math.pi * (x + 0.044715 * x * x * x)))


def gelu_no_half(x, approximate="none"):
    """The factor 0.5 left out, in both forms."""
    return 2 * (erf_form(x) if approximate == "none" else tanh_form(x))


def gelu_misplaced_parenthesis(x, approximate="none"):
    """tanh(√(2/π)) · (x + 0.044715 x³) for tanh(√(2/π) · (x + 0.044715 x³)), in the tanh form."""
    if approximate == "none":
        return erf_form(x)
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi)) * (x + 0.044715 * x * x * x))


def gelu_erf_without_root(x, approximate="none"):
    """erf(x) for erf(x / √2), in the erf form."""
    return 0.5 * x * (1 + torch.erf(x)) if approximate == "none" else tanh_form(x)


def gelu_sigmoid(x, approximate="none"):
    """x · s(1.702 x) for both forms: the third approximation of the paper, wanted by models trained with it alone.

    CLIP was; GPT-2 and BERT were not. github.com/huggingface/pytorch-image-models/issues/2105: no matter for erf and
    tanh, and a matter for this one.
    """
    return x * torch.sigmoid(1.702 * x)


def gelu_always_erf(x, approximate="none"):
    """The erf form for both: the cure that is commonly advised when GPT-2 talks nonsense, though tanh is its own.

    They differ by 4.7e-4 at the most, so this neither causes the nonsense nor cures it. GPT-2's own:
    github.com/openai/gpt-2, src/model.py. The opposite slip: github.com/CyberZHG/keras-bert/issues/129 (2019).
    """
    return erf_form(x)


def gelu_tanh_by_exponentials(x, approximate="none"):
    """tanh(u) as (e^2u - 1) / (e^2u + 1), which is inf / inf beyond x = 10 in float32, in the tanh form.

    github.com/intel/llm-scaler/pull/484 (2026-06-16): DiffusionGemma gave empty answers. The same in
    github.com/pytorch/pytorch/issues/186278 (2026-06, on MPS) and github.com/triton-lang/triton/pull/8551 (2025-10).
    """
    if approximate == "none":
        return erf_form(x)
    e = torch.exp(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x))
    return 0.5 * x * (1 + (e - 1) / (e + 1))


def gelu_tanh_by_both_exponentials(x, approximate="none"):
    """tanh(u) as (e^u - e^-u) / (e^u + e^-u), which lasts to |x| = 13 in float32 and fails on both sides of 0.

    github.com/pytorch/executorch/issues/22323 (2026-08-30): a graphics driver's tanh; all outputs of Whisper were NaN.
    """
    if approximate == "none":
        return erf_form(x)
    u = math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
    up, down = torch.exp(u), torch.exp(-u)
    return 0.5 * x * (1 + (up - down) / (up + down))


def gelu_backward_in_half(dy, x, approximate="none"):
    """What automatic differentiation makes of fairseq's gelu_accurate in float16: 3 x² overflows from 148 on.

    github.com/facebookresearch/fairseq/issues/2235 (2020-06-11, open): finite outputs, since tanh(inf) is 1, and
    gradients of 0 · inf. The erf form, which casts to float32 there, is right.
    """
    if approximate == "none":
        v = x.float()
        slope = 0.5 * (1 + torch.erf(v / math.sqrt(2))) + v * torch.exp(-v * v / 2) / math.sqrt(2 * math.pi)
        return (dy * slope).to(x.dtype)
    th = torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3)))
    inner = math.sqrt(2 / math.pi) * (1 + 0.044715 * (3 * torch.pow(x, 2)))
    return dy * (0.5 * (1 + th) + 0.5 * x * ((1 - th * th) * inner))
