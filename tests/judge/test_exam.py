"""The exam of `research/exam`: its table, an adapter's contract on some rows, bad input, the page, the halves."""

import dataclasses
import hashlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from research.exam import __main__ as command  # noqa: E402
from research.exam import examine, gpuemu, half, page  # noqa: E402
from research.exam.fixes import Library  # noqa: E402
from research.exam.front import front  # noqa: E402
from research.exam.row import KINDS, Row, misfit, read  # noqa: E402
from research.exam.said import Said, keep, kept  # noqa: E402

ROWS, COMPLAINTS = read()
GOOD = {
    "name": "own/one",
    "kind": "memory",
    "wrong": True,
    "how": "program",
    "entry": "planted.races:duplicate_lanes",
    "source": "its author",
    "licence": "MIT",
    "place": "somewhere",
}
SOME = [  # a checker, a row, whether it is called wrong and of which kind; None where it has nothing to say
    ("sanitize", "planted/before_the_start", (True, "memory")),
    ("sanitize", "pairs/a_while_over_blocks/wrong", (True, "memory")),
    ("sanitize", "pairs/a_while_over_blocks/right", (False, "")),
    ("sanitize", "wild/gelu_no_half/gelu_forward", None),
    ("check", "others/first/silu_forward__torch__quick", (True, "")),
    ("check", "others/first/silu_forward__torch__exp_abs", (False, "")),
    ("allclose", "others/first/silu_forward__torch__nan_to_num", (False, "")),
    ("allclose", "others/first/silu_witness__torch__nearly_zero", None),
    ("allclose", "wild/gelu_no_half/gelu_forward", (True, "values at an edge")),
    ("allclose", "wild/silu_backward_divide_back/silu_backward", (False, "")),
    ("interpreter", "planted/arange_not_power_of_two", (True, "")),
    ("gradcheck", "answers/silu_backward/torch", (False, "")),
    ("check", "answers/ulp_distance/torch", (False, "")),
    ("compare", "pairs/a_while_over_blocks/wrong", None),
]


def test_every_row_of_the_table_is_one():
    assert COMPLAINTS == []
    assert len(ROWS) >= 400
    assert sum(not row.wrong for row in ROWS.values()) >= 150
    assert {row.kind for row in ROWS.values()} == set(KINDS)


def test_the_table_is_what_the_project_has():
    """A row of the project's own material; what came since waits for the next python -m research.exam.generate."""
    from research.exam import generate
    from research.exam.computed_rows import COMPUTED

    assert not [name for name in COMPUTED if (generate.ROWS / f"{name}.toml").exists()], "a row is kept once"
    for name, text in generate.files().items():
        made = tomllib.loads(text)["row"]
        for row in tomllib.loads((generate.ROWS / name).read_text(encoding="utf-8"))["row"]:
            assert row in made, row["name"]


def test_an_answer_by_others_is_labelled_by_its_first_line():
    files = {path.stem: path for path in (ROOT / "research/exam/others").glob("*/*/*.py")}
    rows = [row for row in ROWS.values() if row.family == "others"]
    assert len(rows) == len(files) == 801
    for row in rows:
        first = (ROOT / "research/exam" / row.entry).read_text(encoding="utf-8").partition("\n")[0]
        assert first.startswith("# Wrong: " if row.wrong else "# Right"), row.name


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"source": ""}, "it has no source"),
        ({"kind": "speed"}, "'speed' is no kind"),
        ({"how": "magic"}, "'magic' is no way to run it"),
        ({"place": ""}, "place does not say what is"),
        ({"author": "x"}, "no row has a author"),
        ({"how": "script"}, "needs repository and commit"),
        ({"how": "exercise"}, "needs the exercise's name"),
        ({"wrong": "yes"}, "wrong is 'yes', and not true or false"),
        ({"commit": 7}, "commit is 7, and not a text"),
        ({"how": "file", "entry": "reports/no.py"}, "there is no file reports/no.py"),
    ],
)
def test_a_row_that_is_none_is_told(change, says):
    assert misfit(GOOD) == ""
    assert says in misfit(GOOD | change)


