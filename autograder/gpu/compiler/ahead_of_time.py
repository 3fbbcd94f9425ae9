"""`compile_report`: launches in, one plain dictionary out."""

import contextlib
import importlib.metadata
import importlib.util
import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Protocol

from ..emulator import advice
from . import cache
from .bindings import RefusedKernel
from .extract import Extract, extract, source_lines
from .forms import covering, distinguished, form_of, forms, kernels
from .kernel_launch import SEAM, Json, KernelLaunch
from .launchable import refusal
from .machine_code import NUMBERS
from .sass.roofline import NOT_SAID, Kernel, Size, in_words
from .targets import TARGETS, Target

FORMS = 512  # of all kernels of an answer; ours have up to 40
WHOLE = 48  # of these that the whole compiler takes; ours up to 10
_AT_ONCE = 100  # launches that a child takes through the front end, with the time of one answer
SHOWN = 6  # of what tells a launch from others, in a sentence


class RunJobs(Protocol):
    """Compiles jobs in another process: for each its number and what `worker.results` says of it, in any order. Raises
    CannotCompile where that cannot be. control: no kernel of the answer is among them, and none of its time is taken.
    """

    def __call__(
        self, modules: list[Json], jobs: list[Json], *, control: bool = False
    ) -> Iterable[tuple[int, Json]]: ...


class CannotCompile(Exception):
    """Why this machine has no compiler report."""


@dataclass
class _Job:
    """A launch for one target. whole: not the front end alone. counted: its machine code, too. result: as in the cache.
    refused: why there is none.
    """

    launch: KernelLaunch
    target: Target
    whole: bool
    counted: bool = False
    extract: Extract | None = None
    refused: RefusedKernel | None = None
    key: str = ""
    result: Json | None = None
    cached: bool = False

    @property
    def status(self) -> str:
        """Either "pass", "fail" or "not-run"; empty while there is no result."""
        return self.refused.status if self.refused else self.result["status"] if self.result else ""

    @property
    def compiled(self) -> bool:
        """Returns whether the whole compiler takes it, launched or not."""
        return self.whole and self.result is not None and self.result["status"] == "pass"


def compile_report(
    launches: Iterable[KernelLaunch],
    run_jobs: RunJobs,
    targets: Sequence[Target] | None = None,
    whole: bool = True,
    measured: Sequence[KernelLaunch] = (),
) -> Json:
    """Compiles what was launched for machines that are not here. Returns the report that the package's docstring
    describes.

    Every form of every kernel goes through Triton's front end, and as many as `forms.covering` chooses through the
    whole compiler, for each target. Of more than `WHOLE` of these, the first of every kernel come first. whole: not
    the front end alone, with the first form of every kernel. measured: launches whose forms are compiled as a whole
    beside those, for their figures.
    """
    version, launches = _triton_version(), list(launches)
    if version is None:
        return _none("not-run", "Triton is not installed")
    distinct = forms(launches)
    if not distinct:
        return _none("not-run", "no kernel was launched", version)
    if len(distinct) > FORMS:
        reason = (
            f"The kernels are launched in {len(distinct):,} forms, with other constants, types or options each time; "
        )
        return _none("fail", f"{reason}at most {FORMS} can be compiled, and all of them must be.", version)
    targets = targets or Target.named()
    if not whole:
        distinct = [*{(form.kernel, form.source): form for form in reversed(distinct)}.values()]
    fronts = [job for form in distinct for job in _prepare(form, targets, version, whole=False)]
    try:
        _compile(fronts, run_jobs)
        chosen, left_out = _chosen(fronts, measured) if whole else ([], 0)
        right = {(job.launch.key(), job.target) for job in fronts if job.status == "pass"}
        prepared = [job for form in chosen for job in _prepare(form, targets, version, whole=True)]
        complete = [job for job in prepared if (job.launch.key(), job.target) in right]
        _compile(complete, run_jobs)
    except CannotCompile as error:
        return _none("not-run", str(error), version)
    _refuse_launches(complete, launches)
    place = {form.key(): number for number, form in enumerate(distinct)}
    jobs = [job for job in fronts if job.status != "pass"] + complete
    jobs.sort(key=lambda job: (place[job.launch.key()], targets.index(job.target)))
    rows = [_row(job) for job in jobs]
    status, reason = _verdict(jobs, rows, distinct)
    return {
        "status": status,
        "reason": reason,
        "triton": version,
        "forms": len(distinct),
        "complete": len({job.launch.key() for job in complete}),
        "left_out": left_out,
        "compiled_for": [target.name for target in targets],
        "not_compiled_for": [target.name for target in TARGETS if target not in targets],
        "targets": rows,
    }


