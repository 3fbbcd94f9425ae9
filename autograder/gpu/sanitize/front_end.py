"""Says what Triton's compiler says of launches: of those that the emulator ran, and of those at which it failed."""

from typing import Any, NoReturn

from ..compiler import CannotCompile, KernelLaunch, Target
from ..compiler.ahead_of_time import RunJobs, front_end, machine_code_report
from ..compiler.extract import ADVICE, extract
from ..compiler.kernel_launch import Json
from ..devices import DEVICES, JUDGED
from ..rules import RULES
from .subprocesses import unreported

_DESCRIPTOR = "make_tensor_descriptor"
_STAGES = 3  # of a loop that Triton pipelines, by default
_LATER = {"sm_80": ("sm_90",)}  # where what a target refuses may compile

FindingData = dict[str, Any]  # as `Sanitizer` emits it
FormData = dict[str, Any]  # an event of a `Sanitizer`: the launch, and where its kernel stands


class FrontEnd:
    """Asks the compiler once about each form of a launch, however many launches have it. Without a compiler it says
    nothing. device: a key of `DEVICES`, the GPU to compile for.
    """

    def __init__(self, compiler: RunJobs | None, device: str = JUDGED):
        self._compiler = compiler
        (self._target,) = Target.named(f"sm_{DEVICES[device].architecture}")
        self._rows: dict[str, dict[str, Any]] = {}  # by the key of a launch
        self._right: list[KernelLaunch] = []  # that it takes

    def event(self, form: FormData) -> dict[str, Any]:
        """Returns what the compiler says of a form, as an event of a `Sanitizer`: a finding where it refuses the form;
        what could not be asked; else nothing.
        """
        launch = KernelLaunch(**form["launch"])
        for row in self._asked([launch]):
            if row["status"] == "not-run":
                why = row["message"].removesuffix(f": {ADVICE}")  # which is for an answer to an exercise
                return {"skipped": {"what": "compiler", "kernel": row["kernel"], "why": why}}
            if row["status"] == "fail":
                return {"finding": _refused(form, row, elsewhere=self._elsewhere(launch))}
            if self._may_not_be_launched(form, launch) and (finding := self._not_launched(form, launch)):
                return {"finding": finding}
        return {}

    def _may_not_be_launched(self, form: FormData, launch: KernelLaunch) -> bool:
        """Says whether the blocks that products need at a time, in so many stages, could exceed the shared memory, or
        descriptors made in the kernel need scratch memory without an allocator.
        """
        if not launch.allocates and _makes_descriptors(launch):
            return True
        products, stages = form.get("products", []), form["launch"]["options"].get("num_stages", _STAGES)
        need = stages * sum(operands for operands, _ in products) + max((result for _, result in products), default=0)
        return bool(need > self._target.shared)

    def _not_launched(self, form: FormData, launch: KernelLaunch) -> FindingData | None:
        """The finding of a launch that needs more memory than the GPU, or Triton's launcher, has for it."""
        if not self._compiler:
            return None
        with unreported():
            rows = front_end([launch], self._compiler, target=self._target.name, whole=True)
        for row in rows:
            if row["status"] == "fail" and row["shared"] is not None:
                rule = _RESOURCES if self._target.refuses(row["shared"]) else _UNSUPPORTED
                return _refused(form, row, rule, "cannot be launched on a GPU")
        return None

    def _elsewhere(self, launch: KernelLaunch) -> str:
        """A sentence that names a GPU of those that can be simulated for which a refused launch compiles."""
        later = [name for name, gpu in DEVICES.items() if f"sm_{gpu.architecture}" in _LATER.get(self._target.name, ())]
        for name in later if self._compiler else ():
            target = f"sm_{DEVICES[name].architecture}"
            with unreported():
                rows = front_end([launch], self._compiler, target=target) if self._compiler else []
            if any(row["status"] == "pass" for row in rows):
                return f" {target} takes it: if the kernel is for such a GPU, pass --device {name}."
        return ""

    def machine_code(self, forms: list[FormData]) -> dict[str, Any]:
        """Returns what the machine code of the ``forms`` allows at most, as `machine_code_report` says it; of each, its
        first launch.
        """
        with unreported():
            return machine_code_report([KernelLaunch(**form["launch"]) for form in forms], self._compiler or _none)

    def settled(self, finding: FindingData) -> FindingData:
        """A finding of a kernel that cannot be interpreted, after its launch, ``form``, went to the compiler: a fault
        where that refuses the same line, ``accepted`` where it does not. Any other finding as it is.
        """
        form = finding.pop("form", None)
        if finding["kind"] != "kernel-error" or not form or not self._compiler:
            return finding
        (row,) = self._asked([KernelLaunch(**form)])
        said = finding["message"].rstrip(".")
        if row["status"] == "fail" and row["line"] == finding["line"]:
            message = f"{said}. Triton's compiler refuses the line as well: {_sentence(row)}"
            return finding | _UNSUPPORTED | {"message": message}
        if row["status"] == "pass":
            message = f"{said}. Triton's compiler accepts the kernel: this is a gap of the emulator's."
            return finding | {"message": message, "accepted": True}
        return finding

    def _asked(self, launches: list[KernelLaunch]) -> list[dict[str, Any]]:
        """The compiler's row for each launch."""
        if not self._compiler:
            return []
        new = {launch.key(): launch for launch in launches if launch.key() not in self._rows}
        if new:
            with unreported():
                rows = front_end([*new.values()], self._compiler, self._right, self._target.name)
            self._rows |= zip(new, rows, strict=False)
            self._right += [value for value, row in zip(new.values(), rows, strict=False) if row["status"] == "pass"]
        return [self._rows[launch.key()] for launch in launches if launch.key() in self._rows]


def _makes_descriptors(launch: KernelLaunch) -> bool:
    """Says whether the text of the kernel, or of a function that it calls, makes a tensor descriptor."""
    texts = [launch.source, *(text for _, text in launch.helpers.values())]
    return any(_DESCRIPTOR in text for text in texts) and _DESCRIPTOR in str(extract(launch).content())


def _none(modules: list[Json], jobs: list[Json], *, control: bool = False) -> NoReturn:
    raise CannotCompile("there is no compiler here")


_UNSUPPORTED = {"kind": "unsupported", "level": RULES["unsupported"].level, "cure": RULES["unsupported"].cure}
_RESOURCES = {"kind": "resources", "level": RULES["resources"].level, "cure": RULES["resources"].cure}


def _refused(
    form: FormData,
    row: dict[str, Any],
    rule: dict[str, str] = _UNSUPPORTED,
    refused: str = "does not compile for a GPU",
    elsewhere: str = "",
) -> FindingData:
    """The finding of a kernel that the GPU would not run. elsewhere: a sentence on one that would."""
    kernel, file, line = row["kernel"], form["file"], row["line"] or form["line"]
    where = f", line {line}, `{row['line_text']}`" if row["line_text"] else ""
    ran = "runs here and " if form["ran"] else ""
    message = f"`{kernel}` {ran}{refused}{where}: {_sentence(row)}{row['only_in']}{elsewhere}"
    where_of = {"kernel": kernel, "file": file, "line": line, "source": row["line_text"]}
    nowhere = {"program": None, "tensor": "", "offset": None}
    return {"key": [rule["kind"], kernel, file, line, ""], **rule, **where_of, **nowhere, "message": message}


def _sentence(row: dict[str, Any]) -> str:
    return f"{' '.join(row['message'].split()).rstrip('.')}."
