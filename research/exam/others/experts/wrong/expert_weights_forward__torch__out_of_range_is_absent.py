# Wrong: treats an expert outside of the range like -1, and raises nothing.
import torch


def expert_weights_forward(logits, experts, scale=1.0):
    E = logits.shape[1]
    mask = (experts >= 0) & (experts < E)
    x = torch.gather(logits, 1, experts.clamp(0, E - 1)).float()
    logs = torch.nn.functional.logsigmoid(x).masked_fill(~mask, float("-inf"))
    w = torch.softmax(logs, dim=1)
    return torch.where(mask, w * scale, torch.zeros_like(w))
