"""Answers broken in one place by a mistake that people make, four an exercise or more.

Beyond four an answer: what no operator of `benchmarks/mutation.py` makes or `test_mutants` does not ask for, and a
subject's three mistakes (`test_hints`).
"""
