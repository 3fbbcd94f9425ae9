"""The front page of results, in the folder above: who finds what, and what ours miss."""

from textwrap import shorten

from .counts import ABOUT_CHECKERS, NOT_RUN, OURS, asked, judged, middle, of
from .picture import alt
from .row import CONTRACT, Row
from .said import Said

TEXT = """# Which checkers see what is wrong in a GPU kernel

Each team labels wrong kernels for its own tool. Here {rows} programs, {wrong} of them wrong in a known way and {right}
right, are put to each checker, ours among them. Not one sees every kind of mistake.

| checker | found of wrong | accused of right | one source: found | accused | cannot | not asked | seconds |
|---|---|---|---|---|---|---|---|
{checkers}

**found**: of the wrong programs that the checker could take, those that it calls wrong. **accused**: of the right ones
that it could take, those that it calls wrong. The first two columns count {sure} programs of which a second source says
what the first does; *one source* are the others. **cannot**: programs of which it has nothing to say (no Triton kernel,
no reference, not here). *seconds*: the middle one, by the clock, on two cores that were shared. No GPU was here,
but for compute-sanitizer, which is the second source of many and is not counted by it: kernels ran in emulators, those
of `allclose` in Triton's interpreter, where an exception counts as found.

![{alt}](exam/results.svg)

Kinds, second sources, whose programs they are, how to add a row or a checker: **[the exam](exam/README.md)**.

- **`allclose` on random inputs does not see what breaks at an edge.** Of {tried} wrong answers by authors who had only
  the contract of the course's exercises, and no grader, it accepts {passed_close}; `check` accepts {passed_check}. Of
  {tried_right} right ones by the same authors `allclose` refuses {accused_close}, and `check` {accused_check}; it had
  refused two, by a case that asked more than the contract and is repaired. These are the ones that were put to both so
  far, of {all_by_others} (`others`): most in the order of a hash of their names, the last ones those of attention by
  name, and by the time that answers to their exercise take, the shortest first.
- In sample, as the inputs of `check` were made for them: of {wild} bugs that libraries shipped or many
  people make, `allclose` accepts {accepted}; `check` {refused}.
- **Accesses outside, races and values that nobody wrote are seen by running the kernel under a checker**, and checkers
  differ. Of TritonBench's {bench} wrong programs `sanitize` finds {bench_ours} without a GPU, and compute-sanitizer on
  an H100 {bench_cs}, of those that it could take. Of TritonRaceBench's races the prover of its authors, triton-viz's
  branch, finds {races_branch}, and `sanitize` {races_ours}; of its right programs the branch accuses
  {accused_branch}, and `sanitize` {accused_ours}, by decision (below).
- **Whether a row depends on the rows beside it** is seen by `neighbours` alone: of {rows_of_others}
  functions of vLLM, sglang, Liger-Kernel and others it judges {as_said} as the text of their launch says.
- **Whether a position depends on what comes behind it** is asked by `neighbours` alone, too: of {causal_of_others}
  functions of flash-linear-attention, mamba, sglang and others it judges {causal_as_said} as the text of their kernels
  says.

## What ours miss, and whom they accuse

Misses of a kind that the checker says it sees, and every false alarm, each with the reason. *By decision*: it stays as
it is. *Open*: it is to be repaired, and this list is where that stands. `check` and `compare` are asked for what is an
exercise of the course, or has a reference. A mistake that is not listed, or a decision that you think wrong: open an
issue with the name of the row, or with a new row.

{ours}

## What are no rows

- Whole test suites of six libraries under the simulated GPU, Triton's tutorials, and the examples of Helion that take
  more than a minute ([audit/suites.md](audit/suites.md)): of their thousands of launches nobody says one by one which
  are right. What was found wrong there are rows of `releases/`.
- Triton's own language tests, here and in Triton's interpreter ([language_tests/README.md](language_tests/README.md)):
  they say how a kernel runs, not what is wrong in it.
- Released packages put to the course's exercises ([audit/audit.md](audit/audit.md)): what one does not pass may be its
  choice. What is a fault is a row of `releases/`.
- Two repairs, FlagOpen/FlagGems f395f956 and BobMcDear/attorch 194d60ca, both of layer norm's gradient: the repaired
  kernel has another fault, and is no right twin.

This page is made by `python -m research.exam --page` from what was run: `python -m research.exam --checker NAME`.
"""
EQUAL = "By decision: programs that store equal values are a hint, since no order changes the result."
BLOCK_POINTER = (
    "By decision: what a block pointer without `padding_option` loads outside of its shape has no value by Triton's "
    "documentation. Programs of tritonbench that compute with it are labelled wrong."
)
LOADED = (
    "By decision: a load of memory that nobody wrote is reported where it happens, whether its value is used or not. "
    "Here a `tl.where` throws the value away: the kernel is right, and `sanitize` accuses it."
)
UNDRAWN = "By decision: inputs that its corpus never draws (no keys, NaN) are judged by what PyTorch does with them."
HELD = (
    "By decision: put to `correct` and `portable` alone. It holds more memory than is allowed, which a chapter's check "
    "refuses: *efficient*, no."
)
REASONS = {  # why ours miss or accuse a row
    "planted/order_dependence": "By decision: whether the order is free, no program says.",
    "reports/unsloth_rope_inplace": "By decision: whether an argument may be changed, only a reference says; `compare` "
    "sees it.",
    "racebench/trb016_pc_wait_no": "By decision: one thread releases the flag, and a block of 64 is stored by two "
    "warps. Triton makes no barrier between the two (there is none in its PTX for sm_90), so the flag may be there "
    "before the block.",
    "gpuemu/flash_attention_triton": UNDRAWN,
    "gpuemu/relu_triton": UNDRAWN,
    "others/attention/attention_forward__torch__all_scores": HELD,
    "others/first/linear_cross_entropy_forward_backward__torch__all_logits": HELD,
    "others/first/linear_cross_entropy_forward_backward__torch__chunks_put_together": HELD,
    "others/first/linear_cross_entropy_forward_backward__triton__all_logits": HELD,
    "fixes/kda_short_chunk/right": LOADED,
    **{
        f"fixes/{name}/right": BLOCK_POINTER
        for name in (
            "conv_weight_gradient",
            "conv_of_strided_gradient",
            "conv_of_initial_state",
            "gdn_strong_gate",
            "nsa_compression_gradient",
            "nsa_of_two_parts",
        )
    },
}


