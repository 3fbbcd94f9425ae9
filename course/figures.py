"""The chapters' pictures: one quiet style, so that a cell that draws stays as short as the idea it shows.

Everything takes tensors, arrays or lists. Labels stand beside what they name; there is no legend to look up.
A picture has no background: its colours are mid-tones that can be read on a light page and on a dark one.
"""

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from IPython import get_ipython
from IPython.display import SVG
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from matplotlib_inline.backend_inline import set_matplotlib_formats
from matplotlib_inline.config import InlineBackend

RIGHT, WRONG, CURE, QUIET, INK = "#2f80c0", "#d64a3b", "#b9770e", "#9a9a9a", "#808080"
BEYOND = 1e9  # where an error of infinitely many ulp is drawn
SMALLEST = 2.0**-149  # of float32
Numbers = torch.Tensor | np.ndarray | Sequence[float]

plt.rcParams.update(
    {
        "axes.facecolor": "none",
        "figure.dpi": 110,
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlelocation": "left",
        "axes.titlesize": 11,
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "text.color": INK,
        "lines.linewidth": 1.8,
    }
)


def _show_without_background(shell: object) -> None:
    """A figure that is transparent itself is not enough: from the colour of its ticks IPython would guess a theme, and
    JupyterLab would put a background of that theme behind it.
    """
    InlineBackend.instance(parent=shell).print_figure_kwargs = {"facecolor": "none"}
    set_matplotlib_formats("png")


if get_ipython():
    _show_without_background(get_ipython())


def axes(
    x_label: str, y_label: str, title: str, *, y: tuple[float, float], height: float = 3.2, width: float = 7.6
) -> Axes:
    """An empty picture, by default of the width of the page; its vertical axis runs over ``y``. A phone shrinks what is
    wider than 5, and its words with it.
    """
    _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    ax.set(xlabel=x_label, ylabel=y_label, title=title, ylim=y)
    return ax


def pair(x_label: str, titles: tuple[str, str], *, y: tuple[tuple[float, float], tuple[float, float]]) -> list[Axes]:
    """Two empty pictures, one above the other over one horizontal axis: a function and its gradient, say. They are
    narrow, so that a phone shows them without shrinking their words.
    """
    _, axes = plt.subplots(2, 1, figsize=(5.2, 5.2), sharex=True, layout="constrained")
    for ax, title, limits in zip(axes, titles, y, strict=True):
        ax.set(title=title, ylim=limits)
    axes[-1].set_xlabel(x_label)
    return list(axes)


def curve(
    ax: Axes,
    x: Numbers,
    y: Numbers,
    label: str,
    color: str,
    *,
    at: float,
    above: bool = True,
    align: str = "center",
    style: str = "-",
    width: float = 1.8,
) -> None:
    """A line, with its label above or below the point whose x is nearest to ``at``. Beside a steep line there is room
    where the label ends at the point (align ``"right"``) or begins there (``"left"``).
    """
    x, y = _numbers(x), _numbers(y)
    ax.plot(x, y, style, color=color, linewidth=width, markersize=4)
    _label(ax, x, y, label, color, at, above, align)


def hole(ax: Axes, x: float, y: float, color: str) -> None:
    """A point that a curve lacks."""
    ax.plot(x, y, "o", markersize=9, markerfacecolor="none", markeredgecolor=color, markeredgewidth=1.8)


def nowhere(ax: Axes, x: Numbers, y: Numbers, label: str, color: str, *, at: float) -> None:
    """Crosses at the height ``at`` where y is NaN, and what they are."""
    missing = _numbers(x)[np.isnan(_numbers(y))]
    few = missing[:: len(missing) // 16 + 1]
    height = np.full(len(few), at)
    ax.plot(few, height, "x", color=color, markersize=6, markeredgewidth=1.8)
    _label(ax, few, height, label, color, float(few.mean()), above=True)


def ulp_axes(title: str) -> Axes:
    """Error in ulp over the whole line of float32, zero in the middle, every power of ten as wide as the next."""
    ax = axes("x", "error in ulp", title, y=(0.3, 4 * BEYOND), height=3.6)
    ax.set_xscale("symlog", linthresh=SMALLEST, linscale=1.0)
    ticks = [10.0**power for power in (-40, -30, -20, -10, 0)]
    ax.xaxis.set_major_locator(FixedLocator([-tick for tick in ticks] + [0.0] + ticks))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(_power))
    ax.set_yscale("log")
    ax.set_yticks([1, 1e3, 1e6, BEYOND], ["1", "$10^3$", "$10^6$", "NaN, inf"])
    ax.yaxis.set_minor_locator(NullLocator())
    ax.set_ylim(0.3, 4 * BEYOND)  # a logarithmic scale forgets its limits
    return ax


