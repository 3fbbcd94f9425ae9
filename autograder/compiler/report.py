"""`compile_report`: launches in, one plain dictionary out."""

import importlib.metadata
import importlib.util
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from . import cache
from .bindings import Refused
from .extract import Extract, extract, source_lines
from .launch import SEAM, KernelLaunch
from .targets import TARGETS, Target

LIMIT = 6
# (modules, jobs) -> for each job its number and what `worker.results` says of it, in any order.
RunJobs = Callable[[list[dict], list[dict]], Iterable[tuple[int, dict]]]
NUMBERS = ("registers", "scalar_registers", "spills", "shared", "loads", "stores", "load_bits", "store_bits")


class CannotCompile(Exception):
    """Why this machine has no compiler report."""


@dataclass
class _Job:
    """One launch for one target. result: as in the cache; refused: why there is none."""

    launch: KernelLaunch
    target: Target
    extract: Extract | None = None
    refused: Refused | None = None
    key: str = ""
    result: dict | None = None
    cached: bool = False


def compile_report(
    launches: Iterable[KernelLaunch], run_jobs: RunJobs, targets: Iterable[Target] = TARGETS, limit: int = LIMIT
) -> dict:
    """Compile what was launched for machines that are not here. Fields of the result: see the package's docstring.

    run_jobs: how jobs are compiled, in another process; it raises CannotCompile where that cannot be.
    Equal launches count once. Of more than ``limit`` different ones, every kernel's best aligned launch comes first,
    then the others in turn; ``left_out`` says how many were not compiled.
    """
    version = _triton_version()
    if version is None:
        return _not_run("Triton is not installed")
    chosen, left_out = _choose(launches, limit)
    if not chosen:
        return _not_run("no kernel was launched", version)
    targets = tuple(targets)
    jobs = [job for launch in chosen for job in _prepare(launch, targets, version)]
    try:
        _compile([job for job in jobs if job.extract and not job.result], run_jobs)
    except CannotCompile as error:
        return _not_run(str(error), version)
    rows = [_row(job) for job in jobs]
    status, reason = _verdict(rows)
    return {"status": status, "reason": reason, "triton": version, "left_out": left_out, "targets": rows}


def uncompiled(launches: Iterable[KernelLaunch], targets: Iterable[Target] = TARGETS) -> tuple[list[dict], list[dict]]:
    """The modules and the jobs with which a report on all of these launches would call ``run_jobs``."""
    version, targets = _triton_version(), tuple(targets)
    jobs = [job for launch in launches for job in _prepare(launch, targets, version)] if version else []
    return _requests([job for job in jobs if job.extract and not job.result])


def is_new(launch: KernelLaunch) -> bool:
    """Whether no earlier report compiled this code, for any launch of it."""
    version = _triton_version()
    jobs = _prepare(launch, TARGETS[:1], version) if version else []
    return any(job.extract and not job.result and not cache.noted(_code(job, version)) for job in jobs)


def _triton_version() -> str | None:
    if importlib.util.find_spec("triton") is None:
        return None
    try:
        return importlib.metadata.version("triton")
    except importlib.metadata.PackageNotFoundError:
        return None


def _not_run(reason: str, version: str | None = None) -> dict:
    return {"status": "not-run", "reason": reason, "triton": version, "left_out": 0, "targets": []}


def _choose(launches: Iterable[KernelLaunch], limit: int) -> tuple[list[KernelLaunch], int]:
    by_kernel: dict[tuple, dict[str, KernelLaunch]] = {}
    for launch in launches:
        by_kernel.setdefault((launch.kernel, launch.source), {}).setdefault(launch.key(), launch)
    ranked: list[tuple[int, KernelLaunch]] = []
    for group in by_kernel.values():
        best_first = sorted(group.values(), key=lambda launch: len(launch.unaligned))
        ranked += enumerate(best_first)
    ranked.sort(key=lambda pair: pair[0])
    return [launch for _, launch in ranked[:limit]], max(0, len(ranked) - limit)


def _prepare(launch: KernelLaunch, targets: tuple[Target, ...], version: str) -> list[_Job]:
    """The launch's jobs. What it needs of the source is the same for every target."""
    jobs = [_Job(launch, target) for target in targets]
    try:
        found = extract(launch)
    except Refused as reason:
        return [replace(job, refused=reason) for job in jobs]
    except RecursionError:
        too_deep = Refused("not-run", "the source is nested too deeply to be read")
        return [replace(job, refused=too_deep) for job in jobs]
    for job in jobs:
        job.extract = found
        job.key = cache.key_of({"triton": version, "code": _content(job), "job": _request(job)})
        job.result = cache.read(job.key)
        job.cached = job.result is not None
    return jobs


def _code(job: _Job, version: str | None) -> str:
    return cache.key_of({"triton": version, "code": _content(job)})


