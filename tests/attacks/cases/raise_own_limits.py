# exercise: silu_backward
# backend: torch
# expect: full
# ruff: noqa: F401
"""Asks for more time and memory than it was given."""

import resource

import torch


def attack():
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_CPU, resource.RLIMIT_NPROC):
        try:
            resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            print("ESCAPED", kind)
        except (OSError, ValueError):
            pass


# include: right
