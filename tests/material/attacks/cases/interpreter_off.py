# exercise: silu_forward
# backend: triton
# expect: full
# ruff: noqa: F821
"""Switches the interpreter off, which reaches no setting that counts: the launch is seen, and its kernel is right."""

import os

os.environ["TRITON_INTERPRET"] = "0"

import triton

triton.knobs.runtime.interpret = False


# include: silu_kernel


# include: launch
