"""Answers broken in one place by a mistake that people make. Of an answer without, `test_mutants` makes some."""
