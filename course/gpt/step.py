"""Steps of training with one set of functions or another: gradients side by side, and the losses of many steps."""

import copy
from collections.abc import Iterable, Iterator

import torch
from torch import Tensor

from ...autograder.gpu import simulation
from .block import PYTORCH, Ops, SmallModel
from .text import corpus, encode

BATCH, CONTEXT, PAGES = 8, 32, 2_000
HOW = {"lr": 3e-3, "beta1": 0.9, "beta2": 0.98, "eps": 1e-8, "weight_decay": 0.1}  # a step of AdamW


def windows(seed: int = 0) -> Iterator[Tensor]:
    """Batches of the diary without end, each (BATCH, CONTEXT + 1). The same seed gives the same batches."""
    text, generator = encode(corpus(PAGES)), torch.Generator().manual_seed(seed)
    while True:
        starts = torch.randint(0, len(text) - CONTEXT - 1, (BATCH, 1), generator=generator)
        yield text[starts + torch.arange(CONTEXT + 1)]


def gradients(model: SmallModel, ops: Ops, window: Tensor) -> dict[str, Tensor]:
    """The gradient of the loss on a batch, for each parameter by its name."""
    names, parameters = zip(*model.named_parameters(), strict=True)
    with simulation():
        gradients = torch.autograd.grad(model.loss(window.to(model.norm.weight.device), ops), parameters)
    return dict(zip(names, gradients, strict=True))


def exact_gradients(model: SmallModel, window: Tensor) -> dict[str, Tensor]:
    """The same in float64, with PyTorch's own functions; the model stays as it is."""
    return gradients(copy.deepcopy(model).double(), PYTORCH, window)


def errors(computed: dict[str, Tensor], exact: dict[str, Tensor]) -> dict[str, float]:
    """Returns how far each gradient is from the exact one, as |difference| / |exact|, both Euclidean norms over the
    tensor.
    """
    return {name: ((computed[name].double() - g).norm() / g.norm()).item() for name, g in exact.items()}


def train(model: SmallModel, ops: Ops, steps: Iterable[int]) -> list[float]:
    """The loss before each step of AdamW, on a copy of the model, so that it can be trained again.

    steps: ``range(200)``, or in a notebook ``IPython.display.ProgressBar(200)``, which shows how far it is.
    """
    model = copy.deepcopy(model)
    parameters = [p.detach() for p in model.parameters()]
    state = [(torch.zeros_like(p), torch.zeros_like(p)) for p in parameters]
    losses: list[float] = []
    with simulation():
        for _, window in zip(steps, windows(), strict=False):
            loss = model.loss(window.to(model.norm.weight.device), ops)
            losses.append(loss.item())
            gradients = torch.autograd.grad(loss, list(model.parameters()))
            for p, g, (m, v) in zip(parameters, gradients, state, strict=True):
                ops.adamw_step(p, g, m, v, len(losses), **HOW)
    return losses
