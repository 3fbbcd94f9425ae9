"""Sentences for memory findings: which tensor, which element, by how much, which program and line, what to do."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...words import count
from .address_space import Outside, Region
from .claims import FalseClaim
from .findings import Finding, FindingKind, Place, kind_of_access
from .footprint import ConcurrentLaunch
from .shadow import Clash

Program = tuple[int, int, int]


@dataclass(frozen=True)
class StoringLaunch:
    """The launch that stored to a tensor last: the programs of which nothing is there, and how many others are
    ``active``. returns: the lines of the kernel at which a program may end early. alone: whether no other launch stored
    there.
    """

    kernel: str
    programs: list[Program]
    active: int
    returns: tuple[int, ...]
    alone: bool


_NAMED = 4  # programs
_VERB = {"load": "loads", "store": "stores to", "atomic": "does an atomic operation on"}
_NOUN = {"load": "load", "store": "store", "atomic": "atomic"}


def out_of_bounds(
    kernel: str, verb: str, miss: Outside, mask: np.ndarray | None, program: Program, grid: Program, place: Place
) -> Finding:
    """An access outside its tensor, or in none. mask: of the block, None where it has none."""

    def finding(text: str) -> Finding:
        name, offset = (miss.region.name, miss.offset) if miss.region else ("", None)
        return Finding("out-of-bounds", text, kernel, name, offset, program, place.line, place.source, place.file)

    start = f"`{kernel}` {_VERB[verb]}"
    where = f"in program {program}, {place}"
    region = miss.region
    if region is None:
        return finding(
            f"{start} an address that belongs to none of the launch's tensors {where}. It was not made by adding an "
            "offset to a pointer argument, or the offset is garbage: an index from a masked load without `other`, "
            "say."
        )
    if miss.misaligned:
        return finding(
            f"{start} {region.label} at an address that is not a multiple of the element size {where}; a GPU faults on "
            "it."
        )
    return finding(
        f"{start} {region.label} out of bounds {where}: {_extent(region, miss)} "
        f"{_advice(verb, region, miss, mask, program, grid)}"
    )


def _extent(region: Region, miss: Outside) -> str:
    layout = region.layout
    lanes = f" {count(miss.lanes, 'lane')} of this block are outside." if miss.lanes > 1 else ""
    if layout.span == 0:
        return f"the tensor is empty, shape {region.shape}.{lanes}"
    last = layout.span - 1
    if miss.offset > last:
        by = f"{count(miss.offset - last, 'element')} past the end"
    elif miss.offset < 0:
        by = f"{count(-miss.offset, 'element')} before the start"
    else:
        return (
            f"element offset {miss.offset:,} lies between the elements of this view of shape {region.shape} and "
            f"stride {region.stride}, in memory that is not the tensor's.{lanes}"
        )
    valid = f"valid offsets are 0 to {last:,}" if last else "the only valid offset is 0"
    strided = "" if region.stride == (1,) else f", shape {region.shape}, stride {region.stride}"
    return f"element offset {miss.offset:,}, {by} ({valid}{strided}).{lanes}"


def _advice(verb: str, region: Region, miss: Outside, mask: np.ndarray | None, program: Program, grid: Program) -> str:
    if miss.offset < 0 and miss.offset + 2**32 < region.layout.span:
        return (
            f"The offset wrapped around at 2^31: {miss.offset + 2**32:,} does not fit in 32 bits. Make one factor "
            "64-bit before multiplying, as in `row.to(tl.int64) * stride`."
        )
    how = kind_of_access()
    if how == "descriptor":
        return "Make the descriptor with the tensor's own shape and strides: what is beyond the shape is never touched."
    if how == "block pointer":
        return f"Name the dimensions to check, as in `tl.{verb}(pointer, ..., boundary_check=(0, 1))`."
    contiguous = math.prod(region.shape) == region.layout.span
    if 0 <= miss.offset < math.prod(region.shape) and not contiguous:
        copied = ", or call `.contiguous()` first" if verb == "load" else ""  # a store in a copy is lost
        return f"Pass the tensor's strides to the kernel and use them{copied}."
    if miss.offset < 0:
        return "An index in it is negative: take it for an offset only where it is valid."
    rows = region.shape[0] if len(region.shape) == 2 else 0
    if rows and program[0] >= rows and grid[0] == region.shape[1]:
        return f"The grid has {grid[0]:,} programs, one for each column, and {region.name} has {count(rows, 'row')}."
    if same := _same_in_each(mask):
        alone = ", as one of a single dimension is, which runs along the columns" if same == "row" else ""
        return (
            f"The {_NOUN[verb]}'s mask is the same in each {same} of the block{alone}. Compare the index of each "
            "dimension: `(rows < M)[:, None] & (cols < N)[None, :]`."
        )
    if mask is not None and len(region.shape) > 1:
        return (
            f"The {_NOUN[verb]}'s mask lets this lane through: compare each index with the size of its dimension, and "
            "multiply it by the stride of that dimension."
        )
    if mask is not None:
        return f"The {_NOUN[verb]}'s mask lets this lane through: compare the same offsets with the tensor's size."
    other = ", other=..." if verb == "load" else ""
    return f"The {_NOUN[verb]} has no mask: add one, as in `mask=offsets < n{other}`."


def some_unwritten(
    name: str, shape: Sequence[int], empty: np.ndarray, stored: int | None, room: int, last: StoringLaunch | None
) -> str:
    """The sentences of a finding "unwritten". empty: a flag for each element of a tensor of this shape, set where
    nobody wrote it. stored: how many elements the programs stored in all, an element that two stored counted twice;
    None where no kernel runs. room: how many the memory has of which these are all or a part.
    """
    missing, total = int(empty.sum()), empty.size
    text = (
        f"{count(missing, 'element')} of {name} ({total:,} in all) {'was' if missing == 1 else 'were'} never written; "
        f"the first is at index {_index(int(empty.argmax()), shape)}. "
    )
    if stored is None:
        return f"{text}`torch.empty` promises no values: write every element, or begin with `torch.zeros`."
    written = total - missing
    if last and stored == written and 0 < len(last.programs) * written == missing * last.active:  # it is their share
        return f"{text}Nothing comes from {_programs(last.programs)} of `{last.kernel}`{_ended(last.returns)}"
    if stored < room:
        cure = "Check that the grid covers the whole tensor and that no mask cuts off its end."
        return f"{text}{_ran(last, ~empty, shape)}{cure}"
    return (
        f"{text}The programs stored {stored:,} elements, enough for all of it, but some to the same places. Give each "
        "program offsets of its own, as in `tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)`, with the BLOCK that the "
        "grid was computed with."
    )


def _index(flat: int, shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(map(int, np.unravel_index(flat, tuple(shape))))


def _ran(last: StoringLaunch | None, written: np.ndarray, shape: Sequence[int]) -> str:
    """A sentence on how many programs ran and which elements they wrote; "" where several launches wrote them."""
    if last is None or not last.alone:
        return ""
    at = np.flatnonzero(written)
    first, final = _index(int(at[0]), shape), _index(int(at[-1]), shape)
    where = f"at index {first}" if at.size == 1 else f"from index {first} to {final}"
    among = "" if at[-1] - at[0] + 1 == at.size else ", with gaps"
    ran = count(last.active + len(last.programs), "program")
    return f"`{last.kernel}` ran {ran}, which wrote {count(at.size, 'element')}, {where}{among}. "


def _programs(programs: list[Program]) -> str:
    """``program (3, 0, 0)``, ``programs (0, 0, 0) and (3, 0, 0)``, or ``9 programs, the first of them (0, 0, 0),``."""
    if len(programs) == 1:
        return f"program {programs[0]}"
    if len(programs) <= _NAMED:
        return f"programs {_listed(programs)}"
    return f"{len(programs):,} programs, the first of them {programs[0]},"


def _ended(returns: tuple[int, ...]) -> str:
    """The end of a sentence on programs that stored nothing."""
    if not returns:
        return ": does each program store before it ends?"
    where = f"the `return` in line {returns[0]}"
    if len(returns) > 1:
        where = f"a `return` (lines {_listed(returns)})"
    return f". A program that ends at {where} has to store before."


def _listed(things: Sequence[object]) -> str:
    """``1, 2 and 3``."""
    return f"{', '.join(map(str, things[:-1]))} and {things[-1]}"


def _same_in_each(mask: np.ndarray | None) -> str:
    """``row`` where a mask of two dimensions is the same in each row of the block, ``column`` where it is in each
    column, else "".
    """
    if mask is None or mask.ndim != 2 or min(mask.shape) == 1 or (mask == mask[0, 0]).all():
        return ""
    if (mask == mask[:1]).all():
        return "row"
    return "column" if (mask == mask[:, :1]).all() else ""


def conflict(
    kernel: str,
    verb: str,
    region: Region,
    offset: int,
    clash: Clash,
    programs: tuple[Program, Program | None],
    values: tuple[str, str],
    same: list[str],
    place: Place,
) -> Finding:
    """Two programs at one element. programs: (this, other or None). values: (before, now). same: the kernel's other
    parameters that have this element.
    """
    this, other = programs
    who = f"program {other}" if other else "another program"
    before, now = values
    element = f"element offset {offset:,} of {region.label}"
    end = f"Line {place.line}, `{place.source}`." if place.line else ""
    end += _shared([region.label, *same])
    if clash.hurried:
        end += (
            f" The lock or counter that orders the two was released by one thread of {who}, and its other warps need "
            "not have come so far: put `tl.debug_barrier()` before the release."
        )
    elif clash.late:
        end += f" {who[0].upper()}{who[1:]} had released the lock that orders the two before that: release it last."
    kind: FindingKind
    if clash.kind == "store" and verb == "atomic" and not clash.atomic:
        kind = "store-conflict"
        text = (
            f"program {this} of `{kernel}` updates {element} with an atomic ({before} becomes {now}), and {who} stored "
            "to it in the same launch, with a plain store or an atomic whose scope is a program. One of the two may be "
            f'lost: use atomics alone, and leave out `scope="cta"`. {end}'
        )
    elif clash.kind == "store":
        kind, what = "store-conflict", "an atomic of" if clash.atomic else ""
        text = (
            f"two programs of `{kernel}` store different values to {element}: program {this} {_VERB[verb]} it ({now}) "
            f"after {what + ' ' if what else ''}{who} left {before} there. A GPU runs programs in any order, so "
            "either may win; let one program own each element, or use an atomic: `tl.atomic_add` for a sum, "
            f"`tl.atomic_max` for a maximum. {end}"
        )
    elif clash.kind == "equal":
        kind = "equal-stores"
        text = (
            f"program {this} of `{kernel}` stores to {element} what {who} has stored there in the same launch ({now}). "
            f"As long as all store one value the order does not matter; let one program store it. {end}"
        )
    elif clash.kind == "read":
        kind = "race-read"
        how = "updated with an atomic" if clash.atomic else "stored"
        text = (
            f"program {this} of `{kernel}` loads {element}, which {who} {how} in the same launch. A GPU runs programs "
            f"in any order, so it may see the old value or the new one; split the work into two launches. {end}"
        )
    else:
        kind = "race-write"
        text = (
            f"program {this} of `{kernel}` {_VERB[verb]} {element}, which {who} loads in the same launch. A GPU runs "
            f"programs in any order, so that load may see the old value ({before}) or the new one ({now}); write to "
            f"another tensor. {end}"
        )
    text = text[0].upper() + text[1:]
    return Finding(kind, text.strip(), kernel, region.name, offset, this, place.line, place.source, place.file)


def _shared(names: list[str]) -> str:
    """A sentence on parameters that have the same memory, "" for a single one."""
    return f" {_listed(names)} are the same memory in this launch." if len(names) > 1 else ""


def beside(
    kernel: str, verb: str, region: Region, offset: int, other: ConcurrentLaunch, program: Program, place: Place
) -> Finding:
    """An element at which an earlier launch is met that a GPU may run at the same time."""
    met = f"{other.who} has stored{'' if verb == 'load' else ' or loaded'} there"
    if other.dependent:
        why = "this launch (`launch_pdl=True`) may begin before that one ends: call `tl.extra.cuda.gdc_wait()` first"
    else:
        why = (
            "nothing orders their streams, so a GPU may run both at once: have the second wait, as in "
            "`torch.cuda.current_stream().wait_stream(other)`, or for an event"
        )
    element = f"element offset {offset:,} of {region.label}"
    text = f"`{kernel}` {_VERB[verb]} {element} in program {program}, {place}; {met}, and {why}."
    return Finding(
        "unordered-launches", text, kernel, region.name, offset, program, place.line, place.source, place.file
    )


def lanes_differ(
    kernel: str, region: Region, offset: int, values: tuple[object, object], program: Program, place: Place
) -> Finding:
    """Several lanes of one store at one element, with different ``values``."""
    text = (
        f"One store of `{kernel}` writes element offset {offset:,} of {region.label} from several lanes with different "
        f"values ({values[0]} and {values[1]}), in program {program}, {place}. Any of them may win on a GPU; give "
        "every element one lane."
    )
    return Finding("store-conflict", text, kernel, region.name, offset, program, place.line, place.source, place.file)


def endless(kernel: str, region: Region, value: str, left: int, program: Program, place: Place) -> Finding:
    """A program that asks for one value again and again. left: how many programs of the launch have not begun."""
    text = (
        f"Program {program} of `{kernel}` waits at {region.label} for another value than {value}, {place}, which no "
        "program stores: a GPU would not come back."
    )
    kind: FindingKind = "endless-wait"
    if left:
        kind = "not-emulated"
        text = (
            f"Program {program} of `{kernel}` waits at {region.label} for another value than {value}, {place}, and no "
            f"program before it has stored one. The emulator runs the programs one after the other ({left:,} have not "
            "begun); a GPU, too, may wait for ever for a program that it has not begun. Wait for programs with a "
            "smaller number only."
        )
    return Finding(kind, text, kernel, region.name, None, program, place.line, place.source, place.file)


def masked_load(kernel: str, tensor: str, place: Place) -> Finding:
    """A load with masked-off lanes and nothing to put there."""
    what, add = "a mask and no `other`", "other="
    if place.of_block_pointer:
        what, add = "`boundary_check` and no padding", 'padding_option="zero"'
    text = (
        f"`{kernel}` loads {tensor} with {what}, {place}. A GPU promises nothing about the masked-off lanes; the "
        f"emulator fills them with NaN, or a large odd integer. If they reach a reduction, add `{add}`."
    )
    return Finding("masked-load", text, kernel, tensor, line=place.line, source=place.source, file=place.file)


def wrapped(kernel: str, exact: int, result: int, what: str, place: Place) -> Finding:
    """An integer of 32 bits that overflowed. what: the operation."""
    text = (
        f"A 32-bit {what} wrapped around, {place}: {exact:,} became {result:,}. If it is an offset, "
        "make one operand 64-bit first, as in `row.to(tl.int64) * stride`."
    )
    return Finding("wrapped-integer", text, kernel, line=place.line, source=place.source, file=place.file)


def gathered(kernel: str, index: int, size: int, program: Program, place: Place) -> Finding:
    """An index of `tl.gather` outside its block of ``size``."""
    text = (
        f"`tl.gather` takes index {index:,} of a block of {size:,}, in program {program}, {place}. A GPU promises "
        "nothing about such lanes; the emulator fills them with NaN, or a large odd integer."
    )
    return Finding("gathered-outside", text, kernel, "", index, program, place.line, place.source, place.file)


def own(
    kind: FindingKind, kernel: str, tensor: str, updates: bool, updated: bool, same: list[str], place: Place
) -> Finding:
    """A load of what other lanes of the program have stored ("own-store"), or a store of what they have loaded
    ("own-load"), without a barrier between the two. updates, updated: whether an atomic comes second, or came first.
    same: other parameters with the same memory.
    """
    verb, noun, before = ("loads", "load", "stored") if kind == "own-store" else ("stores to", "store", "loaded")
    if updates:
        verb, noun = "updates", "atomic"
    if updated:
        before = "updated with an atomic"
    text = (
        f"`{kernel}` {verb} elements of {tensor} that other lanes of the same program have {before}, {place}, with no "
        f"`tl.debug_barrier()` between the two. A GPU's threads do not wait for each other: the {noun} may come first."
        f"{_shared([tensor, *same])}"
    )
    return Finding(kind, text, kernel, tensor, line=place.line, source=place.source, file=place.file)


def configuration(kernel: str, chosen: str, place: Place) -> Finding:
    """The configuration that an autotuner chose, which is not its first."""
    text = f"The autotuner ran `{kernel}` with {chosen} here: each of its configurations has to be right alone."
    return Finding("configuration", text, kernel, line=place.line, source=place.source, file=place.file)


def false_hint(
    kind: FindingKind, kernel: str, claim: FalseClaim, region: Region | None, program: Program, place: Place
) -> Finding:
    """A claim about values that is false: a "misleading-hint" where an address was made of them. region: of the
    pointers that it is about; None where it is about integers.
    """
    value, before = (_shown(number, region) for number in (claim.value, claim.before or 0))
    wrong = {
        "multiple_of": f"{value} begins a run of neighbours and is not a multiple of {claim.size}",
        "max_contiguous": f"{value} does not follow {before} as its neighbour, in a run of {claim.size}",
        "max_constancy": f"{value} comes after {before}, in a group of {claim.size} equal values",
    }
    means = "A compiler that believes it may load or store other elements."
    if kind == "misleading-hint":
        means = (
            "The kernel loads or stores at an address made of it, and a compiler that believes it joins lanes into one "
            "access: a GPU then faults on a misaligned address, or takes other elements."
        )
    text = (
        f"`tl.{claim.name}` in `{kernel}` is false in program {program}, {place}: {wrong[claim.name]}. {means} Take it "
        "out, or claim what is true."
    )
    tensor = region.name if region else ""
    return Finding(kind, text, kernel, tensor, None, program, place.line, place.source, place.file)


def _shown(value: int, region: Region | None) -> str:
    return f"{value:,}" if region is None else f"byte {value - region.virtual + region.offset:,} of {region.label}"


def by_zero(kernel: str, operator: str, program: Program, place: Place) -> Finding:
    """A division of integers by zero."""
    text = (
        f"`{kernel}` divides an integer by zero (`{operator}`) in program {program}, {place}. A GPU raises nothing, "
        "and what it leaves is not defined: leave such programs out, or make the divisor at least 1."
    )
    return Finding("division-by-zero", text, kernel, "", None, program, place.line, place.source, place.file)


def not_associative(kernel: str, name: str, values: tuple[str, str], program: Program, place: Place) -> Finding:
    """A reduction or a scan whose result depends on where it begins to combine. name: of the combining function."""
    text = (
        f"`{name}`, with which `{kernel}` combines a block in program {program}, {place}, is not associative: "
        f"neighbours taken pair by pair give {values[0]}, taken otherwise {values[1]}. A GPU combines by lanes and "
        "warps, in an order that is the compiler's: take a function for which f(f(a, b), c) is f(a, f(b, c))."
    )
    return Finding("not-associative", text, kernel, "", None, program, place.line, place.source, place.file)


def tf32(kernel: str, place: Place) -> Finding:
    """A product of float32 in TF32."""
    text = (
        f"`tl.dot` multiplies float32 in TF32, {place}: 11 of the 24 bits of each number. "
        'Pass `input_precision="ieee"`.'
    )
    return Finding("tf32", text, kernel, line=place.line, source=place.source, file=place.file)


def uninitialised(
    kernel: str, verb: str, region: Region, offset: int, adds: bool, program: Program, place: Place
) -> Finding:
    """An access to memory of `torch.empty` that was never written. adds: whether the kernel has stored to the tensor,
    too, as one does that adds to it.
    """
    cure = "write it before, or mask the lane off"
    if adds:
        cure = "allocate with `torch.zeros` what a kernel adds to, and with `torch.full` what it takes a maximum in"
    text = (
        f"`{kernel}` {_VERB[verb]} element offset {offset:,} of {region.label}, which has not been written since "
        f"`torch.empty` made it, in program {program}, {place}. Its value is whatever was in memory: {cure}."
    )
    return Finding(
        "uninitialised-read", text, kernel, region.name, offset, program, place.line, place.source, place.file
    )