def front(rows: dict[str, Row], said: dict[str, dict[str, Said]]) -> str:
    every, those = list(rows.values()), asked(said)
    wild = [row for row in every if row.family == "wild"]
    bench = [row for row in every if row.family == "tritonbench"]
    races = [row for row in every if row.family == "racebench"]
    found, taken = judged(wild, said.get("allclose", {}), True)
    close, check = (said.get(name, {}) for name in ("allclose", "check"))
    by_contract = [row for row in every if row.source == CONTRACT]
    by_others = [row for row in by_contract if answered(row, close) and answered(row, check)]
    found_close, found_check = (judged(by_others, one, True)[0] for one in (close, check))
    wrong = sum(row.wrong for row in by_others)
    lines = [line(name, said.get(name, {}), rows) for name in ABOUT_CHECKERS]
    titles = [title for title, _ in ABOUT_CHECKERS.values()]
    return TEXT.format(
        rows=len(every),
        wrong=sum(row.wrong for row in every),
        right=sum(not row.wrong for row in every),
        alt=alt(every, those),
        sure=sum(bool(row.second) for row in every),
        checkers="\n".join([*lines, *(not_run(title) for title in NOT_RUN if title not in titles)]),
        tried=wrong,
        passed_close=wrong - found_close,
        passed_check=wrong - found_check,
        tried_right=len(by_others) - wrong,
        accused_close=judged(by_others, close, False)[0],
        accused_check=judged(by_others, check, False)[0],
        all_by_others=len(by_contract),
        wild=len(wild),
        accepted=f"{taken - found}" if taken == len(wild) else of(taken - found, taken),
        refused=f"refuses {of(*judged(wild, said.get('check', {}), True))}",
        bench=sum(row.wrong for row in bench),
        bench_ours=of(*judged(bench, said.get("sanitize", {}), True)),
        bench_cs=of(*judged(bench, said.get("compute_sanitizer", {}), True)),
        races_branch=of(*judged(races, said.get("triton_viz_branch", {}), True)),
        races_ours=of(*judged(races, said.get("sanitize", {}), True)),
        accused_branch=of(*judged(races, said.get("triton_viz_branch", {}), False)),
        accused_ours=of(*judged(races, said.get("sanitize", {}), False)),
        rows_of_others=sum(row.family == "invariance" for row in every),
        as_said=agreed([row for row in every if row.family == "invariance"], said.get("neighbours", {})),
        causal_of_others=sum(row.family == "causality" for row in every),
        causal_as_said=agreed([row for row in every if row.family == "causality"], said.get("neighbours", {})),
        ours="\n\n".join(mistakes(every, name, those[name]) for name in OURS if name in those),
    )


