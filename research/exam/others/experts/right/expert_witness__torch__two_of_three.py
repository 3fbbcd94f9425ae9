# Right: k of 2 and a bias of 5.1 for experts whose sigma is near 1e-6.
import torch


def expert_witness():
    logits = torch.tensor([[-13.4, -14.3, 2.0]])
    bias = torch.tensor([5.1, 5.1, -4.0])
    return logits, bias, 2
