# WRONG: the zero point is left out
# after: sgl-project/sglang#39626 (int8 weights)
# run: compare --arguments arguments
import torch
import triton
import triton.language as tl


@triton.jit
def widen_kernel(q_ptr, s_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    q = tl.load(q_ptr + row * n + i, mask=i < n, other=0).to(tl.float32)
    tl.store(y_ptr + row * n + i, (q) * tl.load(s_ptr + row), mask=i < n)


def widen(q, s):
    q, s = q.contiguous(), s.contiguous()
    y = torch.empty(q.shape, dtype=s.dtype, device=q.device)
    if q.numel():
        widen_kernel[(q.shape[0],)](q, s, y, q.shape[1], BLOCK=triton.next_power_of_2(q.shape[1]))
    return y


if __name__ == "__main__":
    print(
        widen(torch.randint(-100, 100, (3, 256), dtype=torch.int8, device="cuda"), torch.rand(3, device="cuda")).sum()
    )
