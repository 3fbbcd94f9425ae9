# Right: log sigma as -softplus(-x), the normaliser by logsumexp, in float64.
import torch


def _check(experts, E):
    bad = ((experts < -1) | (experts >= E)).any(dim=1)
    if bad.any():
        t = int(bad.int().argmax())
        row = experts[t].tolist()
        value = next(e for e in row if e < -1 or e >= E)
        raise IndexError(f"token {t}: expert {value} is not one of {E}")


def expert_weights_forward(logits, experts, scale=1.0):
    T, k = experts.shape
    _check(experts, logits.shape[1])
    if T == 0 or k == 0:
        return torch.zeros(T, k, dtype=torch.float32, device=logits.device)
    there = experts != -1
    x = logits.double()[torch.arange(T, device=logits.device)[:, None], experts.where(there, torch.zeros_like(experts))]
    logs = torch.where(there, -torch.nn.functional.softplus(-x), torch.full_like(x, float("-inf")))
    total = torch.logsumexp(logs, dim=1, keepdim=True)
    w = (logs - total).exp() * scale
    return torch.where(there, w, torch.zeros_like(w)).float()
