"""A language model small enough to train during a coffee, in the format of GPT-2's weights."""

from .model import GPT
from .text import corpus, decode, encode
from .weights import load, shipped

__all__ = ["GPT", "corpus", "decode", "encode", "load", "shipped"]
