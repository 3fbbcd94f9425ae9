"""Stands for `triton._C.libtriton.nvidia.cublas.CublasLt`, which loads a library that comes with CUDA."""

import torch

_FP4 = (0, 0.5, 1, 1.5, 2, 3, 4, 6)  # E2M1 without its sign


class CublasLt:
    """Matrix products of A (M, K) and B (N, K), A Bᵀ, summed in float32 and rounded once, into a tensor given."""

    def __init__(self, workspace: torch.Tensor):
        del workspace  # a GPU's algorithm would need it

    def matmul(self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> None:
        """C = A Bᵀ."""
        _checked(a, b, c).copy_(a.float() @ b.float().T)

    def gemm(
        self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, d: torch.Tensor, alpha: float, beta: float
    ) -> None:
        """D = alpha A Bᵀ + beta C."""
        _checked(a, b, d).copy_(alpha * (a.float() @ b.float().T) + beta * c.float())

    def block_scaled_matmul_mxfp8(
        self, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor, a_scale: torch.Tensor, b_scale: torch.Tensor
    ) -> None:
        """float8 (E4M3), with an exponent (E8M0) for 32 elements."""
        _checked(a, b, out).copy_(_scaled(a.float(), a_scale, 32) @ _scaled(b.float(), b_scale, 32).T)

    def block_scaled_matmul_nvfp4(
        self, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor, a_scale: torch.Tensor, b_scale: torch.Tensor
    ) -> None:
        """float4 (E2M1), two in a byte, with a float8 (E4M3) for 16 elements."""
        _checked(a, b, out).copy_(_scaled(_unpacked(a), a_scale, 16) @ _scaled(_unpacked(b), b_scale, 16).T)


def _checked(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    if a.dim() != 2 or b.dim() != 2 or a.shape[1] != b.shape[1] or out.shape != (a.shape[0], b.shape[0]):
        shapes = ", ".join(str(tuple(matrix.shape)) for matrix in (a, b, out))
        raise RuntimeError(f"cuBLAS multiplies (M, K) by (N, K) into (M, N); the shapes are {shapes}")
    return out


def _unpacked(pairs: torch.Tensor) -> torch.Tensor:
    """(R, K/2) bytes as (R, K) float32; the lower four bits come first."""
    codes = torch.stack((pairs & 15, pairs >> 4), dim=-1).flatten(1).long()
    return torch.tensor([*_FP4, *(-value for value in _FP4)])[codes]


def _scaled(values: torch.Tensor, scales: torch.Tensor, group: int) -> torch.Tensor:
    """Values times the scales of their groups, which cuBLAS keeps in tiles of 128 rows by 4 groups."""
    rows, columns = values.shape
    if scales.dtype == torch.uint8:
        scales = scales.view(torch.float8_e8m0fnu)
    tiles = scales.float().reshape(rows // 128, columns // group // 4, 32, 4, 4)
    each = tiles.permute(0, 3, 2, 1, 4).reshape(rows, columns // group)
    return values * each.repeat_interleave(group, dim=1)
