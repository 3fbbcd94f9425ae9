"""Points beside the marks that a teacher wrote down for typical answers before seeing them."""

import pytest
from marks import APART, WITHIN, scores


@pytest.mark.exhaustive
def test_points_lie_near_a_teachers_marks():
    found = {(one.exercise, one.what): (points, one.points, why) for one, points, why in scores()}
    apart = {name: row for name, row in found.items() if abs(row[0] - row[1]) > WITHIN}
    for (exercise, what), (points, mark, why) in apart.items():
        print(f"{exercise}, {what}: {points:.0f} points, marked {mark}. {why}")
    assert {name: round(points) for name, (points, *_) in apart.items()} == APART, "what came nearer leaves the list"
