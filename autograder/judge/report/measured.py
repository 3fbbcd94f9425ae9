"""The measurements of a report in words: memory traffic, what the compiler made, machine code, versions and seed."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ...words import count
from ..results.data import ReportData


@dataclass(frozen=True)
class Measured:
    """Holds what was measured in words; each text is "" and each tuple empty where it was not.

    traffic: bytes loaded and stored, in a sentence. times: the same as a multiple, for one line. status: of the
    compiler, ``pass`` or ``fail``. compiled: a sentence on what was compiled. targets: status and line of each kernel
    for each target. machine_code: each kernel with its launch, and its figures in sentences; machine_code_about: what
    no count says. notes: where a GPU may differ. environment: versions, device and seed in a line.
    """

    traffic: str
    times: str
    status: str
    compiled: str
    targets: tuple[tuple[str, str], ...]
    machine_code: tuple[tuple[str, str], ...]
    machine_code_about: str
    notes: tuple[str, ...]
    environment: str

    @classmethod
    def of(cls, report: ReportData) -> "Measured":
        """The words for what this report holds of it."""
        ran = report.compile if report.compile and report.compile["status"] != "not-run" else None
        return cls(
            traffic(report.traffic) if report.traffic else "",
            times(report.traffic) if report.traffic else "",
            ran["status"] if ran else "",
            compiled(ran) if ran else "",
            tuple(targets(ran.get("targets", ()))) if ran else (),
            machine_code(report.machine_code["kernels"]) if report.machine_code else (),
            report.machine_code["about"] if report.machine_code else "",
            report.notes,
            environment(report.environment),
        )

    def cost(self, registers: bool = True) -> str:
        """Returns what the kernels of an answer move and, with ``registers``, what they compile to, in a sentence; ""
        where nothing was measured.
        """
        if self.status == "fail":  # and not required
            return self.compiled
        lines = [text for _, text in self.targets] if registers else []
        parts = [part for part in (self.times, *lines) if part]
        return f"Cost: {'; '.join(parts)}." if parts else ""


def traffic(figures: dict[str, Any]) -> str:
    """Returns the bytes loaded and stored beside the least that would do, in a sentence (`ReportData.traffic`)."""
    loaded, stored, least = (size(figures[name]) for name in ("loaded", "stored", "least"))
    if figures["ratio"] < 1:  # the least counts whole tensors
        less = f"less than the {least} of all arguments and results: masks leave some out"
        return f"Memory traffic: {loaded} loaded and {stored} stored, {less}."
    ratio = f"{figures['ratio']:.2f} times the minimum: {loaded} loaded and {stored} stored, where {least} would do"
    allowed = figures.get("allowed")
    limit = f"; the limit is {allowed:.2f} times" if allowed is not None else ""
    return f"Memory traffic: {ratio}{limit}."


def times(figures: dict[str, Any]) -> str:
    """Returns ``1.02 times the least memory traffic (limit 1.10)``."""
    allowed = figures.get("allowed")
    limit = f" (limit {allowed:.2f})" if allowed is not None else ""
    least = "memory traffic of all arguments and results" if figures["ratio"] < 1 else "least memory traffic"
    return f"{figures['ratio']:.2f} times the {least}{limit}"


def size(number_of_bytes: float) -> str:
    """Returns ``1.5 KiB``: a number of bytes in the largest unit that fits."""
    for unit in ("B", "KiB", "MiB"):
        if number_of_bytes < 1024:
            return f"{number_of_bytes:,.4g} {unit}"
        number_of_bytes /= 1024
    return f"{number_of_bytes:,.4g} GiB"


def machine_code(kernels: Iterable[dict[str, Any]]) -> tuple[tuple[str, str], ...]:
    """Each kernel that was counted, with its launch, and its figures in sentences."""
    rows = tuple((f"{row['kernel']} ({row['launch']})", row["text"]) for row in kernels)
    return rows or (("Machine code", "No kernel was launched that could be compiled."),)


def compiled(figures: dict[str, Any]) -> str:
    """Returns what was compiled, and what was not, above `targets`, which say why a kernel does not compile."""
    if figures["status"] == "fail":
        return "Compiler: a kernel does not compile." if figures["targets"] else f"Compiler: {figures['reason']}"
    gpus, all_forms, complete = figures.get("compiled_for", ()), figures.get("forms", 0), figures.get("complete", 0)
    sentences = [f"Compiler: compiled for {', '.join(gpus)}, no GPU needed." if gpus else "Compiler:"]
    if all_forms > complete:
        sentences.append(
            f"Of {count(all_forms, 'form')} in which kernels were launched (types, constants, options), Triton's front "
            f"end took every one, and the whole compiler {complete}: with every operation and the largest blocks."
        )
    if figures.get("left_out"):
        sentences.append(f"{count(figures['left_out'], 'form')} more should have gone through the whole compiler.")
    if others := figures.get("not_compiled_for"):
        sentences.append(f"Not compiled for {', '.join(others)} (targets: all).")
    return " ".join(sentences)


def targets(rows: Iterable[dict[str, Any]]) -> list[tuple[str, str]]:
    """Status and line of each kernel for each target: one for all forms that compile, and one for each message of the
    compiler's; targets with the same line share it.
    """
    kernels: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        kernels.setdefault((row["status"], row.get("message"), row.get("kernel"), row["target"]), []).append(row)
    together: dict[tuple[str, str], list[str]] = {}
    for (status, _, _, name), forms in kernels.items():
        together.setdefault((status, target(forms)), []).append(name)
    return [(status, f"{', '.join(names)} {text}") for (status, text), names in together.items()]


def target(forms: list[dict[str, Any]]) -> str:
    """``silu_kernel: up to 32 registers, no spills, 128-bit loads`` of a kernel's forms that compile for a target, or
    the compiler's message of those that fail with it.
    """
    row = forms[0]
    registers, spills, bits = (_most(forms, name) for name in ("registers", "spills", "load_bits"))
    most = "up to " if len(forms) > 1 else ""
    figures = [
        "" if registers is None else f"{most}{count(registers, 'register')}",
        "" if spills is None else f"{most}{size(spills)} spilled{_spilling(forms, spills)}" if spills else "no spills",
        f"{most}{bits}-bit loads" if bits else "",
    ]
    figures = [figure for figure in figures if figure and row["status"] == "pass"]
    message = [row["message"]] if row.get("message") else []
    place = [f"line {row['line']}: {row['line_text'].strip()}"] if row.get("line") and row.get("line_text") else []
    return f"{row.get('kernel') or ''}: {', '.join(figures + message + place) or row['status']}".lstrip()


def _spilling(forms: list[dict[str, Any]], spills: int) -> str:
    """`` with BLOCK=32768``: the constants of the form that spills most, as far as not all forms have them."""
    constants = [[part for part in form.get("launch", "").split(", ") if "=" in part] for form in forms]
    worst = next(parts for form, parts in zip(forms, constants, strict=True) if form.get("spills") == spills)
    peculiar = [part for part in worst if not all(part in parts for parts in constants)]
    return f" with {', '.join(peculiar)}" if peculiar else ""


def _most(forms: list[dict[str, Any]], name: str) -> int | None:
    return max((row[name] for row in forms if row.get(name) is not None), default=None)


def environment(values: dict[str, Any]) -> str:
    """Returns versions, device and seed in a line (`ReportData.environment`)."""
    names = {"python": "Python", "torch": "PyTorch", "triton": "Triton"}
    versions = [f"{name} {values[key]}" for key, name in names.items() if values.get(key)]
    seed = [f"seed {values['seed']}"] if "seed" in values else []  # with it the same inputs can be made again
    return ", ".join(versions + [str(values[name]) for name in ("device", "mode") if values.get(name)] + seed)
