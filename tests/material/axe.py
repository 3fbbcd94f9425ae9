"""axe-core in a page of Playwright's: what is wrong with it for people who see, hear or steer otherwise.

Needs axe-core from npm (`npm install axe-core`); GRADED_KERNELS_AXE names its axe.min.js.
"""

import os

import pytest


def script() -> str:
    """The path of axe.min.js. Skips the test where there is none."""
    path = os.environ.get("GRADED_KERNELS_AXE")
    if not path:
        pytest.skip("not run: needs axe-core (npm install axe-core), and its axe.min.js in GRADED_KERNELS_AXE")
    return path


def serious(page, *within: str) -> list[str]:
    """What axe calls serious or critical, a line for each rule, with the first element that breaks it.

    within: CSS selectors of the parts to look at; without any, the whole page.
    """
    page.add_script_tag(path=script())
    run = "within => axe.run(within.length ? {include: within} : document, {resultTypes: ['violations']})"
    found = page.evaluate(f"{run}.then(result => result.violations)", list(within))
    return [
        f"{v['id']}, {len(v['nodes'])} times: {v['nodes'][0]['target']} {v['nodes'][0]['failureSummary']}"
        for v in found
        if v["impact"] in ("serious", "critical")
    ]