def ulp(ax: Axes, x: Numbers, error: Numbers, label: str, color: str, *, at: float, above: bool = True) -> None:
    """Errors as dots; those below half an ulp lie on the bottom, a NaN or an infinity is a cross at the top."""
    x, error = _numbers(x), _numbers(error)
    finite = np.isfinite(error)
    drawn = np.where(finite, np.maximum(error, 0.5), BEYOND)
    ax.plot(x[finite], drawn[finite], ".", color=color, markersize=3)
    ax.plot(x[~finite], drawn[~finite], "x", color=color, markersize=6, markeredgewidth=1.8)
    _label(ax, x, _envelope(drawn) if above else drawn, label, color, at, above)


def _envelope(y: np.ndarray) -> np.ndarray:
    """The largest of the dots around each dot, so that a label stands above them all."""
    reach = len(y) // 50
    padded = np.pad(y, reach, mode="edge")
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1).max(axis=1))


def tensor_errors(title: str, series: dict[str, tuple[dict[str, float], str]]) -> None:
    """Relative errors of named tensors, a row for each, on a logarithmic scale. series: by its label the errors and a
    colour. The first label stands beside the dot of the first row, the second beside that of the second row.
    """
    names = list(next(iter(series.values()))[0])
    ax = axes("|difference| / |exact|", "", title, y=(len(names) - 0.5, -0.6), height=0.8 + 0.3 * len(names))
    for row, (label, (errors, color)) in enumerate(series.items()):
        x = np.maximum(_numbers(list(errors.values())), 1e-8)
        ax.plot(x, np.arange(len(names)), "o", color=color, markersize=6)
        ax.text(x[row] * 1.9, row, label, color=color, va="center", fontweight="bold")
    ax.set(xscale="log", xlim=(5e-9, 10))
    ax.set_yticks(range(len(names)), names)


def online_softmax(scores: Numbers, block: int, *, guard: bool) -> None:
    """The online softmax on its way over one row of scores, block by block: the running maximum as a step, and under
    each block the maximum, the factor e^(old - new) and the sum. guard: whether -inf - -inf is avoided.
    """
    scores = _numbers(scores)
    finite = scores[np.isfinite(scores)]
    floor = min(finite, default=0.0) - 1.5
    ax = axes("key", "score", "One row of scores, a block at a time", y=(floor - 3.2, max(finite, default=0.0) + 0.8))
    top, total = -np.inf, 0.0
    for start in range(0, len(scores), block):
        part = scores[start : start + block]
        middle, new = start + (len(part) - 1) / 2, max(top, part.max())
        with np.errstate(invalid="ignore"):
            shift = 0.0 if guard and new == -np.inf else new
            keep = np.exp(top - shift)
            top, total = new, total * keep + np.exp(part - shift).sum()
        _online_block(ax, start, part, top, floor)
        text = f"max {top:.1f}\nfactor {keep:.2f}\nsum {total:.2f}".replace("nan", "NaN")
        colour = WRONG if np.isnan(total) else INK
        ax.text(middle, floor - 0.3, text.replace("-inf", "−∞"), ha="center", va="top", color=colour, fontsize=9)
    ax.set(xticks=range(len(scores)), xlim=(-0.6, len(scores) - 0.4))


def _online_block(ax: Axes, start: int, part: np.ndarray, top: float, floor: float) -> None:
    """Scores as bars, those of minus infinity as crosses on the floor; the maximum after this block as a line."""
    keys = np.arange(start, start + len(part))
    seen = np.isfinite(part)
    ax.bar(keys[seen], part[seen] - floor, bottom=floor, color=to_rgba(RIGHT, 0.25), edgecolor=RIGHT)
    ax.plot(keys[~seen], np.full((~seen).sum(), floor + 0.3), "x", color=QUIET)
    if np.isfinite(top):
        ax.plot([start - 0.5, start + len(part) - 0.5], [top, top], color=CURE, linewidth=2.5)
    if start:
        ax.axvline(start - 0.5, color=QUIET, linewidth=0.8, linestyle="--")


