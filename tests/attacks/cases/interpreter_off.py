# exercise: silu_forward
# backend: triton
# expect: nothing
# ruff: noqa: F821, F401
"""Switches the interpreter off, so that no launch is seen."""

import os

os.environ["TRITON_INTERPRET"] = "0"

import torch
import triton
import triton.language as tl

triton.knobs.runtime.interpret = False


# include: silu_kernel


# include: launch
