# Wrong: gathers sigma and divides it by its sum, which is 0 / 0 where sigma underflows (every chosen logit at -200).
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
    s = torch.sigmoid(logits.float()).gather(1, experts.clamp(min=0)) * mask
    total = s.sum(1, keepdim=True)
    return torch.where(mask, s / total * scale, torch.zeros_like(s))
