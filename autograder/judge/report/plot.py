"""The picture of a report: error in ulp over the input, the answer's against the wild bug's.

Every value of a half format may be an input, so a curve has up to 65,536 points. What is drawn is its envelope: the
largest error in each of ``BINS`` steps along the axis. NaN and infinity have no place on the axis; they are marked on
its top edge.
"""

import html
import io
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.rcsetup import cycler

from ...words import count
from ..results.case_result import Curve
from .distance import ulp

BINS = 400
NEAR, FAR = 1e-8, 1e5  # the axis shows the decades between these on both sides of zero
LOWEST = 0.05  # ulp; a smaller error is drawn here
# matplotlib writes these into the SVG, where each becomes a CSS variable that `html` sets for light and dark themes.
VARIABLES = {"#010101": "ink", "#020202": "muted", "#030303": "answer", "#040404": "wild"}
INK, MUTED, ANSWER, WILD = VARIABLES
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def draw(curve: Curve) -> str:
    """The curve as an SVG element, the same bytes for the same curve."""
    return svg_of(lambda axes: plot(axes, curve), f"Error in ulp of {curve.dtype} over {curve.parameter}", (7.2, 3))


def svg_of(plot: Callable[[Axes], None], title: str, size: tuple[float, float]) -> str:
    """Returns what ``plot`` puts on axes, as an SVG element in the colours of the page, those of the answer,
    of the wild bug and muted in this order. size: in inches.
    """
    style: Any = {"svg.fonttype": "none", "svg.hashsalt": "graded-kernels", "font.size": 9, "text.color": INK}
    style |= {"axes.edgecolor": MUTED, "axes.labelcolor": INK, "axes.spines.top": False, "axes.spines.right": False}
    style["axes.prop_cycle"] = cycler(color=(ANSWER, WILD, MUTED))
    style |= {f"{axis}tick.{part}": color for axis in "xy" for part, color in (("color", MUTED), ("labelcolor", INK))}
    with rc_context(style):
        figure = Figure(figsize=size, layout="constrained")
        plot(figure.add_subplot())
        file = io.StringIO()
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return themed(file.getvalue(), title)


def plot(axes: Axes, curve: Curve) -> None:
    """Draws the curves of a case into ``axes``."""
    far = reach(curve)
    beyond = int(np.count_nonzero(wrong(curve) & (np.abs(curve.x) > far)))
    note = f"  ({count(beyond, 'more wrong value')} beyond this axis)" if beyond else ""
    axes.set_xscale("symlog", linthresh=NEAR, linscale=0.7)
    axes.set_xlim(-far, far)
    axes.set_xticks(*decades(far))
    axes.set_xticks([], minor=True)
    axes.set(xlabel=f"{curve.parameter}{note}", ylabel=f"error, ulp of {curve.dtype}")

    shown = np.abs(curve.x) <= far
    x, answer, allowed = curve.x[shown], curve.ulp[shown], curve.allowed[shown]
    wild = np.empty(0) if curve.wild is None else curve.wild[shown]
    errors = np.concatenate([answer, wild])
    largest = errors[np.isfinite(errors)].max(initial=allowed[np.isfinite(allowed)].max(initial=10))
    top = 10 ** (np.ceil(np.log10(largest)) + 0.8)
    axes.step(*envelope(axes, x, answer), where="mid", color=ANSWER, linewidth=1.2, label="your answer", zorder=3)
    mark_lost(axes, x[np.isinf(answer)], top, color=ANSWER, markersize=4, zorder=5)
    if wild.size:
        area = axes.fill_between(*envelope(axes, x, wild), LOWEST, step="mid", color=WILD, alpha=0.45, linewidth=0)
        area.set_label(curve.wild_name)
        mark_lost(axes, x[np.isinf(wild)], top, color=WILD, markersize=9, zorder=4)
    axes.plot(*envelope(axes, x, allowed), color=INK, linewidth=0.9, linestyle=(0, (4, 3)), label=bound(allowed))
    scale_errors(axes, top, bool(np.isinf(errors).any()))
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, borderaxespad=0.2, handlelength=1.6)


