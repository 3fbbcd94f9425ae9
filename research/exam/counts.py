"""What the pages count: who is asked, and how many of the wrong and the right rows a checker calls wrong."""

from .row import Row
from .said import Said

OURS = ("sanitize", "check", "compare", "neighbours")
ABOUT_CHECKERS = {  # name: what it is, and the kinds that its authors say it sees
    "sanitize": ("graded-kernels sanitize", ("memory", "race", "uninitialised", "state", "compile")),
    "check": ("graded-kernels check", ("values at an edge", "dtype", "layout", "gradient", "state")),
    "compare": ("graded-kernels compare", ("values at an edge", "dtype", "layout", "gradient", "state", "memory")),
    "neighbours": ("graded-kernels neighbours", ("order", "causality")),
    "allclose": ("allclose as KernelBench", ("values at an edge", "dtype", "gradient")),
    "interpreter": ("Triton's interpreter", ()),
    "triton_viz": ("triton-viz 3.0", ("memory",)),
    "triton_viz_branch": ("triton-viz, its branch", ("race",)),
    "gradcheck": ("PyTorch's gradcheck", ("gradient",)),
    "compute_sanitizer": ("compute-sanitizer (H100)", ("memory",)),
    "torch_cuda_sanitizer": ("torch.cuda._sanitizer", ("race",)),
}
INSTRUMENTS = "it instruments what a GPU runs, and needs one"
NOT_RUN = {  # title: why nothing was put to it
    "torch.cuda._sanitizer": "it watches streams of a GPU, and needs one",
    "Triton's GSan": INSTRUMENTS,
    "Triton's FpSan": INSTRUMENTS,
    "Triton's ConSan": INSTRUMENTS,
    "TritonSan": "it needs no GPU, but an LLVM and a Triton built for it, which were not built",
    "CUTracer": INSTRUMENTS,
}


def judged(rows: list[Row], said: dict[str, Said], wrong: bool) -> tuple[int, int]:
    """How many of the wrong (or right) rows are called wrong, and of how many that could be judged."""
    told = [said[row.name] for row in rows if row.wrong == wrong and row.name in said and not said[row.name].cannot]
    return sum(one.found for one in told), len(told)


def of(found: int, all_of_them: int) -> str:
    return f"{found} of {all_of_them}" if all_of_them else "-"


def middle(values: list[float]) -> str:
    return f"{sorted(values)[len(values) // 2]:.1f}" if values else "-"


def asked(said: dict[str, dict[str, Said]]) -> dict[str, dict[str, Said]]:
    """Those that have judged at least one row."""
    return {name: one for name, one in said.items() if any(not s.cannot for s in one.values())}
