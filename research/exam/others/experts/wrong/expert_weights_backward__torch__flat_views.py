# Wrong: views logits and dweights as flat, which raises for transposed logits and for a dweights of stride 0.
import torch


def expert_weights_backward(dweights, logits, experts, weights, scale=1.0):
    T, E = logits.shape
    k = experts.shape[1]
    mask = (experts >= 0).view(-1)
    flat = (experts.clamp(min=0) + E * torch.arange(T, device=experts.device)[:, None]).view(-1)
    x = logits.view(-1)[flat].float()
    w = weights.view(-1).masked_fill(~mask, 0.0)
    g = dweights.view(-1).float().masked_fill(~mask, 0.0)
    inner = (w * g).view(T, k).sum(1) / scale
    dx = w * (g - inner.repeat_interleave(k)) * torch.sigmoid(-x)
    out = torch.zeros(T * E, device=logits.device)
    out.index_add_(0, flat, dx.masked_fill(~mask, 0.0))
    return out.view(T, E).to(logits.dtype)
