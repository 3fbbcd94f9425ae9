"""The emulator on our own Triton answers: time as a ratio to Triton's interpreter, and a whole check both ways.

    python benchmarks/emulator_answers.py             the answers, shapes as in their cases
    python benchmarks/emulator_answers.py --viz       the answers, against triton-viz's sanitizer
    python benchmarks/emulator_answers.py --checks    processor time of a check: one program at a time, and together
    python benchmarks/emulator_answers.py --isolated  processor time of a check: in this process, and in a sandbox
    python benchmarks/emulator_answers.py --first     processor time of a process's first check, and of its second
    python benchmarks/emulator_answers.py --busy      seconds of a first check and of a second, by the clock
    python benchmarks/emulator_answers.py --memory    resident memory of a check: one program at a time, and together

Compiling is left out of the checks, but of --busy: it is the same both ways. So are the start of the sandbox's worker
and, of a process's first check, its imports. With --busy another process keeps one of the machine's cores busy, the
compiler starts with the first check, and has compiled nothing before. triton-viz is not a dependency: see
`emulator.py`.
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "material"))
os.environ["TRITON_INTERPRET"] = "1"

import torch
from answers import (
    answer,
    our_answer,
)
from emulator import sanitizer
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.gpu import Emulator
from graded_kernels.autograder.judge import Settings, check
from graded_kernels.autograder.judge.checking.check import check_answer
from graded_kernels.autograder.runner import Budget, Worker
from graded_kernels.autograder.runner.sandbox.compiler import shared_compiler
from triton.runtime.interpreter import InterpretedFunction

REPEAT = 5


def randn(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)


def calls() -> dict[str, tuple[str, tuple]]:
    """What is called, and on what, by the name it has in the table."""
    x, dy, long, big = randn(101, 331), randn(101, 331), randn(37, 9001), randn(3, 65537)
    weight, bias = randn(331), randn(332)[1:].clone()
    mean, rstd = x.mean(1), 1 / x.std(1)
    labels = torch.randint(0, 331, (101,), generator=torch.Generator().manual_seed(0))
    labels[::7] = -100
    lse = x.logsumexp(1)
    small, narrow = randn(601, 40), randn(40)
    return {
        "silu_forward (3, 65537)": ("silu_forward", (big,)),
        "silu_backward bf16 (101, 331)": ("silu_backward", (dy.bfloat16(), x.bfloat16())),
        "gelu_forward tanh (3, 65537)": ("gelu_forward", (big, "tanh")),
        "gelu_backward (101, 331)": ("gelu_backward", (dy, x)),
        "swiglu_backward fp16 (101, 331)": ("swiglu_backward", (dy.half(), x.half(), x.half() * 2)),
        "layer_norm_forward (101, 331)": ("layer_norm_forward", (x, weight, bias)),
        "layer_norm_forward long (37, 9001)": ("layer_norm_forward", (long, long[0], long[1])),
        "layer_norm_backward (101, 331)": ("layer_norm_backward", (dy, x, weight, mean, rstd)),
        "layer_norm_backward (601, 40)": ("layer_norm_backward", (small, small + 1, narrow, randn(601), randn(601))),
        "rms_norm_forward (101, 331)": ("rms_norm_forward", (x, weight)),
        "rms_norm_backward (101, 331)": ("rms_norm_backward", (dy, x, weight, rstd)),
        "cross_entropy_forward (101, 331), some ignored": ("cross_entropy_forward", (x, labels)),
        "cross_entropy_backward (101, 331)": ("cross_entropy_backward", (lse, x, labels, lse)),
        "linear_cross_entropy_forward_backward (150, 96) x 331": (
            "linear_cross_entropy_forward_backward",
            (randn(150, 96), randn(331, 96), labels.repeat(2)[:150]),
        ),
    }


def fastest(run) -> float:
    """Processor seconds of the quickest of several runs; the first does not count."""
    run()
    times = []
    for _ in range(REPEAT):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def mean(ratios: list[float]) -> float:
    return math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios))


def answers_table(wanted: list[str]) -> None:
    print("| answer | Triton's interpreter, ms | emulator | launches run one program at a time |\n|---|---|---|---|")
    ratios = []
    for title, (name, args) in calls().items():
        if wanted and name not in wanted:
            continue
        function = our_answer(name, "triton")
        plain = fastest(lambda function=function, args=args: function(*args))
        with Emulator() as emulator:
            ours = fastest(lambda function=function, args=args: function(*args))
        ratios.append(ours / plain)
        print(f"| {title} | {1000 * plain:.1f} | {ratios[-1]:.4f} | {len(emulator.fallbacks)} |", flush=True)
    print(f"| geometric mean | | {mean(ratios):.4f} | |")


def beside_viz(title: str) -> list:
    """Milliseconds of a call in the emulator and under triton-viz's sanitizer, or why that does not run it."""
    name, args = calls()[title]
    function = our_answer(name, "triton")
    with Emulator():
        ours = fastest(lambda: function(*args))
    trace = sanitizer()  # last: triton-viz changes the interpreter for good
    if trace is None:
        return [1000 * ours, "not installed"]
    for module in [one for key, one in sys.modules.items() if key.startswith("graded_kernels.kernels.")]:
        for key, value in list(vars(module).items()):
            if isinstance(value, InterpretedFunction):
                setattr(module, key, trace(value))
    try:
        return [1000 * ours, 1000 * fastest(lambda: function(*args))]
    except SystemExit:
        return [1000 * ours, "says out-of-bounds"]
    except Exception as error:
        return [1000 * ours, f"raises {type(error).__name__}"]


