# WRONG: the column's coordinate is normalised with the height: right for square images alone
# after: intel/torch-xpu-ops#4322
# run: compare --arguments arguments; sanitize
import torch
import triton
import triton.language as tl


@triton.jit
def resize_kernel(x_ptr, y_ptr, height, width, out_h, out_w, BLOCK: tl.constexpr):
    """Nearest neighbour, all planes one after the other."""
    plane, row = tl.program_id(0), tl.program_id(1)
    j = tl.arange(0, BLOCK)
    from_row = row * height // out_h
    from_column = j * height // out_w
    x = tl.load(
        x_ptr + (plane * height + from_row) * width + from_column, mask=(j < out_w) & (from_column < width), other=0.0
    )
    tl.store(y_ptr + (plane * out_h + row) * out_w + j, x, mask=j < out_w)


def resize(x):
    x = x.contiguous()
    planes, height, width = x.shape
    y = x.new_empty(planes, 2 * height, 2 * width)
    if x.numel():
        resize_kernel[(planes, 2 * height)](
            x, y, height, width, 2 * height, 2 * width, BLOCK=triton.next_power_of_2(2 * width)
        )
    return y


if __name__ == "__main__":
    print(resize(torch.randn(3, 8, 8, device="cuda")).sum())