def _content(job: _Job) -> dict:
    """The kernel's code as the worker takes it; empty for a job that was refused."""
    return job.extract.content() if job.extract else {}


def _request(job: _Job) -> dict:
    launch, target = job.launch, job.target
    notes = {name: "D" for name in launch.divisible}
    for name in launch.within_2gb:
        notes[name] = notes.get(name, "") + "S"
    return {
        "kernel": launch.kernel,
        "signature": dict(launch.signature),
        "constants": dict(launch.constants),
        "notes": notes,
        "options": dict(launch.options),
        "backend": target.backend,
        "arch": target.arch,
        "warp_size": target.warp_size,
    }


def _compile(jobs: list[_Job], run_jobs: RunJobs) -> None:
    doubtful, version = [], _triton_version()
    for job, answer in _answers(jobs, run_jobs):
        if "unsuited" in answer:
            job.refused = Refused("not-run", answer["unsuited"])
        elif "lost" in answer:
            doubtful.append((job, answer["lost"]))
        else:
            job.result = _result(answer, job.target)
            cache.write(job.key, job.result)
            cache.note(_code(job, version))
    works = _works(tuple({job.target: None for job, _ in doubtful}), run_jobs)
    for job, reason in doubtful:
        job.refused = Refused("fail" if works[job.target] else "not-run", reason)


def _answers(jobs: list[_Job], run_jobs: RunJobs) -> Iterable[tuple[_Job, dict]]:
    return [(jobs[i], answer) for i, answer in run_jobs(*_requests(jobs))] if jobs else []


def _requests(jobs: list[_Job]) -> tuple[list[dict], list[dict]]:
    contents = [_content(job) for job in jobs]
    texts = [json.dumps(content) for content in contents]
    modules = dict(zip(texts, contents, strict=True))
    index = {text: i for i, text in enumerate(modules)}
    return list(modules.values()), [
        _request(job) | {"module": index[text]} for job, text in zip(jobs, texts, strict=True)
    ]


def _works(targets: tuple[Target, ...], run_jobs: RunJobs) -> dict[Target, bool]:
    """Whether the compiler does its work where a kernel is beyond doubt. What it then cannot do is the kernel's fault:
    "not run" is for a tool that is missing, and must not be had for the asking.
    """
    launch = KernelLaunch("kernel", _CONTROL, {"x_ptr": "*fp32"}, {}, ("x_ptr",))
    control = [_Job(launch, target, extract(launch)) for target in targets]
    return {job.target: "result" in answer for job, answer in _answers(control, run_jobs)}


_CONTROL = """
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, tl.load(x_ptr) + 1.0)
"""


def _result(answer: dict, target: Target) -> dict:
    result: dict = dict.fromkeys(NUMBERS) | {"status": "fail", "message": "", "function": None, "line": None}
    result["seconds"] = answer["seconds"]
    if "message" in answer:
        return result | {name: answer[name] for name in ("message", "function", "line")}
    result |= answer["result"]
    if result["shared"] > target.shared:
        message = f"a program needs {result['shared']:,} bytes of shared memory and {target.device} has "
        return result | {"message": f"{message}{target.shared:,}"}
    return result | {"status": "pass"}


def _row(job: _Job) -> dict:
    launch, target, refused = job.launch, job.target, job.refused
    result = job.result or dict.fromkeys(NUMBERS) | {"seconds": 0.0}
    row: dict = {
        "kernel": launch.kernel,
        "target": target.name,
        "device": target.device,
        "launch": launch.describe(),
        "aligned": launch.aligned,
        "status": refused.status if refused else result["status"],
        "message": refused.message if refused else result["message"],
        "line": refused.line if refused else _line(job.extract, result),
    }
    lines = source_lines(launch.source)
    row["line_text"] = lines[row["line"] - 1].strip() if row["line"] else ""
    row["line"] = row["line"] and _in_its_text(lines, row["line"])
    return row | {name: result[name] for name in (*NUMBERS, "seconds")} | {"cached": job.cached}


def _line(extract: Extract | None, result: dict) -> int | None:
    function = extract.functions.get(result["function"]) if extract else None
    return function.line + result["line"] if function and result["line"] is not None else None


def _in_its_text(lines: list[str], line: int) -> int:
    """A line of the joined source, counted in the file or cell it comes from."""
    seam = SEAM.strip()
    return line - max((number for number, text in enumerate(lines[:line], 1) if text == seam), default=0)


def _verdict(rows: list[dict]) -> tuple[str, str]:
    for status in ("fail", "not-run"):
        found = [row for row in rows if row["status"] == status]
        if found:
            where = f", line {found[0]['line']}, `{found[0]['line_text']}`" if found[0]["line"] else ""
            names = ", ".join(dict.fromkeys(row["target"] for row in found))
            verb = "does not compile for" if status == "fail" else "was not judged for"
            return status, f"{found[0]['kernel']} {verb} {names}{where}: {found[0]['message']}"
    return "pass", ""
