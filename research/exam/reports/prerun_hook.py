# WRONG: uninitialised; no hook clears the target that the programs add to
# after: michael-diggin/triton-kernels 66ce3af, spatial_diffusion
# run: sanitize
import torch
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, PARTS: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out_ptr, tl.sum(tl.load(x_ptr + i, mask=i < n, other=0.0), 0))


if __name__ == "__main__":
    x, out = torch.randn(300, device="cuda"), torch.empty(1, device="cuda")
    sum_kernel[(5,)](x, out, 300, BLOCK=64, PARTS=5)
    print(out)
