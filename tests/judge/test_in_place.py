"""Exercises whose answers write in place: what is written is compared like what is returned."""

import importlib
import json
from dataclasses import replace
from functools import partial

import pytest
import torch
from graded_kernels.autograder import Case, CommonMistake, Output, elementwise
from graded_kernels.autograder.judge.checking.check import check_answer
from graded_kernels.autograder.judge.checking.device_and_emulator import emulated
from graded_kernels.autograder.judge.checking.judge import judge
from graded_kernels.autograder.judge.records.record import Large, WildBug, Witness
from graded_kernels.autograder.judge.records.settings import Settings
from graded_kernels.autograder.judge.records.validation import RecordError, of_cases, validate
from graded_kernels.autograder.runner import Answer, Call, Cell, Contract, InProcess, Isolated
from isolation import needs_isolation
from on_a_device import on_a_device
from sgd_record import TORCH, TRITON, drawn, every_second, sgd_step
from sgd_record import __file__ as RECORD
from turns import in_turn

TEXTS = {"torch": TORCH, "triton": TRITON}
WAYS = ("in process", "isolated")
BOTH = pytest.mark.parametrize("path", [WAYS[0], pytest.param(WAYS[1], marks=needs_isolation)])
PATHS = pytest.mark.parametrize(
    "path", [WAYS[0], pytest.param(WAYS[1], marks=[pytest.mark.exhaustive, needs_isolation])]
)
BACKENDS = pytest.mark.parametrize("backend", TEXTS)


@pytest.fixture
def checked(path, request):
    """A function that checks a text as an answer to ``sgd_step``: in this process, or isolated."""
    worker = request.getfixturevalue("worker") if path == "isolated" else None

    def check(text, backend, record=sgd_step, seed=0, compiler=False, **options):
        answer = Answer(record.name, (Cell("answer.py", text),), module=True)
        return check_answer(answer, Settings(backend, seed, compiler), record=record, worker=worker, **options)

    return check


def changed(text: str, *pairs: str) -> str:
    """The text with each old part, which occurs once, in its new form."""
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def failing(report) -> dict[str, str]:
    """What is said of each case that fails."""
    return {case.name: case.message for case in report.cases if case.status != "pass"}


@pytest.mark.parametrize("seeds", [1, pytest.param(20, marks=pytest.mark.exhaustive)])
@BOTH
@BACKENDS
def test_a_right_answer_gets_every_point_at_every_seed(backend, path, seeds, checked):
    for seed in range(seeds):
        report = checked(TEXTS[backend], backend, seed=seed)
        assert report.score == 1, str(report)
        assert report.passed
        assert {case.status for case in report.cases} == {"pass"}


@PATHS
def test_what_is_written_may_also_be_returned(path, checked):
    """As PyTorch's own functions do in place; another tensor may not."""
    for returned, passes in (("param", True), ("param, m", True), ("param.clone()", False)):
        assert checked(TORCH + f"    return {returned}\n", "torch").passed is passes, returned


@PATHS
@BACKENDS
def test_a_family_of_cases(backend, path, checked):
    """Every value of the half formats and offsets beyond 2^31 among them; grad, which is only read, at stride 0."""

    def arguments(generator, grad, param, m):
        return param, grad, m, 0.1, 0.9

    family = elementwise(("grad", "param", "m"), "param", lambda: torch.ones(3), arguments=arguments)
    cases = tuple(case for case in family if case.name not in ("no dimensions", "odd shape, several blocks"))
    assert {"offsets beyond 2^31", "grad of stride 0", "rows with gaps"} <= {case.name for case in cases}
    record = replace(sgd_step, cases=cases, most_bytes=None, traffic=None)
    validate(record)
    report = checked(TEXTS[backend], backend, record)
    assert report.passed, str(report)


