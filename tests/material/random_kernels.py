"""Random Triton kernels from a small grammar: elementwise, reductions, loops, masks, programs that part, atomics.

Every operation is rounded correctly everywhere, so that interpreters must agree in every bit. Some kernels are wrong on
purpose: an index may miss its tensor, a mask may lack ``other``, two programs may store to one element.
"""

import importlib.util
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
import triton

HEAD = "import triton\nimport triton.language as tl\n"


@dataclass(frozen=True)
class Kernel:
    """A kernel as text, and how to launch it on fresh inputs: ``run()`` returns what it may have stored to."""

    seed: int
    source: str
    run: Callable[[], list[torch.Tensor]]


class Writer:
    """Writes one kernel. Blocks are named a0, a1, ... (float32) and k0, ... (int32); scalars s0, ... and j0, ..."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.seed, self.lines, self.depth = seed, [], 1
        self.names = {"a": 0, "k": 0, "s": 0, "j": 0}
        self.faulty = self.random.random() < 0.15
        self.atomics = self.random.random() < 0.35

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def new(self, kind: str, value: str) -> None:
        """A new name in the outermost block; inside a branch or a loop an old name gets a new value."""
        if self.depth > 1:
            self.line(f"{self.old(kind)} = {value}")
            return
        self.line(f"{kind}{self.names[kind]} = {value}")
        self.names[kind] += 1

    def old(self, kind: str) -> str:
        return f"{kind}{self.random.randrange(self.names[kind])}"

    def pick(self, *choices):
        return self.random.choice(choices)

    # expressions

    def block(self, depth: int = 2) -> str:
        if not depth or self.random.random() < 0.2:
            return self.pick(self.old("a"), self.old("a"), self.old("s"), f"{self.pick(-2, -0.5, 0.25, 1, 3)}")
        one, other = self.block(depth - 1), self.block(depth - 1)
        return self.pick(
            f"({one} + {other}) * 0.5",
            f"({one} - {other}) * 0.75",
            f"tl.minimum(tl.maximum({one} * {other}, -100.0), 100.0)",
            f"tl.maximum({one}, {other} + 0.0)",
            f"tl.where({self.condition()}, {one}, {other})",
            f"{one} / (1.0 + tl.abs({self.old('a')}))",
            f"tl.sqrt_rn(tl.abs({self.old('a')})) - {one}",
            f"{self.old('a')}.to(tl.float16).to(tl.float32) + {one}",
            f"{self.old('k')}.to(tl.float32) - {one}",
        )

    def condition(self) -> str:
        return self.pick(
            f"{self.old('a')} > {self.old('s')}",
            f"{self.old('k')} < {self.old('j')}",
            f"(cols & 3 == {self.random.randrange(4)}) | ({self.old('a')} < 0)",
            "mask",
        )

    def integers(self) -> str:
        return self.pick(
            f"({self.old('k')} + {self.old('j')}) & 31",
            f"tl.where({self.condition()}, {self.old('k')}, cols) & 31",
            f"({self.old('k')} * 3 + p) & 31",
            f"tl.minimum({self.old('k')}, {self.old('j')}) & 31",
        )

    def scalar(self) -> str:
        return self.pick(
            f"tl.sum({self.old('a')}) * 0.125",
            f"tl.max({self.old('a')}, axis=0)",
            f"tl.min({self.old('a')} + {self.old('s')})",
            f"({self.old('s')} + {self.old('s')}) * 0.5",
            f"tl.load(x_ptr + {self.old('j')})",
            f"helper_{self.seed}({self.old('s')}, {self.old('j')})",
        )

    def whole(self) -> str:
        return self.pick(
            f"({self.old('j')} + p) & 15",
            f"tl.sum({self.old('k')}) & 15",
            f"tl.max({self.old('k')}, axis=0) & 15",
            f"tl.load(i_ptr + {self.old('j')}) & 15",
            f"tl.argmax({self.old('a')}, axis=0)",
        )

    def test(self) -> str:
        return self.pick(
            f"{self.old('s')} > {self.pick(-0.5, 0, 0.5)}",
            f"{self.old('j')} > {self.random.randrange(8)}",
            f"p & {self.pick(1, 3)} == 0",
            f"tl.sum({self.old('a')}) > 0",
        )

    def index(self) -> str:
        if self.faulty and self.random.random() < 0.15:
            return self.pick("at + 1", "cols * 37", f"{self.old('k')} * 29", "at - 1")
        return self.pick("at", "at", "cols", f"{self.old('k')}", "p + cols // 2", "(BLOCK - 1 - cols) * 3")

    def other(self) -> str:
        missing = self.faulty and self.random.random() < 0.3
        return "mask=mask" if missing else f"mask=mask, other={self.pick(0.0, -1.0, 7.5)}"

    # statements

    def statement(self) -> None:
        self.random.choices(
            (self.assign, self.load, self.reduce, self.store, self.branch, self.loop, self.wait, self.leave, self.add),
            (8, 4, 4, 2, 2.5, 1.5, 0.7, 0.4, 2 if self.atomics else 0),
        )[0]()

    def assign(self) -> None:
        self.new(
            *self.pick(("a", f"{self.block()} + {self.old('a')} * 0"), ("k", self.integers()), ("j", self.whole()))
        )

    def load(self) -> None:
        if self.random.random() < 0.3:
            self.new("k", f"tl.load(i_ptr + {self.index()}, mask=mask, other=0)")
        else:
            self.new("a", f"tl.load(x_ptr + {self.index()}, {self.other()})")

    def reduce(self) -> None:
        self.new("s", self.scalar())

    def store(self) -> None:
        where = self.pick("at", "at", "at", "at", "cols") if self.faulty else "at"
        target = self.pick("y_ptr", "y_ptr", "w_ptr")
        self.line(f"tl.store({target} + {where}, {self.old('a')}, mask=mask)")
        if target == "w_ptr" and self.random.random() < 0.5:
            self.new("a", "tl.load(w_ptr + at, mask=mask, other=0.0)")

    def body(self) -> None:
        self.depth += 1
        for _ in range(self.random.randint(1, 3)):
            self.statement() if self.depth < 4 else self.assign()
        self.depth -= 1

    def branch(self) -> None:
        self.line(f"if {self.test()}:")
        self.body()
        if self.random.random() < 0.5:
            self.line("else:")
            self.body()

    def loop(self) -> None:
        first, last = self.old("j"), f"{self.old('j')} & 3"
        bounds = self.pick(
            "3", "trips", first, f"({last}) + 1", f"{first}, {first} + 3", f"{first}, {first} - ({last}), -2"
        )
        self.line(f"for i{self.depth} in range({bounds}):")
        self.body()

    def wait(self) -> None:
        """A loop of another length in every program."""
        count = f"c{len(self.lines)}"
        self.line(f"{count} = {self.old('j')} & 7")
        self.line(f"while {count} > 0:")
        self.depth += 1
        self.assign()
        self.line(f"{count} -= {self.pick(1, 2)}")
        self.depth -= 1

    def leave(self) -> None:
        self.line(f"if {self.test()}:")
        self.line("    tl.store(y_ptr + at, 0.5, mask=mask)")
        self.line("    return")

    def add(self) -> None:
        operation = self.pick("add", "add", "max", "min", "xor")
        condition = self.condition()
        call = f"tl.atomic_{operation}(z_ptr + ({self.old('k')} & 31), {self.old('k')}, mask={condition})"
        if self.random.random() < 0.15:
            self.new("k", f"tl.where({condition}, {call}, 0) & 31")
        else:
            self.line(call)

    def helper(self) -> tuple[str, ...]:
        return (
            f"@triton.jit\ndef helper_{self.seed}(s, j):",
            f"    if {self.pick('s > 0', 'j > 5', 's < j')}:\n        return s * 0.5",
            "    return s + j\n\n",
        )

    def write(self) -> str:
        for text in (
            "p = tl.program_id(0)",
            "cols = tl.arange(0, BLOCK)",
            "at = p * BLOCK + cols",
            "mask = at < n",
        ):
            self.line(text)
        self.names = dict.fromkeys(self.names, 1)
        self.line("a0 = tl.load(x_ptr + at, mask=mask, other=0.0)")
        self.line("k0 = tl.load(i_ptr + at, mask=mask, other=0)")
        self.line("s0 = tl.sum(a0) * 0.25")
        self.line("j0 = tl.load(i_ptr + p)")
        for _ in range(self.random.randint(4, 14)):
            self.statement()
        self.line(f"tl.store(y_ptr + at, {self.old('a')}, mask=mask)")
        helper = self.helper()
        parameters = "x_ptr, i_ptr, y_ptr, w_ptr, z_ptr, n, trips, BLOCK: tl.constexpr"
        return "\n".join((*helper, f"@triton.jit\ndef kernel_{self.seed}({parameters}):", *self.lines, ""))


class Ragged(Writer):
    """Writes kernels of many loops and branches, most of which not all programs run alike."""

    def statement(self) -> None:
        self.random.choices(
            (self.assign, self.load, self.reduce, self.store, self.branch, self.loop, self.wait, self.leave, self.add),
            (6, 3, 3, 2, 6, 5, 3, 0.2, 2 if self.atomics else 0),
        )[0]()

    def wait(self) -> None:
        count = f"c{len(self.lines)}"
        self.line(f"{count} = {self.old('j')} & {self.pick(7, 15, 31)}")
        self.line(f"while {count} > {self.pick(0, 2, 5)}:")
        self.body()
        self.line(f"    {count} -= {self.pick(1, 2, 3)}")

    def branch(self) -> None:
        super().branch()
        if self.random.random() < 0.3:  # a variable that no program had before
            name = f"v{len(self.lines)}"
            self.line(f"if {self.test()}:")
            self.line(f"    {name} = {self.old('a')} * 2")
            self.line("else:")
            self.line(f"    {name} = {self.old('a')} + {self.old('s')}")
            self.line(f"{self.old('a')} = {name} * 0.5 + {self.old('a')}")
        if self.random.random() < 0.3:
            one, other = f"tl.load(x_ptr + {self.old('j')}) * {self.old('s')}", f"tl.sum({self.old('a')})"
            self.line(f"{self.old('s')} = {one} if {self.test()} else {other} * 0.25")

    def helper(self) -> tuple[str, ...]:
        if self.random.random() < 0.4:
            return super().helper()
        return (
            f"@triton.jit\ndef helper_{self.seed}(s, j):",
            "    while j > 3:\n        s += 0.25",
            "        if s > 1:\n            s -= j",
            "        j -= 2\n    return s + j\n\n",
        )


def _runner(function, seed: int) -> Callable[[], list[torch.Tensor]]:
    choose = random.Random(-seed - 1)
    block, programs = choose.choice((4, 16, 32)), choose.choice((1, 2, 7, 24, 40))
    n = max(1, programs * block - choose.randrange(block))
    trips = choose.randrange(4)

    def run() -> list[torch.Tensor]:
        generator = torch.Generator().manual_seed(seed)
        # Room for every index that is right: a column times three, and indices up to 31.
        size = max(n, 3 * block, programs + block, 32)
        x = torch.randn(size, generator=generator)
        i = torch.randint(0, 32, (size,), generator=generator, dtype=torch.int32)
        y, w, z = torch.zeros(n), torch.ones(n), torch.zeros(32, dtype=torch.int32)
        function[(programs,)](x, i, y, w, z, n, trips, BLOCK=block)
        return [y, w, z]

    return run


def kernels(seeds: range, folder: Path, writer: type[Writer] = Writer) -> list[Kernel]:
    """Kernels of these seeds, in a module that is written into ``folder``: Triton reads a kernel from its file."""
    sources = [writer(seed).write() for seed in seeds]
    path = folder / f"kernels_{seeds.start}.py"
    path.write_text(HEAD + "\n\n" + "\n\n".join(sources))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert isinstance(getattr(module, f"kernel_{seeds.start}"), triton.runtime.interpreter.InterpretedFunction)
    return [
        Kernel(seed, source, _runner(getattr(module, f"kernel_{seed}"), seed))
        for seed, source in zip(seeds, sources, strict=True)
    ]
