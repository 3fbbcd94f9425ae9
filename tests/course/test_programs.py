"""The pictures of the first chapter: what a launch touched, lane by lane."""

import matplotlib
import pytest
import torch
import triton
import triton.language as tl
from graded_kernels.course import programs
from graded_kernels.kernels import floats
from graded_kernels.kernels.wild.floats import axpy_no_mask

matplotlib.use("Agg")


def masked():
    out = torch.empty(10)
    floats.axpy_kernel[(3,)](2.0, torch.arange(10.0), torch.ones(10), out, 10, BLOCK=4)


def unmasked():
    axpy_no_mask(2.0, torch.arange(10.0), torch.ones(10), BLOCK=4)


def test_every_program_loads_twice_and_stores_once_its_own_block():
    story = programs.watch(masked)
    assert [(t.program, t.verb, t.tensor) for t in story.touches] == [
        (p, *what) for p in range(3) for what in (("load", "x_ptr"), ("load", "y_ptr"), ("store", "out_ptr"))
    ]
    assert all(t.offsets == tuple(range(4 * t.program, 4 * t.program + 4)) for t in story.touches)
    assert [t.on for t in story.of(2)] == [(True, True, False, False)] * 3
    assert story.sizes == {"x_ptr": 10, "y_ptr": 10, "out_ptr": 10}
    assert story.error == ""


def test_a_launch_without_a_mask_is_recorded_up_to_the_lane_that_stops_it():
    story = programs.watch(unmasked)
    last = story.touches[-1]
    assert (last.program, last.verb, last.tensor, last.offsets) == (2, "load", "x_ptr", (8, 9, 10, 11))
    assert "x = tl.load(x_ptr + offsets)" in story.error
    assert "offset 10" in story.error


@pytest.mark.parametrize(("launch", "red", "grey"), [(masked, 0, 6), (unmasked, 2, 0)])
def test_picture_is_red_out_of_bounds_and_grey_where_masked_off(launch, red, grey):
    import matplotlib.pyplot as plt
    from matplotlib.colors import to_rgba

    plt.close("all")
    programs.draw(programs.watch(launch))
    colours = [patch.get_facecolor() for patch in plt.gca().patches]
    assert colours.count(to_rgba(programs.RED)) == red
    assert colours.count(to_rgba(programs.GREY)) == grey


@triton.jit
def tile_kernel(x_ptr, y_ptr, M, N, x_row, x_col, TILE: tl.constexpr):
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    cols = tl.program_id(1) * TILE + tl.arange(0, TILE)
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    x = tl.load(x_ptr + rows[:, None] * x_row + cols[None, :] * x_col, mask=mask, other=0.0)
    tl.store(y_ptr + rows[:, None] * N + cols[None, :], x, mask=mask)


def test_programs_of_a_two_dimensional_grid_are_told_apart():
    def launch():
        x, y = torch.arange(15.0).reshape(5, 3).t(), torch.empty(3, 5)
        tile_kernel[(2, 3)](x, y, 3, 5, *x.stride(), TILE=2)

    story = programs.watch(launch)
    assert sorted({t.program for t in story.touches}) == list(range(6))
    assert story.error == ""
    load, store = story.of(0)
    assert (load.offsets, store.offsets) == ((0, 3, 1, 4), (0, 1, 5, 6))  # down a column of x is along its memory
