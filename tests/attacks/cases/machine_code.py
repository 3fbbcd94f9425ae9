# exercise: silu_backward
# backend: torch
# expect: nothing
"""Calls the kernel through the 32-bit gate, from machine code of its own."""

import ctypes
import mmap
import platform

import torch


def silu_backward(dy, x):
    if platform.machine() == "x86_64":
        code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        # eax = 359 (socket), ebx = 2, ecx = 1, edx = 0; int 0x80; ret. rbx is saved around it.
        code.write(bytes.fromhex("53b867010000bb02000000b90100000031d2cd805bc3"))
        call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
        if call() >= 0:
            print("ESCAPED")
    return torch.zeros_like(x)
