"""Accesses of a small launch, recorded by the emulator and drawn, a program a row."""

from collections.abc import Callable

import matplotlib.pyplot as plt

from ..autograder.gpu import EmulatorError, mode, simulation
from ..autograder.gpu.interpret import WITHOUT_TRITON
from . import figures
from .touches import Story, Touch

WHITE, GREY, BLUE, GREEN, RED = "#ffffff", "#eeeeee", "#d6e6f2", "#d9ecd3", "#f4cccc"
EDGES = {WHITE: figures.INK, GREY: figures.QUIET, BLUE: figures.RIGHT, GREEN: "#38761d", RED: figures.WRONG}
DARK = "#222222"  # on these, whatever the theme of the page
REFUSAL = "These pictures need Triton's interpreter: restart with TRITON_INTERPRET=1 in the environment."


def watch(launch: Callable[[], object]) -> Story:
    """Runs ``launch()`` in the emulator and returns what its Triton programs touched, up to an access out of bounds.

    ``launch`` makes its tensors itself: it is run again for the emulator's own words where it was stopped.
    """
    if mode() != "emulator":
        return Story(error=WITHOUT_TRITON if mode() == "no triton" else REFUSAL)
    from .launch_recorder import Recorder

    story = Story()
    try:
        with Recorder(story):
            launch()
    except EmulatorError:
        story.error = _emulator_error(launch)
    return story


def _emulator_error(launch: Callable[[], object]) -> str:
    """Returns the emulator's sentence without the `Recorder`, which stands between it and the line of the kernel."""
    try:
        with simulation():
            launch()
    except EmulatorError as error:
        return str(error)
    return ""


def draw(story: Story, program: int | None = None) -> None:
    """The tensors on top, and under them what one program touched, or all: a row of cells for each load and store.

    Loads are blue, stores green, masked-off lanes grey, lanes out of bounds red and hatched.
    """
    programs = sorted({t.program for t in story.touches}) if program is None else [program]
    rows = [touch for p in programs for touch in story.of(p)]
    if not rows:
        print(story.error or f"Program {program} touched nothing.")
        return
    tensors = {size: [t for t in story.sizes if story.sizes[t] == size] for size in story.sizes.values()}
    height = len(tensors) + len(rows)
    ax = figures.axes("", "", _title(story, programs), y=(0.7 - height, 1), height=0.5 + 0.36 * height)
    for place, size in enumerate(tensors):
        for offset in range(size):
            _cell(ax, offset, -place, WHITE)
    for place, touch in enumerate(rows, len(tensors)):
        for offset, on in zip(touch.offsets, touch.on, strict=True):
            _cell(ax, offset, -place, _colour(touch, offset, on, story.sizes[touch.tensor]))
    labels = [", ".join(names) for names in tensors.values()]
    labels += [f"program {t.program} {t.verb}s {t.tensor}" for t in rows]
    ax.set_yticks([0.4 - i for i in range(height)], labels)
    largest = max(story.sizes.values())
    if len(tensors) == 1:  # else each row ends somewhere else
        ax.axvline(largest - 0.04, color=figures.WRONG, linewidth=1.2, linestyle="--", zorder=0)
    ax.set(xlim=(-0.2, max(largest, *(max(t.offsets) + 1 for t in rows)) + 0.2), xticks=[])
    ax.tick_params(left=False)
    ax.spines[:].set_visible(False)
    if story.error:
        print(story.error)


def _title(story: Story, programs: list[int]) -> str:
    who = f"program {programs[0]}" if len(programs) == 1 else f"{len(programs)} programs"
    return f"{who}, until an access out of bounds (red)" if story.error else f"What {who} loaded and stored"


def _colour(touch: Touch, offset: int, on: bool, size: int) -> str:
    if not on:
        return GREY
    if not 0 <= offset < size:
        return RED
    return BLUE if touch.verb == "load" else GREEN


def _cell(ax: plt.Axes, offset: int, height: float, colour: str) -> None:
    hatch = "////" if colour == RED else None  # red alone is not seen by everybody
    edge = EDGES[colour]
    ax.add_patch(plt.Rectangle((offset, height), 0.92, 0.8, facecolor=colour, edgecolor=edge, hatch=hatch))
    ink = figures.QUIET if colour == GREY else DARK
    ax.text(offset + 0.46, height + 0.4, str(offset), ha="center", va="center", fontsize=9, color=ink)
