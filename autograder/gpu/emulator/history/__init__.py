"""Histories: what each float of a launch was computed from, and in which order.

Beside every float stands a hash of 64 bits. Two elements with one history have the same bits wherever they lie; two
whose inputs have one history and whose results have two were computed otherwise, whatever their bits: no random draw
decides.

- A loaded number that no kernel stored, a constant, and a float made of an integer: the hash of its bits. An index
  would tell apart two pages, tiles or buffers with the same numbers.
- What is moved, or chosen by a comparison or a maximum, keeps its history; integers and comparisons have none.
- 0 has the history 0, however it came about, and a result that is bit for bit one of its operands (x + 0, x * 1) keeps
  that operand's: a block of keys that is masked off does not tell a row from the same row alone.
- An operation hashes its name and its operands' histories; those of + and * in any order.
- A reduction is one step: its name, its extent, and each lane that is not 0 with its place.
- `tl.dot` is one step: its extent of K, each product that is not 0 with its place in K, and what it is added to.
"""

from .histories import Histories

__all__ = ["Histories"]
