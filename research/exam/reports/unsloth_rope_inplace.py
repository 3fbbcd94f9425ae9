# WRONG: the rotation is written over the query that it was given
# after: unslothai/unsloth#5001
# run: compare --arguments arguments; sanitize
import torch
import triton
import triton.language as tl


@triton.jit
def rope_kernel(q_ptr, out_ptr, cos_ptr, sin_ptr, half, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    mask = i < half
    a = tl.load(q_ptr + row * 2 * half + i, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(q_ptr + row * 2 * half + half + i, mask=mask, other=0.0).to(tl.float32)
    c = tl.load(cos_ptr + row * half + i, mask=mask, other=0.0).to(tl.float32)
    s = tl.load(sin_ptr + row * half + i, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * 2 * half + i, a * c - b * s, mask=mask)
    tl.store(out_ptr + row * 2 * half + half + i, b * c + a * s, mask=mask)


def rotate(q, cos, sin):
    cos, sin = cos.contiguous(), sin.contiguous()
    out = q if q.is_contiguous() else q.contiguous()
    if q.numel():
        rope_kernel[(q.shape[0],)](out, out, cos, sin, q.shape[1] // 2, BLOCK=triton.next_power_of_2(q.shape[1] // 2))
    return out


if __name__ == "__main__":
    q, angle = torch.randn(6, 24, device="cuda"), torch.rand(6, 12, device="cuda")
    print(rotate(q, angle.cos(), angle.sin()).sum())
