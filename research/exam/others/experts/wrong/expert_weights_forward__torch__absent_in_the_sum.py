# Wrong: an absent place reads expert 0 and is zeroed only after the division, so that it counts in the sum.
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
    x = torch.gather(logits, 1, experts.clamp(min=0)).float()
    w = torch.softmax(torch.nn.functional.logsigmoid(x), dim=1) * scale
    return w.masked_fill(experts == -1, 0.0)
