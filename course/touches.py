"""Says what a launch read and wrote, noted as data: a touch for each load and store of a program."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Touch:
    """One load or store of one program: for each lane the element offset, and whether the mask lets it through."""

    program: int
    verb: str
    tensor: str
    offsets: tuple[int, ...]
    on: tuple[bool, ...]


@dataclass
class Story:
    """Touches of a launch, in order; how many elements each tensor has; the emulator's words if it was stopped."""

    touches: list[Touch] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)
    error: str = ""

    def of(self, program: int) -> list[Touch]:
        """The elements that one program touched, in order."""
        return [touch for touch in self.touches if touch.program == program]
