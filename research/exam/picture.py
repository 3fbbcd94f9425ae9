"""The picture of the results: kinds by checkers."""

import textwrap
from pathlib import Path

import matplotlib

matplotlib.use("svg")

import matplotlib.pyplot as plt

from .counts import ABOUT_CHECKERS, judged, of
from .row import KINDS, Row
from .said import Said


def alt(rows: list[Row], asked: dict[str, dict[str, Said]]) -> str:
    shares = []
    for name, one in asked.items():
        found, accused = judged(rows, one, True), judged(rows, one, False)
        shares.append(f"{ABOUT_CHECKERS[name][0]} finds {of(*found)} wrong and accuses {of(*accused)} right")
    return "Checkers by kinds of mistakes, the darker the more of the wrong programs are found. " + "; ".join(shares)


def drawn(rows: dict[str, Row], said: dict[str, dict[str, Said]], file: Path) -> None:
    """A grid: kinds by checkers, the share of the wrong programs of the kind that is found."""
    every, names = list(rows.values()), [name for name in ABOUT_CHECKERS if name in said]
    names = [name for name in names if any(not one.cannot for one in said[name].values())]
    plt.rcParams["svg.hashsalt"] = "exam"
    figure, axes = plt.subplots(figsize=(9.5, 5.3))
    counted = [f"{kind} ({sum(row.wrong and row.kind == kind for row in every)})" for kind in KINDS]
    for y, kind in enumerate(KINDS):
        wrong = [row for row in every if row.kind == kind and row.wrong]
        for x, name in enumerate(names):
            found, taken = judged(wrong, said[name], True)
            share = found / taken if taken else 0
            axes.add_patch(plt.Rectangle((x, y), 0.96, 0.9, color=plt.cm.Blues(0.05 + 0.8 * share)))
            label = f"{found} of {taken}" if taken else "·"
            axes.text(x + 0.48, y + 0.45, label, ha="center", va="center", color="white" if share > 0.6 else "black")
    axes.set_xlim(0, len(names))
    axes.set_ylim(len(KINDS), 0)
    heads = [textwrap.fill(ABOUT_CHECKERS[name][0], 11) for name in names]  # no wider than a column
    axes.set_xticks([x + 0.48 for x in range(len(names))], heads)
    axes.xaxis.tick_top()
    axes.set_yticks([y + 0.45 for y in range(len(KINDS))], counted)
    axes.tick_params(length=0, labelsize=9)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_xlabel("wrong programs found, of those that the checker takes; in brackets: all of the kind")
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)