def answered(row: Row, said: dict[str, Said]) -> bool:
    """Whether a checker has judged this row."""
    return row.name in said and not said[row.name].cannot


def agreed(rows: list[Row], said: dict[str, Said]) -> int:
    """Of how many a checker says what the label says."""
    return sum(row.name in said and not said[row.name].cannot and said[row.name].found == row.wrong for row in rows)


def line(name: str, said: dict[str, Said], rows: dict[str, Row]) -> str:
    """A checker's row of the table."""
    title = ABOUT_CHECKERS[name][0]
    if not asked({name: said}):
        return not_run(title)
    circular = name == "compute_sanitizer"  # it is the second source of many rows
    parts = [[row for row in rows.values() if bool(row.second and not circular) == sure] for sure in (True, False)]
    counts = " | ".join(of(*judged(part, said, wrong)) for part in parts for wrong in (True, False))
    cannot = sum(bool(one.cannot) for one in said.values())
    seconds = middle([one.seconds for one in said.values() if not one.cannot])
    return f"| {title} | {counts} | {cannot} | {sum(row not in said for row in rows)} | {seconds} |"


def not_run(title: str) -> str:
    """A row of the table for a checker that has judged nothing, with the reason where it is known."""
    why = f": {NOT_RUN[title]}" if title in NOT_RUN else ""
    return f"| {title} | not run{why} | | | | | | |"


def mistakes(rows: list[Row], name: str, said: dict[str, Said]) -> str:
    """The checker's misses, by their reason, and its false alarms, a line each."""
    title, sees = ABOUT_CHECKERS[name]
    told = [(row, said[row.name]) for row in rows if row.name in said and not said[row.name].cannot]
    missed: dict[str, list[str]] = {}
    accused: dict[str, list[str]] = {}
    for row, one in told:
        if row.wrong and not one.found and row.kind in sees:
            missed.setdefault(f"Missed. {reason(row, one)}", []).append(f"- **{row.name}** ({row.kind}): {row.place}")
        if one.found and not row.wrong:
            says = shorten(one.says, 160, placeholder=" ...")
            accused.setdefault(f"Accused, and right. {reason(row, one)}", []).append(f"- **{row.name}**: {says}")
    parts = ["\n".join([why, "", *those]) for why, those in (*missed.items(), *accused.items())]
    other = sum(one.found and row.wrong and one.kind not in ("", row.kind) for row, one in told)
    if other:
        parts.append(f"In {other} of the wrong programs that it finds, what it names first is of another kind.")
    return "\n\n".join([f"### {title}", *(parts or ["None."])])


def reason(row: Row, said: Said) -> str:
    return EQUAL if said.says.endswith("equal-stores") else REASONS.get(row.name, "Open.")