BOTH = "    param.copy_(param.float() - lr * new)\n    m.copy_(new)\n"
KEPT = "are as they came in: write to every element of the tensor that is given, not to a copy of it."
IN_PLACE = "sgd_step should return nothing and write param and m in place, as `param.copy_(...)` does, but returned 2."
GRAD = "The answer changed its input grad. The caller may still need it: write into a new tensor."
NEW = "return (param.float() - lr * new).to(param.dtype), new.to(m.dtype)"
COPIES = "    param, m = param.contiguous(), m.contiguous()\n"
FIRST = "param.view(-1)[:1024] = (param.float() - lr * new).view(-1)[:1024]"
GAPS = "    m.copy_(new)\n    if m.stride(-1) == 2:\n        m.as_strided((40, 24), m.stride(), 1).fill_(7.0)\n"
STATE = "    if calls:\n        m.copy_(m * beta + grad)\n    calls.append(1)\n"
NEIGHBOUR = "    m = beta * m + grad + 0.0 * tl.load(M + tl.maximum(offsets - 1024, 0))\n"
WRONG = {  # what is wrong: a backend, an answer, a case that sees it, and what is said of it
    "new tensors": ("torch", changed(TORCH, BOTH, f"    {NEW}\n"), "ordinary values", IN_PLACE),
    "nothing written": (
        "torch",
        changed(TORCH, BOTH, "    param, m = param - lr * new, new\n"),
        "ordinary values",
        f"Those of param {KEPT}",
    ),
    "other memory": ("torch", changed(TORCH, "param.copy_(", "param.data = ("), "ordinary values", f"They {KEPT}"),
    "grad": ("torch", changed(TORCH, "    new", "    new = grad.mul_(1.0000001)\n    new"), "ordinary values", GRAD),
    "a copy": ("torch", changed(TORCH, "    new", f"{COPIES}    new"), "every second element", KEPT),
    "the first block": (
        "torch",
        changed(TORCH, "param.copy_(param.float() - lr * new)", FIRST),
        "several blocks",
        KEPT,
    ),
    "param and m swapped": (
        "torch",
        changed(TORCH, BOTH, "    m.copy_(param.float() - lr * new)\n    param.copy_(new)\n"),
        "ordinary values",
        "param and m are exchanged.",
    ),
    "m in half": ("torch", changed(TORCH, "m.copy_(new)", "m.copy_(new.half())"), "ordinary values", "m is wrong in "),
    "between the elements": (
        "torch",
        changed(TORCH, "    m.copy_(new)\n", GAPS),
        "every second element",
        "The answer wrote between the elements of m: every dimension has a stride of its own.",
    ),
    "state": ("torch", f"calls = []\n{TORCH}{STATE}", "the same shape again", "m is wrong in 1,000 of 1,000 elements"),
    "new tensors of a kernel": (
        "triton",
        changed(TRITON, "    n =", "    param, m = torch.empty_like(param), torch.empty_like(m)\n    n =")
        + "    return param, m\n",
        "ordinary values",
        IN_PLACE,
    ),
    "grad in the kernel": (
        "triton",
        changed(TRITON, "    tl.store(m_at", "    tl.store(g_at, m, mask=inside)\n    tl.store(m_at"),
        "ordinary values",
        GRAD,
    ),
    "grad in place of m": (
        "triton",
        changed(TRITON, "    tl.store(m_at", "    tl.store(g_at"),
        "ordinary values",
        "The input grad was changed instead: are the launch's arguments in the order of the kernel's parameters?",
    ),
    "neighbours in memory": (
        "triton",
        changed(TRITON, "tl.store(m_at,", "tl.store(M + offsets,"),
        "every second element",
        "500 lanes of this block are outside. Pass the tensor's strides to the kernel and use them.",
    ),
    "a copy for the kernel": ("triton", changed(TRITON, "    n =", f"{COPIES}    n ="), "every second element", KEPT),
    "the arguments swapped": (
        "triton",
        changed(TRITON, "(param, grad, m)]", "(m, grad, param)]"),
        "ordinary values",
        "param is wrong in 1,000 of 1,000 elements",
    ),
    "a race": (
        "triton",
        changed(TRITON, "    m = beta * m + grad\n", NEIGHBOUR),
        "several blocks",
        "of M, which program (0, 0, 0) stored in the same launch. A GPU runs programs in any order",
    ),
    "a mask forgotten": (
        "triton",
        changed(TRITON, "tl.store(m_at, m, mask=inside)", "tl.store(m_at, m)"),
        "ordinary values",
        "`kernel` stores to M out of bounds in program (0, 0, 0)",
    ),
    "the first block alone": ("triton", changed(TRITON, "(triton.cdiv(n, 1024),)", "(1,)"), "several blocks", KEPT),
    "m in half in the kernel": (
        "triton",
        changed(TRITON, "tl.store(m_at, m,", "tl.store(m_at, m.to(tl.float16),"),
        "ordinary values",
        "m is wrong in ",
    ),
    "state beside the kernel": (
        "triton",
        "calls = []\n"
        + changed(TRITON, "lr, beta, BLOCK=", "lr * (1 + len(calls)), beta, BLOCK=")
        + "        calls.append(1)\n",
        "the same shape again",
        "param is wrong in 1,000 of 1,000 elements",
    ),
    "outside of the kernel": (
        "triton",
        TORCH,
        "ordinary values",
        "You computed with PyTorch (mul) outside the kernel.",
    ),
}


