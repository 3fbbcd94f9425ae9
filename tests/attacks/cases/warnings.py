# exercise: silu_backward
# backend: torch
# expect: full
# ruff: noqa: F401
"""Warns and logs on every channel, and is right."""

import logging
import sys
import warnings

import torch


def attack():
    warnings.warn("overflow", stacklevel=1)
    logging.error("overflow")
    print("overflow", file=sys.stderr)


# include: right
