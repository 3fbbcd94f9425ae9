"""Times that others measured on GPUs, as the last chapter reads them."""

import pytest
from graded_kernels.course import recorded_times


def test_times_are_read_by_the_number_of_columns():
    """An RMS norm of 2048 rows and 8192 columns in bfloat16, on an A100."""
    times = recorded_times.of("rms_norm", "liger")
    assert list(times) == [1024, 2048, 4096, 8192, 16384, 32768]
    assert times[8192] == pytest.approx(51.744e-6)


def test_what_was_not_recorded_is_named():
    with pytest.raises(LookupError, match=r"recorded_times.csv has no times of softmax by liger"):
        recorded_times.of("softmax", "liger")
