"""The rows of tritonbench.json as a page."""

from collections import Counter, defaultdict
from datetime import date
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
ABOUT = f"""# TritonBench_G, 184 programs, and the checkers

{{date}}. graded-kernels, interpreter and triton-viz: Triton {triton.__version__}, PyTorch {torch.__version__}, no GPU,
the same stand-in for CUDA and the same seeds. compute-sanitizer: one H100, Triton 3.6.0, PyTorch 2.11.0+cu130, its
memcheck, each tensor in an allocation of its own (`PYTORCH_NO_CUDA_MEMORY_CACHING=1`); issue 12 itself reports 8 of 24
for it. Random numbers on a GPU are others than on a CPU. Made by tritonbench.py beside this file, which says what each
checker is; the rows are of several runs on two days. Seeds 2 and 3: of graded-kernels alone.

*Found*: of the {LABELS} programs that issue 12 of thunlp/TritonBench labels as wrong, those in which the checker names
an access out of bounds, or that crash it. *Others flagged*: of the other {FILES - LABELS}, those in which it names
anything: the labels are about accesses out of bounds, not about races, memory that is never written and lanes without
`other`. *False alarms*: of those, the programs that are right, read by hand (below). *Did not run*: raised, launched
nothing, or took more processor time than allowed. *Seconds*: processor time, the middle one of those that ran, clean or
with a finding; of compute-sanitizer with a GPU beside it, of the others on a machine that did other work as well.

`allclose` has no row: these programs have no reference to compare with; allclose.md has the wild bugs instead.
"""


def page(rows: list[dict]) -> str:
    lines = [
        ABOUT.format(date=f"{date.today():%d %B %Y}"),
        "| checker | seed | programs | found | others flagged | false alarms | did not run | seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    groups = defaultdict(list)
    for row in rows:
        groups[row["checker"], row["seed"]].append(row)
    for (checker, seed), some in sorted(groups.items()):
        lines.append(f"| {checker} | {seed} | {_counts(some)} |")
    lines += ["", "Programs that are not counted were not tried.", ""]
    for (checker, seed), some in sorted(groups.items()):
        endings = ", ".join(f"{number} {ending}" for ending, number in Counter(r["ending"] for r in some).most_common())
        lines.append(f"- {checker}, seed {seed}: {endings}")
    lines += _judged(rows)
    lines += ["", "| program | labelled | checker | seed | ended | findings, or why not |", "|---|---|---|---|---|---|"]
    for row in sorted(rows, key=lambda row: (row["file"] not in LABELLED, row["file"], row["checker"], row["seed"])):
        if row["ending"] != "clean" or row["file"] in LABELLED:
            label = "yes" if row["file"] in LABELLED else ""
            what = (row["at"] or row["why"])[:160].replace("|", "/")
            lines.append(f"| {row['file']} | {label} | {row['checker']} | {row['seed']} | {row['ending']} | {what} |")
    return "\n".join(lines) + "\n"


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
        f"what Triton leaves undefined; {kinds['false alarm']} are right (false alarms). Found by reading. A "
        "false alarm of graded-kernels in an earlier run is repaired: int8_matmul_kernel, whose `tl.static_assert` is "
        "false in configurations that the autotuner passes over."
    )
    lines += ["", "| program | flagged by | verdict | why |", "|---|---|---|---|"]
    for name, checkers in sorted(flagged.items()):
        verdict, why = JUDGED.get(name, ("not read", ""))
        lines.append(f"| {name} | {', '.join(sorted(checkers))} | {verdict} | {why} |")
    return lines


def _counts(rows: list[dict]) -> str:
    wrong = [row for row in rows if row["file"] in LABELLED]
    found = sum(bool({"out-of-bounds", "crash"} & {*row["kinds"]}) for row in wrong)
    flags = [row["file"] for row in rows if row["ending"] == "found" and row["file"] not in LABELLED]
    verdicts = Counter(JUDGED.get(name, ("not read",))[0] for name in flags)
    unread = f", {verdicts['not read']} not read" if verdicts["not read"] else ""
    ended = [row for row in rows if row["ending"] in RAN]
    used = [row["cpu"] for row in ended if row["cpu"]]
    seconds = f"{median(used):.1f}" if used else ""
    others = len(rows) - len(wrong)
    flagged = f"{len(flags)} of {others} | {verdicts['false alarm']}{unread}"
    return f"{len(rows)} of {FILES} | {found} of {len(wrong)} | {flagged} | {len(rows) - len(ended)} | {seconds}"
