# Wrong: raises for the largest expert of all, not for the first token that has a bad one, and not for -2.
import torch


def _check(experts, E):
    if experts.numel() and int(experts.max()) >= E:
        at = int(experts.max(dim=1).values.argmax())
        raise IndexError(f"token {at} has expert {int(experts.max())}, but there are {E}")


def expert_weights_forward(logits, experts, scale=1.0):
    _check(experts, logits.shape[1])
    mask = experts >= 0
    x = torch.gather(logits, 1, experts.clamp(min=0)).float()
    logs = torch.nn.functional.logsigmoid(x).masked_fill(~mask, float("-inf"))
    w = torch.softmax(logs, dim=1)
    return torch.where(mask, w * scale, torch.zeros_like(w))