@pytest.mark.parametrize(("wrong", "path"), in_turn(WRONG, WAYS))
def test_a_wrong_answer_is_told_what_is_wrong(wrong, path, checked):
    backend, text, case, says = WRONG[wrong]
    found = failing(checked(text, backend))
    assert says in found.get(case, "nothing"), found


@PATHS
def test_a_stub_is_not_an_answer_that_writes_nothing(path, checked):
    for body in ("raise NotImplementedError", "pass"):
        text = f"def sgd_step(param, grad, m, lr=0.1, beta=0.9):\n    {body}\n"
        assert checked(text, "torch").summary == "not implemented yet"


UNTOUCHED = "def sgd_step(param, grad, m, lr=0.1, beta=0.9):\n    param = param * 2\n    m = param + grad\n"
ONE_OF_TWO = changed(TORCH, "m.copy_(new)", "m = new")


@PATHS
def test_who_writes_nothing_has_computed_nothing(path, checked):
    """And who writes one of two tensors has computed that one."""
    assert checked(UNTOUCHED, "torch").score < 0.1
    assert checked(ONE_OF_TWO, "torch").score == pytest.approx(0.4, abs=0.05)


@PATHS
@pytest.mark.parametrize("line", ["m.t_()", "grad.resize_(0)", "param.data = param.clone()", "grad.unsqueeze_(0)"])
def test_an_argument_keeps_its_shape_and_its_memory(line, path, checked):
    report = checked(f"{TORCH}    {line}\n", "torch")
    name = line.partition(".")[0]
    assert any(
        said.startswith(f"The answer left its input {name} with another shape") for said in failing(report).values()
    )
    assert checked(f"{TORCH}    {name}.unsqueeze(0)\n", "torch").passed


@PATHS
def test_what_is_returned_is_compared_before_what_is_written(path, checked):
    """The largest element of the new m returned, and param and m written."""

    def oracle(param, grad, m):
        new = 0.9 * m + grad
        return new.abs().amax(), param - 0.1 * new, new

    ours = sgd_step.tolerance
    tolerance = replace(ours, floor=lambda *args: (1e-6, *ours.floor(*args)))
    case = Case("numbers", drawn(200), "")
    changes = {"oracle": oracle, "outputs": (Output("largest", torch.float32),), "tolerance": tolerance}
    record = replace(sgd_step, cases=(case,), traffic=None, **changes)
    validate(record)
    right = TORCH + "    return new.abs().amax()\n"
    assert checked(right, "torch", record).passed
    assert "returns nothing (None)" in checked(TORCH, "torch", record).cases[0].message
    wanted = "sgd_step should return one tensor (largest) and write param and m in place"
    more = right.replace("amax()", "amax(), param.clone()")
    assert wanted in checked(more, "torch", record).cases[0].message
    aliased = "    return m.view(-1)[0]\n"
    assert checked(TORCH + aliased, "torch", record).cases[0].status == "fail"
    both = changed(right, BOTH, "    m.copy_(new)\n")
    assert checked(both, "torch", record).cases[0].failure.output == "param"


@PATHS
def test_the_values_before_the_call_went_in(path, checked):
    report = checked(changed(TORCH, BOTH, "    param.zero_()\n    m.copy_(new)\n"), "torch")
    failure = report.cases[0].failure
    given = dict(zip(("param", "grad", "m"), sgd_step.cases[0].inputs(torch.Generator().manual_seed(0)), strict=True))
    assert failure.inputs == {name: tensor[failure.index].item() for name, tensor in given.items()}
    assert (failure.output, failure.got) == ("param", 0.0)


