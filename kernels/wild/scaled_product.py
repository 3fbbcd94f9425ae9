"""A product that is added to something, as it shipped, bug for bug."""


def addmm_scaled(x, a, b, beta=1, alpha=1):
    """PyTorch's compiler, for small products on a CPU: alpha * out + beta * self, also where beta is 0, which promises
    that NaN and infinity in self are not propagated.

    `addmm` in torch/_inductor/decomposition.py, 2.13.0; github.com/pytorch/pytorch/issues/196596 (2026-09-10), open.
    """
    out = (a.T * b).sum(0, keepdim=True) if len(a) == 1 else a @ b
    return alpha * out + beta * x
