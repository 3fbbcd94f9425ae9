"""The scan h_t = e^(g_t) · h_(t-1) + x_t by chunks, as gated linear attentions shipped it, bug for bug.

All of them take the difference of two running sums of g, c, apart: e^(c_i) · e^(-c_j) for e^(c_i - c_j).
"""

import torch

CHUNK = 64
TINY = torch.finfo(torch.float32).tiny


def exp(x):
    """e^x as a GPU's fast exponential has it: what is below the smallest normal number, 2^-126, is 0."""
    y = torch.exp(x)
    return torch.where(y < TINY, torch.zeros_like(y), y)


def _in_chunks(x, log_decay, anchor, grown):
    """e^(c_i - a) times the running sum of grown(a - c_j) x_j, and what came before the chunk; ``anchor`` gives a."""
    found, before = [x.new_zeros(0, x.shape[1], dtype=torch.float32)], torch.zeros(x.shape[1], device=x.device)
    for rows, g in zip(x.float().split(CHUNK), log_decay.split(CHUNK), strict=True):
        c = g.cumsum(0)[:, None]
        a = anchor(c)
        h = exp(c - a) * (grown(a - c) * rows).cumsum(0) + exp(c) * before
        found.append(h)
        before = h[-1] if len(h) else before
    return torch.cat(found).to(x.dtype)


def scan_of_products(x, log_decay):
    """e^(c_i) times the running sum of e^(-c_j) x_j, within chunks of 64.

    executorch's chunked prefill until github.com/pytorch/executorch/pull/21417 (2026-07-28): 0 · inf where a chunk
    decays by more than e^-88.7. Between 87.3 and 88.7 the one factor is flushed to 0 where hardware does so, and the
    other is finite: github.com/tenstorrent/tt-metal/issues/56550 (2026-09-14).
    """
    return _in_chunks(x, log_decay, torch.zeros_like, exp)


def scan_of_clamped_products(x, log_decay):
    """The same with e^(min(-c_j, 88)): no infinity, and other values behind e^-88.

    TileOPs' ssd_chunk_scan in review, github.com/tile-ai/TileOPs/pull/1465 (2026-05-15), caught before it was merged.
    """
    return _in_chunks(x, log_decay, torch.zeros_like, lambda c: exp(c.clamp(max=88.0)))


def scan_from_the_middle(x, log_decay):
    """e^(c_i - c_m) times the running sum of e^(c_m - c_j) x_j, m the middle row of the chunk: it takes twice as much
    until it overflows, and a later decay changes the bits of an earlier row.

    cudnn-frontend's first sm90 kernel, github.com/NVIDIA/cudnn-frontend/pull/1017: chunks of 64 with one anchor in the
    middle, 100 % NaN at gates of -5. The anchor is what github.com/fla-org/flash-linear-attention/issues/1240
    (2026-09-10) found not to be causal.
    """
    return _in_chunks(x, log_decay, lambda c: c[len(c) // 2 : len(c) // 2 + 1], exp)


def scan_without_reset(x, log_decay):
    """A decay of -inf, which starts anew, taken for none."""
    return scan_of_differences(x, torch.where(log_decay == -torch.inf, torch.zeros_like(log_decay), log_decay))


def scan_of_differences(x, log_decay):
    """e^(c_i - c_j) from the difference, all of it masked before the exponential: right, but where a decay is -inf."""
    c = log_decay.cumsum(0)
    lower = torch.ones(len(c), len(c), dtype=torch.bool, device=c.device).tril()
    weights = torch.exp((c[:, None] - c).masked_fill(~lower, -torch.inf))
    return (weights @ x.float()).to(x.dtype)


def _row_by_row(x, log_decay, step):
    """What step(t, h, decay, row) makes of h before row t, one row after the other."""
    h, rows = torch.zeros(x.shape[1], device=x.device), [x[:0]]
    for t, decay in enumerate(log_decay.exp()):
        h = step(t, h, decay, x[t].float())
        rows.append(h[None].to(x.dtype))
    return torch.cat(rows)


def scan_forgetting_chunks(x, log_decay):
    """Each chunk of 32 from 0: what came before it is left out."""
    return _row_by_row(x, log_decay, lambda t, h, decay, row: row + (decay * h if t % 32 else 0))


def scan_decayed_late(x, log_decay):
    """x_t decays in its own step: e^(g_t) · (h_(t-1) + x_t)."""
    return _row_by_row(x, log_decay, lambda t, h, decay, row: decay * (h + row))
