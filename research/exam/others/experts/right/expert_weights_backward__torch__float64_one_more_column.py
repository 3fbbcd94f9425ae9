# Right: in float64, with a spare column E that takes what absent places scatter.
import torch


def expert_weights_backward(dweights, logits, experts, weights, scale=1.0):
    T, E = logits.shape
    absent = experts == -1
    x = torch.cat([logits.double(), torch.zeros(T, 1, dtype=torch.float64, device=logits.device)], dim=1)
    index = experts.masked_fill(absent, E)
    x = x.gather(1, index)
    w = weights.double().masked_fill(absent, 0.0)
    g = dweights.double().masked_fill(absent, 0.0)
    mean = torch.einsum("tk,tk->t", w, g)[:, None] / scale
    dx = w * (g - mean) / (1.0 + torch.exp(x))
    out = torch.zeros(T, E + 1, dtype=torch.float64, device=logits.device)
    out.scatter_(1, index, dx.masked_fill(absent, 0.0))
    return out[:, :E].to(logits.dtype).contiguous()
