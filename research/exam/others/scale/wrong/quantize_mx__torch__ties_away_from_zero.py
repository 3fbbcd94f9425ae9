# Wrong: rounds to float8 by hand with floor(v + .5): ties go away from zero, not to even.
import torch


def quantize_mx(x):
    M, N = x.shape
    v = x.float().reshape(M, N // 32, 32)
    amax = v.abs().amax(dim=-1)
    e = torch.ceil(torch.log2(amax.double() / 448.0)).clamp(min=-127)
    power = torch.exp2(e)
    y = v.double() / power[..., None]
    size = y.abs()
    step = torch.exp2(torch.floor(torch.log2(size)).clamp(min=-6) - 3)
    y = torch.copysign(torch.floor(size / step + 0.5) * step, y)
    q = y.float().to(torch.float8_e4m3fn).reshape(M, N)
    exponents = torch.where(amax.isnan(), torch.full_like(e, 255.0), e + 127).to(torch.uint8)
    return q, exponents
