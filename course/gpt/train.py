"""Trains the small model again: ``python -m graded_kernels.course.gpt.train [--steps N] [--seed N] [--out FILE]``.

A few minutes on one CPU core. The file in the package was made with the defaults.
"""

import argparse

import torch
import torch.nn.functional as F

from .model import GPT
from .text import ALPHABET, corpus, encode
from .weights import SHIPPED, save

WIDTH, LAYERS, HEADS, CONTEXT = 64, 4, 4, 128
BATCH, PAGES, RATE = 24, 20_000, 3e-3


def train(steps: int, seed: int = 0) -> GPT:
    """Returns a model after ``steps`` of AdamW on the diary; the loss is printed on the way, in nats a character."""
    torch.manual_seed(seed)
    text = encode(corpus(PAGES, seed))
    model = GPT(len(ALPHABET), CONTEXT, WIDTH, LAYERS, HEADS)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps + 1, pct_start=0.1)
    for step in range(1, steps + 1):
        starts = torch.randint(0, len(text) - CONTEXT - 1, (BATCH, 1))
        window = text[starts + torch.arange(CONTEXT + 1)]
        loss = F.cross_entropy(model(window[:, :-1]).flatten(0, 1), window[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 0 or step == steps:
            print(f"step {step:5}   loss {loss.item():.3f}", flush=True)
    return model


def main(arguments: list[str] | None = None) -> None:
    """Trains the model and writes its weights to the file that ``--out`` names."""
    parser = argparse.ArgumentParser(description="Train the course's small language model.")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default=SHIPPED, help="the safetensors file to write")
    options = parser.parse_args(arguments)
    save(train(options.steps, options.seed), options.out)
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
