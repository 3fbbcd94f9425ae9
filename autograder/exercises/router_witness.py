"""Parts of a router and of a gate. Cases: transformers#45120, minimind#858, flash-linear-attention#1012."""

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from ...kernels.wild import router as wild
from .cases.suspect import first, suspect


def balance_loss(logits: Tensor, k: int = 2) -> Tensor:
    """E Σ f_e P_e over the E experts, a float32 scalar: f_e is the share of the tokens that have expert e among the k
    of largest logit, P_e the mean of its softmax over the tokens. logits: (T, E), no tie for the last place.
    """
    probabilities = logits.softmax(1)
    chosen = F.one_hot(logits.topk(k, 1).indices, logits.shape[1]).sum(1).double()
    return logits.shape[1] * (chosen.mean(0) * probabilities.mean(0)).sum()


def expert_weights(logits: Tensor, k: int = 2) -> Tensor:
    """(T, E) float32: what the outputs of the experts are multiplied by. For the k of largest logit the softmax,
    divided by the sum over these k; where k is 1 the softmax itself, so that the router has a gradient. Elsewhere 0.
    logits: (T, E), no tie for the last place.
    """
    top, chosen = logits.softmax(1).topk(k, 1)
    return torch.zeros_like(logits).scatter(1, chosen, top if k == 1 else top / top.sum(1, keepdim=True))


def decay(d: Tensor, dt: Tensor) -> Tensor:
    """e^(A · dt), (T,) float32: what is left of a state after a step of size dt >= 0, where A is -softplus(d), or -1e-4
    where that is further from 0. d, dt: (T,).
    """
    return torch.exp(-F.softplus(d, threshold=700).clamp(min=1e-4) * dt)


def _no_router(logits: Tensor, k: int = 2) -> str:
    shaped = logits.dim() == 2 and logits.shape[0] > 0 and logits.shape[1] > 1
    if message := first(
        (shaped, "logits are a matrix (T, E) of at least two experts."),
        (not shaped or 1 <= k <= logits.shape[1], "k is 1 or more, and at most the number of experts."),
        (bool((logits.abs() <= 1e4).all()), "Numbers lie between -10,000 and 10,000."),
    ):
        return message
    order = logits.sort(1, descending=True).values
    tied = k < logits.shape[1] and bool((order[:, k - 1] == order[:, k]).any())
    return "Two experts tie for the last place: then either choice is right." if tied else ""


def _no_decay(d: Tensor, dt: Tensor) -> str:
    return first(
        (d.dim() == 1 and d.numel() > 0 and d.shape == dt.shape, "d and dt are vectors (T,) of one length."),
        (bool((dt >= 0).all()), "A step of negative size: dt is 0 or more."),
        (bool((d.abs() <= 1e4).all() and (dt <= 1e4).all()), "Numbers lie between -10,000 and 10,000."),
    )


SUSPECTS = (
    suspect(
        balance_loss,
        torch.float32,
        wild.balance_loss_of_probabilities,
        thread="huggingface/transformers#45120",
        story="transformers 5.0.0 to 5.5.4 took a softmax of probabilities, in ten models. Nearly the same for every "
        "expert, it pulls on none.",
        apart=lambda logits, k=2: 0.25 * balance_loss(logits, k),
        asked="a quarter of the loss",
        complaint=_no_router,
        hint="It is to punish a router that prefers some experts. Give it one that does.",
    ),
    suspect(
        expert_weights,
        torch.float32,
        wild.expert_weights_always_normalised,
        thread="jingyaogong/minimind#858",
        story="minimind divided the weight of a single expert by itself, and the router never got a gradient.",
        apart=lambda logits, k=2: 0.1,
        asked="0.1",
        complaint=_no_router,
        hint="Read in the contract for which arguments something else is asked for.",
    ),
    suspect(
        decay,
        torch.float32,
        wild.decay_with_another_precedence,
        thread="fla-org/flash-linear-attention#1012",
        story="flash-linear-attention 0.5.1 wrote -softplus(d).clamp(max=-floor). The clamp binds before the minus: "
        "the state grows, whatever d is.",
        apart=lambda d, dt: 0.25,
        asked="0.25",
        complaint=_no_decay,
        hint="With the steps of an untrained model nearly nothing decays. When should nearly everything?",
    ),
)

router_witness = replace(
    SUSPECTS[0],
    name="router_witness",
    summary="for each of balance_loss, expert_weights and decay arguments that show the planted bug",
    others=SUSPECTS[1:],
)
