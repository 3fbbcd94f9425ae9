"""The chapters' pictures: one quiet style, so that a cell that draws stays as short as the idea it shows.

Everything takes tensors, arrays or lists. Labels stand beside what they name; there is no legend to look up.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from IPython.display import SVG
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

RIGHT, WRONG, CURE, QUIET, INK = "#1b6ca8", "#c0392b", "#b9770e", "#9a9a9a", "#222222"
BEYOND = 1e9  # where an error of infinitely many ulp is drawn
SMALLEST = 2.0**-149  # of float32

plt.rcParams.update(
    {
        "figure.facecolor": "white",
        "figure.dpi": 110,
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlelocation": "left",
        "axes.titlesize": 11,
        "axes.edgecolor": "#555555",
        "axes.labelcolor": INK,
        "text.color": INK,
        "lines.linewidth": 1.8,
    }
)


def axes(x_label: str, y_label: str, title: str, *, y: tuple[float, float], height: float = 3.2) -> Axes:
    """An empty picture of the width of the page; its vertical axis runs over ``y``."""
    _, ax = plt.subplots(figsize=(7.6, height), layout="constrained")
    ax.set(xlabel=x_label, ylabel=y_label, title=title, ylim=y)
    return ax


def curve(
    ax: Axes, x, y, label: str, color: str, *, at: float, above: bool = True, style: str = "-", width: float = 1.8
) -> None:
    """A line, with its label beside the point whose x is nearest to ``at``."""
    x, y = _numbers(x), _numbers(y)
    ax.plot(x, y, style, color=color, linewidth=width, markersize=4)
    _label(ax, x, y, label, color, at, above)


def hole(ax: Axes, x: float, y: float, color: str) -> None:
    """A point that a curve lacks."""
    ax.plot(x, y, "o", markersize=9, markerfacecolor="white", markeredgecolor=color, markeredgewidth=1.8)


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


def ulp(ax: Axes, x, error, label: str, color: str, *, at: float, above: bool = True) -> None:
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
    return np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1).max(axis=1)


def drawing(name: str) -> SVG:
    """``course/images/NAME.svg``, for a cell to end with. JupyterLab does not show an SVG that is attached to prose."""
    return SVG(filename=str(Path(__file__).parent / "images" / f"{name}.svg"))


def _label(ax: Axes, x: np.ndarray, y: np.ndarray, label: str, color: str, at: float, above: bool) -> None:
    nearest = int(np.nanargmin(np.where(np.isfinite(y), np.abs(x - at), np.nan)))
    ax.annotate(
        label,
        (x[nearest], y[nearest]),
        xytext=(0, 7 if above else -7),
        textcoords="offset points",
        ha="center",
        va="bottom" if above else "top",
        color=color,
        fontweight="bold",
        path_effects=[withStroke(linewidth=3, foreground="white")],
    )


def _numbers(values) -> np.ndarray:
    return torch.as_tensor(values).detach().cpu().double().numpy()


def _power(value: float, _) -> str:
    if value == 0:
        return "0"
    sign, power = "-" if value < 0 else "", round(np.log10(abs(value)))
    return f"${sign}1$" if power == 0 else f"${sign}10^{{{power}}}$"
