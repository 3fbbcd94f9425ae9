"""LLVM's work is done once for GPUs that get the same code, and what comes out is what each would have got."""

import importlib.metadata
from types import SimpleNamespace

import pytest
from compiler_kernels import printed_alone
from graded_kernels.autograder.compiler.optimising import Shared

COMPILED = """
import json, os, sys
os.environ["TRITON_CACHE_DIR"] = sys.argv[1]
import triton
from kernels_to_optimise import kernel
from graded_kernels.autograder.compiler import optimising
os.environ.pop("TRITON_INTERPRET", None)  # of the package
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia import compiler
from triton.compiler import ASTSource

done, optimize = [], compiler.llvm.optimize_module
compiler.llvm.optimize_module = lambda *given, **named: done.append(1) or optimize(*given, **named)


def texts():
    done.clear()
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    for block in (1024, 2048):
        for arch in (80, 90, 100):
            source = ASTSource(kernel, signature, {"BLOCK": block})
            asm = triton.compile(source, target=GPUTarget("cuda", arch, 32)).asm
            yield asm["llir"], asm["ptx"]


triton.knobs.compilation.always_compile = True
alone = [*texts()]
each = len(done)
optimising.share()
print(json.dumps({"equal": alone == [*texts()], "different": len(set(alone)), "each": each, "shared": len(done)}))
"""


class Llvm:
    """A module is a list: what was done to it."""

    def __init__(self):
        self.optimised = 0

    def link_extern_libs(self, module, paths):
        module += paths

    def optimize_module(self, module, level, **named):
        self.optimised += 1
        module.append(f"O{level}")
        module += [name for name, on in named.items() if on]


def test_equal_code_is_optimised_once_and_other_code_anew():
    llvm = Llvm()
    shared = Shared(llvm)

    def optimise(module, libraries=(), level=3, **named):
        if libraries:
            shared.link_extern_libs(module, list(libraries))
        shared.optimize_module(module, level, **named)
        return shared.optimised

    assert optimise(["exp"], ["libdevice"]) == optimise(["exp"], ["libdevice"]) == "['exp', 'libdevice', 'O3']"
    assert llvm.optimised == 1
    assert optimise(["exp"]) == "['exp', 'O3']", "the library of the module before is not linked"
    assert optimise(["log"], ["libdevice"]) == "['log', 'libdevice', 'O3']"
    assert optimise(["exp"], ["ocml"]) == "['exp', 'ocml', 'O3']"
    assert optimise(["exp"], ["libdevice"], 2) == "['exp', 'libdevice', 'O2']"
    assert optimise(["exp"], narrow=True) == "['exp', 'O3', 'narrow']"
    assert optimise(["exp"], narrow=False) == "['exp', 'O3']"
    assert llvm.optimised == 7


def test_what_else_llvm_has_is_there():
    assert Shared(SimpleNamespace(to_module=7)).to_module == 7


@pytest.mark.exhaustive
def test_the_code_for_every_gpu_is_what_it_gets_alone(tmp_path):
    """One that calls the device library, of two sizes. LLVM works once for each size; Triton 3.8 and later give sm_80
    options of its own.
    """
    found = printed_alone(COMPILED, tmp_path, "kernels_to_optimise", "y = libdevice.exp2(x) + tl.exp(x)")
    options = 1 if importlib.metadata.version("triton") < "3.8" else 2
    assert found == {"equal": True, "different": 6, "each": 6, "shared": 2 * options}
