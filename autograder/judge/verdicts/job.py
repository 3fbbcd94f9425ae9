"""Everything that decides a verdict, as one value. Two jobs with the same key have the same verdict."""

import functools
import hashlib
import json
import platform
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any

from ...runner import Answer, Limits
from . import source

if TYPE_CHECKING:
    from ..records.record import Case, Exercise, Witness

LIBRARIES = ("torch", "triton", "numpy")


@dataclass(frozen=True)
class Job:
    """One check. cases: the text of the teacher's file of cases for this exercise, or "". isolated: False where
    the teacher allows answers that cannot be kept from files and network; such a verdict counts nowhere else. On the
    other rungs an answer computes the same. record: the text of the file with the exercise's record, where that is
    neither the course's nor an installed package's.
    """

    answer: Answer
    backend: str
    seed: int
    limits: Limits
    cases: str = ""
    isolated: bool = True
    record: str = ""

    @property
    def name(self) -> str:
        """``silu_backward-torch``, as the answer's cell is called."""
        return f"{self.answer.exercise}-{self.backend}"

    @functools.cached_property
    def key(self) -> str:
        """SHA-256 of the job and of the versions that it runs on, as 64 hexadecimal digits."""
        return hashlib.sha256(json.dumps([self._data(), self.versions()], sort_keys=True).encode()).hexdigest()

    @staticmethod
    @functools.cache
    def versions() -> dict[str, str]:
        """What a verdict depends on besides its job, by name: a library's version, "none" where it is missing; of the
        grader the digest of the source that decides, and of packages that offer exercises, if any, that of theirs.
        """
        records = source.digest_of_offered()
        found = {"grader": source.digest(), "python": platform.python_version()} | (
            {"records": records} if records else {}
        )
        return found | {library: _version(library) for library in LIBRARIES}

    @staticmethod
    @functools.lru_cache(maxsize=64)
    def own(exercise: str, record: str, cases: str = "") -> "tuple[Exercise | Witness | None, tuple[Case, ...]]":
        """A teacher's own record of an exercise and own cases for it, from their texts; None and no cases where a text
        is empty. Raises ValueError where one cannot be used. Imports PyTorch.
        """
        from ..records.external_records import read_cases, read_text
        from ..records.table import find

        own = read_text(record, exercise) if record else None
        return own, read_cases(cases, own or find(exercise)) if cases else ()

    def to_json(self) -> str:
        """The job as JSON with its key, by which a worker can tell whether it has the same versions."""
        return json.dumps(self._data() | {"key": self.key})

    def _data(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(json.dumps(asdict(self), default=str))
        return data

    @classmethod
    def from_json(cls, text: str) -> "Job":
        """Raises OtherVersions where the verdict would not be the one that was asked for."""
        data = json.loads(text)
        key, answer = data.pop("key"), Answer.of(data.pop("answer"))
        job = cls(answer, limits=Limits(**data.pop("limits")), **data)
        if job.key != key:
            found = ", ".join(f"{name} {version[:12]}" for name, version in cls.versions().items())
            raise OtherVersions(f"{platform.node()} has other versions than the machine that asks: {found}")
        return job


class OtherVersions(Exception):
    """A worker whose grader or libraries differ; the message says which it has."""


def _version(library: str) -> str:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return "none"