def front_end(
    launches: Sequence[KernelLaunch],
    run_jobs: RunJobs,
    known: Sequence[KernelLaunch] = (),
    target: str = "sm_90",
    whole: bool = False,
) -> list[Json]:
    """Returns what Triton's front end says of these launches, for a target: a row for each, as in `compile_report`. Its
    status is "fail" where the compiler itself refuses the launch, and "not-run" wherever something else was in the way.
    ``only_in``: how the launch differs from those that compile, of these and of the ``known`` ones. whole: what the
    whole compiler says, which knows what a program needs.
    """
    version = _triton_version()
    if version is None:
        return []
    jobs = [job for launch in launches for job in _prepare(launch, Target.named(target), version, whole)]
    with contextlib.suppress(CannotCompile):
        for first in range(0, len(jobs), _AT_ONCE):
            _compile(jobs[first : first + _AT_ONCE], run_jobs)
    _refuse_launches([job for job in jobs if whole], launches)
    right = [*known, *(job.launch for job in jobs if job.status == "pass")]
    rows = [_row(job) | {"status": _of_the_compiler(job)} for job in jobs]
    return [row | {"only_in": _launched(job.launch, right)} for job, row in zip(jobs, rows, strict=True)]


def machine_code_report(launches: Iterable[KernelLaunch], run_jobs: RunJobs) -> Json:
    """Returns what the machine code for sm_90 says of each kernel and each set of types of its tensors, in the largest
    launch that has them, or one as large to a factor of 2 that allows wider loads: the fields of a `roofline.Kernel`,
    ``shares`` and ``resources`` by card, ``launch``, ``elements``, and ``text``, which says it all, or why there is
    none of it. ``kernels`` are these rows; ``about`` says what they cannot. Launches of unknown size are left out.
    """
    version = _triton_version()
    largest: dict[tuple[object, ...], KernelLaunch] = {}
    known = (sized for sized in launches if sized.size)
    for launch in sorted(known, key=lambda sized: (sized.elements.bit_length(), sized.aligned, sized.elements)):
        types = tuple(kind for kind in launch.signature.values() if kind.startswith("*"))
        largest[launch.kernel, launch.source, types] = launch
    (target,) = Target.named("sm_90")
    prepared = [_prepare(sized, [target], version or "", whole=True, counted=True) for sized in largest.values()]
    jobs = [job for some in prepared for job in some]
    try:
        _compile(jobs, run_jobs)
    except CannotCompile as error:
        jobs = [replace(job, refused=RefusedKernel("not-run", str(error)), result=None) for job in jobs]
    return {"about": NOT_SAID, "kernels": [_counted(job) for job in jobs]}


def _counted(job: _Job) -> Json:
    launch, result = job.launch, job.result
    row = {"kernel": launch.kernel, "launch": launch.describe(), "elements": launch.elements}
    if job.refused or not result or result["status"] == "fail":
        message = job.refused.message if job.refused else result["message"] if result else "not compiled"
        return row | {"text": f"Not compiled for {job.target.device}: {message}"}
    thread, size = result["thread"], Size(**launch.size)
    kernel = Kernel.of(launch.kernel, thread, thread["warps"], result["shared"], size)
    figures = {name: value for name, value in asdict(kernel).items() if name != "name"}
    row |= figures | {"shares": kernel.shares, "resources": kernel.resources}
    return row | {"text": in_words(row)}


def _of_the_compiler(job: _Job) -> str:
    """The status of a job, as `front_end` has it."""
    if job.refused and job.refused.known:
        return "fail"
    return str(job.result["status"]) if job.result and job.result["permitted"] else "not-run"


def _triton_version() -> str | None:
    if importlib.util.find_spec("triton") is None:
        return None
    try:
        return importlib.metadata.version("triton")
    except importlib.metadata.PackageNotFoundError:
        return None


def _none(status: str, reason: str, version: str | None = None) -> Json:
    """A report without a row."""
    numbers = dict.fromkeys(("forms", "complete", "left_out"), 0)
    names: Json = {name: [] for name in ("compiled_for", "not_compiled_for", "targets")}
    return {"status": status, "reason": reason, "triton": version, **numbers, **names}


