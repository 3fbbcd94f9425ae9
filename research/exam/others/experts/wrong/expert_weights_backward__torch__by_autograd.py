# Wrong: lets autograd differentiate the forward instead of writing the derivative.
import torch


def expert_weights_backward(dweights, logits, experts, weights, scale=1.0):
    mask = experts >= 0
    with torch.enable_grad():
        leaf = logits.detach().float().requires_grad_(True)
        x = leaf.gather(1, experts.clamp(min=0))
        logs = torch.nn.functional.logsigmoid(x).masked_fill(~mask, -1e30)
        w = torch.softmax(logs, dim=1).masked_fill(~mask, 0.0) * scale
        g = dweights.float().masked_fill(~mask, 0.0)
        (dx,) = torch.autograd.grad(w, leaf, g)
    return dx.to(logits.dtype)
