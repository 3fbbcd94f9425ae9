"""The audit's pages, from rows as a run leaves them; not run: what installs packages."""

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

pytestmark = pytest.mark.exhaustive  # what they test is a paper's, not what anybody uses
RESEARCH = Path(__file__).parents[2] / "research"


@pytest.fixture
def module(monkeypatch):
    def load(path):
        monkeypatch.syspath_prepend(RESEARCH / path.parent)
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        return importlib.import_module(path.stem)

    yield lambda path: load(Path(path))
    for name in (
        "audit",
        "adapters",
        "fetching",
        "suites",
        "suites_page",
    ):
        sys.modules.pop(name, None)


def test_every_package_is_pinned_by_hash_and_has_an_adapter(module):
    fetching, adapters = module("audit/fetching.py"), module("audit/adapters.py")
    pins, known = fetching.pins(), module("audit/suites.py").suites()
    pinned = re.compile(r"\S+==(\S+ --hash=sha256:[0-9a-f]{64}|[0-9a-f]{40} https://\S+)")
    assert all(pinned.fullmatch(line) for lines in pins.values() for line in lines)
    needs = {need for suite in known.values() for need in suite["needs"]}
    assert {*pins, "torch"} == {*adapters.ADAPTERS, *sum(fetching.NEEDS.values(), ()), *needs, "triton"}


def test_the_audit_keeps_conventions_apart_from_wrong_numbers(module):
    audit = module("audit/audit.py")
    right = {"exercise": "silu_forward", "cases": 9, "wrong": [], "conventions": ["a bad label (bad label)"]}
    wrong = right | {"wrong": ["no rows", "x"], "message": "y is\nwrong", "fingerprint": "this is what z computed"}
    page = audit.page({"p 1.0": [right], "q 2.0": [wrong | {"conventions": []}, {"unable": "ImportError: no\nx"}]})
    assert "| p 1.0 | silu_forward (9) |  | bad label |" in page
    assert "| q 2.0 |  | silu_forward (2 of 9, *no rows*: this is what z computed) |  |" in page
    assert "| q 2.0 | | does not run here: ImportError: no x | |" in page


def test_a_package_that_cannot_be_fetched_keeps_what_was_found(module, monkeypatch, tmp_path, capsys):
    audit = module("audit/audit.py")
    monkeypatch.setattr(audit, "HERE", tmp_path)
    monkeypatch.setattr(audit, "KEPT", tmp_path / "audit.json")
    monkeypatch.setattr(audit, "fetch", lambda line, folder: "no network")
    audit.main(["attorch"])
    assert "does not run" not in (tmp_path / "audit.md").read_text()
    assert "not run: no network" in (tmp_path / "audit.md").read_text()
    row = {"exercise": "silu_forward", "cases": 9, "wrong": [], "conventions": []}
    (tmp_path / "audit.json").write_text(json.dumps({"attorch 67c2772baf33": [row]}))
    audit.main(["attorch"])
    assert "as before, not run: no network" in capsys.readouterr().err
    assert json.loads((tmp_path / "audit.json").read_text()) == {"attorch 67c2772baf33": [row]}


def test_what_cannot_be_fetched_keeps_what_was_found(module, monkeypatch, tmp_path):
    suites = module("audit/suites.py")
    known = suites.suites()
    (key, *_) = [f"{name}/{file['path']}" for name, suite in known.items() for file in suite["files"]]
    version = importlib.import_module("triton").__version__
    monkeypatch.setattr(suites, "suites", lambda: known)
    monkeypatch.setattr(suites, "fetched", lambda suite, folder: "no network")
    monkeypatch.setattr(suites, "HERE", tmp_path)
    monkeypatch.setattr(suites, "KEPT", tmp_path / "kept.json")
    (tmp_path / "kept.json").write_text(json.dumps({key: {version: {"unable": "as it was"}}}))
    suites.main([])
    found = json.loads((tmp_path / "kept.json").read_text())
    assert found.pop(key) == {version: {"unable": "as it was"}}
    assert found
    assert all("no network" in str(row) for row in found.values())


