# Wrong: returns the codes viewed as uint8, which is another dtype than float8_e4m3fn.
import torch


def quantize_blocks(x, block=128):
    M, N = x.shape
    G = (N + block - 1) // block
    padded = torch.zeros(M, G * block, dtype=torch.float32, device=x.device)
    padded[:, :N] = x
    v = padded.view(M, G, block)
    amax = v.abs().amax(dim=2)
    scale = amax / 448.0
    q = v / torch.where(scale == 0, torch.ones_like(scale), scale)[:, :, None]
    q = q.clamp(-448.0, 448.0).to(torch.float8_e4m3fn)
    return q.view(M, G * block)[:, :N].contiguous().view(torch.uint8), scale
