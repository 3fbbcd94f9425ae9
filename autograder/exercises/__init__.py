"""The shelf: a file for each case with its records, content only. `shelf` gathers them for `judge.records.table`.

What others import of it are families of cases, for records of their own.
"""

from typing import TYPE_CHECKING

from ..words import lazy_api

if TYPE_CHECKING:
    from .cases.elementwise import elementwise, gradient, normal
    from .cases.losses import losses
    from .cases.rows import rowwise

__getattr__ = lazy_api(__name__, __file__)
