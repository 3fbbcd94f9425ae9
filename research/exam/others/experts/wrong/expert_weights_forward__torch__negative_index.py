# Wrong: indexes with -1 as Python does, so that an absent place is the last expert.
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
    t = torch.arange(experts.shape[0], device=experts.device)[:, None]
    x = logits[t, experts].float()
    return scale * torch.softmax(torch.nn.functional.logsigmoid(x), dim=1)
