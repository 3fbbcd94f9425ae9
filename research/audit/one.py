"""One package, which the path has: ``python one.py NAME VERSION [EXERCISE ...]`` prints a line of JSON per exercise."""

import json
import os
import sys

os.environ["TRITON_INTERPRET"] = "1"
os.environ["TORCHDYNAMO_DISABLE"] = "1"

import torch
from adapters import ADAPTERS
from graded_kernels.autograder.judge import Settings
from graded_kernels.autograder.judge.checking.judge import judge
from graded_kernels.autograder.judge.records.table import find
from graded_kernels.autograder.runner import InProcess, Session


def row(exercise: str, function, session: Session) -> dict:
    """The cases that fail, those that rest on a convention apart, and the bug that the results match."""
    record = find(exercise)
    runner = InProcess(function, record.contract, "triton", guarded=False, simulated=session)
    report = judge(record, runner, Settings("triton", compiler=False, require=("correct",), conventions="pytorch"))
    needed = [case for case in report.cases if not case.bonus and case.kind in (None, "correct")]
    failing = [case for case in needed if case.status in ("fail", "error")]
    first = next((case for case in failing if not case.convention), None)
    return {
        "exercise": exercise,
        "cases": len(needed),
        "unportable": sum(case.kind == "portable" and case.status != "pass" for case in report.cases if not case.bonus),
        "wrong": [case.name for case in failing if not case.convention],
        "conventions": [f"{case.name} ({case.convention})" for case in failing if case.convention],
        "message": _message(first) if first else "",
        "fingerprint": report.fingerprint or "",
    }


def _message(case) -> str:
    far = f" The worst is {case.worst_ulp:.3g} ulp off." if case.worst_ulp else ""
    return case.message + far


def main(name: str, version: str, *exercises: str) -> None:
    simulated = name != "torch" and not torch.cuda.is_available()
    with Session(simulated) as session, session.code():
        try:
            found = ADAPTERS[name](tuple(int(part) for part in version.split(".")[:2] if part.isdecimal()))
        except Exception as error:
            print(json.dumps({"unable": f"{type(error).__name__}: {error}"}), flush=True)
            return
        for exercise, function in found.items():
            if not exercises or exercise in exercises:
                print(json.dumps(row(exercise, function, session)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
