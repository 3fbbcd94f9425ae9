"""The processes of a worker: which calls share one, what follows one that has ended, and that none is left behind."""

import gc
import os
import signal
from pathlib import Path

import pytest
import torch
from graded_kernels.autograder.runner.call.examination import Call
from graded_kernels.autograder.runner.call.outcome import ProbeInput
from graded_kernels.autograder.runner.sandbox import Worker, probe
from graded_kernels.autograder.runner.sandbox.worker.blocked_operators import holders
from isolation import RIGHT, X, isolated

pytestmark = pytest.mark.skipif(probe().level is None, reason=f"not run: {probe()}")

EXHAUSTIVE = pytest.mark.exhaustive
PROCESS = "import os\n\n\ndef silu_forward(x):\n    print(os.getpid())\n    if x[0] > 0:\n        os._exit(3)\n"
PROCESS += "    return x * x.sigmoid()\n"
BELOW = -torch.rand(3) - 1


def processes(runner, args: tuple) -> set[str]:
    assert (
        runner.examine(Call(args, probe_input=lambda: ProbeInput((BELOW.clone(),), valid=False))).first.trouble is None
    )
    return set(runner.printed.split())


def test_an_answer_has_one_process_for_all_cases(worker):
    with isolated(PROCESS, worker) as runner:
        assert len(set.union(*(processes(runner, (BELOW.clone(),)) for _ in range(3)))) == 1


def test_the_same_arguments_again_are_given_to_a_new_process(worker):
    """What is recorded in it before cannot depend on them."""
    with isolated(PROCESS, worker) as runner:
        args = (BELOW,)
        assert processes(runner, args).isdisjoint(processes(runner, args))


def test_a_process_that_ended_is_replaced(worker):
    with isolated(PROCESS, worker) as runner:
        first = processes(runner, (BELOW.clone(),))
        assert runner.examine(Call((-BELOW,))).first.trouble.kind == "crashed"
        assert processes(runner, (BELOW.clone(),)).isdisjoint(first)


def test_what_a_worker_takes_for_its_children_is_counted(worker):
    before = worker.spent
    with isolated(PROCESS, worker) as runner:
        runner.examine(Call((BELOW.clone(),)))
        first = worker.spent
        runner.examine(Call((BELOW.clone() - 1,)))
        assert runner.examine(Call((-BELOW,))).first.trouble.kind == "crashed"
        runner.examine(Call((BELOW.clone(),)))
    assert before < first < worker.spent


def test_a_worker_that_is_killed_costs_one_call():
    with Worker() as worker, isolated(RIGHT, worker) as runner:
        assert runner.examine(Call((X,))).first.trouble is None
        worker._process.send_signal(signal.SIGKILL)
        worker._process.wait()
        assert runner.examine(Call((X.clone(),))).first.trouble is None  # started again
        assert worker._process.poll() is None
        assert 0 < worker.spent < 2, "forks, and not the imports"


def test_nothing_is_left_open(worker):
    with isolated(RIGHT, worker) as runner:
        runner.examine(Call((X,)))
        before = sorted(os.listdir("/proc/self/fd"))
        for _ in range(5):
            runner.examine(Call((X.clone(),)))
        assert sorted(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(
    "level",
    [pytest.param(level, marks=() if level == probe().level else EXHAUSTIVE) for level in ("weak", "good", "strong")],
)
def test_no_process_is_left_on_any_level(level):
    if _above(level):
        pytest.skip(f"not run: this machine reaches {probe().level}")
    source = (
        "import os, time\n\n\ndef silu_forward(x):\n    try:\n        if os.fork() == 0:\n            os.setsid()\n"
    )
    source += "            time.sleep(60)\n    except OSError:\n        pass\n    return x * x.sigmoid()\n"
    with Worker(level) as worker:
        with isolated(source, worker) as runner:
            assert runner.examine(Call((X,))).first.trouble is None
        group, pid = Path("/proc").glob("[0-9]*/stat"), worker._process.pid
        sleeping = [p for p in group if _parent(p) == pid and level == "weak"]
    assert sleeping == []
    assert not os.path.exists(f"/proc/{pid}")


def _above(level: str) -> bool:
    order = ("weak", "good", "strong")
    return order.index(level) > order.index(probe().level)


def _parent(stat: Path) -> int:
    try:
        return int(stat.read_text().rsplit(")", 1)[1].split()[1])
    except (OSError, ValueError):
        return -1


def test_one_look_at_all_objects_finds_whoever_holds_a_function(monkeypatch):
    looks, look = [], gc.get_referrers
    monkeypatch.setattr(gc, "get_referrers", lambda *values: looks.append(values) or look(*values))
    kept = {"mine": torch._C._dispatch_library, "another": torch._C._dispatch_has_kernel}
    gc.freeze()  # as a process may have done that has imported what a check takes
    found = [(id(holder), key) for holder, key in holders(torch._C, ["_dispatch_library", "_te", "no such name"])]
    assert (id(kept), "mine") in found
    assert (id(kept), "another") not in found
    assert {(id(vars(torch._C)), "_dispatch_library"), (id(vars(torch._C)), "_te")} <= set(found)
    assert len(looks) == 1
