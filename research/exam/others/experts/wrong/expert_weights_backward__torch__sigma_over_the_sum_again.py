# Wrong: recomputes sigma over its sum in place of using the weights: NaN where sigma underflows.
import torch


def expert_weights_backward(dweights, logits, experts, weights, scale=1.0):
    mask = experts >= 0
    index = experts.clamp(min=0)
    x = logits.gather(1, index).float()
    s = torch.where(mask, torch.sigmoid(x), 0.0)
    w = scale * s / s.sum(1, keepdim=True)
    dw = torch.where(mask, dweights.float(), 0.0)
    inner = (w * dw).sum(1, keepdim=True) / scale
    dx = w * (dw - inner) * torch.sigmoid(-x)
    dx = torch.where(mask, dx, 0.0)
    return torch.zeros(logits.shape, device=logits.device).scatter_add_(1, index, dx).to(logits.dtype)
