# Wrong: adds 1e-20 to the sum, so that tokens whose sigma is tiny are silent instead of NaN (logits of -60 or -200).
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
    s = torch.sigmoid(torch.gather(logits, 1, experts.clamp(min=0)).float())
    s = s.masked_fill(~mask, 0.0)
    return scale * s / (s.sum(dim=-1, keepdim=True) + 1e-20)
