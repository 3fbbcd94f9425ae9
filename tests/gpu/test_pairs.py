"""Features of Triton in pairs of programs, one right and one wrong: `sanitize` finds what is wrong, and that alone."""

import pairs
import pytest
import torch

if torch.cuda.is_available():
    pytest.skip("not run: there is a GPU, and the stand-in is for machines without one", allow_module_level=True)


@pytest.mark.parametrize("one", pairs.PAIRS, ids=lambda one: one.program.__name__)
def test_a_feature(one):
    if one.without:
        pytest.skip(f"this Triton has no {one.without}")
    found, (output, expected) = pairs.judged(one.program, wrong=False)
    assert found == set()
    torch.testing.assert_close(output, expected)
    found, _ = pairs.judged(one.program, wrong=True)
    assert [kind for level, kind in found if level != "hint"] == [one.kind], found


def test_there_are_as_many_as_features_that_were_tried():
    assert len(pairs.PAIRS) == 48
