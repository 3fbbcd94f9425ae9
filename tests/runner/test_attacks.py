"""Every attack gets what its file says it gets and harms nothing; every honest submission gets full marks."""

import importlib
import operator
import os
import re
from pathlib import Path

import pytest
from attacks.scene import Scene
from attacks.submissions import ROWS, attacks, honest
from attacks.table import grade, run, run_as_user
from graded_kernels.autograder.runner.sandbox import Worker, probe
from graded_kernels.autograder.runner.sandbox.probe import LEVELS

ROOT = Path(__file__).resolve().parents[2]
QUICK = ("ordinary values", "transposed", "each row alone", "a long row alone")
BEST = probe().level
LEVELS_HERE = [  # the best one in test-all, the others before a release
    pytest.param(level, marks=pytest.mark.exhaustive if level == BEST else pytest.mark.release)
    for level in LEVELS
    if BEST and LEVELS.index(level) <= LEVELS.index(BEST)
]

pytestmark = pytest.mark.skipif(BEST in (None, "weak"), reason=f"not run: this machine isolates nothing. {probe()}")


@pytest.fixture(scope="module")
def stage():
    with Scene() as scene, Worker() as worker:
        yield scene, worker


def test_there_are_as_many_as_promised():
    assert len(attacks()) >= 150
    assert len(honest()) >= 45


@pytest.mark.parametrize("name", [name for name, attack in attacks().items() if "endswith(" in attack.source])
def test_an_attack_on_the_grader_meets_what_it_changes(name):
    """After a module or a function was renamed it would be harmless, and nobody would notice."""
    (module,) = re.findall(r'name\.endswith\("([\w.]+)"\)', attacks()[name].source)
    (path,) = (ROOT / "autograder").rglob(f"{module.replace('.', '/')}.py")
    target = importlib.import_module(".".join(("graded_kernels", *path.relative_to(ROOT).with_suffix("").parts)))
    changed = re.findall(r"\bmodule\.([\w.]+) =", attacks()[name].source)
    assert changed and [one for one in changed if not callable(operator.attrgetter(one)(target))] == []


def test_every_function_in_the_rows_is_an_attack_or_serves_one():
    """One whose comment `# expect:` is misspelt would be left out without a word."""
    found = attacks()
    texts = "\n".join(attack.source for attack in found.values())
    functions = [name for path in ROWS.glob("*.py") for name in re.findall(r"^def (\w+)", path.read_text(), re.M)]
    assert [name for name in functions if name not in found and f"def {name}(" not in texts] == []


# Of each sixteen one, by their names; `test_every_submission_on_every_level` grades all of them.
SOME = [attack for attack in attacks().values() if not attack.slow][::16]


@pytest.mark.parametrize("attack", SOME, ids=lambda submission: submission.name)
def test_attack(attack, stage):
    scene, worker = stage
    row = grade(attack, worker, scene, QUICK)
    assert not row.wrong, row


# What a wall could break: launches of several kinds, a search for the fastest, state of the module, and a lock. All of
# them are run on this machine's best level by make test-release.
HONEST = ("two_launches", "autotune_restores", "constants_of_the_module", "heuristics", "chunks", "flag_of_a_kernel")


@pytest.mark.parametrize("name", HONEST)
def test_honest_submission_gets_full_marks(name, stage):
    scene, worker = stage
    row = grade(honest()[name], worker, scene, QUICK)
    assert not row.wrong, row


def test_a_scene_sees_what_is_done_to_it():
    with Scene() as scene:
        assert scene.harm("") == []
        assert scene.harm(f"{scene.token} and ESCAPED") == ["a secret was read", "it says: ESCAPED"]
        (scene.folder / "gradebook.db").write_bytes(b"100%")
        os.symlink("nowhere", f"/tmp/{scene.mark}")
        assert scene.harm("") == ["files changed", f"/tmp/{scene.mark} was written"]
        import socket

        socket.create_connection(("127.0.0.1", scene.port)).close()
        assert "TCP was reached" in scene.harm("")


def test_two_scenes_at_once_do_not_see_each_other():
    """Test processes beside each other, and a second run on the same machine."""
    with Scene() as one, Scene() as other:
        os.symlink("nowhere", f"/tmp/{one.mark}")
        assert other.harm("") == []
        assert one.harm("") == [f"/tmp/{one.mark} was written"]
        marked = [attack.source for attack in attacks().values() if "@MARK@" in attack.source]
        assert len(marked) >= 4
        assert all(one.mark in one.fill(source) for source in marked)


def test_a_worker_that_was_there_before_is_not_taken_for_one_that_is_left(stage):
    _, worker = stage
    worker.ready()
    with Scene() as scene:
        assert scene.left_behind() == []
        assert worker._process.poll() is None


@pytest.mark.parametrize("first", range(4))  # each fourth submission from this one on
@pytest.mark.parametrize("level", LEVELS_HERE)
def test_every_submission_on_every_level(level, first):
    rows = run(level, [*attacks(), *honest()][first::4], print)
    assert not [str(row) for row in rows if row.wrong]


@pytest.mark.release
@pytest.mark.skipif(os.getuid() != 0, reason="not run: only root can become an unprivileged user")
@pytest.mark.parametrize("level", [level for level in LEVELS if BEST and LEVELS.index(level) <= LEVELS.index(BEST)])
def test_every_submission_as_an_unprivileged_user(level):
    rows = run_as_user(level, [])
    if isinstance(rows, str):
        pytest.skip(rows)
    print(*rows, sep="\n")
    assert not [str(row) for row in rows if row.wrong]
