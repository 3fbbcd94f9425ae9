"""A script as its author wrote it, for a GPU: `graded-kernels sanitize demo.py` runs it without one."""

import torch
from scaled import scaled

x = torch.randn(8, 100, device="cuda")
scale = torch.randn(100, device="cuda")
error = (scaled(x, scale) - x * scale).abs().max().item()
print(f"largest error: {error:.2e}")
