# exercise: silu_backward
# backend: torch
# expect: nothing
# slow: yes
# trouble: timeout
# limits: seconds=1.5, total_seconds=2
"""Never returns, and ignores every signal that can be ignored."""

import signal

for number in range(1, 64):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass


def silu_backward(dy, x):
    while True:
        pass
