# kind: answer
# exercise: split_k_sum
# backend: torch
"""A sum where the exercise is a sum, by operators that do not bear its name."""

import torch


# expect: nothing
# trouble: refused
def sum_by_addmv(x):
    """A product with ones, added to nothing."""
    v = x.double()
    return torch.addmv(v.new_zeros(len(v)), v, v.new_ones(v.shape[1])).to(x.dtype)


# expect: nothing
# trouble: refused
def sum_by_scatter_add(x):
    """Every element of a row is scattered to the same place."""
    v = x.double()
    at = torch.zeros_like(v, dtype=torch.int64)
    return v.new_zeros(len(v), 1).scatter_add(1, at, v)[:, 0].to(x.dtype)


# expect: nothing
# trouble: refused
def sum_by_var_mean(x):
    """The mean that comes with a variance, times K."""
    if not x.shape[1]:
        return x.new_zeros(len(x))
    return (torch.var_mean(x.double(), 1)[1] * x.shape[1]).to(x.dtype)


# expect: nothing
# trouble: refused
def sum_by_index_put(x):
    """An assignment that adds where it meets a place again."""
    v = x.double()
    y, at = v.new_zeros(len(v)), torch.arange(len(v)).repeat_interleave(v.shape[1])
    return y.index_put((at,), v.reshape(-1), accumulate=True).to(x.dtype)
