# exercise: silu_backward
# backend: torch
# expect: full
# limits: seconds=20, total_seconds=200
# ruff: noqa: F401
"""Prints two hundred megabytes, and is right."""

import torch


def attack():
    for _ in range(200):
        print("x" * 1_000_000)


# include: right
