# Wrong: logsigmoid and softmax in the dtype of the logits: half precision weights, upcast at the end.
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
    x = torch.gather(logits, 1, experts.clamp(min=0))
    logs = torch.nn.functional.logsigmoid(x).masked_fill(~mask, float("-inf"))
    w = torch.softmax(logs, dim=1)
    return torch.where(mask, w * scale, torch.zeros_like(w)).float()