def _chosen(fronts: list[_Job], measured: Sequence[KernelLaunch]) -> tuple[list[KernelLaunch], int]:
    """The launches for the whole compiler, and how many are too many for it. measured: as `compile_report` has it."""
    operations = {j.launch.key(): j.result["operations"] for j in fronts if j.result and j.status == "pass"}
    passed = {job.launch.key(): job.launch for job in fronts if job.launch.key() in operations}
    ranked = itertools.zip_longest(*(covering(group, operations) for group in kernels(passed.values())))
    chosen = [launch for rank in ranked for launch in rank if launch]
    wanted = {launch.form() for launch in measured} - {launch.form() for launch in chosen[:WHOLE]}
    more = [launch for launch in passed.values() if launch.form() in wanted]
    return chosen[:WHOLE] + more, len(chosen[WHOLE:])


def _prepare(
    launch: KernelLaunch, targets: Sequence[Target], version: str, whole: bool, counted: bool = False
) -> list[_Job]:
    """The launch's jobs. What it needs of the source is the same for every target."""
    jobs = [_Job(launch, target, whole, counted) for target in targets]
    try:
        extracted = extract(launch)
    except RefusedKernel as reason:
        return [replace(job, refused=reason) for job in jobs]
    except RecursionError:
        too_deep = RefusedKernel("not-run", "the source is nested too deeply to be read")
        return [replace(job, refused=too_deep) for job in jobs]
    content = extracted.content()
    for job in jobs:
        job.extract = extracted
        job.key = cache.key_of({"triton": version, "code": content, "job": _request(job)})
        job.result = cache.read(job.key)
        job.cached = job.result is not None
    return jobs


def job_of(launch: KernelLaunch, target: Target) -> Json:
    """A launch as a worker compiles all of it: its ``job``, and what it needs of the source as ``module``. Raises
    Refused.
    """
    job = _Job(launch, target, True, False)
    return {"job": _request(job), "module": extract(launch).content()}


def _content(job: _Job) -> Json:
    """The kernel's code as the worker takes it; empty for a job that was refused."""
    return job.extract.content() if job.extract else {}


def _request(job: _Job) -> Json:
    launch, target = job.launch if job.whole else form_of(job.launch), job.target
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
        "whole": job.whole,
        "size": dict(launch.size) if job.counted else None,
    }


def _compile(jobs: list[_Job], run_jobs: RunJobs) -> None:
    """Fills in what became of those that are to be compiled and are not in the cache."""
    doubtful = []
    waiting = [job for job in jobs if job.extract and not job.result]
    for number, answer in run_jobs(*_requests(waiting)) if waiting else ():
        job = waiting[number]
        if "unsuited" in answer:
            job.refused = RefusedKernel("fail", answer["unsuited"])
        elif "late" in answer:  # decides nothing: dozens of forms share the time, and none of them need be slow
            job.refused = RefusedKernel("not-run", answer["late"])
        elif "lost" in answer:
            doubtful.append((job, answer["lost"], bool(answer.get("slow"))))
        else:
            job.result = _result(answer, job.target)
            cache.write(job.key, job.result)
    works = _works(tuple({job.target: None for job, *_ in doubtful}), run_jobs)
    for job, reason, slow in doubtful:
        job.refused = RefusedKernel("fail" if works[job.target] else "not-run", reason, slow=slow)


def _refuse_launches(jobs: list[_Job], launches: Iterable[KernelLaunch]) -> None:
    """Has those of compiled kernels fail that are not launched, whatever their machine code. launches: all of them."""
    of_form: dict[str, list[KernelLaunch]] = {}
    for launch in launches:
        of_form.setdefault(launch.form(), []).append(launch)
    for job in jobs:
        if job.result and job.compiled:
            if message := refusal(of_form[job.launch.form()], job.target, job.result):
                job.refused = RefusedKernel("fail", message, known=True)


def _requests(jobs: list[_Job]) -> tuple[list[Json], list[Json]]:
    contents = [_content(job) for job in jobs]
    texts = [json.dumps(content) for content in contents]
    modules = dict(zip(texts, contents, strict=True))
    index = {text: i for i, text in enumerate(modules)}
    return list(modules.values()), [
        _request(job) | {"module": index[text]} for job, text in zip(jobs, texts, strict=True)
    ]


