# ruff: noqa: F821
"""A loss and gradients by all logits at once."""


def linear_cross_entropy_forward_backward(hidden, weight, labels, ignore_index=-100):
    """All logits are computed and kept by `Kept` before the first of them is used."""
    V = weight.shape[0]
    keep = labels != ignore_index
    bad = (keep & ((labels < 0) | (labels >= V))).nonzero().squeeze(1)
    if len(bad):
        raise IndexError(f"labels[{bad[0].item()}] is {labels[bad[0]].item()}, out of range")
    rows = keep.nonzero().squeeze(1)
    n, w = max(len(rows), 1), weight.float()
    loss, dhidden, dweight = torch.zeros(()), torch.zeros_like(hidden), torch.zeros_like(w)
    pieces = [piece for piece in rows.split(16) if len(piece)]
    kept = Kept(len(rows) * V)
    for number, piece in enumerate(pieces):
        kept.put(16 * number * V, hidden[piece].float() @ w.t())
    for number, piece in enumerate(pieces):
        logits = kept.get(16 * number * V, (len(piece), V))
        lse = torch.logsumexp(logits, 1, keepdim=True)
        own = labels[piece].unsqueeze(1)
        loss += (lse - logits.gather(1, own)).sum() / n
        p = (logits - lse).exp_().scatter_add_(1, own, -torch.ones(own.shape)).div_(n)
        dhidden[piece] = (p @ w).to(hidden.dtype)
        dweight += p.t() @ hidden[piece].float()
    return loss, dhidden, dweight.to(weight.dtype)
