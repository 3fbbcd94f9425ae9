"""Attention and softmax under a mask as they shipped, bug for bug, in PyTorch on whole matrices of scores."""

import math

import torch


def _softmax(s):
    """The formula: e^(s - top) over its sum."""
    if not s.numel():
        return s
    p = (s - s.amax(-1, keepdim=True)).exp()
    return p / p.sum(-1, keepdim=True)


def masked_softmax_formula(x, mask):
    """torch.softmax over scores in which -inf stands for what is masked: NaN for a row of nothing else.

    github.com/pytorch/pytorch/issues/41508 (2020-07), 103963 (2023-06-21); scaled_dot_product_attention gives 0 since
    pull request 131060 (2024-07-18, PyTorch 2.5).
    """
    return _softmax(x.float().masked_fill(~mask, -torch.inf)).to(x.dtype)


def masked_softmax_clamped(x, mask):
    """burn: the maximum is kept above -1e4, and the sum above 1e-6, so that a row of -inf gives no NaN.

    github.com/tracel-ai/burn/pull/4697 (2026-03-31).
    """
    scores = x.float().masked_fill(~mask, -torch.inf)
    if not scores.numel():
        return torch.empty_like(x)
    p = (scores - scores.amax(-1, keepdim=True).clamp(min=-1e4)).exp()
    return (p / p.sum(-1, keepdim=True).clamp(min=1e-6)).to(x.dtype)


def masked_softmax_sentinel(x, mask):
    """flashinfer: -5e4 stands for minus infinity.

    Fixed by github.com/flashinfer-ai/flashinfer/pull/4401 (2026-08-07).
    """
    return _softmax(x.float().masked_fill(~mask, -5e4)).to(x.dtype)


def masked_softmax_afterwards(x, mask):
    """The mask multiplied into the result of a softmax over everything."""
    return (_softmax(x.float()) * mask).to(x.dtype)


def _scores(q, k, key_lengths, causal, scale, *, fill=-torch.inf):
    """(scores in float32, which are seen): (B, H, M, N) each."""
    (B, _, M, D), N = q.shape, k.shape[2]
    lengths = torch.full((B,), N) if key_lengths is None else key_lengths
    j = torch.arange(N)
    seen = j < lengths.view(-1, 1, 1, 1)
    if causal:
        seen = seen & (j <= torch.arange(M).view(-1, 1) + lengths.view(-1, 1, 1, 1) - M)
    s = (q.float() @ k.float().mT) * (1 / math.sqrt(D) if scale is None else scale)
    return s.masked_fill(~seen, fill), seen.expand(s.shape)


def _attend(s, v, dtype):
    """(o, lse) by the formula, from scores."""
    return (_softmax(s) @ v.float()).to(dtype), _lse(s)


def _lse(s):
    if not s.numel():
        return s.sum(-1)
    top = s.amax(-1, keepdim=True)
    return (top + (s - top).exp().sum(-1, keepdim=True).log()).squeeze(-1)


def attention_formula(q, k, v, key_lengths=None, causal=False, scale=None):
    """softmax(scale · q kᵀ + mask) v: NaN for a query without a key.

    github.com/pytorch/pytorch/issues/103963 (2023-06-21); github.com/vllm-project/vllm/pull/4405 (2024-04-30).
    """
    return _attend(_scores(q, k, key_lengths, causal, scale)[0], v, q.dtype)


def attention_rescaled(q, k, v, key_lengths=None, causal=False, scale=None):
    """The online softmax whose running maximum is -inf until a key is seen: its rescaling is e^(-inf - -inf), NaN.

    github.com/Dao-AILab/flash-attention/issues/1930 (2025-10-09), open; github.com/pytorch/pytorch/pull/130014.
    """
    s, _ = _scores(q, k, key_lengths, causal, scale)
    top, total = s.new_full((*s.shape[:3], 1), -torch.inf), s.new_zeros((*s.shape[:3], 1))
    acc = torch.zeros(q.shape)
    for start in range(0, s.shape[-1], 16):
        block = s[..., start : start + 16]
        new_top = torch.maximum(top, block.amax(-1, keepdim=True))
        p, keep = (block - new_top).exp(), (top - new_top).exp()
        total, acc, top = (
            total * keep + p.sum(-1, keepdim=True),
            acc * keep + p @ v.float()[:, :, start : start + 16],
            new_top,
        )
    return (acc / total).to(q.dtype), (top + total.log()).squeeze(-1)


def attention_clamped(q, k, v, key_lengths=None, causal=False, scale=None):
    """burn's cure: the maximum is kept above -1e4. github.com/tracel-ai/burn/pull/4697 (2026-03-31)."""
    s, _ = _scores(q, k, key_lengths, causal, scale)
    top = s.amax(-1, keepdim=True).clamp(min=-1e4) if s.shape[-1] else s.sum(-1, keepdim=True)
    p = (s - top).exp()
    total = p.sum(-1, keepdim=True)
    o = (p / total.clamp(min=1e-6)) @ v.float().nan_to_num(posinf=0)
    return o.to(q.dtype), (top + total.log()).squeeze(-1)


def attention_sentinel(q, k, v, key_lengths=None, causal=False, scale=None):
    """-5e4 stands for minus infinity. Fixed by github.com/flashinfer-ai/flashinfer/pull/4401 (2026-08-07)."""
    return _attend(_scores(q, k, key_lengths, causal, scale, fill=-5e4)[0], v.nan_to_num(posinf=0), q.dtype)


