# exercise: silu_backward
# backend: torch
# expect: nothing
# trouble: raised
"""Returns an object that is no tensor and answers to everything."""


class Duck:
    def __init__(self, x):
        self.shape, self.dtype = x.shape, x.dtype

    def __getattr__(self, name):
        return lambda *args, **kwargs: self

    def __eq__(self, other):
        return True

    __hash__ = None


def silu_backward(dy, x):
    return Duck(x)
