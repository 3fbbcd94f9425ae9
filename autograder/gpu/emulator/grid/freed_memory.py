"""Freed memory is kept for the next operation: else half of a pass on large arrays is the system zeroing pages."""

import ctypes
import functools

_BLOCK = 16 << 20  # bytes; all arrays that a kernel holds at one time take less, unless it is given more memory


@functools.cache
def keep_freed_memory() -> None:
    """Has the C library return memory to the system only when twice ``_BLOCK`` lies free at the heap's end.

    It sets this bound by itself, to twice the largest block that was freed (mallopt(3), M_MMAP_THRESHOLD), which in a
    fresh process is below what one operation of a pass frees: each one's pages are then given back and zeroed anew. A
    process that has set bounds of its own keeps them.
    """
    library = ctypes.CDLL(None)
    library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    library.free.restype, library.free.argtypes = None, [ctypes.c_void_p]
    library.free(library.malloc(_BLOCK))
