"""What `make gpu` does, in order. A piece is what a run that was interrupted does again from its beginning."""

from dataclasses import dataclass

from .errors import ANSWERS
from .operations import OPERATIONS
from .planted_bugs import MODULES


@dataclass(frozen=True)
class Piece:
    """kind: what `child` calls, with ``name``. seconds: an estimate, from which the time left is told; no GPU has
    measured it. view: where it runs, "device" or "emulator".
    """

    kind: str
    name: str
    seconds: int
    view: str = "device"

    @property
    def key(self) -> str:
        """What its result is kept under."""
        return " ".join(filter(None, (self.kind, self.name, "" if self.view == "device" else self.view)))


def pieces() -> list[Piece]:
    return [
        Piece("machine", "", 15),
        *(Piece("speed", name, 20) for name in OPERATIONS),
        *(Piece("planted", module, 50) for module in MODULES),
        *(Piece("arithmetic", "", 15, view) for view in ("device", "emulator")),
        *(Piece("errors", name, 10, view) for name in ANSWERS for view in ("device", "emulator")),
        Piece("device_tests", "", 240),
    ]
