# exercise: silu_backward
# backend: torch
# expect: nothing
# trouble: timeout
# limits: seconds=1.5, total_seconds=2
"""Never returns."""


def silu_backward(dy, x):
    while True:
        pass