def test_the_arguments_of_a_case_stay_as_they_are():
    """Those of the judge, while the answer, a bug and PyTorch's own function write into theirs."""
    kept = sgd_step.cases[-1].inputs(torch.Generator())
    theirs = [a.clone() for a in kept]
    bug = CommonMistake("who writes 7", lambda param, grad, m: param.fill_(7), "special", "It is 7.")
    case = Case("special", lambda generator: kept, "", convention="infinity")
    answer = Answer("sgd_step", (Cell("answer.py", TORCH.replace("- lr", "+ lr")),), module=True).load()
    record = replace(sgd_step, cases=(case,), wild=(bug,), peer=lambda param, grad, m: m.zero_())
    assert not judge(
        record, InProcess(answer, record.contract, "torch"), Settings("torch", conventions="pytorch")
    ).passed
    assert all(one.isclose(other, equal_nan=True).all() for one, other in zip(kept, theirs, strict=True))


def forgetful(param, grad, m, lr=0.1, beta=0.9):
    """The step without the momentum, in place."""
    m.copy_(grad)
    param.sub_(lr * grad.float())


@PATHS
@BACKENDS
def test_a_bug_that_writes_in_place_is_recognised(backend, path, checked):
    bug = WildBug("step 0.1", "an issue", forgetful, "ordinary values", "It forgot.")
    text = changed(
        TEXTS[backend],
        "m.float() * beta" if backend == "torch" else "beta * m +",
        {"torch": "0.0 * m.float()"}.get(backend, "0.0 * m +"),
    )
    report = checked(text, backend, replace(sgd_step, wild=(bug,)))
    assert report.fingerprint == "this is what step 0.1 computed (an issue)"


@PATHS
def test_a_parameter_that_is_cut_off_leans(path, checked):
    """Its bits beyond bfloat16 are cut off: no element is off by more than 1 ulp, and all in one direction."""
    case = Case("bfloat16", drawn(4000, dtype=torch.bfloat16), "")
    record = replace(sgd_step, cases=(case,), unbiased=True, most_bytes=None)
    assert checked(TORCH, "torch", record).passed
    cut = "    param.copy_((param.float() - lr * new).view(torch.int32).bitwise_and_(-65536).view(torch.float32))"
    report = checked(
        "import torch\n" + changed(TORCH, "    param.copy_(param.float() - lr * new)", cut), "torch", record
    )
    assert list(failing(report)) == ["bias"]
    assert "results of param in bfloat16 are on average" in failing(report)["bias"]


def test_a_witness_of_a_bug_that_writes_in_place():
    bug = WildBug("step 0.1", "an issue", forgetful, "ordinary values", "It forgot.")
    record = Witness("sgd_witness", "find it", replace(sgd_step, wild=(bug,)), bug, "Where does m count?")

    def found(m):
        return judge(
            record, InProcess(lambda: (torch.ones(3), torch.ones(3), m), record.contract, "torch"), Settings("torch")
        )

    assert found(torch.ones(3)).passed
    assert "a witness is off by more than" in found(torch.zeros(3)).cases[2].message


@needs_isolation
def test_repeated_calls_of_a_process_begin_with_what_was_given(worker):
    args = sgd_step.cases[0].inputs(torch.Generator().manual_seed(0))
    answer = Answer("sgd_step", (Cell("answer.py", TORCH),), module=True)
    with Isolated(answer, sgd_step.contract, "torch", worker=worker) as runner:
        for _ in range(2):  # the first process calls once, the second three times
            examined = runner.examine(Call(args, sgd_step_layouts(args)))
            assert examined.first.mutated == examined.again.mutated == ()
            for one, other in zip(examined.first.outputs, examined.again.outputs, strict=True):
                assert one.equal(other)


def sgd_step_layouts(args):
    return tuple((a.dtype, a.shape) for a in (args[0], args[2]))


@needs_isolation
def test_a_result_that_a_process_keeps_back_is_missed(worker):
    """An answer that has the grader in its own process report param alone, and m is wrong."""
    name = "graded_kernels.autograder.runner.sandbox.worker.child"
    child = f"import sys\n\nchild = sys.modules['{name}']\nreal = child._deliver\n"
    keeps = f"{child}child._deliver = lambda outputs, *rest: real(outputs[:1], *rest)\n"
    text = keeps + changed(TORCH, "    m.copy_(new)\n", "    m.zero_()\n")
    answer = Answer("sgd_step", (Cell("answer.py", text),), module=True)
    report = check_answer(answer, Settings("torch"), record=sgd_step, worker=worker)
    assert report.cases[0].message == "The answer's process did not return its outputs."


