"""The pictures of the first chapter: what a launch touched, lane by lane."""

import matplotlib
import pytest
import torch
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
    assert story.sizes == {"x_ptr": 10, "y_ptr": 10, "out_ptr": 10} and story.error == ""


def test_a_launch_without_a_mask_is_recorded_up_to_the_lane_that_stops_it():
    story = programs.watch(unmasked)
    last = story.touches[-1]
    assert (last.program, last.verb, last.tensor, last.offsets) == (2, "load", "x_ptr", (8, 9, 10, 11))
    assert "x = tl.load(x_ptr + offsets)" in story.error and "offset 10" in story.error


@pytest.mark.parametrize(("launch", "red", "grey"), [(masked, 0, 6), (unmasked, 2, 0)])
def test_picture_is_red_out_of_bounds_and_grey_where_masked_off(launch, red, grey):
    import matplotlib.pyplot as plt
    from matplotlib.colors import to_rgba

    plt.close("all")
    programs.draw(programs.watch(launch))
    colours = [patch.get_facecolor() for patch in plt.gca().patches]
    assert colours.count(to_rgba(programs.RED)) == red
    assert colours.count(to_rgba(programs.GREY)) == grey
