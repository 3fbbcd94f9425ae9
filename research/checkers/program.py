"""One program with its random numbers seeded, under a checker: ``python program.py CHECKER SEED FILE``.

CHECKER: ``none`` (somebody else watches), ``compute-sanitizer`` (which watches the GPU that it needs), ``interpreter``
(Triton's own, nothing more) or ``triton-viz`` (its sanitizer, as its command `triton-sanitizer` applies it). The last
two get the stand-in for CUDA of `graded-kernels sanitize`.
"""

import contextlib
import os
import random
import runpy
import sys


def main(checker: str, seed: str, file: str) -> None:
    os.environ["TRITON_INTERPRET"] = str(int(checker in ("none", "interpreter")))  # triton-viz interprets by itself
    import numpy
    import torch

    for sow in (random.seed, numpy.random.seed, torch.manual_seed):
        sow(int(seed))
    sys.argv = [file]
    if checker in ("none", "compute-sanitizer"):
        runpy.run_path(file, run_name="__main__")
        return
    from graded_kernels.autograder.gpu.cuda import shimmed
    from triton.runtime.interpreter import InterpretedFunction
    from triton.runtime.jit import JITFunction

    def refuse(text: str) -> None:
        raise RuntimeError(text)

    runs = JITFunction.run, InterpretedFunction.run
    with shimmed(refuse) if not torch.cuda.is_available() else contextlib.nullcontext():
        JITFunction.run, InterpretedFunction.run = runs  # each checker launches kernels its own way
        if checker == "interpreter":
            runpy.run_path(file, run_name="__main__")
        else:
            from triton_viz.wrapper import apply_sanitizer

            sys.argv = ["triton-sanitizer", file]
            apply_sanitizer()


if __name__ == "__main__":
    main(*sys.argv[1:])
