"""Says how far a run of many things is, and how long the rest of it takes."""

import time


class Pace:
    """Counts what is ``made``, from when it begins: the rest is expected to take as long, each."""

    def __init__(self) -> None:
        self.begun, self.made = time.monotonic(), 0

    def text(self, done: int, whole: int, left: int | None = None, odd: str = "") -> str:
        """``[3/30, about 40 s left]``. Of the last one no time is said: it may take longer than all others. left: how
        many are to be made still, where ``done`` counts other things than ``made`` does. odd: what is to be said of
        those that are done.
        """
        left = whole - done if left is None else left
        about = f", about {self.duration(left * self.seconds / self.made)} left" if left and self.made else ""
        return f"[{done}/{whole}{odd}{', the last one is left' if left == 1 else about}]"

    @property
    def seconds(self) -> float:
        """Returns how long it took so far."""
        return time.monotonic() - self.begun

    @staticmethod
    def duration(seconds: float) -> str:
        """A duration in seconds or, from 90 s on, in minutes."""
        return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
