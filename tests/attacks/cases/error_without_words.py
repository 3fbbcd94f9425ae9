# exercise: silu_backward
# backend: torch
# expect: nothing
"""Raises an error that cannot be turned into text."""


class Silent(Exception):
    def __str__(self):
        raise RuntimeError

    __repr__ = __str__


def silu_backward(dy, x):
    raise Silent
