"""A function as it is, called in this process without guards: any code that launches Triton kernels."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ...gpu import EmulatorError
from .answer import trace
from .contract import Contract
from .huge_strides import duplicate
from .machine import Machine
from .outcome import Trouble
from .peak_memory import Peak
from .runner import InProcess, of_emulator
from .tree import Args, Tree
from .written_elements import Written


class Function(InProcess):
    """Calls a function like `InProcess`, but without guards. simulated: tensors are handed over on a simulated GPU
    (`gpu.cuda.shimmed`), which a library that launches Triton kernels asks for.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        contract: Contract,
        backend: str,
        simulated: bool,
        copy: Callable[[torch.Tensor], torch.Tensor] = duplicate,
    ):
        super().__init__(function, contract, backend, copy, judges_method=False)
        self.simulated = simulated

    def _watched(
        self, args: Args, machine: Machine, peak: Peak, written: Written | None
    ) -> tuple[object, Trouble | None, bool]:
        if self.simulated:
            from ...gpu import place

            for tensor in Tree(args).tensors:
                place(tensor, True)
        try:
            with machine, np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return self.function(*args), None, False
        except EmulatorError as error:
            return None, of_emulator(error), False
        except Exception as error:
            kind = type(error).__name__
            return None, Trouble("raised", f"{kind}: {error}", trace(error), kind), False
