"""Every planted bug is seen, for the reason it was planted. ``python -m planted`` in tests/ prints them as a table."""

import planted
import pytest

BUGS = planted.bugs()


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_the_emulator_sees(bug):
    verdict = planted.emulate(bug)
    assert planted.seen(bug, verdict), f"{bug.kind}: {verdict.kinds} {verdict.sentence!r} right={verdict.right}"


def test_there_are_enough_of_them_and_of_every_kind():
    assert len(BUGS) >= 20
    kinds = {bug.kind for bug in BUGS}
    assert kinds >= {
        "out-of-bounds",
        "store-conflict",
        "race-read",
        "race-write",
        "unwritten",
        "grid",
        "unsupported",
        "kernel-error",
        "masked-load",
        "uninitialised-read",
        "wrong-value",
        "order",
    }


@pytest.mark.exhaustive
def test_the_plain_interpreter_passes_a_missing_mask():
    bug = next(bug for bug in BUGS if bug.name == "missing_mask_load")
    assert planted.plain(bug) == "right answer, no complaint"
