# Wrong: gathers and multiplies in the dtype of the logits, half precision where they are.
import torch


def expert_weights_backward(dweights, logits, experts, weights, scale=1.0):
    mask = experts >= 0
    index = experts.clamp(min=0)
    x = logits.gather(1, index)
    w = torch.where(mask, weights, 0.0).to(logits.dtype)
    dw = torch.where(mask, dweights.to(logits.dtype), 0.0)
    inner = (w * dw).sum(1, keepdim=True) / scale
    dx = w * (dw - inner) * torch.sigmoid(-x)
    dx = torch.where(mask, dx, 0.0)
    return torch.zeros(logits.shape, dtype=logits.dtype, device=logits.device).scatter_add_(1, index, dx).to(logits.dtype)