def test_a_worker_gets_the_whole_contract():
    contract = sgd_step.contract
    assert Contract.of(json.loads(json.dumps(contract.to_dict()))) == contract


def test_traffic_and_memory():
    """What is written is read and stored; what was given takes no memory of the answer's."""
    answer = Answer("sgd_step", (Cell("answer.py", TRITON),), module=True).load()
    report = judge(sgd_step, InProcess(answer, sgd_step.contract, "triton"), Settings("triton", compiler=False))
    size = 4 * 5045
    assert report.traffic["tensors"] == {
        "P": {"loaded": size, "stored": size},
        "G": {"loaded": size, "stored": 0},
        "M": {"loaded": size, "stored": size},
    }
    assert report.traffic["ratio"] == 1
    memory = next(case for case in report.cases if case.name == "peak memory")
    assert memory.message.startswith("Its tensors take 0 bytes at once")


NO_MEMORY = """
def sgd_step(param, grad, m, lr=0.1, beta=0.9):
    if m.dtype == grad.float().dtype:
        m.mul_(beta).add_(grad)
        param.sub_(m, alpha=lr)
    else:
        new = m.float().mul_(beta).add_(grad)
        m.copy_(new)
        param.copy_(new.mul_(-lr).add_(param))
"""


@pytest.mark.exhaustive
@needs_isolation
@pytest.mark.parametrize("rows, says", [("", "Its tensors take 0 bytes"), ("[:60000]", "param is wrong in ")])
def test_a_large_step_takes_no_memory_of_its_own(rows, says, worker):
    """In a process with room for one more tensor of that size, and two are written."""
    large = Large(drawn(128, 512), times=512, rows=(0, 1, 2), dimension=0, shares=(1.0, 1.0))
    record = replace(sgd_step, large=large, most_bytes=lambda param, *rest: 4 * param.numel())
    text = changed(NO_MEMORY, "param.sub_(m,", f"param{rows}.sub_(m{rows},")
    answer = Answer("sgd_step", (Cell("answer.py", text),), module=True)
    memory = check_answer(answer, Settings("torch"), record=record, worker=worker).cases[-1]
    assert memory.message.startswith(says)
    assert memory.status == ("fail" if rows else "pass")


@pytest.mark.exhaustive
@needs_isolation
@pytest.mark.parametrize("backend, passes", [("torch", False), ("triton", True)])
def test_on_the_command_line(backend, passes, tmp_path, called):
    (tmp_path / "answer.py").write_text(TEXTS[backend].replace("- lr *", "- lr *" if passes else "+ lr *"))
    arguments = ("--record", RECORD, "sgd_step", tmp_path / "answer.py", "--backend", backend, "--json")
    done = called("check", *arguments)
    data = json.loads(done.stdout)
    assert (done.returncode, data["passed"], data["score"] == 1) == (1 - passes, passes, passes)
    failure = data["cases"][0]["failure"] or {"output": "param", "inputs": ("param", "grad", "m")}
    assert failure["output"] == "param"
    assert set(failure["inputs"]) == {"param", "grad", "m"}


def test_a_function_of_ones_own(tmp_path, called):
    (tmp_path / "my_step.py").write_text(TRITON)
    done = called("check", "--record", RECORD, "sgd_step", f"{tmp_path / 'my_step.py'}:sgd_step")
    assert done.returncode == 0, done.stdout + done.stderr


def test_on_a_gpu(monkeypatch):
    """What stands where the GPU stands gives back what was written between its pads, and says what else was."""
    on_a_device(monkeypatch)
    args = sgd_step.cases[5].inputs(torch.Generator().manual_seed(0))
    param, grad, m = (a.clone() for a in args)
    forgetful(param, grad, m)

    def called(function):
        return InProcess(function, sgd_step.contract, "triton", guarded=False).once(args)

    right = called(forgetful)
    assert (right.trouble, right.mutated, right.findings) == (None, (), ())
    assert right.outputs[0].equal(param)
    assert right.outputs[1].equal(m)
    between = called(lambda param, grad, m: [m.as_strided((40, 24), m.stride(), 1).fill_(7.0)].clear())
    assert between.mutated == ("m",)


