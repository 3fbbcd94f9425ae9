# Right: a Python loop over tokens, each with its own short list of logits.
import torch


def expert_weights_forward(logits, experts, scale=1.0):
    T, k = experts.shape
    E = logits.shape[1]
    out = torch.zeros((T, k), dtype=torch.float32, device=logits.device)
    chosen = experts.tolist()
    for t in range(T):
        for e in chosen[t]:
            if e != -1 and not 0 <= e < E:
                raise IndexError(f"bad expert {e} in token {t}")
    for t in range(T):
        places = [j for j in range(k) if chosen[t][j] != -1]
        if not places:
            continue
        x = torch.stack([logits[t, chosen[t][j]] for j in places]).double()
        small = torch.minimum(x, torch.zeros_like(x))
        s = torch.exp(small - small.max()) / (1 + torch.exp(-x.abs()))
        out[t, places] = (scale * s / s.sum()).float()
    return out
