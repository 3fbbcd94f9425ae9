# Wrong: divides a float32 x in place.
import torch


def quantize_blocks(x, block=128):
    M, N = x.shape
    v = x.float()
    scales = []
    for part in v.split(block, dim=1):
        s = part.abs().amax(1, keepdim=True) / 448
        part.div_(s.masked_fill(s == 0, 1.0)).clamp_(-448, 448)
        scales.append(s)
    return v.to(torch.float8_e4m3fn).contiguous(), torch.cat(scales, 1)