def _works(targets: tuple[Target, ...], run_jobs: RunJobs) -> dict[Target, bool]:
    """Returns whether the compiler does its work where a kernel is beyond doubt. What it then cannot do is the kernel's
    fault: "not run" is for a tool that is missing, and must not be had for the asking.
    """
    if not targets:
        return {}
    launch = KernelLaunch("kernel", _CONTROL, {"x_ptr": "*fp32"}, {}, ("x_ptr",))
    control = [_Job(launch, target, True, extract=extract(launch)) for target in targets]
    answers = run_jobs(*_requests(control), control=True)
    return {control[number].target: "result" in answer for number, answer in answers}


_CONTROL = """
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, tl.load(x_ptr) + 1.0)
"""


def _result(answer: Json, target: Target) -> Json:
    result: Json = dict.fromkeys(NUMBERS) | {"status": "fail", "message": "", "function": None, "line": None}
    result |= {"seconds": answer["seconds"], "operations": answer.get("operations", [])}
    result |= {"thread": answer.get("thread")}
    result["permitted"] = answer.get("permitted", True)
    if "message" in answer:
        return result | {name: answer[name] for name in ("message", "function", "line")}
    if "operations" in answer:
        return result | {"status": "pass"}
    result |= answer["result"]
    for message in target.refuses(result["shared"]):
        return result | {"message": message}
    return result | {"status": "pass"}


def _row(job: _Job) -> Json:
    launch, target, refused = job.launch, job.target, job.refused
    result = job.result or dict.fromkeys(NUMBERS) | {"seconds": 0.0}
    row: Json = {
        "kernel": launch.kernel,
        "target": target.name,
        "device": target.device,
        "launch": launch.describe(),
        "aligned": launch.aligned,
        "status": job.status,
        "slow": bool(refused and refused.slow),
        "message": refused.message if refused else result["message"],
        "line": refused.line if refused else _line(job.extract, result),
    }
    lines = source_lines(launch.source)
    row["line_text"] = lines[row["line"] - 1].strip() if row["line"] else ""
    row["line"] = row["line"] and _in_its_text(lines, row["line"])
    row["advice"] = advice.on(row["message"], row["line_text"]) if job.status == "fail" else ""
    return row | {name: result[name] for name in (*NUMBERS, "seconds")} | {"cached": job.cached}


def _line(extract: Extract | None, result: Json) -> int | None:
    function = extract.functions.get(result["function"]) if extract else None
    return function.line + result["line"] if function and result["line"] is not None else None


def _in_its_text(lines: list[str], line: int) -> int:
    """A line of the joined source, counted in the file or cell it comes from."""
    seam = SEAM.strip()
    return line - max((number for number, text in enumerate(lines[:line], 1) if text == seam), default=0)


def _verdict(jobs: list[_Job], rows: list[Json], launches: list[KernelLaunch]) -> tuple[str, str]:
    for status in ("fail", "not-run"):
        failed = [(job, row) for job, row in zip(jobs, rows, strict=True) if row["status"] == status]
        if failed:
            job, row = min(failed, key=lambda pair: pair[1]["slow"])  # what is refused comes before what takes long
            where = f", line {row['line']}, `{row['line_text']}`" if row["line"] else ""
            same = [r for j, r in failed if (r["message"], j.launch.source) == (row["message"], job.launch.source)]
            names = ", ".join(dict.fromkeys(pair["target"] for pair in same))
            verb = "does not compile for" if status == "fail" else "was not judged for"
            verb = "is not compiled for" if row["slow"] else "cannot be launched on" if job.compiled else verb
            wrong = {j.launch.key() for j, r in failed}
            right = [launch for launch in launches if launch.key() not in wrong]
            return status, f"{row['kernel']} {verb} {names}{where}: {row['message']}{_launched(job.launch, right)}"
    return "pass", ""


def _launched(launch: KernelLaunch, right: list[KernelLaunch]) -> str:
    """Returns how the launch differs from those of its kernel that compile, if any do."""
    others = [other for other in right if (other.kernel, other.source) == (launch.kernel, launch.source)]
    parts = distinguished(launch, others) if others else []
    shown = ", ".join(parts[:SHOWN]) + (", …" if len(parts) > SHOWN else "")
    return f" (in the launch with {shown})" if parts else ""
