# Wrong: scatters by assignment with absent places clamped to expert 0, whose gradient they overwrite by 0.
import torch


def expert_weights_backward(dweights, logits, experts, weights, scale=1.0):
    mask = experts >= 0
    index = experts.clamp(min=0)
    x = logits.gather(1, index).float()
    w = torch.where(mask, weights, 0.0)
    dw = torch.where(mask, dweights.float(), 0.0)
    inner = (w * dw).sum(1, keepdim=True) / scale
    dx = w * (dw - inner) * torch.sigmoid(-x)
    dx = torch.where(mask, dx, 0.0)
    return torch.zeros(logits.shape, device=logits.device).scatter_(1, index, dx).to(logits.dtype)