def write(folder, *tables):
    lines = [["[[row]]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())] for table in tables]
    (folder / "some.toml").write_text("\n".join(line for part in lines for line in part), encoding="utf-8")


def test_what_is_bad_in_a_table_is_named_and_the_rest_stays(tmp_path):
    (tmp_path / "broken.toml").write_text("[[row", encoding="utf-8")
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    (tmp_path / "one.toml").write_text('[row]\nname = "own/one"', encoding="utf-8")
    right = GOOD | {"name": "own/two", "wrong": False}
    write(
        tmp_path,
        GOOD,
        GOOD,
        {"name": "own/nobody says so", "kind": "memory"},
        right | {"twin": "own/one"},
        right | {"name": "own/three", "twin": "own/two"},
        right | {"name": "own/four", "twin": "own/nowhere"},
    )
    rows, complaints = read(tmp_path)
    assert list(rows) == ["own/one"]
    for says in (
        "broken.toml is no TOML",
        "bytes.toml is no TOML",
        "one.toml: a row is a table [[row]]",
        "own/one: there are two rows of this name",
        "own/nobody says so: it has no wrong",
        "own/two: its twin own/one is the same program",
        "own/three: its twin own/two is right, too",
        "own/four: its twin own/nowhere is no row",
    ):
        assert any(one.startswith(says) for one in complaints), (says, complaints)


@pytest.mark.parametrize(("checker", "name", "wanted"), SOME)
def test_an_adapter_says_found_or_not_or_cannot(checker, name, wanted):
    said = examine.examined(checker, ROWS[name])
    assert (None if said.cannot else (said.found, said.kind)) == wanted, said
    assert said.row == name
    assert said.seconds > 0 or said.cannot


def test_a_row_that_an_adapter_refuses_starts_no_process(adapter, monkeypatch):
    refuses = {"own/fine": "", "own/refused": "not its way"}
    adapter(lambda row: Said(row.name, True, "memory"), refuses=lambda row: refuses[row.name])
    assert examine.examined("mine", broken("fine")).found
    monkeypatch.setattr(examine.os, "fork", None)
    assert examine.examined("mine", broken("refused")).cannot == "not its way"
    assert "the adapter raises KeyError: 'own/other'" in examine.examined("mine", broken("other")).cannot


def test_an_adapter_has_at_most_sixty_lines():
    for name in examine.CHECKERS:
        assert len((ROOT / f"research/exam/checkers/{name}.py").read_text().splitlines()) <= 60, name


def broken(name, **changes):
    return Row(**(GOOD | {"name": f"own/{name}"} | changes))


@pytest.fixture
def adapter(monkeypatch):
    """Makes a function an adapter that is called `mine`."""

    def put(check, **more):
        module = type(sys)("research.exam.checkers.mine")
        vars(module).update(check=check, **more)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setattr(examine, "CHECKERS", ("mine",))

    return put


def test_what_ends_an_adapter_is_told(adapter):
    import os
    import signal

    def check(row):
        if row.name == "own/raises":
            raise ValueError("no idea")
        if row.name == "own/dies":
            os.kill(os.getpid(), signal.SIGSEGV)
        if row.name == "own/loops":
            while True:
                pass
        if row.name == "own/grows":
            bytearray(8 << 30)
        return Said(row.name, True, "memory")

    adapter(check)
    assert examine.examined("mine", broken("fine")).found
    assert "the adapter raises ValueError: no idea" in examine.examined("mine", broken("raises")).cannot
    assert "died with SIGSEGV" in examine.examined("mine", broken("dies")).cannot
    assert "too much time" in examine.examined("mine", broken("loops"), seconds=1).cannot
    assert "MemoryError" in examine.examined("mine", broken("grows"), gigabytes=4).cannot
    adapter(check, CRASH_IS_FOUND=True)
    assert examine.examined("mine", broken("dies")).found


@pytest.mark.parametrize("checker", ["interpreter", "allclose"])
def test_a_program_that_needs_what_is_not_here_is_not_called_wrong(tmp_path, checker):
    program = tmp_path / "program.py"
    program.write_text("import nobody_has_this")
    said = examine.examined(checker, broken("needs", how="file", entry=str(program)))
    assert said.cannot == "not run: what it needs is not here: No module named 'nobody_has_this'"
    said = examine.examined(checker, broken("nowhere", entry="nobody_has_this:main"))
    assert said.cannot.startswith("nobody_has_this:main cannot be imported: ModuleNotFoundError")


def git(folder, *words):
    told = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=True)
    return told.stdout.strip()


def committed(folder, value):
    """A commit in which `toy.ops.one` has this value, and its packages cannot be imported."""
    ops = folder / "src/toy/ops"
    ops.mkdir(parents=True, exist_ok=True)
    for package in (ops.parent, ops):
        (package / "__init__.py").write_text("raise ImportError('the whole library')")
    (ops / "one.py").write_text(
        f"from toy.elsewhere import scale\nfrom .two import two\nvalue = {value} * scale + two\n"
    )
    (ops / "two.py").write_text("two = 2\n")
    git(folder, "add", ".")
    git(folder, "-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "fix: a value")
    return git(folder, "rev-parse", "HEAD")


def test_a_library_is_read_as_of_a_commit(tmp_path, monkeypatch):
    """A file of theirs, before a commit and as of it, without the packages that it is in and with what is not here."""
    clone = tmp_path / "owner+name"
    clone.mkdir()
    git(clone, "init", "-q")
    committed(clone, 1)
    commit = committed(clone, 5)
    monkeypatch.chdir(tmp_path)
    path = list(sys.path)
    for revision, value in ((f"{commit}^", 12), (commit, 52)):
        module = Library(clone, revision).module("src", "toy.ops.one", toy__elsewhere={"scale": 10})
        assert module.value == value, revision
    assert sys.path == path


def test_a_fix_and_what_was_before_it_are_two_programs(tmp_path):
    before = GOOD | {"name": "own/before", "how": "fix", "repository": "a/b", "commit": "1^", "twin": "own/after"}
    after = before | {"name": "own/after", "wrong": False, "twin": "own/before"}
    write(tmp_path, before, after)
    assert "own/before: its twin own/after is the same program" in read(tmp_path)[1]
    write(tmp_path, before, after | {"commit": "1"})
    assert read(tmp_path)[1] == []


@pytest.mark.parametrize(("factor", "found"), [(2, True), (1, False)])
def test_a_function_of_arrays_is_called_with_tensors(tmp_path, monkeypatch, factor, found):
    """Somebody else's file, out of a checkout, judged by mathematics of ours."""
    folder = tmp_path / "sarkar-dipankar+gpuemu-corpus" / gpuemu.FOLDER / "relu_triton"
    folder.mkdir(parents=True)
    (folder / "kernel.py").write_text(f"def run(inputs):\n    return {factor} * inputs['input'].clip(0)\n")
    monkeypatch.setenv("EXAM_CHECKOUTS", str(tmp_path))
    said = examine.examined("allclose", ROWS["gpuemu/relu_triton"])
    assert (said.found, said.cannot) == (found, "")


def test_what_is_wrong_in_the_corpus_of_arrays_has_its_control():
    assert {right for _, right in gpuemu.WRONG.values()} <= set(gpuemu.RIGHT)
    assert (len(gpuemu.WRONG), len(gpuemu.RIGHT)) == (10, 16)
    assert all(callable(gpuemu.reference(folder)) for folder in (*gpuemu.WRONG, *gpuemu.RIGHT))


def test_a_run_goes_on_where_it_was_left(tmp_path, monkeypatch, adapter, capsys):
    monkeypatch.setattr("research.exam.said.RESULTS", tmp_path)
    monkeypatch.setattr(kept, "__defaults__", (tmp_path,))
    monkeypatch.setattr(keep, "__defaults__", (tmp_path,))
    adapter(lambda row: Said(row.name, row.wrong))
    keep("mine", {"planted/duplicate_lanes": Said("planted/duplicate_lanes", says="before")})
    assert command.main(["--checker", "mine", "--family", "planted", "--kind", "race"]) == 0
    told = capsys.readouterr().err
    assert "mine: 1 of" in told
    assert "min left" in told
    said = kept("mine")
    assert said["planted/duplicate_lanes"].says == "before"
    assert said["planted/aliasing_store"].found
    adapter(lambda row: Said(row.name, cannot="not run: no GPU"))
    assert command.main(["--checker", "mine", "--family", "planted", "--kind", "race", "--again"]) == 0
    assert "stays" in capsys.readouterr().err
    assert kept("mine") == said
    with pytest.raises(SystemExit):
        command.main(["--checker", "nobody"])
    assert "there is no checker nobody: name one of mine" in capsys.readouterr().err


def test_the_page_counts_what_was_said():
    rows = {
        name: ROWS[name] for name in ("planted/before_the_start", "faultless/two_launches", "planted/int32_overflow")
    }
    said = {
        "planted/before_the_start": Said("planted/before_the_start", True, "memory", seconds=1.0),
        "faultless/two_launches": Said("faultless/two_launches", True, says="it is suspicious"),
        "planted/int32_overflow": Said("planted/int32_overflow", seconds=1.0),
    }
    text = front(rows, {"sanitize": said})
    assert "| graded-kernels sanitize | - | 1 of 1 | 1 of 2 | - | 0 | 0 | 1.0 |" in text
    missed = f"- **planted/int32_overflow** (memory): {ROWS['planted/int32_overflow'].place}"
    assert (
        f"Missed. Open.\n\n{missed}\n\nAccused, and right. Open.\n\n- **faultless/two_launches**: it is suspi" in text
    )
    assert "| triton-viz 3.0 | not run |" in text
    assert "planted/before_the_start" not in text
    text = page.text(rows, {"sanitize": said})
    assert "| memory | 2 | 0 | 0 | 1 of 2* |" in text
    assert "| race | 0 | 1 | 1 | - (1 of 1) |" in text
    assert "| planted | 2 | 0 | 1 of 2 |" in text


def test_the_page_is_of_the_results(tmp_path):
    """python -m research.exam --page writes it."""
    (tmp_path / "exam").mkdir()
    page.write(tmp_path / "exam", tmp_path)
    for made in ("README.md", "exam/README.md"):
        there = page.HERE.parent / made
        assert (tmp_path / made).read_text(encoding="utf-8") == there.read_text(encoding="utf-8"), made


def test_a_twin_is_in_the_half_of_its_row_and_a_changed_label_is_told():
    pairs = {name: row for name, row in ROWS.items() if row.family in ("pairs", "reports")}
    assert all(half.hidden(row) == half.hidden(ROWS[row.twin]) for row in pairs.values())
    assert 0.35 < sum(map(half.hidden, ROWS.values())) / len(ROWS) < 0.65
    published = "".join(f"{name} {value}\n" for name, value in half.labels(pairs, "salt").items())
    assert half.changed(pairs, "salt", published) == []
    name = next(iter(half.labels(pairs, "salt")))
    changed = pairs | {name: dataclasses.replace(pairs[name], wrong=not pairs[name].wrong)}
    assert half.changed(changed, "salt", published) == [name]
    assert len(half.changed(pairs, "pepper", published)) == len(half.labels(pairs, "salt"))
    assert half.changed(pairs, "salt", published + "own/gone 0\n") == ["own/gone"]
    named = [line.split()[0] for line in half.LABELS.read_text(encoding="utf-8").splitlines()]
    assert all(name in ROWS and half.hidden(ROWS[name]) for name in named)


def test_what_is_labelled_with_a_salt_stays():
    """Without the salt nobody can publish another label: this is what was published, in the open."""
    named = sorted(line.split()[0] for line in half.LABELS.read_text(encoding="utf-8").splitlines())
    told = "".join(f"{row.name}|{row.wrong}|{row.kind}\n" for row in map(ROWS.__getitem__, named))
    assert len(named) == 455, "labels were added: this is another text"
    assert hashlib.sha256(told.encode()).hexdigest().startswith("a589bc822271953c"), "a published label has changed"


def test_labels_of_new_rows_are_added_and_old_ones_stay(tmp_path, monkeypatch, capsys):
    file = tmp_path / "labels.txt"
    monkeypatch.setenv("EXAM_SALT", "salt")
    assert half.main(["--add"], file) == 0
    whole = file.read_text(encoding="utf-8").splitlines(keepends=True)
    old = "".join(whole[:-2])
    file.write_text(old, encoding="utf-8")
    assert half.main([], file) == 1
    assert "2 of new rows are missing: --add" in capsys.readouterr().out
    assert file.read_text(encoding="utf-8") == old
    assert half.main(["--add"], file) == 0
    assert file.read_text(encoding="utf-8").splitlines(keepends=True) == whole
    assert half.main([], file) == 0
    monkeypatch.setenv("EXAM_SALT", "pepper")
    file.write_text(old, encoding="utf-8")
    assert half.main(["--add"], file) == 1
    assert "nothing is written" in capsys.readouterr().out
    assert file.read_text(encoding="utf-8") == old


def test_what_is_kept_names_no_folder_of_a_machine(tmp_path, monkeypatch):
    monkeypatch.setenv("EXAM_CHECKOUTS", str(tmp_path / "checkouts"))
    said = Said("a/b", True, place=f"{tmp_path}/checkouts/owner+name/kernel.py:3", says=f"see {examine.__file__}")
    keep("checker", {"a/b": said}, tmp_path)
    kept_said = kept("checker", tmp_path)["a/b"]
    assert (kept_said.place, kept_said.says) == ("owner+name/kernel.py:3", "see research/exam/examine.py")
