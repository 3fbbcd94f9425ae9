# exercise: silu_backward
# backend: torch
# expect: nothing
# trouble: unloadable
# weak: full: files are not hidden at this level
"""Reads the course's own answer from the disk and runs it."""

source = open("@ROOT@/solutions/silu.py").read().replace("from .", "# from .")
exec(compile(source, "<stolen>", "exec"), globals())
