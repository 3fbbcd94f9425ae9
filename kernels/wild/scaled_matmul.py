"""Products of int8 matrices with a scale for each group along K, as they shipped, bug for bug."""

import torch


def _product(a, a_scale, b, b_scale):
    """The sum over the groups, each scaled."""
    G = a_scale.shape[1]
    left, right = a.float().unflatten(1, (G, -1)), b.float().unflatten(0, (G, -1))
    sums = torch.einsum("mgk,gkn->gmn", left, right)
    return (a_scale.T[:, :, None] * b_scale[:, None, :] * sums).sum(0)


def scaled_matmul_strides_from_the_shape(a, a_scale, b, b_scale):
    """vLLM 0.25: `_ensure_scale_caches` of the Triton backend works the strides of the scales out from their shape. In
    a cache whose pages are padded they are others.

    github.com/vllm-project/vllm/issues/49716 (2026-07-25); read from the tensor since pull request 44455.
    """

    def by_its_shape(x):
        needed, held = x.storage_offset() + x.numel(), x.untyped_storage().nbytes() // x.element_size()
        if needed > held:  # as of a row at stride 0: there are no such numbers
            return x
        return x.as_strided(x.shape, torch.empty(x.shape).stride(), x.storage_offset())

    return _product(a, by_its_shape(a_scale), b, by_its_shape(b_scale))


def scaled_matmul_one_scale_a_tile(a, a_scale, b, b_scale, tile=64):
    """sglang's product of 8-bit blocks reads one scale for a tile of K, as if a tile lay in one group.

    github.com/sgl-project/sglang/issues/39626 (2026-09-15, open).
    """
    K, group = a.shape[1], a.shape[1] // a_scale.shape[1]
    of_tile = torch.arange(0, K, tile) // group
    at = of_tile.repeat_interleave(tile)[:K]
    return (a.float() * a_scale[:, at]) @ (b.float() * b_scale[at])


def scaled_matmul_in_int8(a, a_scale, b, b_scale):
    """The sums of a group in int8, where they wrap around: a mistake of the course."""
    G = a_scale.shape[1]
    left, right = a.unflatten(1, (G, -1)), b.unflatten(0, (G, -1))
    sums = torch.stack([left[:, g].int() @ right[g].int() for g in range(G)])
    return (a_scale.T[:, :, None] * b_scale[:, None, :] * sums.to(torch.int8)).sum(0)
