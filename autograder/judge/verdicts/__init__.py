"""Verdicts as values: what one check of one answer found, kept in the course root and used again.

- `job.Job` is everything that decides a verdict, and its digest is the verdict's key;
- `verdict.Verdict` is what was found: the report as data, its text and HTML, the score, the cost;
- `make.make_verdict` checks the answer in the sandbox;
- `store.Store` keeps verdicts, one file each, and takes them from there;
- `command` is ``graded-kernels verdicts``, which counts and removes them.

A job and a verdict travel and lie on disk as JSON. Nothing of a submission is ever pickled.
"""
