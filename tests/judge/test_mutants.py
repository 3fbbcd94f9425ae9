"""The mutator: what each operator makes of a line, and what becomes of a mutant."""

import importlib.util
import sys
from pathlib import Path

import pytest
import torch
from answers import PAIRS
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.judge.records.record import Exercise

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def load():
    """A module of benchmarks/ by its name; tests/ has a package `mutants`, too."""
    sys.path.insert(0, str(BENCHMARKS))

    def module(name):
        spec = importlib.util.spec_from_file_location(f"benchmarks_{name}", BENCHMARKS / f"{name}.py")
        made = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(made)
        return made

    yield module
    sys.path.remove(str(BENCHMARKS))


@pytest.fixture(scope="module")
def mutation(load):
    return load("mutation")


@pytest.fixture(scope="module")
def runner(load):
    return load("mutants")


LINES = [
    ("return_order", "return a, b", ["return b, a"]),
    (
        "defaults",
        "def f(x, ignore_index=-100): pass",
        ["def f(x, ignore_index=100): pass", "def f(x, ignore_index=-1000): pass"],
    ),
    ("other", "x = tl.load(p, mask=m, other=0.0)", ["x = tl.load(p, mask=m)", "x = tl.load(p, mask=m, other=1.0)"]),
    (
        "masks",
        "x = tl.load(p, mask=m & k, other=0.0)",
        [
            "x = tl.load(p)",
            "x = tl.load(p, mask=~(m & k), other=0.0)",
            "x = tl.load(p, mask=m | k, other=0.0)",
            "x = tl.load(p, mask=m, other=0.0)",
            "x = tl.load(p, mask=k, other=0.0)",
        ],
    ),
    ("masks", "x = tl.where(m, a, b)", ["x = a", "x = b"]),
    ("masks", "x = x.masked_fill(~m, 0)", ["x = x", "x = x.masked_fill(m, 0)"]),
    ("casts", "x = y.to(tl.float32) * float(z)", ["x = y * float(z)", "x = y.to(tl.float32) * z"]),
    (
        "strides",
        "f(x.contiguous(), x.stride(0))",
        ["f(x, x.stride(0))", "f(x.contiguous(), x.stride(1))", "f(x.contiguous(), 1)"],
    ),
    (
        "strides",
        "def f(p, p_m, p_n): return p + i * p_m + j * p_n",
        [
            "def f(p, p_m, p_n): return p + i * 1 + j * p_n",
            "def f(p, p_m, p_n): return p + i * p_n + j * p_n",
            "def f(p, p_m, p_n): return p + i * p_m + j * 1",
            "def f(p, p_m, p_n): return p + i * p_m + j * p_m",
        ],
    ),
    (
        "bounds",
        "for s in range(0, n, B): pass",
        ["for s in range(0, n - B, B): pass", "for s in range(0 + B, n, B): pass"],
    ),
    (
        "bounds",
        "k[(triton.cdiv(n, B), h)](x)",
        [
            "k[(1, h)](x)",
            "k[(triton.cdiv(n, B) - 1, h)](x)",
            "k[(triton.cdiv(n, B), 1)](x)",
            "k[(triton.cdiv(n, B), h - 1)](x)",
            "k[(n // B, h)](x)",
        ],
    ),
    ("dtypes", "x = torch.empty(n, dtype=torch.int64)", ["x = torch.empty(n, dtype=torch.int32)"]),
    ("dtypes", "x = y.to(x.dtype)", ["x = y.to(torch.float32)"]),
    (
        "flags",
        "x = tl.dot(a, b, input_precision='ieee', flag=True)",
        ["x = tl.dot(a, b, input_precision='tf32', flag=True)", "x = tl.dot(a, b, input_precision='ieee', flag=False)"],
    ),
    ("functions", "x = tl.max(tl.abs(y))", ["x = tl.min(tl.abs(y))", "x = tl.sum(tl.abs(y))", "x = tl.max(y)"]),
    ("functions", "x = tl.minimum(a, b)", ["x = tl.maximum(a, b)", "x = a", "x = b"]),
    ("arguments", "f(a, b, b)", ["f(b, a, b)"]),
    (
        "conditions",
        "x = a if c and d else b",
        ["x = a if True else b", "x = a if False else b", "x = a if (c or d) else b"],
    ),
    ("relations", "x = a < b", ["x = a <= b", "x = a > b"]),
    ("arithmetic", "x = (a + b) * c", ["x = (a + b) / c", "x = a + b + c", "x = ((a - b)) * c"]),
    ("operands", "x = (a + b) * c", ["x = a + b", "x = c", "x = (a) * c", "x = (b) * c"]),
    ("constants", "x = n + 3", ["x = n + 4", "x = n + 2", "x = n + 0"]),
    ("constants", "x = float('-inf')", ["x = float('inf')", "x = -50000.0"]),
    ("signs", "x = -a", ["x = a"]),
    (
        "statements",
        "def f(x):\n    x = g(x)\n    y = x\n    return y",
        ["def f(x):\n    pass\n    y = x\n    return y"],
    ),
]


