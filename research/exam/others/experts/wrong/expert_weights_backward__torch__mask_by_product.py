# Wrong: multiplies by the mask, so that NaN in dweights or weights of an absent place reaches the token.
import torch


def expert_weights_backward(dweights, logits, experts, weights, scale=1.0):
    mask = experts >= 0
    index = experts.clamp(min=0)
    x = logits.gather(1, index).float()
    w = weights * mask
    dw = dweights.float() * mask
    inner = (w * dw).sum(1, keepdim=True) / scale
    dx = w * (dw - inner) * torch.sigmoid(-x)
    dx = torch.where(mask, dx, 0.0)
    return torch.zeros(logits.shape, device=logits.device).scatter_add_(1, index, dx).to(logits.dtype)
