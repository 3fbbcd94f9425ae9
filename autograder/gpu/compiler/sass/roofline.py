"""Instructions an element, and the most of a card's bandwidth or tensor cores that they allow."""

import math
from dataclasses import dataclass

from ..kernel_launch import Json

SMS, CLOCK = 132, 1.755e9
ISSUE = SMS * 4 * 32 * CLOCK  # thread instructions a second: each quarter of an SM issues one warp's a cycle
MUFU = ISSUE / 8  # exp2, log2, reciprocal, root: 4 lanes a cycle in each quarter
TENSOR = 989e12  # operations a second of bfloat16 products
CARDS = {"H100": 3.0e12, "H200": 4.3e12}  # bytes a second that a copy reaches
NOT_SAID = (
    "A bound from above, of the machine code alone: nothing was run, and L1, L2, occupancy, latency and bank conflicts "
    "are left out."
)


@dataclass(frozen=True)
class Size:
    """Holds how large a launch is. numbers: its integer parameters by name. elements: of its largest tensor. bytes: of
    all of its tensors, each read or written once.
    """

    grid: tuple[int, ...]
    numbers: dict[str, int]
    elements: int
    bytes: int


@dataclass(frozen=True)
class Kernel:
    """instructions, at_most, mufu, products, bytes: an element, as `instructions.Thread` has them of a thread.

    products: operations that have to be done. done: those that its tensor cores do. traffic: bytes that loads and
    stores ask for, over those of the tensors: 1 where each is touched once. notes: what makes the count unsure.
    """

    name: str
    instructions: float
    at_most: float
    mufu: float
    products: float
    done: float
    bytes: float
    traffic: float
    registers: int
    spills: int
    barriers: int
    shared: int
    loads: dict[str, int]
    stores: dict[str, int]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, name: str, thread: Json, warps: int, shared: int, size: Size, products: int = 0) -> "Kernel":
        """thread: the fields of an `instructions.Thread`. products: operations of bfloat16 that have to be done; 0:
        those that its tensor cores do, needed or not.
        """
        elements = size.elements or 1
        share = warps * 32 * math.prod(size.grid) / elements  # threads an element
        per_element = {part: share * thread[part] for part in ("instructions", "at_most", "mufu")}
        done = share * thread["products"]
        same = {part: thread[part] for part in ("registers", "spills", "barriers", "loads", "stores")}
        return cls(
            name=name,
            products=products / elements if products else done,
            done=done,
            bytes=size.bytes / elements,
            traffic=share * elements * thread["moved"] / size.bytes if size.bytes else 0.0,
            shared=shared,
            notes=tuple(thread["notes"]),
            **per_element,
            **same,
        )

    @property
    def shares(self) -> dict[str, float]:
        """The most of each card's bandwidth, or of its tensor cores where those take longer, that it can reach."""
        return {card: self._least(card) / self._takes(card) for card in CARDS}

    @property
    def resources(self) -> dict[str, str]:
        """Of what `shares` are: "bandwidth" or "tensor cores"."""
        return {card: "tensor cores" if self._tensor > self.bytes / CARDS[card] else "bandwidth" for card in CARDS}

    @property
    def _tensor(self) -> float:
        return self.products / TENSOR

    def _least(self, card: str) -> float:
        """Seconds an element that bytes and products take."""
        return max(self.bytes / CARDS[card], self._tensor)

    def _takes(self, card: str) -> float:
        return max(self._least(card), self.done / TENSOR, self.instructions / ISSUE, self.mufu / MUFU) or 1.0


def in_words(row: Json) -> str:
    """The figures of a row of `machine_code_report` for people to read."""
    widths = {access: _widths(row[access]) for access in ("loads", "stores")}
    most = ", ".join(f"{share:.2f} of an {card}'s {row['resources'][card]}" for card, share in row["shares"].items())
    text = f"{row['instructions']:.1f} instructions an element ({row['at_most']:.1f} in all of the code), "
    text += f"{row['registers']} registers, {row['spills']} spills, {row['barriers']} barriers; "
    text += f"loads {widths['loads']}, stores {widths['stores']}; {row['bytes']:.2f} bytes an element of "
    text += f"{row['elements']:,}, {row['traffic']:.2f} times moved. At most {most}."
    return text + "".join(f" {note[:1].upper()}{note[1:]}." for note in row["notes"])


def _widths(counts: dict[str, int]) -> str:
    return " ".join(f"{count}x{bits}" for bits, count in counts.items()) or "none"
