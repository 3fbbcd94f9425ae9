"""SwiGLU whose inputs have a limit, as it shipped, bug for bug."""

import torch


def swiglu_with_a_limit_beside_alpha(gate, up, limit=10.0, alpha=0.0):
    """sglang, two Triton kernels of SwiGLU before a quantisation: the limit is applied in the branch of models with an
    alpha, as gpt-oss has. A model with a limit and no alpha is not limited.

    github.com/sgl-project/sglang/pull/31935 (2026-07-21). In vLLM the limit was dropped, too:
    github.com/vllm-project/vllm/pull/57984 (2026-09-21).
    """
    g, u = gate.float(), up.float()
    if alpha > 0:
        g, u = g.clamp(max=limit), u.clamp(-limit, limit) + 1
    return g * torch.sigmoid((alpha or 1.0) * g) * u
