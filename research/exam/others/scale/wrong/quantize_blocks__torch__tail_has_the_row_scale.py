# Wrong: the shorter last block is quantised by the largest of the whole row.
import torch


def quantize_blocks(x, block=128):
    M, N = x.shape
    whole = N // block
    q = torch.empty(M, N, dtype=torch.float8_e4m3fn, device=x.device)
    scale = torch.empty(M, -(-N // block), dtype=torch.float32, device=x.device)
    for g in range(scale.shape[1]):
        part = x[:, g * block : (g + 1) * block].float()
        over = part if g < whole else x.float()
        scale[:, g] = over.abs().amax(1) / 448
        s = scale[:, g, None]
        q[:, g * block : (g + 1) * block] = torch.where(s == 0, 0.0, part / s).clamp(-448, 448).to(torch.float8_e4m3fn)
    return q, scale
