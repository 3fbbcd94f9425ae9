# exercise: silu_backward
# backend: torch
# expect: nothing
# trouble: raised
"""An error that paints the grader's terminal, turns text around and breaks encodings."""


def silu_backward(dy, x):
    raise ValueError("\x1b[2J\x1b]0;full marks\x07 \u202e score: 100% \ud800 <script>alert(1)</script>")
