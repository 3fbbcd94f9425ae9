"""Findings that are known, in a file: they are counted and fail nothing. A line that moved is known by its text."""

import json
from collections.abc import Container, Iterable
from pathlib import Path
from typing import Any, NamedTuple

SCHEMA = 1


class BaselineError(Exception):
    """A file that cannot be used; the message names the remedy."""


class Entry(NamedTuple):
    """Holds what is known of a finding: its kernel, its kind, and the text of its line."""

    kernel: str
    kind: str
    line: str

    def __str__(self) -> str:
        return f"{self.kind} in `{self.kernel}`, `{self.line}`"


def entry_of(finding: dict[str, Any]) -> Entry:
    """The entry by which a finding is known."""
    return Entry(finding["kernel"], finding["kind"], finding["source"])


class Baseline:
    """The known findings of a file. occurred: the entries of all findings that were asked about.

    update: every finding counts as known, and the file is to be written anew. Raises BaselineError for a file that
    holds something else, or that is not there and not to be written.
    """

    def __init__(self, file: Path, update: bool = False):
        self.file, self.update = file, update
        self.entries = frozenset(self._read())
        self.occurred: set[Entry] = set()

    def _read(self) -> Iterable[Entry]:
        try:
            text = self.file.read_text(encoding="utf-8")
        except FileNotFoundError:
            if self.update:
                return []
            raise BaselineError(
                f"there is no baseline {self.file}; have what is found now written to it (--update-baseline)"
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise BaselineError(f"the baseline {self.file} cannot be read: {error}") from None
        try:
            data = json.loads(text)
            if data["schema"] != SCHEMA:
                raise BaselineError(f"the baseline {self.file} is of schema {data['schema']!r}, not of {SCHEMA}")
            return [Entry(**{name: str(entry[name]) for name in Entry._fields}) for entry in data["findings"]]
        except (ValueError, KeyError, TypeError):
            raise BaselineError(f"{self.file} is not a baseline; have one written to another file") from None

    def knows(self, finding: dict[str, Any]) -> bool:
        """Returns whether a finding is known. It has occurred."""
        entry = entry_of(finding)
        self.occurred.add(entry)
        return self.update or entry in self.entries

    def gone(self, judged: Container[str]) -> list[Entry]:
        """Entries that did not occur although their kernels, by name, were judged."""
        return sorted(entry for entry in self.entries - self.occurred if entry.kernel in judged)

    def text(self, judged: Container[str]) -> str:
        """The file's new text: what has occurred, and what is known of kernels that were not judged."""
        kept = {entry for entry in self.entries if entry.kernel not in judged}
        findings = [entry._asdict() for entry in sorted(self.occurred | kept)]
        return json.dumps({"schema": SCHEMA, "findings": findings}, indent=2) + "\n"

    def remarks(self, judged: Container[str]) -> list[str]:
        """Sentences on what the file has to say beside the findings."""
        if self.update:
            return [f"Written to {self.file}: {len(self.occurred)} of this run, known from now on."]
        return [f"No longer found, though in {self.file}: {entry}." for entry in self.gone(judged)]
