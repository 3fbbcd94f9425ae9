"""Atomics of many lanes as if one came after the other, and programs that take turns with a lock."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import TensorHandle

from .pointers import Pointer

# Makes the new values of the old ones and the operands.
WordChange = Callable[..., np.ndarray]


def one_after_another(
    words: np.ndarray, at: np.ndarray, ranks: np.ndarray, change: WordChange, operands: tuple[np.ndarray, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Changes the words at ``at``, by lane, in the order of ``ranks``; returns what each lane found and left.

    Of integers that are added, what a lane finds is the sum of the lanes before it. Of other operations all words have
    their first one done, then those that have a second one that, and so on.
    """
    order = np.lexsort((ranks, at))
    sorted_at = at[order]
    begins = np.append(True, sorted_at[1:] != sorted_at[:-1])
    first = np.maximum.accumulate(np.where(begins, np.arange(at.size), 0))
    old, new = np.empty((2, at.size), words.dtype)
    if change is np.add and words.dtype.kind in "iu":
        values = operands[0][order]
        before = np.cumsum(values, dtype=words.dtype) - values
        old[order] = words[sorted_at] + before - before[first]
        new = old + operands[0]
        words[sorted_at] = new[order]
        return old, new
    place = np.arange(at.size) - first
    for lanes in np.split(order[np.argsort(place, kind="stable")], np.cumsum(np.bincount(place))[:-1]):
        old[lanes] = words[at[lanes]]
        words[at[lanes]] = new[lanes] = change(old[lanes], *(operand[lanes] for operand in operands))
    return old, new


def turns(lock: Any) -> Iterator[Any]:
    """True for all programs that come to a lock, or by program, once for each turn: each has one, and in one turn no
    two have the same word, so that the holder of a word goes on and the others wait. They come in the launch's order.
    """
    builder, word = interpreter.interpreter_builder, getattr(lock, "handle", None)
    if not builder.lockstep or not isinstance(word, Pointer) or word.offsets.ndim != 1:
        yield True
        return
    live, count = builder.programs.live, len(builder.programs.numbers)
    words = np.broadcast_to(word.offsets, count)[live]
    order = np.lexsort((builder.memory.ranks(live), words))
    begins = np.append(True, words[order][1:] != words[order][:-1])
    turn = np.full(count, -1)
    turn[live[order]] = np.arange(live.size) - np.maximum.accumulate(np.where(begins, np.arange(live.size), 0))
    for number in range(int(turn.max()) + 1):
        yield tl.tensor(TensorHandle(turn == number, tl.int1), tl.int1)
