# Wrong: casts a NaN exponent to uint8 instead of storing 255.
import torch


def quantize_mx(x):
    M, N = x.shape
    v = x.float().reshape(M, N // 32, 32)
    amax = v.abs().amax(dim=-1)
    e = torch.ceil(torch.log2(amax.double() / 448.0)).clamp(min=-127)
    power = torch.exp2(e)
    q = (v.double() / power[..., None]).float().to(torch.float8_e4m3fn).reshape(M, N)
    exponents = torch.nan_to_num(e + 127, nan=0.0).to(torch.uint8)
    return q, exponents
