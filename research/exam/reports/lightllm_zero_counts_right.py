# RIGHT: the counters are cleared before the launch
# after: ModelTC/LightLLM#1351
# run: sanitize
import torch
import triton
import triton.language as tl


@triton.jit
def count_kernel(id_ptr, count_ptr, n, EXPERTS: tl.constexpr, BLOCK: tl.constexpr, CLEAR: tl.constexpr):
    if CLEAR:
        tl.store(count_ptr + tl.arange(0, EXPERTS), tl.zeros([EXPERTS], tl.int32))
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    expert = tl.load(id_ptr + i, mask=i < n, other=0)
    tl.atomic_add(count_ptr + expert, 1, mask=i < n)


if __name__ == "__main__":
    ids = torch.randint(8, (100,), dtype=torch.int32, device="cuda")
    counts = torch.zeros(8, dtype=torch.int32, device="cuda")
    count_kernel[(triton.cdiv(100, 32),)](ids, counts, 100, EXPERTS=8, BLOCK=32, CLEAR=False)
    print(counts)