@pytest.mark.exhaustive
@needs_isolation
def test_the_same_cases_in_the_emulator(tmp_path, monkeypatch):
    """Beside those on a GPU, on the text of a function of this process."""
    (tmp_path / "step_of_mine.py").write_text(TRITON)
    monkeypatch.syspath_prepend(tmp_path)
    function = importlib.import_module("step_of_mine").sgd_step
    with monkeypatch.context() as patch:
        on_a_device(patch)
        twin = InProcess(function, sgd_step.contract, "triton").facts.in_emulator
    report = emulated(twin, partial(judge, sgd_step, settings=Settings("triton", compiler=False)))
    assert report.score == 1, str(report)


@PATHS
def test_nothing_of_an_instructors_case_is_shown(path, checked):
    case = Case("hidden: mine", drawn(50), "Look at m.", hidden=True)
    report = checked(changed(TORCH, BOTH, ""), "torch", sgd_step.with_cases((case,)))
    (shown,) = (c for c in report.cases if c.hidden)
    assert shown.message == "The result is wrong on this input, which is your instructor's and not shown."
    assert shown.failure is None


def test_an_instructors_case_has_a_place_for_every_element():
    def drawn_as(m):
        return Case("mine", lambda generator: (torch.zeros(4, 5), torch.zeros(1, 5).expand(4, 5), m, 0.1), "")

    assert list(of_cases(sgd_step, (drawn_as(torch.zeros(4, 5)),))) == []
    (said,) = of_cases(sgd_step, (drawn_as(torch.zeros(1, 5).expand(4, 5)),))
    assert "m is written, and elements of it lie in one place" in said


@pytest.mark.parametrize(
    "changes, says",
    [
        ({"writes": "m"}, "writes is 'm', of type str: give a tuple of names, such as writes="),
        ({"writes": ("v",)}, "it writes 'v', which is not a parameter: name some of param, grad, m, lr, beta"),
        ({"writes": ("m", "m")}, "m is written, so it is a result already: name it once, in writes"),
        ({"outputs": (Output("m", "m"),)}, "m is written, so it is a result already: name it once, in writes"),
        ({"writes": ()}, "it names no output"),
        ({"writes": ("lr", "m")}, "case 'numbers': lr is written, and only tensors can be; it is 0.1, of type float"),
        ({"oracle": lambda param, grad, m, lr: (param, m.add_(grad))}, "the oracle writes into its argument m"),
        ({"oracle": lambda param, grad, m, lr: param}, "returns 1 tensors and outputs and writes name 2"),
        ({"oracle": lambda param, grad, m, lr: (param, m[:3])}, "oracle's m has shape (3,), and the tensor that is"),
    ],
)
def test_a_mistake_in_the_record_is_told_in_a_sentence(changes, says):
    case = Case("numbers", lambda generator: (*torch.ones(3, 5).unbind(), 0.1), "")
    with pytest.raises(RecordError) as error:
        validate(replace(sgd_step, **{"cases": (case,)} | changes))
    assert says in str(error.value)


@pytest.mark.parametrize(
    "view", [every_second, torch.t, lambda t: t[:, :0], lambda t: t[:1].as_strided((1, 4), (0, 1))]
)
def test_elements_with_places_of_their_own_can_be_written(view):
    case = Case("seen so", lambda generator: tuple(view(t) for t in torch.zeros(3, 4, 4)), "")
    validate(replace(sgd_step, cases=(case,)))


@pytest.mark.parametrize("view", [lambda t: t[:1].expand(4, 4), lambda t: t.as_strided((4, 4), (1, 1))])
def test_elements_in_one_place_cannot(view):
    case = Case("seen so", lambda generator: tuple(view(t) for t in torch.zeros(3, 4, 4)), "")
    with pytest.raises(RecordError, match="param is written, and elements of it lie in one place"):
        validate(replace(sgd_step, cases=(case,)))


def test_the_signature_says_what_is_written():
    assert sgd_step.signature == "sgd_step(param, grad, m, lr=0.1, beta=0.9) writes param, m"
    assert replace(sgd_step, outputs=(Output("norm", "m"),)).signature.endswith("beta=0.9) -> norm, writes param, m")
