# exercise: silu_backward
# backend: torch
# expect: full
# limits: memory=100000000
# weak: skip: nothing at this level would stop it
"""Keeps more than the limit in files that exist in memory only and are mapped nowhere, each within the limit."""

import mmap
import os

PIECE, MANY = 50_000_000, 4
kept = []


def in_a_memory_file():
    return os.memfd_create("hoard")


def on_a_memory_disk(folder):
    return lambda: os.open(folder, os.O_TMPFILE | os.O_RDWR)


def hoard(make):
    """Bytes that could be kept by it."""
    total = 0
    for _ in range(MANY):
        try:
            file = make()
            os.ftruncate(file, PIECE)
            with mmap.mmap(file, PIECE) as memory:
                memory[::4096] = b"x" * len(range(0, PIECE, 4096))
        except (OSError, ValueError, AttributeError):
            break
        kept.append(file)
        total += PIECE
    for file in kept:
        os.close(file)
    kept.clear()
    return total


def attack():
    places = [on_a_memory_disk(folder) for folder in ("/dev/shm", "/tmp", "/run", "/var/tmp")]
    for make in (in_a_memory_file, *places):
        if hoard(make) > 150_000_000:
            print("ESCAPED with", getattr(make, "__name__", ""))


# include: right
