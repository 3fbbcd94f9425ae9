"""The comparison of KernelBench: five draws of inputs, each result `allclose` to the right one.

Five seeds and the tolerances are those of ScalingIntelligence/KernelBench, src/kernelbench/eval.py
(`num_correct_trials=5`, `get_tolerance_for_precision`): 1e-4 for float32, 1e-2 for float16 and bfloat16.
"""

import torch

from ..row import Row
from ..said import Said
from ..subject import NOT_HERE, Cannot, subject

DRAWS = 5
TOLERANCE = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 1e-2}
CRASH_IS_FOUND = True
SILENT = ("batch", "rows", "script", "launch", "repair")  # ways of a row in which nothing says what is right


def refuses(row: Row) -> str:
    return "the program says nothing of what is right" if row.how in SILENT else ""


def check(row: Row) -> Said:
    one = subject(row)
    if one.shim and not torch.cuda.is_available():
        return simulated(row, one)
    return compared(row, one)


def simulated(row: Row, one) -> Said:
    """The same where a program asks for a GPU and there is none: kernels run in Triton's own interpreter."""
    from .interpreter import plain_on_a_stand_in

    with plain_on_a_stand_in():
        return compared(row, one)


def compared(row: Row, one) -> Said:
    for seed in range(DRAWS if one.seeded else 1):
        try:
            told = one.run(seed)
        except Cannot:
            raise
        except NOT_HERE as error:
            raise Cannot(f"not run: what it needs is not here: {str(error)[:200]}") from None
        except Exception as error:
            return Said(row.name, True, says=f"raises {type(error).__name__}: {' '.join(str(error).split())[:200]}")
        if told is None:
            raise Cannot("the program says nothing of what is right")
        for number, (result, right) in enumerate(zip(*told, strict=True)):
            bound = TOLERANCE.get(result.dtype, 0.0)
            if result.shape != right.shape or not torch.allclose(result, right.to(result.dtype), bound, bound):
                return Said(row.name, True, "values at an edge", f"result {number}", f"not close at seed {seed}")
    return Said(row.name)
