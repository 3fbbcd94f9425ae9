"""What Triton does for every compilation is done once, or left out where nobody reads it; the code is the same."""

import os
from types import SimpleNamespace

import pytest
from compiler_kernels import printed_alone
from graded_kernels.autograder.compiler.sparing import Contexts, Written

COMPILED = """
import json, os, re, sys
os.environ["TRITON_CACHE_DIR"] = sys.argv[1]
import triton
from kernels_to_spare import kernel
from graded_kernels.autograder.compiler import sparing
os.environ.pop("TRITON_INTERPRET", None)  # of the package
from triton.backends.compiler import GPUTarget
from triton.backends.amd.compiler import HIPBackend
from triton.backends.nvidia.compiler import CUDABackend
from triton.compiler import ASTSource

found = []
for backend, stage in ((CUDABackend, "make_llir"), (CUDABackend, "make_ptx"), (HIPBackend, "make_amdgcn")):
    def kept(*given, original=getattr(backend, stage)):
        found.append(original(*given))
        return found[-1]

    setattr(backend, stage, staticmethod(kept) if stage == "make_amdgcn" else kept)

def texts():
    found.clear()
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    for block in (1024, 2048):
        for target in (("cuda", 80, 32), ("hip", "gfx942", 64), ("cuda", 90, 32)):
            compiled = triton.compile(ASTSource(kernel, signature, {"BLOCK": block}), target=GPUTarget(*target))
            found.append([compiled.metadata.shared, str(compiled.asm.get("amdgcn")), len(compiled.kernel)])
    return list(found)

triton.knobs.compilation.always_compile = True
alone = texts()
sparing.share()
again = texts()
again_once_more = texts()
print(json.dumps({"equal": alone == again == again_once_more, "codes": len(alone)}))
"""


class Ir:
    """Contexts are lists: what was loaded into them."""

    name = "ir"

    def context(self):
        return []

    def load_dialects(self, context):
        context.append("triton")


def made(contexts: Contexts, backend: str) -> list:
    found = contexts.make_backend(SimpleNamespace(backend=backend))
    context = contexts.context()
    contexts.load_dialects(context)
    found.load_dialects(context)
    return context


def test_dialects_are_loaded_once_for_each_backend():
    def make_backend(target):
        return SimpleNamespace(load_dialects=lambda context: context.append(target.backend))

    contexts = Contexts(Ir(), make_backend)
    first = made(contexts, "cuda")
    other = made(contexts, "hip")
    assert made(contexts, "cuda") is first == ["triton", "cuda"]
    assert made(contexts, "hip") is other == ["triton", "hip"]
    assert contexts.name == "ir"


def test_what_is_read_again_is_written(monkeypatch, tmp_path):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    written = Written("a" * 64)
    for name, data in (("k.json", "{}"), ("k.cubin", b"\x7fELF"), ("k.amdgcn", "s_endpgm")):
        with open(written.put(data, name), "rb") as file:
            assert file.read() == (data if isinstance(data, bytes) else data.encode())


def test_what_nobody_reads_is_not_even_made(monkeypatch, tmp_path):
    class Module:
        def __str__(self):
            raise AssertionError("printed")

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    assert os.path.getsize(Written("a" * 64).put(Module(), "k.ttir")) == 0


@pytest.mark.exhaustive
def test_the_code_is_what_triton_makes_alone(tmp_path):
    found = printed_alone(COMPILED, tmp_path, "kernels_to_spare", "y = libdevice.exp2(x) + tl.exp(x)")
    assert found == {"equal": True, "codes": 16}
