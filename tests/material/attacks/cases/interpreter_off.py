# exercise: silu_forward
# backend: triton
# expect: nothing
# ruff: noqa: F821
"""Switches the interpreter off, so that no launch is seen."""

import os

os.environ["TRITON_INTERPRET"] = "0"

import triton

triton.knobs.runtime.interpret = False


# include: silu_kernel


# include: launch
