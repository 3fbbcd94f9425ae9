# Wrong: normalises over all experts and gathers after, so that the weights of a token do not sum to scale (k < E).
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
    probs = torch.softmax(torch.nn.functional.logsigmoid(logits.float()), dim=1)
    w = probs.gather(1, experts.clamp(min=0)) * scale
    return w.masked_fill(experts < 0, 0.0)
