"""A kernel that calls usual device functions is linked with these alone, and its code is the same."""

from types import SimpleNamespace

import pytest
from compiler_kernels import BODY, HEADER, cache, compile_report, described, printed_alone  # noqa: F401
from graded_kernels.autograder.gpu.compiler import TARGETS
from graded_kernels.autograder.gpu.compiler.device_libraries import SmallLibrary

FUNCTIONS = """y = tl.log(x) + tl.floor(x) + tl.erf(x) + tl.exp2(x) + libdevice.tanh(x)
    if BLOCK == 2048:
        y += tl.sin(x)"""
COMPILED = """
import json, os, sys
os.environ |= {"TRITON_CACHE_DIR": sys.argv[1], "TRITON_INTERPRET": "0"}
import triton
from kernels_of_usual_functions import kernel
from graded_kernels.autograder.gpu.compiler import device_libraries
from triton._C.libtriton import llvm
from triton.backends.compiler import GPUTarget
from triton.backends.amd import compiler as amd
from triton.backends.nvidia import compiler as nvidia
from triton.compiler import ASTSource

linked = []


class Seen:
    def __getattr__(self, name):
        return getattr(llvm, name)

    def link_extern_libs(self, module, paths):
        linked.append(paths[0][-3:])
        llvm.link_extern_libs(module, paths)


def texts():
    linked.clear()
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    for block in (1024, 2048):
        for target in (("cuda", 90, 32), ("hip", "gfx942", 64)):
            source = ASTSource(kernel, signature, {"BLOCK": block})
            asm = triton.compile(source, target=GPUTarget(*target)).asm
            yield asm["llir"], asm.get("ptx"), asm.get("amdgcn")


def unchanged(owner, name, value):
    kept = getattr(owner, name)
    setattr(owner, name, value)
    device_libraries.share()
    setattr(owner, name, kept)
    return owners[-1].llvm is seen


triton.knobs.compilation.always_compile = True
seen, owners = Seen(), (nvidia, amd)
for owner in owners:
    owner.llvm = seen
alone = [*texts()]
found = {"other": unchanged(triton, "__version__", "3.5.0")}
found["unread"] = unchanged(amd, "__file__", "/nowhere/compiler.py")
owners[0].llvm = seen
device_libraries.share()
print(json.dumps(found | {"equal": alone == [*texts()], "different": len(set(alone)), "linked": linked}))
"""


class Llvm:
    def __init__(self):
        self.linked = []

    def link_extern_libs(self, module, paths):
        self.linked.append([path if path.endswith(".bc") else open(path).read() for path in paths])


def module(*declared):
    functions = [SimpleNamespace(name=name, is_declaration=lambda: True) for name in declared]
    return SimpleNamespace(
        get_functions=lambda: [*functions, SimpleNamespace(name="own", is_declaration=lambda: False)]
    )


@pytest.mark.parametrize(
    ("declared", "libraries", "linked"),
    [
        (["exp"], ["all.bc"], ["the usual"]),
        (["exp", "log", "llvm.fma"], ["all.bc"], ["the usual"]),
        (["exp", "sin"], ["all.bc"], ["all.bc"]),
        (["exp"], ["other.bc"], ["other.bc"]),
        (["exp"], ["all.bc", "other.bc"], ["all.bc", "other.bc"]),
    ],
)
def test_a_library_is_linked_whole_where_a_function_is_not_among_the_usual(declared, libraries, linked):
    llvm = Llvm()
    SmallLibrary(llvm, "all.bc", {"exp", "log"}, "the usual").link_extern_libs(module(*declared), libraries)
    assert llvm.linked == [linked]


@pytest.mark.exhaustive
def test_the_code_is_the_same_as_with_the_whole_library(tmp_path):
    """Of a kernel that calls usual functions, and of one that calls another one as well, on both kinds of GPU; also
    that another Triton, and libraries that cannot be read, change nothing.
    """
    found = printed_alone(COMPILED, tmp_path, "kernels_of_usual_functions", FUNCTIONS)
    assert found == {
        "other": True,
        "unread": True,
        "equal": True,
        "different": 4,
        "linked": [".ll", ".ll", ".bc", ".bc"],
    }


@pytest.mark.parametrize("body", ["y = tl.log(x)", "y = tl.log(x) + tl.sin(x)"])
def test_kernels_that_call_device_functions_compile_for_every_gpu(body):
    rows = compile_report([described(HEADER + BODY.format(body))], TARGETS)["targets"]
    assert [row["status"] for row in rows] == ["pass"] * 4
