# RIGHT: the index is read by its own strides
# after: flagos-ai/FlagGems#6448
# run: compare --arguments arguments; sanitize
import torch
import triton
import triton.language as tl


@triton.jit
def scatter_add_kernel(out_ptr, index_ptr, source_ptr, columns, stride_r, stride_c, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    mask = i < columns
    to = tl.load(index_ptr + row * stride_r + i * stride_c, mask=mask, other=0)
    value = tl.load(source_ptr + row * columns + i, mask=mask, other=0.0)
    tl.atomic_add(out_ptr + to * columns + i, value, mask=mask)


def scatter_add(base, index, source):
    """base[index[r, c], c] += source[r, c], into a copy."""
    out = base.detach().clone(memory_format=torch.contiguous_format)
    source = source.contiguous()
    rows, columns = source.shape
    if source.numel():
        scatter_add_kernel[(rows,)](
            out, index, source, columns, index.stride(0), index.stride(1), BLOCK=triton.next_power_of_2(columns)
        )
    return out


if __name__ == "__main__":
    index = torch.tensor([0, 2, 1, 2, 0], device="cuda").view(-1, 1).expand(5, 12)
    print(scatter_add(torch.zeros(3, 12, device="cuda"), index, torch.randn(5, 12, device="cuda")).sum())
