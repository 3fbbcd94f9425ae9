# Wrong: takes the maximum over the k places, which raises where k is 0.
import torch


def _check(experts, E):
    bad = ((experts < -1) | (experts >= E)).any(dim=1)
    if bad.any():
        t = int(bad.int().argmax())
        row = experts[t].tolist()
        value = next(e for e in row if e < -1 or e >= E)
        raise IndexError(f"token {t}: expert {value} is not one of {E}")


def expert_weights_forward(logits, experts, scale=1.0):
    _check(experts, logits.shape[1])
    mask = experts >= 0
    x = torch.gather(logits, 1, experts.clamp(min=0)).float()
    logs = torch.where(mask, torch.nn.functional.logsigmoid(x), torch.full_like(x, -1e30))
    s = torch.exp(logs - logs.max(dim=1, keepdim=True).values).masked_fill(~mask, 0.0)
    w = s / s.sum(dim=1, keepdim=True) * scale
    return torch.where(mask, w, torch.zeros_like(w))
