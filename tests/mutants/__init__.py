"""Answers broken in one place, by case: at least four for every exercise and backend."""
