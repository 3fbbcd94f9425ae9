"""What is kept of research says nothing of the machine on which it was measured."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KEPT = sorted((ROOT / "research").rglob("*.json"))
OF_A_MACHINE = re.compile(r"(?<![\w.~/])/(?:root|home|tmp|work|Users)/|\b0x[0-9a-f]{9,}")


@pytest.mark.parametrize("path", KEPT, ids=lambda path: str(path.relative_to(ROOT / "research")))
def test_results_name_no_folder_and_no_address(path):
    assert not OF_A_MACHINE.findall(path.read_text(encoding="utf-8"))
