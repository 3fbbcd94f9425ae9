"""The learner's own notebooks: given, renewed, reset, and read for progress. Nothing here overwrites what it cannot
give back.
"""
