"""The strict emulator: Triton's own interpreter, made honest for the length of a ``with`` block."""

import functools
import math
import weakref
from collections.abc import Callable, Container, Iterator, Set
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.autograd.graph import increment_version

from . import messages, poison
from .access import Access
from .address_space import Region
from .coverage import Coverage
from .execution import execute
from .findings import EmulatorError, Finding, FindingKind, Place, current_place
from .fresh_memory import FreshMemory, unwritten
from .grid import Replay
from .history import Histories
from .launch import Launch
from .limits import CANNOT_SHOW
from .patches import Patches
from .rewrite import early_returns
from .shadow import Shadow
from .tolerant import Tolerant

if TYPE_CHECKING:
    from ..compiler import KernelLaunch

_active: "Emulator | None" = None


class Emulator:
    """Runs the Triton kernels launched in its block as a GPU would run them, and says where they are wrong.

    shuffle: None runs the programs of a grid in order; a seed runs them in another order.
    fill: what masked-off lanes of a load without ``other`` hold; None is poison. Today's NVIDIA backends fill in 0.
    replay: keeps launches for a later block, and those it has from an earlier one are not run where they would be the
        same bit for bit (`grid.launch_replay`). None runs every launch.
    names: by the address of their storages, tensors that a message names in addition to the kernel's parameter.
    follow: whether it keeps what each float was computed from, and in which order; `histories` says it then, and
        launches take two to six times as long.
    choice: names the configuration of each autotuned kernel, whatever its launches are given; None chooses by the
        shapes and numbers of each launch.

    A launch stops with `EmulatorError`, before the access is performed, at the first access out of bounds, grid a GPU
    refuses, operation the emulator does not know, or exception in the kernel. Races, and stores of different values to
    one element, are recorded, once for each kernel, tensor and line, and the launch goes on. `findings` holds both
    kinds, in order. `hints` holds what is suspicious but may be right: masked loads without ``other``, reads of memory
    that was never written, integers that wrapped, indices outside a block, products in TF32. They explain a wrong
    result; alone they are not faults.

    together (a class attribute, True): run as many programs of a launch at one time as ``memory`` allows (`grid`); one
        program at a time finds the same. Where programs use what several atomics on one element return, it is another
        of the orders that a GPU may take; else the bits are the same. A launch that cannot run together, because
        something is to be reported, is undone and runs one program at a time; `fallbacks` says which, and why.
    lockstep (a class attribute, True): programs that differ in the rounds of a loop or the side of an ``if`` wait for
        each other; otherwise each group of them begins the kernel anew. Both find the same.
    memory (a class attribute, 256 MiB): bytes that the values of the programs running together may take, besides the
        launch's tensors and copies of those it stores to.
    """

    together, lockstep, memory = True, True, 256 << 20
    tries = False  # whether each configuration of an autotuned kernel is run
    configuration = ""  # that is running, "" outside of that
    keeps = False  # whether what a launch overwrites is kept
    coverage: Coverage | None = None  # what is reached of each kernel
    traced: Set[tuple[str, str]] = frozenset()  # (kernel, tensor) of those both loaded and stored
    passes: Callable[[Finding], bool] | None = None  # whether a launch goes on behind an access out of bounds

    def __init__(
        self,
        shuffle: int | None = None,
        fill: float | None = None,
        replay: Replay | None = None,
        names: dict[int, str] | None = None,
        follow: bool = False,
        choice: int | None = None,
    ):
        self.shuffle, self.fill, self.replay, self.names = shuffle, fill, replay, names or {}
        self.choice = choice
        self._follow = follow
        self._clear()

    def _clear(self) -> None:
        self.launching = False  # True while a kernel runs: what PyTorch does then is the interpreter's doing
        self._random = None if self.shuffle is None else np.random.default_rng(self.shuffle)
        self._findings: list[Finding] = []
        self._hints: list[Finding] = []
        self._noticed: list[Finding] = []
        self._said: dict[tuple[str, str, Place], Finding] = {}
        self._launches: list[Launch] = []
        self._firsts: list[int] = []  # the first program number of each
        self._traffic: dict[str, dict[str, int]] = {}
        self._looser: set[str] = set()
        self.histories = Histories() if self._follow else None
        self.fallbacks: list[tuple[str, str]] = []  # kernel and reason, by launch
        self._shadows: dict[int, Shadow] = {}
        self._followed: set[int] = set()  # addresses of the storages whose end is waited for
        self._fresh = FreshMemory()
        self._stamp = 1
        self._access: Access | None = None
        self.undefined = False  # whether a load had masked-off lanes and no `other`
        self.masked_off: dict[Place, np.ndarray] = {}  # where the last launch had them, and which programs did
        self._patches: Patches | None = None

    def __enter__(self) -> "Emulator":
        global _active
        if _active is not None:
            raise RuntimeError("An emulator is already active; leave its `with` block before you enter another.")
        self._clear()
        self._patches = Patches(self)
        self._patches.apply()
        _active = self
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        global _active
        _active = None
        if self._patches:
            self._patches.undo()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Returns what is wrong with the launches of the block, in order."""
        return tuple(self._findings)

    @property
    def hints(self) -> tuple[Finding, ...]:
        """Returns what may be wrong: hints about values in order, then those about lines."""
        return (*self._hints, *sorted(self._noticed, key=lambda h: (h.file, h.line, h.kind, h.tensor)))

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The launches of the block, in order."""
        return tuple(self._launches)

    def described(self) -> tuple["KernelLaunch | str", ...]:
        """The distinct launches as data that can leave the process (`compiler.launches`)."""
        from ..compiler.launches import plain_launches

        return plain_launches(self._launches)

    @property
    def traffic(self) -> dict[str, dict[str, int]]:
        """Bytes loaded and stored, by kernel parameter, summed over all launches.

        Each load or store of a program counts the addresses of its unmasked lanes once; a second load counts again.
        """
        return {name: dict(bytes_) for name, bytes_ in self._traffic.items()}

    @property
    def looser(self) -> tuple[str, ...]:
        """Operations that a launch used and whose result on a GPU may differ; `CANNOT_SHOW` says how."""
        return tuple(operation for operation, _ in CANNOT_SHOW if operation in self._looser)

    def poison_(self, tensor: torch.Tensor) -> torch.Tensor:
        """Fills a fresh uninitialised tensor with poison and returns it; see `FreshMemory`."""
        self._shadows.pop(tensor.untyped_storage().data_ptr(), None)
        return self._fresh.poison_(tensor)

    @property
    def poisoned(self) -> Container[int]:
        """Addresses of the storages that may still hold elements as `poison_` left them."""
        return self._fresh.storages.keys()

    def mark_initialised(self, address: int) -> None:
        """Stops looking for uninitialised elements in the storage at this address."""
        self._fresh.storages.pop(address, None)

    def note_written(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Notes what an operator of PyTorch's wrote; see `FreshMemory`."""
        self._fresh.note_written(func, args, kwargs)

    def missing(self, tensor: torch.Tensor) -> torch.Tensor | None:
        """A flag for each element of a tensor, set where nobody wrote it; None where all were written."""
        empty = self._fresh.never_written(tensor, self._shadows.get(tensor.untyped_storage().data_ptr()))
        return None if empty is None else torch.from_numpy(empty).view(tensor.shape)

    def mark_copied(self, tensor: torch.Tensor, missing: torch.Tensor, source: torch.dtype) -> None:
        """Notes that elements which nobody wrote were copied to a tensor. missing: which of its elements they are;
        source: their dtype before.
        """
        self._fresh.copied(tensor, missing, source)
        address = tensor.untyped_storage().data_ptr()
        self._shadows.pop(address, None)  # of what kernels stored there nothing more is known
        self._forget_with(tensor.untyped_storage(), address)

    def forget_findings(self) -> None:
        """Begins a new part of the block: what was found and launched so far is no longer told or looked at."""
        for notes in (self._said, self._findings, self._hints, self._noticed):
            notes.clear()
        for launches in (self._launches, self._firsts, self._traffic):
            launches.clear()
        # What was written of memory that began uninitialised counts for as long as it is looked at.
        self._shadows = {
            address: shadow for address, shadow in self._shadows.items() if address in self._fresh.storages
        }

    def unwritten(self, tensor: torch.Tensor, name: str = "the output") -> Finding | None:
        """A finding that names the elements of a poisoned tensor that were never written; None if there are none."""
        shadow = self._shadows.get(tensor.untyped_storage().data_ptr())
        empty = self._fresh.never_written(tensor, shadow)
        if empty is None:
            return None
        stored = shadow.stored // tensor.dtype.itemsize if shadow else 0
        last = None if empty.all() else self._last_to_store(shadow)
        room = tensor.untyped_storage().nbytes() // tensor.dtype.itemsize
        return unwritten(name, tensor.shape, empty, self._nobody(), stored, room, last)

    def _last_to_store(self, shadow: Shadow | None) -> messages.StoringLaunch | None:
        """The launch that stored to a storage last; None where that is not known."""
        if shadow is None or not isinstance(shadow.writer, np.ndarray):
            return None
        stamps = np.unique(shadow.writer >> 2)
        numbered = zip(reversed(self._firsts), reversed(self._launches), strict=True)
        numbered_launch = next(((first, launch) for first, launch in numbered if first <= stamps[-1]), None)
        if numbered_launch is None:  # an earlier part of the block
            return None
        first, launch = numbered_launch
        active = stamps[stamps > first] - first - 1
        idle = np.setdiff1d(np.arange(math.prod(launch.grid)), active)
        x, y, z = (axis.tolist() for axis in np.unravel_index(idle, launch.grid))
        programs = list(zip(x, y, z, strict=True))
        alone = not ((stamps > 0) & (stamps <= first)).any() and shadow.by_host is None
        return messages.StoringLaunch(launch.name, programs, active.size, early_returns(launch.kernel), alone)

    def _nobody(self) -> str:
        idle = next((launch for launch in self._launches if not all(launch.grid)), None)
        if idle is None:
            return "Store the result in it."
        return (
            f"`{idle.name}` was launched on a grid of {idle.grid}: no program at all. `n // BLOCK` rounds down, and is "
            "0 for a tensor smaller than a block; `triton.cdiv(n, BLOCK)` rounds up."
        )

    # Called by the patched interpreter.

    def launch(self, executor: Any, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        """Runs one launch of the interpreter's `GridExecutor`. Raises EmulatorError where the launch stops."""
        execute(self, executor, args, options)

    def prepare(self) -> None:
        """Patches the language, before a kernel runs."""
        if self._patches:
            self._patches.language()

    def begin(self, launch: Launch) -> Access:
        """Begins a launch; returns the memory that it may touch."""
        x, y, z = launch.grid
        self._launches.append(launch)
        self._firsts.append(self._stamp)
        self._access = (Access if self.passes is None else Tolerant)(
            launch.name,
            launch.grid,
            self._stamp,
            self.shadow,
            self._report,
            self._hint,
            self.pattern,
            self.note_undefined,
            self._note_unordered,
        )
        self._access.keeps, self.masked_off = self.keeps, {}
        if isinstance(self._access, Tolerant) and self.passes is not None:
            self._access.passes = self.passes
        self._stamp += x * y * z + 1
        self.launching = True
        return self._access

    def end(self, access: Access) -> None:
        """Ends the launch under way and adds up its traffic."""
        access.end()
        self.launching = False
        self._access = None
        for region in access.space.regions:
            total = self._traffic.setdefault(region.name, {"loaded": 0, "stored": 0})
            total["loaded"] += region.loaded
            total["stored"] += region.stored
            if region.stored and not region.tensor.is_inference():  # tells autograd, as an operator in place does
                increment_version(region.tensor)
            if shadow := self._shadows.get(region.address):
                shadow.stored += region.stored

    @property
    def access(self) -> Access:
        """The memory of the launch under way. Raises RuntimeError where there is none."""
        if self._access is None:
            raise RuntimeError("no launch is under way")
        return self._access

    def meets(self, access: Access) -> bool:
        """Returns whether a launch has a tensor in which another one stored that a GPU may run at the same time."""
        addresses = {region.address for region in access.space.regions} & self._shadows.keys()
        return any(self._shadows[address].has(launch) for launch in access.beside for address in addresses)

    def exchanged(self) -> None:
        """Notes that the threads of the program under way, if there is one, have exchanged what they had loaded."""
        if self._access is not None:
            self._access.exchanged()

    def order(self, programs: int) -> np.ndarray:
        """Program numbers 0 to ``programs`` - 1 in the order in which a launch runs them."""
        return np.arange(programs) if self._random is None else self._random.permutation(programs)

    def note_undefined(self, kernel: str, region: Region | None) -> None:
        """Notes a load with masked-off lanes and no ``other``. region: None where its address is in no tensor."""
        place = current_place()
        self.note_masked_off(place, np.array(self.access.program - self.access.first - 1))
        if region is not None:
            make = functools.partial(messages.masked_load, kernel, region.name)
            self.notice("masked-load", make, region.name, place)

    def note_masked_off(self, place: Place, programs: np.ndarray) -> None:
        """Notes the programs, by number, of which a load at ``place`` has masked-off lanes and no ``other``."""
        self.undefined = True
        if place not in self.masked_off:
            self.masked_off[place] = np.zeros(math.prod(self.access.grid), dtype=bool)
        self.masked_off[place][programs] = True

    def note_filled(self, number: int | None) -> None:
        """Notes with which integer masked-off lanes are filled at the line under way; None: with a float."""

    def loose(self, operation: str) -> None:
        """Notes an operation of `CANNOT_SHOW`."""
        self._looser.add(operation)

    def _note_unordered(self, kind: FindingKind, region: Region, updates: bool = False, updated: bool = False) -> None:
        """Notes "own-store", a load of what other lanes of the program have stored, or "own-load", a store of what they
        have loaded, with no barrier between the two. updates, updated: whether an atomic comes second, or came first.
        """
        self.loose("barrier")
        same = [other.name for other in self.access.space.sharing(region)]
        make = functools.partial(messages.own, kind, self.access.kernel, region.name, updates, updated, same)
        self.notice(kind, make, region.name)

    def notice(self, kind: str, make: Callable[[Place], Finding], tensor: str = "", place: Place | None = None) -> None:
        """Hints at a line, whatever its values and programs: such hints come after the others, by line."""
        self._note(self._noticed, kind, tensor, make, place)

    def hint_wrapped(self, exact: int, wrapped: int, what: str) -> None:
        """Hints at an int32 that overflowed. what: the operation."""
        kernel = self.access.kernel
        self._hint("wrapped-integer", "", lambda place: messages.wrapped(kernel, exact, wrapped, what, place))

    def hint_gathered(self, index: int, size: int) -> None:
        """Hints at an index of `tl.gather` outside its block."""
        access = self.access
        program = access.grid_index(access.program)
        self._hint("gathered-outside", "", lambda place: messages.gathered(access.kernel, index, size, program, place))

    def shadow(self, region: Region) -> Shadow:
        """The shadow of a region's storage, a new one where accesses of a smaller unit make it necessary."""
        address, nbytes = region.address, region.held
        shadow = self._shadows.get(address)
        if shadow is None or shadow.nbytes != nbytes or shadow.unit > region.itemsize:
            shadow = self._shadows[address] = Shadow(address, nbytes, region.itemsize)
            self._forget_with(region.tensor.untyped_storage(), address)
        fresh = self._fresh.storages.get(address)
        shadow.by_host = fresh.of_words(shadow.unit) if fresh is not None else None
        return shadow

    def _forget_with(self, storage: torch.UntypedStorage, address: int) -> None:
        """Give the shadow's memory back when the storage is gone: a long program has many tensors."""
        if address not in self._followed:
            self._followed.add(address)
            weakref.finalize(storage, _forget, weakref.ref(self), address).atexit = False

    def forget(self, address: int) -> None:
        """Drops what is known of a storage that is gone: another one will get its memory."""
        self._followed.discard(address)
        self._shadows.pop(address, None)
        self._fresh.storages.pop(address, None)

    def pattern(self, region: Region) -> np.ndarray | None:
        """The poison that fills a region's storage where nobody has written, as unsigned words; None without."""
        fresh = self._fresh.storages.get(region.address)
        return fresh.pattern if fresh is not None and fresh.nbytes == region.held else None

    def contents(self, region: Region) -> Iterator[bytes | np.ndarray]:
        """All that a launch can learn of a region's storage: its bytes, and which of them were written if it shows."""
        if region.held:
            yield poison.memory(region.address, region.held)
        pattern, shadow = self.pattern(region), self._shadows.get(region.address)
        yield b"" if pattern is None else pattern.dtype.str.encode() + pattern.tobytes()
        if pattern is not None and shadow is not None and isinstance(shadow.writer, np.ndarray):
            written = shadow.writer != 0
            if shadow.by_host is not None:
                written |= shadow.by_host
            yield written if written.any() else b""

    def _report(self, kind: str, tensor: str, make: Callable[[Place], Finding], place: Place | None = None) -> None:
        self._note(self._findings, kind, tensor, make, place)

    def _hint(self, kind: str, tensor: str, make: Callable[[Place], Finding]) -> None:
        self._note(self._hints, kind, tensor, make)

    def _note(
        self,
        notes: list[Finding],
        kind: str,
        tensor: str,
        make: Callable[[Place], Finding],
        place: Place | None = None,
    ) -> Finding:
        place = place or current_place()
        key = (kind, tensor, place)
        if key not in self._said:
            self._said[key] = make(place)
            notes.append(self._said[key])
        return self._said[key]

    def record(self, error: EmulatorError) -> None:
        """Adds the finding of an error to `findings`."""
        self._findings.append(error.finding)


def _forget(emulator: "weakref.ref[Emulator]", address: int) -> None:
    if alive := emulator():
        alive.forget(address)
