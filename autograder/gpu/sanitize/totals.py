"""Says what the events of a `Sanitizer` add up to, over launches and, under pytest-xdist, over processes."""

from collections import Counter
from typing import Any

from .reached import Reached
from .skipped import Skipped


class Totals:
    """kernels: launches by kernel. judged: kernels, by name, that are to be judged; set_aside: how many findings the
    others have. reached, skipped: as their classes say. spawned: command lines of Python processes that nobody watched.
    """

    def __init__(self) -> None:
        self.kernels: Counter[str] = Counter()
        self.judged: set[str] = set()
        self.set_aside = 0
        self.reached, self.skipped = Reached(), Skipped()
        self.spawned: list[str] = []

    def handle(self, event: dict[str, Any]) -> None:
        """Takes in one event; one that adds to no total changes nothing."""
        if "launch" in event:
            self.kernels[event["launch"]["kernel"]] += 1
            if event["launch"]["judged"]:
                self.judged.add(event["launch"]["kernel"])
        elif "set aside" in event:
            self.set_aside += 1
        elif "coverage" in event:
            self.reached.add(event["coverage"])
        elif "skipped" in event:
            self.skipped.add(**event["skipped"])
        elif "spawned" in event:
            self.spawned.append(event["spawned"])

    def data(self) -> dict[str, Any]:
        """The totals as JSON's values."""
        return {
            "kernels": dict(self.kernels),
            "judged": sorted(self.judged),
            "set aside": self.set_aside,
            "reached": self.reached.functions(),
            "skipped": self.skipped.data(),
            "spawned": self.spawned,
        }

    def add(self, data: dict[str, Any]) -> None:
        """Adds those of another process."""
        self.kernels.update(data["kernels"])
        self.judged.update(data["judged"])
        self.set_aside += data["set aside"]
        self.reached.add(data["reached"])
        for row in data["skipped"]:
            self.skipped.add(**row)
        self.spawned += data["spawned"]