def viz_table(wanted: list[str]) -> None:
    print("| answer | emulator, ms | triton-viz, ms | emulator / triton-viz |\n|---|---|---|---|")
    for title in [title for title, (name, _) in calls().items() if name in wanted or not wanted]:
        ours, theirs = elsewhere(f"beside_viz({title!r})")
        runs = isinstance(theirs, float)
        shown, ratio = (f"{theirs:.1f}", f"{ours / theirs:.2f}") if runs else (theirs, "")
        print(f"| {title} | {ours:.1f} | {shown} | {ratio} |", flush=True)


def checks_table(wanted: list[str]) -> None:
    print("| exercise | one program at a time, s | together |\n|---|---|---|")
    ratios = []
    for name in [n for n, record in EXERCISES.items() if "triton" in record.backends and (n in wanted or not wanted)]:
        function, spent = our_answer(name, "triton"), {}
        check(name, function, "triton", compiler=False)  # what is prepared once for a process does not count
        for together in (True, False):
            Emulator.together = together
            start = time.process_time()
            check(name, function, "triton", compiler=False)
            spent[together] = time.process_time() - start
        Emulator.together = True
        ratios.append(spent[True] / spent[False])
        print(f"| {name} | {spent[False]:.1f} | {ratios[-1]:.3f} |", flush=True)
    print(f"| geometric mean | | {mean(ratios):.3f} |")


def isolated_table(wanted: list[str]) -> None:
    print("| exercise | in process, s | isolated / in process |\n|---|---|---|")
    ratios = []
    with Worker() as worker:
        worker.ready()
        for name in [n for n, one in EXERCISES.items() if "triton" in one.backends and (n in wanted or not wanted)]:
            function, spent, children = our_answer(name, "triton"), {}, Budget("notebook", math.inf)
            for turn in range(2):  # the first does not count
                for isolated in (True, False):
                    before = time.process_time() + children.spent
                    if isolated:
                        text = answer(name, "triton")
                        check_answer(text, Settings("triton", compiler=False), worker=worker, notebook=children)
                    else:
                        check(name, function, "triton", compiler=False)
                    spent[turn, isolated] = time.process_time() + children.spent - before
            ratios.append(spent[1, True] / spent[1, False])
            print(f"| {name} | {spent[1, False]:.2f} | {ratios[-1]:.2f} |", flush=True)
    print(f"| geometric mean | | {mean(ratios):.2f} |")


