# Wrong: multiplies by the mask at the end, so that in a token with a NaN logit an absent place is NaN, not 0.
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
    logs = torch.nn.functional.logsigmoid(x).masked_fill(~mask, -1e30)
    return torch.softmax(logs, dim=1) * mask * scale
