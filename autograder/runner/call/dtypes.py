"""The names of dtypes in reports and wire formats."""

import torch


def dtype_name(dtype: torch.dtype) -> str:
    """``float16`` for `torch.float16`."""
    return str(dtype).removeprefix("torch.")
