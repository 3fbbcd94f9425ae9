"""Says what masked-off lanes of a load without ``other`` may hold: the values with which a kernel is tried."""

import math

# Each shows what the others hide. NaN: a product with 0. The infinities: a maximum or a minimum, which drops a NaN. 0:
# what today's NVIDIA backends fill in. The number, finite in float16 and larger than what a loss or an activation is
# made of: what stands behind a test for any of them.
LANE_VALUES = {"NaN": math.nan, "infinity": math.inf, "-infinity": -math.inf, "0": 0.0, "10,000": 1e4}
