# Right: one place after the other, by indexing the tokens that have an expert there.
import torch


def expert_weights_backward(dweights, logits, experts, weights, scale=1.0):
    T, k = experts.shape
    total = torch.zeros(T, dtype=torch.float32, device=logits.device)
    for j in range(k):
        t = torch.nonzero(experts[:, j] != -1).flatten()
        total[t] += weights[t, j] * dweights[t, j].float()
    out = torch.zeros(logits.shape, dtype=logits.dtype, device=logits.device)
    for j in range(k):
        t = torch.nonzero(experts[:, j] != -1).flatten()
        e = experts[t, j]
        x = logits[t, e].float()
        slope = torch.exp(torch.nn.functional.logsigmoid(-x))
        out[t, e] = (weights[t, j] * (dweights[t, j].float() - total[t] / scale) * slope).to(logits.dtype)
    return out