@pytest.mark.parametrize(("operator", "line", "mutated"), LINES, ids=[f"{row[0]}: {row[1][:30]}" for row in LINES])
def test_an_operator_changes_one_place(mutation, operator, line, mutated):
    assert [m.source for m in mutation.mutants(f"{line}\n") if m.operator == operator] == [f"{m}\n" for m in mutated]


def test_positions_are_right_behind_other_letters_and_over_several_lines(mutation):
    source = 's = "é · Σ"; y = (\n    x -\n    1.5)\n'
    found = {(m.operator, m.old, m.new): m.source for m in mutation.mutants(source)}
    assert found["constants", "1.5", "0.0"] == source.replace("1.5", "0.0")
    assert found["arithmetic", "x -\n    1.5", "x + 1.5"] == 's = "é · Σ"; y = (\n    x + 1.5)\n'
    assert {m.line for m in mutation.mutants(source) if m.operator == "constants"} == {3}


def test_what_is_no_code_that_counts_is_left_alone(mutation):
    source = '''@jit(x=1)
def f(x: tl.constexpr = None, y: List[1] = None) -> 1:
    """x + 1."""
    raise IndexError(f"{x + 1}")
    k[g](num_warps=4)
'''
    assert {(m.operator, m.old) for m in mutation.mutants(source)} == {("statements", "k[g](num_warps=4)")}


def test_every_mutant_is_python_and_no_text_comes_twice(mutation):
    source = "def f(ctx, a_row, a_col):\n    return g(*ctx.saved, a_row.dtype, a_col.dtype)\n"
    texts = [m.source for m in mutation.mutants(source)]
    for text in texts:
        compile(text, "", "exec")
    assert len(set(texts)) == len(texts) > 3
    assert source not in texts


def test_a_sample_follows_from_its_seed(runner):
    one, same, other = (runner.sample(seed, 40, FUNCTIONS[-4:]) for seed in (3, 3, 4))
    assert [c.id for c in one] == [c.id for c in same] != [c.id for c in other]
    assert len({c.id for c in one}) == 40


def fate(runner, candidate) -> str:
    """The case that a mutant fails, or "equivalent"; "" for one that passes."""
    child, pipe = runner.start(candidate, 0)
    died_in = runner.ended(runner.os.waitpid(child, 0)[1], pipe)
    return died_in or ("equivalent" if runner.read("equivalent", candidate.row) else "")


def test_a_child_computes_where_its_parent_had_threads(runner, monkeypatch):
    monkeypatch.setattr(runner, "SECONDS", 2)
    monkeypatch.setattr(runner, "first_failure", lambda *_: str(torch.rand(1_000_000).double().sqrt().numel()))
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        torch.rand(1_000_000).double().sqrt()
        assert fate(runner, runner.candidates([("silu_forward", "torch")])[0]) == "1000000"
    finally:
        torch.set_num_threads(before)


FUNCTIONS = [pair for pair in PAIRS if isinstance(EXERCISES[pair[0]], Exercise)]
AT_ONCE = {("silu_forward", "torch")}  # in make test


UNSEEN = {"constants", "defaults", "other"}  # digits that nobody promised, and lanes that nobody looks at


def one_of_each_operator(runner, name: str, backend: str) -> list:
    """A mutant of the answer by each operator. That an offset has 64 bits is seen by `test_emulator_offsets`."""
    chosen = {}
    for one in sorted(runner.candidates([(name, backend)]), key=lambda one: one.id):
        if one.mutant.operator not in UNSEEN and "int64" not in one.mutant.old:
            chosen.setdefault(one.mutant.operator, one)
    return list(chosen.values())


