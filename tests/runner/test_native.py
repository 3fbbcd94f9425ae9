"""What an answer's process cannot do: call a function of a C library by its address, or load another library."""

import pytest
import torch
from graded_kernels.autograder.judge import EXERCISES
from graded_kernels.autograder.runner.call.answer import Answer, Cell
from graded_kernels.autograder.runner.call.examination import Call
from graded_kernels.autograder.runner.sandbox import Isolated, probe

pytestmark = pytest.mark.skipif(
    probe().level in (None, "weak"), reason=f"not run: this machine isolates nothing. {probe()}"
)
SILU = EXERCISES["silu_forward"]


def said(body, worker):
    """What an answer prints that does this before it computes."""
    cell = f"import torch\n{body}\n\n\ndef silu_forward(x):\n    return x * x.sigmoid()\n"
    code = Answer("silu_forward", (Cell("cell", cell),))
    with Isolated(code, SILU.contract, "torch", worker=worker) as runner:
        outcome = runner.examine(Call((torch.ones(3),))).first
        assert outcome.trouble is None, outcome.trouble
        return runner.printed


CALLS = """
import _ctypes, ctypes, gc, sys

class Own(_ctypes.CFuncPtr):
    _flags_, _restype_ = 1, ctypes.c_long

def tried(call):
    try:
        print("called", call())
    except (TypeError, AttributeError, ImportError, KeyError, OSError) as error:
        print(type(error).__name__)

address = ctypes.c_void_p.from_buffer(ctypes.pythonapi.Py_IsInitialized).value
kinds = ctypes.CFUNCTYPE(ctypes.c_int), ctypes.PYFUNCTYPE(ctypes.c_int), Own
for kind in kinds:
    tried(lambda: kind(address)())
    tried(lambda: _ctypes.CFuncPtr.__dict__["__call__"](kind(address)))
for name in ("call_function", "call_cdeclfunction"):
    tried(lambda: getattr(_ctypes, name)(address, ()))
    print([f for f in gc.get_objects() if type(f) is type(len) and f.__name__ == name])
del sys.modules["_ctypes"]
tried(lambda: __import__("_ctypes"))
tried(lambda: ctypes.CDLL(None).getpid())
tried(lambda: ctypes.string_at(address))
"""


def test_no_function_of_a_library_is_called(worker):
    lines = said(CALLS, worker).splitlines()
    assert len(lines) == 13, lines
    assert not any("called" in line for line in lines), lines
    assert lines.count("[]") == 2
    assert lines[-3:] == ["ImportError", "OSError", "TypeError"]


LIBRARIES = """
import importlib
for name in NAMES:
    try:
        importlib.import_module(name)
        print(name)
    except ImportError as error:
        print("refused:", error)
"""


def test_no_library_is_loaded_that_was_not_there(worker):
    printed = said(LIBRARIES.replace("NAMES", "('_testcapi', 'psutil._psutil_linux', '_sqlite3')"), worker)
    assert printed.count("refused") == printed.count("needs a library of its own: an answer can load none") == 3


def test_the_system_maps_no_file_as_code(worker):
    body = "import mmap, torch\nfile = open(torch.__file__)\n"
    body += "try:\n    mmap.mmap(file.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)\n"
    body += "    print('mapped')\nexcept PermissionError as error:\n    print(error.strerror)"
    assert said(body, worker) == "Operation not permitted\n"


def test_modules_of_python_that_need_a_library_of_their_own_are_there(worker):
    names = ("cProfile", "csv", "decimal", "fractions", "random", "statistics", "numpy.fft", "numpy.random", "timeit")
    names += ("hashlib", "json", "asyncio", "unicodedata", "zoneinfo", "uuid")
    assert said(LIBRARIES.replace("NAMES", repr(names)), worker).split() == list(names)


def test_what_pytorch_generates_as_it_runs_is_still_code(worker):
    """oneDNN writes a product of matrices in bfloat16 as machine code, where the processor has instructions for it."""
    body = "a = torch.ones(70, 70, dtype=torch.bfloat16)\nprint(int((a @ a)[3, 5]))"
    assert said(body, worker).strip() == "70"
