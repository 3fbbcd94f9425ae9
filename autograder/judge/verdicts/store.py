"""The verdicts of a course: a folder in its root, one file for each.

The first line of a file is the SHA-256 of the rest, which is the verdict as JSON. A file is written under another name,
flushed to the disk and then renamed: it is there as a whole or not at all. Whoever can write here can change grades, as
in the gradebook, so the folder is its owner's alone.
"""

import contextlib
import hashlib
import json
import os
import secrets
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .job import Job
from .verdict import Damaged, Verdict

if TYPE_CHECKING:
    from .scheduler import Cluster

FOLDER = "verdicts"
LOG = "made.log"
_DIGEST = 64  # characters
_LOGGED = ("key", "name", "seconds", "checks", "made", "where", "doubt")


class Store:
    """The store in the course root ``root``. tell: called with a sentence about anything that could not be used."""

    def __init__(self, root: Path, tell: Callable[[str], None] = lambda line: None):
        self.folder, self.tell = Path(root) / FOLDER, tell

    def get(self, job: Job) -> Verdict | None:
        """The verdict on ``job``, final or not, or None. A damaged one is removed, and the caller makes it again."""
        path = self._place(job.name, job.key)
        try:
            verdict = stored(path)
            if verdict.key != job.key or verdict.name != job.name:
                raise Damaged("it is another's")
        except FileNotFoundError:
            return None
        except Damaged as error:
            self.tell(f"The verdict {path} is damaged ({error}). It was removed and is made again.")
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
            return None
        return verdict

    def put(self, verdict: Verdict) -> None:
        """Raises OSError, with nothing left behind, where it cannot be written. One whose line in the log cannot be
        written is kept: the log tells what verdicts cost, and no grade depends on it.
        """
        path = self._place(verdict.name, verdict.key)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        body = verdict.to_json().encode()
        written = path.with_name(f".{secrets.token_hex(8)}.tmp")
        try:
            with open(written, "xb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, 0o600)) as file:
                file.write(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
                file.flush()
                os.fsync(file.fileno())
            os.replace(written, path)
        except BaseException:
            with contextlib.suppress(OSError):
                written.unlink()
            raise
        _flush(path.parent)
        try:
            self._log(verdict)
        except OSError as error:
            self.tell(f"A verdict on {verdict.name} was kept, and its line in {self.folder / LOG} was not: {error}.")

    def settled(self, job: Job, make: Callable[[Job, int], Verdict]) -> tuple[Verdict, bool]:
        """The verdict on ``job`` that counts, and whether it was there. ``make`` checks the answer, and is given how
        many times it will have been checked.
        """
        verdict, there = self.get(job), True
        while verdict is None or not (verdict.final or verdict.left):
            there = False
            verdict = make(job, verdict.checks + 1 if verdict else 1)
            self.keep(verdict)
        return verdict, there

    def made_on(self, cluster: "Cluster", jobs: deque[Job]) -> Iterator[tuple[Job, Verdict | str]]:
        """Makes and puts the verdicts; each job with its own, or with how its check crashed. More jobs may be added
        between two results. Raises OSError as `put` does, and RuntimeError where the cluster has no worker.
        """
        from .make import FAILED, check

        for job, result in cluster.run(jobs, check):
            if result and FAILED in result:
                yield job, result[FAILED]
                continue
            verdict = Verdict.of(result) if result else Verdict.left_to_a_person(job.key, job.name)
            self.put(verdict)
            yield job, verdict

    def keep(self, verdict: Verdict) -> None:
        """Puts it; where that cannot be done, only the next run has to do the work again."""
        try:
            self.put(verdict)
        except OSError as error:
            self.tell(f"A verdict on {verdict.name} was not kept: {error}. The next run makes it again.")

    def __iter__(self) -> Iterator[Path]:
        """The files of all verdicts, in order."""
        return iter(sorted(self.folder.glob("*/*.json")))

    def made(self) -> list[dict[str, Any]]:
        """A dictionary for each verdict that was ever made here: ``key``, ``name``, ``seconds``, ``checks``, ``made``,
        ``where``, ``doubt``.
        """
        try:
            lines = (self.folder / LOG).read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        entries = []
        for line in lines:
            with contextlib.suppress(ValueError):  # empty, or the last line of a full disk
                entries.append(json.loads(line))
        return entries

    def clear(self, wanted: Callable[[Path], bool] = lambda path: True) -> int:
        """Removes the verdicts that are ``wanted``, and what a killed writer left behind; returns how many."""
        removed = [path for path in self if wanted(path)]
        for path in [*removed, *self.folder.glob("*/.*.tmp")]:
            path.unlink(missing_ok=True)
        return len(removed)

    def _log(self, verdict: Verdict) -> None:
        """One write to the end of the file: lines of several processes do not mix. What breaks the line comes first, so
        that the next one is whole where a full disk cut this one.
        """
        entry = {
            name: getattr(verdict, name) for name in ("key", "name", "seconds", "checks", "made", "where", "doubt")
        }
        file = os.open(self.folder / LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            os.write(file, f"\n{json.dumps(entry)}".encode())
        finally:
            os.close(file)

    def _place(self, name: str, key: str) -> Path:
        return self.folder / name / f"{key}.json"


def stored(path: Path) -> Verdict:
    """The verdict in a file. Raises FileNotFoundError and Damaged."""
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW)) as file:
            content = file.read()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Damaged(error.strerror or str(error)) from None
    body = content[_DIGEST + 1 :]
    if content[:_DIGEST].decode("ascii", "replace") != hashlib.sha256(body).hexdigest():
        raise Damaged("its content is not what was written")
    return Verdict.from_json(body)


def _flush(folder: Path) -> None:
    """The folder's entry of a renamed file to the disk."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
