"""Faultless programs: honest kernels in every style, each with the right result. None may raise a finding.

A module here is a theme. A program launches its kernels and returns ``(output, expected)``; ``PROGRAMS`` lists them.
"""

import importlib
import pkgutil

import torch


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def programs() -> list:
    themes = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return [program for theme in themes for program in importlib.import_module(f"{__name__}.{theme}").PROGRAMS]
