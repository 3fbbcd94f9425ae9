# exercise: silu_backward
# backend: torch
# expect: nothing
# trouble: unloadable
"""Parentheses nested deeper than a parser may go."""

x = "@PARENTHESES@"
