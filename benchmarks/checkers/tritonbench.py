"""TritonBench_G through ``graded-kernels sanitize``: 184 strangers' kernels, 24 of them labelled as wrong by hand.

    python benchmarks/checkers/tritonbench.py FOLDER [--jobs N] [--seconds N] [--only NAME]

FOLDER: a checkout of github.com/thunlp/TritonBench at commit 603e28a (`git clone`, then `git checkout 603e28a`); its
files are not ours to copy. Labels: issue 12 there, "Memory corruption bugs in Triton kernels", of 26 August 2026.
Prints a table, and writes it to tritonbench.md beside this file unless --only is given. Without FOLDER: not run.
"""

import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FILES = "data/TritonBench_G_v1"
LABELLED = frozenset(
    "apply_penalty attention_fwd_triton1 chunk_bwd_dqkg chunk_delta_fwd chunk_gla_fwd chunk_gla_simple decay_cumsum "
    "fused_rotary_embedding matmul_triton2 nested_loops_processing parallel_retention_attention chunk_gated_attention "
    "chunk_linear_attn chunk_retention_ops fused_recurrent_delta fused_recurrent_hgrn fused_recurrent_retention "
    "layer_norm_triton parallel_attention rotary_emb_nopad token_attn_mistral token_attn_reduceV quantize_kv_copy "
    "softmax_reducev".split()
)
ENDINGS = {0: "clean", 1: "found", 2: "not judged", 3: "program failed"}


def judged(file: Path, seconds: int) -> dict:
    """What the command says of one file: its status, the kinds of findings, and the reason where there is none."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))

    command = [sys.executable, "-m", "graded_kernels.autograder", "sanitize", "--json", str(file)]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limited, cwd=folder)
    try:
        told = json.loads(done.stdout)
    except json.JSONDecodeError:
        return {"file": file.stem, "ending": "no report", "kinds": [], "why": done.stderr[-200:], "at": ""}
    ending = ENDINGS.get(told["status"], "interrupted")
    if not told["findings"] and re.search(r"signal (9|24)\b", told["failed"] or ""):
        ending = f"over {seconds} s of processor"
    first = (told["not_judged"] or [{}])[0].get("message") or told["failed"] or told["unusable"] or ""
    if told["status"] == 2 and not first:
        first = "launched no kernel"
    at = [f"{one['kind']} line {one['line']} {one['tensor']} {one['offset']}" for one in told["findings"]]
    kinds = sorted({one["kind"] for one in told["findings"]})
    return {"file": file.stem, "ending": ending, "kinds": kinds, "why": first, "at": "; ".join(at)}


def table(rows: list[dict]) -> str:
    lines = []
    for title, labelled in (("labelled", True), ("the others", False)):
        some = [row for row in rows if (row["file"] in LABELLED) == labelled]
        memory = sum("out-of-bounds" in row["kinds"] for row in some)
        endings = ", ".join(f"{number} {ending}" for ending, number in Counter(r["ending"] for r in some).most_common())
        lines.append(f"{title}: {len(some)} files, {memory} with accesses out of bounds; {endings}")
    lines += ["", "| file | labelled | ended | findings | reason |", "|---|---|---|---|---|"]
    for row in sorted(rows, key=lambda row: (row["file"] not in LABELLED, row["ending"], row["file"])):
        why = " ".join(row["why"].split())[:120].replace("|", "/") if row["ending"] != "found" else ""
        label = "yes" if row["file"] in LABELLED else ""
        lines.append(f"| {row['file']} | {label} | {row['ending']} | {row['at'][:160]} | {why} |")
    return "\n".join(lines)


def page(rows: list[dict], files: int) -> str:
    more = "" if len(rows) == files else f"The first {len(rows)} of {files} files; the others: not run.\n\n"
    return f"# TritonBench_G through `graded-kernels sanitize`\n\n{more}{table(rows)}\n"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", nargs="?", type=Path)
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--seconds", type=int, default=60)
    options.add_argument("--only", default="")
    chosen = options.parse_args()
    if chosen.folder is None or not (chosen.folder / FILES).is_dir():
        print(f"not run: no {FILES} here. Clone github.com/thunlp/TritonBench, check out 603e28a, and name the folder.")
        return 0
    files = [file for file in (chosen.folder / FILES).glob("*.py") if chosen.only in file.stem]
    files.sort(key=lambda file: (file.stem not in LABELLED, file.stem))
    rows = []
    with ThreadPoolExecutor(chosen.jobs) as pool:
        for row in pool.map(lambda file: judged(file.resolve(), chosen.seconds), files):
            rows.append(row)
            print(row["file"], row["ending"], row["at"] or row["why"][:150], file=sys.stderr, flush=True)
            if not chosen.only:  # after every file: a table of some of them is worth having, and says so
                (Path(__file__).parent / "tritonbench.md").write_text(page(rows, len(files)), encoding="utf-8")
    print(page(rows, len(files)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