def wrong(curve: Curve) -> np.ndarray:
    """Returns where the error is larger than what is allowed, or not a number."""
    return ~(curve.ulp <= curve.allowed)


def reach(curve: Curve) -> float:
    """The end of the axis: `FAR`, unless everything that is wrong lies beyond."""
    distance = np.abs(curve.x)
    lost = distance[wrong(curve)]
    return float(distance.max() if lost.size and lost.min() > FAR else min(distance.max(), FAR))


def bound(allowed: np.ndarray) -> str:
    """Returns the label of the tolerance, with its size where it is the same everywhere."""
    return f"allowed: {ulp(allowed[0])}" if allowed.min() == allowed.max() else "allowed"


def mark_lost(axes: Axes, x: np.ndarray, top: float, **style: Any) -> None:
    """Marks on the top edge, where the error is NaN or infinity."""
    where = envelope(axes, x, np.ones(len(x)))[0]
    axes.plot(where, np.full(len(where), top), "o", markeredgewidth=0, clip_on=False, **style)


def envelope(axes: Axes, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest finite y in each step along the axis, at the x where it is reached."""
    x, y = x[np.isfinite(y)], np.maximum(y[np.isfinite(y)], LOWEST)
    along = axes.xaxis.get_transform().transform(x)
    left, right = axes.xaxis.get_transform().transform(np.array(axes.get_xlim()))
    step = np.clip(((along - left) / (right - left) * BINS).astype(int), 0, BINS - 1)
    order = np.lexsort((y, step))
    last = np.flatnonzero(np.diff(step[order], append=BINS))
    kept = np.sort(order[last])
    return x[kept], y[kept]


def decades(far: float) -> tuple[list[float], list[str]]:
    """Ticks at 0 and at powers of ten on both sides of it, few enough to read."""
    exponents = [-4, 0, 4] if far <= FAR else range(0, int(np.log10(far)) + 1, 8)
    exponents = [exponent for exponent in exponents if 10.0**exponent <= far]
    ticks = [-(10.0**e) for e in reversed(exponents)] + [0.0] + [10.0**e for e in exponents]
    labels = [f"−{power(e)}" for e in reversed(exponents)] + ["0"] + [power(e) for e in exponents]
    return ticks, labels


def scale_errors(axes: Axes, top: float, lost: bool) -> None:
    """A logarithmic axis of errors, its top edge labelled where marks stand on it: the label has two lines, and no
    power of ten stands beside it.
    """
    axes.set_yscale("log")
    axes.set_ylim(LOWEST, top)
    powers = range(-1, int(np.log10(top)) + 1)
    highest = np.log10(top) - lost * np.log10(top / LOWEST) / 8
    exponents = [e for e in powers[:: 1 + len(powers) // 6] if e <= highest]
    ticks, labels = [10.0**e for e in exponents], [power(e) for e in exponents]
    axes.set_yticks(ticks + [top] * lost, labels + ["NaN or\ninfinity"] * lost)
    axes.set_yticks([], minor=True)
    for tick in ticks:
        axes.axhline(tick, color=MUTED, linewidth=0.4, alpha=0.35, zorder=0)


def power(exponent: int) -> str:
    """Returns ``0.1`` to ``100``, and any other power of ten with its exponent raised."""
    return f"{10.0**exponent:g}" if -1 <= exponent <= 2 else f"10{str(exponent).translate(SUPERSCRIPT)}"


def themed(svg: str, title: str) -> str:
    """The bare <svg> element, sized by its container, its colours and font those of the page around it.

    Its style sheet is dropped: inside a page it would hold for the whole page. So are the names of its groups.
    """
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r'<g id="[^"]*">', "<g>", svg)
    svg = re.sub(r" font-family: [^;]*;", "", svg)
    svg = re.sub(r"(\d\.\d\d)\d+", r"\1", svg)  # a hundredth of a point is below any pixel
    head, body = svg.split(">", 1)
    view = re.findall(r'viewBox="[^"]*"', head)[0]
    svg = f'<svg xmlns:xlink="http://www.w3.org/1999/xlink" {view} role="img" aria-label="{html.escape(title)}">{body}'
    for color, name in VARIABLES.items():
        svg = svg.replace(color, f"var(--gk-{name})")
    return svg.strip()