def attention_tiles(queries: int, length: int, keys: int, block: int, *, causal: bool) -> None:
    """The scores of one head as a grid, a program a band of rows: blue where a query sees a key, empty where a tile is
    computed and masked, grey where it is not computed at all. A red query sees no key.
    """
    ax = axes("key", "query", f"{queries} queries, {length} of {keys} keys, tiles of {block} by {block}", y=(0, 1))
    rows, cols = np.arange(queries)[:, None], np.arange(keys)[None, :]
    seen = (cols < length) & ((cols <= rows + length - queries) | (not causal))
    for i in range(queries):
        for j in range(keys):
            band = slice(i // block * block, i // block * block + block)
            needed = seen[band, j // block * block :].any()
            face = to_rgba(RIGHT, 0.25) if seen[i, j] else "none" if needed else to_rgba(QUIET, 0.3)
            ax.add_patch(plt.Rectangle((j, i), 0.94, 0.9, facecolor=face, edgecolor=RIGHT if seen[i, j] else QUIET))
        if not seen[i].any():
            ax.text(-0.3, i + 0.45, "no key", color=WRONG, ha="right", va="center", fontsize=8)
    for edge in range(0, queries + 1, block):
        ax.axhline(edge - 0.05, color=INK, linewidth=1.4)
    for edge in range(0, keys + 1, block):
        ax.axvline(edge - 0.03, color=INK, linewidth=0.8)
    bands = range(-(-queries // block))
    ax.set(xlim=(-1.6, keys + 0.1), ylim=(queries + 0.1, -0.2), xticks=np.arange(keys) + 0.45)
    ax.set_xticklabels([str(j) for j in range(keys)])
    ax.set_yticks([min((p + 0.5) * block, (p * block + queries) / 2) for p in bands], [f"program {p}" for p in bands])
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)


def sum_order(numbers: int, blocks: tuple[int, ...]) -> None:
    """The order in which so many numbers are added, a picture for each length of a block: within a block neighbours in
    a tree, then block after block.
    """
    _, pictures = plt.subplots(1, len(blocks), figsize=(7.6, 2.6), sharey=True)
    for ax, block in zip(pictures, blocks, strict=True):
        total, *others = (_tree(ax, start, block) for start in range(0, numbers, block))
        for root in others:
            total = _added(ax, total, root, WRONG)
        ax.set_title(f"blocks of {block}")
        ax.axis("off")


def _tree(ax: Axes, start: int, block: int) -> tuple[float, float]:
    """Draws the sum of a block; returns where its root is."""
    level = [(float(at), 0.0) for at in range(start, start + block)]
    ax.plot(*zip(*level, strict=True), "o", color=INK, markersize=4)
    while len(level) > 1:
        level = [_added(ax, left, right, RIGHT) for left, right in zip(level[::2], level[1::2], strict=True)]
    return level[0]


def _added(ax: Axes, left: tuple[float, float], right: tuple[float, float], color: str) -> tuple[float, float]:
    """Draws the sum of two."""
    parent = (left[0] + right[0]) / 2, max(left[1], right[1]) + 1
    for x, y in (left, right):
        ax.plot((x, parent[0]), (y, parent[1]), color=color, linewidth=1.3)
    ax.plot(*parent, "o", color=color, markersize=4)
    return parent


def roofline(gpus: dict[str, tuple[float, float, float]], kernels: dict[str, float]) -> None:
    """Says what each GPU reaches at most, over operations a byte, and where kernels lie.

    gpus: by name bytes a second, and operations a second in float32 (dashed) and of its matrix units. kernels: by name
    operations a byte.
    """
    title = "What a GPU reaches at most"
    ax = axes("operations a byte", "operations a second", title, y=(1e9, 1e16), height=6.0, width=5.2)
    ax.set(yscale="log", xlim=(2**-3, 2**13))
    ax.set_xscale("log", base=2)
    x = np.logspace(-3, 13, 200, base=2)
    for (name, (bandwidth, vector, matrix)), color in zip(gpus.items(), (CURE, RIGHT, WRONG), strict=True):
        ax.plot(x, np.minimum(x * bandwidth, matrix), color=color)
        ax.plot(
            x[x * bandwidth > vector], np.full((x * bandwidth > vector).sum(), vector), "--", color=color, linewidth=1
        )
        ax.text(x[-1], matrix * 1.1, name, color=color, ha="right", va="bottom", fontweight="bold")
    low, high = 1.4e9, 1.4e11  # two rows of names
    last = {low: 0.0, high: 0.0}  # where the last name of each stands
    for intensity, name in sorted((intensity, name) for name, intensity in kernels.items()):
        ax.axvline(intensity, color=QUIET, linewidth=0.9, linestyle=":")
        place = {row: max(intensity, 1.4 * before) for row, before in last.items()}  # a name is as wide as that
        row = low if place[low] < 1.2 * intensity else high
        last[row] = place[row]
        ax.text(place[row], row, f"{name} ", rotation=90, ha="right", va="bottom", fontsize=9)


def drawing(name: str) -> SVG:
    """``course/images/NAME.svg``, for a cell to end with. JupyterLab does not show an SVG that is attached to prose."""
    return SVG(filename=str(Path(__file__).parent / "images" / f"{name}.svg"))


def _label(
    ax: Axes, x: np.ndarray, y: np.ndarray, label: str, color: str, at: float, above: bool, align: str = "center"
) -> None:
    nearest = int(np.nanargmin(np.where(np.isfinite(y), np.abs(x - at), np.nan)))
    ax.annotate(
        label,
        (x[nearest], y[nearest]),
        xytext=(0, 7 if above else -7),
        textcoords="offset points",
        ha=align,
        va="bottom" if above else "top",
        color=color,
        fontweight="bold",
    )


def _numbers(values: Numbers) -> np.ndarray:
    return torch.as_tensor(values).detach().cpu().double().numpy()


def _power(value: float, _: object) -> str:
    if value == 0:
        return "0"
    sign, power = "-" if value < 0 else "", round(np.log10(abs(value)))
    return f"${sign}1$" if power == 0 else f"${sign}10^{{{power}}}$"
