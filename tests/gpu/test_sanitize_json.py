"""What `--json` prints is what the schema that ships with the package says, field by field."""

import copy
import json

import jsonschema
import pytest
import torch
import triton
import triton.language as tl
from compiler_kernels import COMPILER
from graded_kernels.autograder import cli
from graded_kernels.autograder.gpu.sanitize import command, json_report, run_report
from graded_kernels.autograder.gpu.sanitize.allowed import Allowances
from graded_kernels.autograder.gpu.sanitize.front_end import FrontEnd
from graded_kernels.autograder.gpu.sanitize.watching import watched

SCHEMA = json.loads(json_report.FILE.read_text(encoding="utf-8"))


def strict(schema):
    """The schema, with nothing allowed that it does not name."""
    schema = copy.deepcopy(schema)
    todo = [schema]
    while todo:
        one = todo.pop()
        if "properties" in one:
            one.setdefault("additionalProperties", False)
        todo += [part for part in one.values() if isinstance(part, dict)]
        todo += [part for parts in one.values() if isinstance(parts, list) for part in parts if isinstance(part, dict)]
    return schema


@triton.jit
def careless(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    if n > 100:
        v = v + 1  # never
    tl.store(y + i, v)
    tl.store(y + i, tl.load(x + i))  # graded-kernels: allow out-of-bounds: for this test


def run():
    listener = command.Listener()
    with watched(listener.handle, shim=False):
        for n, room in ((6, 8), (6, 2)):
            with pytest.raises(Exception, match="out of bounds"):
                careless[(1,)](torch.ones(6), torch.zeros(room), n, BLOCK=8)
    made = command._run(run_report.Run("p.py", since="HEAD"), listener, 0, FrontEnd(None))
    made.machine_code = FrontEnd(COMPILER.run_jobs).machine_code(listener.forms)
    made.set_aside_known(Allowances(), None)
    return made


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["properties"]["schema"]["const"] == json_report.SCHEMA


def test_a_run_is_described_to_its_last_field():
    made = run()
    shown = json.loads(json.dumps(json_report.data(made, 1)))
    assert all(shown[part] for part in ("findings", "allowed", "coverage", "since", "machine_code"))
    assert "At most" in run_report.text(made, 1, hints=False, color=False)
    jsonschema.validate(shown, strict(SCHEMA), jsonschema.Draft202012Validator)
    assert shown.keys() == SCHEMA["properties"].keys()


def test_whatever_is_not_tried_is_in_the_schema():
    made = run_report.Run("p.py")
    for what in ("masked-load", "configuration", "compiler"):
        made.skipped.add(what, "kernel", "why")
    jsonschema.validate(json_report.data(made, 0), strict(SCHEMA), jsonschema.Draft202012Validator)


@pytest.mark.parametrize(
    "change",
    [{"schema": 2}, {"status": 4}, {"more": 1}, {"findings": [{"kind": "out-of-bounds"}]}, {"since": {"revision": 1}}],
)
def test_the_schema_refuses(change):
    shown = json_report.data(run_report.Run("p.py"), 0) | change
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(shown, strict(SCHEMA), jsonschema.Draft202012Validator)


def test_a_run_that_was_not_one_is_described():
    for made in (run_report.Run("p.py", unusable="no"), run_report.Run("p.py", failed="it raised", interrupted=True)):
        jsonschema.validate(json_report.data(made, 2), strict(SCHEMA), jsonschema.Draft202012Validator)


def test_the_command_prints_the_schema(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["sanitize", "--schema"])
    assert ended.value.code == 0
    assert json.loads(capsys.readouterr().out) == SCHEMA
