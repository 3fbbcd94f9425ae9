"""Everything that decides a verdict, as one value. Two jobs with the same key come to the same."""

import functools
import hashlib
import json
import platform
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any, Self

from ...runner import Answer, Limits
from . import source

if TYPE_CHECKING:
    from ..records.record import Case, Exercise, Witness

LIBRARIES = ("torch", "triton", "numpy")
UNFIT = "unfit"  # the key of what a worker says in place of a result where it cannot make any


class Work:
    """A job that may be made in another process, which is handed text. What it is are the fields of a dataclass."""

    @property
    def name(self) -> str:
        """For people."""
        raise NotImplementedError

    @functools.cached_property
    def key(self) -> str:
        """SHA-256 of the job and of the versions that it runs on, as 64 hexadecimal digits."""
        return hashlib.sha256(json.dumps([self.decides(), self.versions()], sort_keys=True).encode()).hexdigest()

    def decides(self) -> dict[str, Any]:
        """Returns what of it decides the result."""
        return self.data()

    def data(self) -> dict[str, Any]:
        """All of it, as JSON has it."""
        data: dict[str, Any] = json.loads(json.dumps(asdict(self), default=str))  # type: ignore[call-overload]
        return data

    @classmethod
    def of(cls, data: dict[str, Any]) -> Self:
        """The job with this `data`."""
        return cls(**data)

    @staticmethod
    @functools.cache
    def versions() -> dict[str, str]:
        """Returns what a verdict depends on besides its job, by name: a library's version, "none" where it is missing;
        of the grader the digest of the source that decides, and of packages that offer exercises, if any, that of
        theirs.
        """
        records = source.digest_of_offered()
        versions = {"grader": source.digest(), "python": platform.python_version()} | (
            {"records": records} if records else {}
        )
        return versions | {library: _version(library) for library in LIBRARIES}

    def to_json(self) -> str:
        """The job as JSON with its key, by which a worker can tell whether it has the same versions."""
        return json.dumps(self.data() | {"key": self.key})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Raises OtherVersions where the verdict would not be the one that was asked for."""
        data = json.loads(text)
        key, job = data.pop("key"), cls.of(data)
        if job.key != key:
            versions = ", ".join(f"{name} {version[:12]}" for name, version in cls.versions().items())
            raise OtherVersions(f"{platform.node()} has other versions than the machine that asks: {versions}")
        return job


@dataclass(frozen=True)
class Job(Work):
    """One check. cases: the text of the teacher's file of cases for this exercise, or "". isolated: False where
    the teacher allows answers that cannot be kept from files and network; such a verdict counts nowhere else. On the
    other levels of isolation an answer computes the same. record: the text of the file with the exercise's record,
    where that is neither the course's nor an installed package's.
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

    @staticmethod
    @functools.lru_cache(maxsize=64)
    def record_and_cases(
        exercise: str, record: str, cases: str = ""
    ) -> "tuple[Exercise | Witness | None, tuple[Case, ...]]":
        """A teacher's own record of an exercise and own cases for it, from their texts; None and no cases where a text
        is empty. Raises ValueError where one cannot be used. Imports PyTorch.
        """
        from ..records.external_records import read_cases, read_text
        from ..records.table import find

        teachers = read_text(record, exercise) if record else None
        return teachers, read_cases(cases, teachers or find(exercise)) if cases else ()

    @classmethod
    def of(cls, data: dict[str, Any]) -> Self:
        """As `Work.of`."""
        return cls(**data | {"answer": Answer.of(data["answer"]), "limits": Limits(**data["limits"])})


class OtherVersions(Exception):
    """A worker whose grader or libraries differ; the message says which it has."""


def _version(library: str) -> str:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return "none"
