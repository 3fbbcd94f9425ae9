# Wrong: where the sum of sigma underflows it falls back on equal weights, although -200 and -202 differ by a factor of 7.
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
    mask = (experts >= 0)
    s = torch.sigmoid(torch.gather(logits, 1, experts.clamp(min=0)).float())
    s = torch.where(mask, s, torch.zeros_like(s))
    total = s.sum(1, keepdim=True)
    count = mask.sum(1, keepdim=True).clamp(min=1)
    even = mask.float() / count
    return scale * torch.where(total == 0, even, s / total)
