"""Results as they are kept: a line of JSON for each piece, written when it ends."""

import json
import os
from datetime import date
from pathlib import Path


class Kept:
    """The results in a file, by the pieces' keys. A result: ``status`` ("done" or "failed"), ``reason``, ``seconds``,
    ``date``, and ``found``, what the piece says. A last line that an interruption cut off is left out.
    """

    def __init__(self, path: Path):
        self.path = path
        self.results: dict[str, dict] = {}
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        self._whole = text.endswith("\n") or not text
        for line in text.splitlines():
            try:
                result = json.loads(line)
            except json.JSONDecodeError:
                continue
            self.results[result["piece"]] = result

    def done(self, key: str) -> bool:
        """Whether the piece needs no other run; one that failed gets another."""
        return self.results.get(key, {}).get("status") == "done"

    def found(self, key: str) -> dict:
        """What the piece says; nothing where it did not end well."""
        return self.results.get(key, {}).get("found", {})

    def add(self, key: str, status: str, seconds: float, reason: str = "", found: dict | None = None) -> None:
        result = {"piece": key, "status": status, "reason": reason, "seconds": round(seconds, 1)}
        self.results[key] = result = {**result, "date": str(date.today()), "found": found or {}}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(("" if self._whole else "\n") + json.dumps(result) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._whole = True