def in_this_process(name: str, backend: str) -> list[float]:
    """Processor seconds of the first check and of the second."""
    function, times = our_answer(name, backend), []
    for _ in range(2):
        start = time.process_time()
        check(name, function, backend, compiler=False)
        times.append(time.process_time() - start)
    return times


def elsewhere(call: str) -> list[float]:
    """What a function of this module returns in a process of its own."""
    code = f"import json, emulator_answers; print(); print(json.dumps(emulator_answers.{call}))"
    around = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    child = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=around, check=True)
    return json.loads(child.stdout.splitlines()[-1])


def first_table(wanted: list[str]) -> None:
    print("| exercise | first check, s | second check, s |\n|---|---|---|")
    for name in [n for n in EXERCISES if n in wanted or not wanted]:
        for backend in EXERCISES[name].backends:
            first, second = elsewhere(f"in_this_process({name!r}, {backend!r})")
            print(f"| {name}, {backend} | {first:.2f} | {second:.2f} |", flush=True)


def by_the_clock(name: str, backend: str) -> list[float]:
    """Seconds of the first check with its compilation, and of the second, while another process does nothing else than
    count; and processor seconds of both.
    """
    function, found = our_answer(name, backend), []
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["XDG_CACHE_HOME"] = folder
            for _ in range(2):
                start, spent = time.perf_counter(), time.process_time() + shared_compiler().spent
                assert check(name, function, backend).passed
                found += [time.perf_counter() - start, time.process_time() + shared_compiler().spent - spent]
    finally:
        busy.kill()
        busy.wait()
    return found


def busy_table(wanted: list[str]) -> None:
    print("| exercise | first check, s | second, s | processor time of both, s |\n|---|---|---|---|")
    for name in [n for n in EXERCISES if n in wanted or not wanted]:
        for backend in EXERCISES[name].backends:
            first, busy, second, later = elsewhere(f"by_the_clock({name!r}, {backend!r})")
            print(f"| {name}, {backend} | {first:.2f} | {second:.2f} | {busy:.2f}, {later:.2f} |", flush=True)


def most_memory(name: str, together: bool) -> list[float]:
    """Resident MiB of a process before a check, and at the most."""
    function, Emulator.together = our_answer(name, "triton"), together
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    check(name, function, "triton", compiler=False)
    return [before / 1024, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]


def memory_table(wanted: list[str]) -> None:
    print("| exercise | before the check, MiB | one at a time, MiB | together, MiB | ratio |\n|---|---|---|---|---|")
    for name in [n for n, one in EXERCISES.items() if "triton" in one.backends and (n in wanted or not wanted)]:
        before, alone = elsewhere(f"most_memory({name!r}, False)")
        _, together = elsewhere(f"most_memory({name!r}, True)")
        print(f"| {name} | {before:.0f} | {alone:.0f} | {together:.0f} | {together / alone:.2f} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--viz", action="store_true", help="single calls, beside triton-viz's sanitizer")
    parser.add_argument("--checks", action="store_true", help="whole checks instead of single calls")
    parser.add_argument("--isolated", action="store_true", help="whole checks, in this process and in a sandbox")
    parser.add_argument("--first", action="store_true", help="whole checks, each in a process of its own, twice")
    parser.add_argument("--busy", action="store_true", help="whole checks with their compilation, by the clock, twice")
    parser.add_argument("--memory", action="store_true", help="the most resident memory of whole checks, both ways")
    parser.add_argument("names", nargs="*", help="exercises to check; all if none is named")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.viz:
        viz_table(options.names)
    elif options.isolated:
        isolated_table(options.names)
    elif options.checks:
        checks_table(options.names)
    elif options.first:
        first_table(options.names)
    elif options.busy:
        busy_table(options.names)
    elif options.memory:
        memory_table(options.names)
    else:
        answers_table(options.names)
