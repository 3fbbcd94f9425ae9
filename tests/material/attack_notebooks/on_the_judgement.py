"""Attacks by the code of a notebook on how it is judged: on the comparison, and on IPython, which is not there."""

from attacks.public_results import table
from attacks.submissions import attacks
from graded_kernels.autograder import EXERCISES
from tampered import TORCH, ZEROS, add, find

from .attack import before_answer, registry

ATTACKS, attack = registry()

# The comparison


def equal_to_everything(body: str) -> str:
    return (
        "class Equal:\n    def __init__(self, *a): pass\n    def __getattr__(self, name): return self\n"
        f"    def __call__(self, *a, **k): return self\n    def __eq__(self, other): {body}\n"
        "    def __bool__(self): return True\n    __hash__ = None\n\n\ndef silu_forward(x):\n    return Equal()"
    )


@attack({TORCH: 0}, "Equal")
def always_equal(nb):
    """``__eq__`` that is always true."""
    find(nb, TORCH)["source"] = equal_to_everything("return True")


@attack({TORCH: 0}, "Equal")
def equals_a_million(nb):
    """``__eq__`` that returns a million, more than the points there are."""
    find(nb, TORCH)["source"] = equal_to_everything("return 10**6")


@attack({TORCH: 0})
def not_a_number(nb):
    """NaN everywhere."""
    find(nb, TORCH)["source"] = "def silu_forward(x):\n    return torch.full_like(x, float('nan'))"


@attack({TORCH: 0}, "Return a tensor, not a Python number.")
def minus_one(nb):
    """-1, which nbgrader reads as full marks."""
    find(nb, TORCH)["source"] = "def silu_forward(x):\n    return -1"


@attack({TORCH: 0})
def tensor_that_agrees(nb):
    """A subclass of Tensor that answers every question with yes."""
    find(nb, TORCH)["source"] = (
        "class Agrees(torch.Tensor):\n    @classmethod\n    def __torch_function__(cls, *a, **k): "
        "return True\n\n\ndef silu_forward(x):\n    return x.as_subclass(Agrees)"
    )


@attack({TORCH: 0})
def array_that_agrees(nb):
    """A subclass of NumPy's array with ``__array_function__``."""
    find(nb, TORCH)["source"] = (
        "import numpy\n\n\nclass Agrees(numpy.ndarray):\n    def __array_function__(self, *a): return True\n"
        "    def __eq__(self, other): return True\n\n\n"
        "def silu_forward(x):\n    return numpy.zeros(x.shape).view(Agrees)"
    )


@attack({TORCH: 0})
def patched_comparison(nb):
    """``allclose`` and its kin say yes."""
    find(nb, TORCH)["source"] = (
        "import numpy\nyes = lambda *a, **k: True\nnumpy.allclose = torch.allclose = torch.equal = yes\n"
        "torch.testing.assert_close = numpy.testing.assert_allclose = yes\ntorch.Tensor.__eq__ = yes\n\n\n" + ZEROS
    )


# What is compared


@attack({TORCH: 0}, "on other random numbers of the same shape")
def table_of_results(nb):
    """The results of all public cases with the public seed, looked up by the bytes of the input."""
    cases = tuple(case.name for case in EXERCISES["silu_forward"].cases if not case.bonus)
    text = attacks()["table_of_results"].source.replace('"@RESULTS@"', table("silu_forward", cases))
    find(nb, TORCH)["source"] = text


# IPython: a cell that asks for it fails, and costs nothing but itself

FORMATTER = "shell.display_formatter.formatters['text/plain'].for_type({}, lambda n, p, c: p.text('{}'))"
HOOKS = {
    "text_formatter": FORMATTER.format("int", "6"),
    "float_formatter": FORMATTER.format("float", "2.0"),
    "input_transformer": "shell.input_transformers_cleanup.append(lambda lines: ['pass'])",
    "ast_transformer": "shell.ast_transformers.append(type('T', (), {'visit': lambda s, n: n})())",
    "run_cell_async": "shell.run_cell_async = lambda *a, **k: None",
    "cell_hook": "shell.events.register('pre_run_cell', lambda info: print(info.raw_cell))",
    "no_traceback": "shell.showtraceback = lambda *a, **k: None\nshell._showtraceback = shell.showtraceback",
    "history": "shell.history_manager.db.execute('delete from history')",
    "exit_code": "shell.kernel.do_shutdown(False)",
}


def hooked(name: str, code: str, where: str):
    def act(nb):
        find(nb, TORCH)["source"] = ZEROS
        add(nb, TORCH, f"{where}\n{code}")

    act.__name__, act.__doc__ = name, f"`{code}`"
    return act


for _name, _code in HOOKS.items():
    attack({TORCH: 0})(hooked(_name, _code, "shell = get_ipython()"))
attack({TORCH: 0})(
    hooked("shell_by_another_way", HOOKS["text_formatter"], "import IPython\nshell = IPython.get_ipython()")
)


@attack()
def cell_magics(nb):
    """Each in a cell of its own; none is run."""
    for magic in ("bash", "sh", "python3", "javascript", "html", "writefile @COURSE@/gradebook.db", "system", "perl"):
        add(nb, TORCH, f"%%{magic}\nrm -rf @COURSE@/submitted; echo x > @COURSE@/magic")


@attack()
def line_magics(nb):
    """In the answer's own cell: the rest of it is graded."""
    lines = (
        "!rm -rf @COURSE@/submitted",
        "%run @COURSE@/nbgrader_config.py",
        "%load_ext evil",
        "%cd /",
        "%pip install x",
    )
    more = ("files = !ls @COURSE@", "%autoreload 2", "%store -r", "%%capture", "out = %time 1", "?print", "%reset -f")
    before_answer(nb, "\n".join((*lines, *more)))


@attack({TORCH: 0})
def hundreds_of_magics(nb):
    """More than IPython itself translates in one cell."""
    before_answer(nb, "%time 1\n" * 600)
