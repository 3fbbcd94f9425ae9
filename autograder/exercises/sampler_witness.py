"""Parts of a sampler, with the random numbers as arguments. Cases: FlagGems#4303, sglang#33423, flashinfer#3774."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from ...kernels.wild import gumbel_argmax as wild_gumbel
from ...kernels.wild import sampler as wild
from .cases.suspect import first, suspect

LONGEST = 1024  # tokens
EDGE, CLEAR = 1e-5, 0.01  # what no rounding decides


def inverse_cdf(probs: Tensor, u: Tensor) -> Tensor:
    """The token of each random number of u (N,), from 0 to below 1: the first whose probability, with those of all
    before it, is above the number. probs: (V,), their sum is 1. No number lies within 1e-5 of such a sum.
    """
    return torch.searchsorted(_sums(probs), u, right=True)


def gumbel_pick(logits: Tensor, hashes: Tensor) -> Tensor:
    """(1,) int64: the token of the largest logit - log(-log h), where h is its hash over 2^32 - 1, and -log h at least
    2^-32. logits: (V,)   hashes: (V,) int64, from 0 to 2^32 - 1. The winner is ahead by more than 0.01.
    """
    return _noisy(logits, hashes).argmax(0, keepdim=True)


def top_k_probs(probs: Tensor, k: int = 2) -> Tensor:
    """(V,) float32: the k largest probabilities, of equal ones the first, divided by their sum; 0 elsewhere.
    probs: (V,), their sum is 1.
    """
    top, chosen = probs.sort(descending=True, stable=True)
    return torch.zeros_like(probs).scatter(0, chosen[:k], top[:k] / top[:k].sum())


def _sums(probs: Tensor) -> Tensor:
    sums = probs.double().cumsum(0)
    return sums / sums[-1:]


def _noisy(logits: Tensor, hashes: Tensor) -> Tensor:
    return logits.double() - _uniform(hashes).log().neg().clamp(min=2.0**-32).log()


def _uniform(hashes: Tensor) -> Tensor:
    return hashes.double() / (2**32 - 1)


def _of_hashes(logits: Tensor, hashes: Tensor) -> Tensor:
    pick: Callable[..., Tensor] = wild_gumbel.sglang
    return pick(logits.double().unsqueeze(0), _uniform(hashes).unsqueeze(0))


def _no_probs(probs: Tensor) -> str:
    return first(
        (probs.dim() == 1 and 0 < len(probs) <= LONGEST, f"probs is a vector (V,), V at most {LONGEST}."),
        (bool((probs >= 0).all()), "A probability below 0."),
        (abs(float(probs.double().sum()) - 1) <= 1e-3, f"The sum of probs is {float(probs.double().sum()):g}, not 1."),
    )


def _no_numbers(probs: Tensor, u: Tensor) -> str:
    if message := _no_probs(probs) or first(
        (u.dim() == 1 and u.numel() > 0, "u is a vector (N,)."),
        (bool(((u >= 0) & (u < 1)).all()), "u lies between 0 and 1, and is not 1."),
    ):
        return message
    near = u[torch.isclose(u.double().unsqueeze(1), _sums(probs), rtol=0, atol=EDGE).any(1)]
    return f"u = {float(near[0]):g} lies within {EDGE} of a sum: there rounding decides." if len(near) else ""


def _no_hashes(logits: Tensor, hashes: Tensor) -> str:
    shaped = logits.dim() == 1 and 1 < len(logits) <= LONGEST and hashes.shape == logits.shape
    if message := first(
        (shaped, f"logits and hashes are vectors (V,), V at least 2 and at most {LONGEST}."),
        (bool(((hashes >= 0) & (hashes < 2**32)).all()), "hashes lie between 0 and 2^32 - 1."),
        (bool((logits.abs() <= 1e4).all()), "Numbers lie between -10,000 and 10,000."),
    ):
        return message
    ahead, behind = _noisy(logits, hashes).topk(2).values
    return first((bool(ahead - behind > CLEAR), f"Two tokens lie within {CLEAR} of each other: rounding decides."))


def _no_top(probs: Tensor, k: int = 2) -> str:
    return _no_probs(probs) or first((1 <= k <= len(probs), "k is 1 or more, and at most the number of tokens."))


SUSPECTS = (
    suspect(
        inverse_cdf,
        torch.int64,
        wild.inverse_cdf_a_little_later,
        thread="FlagOpen/FlagGems#4303",
        story="FlagGems, 5.0.2 among others, added .0001 to every random number. Of 100,000 equally likely tokens it "
        "takes the tenth behind the right one.",
        apart=lambda probs, u: 0.0,
        asked="0: a wrong token",
        complaint=_no_numbers,
        hint="Draw the line from 0 to 1 with its sums. How far from a sum can you put a number, and where does it end?",
    ),
    suspect(
        gumbel_pick,
        torch.int64,
        _of_hashes,
        thread="sgl-project/sglang#25106, #33423",
        story="In sglang, until 0.5.17, one hash of 2^32 gave infinite noise, and its token won, whatever its logit.",
        apart=lambda logits, hashes: 0.0,
        asked="0: a wrong token",
        complaint=_no_hashes,
        hint="Two logarithms, each with a value at which it is infinite. Which hash gives it, and who should win?",
        integers=("hashes",),
    ),
    suspect(
        top_k_probs,
        torch.float32,
        wild.top_k_probs_by_value,
        thread="flashinfer-ai/flashinfer#3774",
        story="flashinfer counted how many probabilities are above a token's own: of tokens that tie all are kept.",
        apart=lambda probs, k=2: 0.05,
        asked="0.05",
        complaint=_no_top,
        hint="What does a softmax of random numbers never give, and that of a model in bfloat16 often?",
    ),
)

sampler_witness = replace(
    SUSPECTS[0],
    name="sampler_witness",
    summary="for each of inverse_cdf, gumbel_pick and top_k_probs arguments that show the planted bug",
    others=SUSPECTS[1:],
)
