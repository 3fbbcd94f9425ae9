# Wrong: multiplies by 448 / amax, which is infinite below 1.3e-36.
import torch


def quantize_blocks(x, block=128):
    M, N = x.shape
    G = (N + block - 1) // block
    padded = torch.zeros(M, G * block, dtype=torch.float32, device=x.device)
    padded[:, :N] = x
    v = padded.view(M, G, block)
    amax = v.abs().amax(dim=2)
    scale = amax / 448.0
    inverse = torch.where(amax > 0, 448.0 / amax, torch.zeros_like(amax))
    q = v * inverse[:, :, None]
    q = q.clamp(-448.0, 448.0).to(torch.float8_e4m3fn)
    return q.view(M, G * block)[:, :N].contiguous(), scale
