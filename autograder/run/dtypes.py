"""Names of dtypes, as reports and wire formats have them."""

import torch


def dtype_name(dtype: torch.dtype) -> str:
    """``float16`` for `torch.float16`."""
    return str(dtype).removeprefix("torch.")