def attention_unscaled(q, k, v, key_lengths=None, causal=False, scale=None):
    """The scores are not divided by √D."""
    return _attend(_scores(q, k, key_lengths, causal, 1.0 if scale is None else scale)[0], v, q.dtype)


def attention_afterwards(q, k, v, key_lengths=None, causal=False, scale=None):
    """The mask is multiplied in after the softmax: its sum still holds what is masked."""
    _, seen = _scores(q, k, key_lengths, causal, scale)
    s, _ = _scores(q, k, None, False, scale)
    return ((_softmax(s) * seen) @ v.float()).to(q.dtype), _lse(s)


def attention_padded(q, k, v, key_lengths=None, causal=False, scale=None):
    """Lanes past the last key hold zeros, and each adds e^0 to the sum: keys come in blocks of 64.

    As github.com/volcengine/verl/issues/2899 (2025-08-04) over a vocabulary.
    """
    s, _ = _scores(q, k, key_lengths, causal, scale)
    lanes = -s.shape[-1] % 64
    s = torch.cat((s, s.new_zeros(*s.shape[:3], lanes)), -1)
    return _attend(s, torch.cat((v.float(), torch.zeros(*v.shape[:2], lanes, v.shape[3])), 2), q.dtype)


def attention_half_maximum(q, k, v, key_lengths=None, causal=False, scale=None):
    """Scores, and their maximum, in the dtype of q."""
    s, _ = _scores(q, k, key_lengths, causal, scale)
    return _attend(s.to(q.dtype).float(), v, q.dtype)


def attention_backward_again(do, q, k, v, o, lse, key_lengths=None, causal=False, scale=None):
    """Backward computes the probabilities again from all scores, divides by their sum again, and so misses the mask."""
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    s, _ = _scores(q, k, None, False, scale)
    p = _softmax(s)
    ds = p * (do.float() @ v.float().mT - (do.float() * o.float()).sum(-1, keepdim=True))
    dq, dk, dv = ds @ k.float() * scale, ds.mT @ q.float() * scale, p.mT @ do.float()
    return dq.to(q.dtype), dk.to(k.dtype), dv.to(v.dtype)


def attention_backward_minus_inf(do, q, k, v, o, lse, key_lengths=None, causal=False, scale=None):
    """Backward takes e^(s - lse) where both are -inf: NaN for a query without a key, and so in every dk and dv."""
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    s, _ = _scores(q, k, key_lengths, causal, scale)
    p = (s - lse.unsqueeze(-1)).exp()
    ds = p * (do.float() @ v.float().mT - (do.float() * o.float()).sum(-1, keepdim=True))
    dq, dk, dv = ds @ k.float() * scale, ds.mT @ q.float() * scale, p.mT @ do.float()
    return dq.to(q.dtype), dk.to(k.dtype), dv.to(v.dtype)


def attention_backward_strides_of_out(do, q, k, v, o, lse, key_lengths=None, causal=False, scale=None):
    """aotriton's fused backward pass, behind PyTorch's attention on ROCm: the phase for dK and dV finds the elements of
    dO by Out's strides, the phase for dQ by dO's own.

    modules/flash/kernel/bwd_kernel_fuse.py, 0.13b; github.com/ROCm/aotriton/issues/236 (2026-09-15). The same of a mask
    and token ids: github.com/linkedin/Liger-Kernel/pull/1461 (2026-09-11).
    """
    dq, _, _ = attention_backward_minus_inf(do, q, k, v, o, lse, key_lengths, causal, scale)
    misread = do.as_strided(do.shape, o.stride())
    _, dk, dv = attention_backward_minus_inf(misread, q, k, v, o, lse, key_lengths, causal, scale)
    return dq, dk, dv


def merge_attention_base_2(o_a, lse_a, o_b, lse_b):
    """Natural logarithms read as base 2: the weight of a piece is 2^lse.

    github.com/flashinfer-ai/flashinfer/issues/2113 (2025-11-19); github.com/vllm-project/vllm/pull/28840, 47079;
    github.com/sgl-project/sglang/pull/33064 (2026-07-31).
    """
    top = torch.maximum(lse_a, lse_b)
    shift = top.masked_fill(top == -torch.inf, 0)
    a, b = (torch.exp2(x - shift).unsqueeze(-1) for x in (lse_a, lse_b))
    total = a + b
    o = (a * o_a.float() + b * o_b.float()) / total.masked_fill(total == 0, 1)
    return o.to(o_a.dtype), top + total.squeeze(-1).log2()


def merge_attention_log2_as_natural(o_a, lse_a, o_b, lse_b):
    """The other way round: e^(lse · log2 e). github.com/sgl-project/sglang/issues/40903 (2026-09-23)."""
    log2e = 1.4426950408889634
    top = torch.maximum(lse_a, lse_b)
    shift = top.masked_fill(top == -torch.inf, 0)
    a, b = (((x - shift) * log2e).exp().unsqueeze(-1) for x in (lse_a, lse_b))
    total = a + b
    o = (a * o_a.float() + b * o_b.float()) / total.masked_fill(total == 0, 1)
    return o.to(o_a.dtype), top + total.squeeze(-1).log() / log2e


def merge_attention_formula(o_a, lse_a, o_b, lse_b):
    """The formula with nothing subtracted and nothing asked: e^lse overflows, and two empty pieces are 0 / 0."""
    a, b = lse_a.exp().unsqueeze(-1), lse_b.exp().unsqueeze(-1)
    o = (a * o_a.float() + b * o_b.float()) / (a + b)
    return o.to(o_a.dtype), (a + b).squeeze(-1).log()
