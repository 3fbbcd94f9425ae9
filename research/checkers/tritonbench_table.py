"""The rows of tritonbench.json as a page."""

from collections import Counter, defaultdict
from statistics import median

import torch
import triton
from tritonbench_judged import JUDGED

FILES, LABELS = 184, 24
LABELLED = frozenset(
    "apply_penalty attention_fwd_triton1 chunk_bwd_dqkg chunk_delta_fwd chunk_gla_fwd chunk_gla_simple decay_cumsum "
    "fused_rotary_embedding matmul_triton2 nested_loops_processing parallel_retention_attention chunk_gated_attention "
    "chunk_linear_attn chunk_retention_ops fused_recurrent_delta fused_recurrent_hgrn fused_recurrent_retention "
    "layer_norm_triton parallel_attention rotary_emb_nopad token_attn_mistral token_attn_reduceV quantize_kv_copy "
    "softmax_reducev".split()
)
RAN = ("clean", "found")
FINDS = {"out-of-bounds", "crash"}  # what the labels are about
ABOUT = f"""# TritonBench_G, 184 programs, and the checkers

`python research/checkers/tritonbench.py FOLDER`. graded-kernels, interpreter and triton-viz: Triton
{triton.__version__}, PyTorch {torch.__version__}, no GPU, the same stand-in for CUDA and the same seeds.
compute-sanitizer: one H100, Triton 3.6.0, PyTorch 2.11.0+cu130, its memcheck, each tensor in an allocation of its own
(`PYTORCH_NO_CUDA_MEMORY_CACHING=1`); issue 12 itself reports 8 of 24 for it. tritonbench.json has every run.

*Found*: of the {LABELS} programs that issue 12 of thunlp/TritonBench labels as wrong, those in which the checker names
an access out of bounds, or that crash it. *Others flagged*: of the other {FILES - LABELS}, those in which it names
anything. *False alarms*: of those, the programs that are right, read by hand (below). *Did not run*: raised, launched
nothing, or took more than 40 s of processor time. *Seconds*: processor time, the middle one of those that ran. *Run*:
the day. Goal: all that are labelled, and no false alarm.
"""


def page(rows: list[dict]) -> str:
    lines = [
        ABOUT,
        "| checker | seed | programs | found | others flagged | false alarms | did not run | seconds | run |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    groups = defaultdict(list)
    for row in rows:
        groups[row["checker"], row["seed"]].append(row)
    for (checker, seed), some in sorted(groups.items()):
        days = " to ".join(sorted({min(row["date"] for row in some), max(row["date"] for row in some)}))
        lines.append(f"| {checker} | {seed} | {_counts(some)} | {days} |")
    lines += _labelled(rows) + _judged(rows)
    return "\n".join(lines) + "\n"


def _labelled(rows: list[dict]) -> list[str]:
    """A table of the labelled programs: who found each, and how it ended for the others, at seed 1."""
    lines = ["", "## Labelled as wrong", "", "| program | found by | not found by |", "|---|---|---|"]
    for name in sorted({row["file"] for row in rows} & LABELLED):
        mine = sorted((r for r in rows if r["file"] == name and r["seed"] == 1), key=lambda r: r["checker"])
        found = [r["checker"] for r in mine if {*r["kinds"]} & FINDS]
        others = [f"{r['checker']} ({', '.join(r['kinds']) or r['ending']})" for r in mine if r["checker"] not in found]
        lines.append(f"| {name} | {', '.join(found)} | {', '.join(others)} |")
    return lines


def _judged(rows: list[dict]) -> list[str]:
    """What reading the flagged programs that carry no label gave; one that nobody has read is named."""
    flagged = defaultdict(set)
    for row in rows:
        if row["ending"] == "found" and row["file"] not in LABELLED:
            flagged[row["file"]].add(row["checker"])
    kinds = Counter(JUDGED[name][0] for name in flagged if name in JUDGED)
    lines = ["", "## Flagged, and not labelled", ""]
    lines.append(
        f"{kinds['wrong']} are wrong, in the kernel or in what its test gives it; {kinds['undefined']} compute with "
        f"what Triton leaves undefined; {kinds['false alarm']} are right (false alarms). Found by reading. "
        "Masked-off lanes without `other` are undefined in Triton; today's NVIDIA backends give 0."
    )
    lines += ["", "| program | flagged by | verdict | why |", "|---|---|---|---|"]
    for name, checkers in sorted(flagged.items()):
        verdict, why = JUDGED.get(name, ("not read", ""))
        lines.append(f"| {name} | {', '.join(sorted(checkers))} | {verdict} | {why} |")
    return lines


def _counts(rows: list[dict]) -> str:
    wrong = [row for row in rows if row["file"] in LABELLED]
    found = sum(bool(FINDS & {*row["kinds"]}) for row in wrong)
    flags = [row["file"] for row in rows if row["ending"] == "found" and row["file"] not in LABELLED]
    verdicts = Counter(JUDGED.get(name, ("not read",))[0] for name in flags)
    unread = f", {verdicts['not read']} not read" if verdicts["not read"] else ""
    ended = [row for row in rows if row["ending"] in RAN]
    used = [row["cpu"] for row in ended if row["cpu"]]
    seconds = f"{median(used):.1f}" if used else ""
    others = len(rows) - len(wrong)
    flagged = f"{len(flags)} of {others} | {verdicts['false alarm']}{unread}"
    return f"{len(rows)} of {FILES} | {found} of {len(wrong)} | {flagged} | {len(rows) - len(ended)} | {seconds}"