def test_a_package_without_init_is_not_that_of_the_environment(module, tmp_path):
    (tmp_path / "iniconfig").mkdir()
    (tmp_path / "iniconfig" / "__about__.py").write_text("print('of the folder')")
    module("audit/fetching.py").take_precedence(tmp_path)
    command = [sys.executable, "-c", "import iniconfig.__about__"]
    child = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True)
    assert child.stdout == "of the folder\n", child.stderr


JUNIT = """<testsuites><testsuite>
<testcase name="test_a[1]"/><testcase name="test_a[2]"/><testcase name="test_b"><skipped message="no"/></testcase>
<testcase name="test_c[x]"><failure message="Failed: k.py:3: out-of-bounds in `copy`&#10;    y = 1"/></testcase>
<testcase name="test_c[y]"><failure message="assert False">...</failure></testcase>
<testcase name="test_d"><error message="k.py:9: not judged: not-emulated in `d`">...</error></testcase>
</testsuite></testsuites>"""


def test_a_suite_counts_findings_apart_and_says_what_nobody_has_read(module, tmp_path):
    suites, page = module("audit/suites.py"), module("audit/suites_page.py").page
    (tmp_path / "junit.xml").write_text(JUNIT.replace("k.py", f"{tmp_path}/k.py"))
    told = "collected 14 items / 4 deselected / 10 selected\n2 kernels, 9,000 launches, nothing found\n"
    told += "== 3 failed, 2 passed, 1 skipped, 4 deselected in 8.0s ==\n"
    row = suites.read(tmp_path / "junit.xml") | suites.counted(told) | {"seconds": 8, "cut_off": False}
    files = [
        {"path": "t/test_x.py", "why": {"test_c[y]": "The reference.", "not-emulated": "Open."}, "left_out": "Large."},
        {"path": "n.py"},
        {"path": "m.py"},
    ]
    known = {"lib": {"source": "lib==1.0 --hash=sha256:0", "files": files}}
    rows = {
        "lib/t/test_x.py": {"3.7.1": row, "3.9.0": row | {"cut_off": True}},
        "lib/n.py": {"3.9.0": {"unable": "No."}},
    }
    text = page(known, rows)
    ended = "2 passed, 3 failed, 1 skipped, 1 findings"
    assert "| what | file | Triton | result | left out | launches | s |" in text
    assert f"| lib 1.0 | t/test_x.py | 3.7.1 | {ended} | 4 | 9000 | 8 |" in text
    assert f"| lib 1.0 | t/test_x.py | 3.9.0 | {ended}; cut off, 4 not run | 4 | 9000 | 8 |" in text
    assert "| lib 1.0 | n.py | 3.9.0 | not run |  |  |  |" in text
    assert "| lib 1.0 | m.py |  | not run |  |  |  |" in text
    assert "test_c (1 with 3.7.1, 1 with 3.9.0): The reference." in text
    assert "test_c (1 with 3.7.1, 1 with 3.9.0): not read: Failed: k.py:3: out-of-bounds" in text
    assert "test_d (1 with 3.7.1, 1 with 3.9.0): Open." in text
    assert "- lib, n.py: (3.9.0) not read: No." in text
    assert "- lib, t/test_x.py: Large." in text


def test_a_program_has_its_findings_or_how_it_ended(module):
    page = module("audit/suites_page.py").page
    finding = {"kind": "masked-load", "kernel": "k", "tensor": "", "line": 3}
    row = {"status": 0, "launches": 3, "failed": None, "findings": [], "cut_off": False, "seconds": 2}
    rows = {
        "p/clean.py": {"3.9.0": row},
        "p/found.py": {"3.9.0": row | {"status": 1, "findings": [finding]}},
        "p/raised.py": {"3.9.0": row | {"status": 3, "failed": "it raised E: a\nb"}},
        "p/long.py": {"3.9.0": row | {"status": 130, "cut_off": True}},
    }
    files = [{"path": key[2:], "why": {"it raised E": "No GPU."}} for key in rows]
    text = page({"p": {"commit": "0123456789", "files": files}}, rows)
    for told in (
        "clean.py | 3.9.0 | clean",
        "found.py | 3.9.0 | **masked-load**, `k` line 3",
        "long.py | 3.9.0 | cut off",
    ):
        assert f"| p 01234567 | {told} |  | 3 | 2 |" in text
    assert "| raised.py | 3.9.0 | status 3: it raised E: a b |  | 3 | 2 |" in text
    assert "- p, raised.py: (3.9.0) No GPU." in text
    assert "- p, clean.py" not in text
    assert "- p, long.py: (3.9.0) not read: status 130" in text


