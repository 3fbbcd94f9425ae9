# Wrong: divides in the own dtype of x, half precision where it is, and rounds twice.
import torch


def quantize_blocks(x, block=128):
    M, N = x.shape
    v = torch.nn.functional.pad(x, (0, -N % block)).unflatten(1, (-1, block))
    scale = v.abs().amax(-1).float() / 448
    safe = scale.masked_fill(scale == 0, 1.0).to(x.dtype)
    q = (v / safe.unsqueeze(-1)).clamp(-448, 448).to(torch.float8_e4m3fn)
    return q.flatten(1)[:, :N].contiguous(), scale
