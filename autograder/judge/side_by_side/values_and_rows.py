"""``compare``: a candidate's values beside its reference's and, where asked, its rows beside their neighbours."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ...runner import CompareError, Limits, Worker
from ...words import Quality
from ..batches.batch_invariance import neighbours as row_by_row
from ..records.settings import Settings
from ..report.report import Report
from .code import Code
from .comparison import LIMITS, judged, kinds_of
from .lines import Lines
from .method import COMPUTES, KINDS
from .pair import How

IN_THIS_PROCESS = (
    "--neighbours (neighbours=) calls the candidate on the example of --arguments (arguments=), in this process: "
    "give that example, and leave out --isolated (isolated=, Code)"
)
DEPENDS = "right in every family, but a row's result depends on the rows beside it"
NOT_CAUSAL = "right in every family, but a position's result depends on what comes behind it"


def compare(
    reference: Any,
    candidate: Any,
    arguments: Any = None,
    *,
    like: str | None = None,
    seed: int = 0,
    without: Iterable[str] = (),
    gradients: bool | None = None,
    compiler: bool = True,
    require: Iterable[str] = (Quality.CORRECT, Quality.PORTABLE),
    any_method: bool = False,
    computes: Iterable[str] = COMPUTES,
    neighbours: str | int | Sequence[str | int] = (),
    causal: int | None = None,
    isolated: bool = False,
    simulated: bool | None = None,
    worker: Worker | None = None,
    limits: Limits = LIMITS,
) -> Report:
    """Judges ``candidate`` by what ``reference`` returns in float64, on families of inputs made from ``arguments``.

    reference, candidate: functions of the same arguments that return tensors, or write into one; modules, whose
    parameters have the same names (the reference's values are used for both); an ``autograd.Function``; or
    ``(forward, backward)``, where backward takes the upstream gradient of each result, then forward's arguments, and
    returns the gradient of each floating-point one. Each may be named instead: ``"FILE.py:NAME"`` or
    ``"package.module:NAME"``, or both as files in KernelBench's form, which have their own arguments.
    arguments: an example: a tensor, a tuple, a dict of arguments by name, or ``(tuple, dict)``; or a function that
    returns one, of nothing, of a seed, or of a seed and a size; or its name. Each tensor of a tuple, list, dict, named
    tuple or dataclass is an argument of its own, ``cache_keys``, and put together again for every call. like: an
    exercise whose first case is the example. seed: of the random inputs.
    without: names of families to leave out, such as ``"NaN in x"``; a name without its end (``"NaN"``) leaves out all
    that begin with it; a dimension (``"dimension 1 of x"``) then has the example's size in all families. gradients:
    whether they are compared; where it is None, if reference and candidate have some.
    compiler, require: as `check` has them; ``efficient`` cannot be judged without a record.
    computes: the kinds (`method.Method`) of which a candidate has to be: ``"kernels"``, ``"partly"``, ``"operators"``.
    any_method: whether it may be of any kind, and so call the operators of the reference (``"no"``), as other PyTorch
    code does that is not meant to replace them, or do what nobody could find out (``"unknown"``); its values alone
    decide then.
    neighbours: the arguments, by name or place, whose dimension 0 is the batch; where there are some, it is also asked
    whether a row's result depends on the rows beside it (`batch_invariance.neighbours`), and the report is false where
    one does. This calls the candidate on the example of ``arguments`` in this process. causal: the dimension of time of
    these arguments; where there is one, it is also asked whether what comes behind a position changes its result.
    isolated: whether the candidate, which is named or `Code`, is text that only the sandbox runs. worker, limits: the
    process for that, by default one of its own, and what the candidate may take.
    simulated: whether reference and candidate see a simulated GPU; where it is None, if they are named and there is
    none.
    The report is true where the candidate computes, and is right in every family that the reference takes. Its score is
    the share of these families; 0 where it does not compute in a way that is asked for. Raises CompareError, and
    CandidateError where the candidate is the reason.
    """
    left_out = (without,) if isinstance(without, str) else tuple(without)
    computes = (computes,) if isinstance(computes, str) else tuple(computes)
    neighbours = (neighbours,) if isinstance(neighbours, str | int) else tuple(neighbours)
    if causal is not None and not neighbours:
        raise CompareError("name the arguments that have the dimension of --causal: --neighbours NAME (neighbours=)")
    if neighbours and (isolated or isinstance(candidate, Code) or arguments is None):
        raise CompareError(IN_THIS_PROCESS)
    how = How(Settings("triton", seed, compiler, require=require), isolated, simulated, worker, limits, gradients)
    lines = Lines(reference, candidate, arguments, like, left_out, how)
    kinds = KINDS if any_method else kinds_of(computes)
    report = judged(reference, candidate, arguments, like, how, lines, left_out, kinds)
    if not neighbours:
        return report
    depends = row_by_row(candidate, arguments, neighbours, causal=causal, seed=seed, simulated=simulated)
    summary = report.summary
    if depends and report.passed:
        summary = DEPENDS if depends.found or depends.unordered else NOT_CAUSAL
    return replace(report, neighbours=depends, passed=report.passed and not depends, summary=summary)
