# reference and example for tokenspeed_ties.py and tokenspeed_ties_right.py
import torch


def pick(x, rank):
    if x.shape[1] > 512:
        raise ValueError("at most 512 logits")
    if int(rank.min()) < 0 or int(rank.max()) >= x.shape[1]:
        raise IndexError("no such rank")
    return torch.sort(x, dim=-1, descending=True, stable=True).indices.gather(1, rank[:, None])[:, 0]


def arguments(seed):
    make = torch.Generator().manual_seed(seed)
    return torch.randn(4, 20, generator=make), torch.randint(4, (4,), generator=make)
