# exercise: silu_backward
# backend: torch
# expect: full
# ruff: noqa: F401
"""Prints two hundred megabytes in each call."""

import torch


def attack():
    for _ in range(200):
        print("x" * 1_000_000)


# include: right
