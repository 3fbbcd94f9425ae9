"""Random kernels: all programs together, one at a time, and Triton's own interpreter where it can run them."""

from collections import Counter

import pytest
from both_ways import bits, observe
from random_kernels import kernels
from triton.runtime.errors import InterpreterError

CHUNK = 50
FEW = range(13, 19)  # one of them reports something
MANY = [range(19, CHUNK), range(13), *(range(first, first + CHUNK) for first in range(CHUNK, 2000, CHUNK))]
IN_TEST_ALL = 9  # chunks; the others before a release


def compare(kernel, tally: Counter) -> None:
    shuffle = None if kernel.seed % 3 else kernel.seed
    about = f"seed {kernel.seed}, shuffle {shuffle}\n{kernel.source}"
    alone, _ = observe(kernel.run, "one at a time", shuffle)
    for way in ("together", "in small passes"):
        seen, fallbacks = observe(kernel.run, way, shuffle)
        assert seen == alone, f"{way}, {about}"
        tally[f"{way}: fell back" if fallbacks else f"{way}: in passes"] += 1
    if alone.error or alone.findings or alone.hints or alone.undefined:
        tally["reported"] += 1
        return
    if shuffle is not None:
        return
    try:
        plain = kernel.run()
    except InterpreterError as error:
        # Triton 3.6 cannot loop to a runtime bound with this numpy; none can take the truth of some scalars.
        tally[f"plain interpreter: {str(error)[:60]}"] += 1
        return
    tally["plain interpreter agrees"] += 1
    assert alone.outputs == [bits(output) for output in plain], f"the plain interpreter, {about}"


@pytest.mark.parametrize(
    "seeds",
    [
        FEW,
        *(pytest.param(seeds, marks=pytest.mark.exhaustive) for seeds in MANY[:IN_TEST_ALL]),
        *(pytest.param(seeds, marks=pytest.mark.release) for seeds in MANY[IN_TEST_ALL:]),
    ],
    ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}",
)
def test_random_kernels(seeds, tmp_path):
    tally = Counter()
    for kernel in kernels(seeds, tmp_path):
        compare(kernel, tally)
    print(f"seeds {seeds.start} to {seeds.stop - 1}: {dict(tally)}")
    assert tally["together: in passes"] > len(seeds) // 3
    assert tally["reported"]
    assert tally["plain interpreter agrees"]
