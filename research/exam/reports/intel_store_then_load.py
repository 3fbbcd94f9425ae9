# WRONG: a program stores a tile and loads it transposed with no barrier between
# after: intel/intel-xpu-backend-for-triton#7494
# run: sanitize
import torch
import triton
import triton.language as tl


@triton.jit
def turn_kernel(x_ptr, scratch_ptr, y_ptr, N: tl.constexpr):
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    first = tl.program_id(0) * N * N
    tl.store(scratch_ptr + first + i * N + j, tl.load(x_ptr + first + i * N + j) * 2)
    tl.store(y_ptr + first + i * N + j, tl.load(scratch_ptr + first + j * N + i))


if __name__ == "__main__":
    x = torch.randn(4, 16, 16, device="cuda")
    scratch, y = torch.empty_like(x), torch.empty_like(x)
    turn_kernel[(4,)](x, scratch, y, N=16)
    torch.testing.assert_close(y, 2 * x.mT)
