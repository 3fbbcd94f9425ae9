"""The text the model learns: the diary of a lighthouse keeper, as many pages as one likes, from a small grammar.

A character is a token. Days follow each other, bad weather keeps the boats away, and who arrives must leave again:
there is something to learn beyond spelling.
"""

import random

import torch

ALPHABET = "\n .,abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPRSTW"

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
CALM = ("Clear sky", "A light breeze", "Warm and still", "Soft light all morning", "Small white clouds")
ROUGH = ("Heavy rain", "A gale in the night", "Fog since dawn", "High seas", "Thunder before noon")
WINDS = ("north", "south", "east", "west", "north east", "south west")
BOATS = ("the ferry", "the post boat", "a fishing boat", "the doctor", "an old schooner")
GUESTS = ("Ada", "Bruno", "Clara", "Emil", "Frida", "Ivan", "Kaja", "Olga", "Piet", "Tom")
GOODS = ("lemons", "lamp oil", "coal", "letters", "flour", "new rope", "apples", "paint")
WORK = ("cleaned the lens", "painted the door", "mended the blue net", "repaired the stairs", "wound the clock")
MEALS = ("soup and bread", "fish with potatoes", "pancakes", "beans and bacon", "cheese and apples")
BIRDS = ("gulls", "terns", "two herons", "a lost owl", "a hundred starlings", "geese")


def corpus(pages: int, seed: int = 0) -> str:
    """``pages`` diary entries. The same numbers give the same text."""
    pick = random.Random(seed)
    day, guest, entries = pick.randrange(7), None, []
    for _ in range(pages):
        entry, guest = _entry(pick, DAYS[day % 7], guest)
        entries.append(entry)
        day += 1
    return "\n".join(entries) + "\n"


def _entry(pick: random.Random, day: str, guest: str | None) -> tuple[str, str | None]:
    """One day, and who stays overnight."""
    calm = pick.random() < 0.6
    lines = [f"{day}. {pick.choice(CALM if calm else ROUGH)}, wind from the {pick.choice(WINDS)}."]
    boat = pick.choice(BOATS)
    if not calm:
        lines.append("No boat today.")
    elif guest:
        lines.append(f"{boat[0].upper()}{boat[1:]} took {guest} home.")
        guest = None
    else:
        guest = pick.choice(GUESTS)
        lines.append(f"{boat[0].upper()}{boat[1:]} came with {pick.choice(GOODS)} and {guest}.")
    lines.append(f"{guest or 'I'} {pick.choice(WORK)}.")
    if pick.random() < 0.5:
        lines.append(f"Saw {pick.choice(BIRDS)} over the {pick.choice(('bay', 'rocks', 'island'))}.")
    lines.append(f"{'We' if guest else 'I'} had {pick.choice(MEALS)}.")
    return " ".join(lines), guest


def encode(text: str) -> torch.Tensor:
    """Characters as token numbers, int64. Raises ValueError for a character the diary does not use."""
    unknown = sorted(set(text) - set(ALPHABET))
    if unknown:
        raise ValueError(f"the diary has no {' '.join(map(repr, unknown))}; its alphabet is {ALPHABET!r}")
    return torch.tensor([ALPHABET.index(character) for character in text], dtype=torch.int64)


def decode(tokens: torch.Tensor) -> str:
    """Token numbers as text."""
    return "".join(ALPHABET[token] for token in tokens.tolist())
