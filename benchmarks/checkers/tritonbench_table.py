"""The rows of tritonbench.json as a page."""

from collections import Counter, defaultdict
from datetime import date
from statistics import median

import torch
import triton

FILES, LABELS = 184, 24
LABELLED = frozenset(
    "apply_penalty attention_fwd_triton1 chunk_bwd_dqkg chunk_delta_fwd chunk_gla_fwd chunk_gla_simple decay_cumsum "
    "fused_rotary_embedding matmul_triton2 nested_loops_processing parallel_retention_attention chunk_gated_attention "
    "chunk_linear_attn chunk_retention_ops fused_recurrent_delta fused_recurrent_hgrn fused_recurrent_retention "
    "layer_norm_triton parallel_attention rotary_emb_nopad token_attn_mistral token_attn_reduceV quantize_kv_copy "
    "softmax_reducev".split()
)
RAN = ("clean", "found")
ABOUT = f"""# TritonBench_G, 184 programs, and the checkers that need no GPU

{{date}}, Triton {triton.__version__}, PyTorch {torch.__version__}, no GPU. Made by tritonbench.py beside this file,
which says what each checker is; all three have the same stand-in for CUDA and the same seeds. Seed 0: the program's own
random numbers, of the first run of that day, without processor time.

*Found*: of the {LABELS} programs that issue 12 of thunlp/TritonBench labels as wrong, those in which the checker names
an access out of bounds, or that crash it. *Others flagged*: of the other {FILES - LABELS}, those in which it names
anything: the labels are about accesses out of bounds, not about races, memory that is never written and lanes without
`other`, so that a flag is no false alarm by itself; each is in the table below, to be read. *Ended by themselves*:
clean or with a finding; the others raised, launched nothing, or took more processor time than allowed. *Seconds*:
processor time, the middle one of those.

`allclose` has no row: these programs have no reference to compare with.
"""


def page(rows: list[dict]) -> str:
    lines = [
        ABOUT.format(date=f"{date.today():%d %B %Y}"),
        "| checker | seed | programs run | found | others flagged |",
    ]
    lines[-1] += " ended by themselves | seconds |"
    lines.append("|---|---|---|---|---|---|---|")
    groups = defaultdict(list)
    for row in rows:
        groups[row["checker"], row["seed"]].append(row)
    for (checker, seed), some in sorted(groups.items()):
        lines.append(f"| {checker} | {seed} | {_counts(some)} |")
    lines += ["", "Programs that are not counted as run: not run.", ""]
    for (checker, seed), some in sorted(groups.items()):
        endings = ", ".join(f"{number} {ending}" for ending, number in Counter(r["ending"] for r in some).most_common())
        lines.append(f"- {checker}, seed {seed}: {endings}")
    lines += ["", "| program | labelled | checker | seed | ended | findings, or why not |", "|---|---|---|---|---|---|"]
    for row in sorted(rows, key=lambda row: (row["file"] not in LABELLED, row["file"], row["checker"], row["seed"])):
        if row["ending"] != "clean" or row["file"] in LABELLED:
            label = "yes" if row["file"] in LABELLED else ""
            what = (row["at"] or row["why"])[:160].replace("|", "/")
            lines.append(f"| {row['file']} | {label} | {row['checker']} | {row['seed']} | {row['ending']} | {what} |")
    return "\n".join(lines) + "\n"


def _counts(rows: list[dict]) -> str:
    wrong = [row for row in rows if row["file"] in LABELLED]
    found = sum(bool({"out-of-bounds", "crash"} & {*row["kinds"]}) for row in wrong)
    flagged = sum(row["ending"] == "found" for row in rows if row["file"] not in LABELLED)
    ended = [row for row in rows if row["ending"] in RAN]
    used = [row["cpu"] for row in ended if row["cpu"]]
    seconds = f"{median(used):.1f}" if used else ""
    others = len(rows) - len(wrong)
    return f"{len(rows)} of {FILES} | {found} of {len(wrong)} | {flagged} of {others} | {len(ended)} | {seconds}"
