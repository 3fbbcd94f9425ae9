"""Calls a library's function as an answer: what it computes with is its own affair, only what comes out is judged."""

import warnings

import numpy as np
import torch
from graded_kernels.autograder.emulator import EmulatorError
from graded_kernels.autograder.run.answer import trace
from graded_kernels.autograder.run.outcome import Trouble
from graded_kernels.autograder.run.runner import InProcess
from graded_kernels.autograder.sanitize.cuda.places import place


class Library(InProcess):
    """Like `InProcess`, without guards: autograd, PyTorch's own functions and imports are allowed. A library that
    launches Triton kernels is given tensors of a simulated GPU.
    """

    def __init__(self, function, contract, simulated: bool):
        super().__init__(function, contract, "triton")
        self.simulated = simulated

    def _watched(self, args, machine, peak, written):
        if self.simulated:
            for argument in args:
                if isinstance(argument, torch.Tensor):
                    place(argument, True)
        try:
            with machine, np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return self.function(*args), None
        except EmulatorError as error:
            return None, Trouble("finding", str(error), trace(error), cause=error.finding.cause)
        except Exception as error:
            kind = type(error).__name__
            return None, Trouble("raised", f"{kind}: {error}", trace(error), kind)

    def _complaint(self, result, args, machine):
        self.backend = "triton" if machine.launches else "torch"
        return super()._complaint(result, args, machine)
