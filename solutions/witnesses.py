"""Inputs that convict the bugs planted in the parts of a block; each part by its name."""

import torch


# %% precision_witness
def precision_witness(block: str) -> tuple:
    """The arguments that show what is planted in ``block``: rotary, scaled_norm or embedding_gradient.

    rotary: off by more than a fifth of a pair's length.
    scaled_norm: off by more than 0.2 % of the right value.
    embedding_gradient: off by more than a tenth of the sum of |dy|.
    At most 65,536 elements in all.
    """
    ones = torch.ones(512, 2, dtype=torch.bfloat16)
    return {
        "rotary": (ones[:1], torch.tensor([257])),  # bfloat16 has 256 and 258
        "scaled_norm": (torch.ones(1, 2), torch.tensor([0.00390625, 1.0], dtype=torch.bfloat16)),  # half an ulp of 1
        "embedding_gradient": (ones, torch.zeros(512, dtype=torch.int64)),  # 256 + 1 is 256
    }[block]


# %% router_witness
def router_witness(block: str) -> tuple:
    """The arguments that show what is planted in ``block``: balance_loss, expert_weights or decay.

    balance_loss: off by more than a quarter of the loss.
    expert_weights: off by more than 0.1.
    decay: off by more than 0.25.
    At most 65,536 elements in all.
    """
    logits = torch.tensor([[2.0, 1.0, 0.0, -1.0]] * 4)
    return {
        "balance_loss": (logits,),  # all tokens to the same experts
        "expert_weights": (logits, 1),  # w / w
        "decay": (torch.tensor([10.0]), torch.tensor([1.0])),  # all should be gone
    }[block]


# %% scan_witness
def scan_witness(block: str) -> tuple:
    """The arguments that show what is planted in ``block``: chunk_steps, decay_to_end or reverse_cumsum.

    chunk_steps: off by more than a fifth of the right step.
    decay_to_end: off by more than 0.2.
    reverse_cumsum: off by more than a tenth of the sum of |x|.
    At most 65,536 elements in all.
    """
    return {
        "chunk_steps": (torch.zeros(17),),  # 15 lanes of padding behind one element
        "decay_to_end": (torch.tensor([-1e8, -3.0, -3.0, 0.0]),),  # sums a step of 8 apart
        "reverse_cumsum": (torch.tensor([1e8, 1.0, 1.0]),),  # 1e8 + 1 is 1e8
    }[block]


# %% sampler_witness
def sampler_witness(block: str) -> tuple:
    """The arguments that show what is planted in ``block``: inverse_cdf, gumbel_pick or top_k_probs.

    inverse_cdf: off by more than 0: a wrong token.
    gumbel_pick: off by more than 0: a wrong token.
    top_k_probs: off by more than 0.05.
    At most 65,536 elements in all.
    """
    return {
        "inverse_cdf": (torch.tensor([0.5, 0.5]), torch.tensor([0.49995])),  # .0001 more is the other token
        "gumbel_pick": (torch.tensor([0.0, -100.0]), torch.tensor([2**31, 2**32 - 1])),  # -log 1 is 0
        "top_k_probs": (torch.tensor([0.4, 0.3, 0.3, 0.0]),),  # the second place, twice
    }[block]


# %% neighbour_witness
def neighbour_witness(block: str) -> tuple:
    """The arguments that show that a row depends on the rows beside it in ``block``: expert_product or decode_sum.

    expert_product: a, b and how many of the first rows of a are called alone; their elements with other bits are
    off by more than 0: one element is enough.
    decode_sum, of 16 // M parts for M rows and at least one: x and how many of its first rows are called alone; their
    sums with other bits are off by more than 0: one sum is enough.
    All of them are float32 matrices, of numbers between -10,000 and 10,000; at most 65,536 elements in all.
    """
    x = torch.randn(9, 512, generator=torch.Generator().manual_seed(0))
    return {
        "expert_product": (x[:, :200], x.T[:200], 8),  # one row more than there are experts
        "decode_sum": (x[:8], 2),  # 8 parts of one block, and 2 of four among 8
    }[block]


# %% window_witness
def window_witness() -> tuple[torch.Tensor, int]:
    """(x, window), finite, on which the kernel is off by more than 0.1. At most 65,536 elements."""
    return torch.zeros(1, 4), 2  # the third element has half of the weight, and is not read


# %% lion_witness
def lion_witness() -> tuple:
    """(param, grad, m) on which the kernel is off by more than lr; lr, beta and decay may follow.

    Numbers lie between -100 and 100; lr is 1e-6 to 1, beta 0 to below 1, decay 0 to 100. At most 65,536 elements.
    """
    one = torch.ones(1)
    return one, -0.01 * one, 0 * one, 1e-4, 0.9, 0.1  # the gradient says up, with 0.1 of the weight added it says down


