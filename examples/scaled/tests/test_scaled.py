"""Tests as a library has them: written for a GPU, no word about the emulator."""

import pytest
import torch
from scaled import scaled

device = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.mark.parametrize("shape", [(4, 64), (3, 100), (1, 1)])
def test_scaled(shape):
    x = torch.randn(shape, device=device)
    scale = torch.randn(shape[1], device=device)
    torch.testing.assert_close(scaled(x, scale), x * scale)
