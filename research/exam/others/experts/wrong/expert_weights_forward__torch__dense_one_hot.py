# Wrong: multiplies the whole row by a one-hot mask, so that a NaN in an expert nobody chose is 0 * NaN in the sum.
import torch


def _check(experts, E):
    bad = ((experts < -1) | (experts >= E)).any(dim=1)
    if bad.any():
        t = int(bad.int().argmax())
        row = experts[t].tolist()
        value = next(e for e in row if e < -1 or e >= E)
        raise IndexError(f"token {t}: expert {value} is not one of {E}")


def expert_weights_forward(logits, experts, scale=1.0):
    E = logits.shape[1]
    _check(experts, E)
    mask = experts >= 0
    logs = torch.nn.functional.logsigmoid(logits.float())
    hot = torch.nn.functional.one_hot(experts.clamp(min=0), E).float() * mask[..., None]
    x = (hot * logs[:, None, :]).sum(-1).masked_fill(~mask, float("-inf"))
    w = torch.softmax(x, dim=1) * scale
    return torch.where(mask, w, torch.zeros_like(w))