@pytest.mark.parametrize(
    ("name", "backend"),
    [pytest.param(*pair, marks=() if pair in AT_ONCE else pytest.mark.exhaustive) for pair in FUNCTIONS],
)
def test_cases_see_a_mistake_of_each_kind(name, backend, runner):
    """All but one: nobody has read whether it is equivalent."""
    passed = [one.row for one in one_of_each_operator(runner, name, backend) if not fate(runner, one)]
    told = [f"{row['text']}: {row['old']} -> {row['new']}" for row in passed]
    assert len(told) <= 1, f"{name} ({backend}) needs a case that sees {told}"


def test_what_a_helper_changes_is_put_to_every_exercise_that_calls_it(runner):
    mutants = runner.candidates([("silu_forward", "triton")])
    judges = {c.judges for c in mutants if c.row["text"] == "return tl.exp(-r) * tl.exp2(-n)"}
    assert judges == {("silu_forward", "silu_backward", "swiglu_forward", "swiglu_backward")}


SILU = "def silu_forward(x):\n    {}\n    return (x.double() * torch.sigmoid(x.double())).to(x.dtype)\n"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("pass", ""),
        ("return (x * torch.sigmoid(x)).to(x.dtype)", "silu_forward: every float16 value"),
        ("return y", "silu_forward: ordinary values"),
        ("while True: pass", "limit of time or memory"),
        ("raise SystemExit", "silu_forward: ordinary values"),
        ("return", "silu_forward: ordinary values"),
    ],
)
def test_the_first_failure_is_found_within_limits(runner, monkeypatch, line, found):
    monkeypatch.setattr(runner, "SECONDS", 1)
    mutant = sys.modules["mutation"].Mutant("statements", 2, "", line, SILU.format(line))
    candidate = runner.Candidate("silu_forward", "torch", mutant, ("silu_forward",))
    child, pipe = runner.start(candidate, 0)
    assert runner.ended(runner.os.waitpid(child, 0)[1], pipe) == found


def test_one_that_passes_is_checked_as_a_learners_answer_is(runner, worker):
    rounds = SILU.format("x = x.clone(memory_format=torch.contiguous_format)")
    mutant = sys.modules["mutation"].Mutant("statements", 2, "", "", rounds)
    assert runner.checked(runner.Candidate("silu_forward", "torch", mutant, ("silu_forward",)), 0, worker) == {}


def test_a_page_counts_what_came_of_mutants_and_names_the_survivors(load, monkeypatch):
    page = load("mutants_page")
    monkeypatch.setattr(page, "entries", lambda: {"equivalent": [{"why": "the same", "news": ["*2"]}]})
    row = {"exercise": "silu_forward", "backend": "torch", "operator": "casts", "text": "x = a[1] * y", "line": 1}
    rows = [row | {"old": "y", "new": new} for new in ("x2", "x22", "x3", "x4", "x5")]
    rows[3]["killed"] = rows[4]["killed"] = "ordinary values"
    text = page.page({7: rows})
    assert "| silu_forward | 5 | 2 | 0 | 0 | 1 | 2 |" in text
    assert "- seed 7: of 5 mutants the check refuses 2, and 1 survived\n" in text
    assert "%" not in text
    assert "`y` made `x3`: not read yet" in text
    survivors, alike = text.split("## Called equivalent")
    assert "`y` made `x2`: the same" in alike and "made `x2`" not in survivors
    assert "--seed 7 --count 5 --page" in text


def test_an_entry_means_what_it_names_and_nothing_else(load, monkeypatch):
    page = load("mutants_page")
    entry = {"why": "so", "answers": ["silu_* triton"], "lines": ["x[*] = y"], "operators": ["casts"]}
    monkeypatch.setattr(page, "entries", lambda: {"equivalent": [entry]})
    row = {
        "exercise": "silu_forward",
        "backend": "triton",
        "operator": "casts",
        "text": "x[1] = y",
        "old": "",
        "new": "",
    }
    assert page.read("equivalent", row) == "so"
    for change in ({"exercise": "gelu_forward"}, {"backend": "torch"}, {"operator": "masks"}, {"text": "x1 = y"}):
        assert page.read("equivalent", row | change) == ""
