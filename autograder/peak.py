"""`Peak` under the name by which the first chapters that were handed out imported it."""

from .run.memory import Peak

__all__ = ["Peak"]