# %% rank_witness
def rank_witness() -> tuple[torch.Tensor, torch.Tensor]:
    """(logits, rank) on which the kernel's token is off by more than 0: a wrong token. At most 65,536 elements."""
    return torch.zeros(1, 2), torch.tensor([1])  # two equal logits: the second one's token is 1


# %% offset_witness
def offset_witness() -> tuple[torch.Tensor, torch.Tensor]:
    """(logits, labels), finite, on which the kernel is off by more than 0.1. At most 65,536 elements."""
    return torch.full((1, 2), 1e8), torch.tensor([0])  # the loss is log 2, and float32 has a step of 8 here


# %% scaled_keys_witness
def scaled_keys_witness() -> tuple[torch.Tensor, torch.Tensor]:
    """(q, k), bfloat16, on which a probability of the kernel is off by more than 0.1. At most 65,536 elements."""
    q = torch.tensor([[64.0]]).bfloat16()
    return q, torch.tensor([[3.0], [3.0]]).bfloat16()  # two scores of 192, moved by 0.7: each weight is halved


# %% limit_witness
def limit_witness() -> tuple[torch.Tensor, torch.Tensor]:
    """(gate, up), finite, on which the kernel is off by more than 0.1; limit and alpha may follow.
    At most 65,536 elements.
    """
    return torch.tensor([20.0]), torch.tensor([1.0])  # there is no alpha, and 20 is above the limit of 10


# %% tile_witness
def tile_witness() -> tuple[torch.Tensor, torch.Tensor, int]:
    """(x, scale, group), finite, on which a sum of the kernel is off by more than 1. At most 65,536 elements."""
    return torch.ones(1, 64), torch.tensor([[1.0, 2.0]]), 32  # one tile and two groups


# %% group_witness
def group_witness() -> tuple[torch.Tensor, torch.Tensor]:
    """(x, scale), finite, on which a sum of the kernel is off by more than 1. At most 65,536 elements."""
    return torch.ones(1, 64), torch.ones(1, 1)  # one whole tile, and half a group


# %% expert_witness
def expert_witness() -> tuple[torch.Tensor, torch.Tensor, int]:
    """(logits, bias, k), finite, at most 65,536 numbers: on them a weight of a router that picks the k experts of
    largest σ(logits) + bias, and gets σ back as (σ + bias) - bias, is off by more than 5 %; none is NaN, infinite or 0.

    logits: (T, E)   bias: (E,) float32   k: a Python number, 2 or more.
    """
    logits = torch.tensor([[-13.5, -14.0, -13.8, -40.0]])  # σ is about 1e-6, and an ulp of 11.3 is 9.5e-7
    return logits, torch.tensor([11.3, 11.3, 11.3, 11.3]), 3


# %% bias_witness
def bias_witness() -> tuple[torch.Tensor, torch.Tensor]:
    """(logits, bias), finite, float32, on which the kernel's expert is off by more than 0: a wrong expert.
    At most 65,536 elements in all.
    """
    return torch.zeros(1, 2), torch.tensor([11.30, 11.31])  # both are 11.3125 in bfloat16, and the first is taken


# %% rounding_witness
def rounding_witness() -> tuple[torch.Tensor]:
    """(x,), x: (M, N), N a multiple of 32, each |number| 0 or from 1e-38 to 1e30: it convicts MLX's exponent.

    With the nearest exponent an element is off by more than 6.25 % of it, and with the right one by no more, while the
    cosine of x and what comes back is above .99. x has at most 65,536 elements.
    """
    x = torch.ones(1, 64)
    x[0, 0] = 448 * 1.4  # √2 is where the nearest exponent is the next one
    return (x,)


# %% dormant_witness
def dormant_witness() -> tuple[torch.Tensor]:
    """(x,), x: (M, N), float32, on which quantisation by 448 / amax is off by more than rounding to the nearest.

    The largest absolute value of each block of 128 is from 1e-38 to 1e30, so that no block is all zero. x has at most
    65,536 elements.
    """
    return (torch.tensor([[6.3e-38, 1e-38]]),)  # the largest may saturate: 448 is right there


# %% decay_witness
def decay_witness() -> tuple[torch.Tensor, torch.Tensor]:
    """(x, log_decay), x: (T, D), log_decay: (T,), float32, on which e^(c_i) · e^(-c_j) is wrong, and finite everywhere.

    c is the running sum of log_decay within a chunk of 64 rows; e to the power of anything is 0 where it would be below
    2^-126. Some element is off by more than 5 % of the largest element of h, and none is NaN or infinite. Numbers of x
    lie between -10,000 and 10,000, decays between -100 and 0; x and log_decay have at most 65,536 elements.
    """
    return torch.ones(2, 1), torch.tensor([0.0, -88.0])  # between 87.34, from where e^c is flushed, and 88.72