def test_a_file_over_its_time_tells_what_had_ended(module, tmp_path):
    (tmp_path / "unpacked").mkdir()
    test = "def test_quick(): pass\n\ndef test_endless():\n    while True: pass\n"
    (tmp_path / "unpacked" / "test_x.py").write_text(test)
    suites = module("audit/suites.py")
    row = suites.run(tmp_path, {}, {"path": "test_x.py", "seconds": 12})
    assert (row["passed"], row["chosen"], row["failed"], row["cut_off"]) == (1, 2, {}, True)
    assert row["seconds"] >= 12


def test_only_what_has_not_run_with_a_version_is_run(module, monkeypatch, tmp_path):
    suites, ran = module("audit/suites.py"), []
    files = [{"path": "a.py"}, {"path": "b.py"}]
    monkeypatch.setattr(suites, "suites", lambda: {"lib": {"commit": "0" * 40, "files": files}})
    monkeypatch.setattr(suites, "HERE", tmp_path)
    monkeypatch.setattr(suites, "KEPT", tmp_path / "kept.json")
    monkeypatch.setattr(suites, "put_before", lambda version, folder: "")
    monkeypatch.setattr(suites, "fetched", lambda suite, folder: "")
    monkeypatch.setattr(suites, "page", lambda known, results: "")
    monkeypatch.setattr(suites, "run", lambda folder, suite, file: ran.append(file["path"]) or {"date": "today"})
    (tmp_path / "kept.json").write_text(json.dumps({"lib/a.py": {"3.9.0": {"date": "before"}}}))
    for arguments, wanted in (
        (["--triton", "3.9.0"], ["b.py"]),
        (["--triton", "3.9.0"], []),
        (["--triton", "3.7.1"], ["a.py", "b.py"]),
        (["--triton", "3.9.0", "lib/a.py"], ["a.py"]),
    ):
        ran.clear()
        suites.main(arguments)
        assert ran == wanted


def test_a_version_of_triton_without_a_hash_is_named(module, tmp_path):
    assert module("audit/suites.py").put_before("1.0", tmp_path / "t") == "pins.txt has no hash of Triton 1.0"


def test_an_edit_that_finds_nothing_is_an_error(module, tmp_path):
    (tmp_path / "p.py").write_text("range(12, 28)")
    edit = module("audit/suites.py").edit
    edit(tmp_path / "p.py", {"28": "14"})
    assert (tmp_path / "p.py").read_text() == "range(12, 14)"
    with pytest.raises(ValueError, match="p.py has no `28`"):
        edit(tmp_path / "p.py", {"28": "14"})


def test_every_suite_is_pinned_by_a_hash(module):
    known = module("audit/suites.py").suites()
    for suite in known.values():
        assert "--hash=sha256:" in suite.get("source", "") or re.fullmatch("[0-9a-f]{40}", suite["commit"])
    files = [file for suite in known.values() for file in suite["files"]]
    assert all("left_out" in file for file in files if "-k" in file.get("choose", ()))


def test_gradients_are_those_of_autograd(module):
    backward = module("audit/adapters.py").gradients(lambda x, y, power: (x * y) ** power, 2)
    x, y, dy = torch.tensor([2.0]), torch.tensor([3.0]), torch.tensor([0.5])
    assert backward(dy, x, y, 2) == (torch.tensor([18.0]), torch.tensor([12.0]))
