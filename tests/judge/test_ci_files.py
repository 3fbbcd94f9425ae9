"""What other projects take from this repository's root: the hooks of pre-commit, the composite action, its workflow."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from graded_kernels.autograder import cli

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "scaled"
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
ENVIRONMENT = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def test_the_hook_is_a_command_that_exists():
    program, *arguments = shlex.split(HOOKS["sanitize-kernels"]["entry"])
    assert program == "graded-kernels"
    options = cli.parser().parse_args([*arguments, "demo.py", "--steps", "1"])
    assert (options.since, options.program, options.arguments) == ("HEAD", "demo.py", ["--steps", "1"])


def test_the_workflow_names_inputs_and_outputs_that_the_action_has():
    workflow = yaml.safe_load((EXAMPLE / ".github" / "workflows" / "kernels.yml").read_text())
    steps = workflow["jobs"]["sanitize"]["steps"]
    (used,) = [step for step in steps if "graded-kernels@" in step.get("uses", "")]
    assert used["with"].keys() <= ACTION["inputs"].keys()
    assert f"steps.{used['id']}.outputs.sarif" in steps[-1]["with"]["sarif_file"]
    assert "sarif" in ACTION["outputs"]


def test_every_action_of_a_workflow_is_pinned_by_the_hash_of_a_commit():
    """A tag can be moved, and then another program runs here."""
    workflows = [yaml.safe_load(path.read_text()) for path in (ROOT / ".github" / "workflows").glob("*.yml")]
    steps = [step for workflow in workflows for job in workflow["jobs"].values() for step in job["steps"]]
    used = [step["uses"] for step in steps if "uses" in step]
    assert len(used) > 10
    assert not [action for action in used if not re.fullmatch(r"[\w-]+/[\w/-]+@[0-9a-f]{40}", action)]


def test_what_a_caller_writes_is_no_part_of_a_command():
    """Inputs reach a shell as variables: pasted into the command, one could hold another command."""
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"]


@pytest.fixture
def project(tmp_path):
    shutil.copytree(EXAMPLE, tmp_path / "scaled")
    for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x"]):
        subprocess.run(["git", "-C", tmp_path / "scaled", *command], check=True, capture_output=True)
    return tmp_path / "scaled"


def steps(project, **inputs):
    """Runs the action's steps but that of pip; returns their statuses and outputs."""
    values = {name: about["default"] for name, about in ACTION["inputs"].items()} | inputs
    found, written = {}, project.parent / "output"
    for step in ACTION["runs"]["steps"][1:]:
        written.write_text("")
        variables = {name: values[text.split("inputs.")[1].split()[0]] for name, text in step["env"].items()}
        environment = ENVIRONMENT | variables | {"GITHUB_OUTPUT": str(written)}
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)
        found[step["id"]] = done.returncode, written.read_text(), done.stdout + done.stderr
    return found


@pytest.mark.parametrize(("tests", "ends", "status"), [(".", 5, 0), ("tests/scaled", 5, 5), (".", 1, 1), (".", 0, 0)])
def test_a_project_without_tests_passes_unless_tests_are_named(tmp_path, monkeypatch, tests, ends, status):
    """Pytest ends with status 5 where it has collected nothing."""
    for program in ("pytest", "graded-kernels"):
        (tmp_path / program).write_text(f"#!/bin/sh\nexit {ends}\n")
        (tmp_path / program).chmod(0o755)
    monkeypatch.setitem(ENVIRONMENT, "PATH", f"{tmp_path}{os.pathsep}{ENVIRONMENT['PATH']}")
    (tmp_path / "project").mkdir()
    found = steps(tmp_path / "project", tests=tests)
    assert found["tests"][0] == status, found
    assert ("This project has no tests" in found["tests"][2]) == (ends == 5 and status == 0)


@pytest.mark.exhaustive
def test_the_action_passes_and_fails_with_the_project(project):
    right = steps(project, script="demo.py", since="HEAD")
    assert [status for status, *_ in right.values()] == [0, 0], right
    assert "No kernel has changed since HEAD" in right["tests"][2]
    kernel = project / "scaled.py"
    kernel.write_text(kernel.read_text().replace("tl.load(scale + i, mask=inside, other=0.0)", "tl.load(scale + i)"))
    wrong = steps(project, script="demo.py", since="HEAD")
    assert [status for status, *_ in wrong.values()] == [1, 1], wrong
    assert [output for _, output, _ in wrong.values()] == ["coverage=kernels.xml\n", "sarif=kernels.sarif\n"]
    assert (project / "kernels.xml").is_file()
    assert "out-of-bounds" in (project / "kernels.sarif").read_text()
    known = ["sanitize", "--baseline", "known.json", "--update-baseline", "demo.py"]
    subprocess.run(["graded-kernels", *known], cwd=project, env=ENVIRONMENT, check=True, capture_output=True)
    with_baseline = steps(project, script="demo.py", baseline="known.json")
    assert [status for status, *_ in with_baseline.values()] == [0, 0], with_baseline
