# WRONG: byte 0 of an exponent-only scale becomes 0 and byte 255 infinity
# after: triton-lang/triton#11624
# run: compare --arguments arguments; sanitize
import torch
import triton
import triton.language as tl


@triton.jit
def decode_kernel(code_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    code = tl.load(code_ptr + i, mask=i < n, other=127).to(tl.int32)
    bits = code << 23
    tl.store(out_ptr + i, bits.to(tl.float32, bitcast=True), mask=i < n)


def decode(code):
    code = code.contiguous()
    out = torch.empty(code.shape, dtype=torch.float32, device=code.device)
    if code.numel():
        decode_kernel[(triton.cdiv(code.numel(), 128),)](code, out, code.numel(), BLOCK=128)
    return out


if __name__ == "__main__":
    print(decode(torch.randint(1, 200, (300,), dtype=torch.uint8, device="cuda")).sum())
