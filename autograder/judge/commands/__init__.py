"""Commands of `graded-kernels` that take more than a few lines. Each imports what it needs when it is run."""
