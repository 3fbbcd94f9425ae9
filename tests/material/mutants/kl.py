"""The divergence k3, broken: (why, old, new, the case that must see it)."""

ORDINARY, NEAR, LARGE, ALONE = "ordinary values", "near r = 0", "large r", "one of the two is -inf"
BELOW_ONE = "r from 0.008 to 1"
NOTHING = "dkl is 0, and e^r overflows"

MUTANTS = {
    ("kl_forward", "torch"): (
        ("ends the series early", "range(20, 2, -1)", "range(5, 2, -1)", BELOW_ONE),
        ("has the other sign of r", "(ref.to(dtype) - logp)", "(logp.to(dtype) - ref)", ORDINARY),
        ("bounds r before exp", "far = torch.where(", "r = r.clamp(max=80)\n    far = torch.where(", LARGE),
        ("hides NaN", ".to(logp.dtype)", ".nan_to_num(0, torch.inf).to(logp.dtype)", "NaN"),
    ),
    ("kl_backward", "torch"): (
        ("subtracts 1 from e^r", "torch.expm1(r)", "(torch.exp(r) - 1)", NEAR),
        ("0 · inf", "torch.where(dkl == 0, 0, -dkl * torch.expm1(r))", "(-dkl * torch.expm1(r))", NOTHING),
        ("takes a small dkl for 0", "dkl == 0", "dkl.abs() < 1e-6", "tiny dkl and ref"),
        ("is 0 where r is", "torch.expm1(r))", "torch.expm1(r).clamp(max=100))", LARGE),
        (
            "returns zeros as they came",
            ".to(logp.dtype)  # 0",
            ".to(logp.dtype) if dkl.any() else dkl  # 0",
            "dkl is 0 everywhere",
        ),
    ),
    ("kl_forward", "triton"): (
        ("has no series", "tl.where(tl.abs(r) < 1.0, near_kl(r), far)", "far", NEAR),
        ("ends the series early", "tl.static_range(11, 2, -1)", "tl.static_range(5, 2, -1)", BELOW_ONE),
        ("inf - inf", 'tl.where(r == float("inf"), r, tl.exp(r) - 1.0 - r)', "tl.exp(r) - 1.0 - r", ALONE),
        (
            "takes ref to lie as logp does",
            "logp, ref = logp.contiguous(), ref.contiguous()",
            "logp = logp.contiguous()",
            "ref transposed",
        ),
    ),
    ("kl_backward", "triton"): (
        ("forgets r", "r + near_kl(r)", "near_kl(r)", NEAR),
        ("has no series", "tl.where(tl.abs(r) < 1.0, r + near_kl(r), tl.exp(r) - 1.0)", "tl.exp(r) - 1.0", NEAR),
        ("0 · inf", "tl.where(dkl == 0.0, 0.0, -dkl * slope)", "-dkl * slope", NOTHING),
        ("takes dkl to lie as logp does", "dkl, logp, ref = dkl.contiguous(), ", "logp, ref = ", "dkl transposed"),
    ),
    ("clamped_kl", "torch"): (
        ("bounds nothing", "(ref - logp).clamp(-12, 4)", "(ref - logp)", "r from 3 to 10,000"),
        ("bounds r at -10", ".clamp(-12, 4)", ".clamp(-10, 4)", "r from -10.9 to -10.1"),
        ("bounds r at 2", ".clamp(-12, 4)", ".clamp(-12, 2)", "r near 0"),
        ("has no cap", ".clamp(max=10)", "", "r from 3 to 10,000"),
        ("is not attached", "(r.exp() - 1 - r)", "(r.exp() - 1 - r).detach()", ORDINARY),
    ),
}
