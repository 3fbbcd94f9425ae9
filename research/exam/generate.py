"""Writes `rows/` from what the project has: ``python -m research.exam.generate``. The table is committed; a test holds
it to what this makes. A row from elsewhere is written by hand, into a file of its own.
"""

import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from .row import CONTRACT, HERE, ROWS

MATERIAL = HERE.parents[1] / "tests" / "material"
if str(MATERIAL) not in sys.path:
    sys.path.insert(0, str(MATERIAL))

import faultless  # noqa: E402
import graded_kernels.autograder  # noqa: E402, F401  before triton
import pairs  # noqa: E402
import planted  # noqa: E402
import torch  # noqa: E402
from answers import our_answer  # noqa: E402
from graded_kernels.autograder import EXERCISES, Exercise, WildBug  # noqa: E402
from graded_kernels.autograder.judge.checking.judge import arguments  # noqa: E402
from graded_kernels.autograder.runner.call.tree import Tree  # noqa: E402

from . import gpuemu, invariance, order  # noqa: E402
from .fixes import entered  # noqa: E402
from .releases import RELEASES  # noqa: E402
from .repairs import REPAIRS  # noqa: E402

FOUND = {  # a finding of the emulator -> the kind that it is of
    "out-of-bounds": "memory",
    "gathered-outside": "memory",
    "store-conflict": "race",
    "own-store": "race",
    "own-load": "race",
    "race-read": "race",
    "race-write": "race",
    "unwritten": "uninitialised",
    "uninitialised-read": "uninitialised",
    "masked-load": "uninitialised",
    "left-state": "state",
    "misleading-hint": "memory",
    "saved-tensor": "gradient",
    "undeclared-store": "state",
    "division-by-zero": "values at an edge",
    "not-associative": "values at an edge",
    "assertion": "compile",
    "kernel-error": "compile",
    "unsupported": "compile",
    "grid": "compile",
    "order": "race",
    "wrong-value": "values at an edge",
}
THEMES = {"synchronisation": "race", "language": "compile", "annotations": "compile", "blocks": "values at an edge"}
REPORTS = {
    "bnb_absmax": "memory",
    "compare_family_int": "values at an edge",
    "compare_int8": "values at an edge",
    "fla_conv_bwd_batch": "gradient",
    "gems_scatter_expand": "layout",
    "intel_store_then_load": "race",
    "lightllm_zero_counts": "race",
    "prerun_hook": "uninitialised",
    "scalar_one_minus_beta": "values at an edge",
    "sglang_conv_tail": "values at an edge",
    "sglang_k_tile": "values at an edge",
    "tokenspeed_ties": "values at an edge",
    "triton_argmax_nan": "values at an edge",
    "triton_configs_halves": "uninitialised",
    "triton_e8m0": "values at an edge",
    "trt_conv_state": "race",
    "unsloth_rope_inplace": "state",
    "vllm_window_v": "uninitialised",
    "xpu_upsample_square": "values at an edge",
}
READ = "its author, who had the contract and had read our answer; the first line says how"
SOURCE = {"first": CONTRACT, "attention": CONTRACT, "experts": READ, "scale": READ}  # by the folder of `others`
WORDS = {  # in what the author of an answer says of it -> the kind that it is of
    "[oob]": "memory",
    "[race]": "race",
    "lost update": "race",
    "[poison]": "uninitialised",
    "torch.empty": "uninitialised",
    "never written": "uninitialised",
    "in place": "state",
    "stride": "layout",
    "contiguous": "layout",
    "transposed": "layout",
    "float16": "dtype",
    "half precision": "dtype",
    "'s dtype": "dtype",
    "dtype of": "dtype",
    "own dtype": "dtype",
}
PUBLISHED = {  # a label that stays as it was published, while another case shows the mistake first
    "silu_backward_candle_now": "dtype",  # from 256 on in bfloat16, 2048 in float16; in float32 from 2^24 on
}
AUTHOR = "its author, who wrote it to be so; the docstring says how"
RETURNED = "PyTorch, whose result the program returns beside its own: a test holds them equal"


def written(rows: list[dict]) -> str:
    """A file of rows. Strings of JSON are strings of TOML."""
    lines = ["# Made by `python -m research.exam.generate`."]
    for row in rows:
        lines += ["", "[[row]]", *(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in row.items())]
    return "\n".join(lines) + "\n"


def row(name: str, kind: str, wrong: bool, how: str, entry: str, source: str, licence: str = "MIT", **more) -> dict:
    fixed = dict(name=name, kind=kind, wrong=wrong, how=how, entry=entry)
    texts = {key: " ".join(value.split()) for key, value in more.items() if value}
    return fixed | texts | dict(source=source, licence=licence)


def functions() -> list[Exercise]:
    return [record for record in EXERCISES.values() if isinstance(record, Exercise)]


def kind_of(record: Exercise, case_name: str = "") -> str:
    """By the case that sees it: a half dtype, then a layout; by the exercise: writes arguments, then a gradient."""
    for case in record.cases:
        if case.name == case_name:
            tensors = Tree(arguments(case, 0, 0)).tensors
            if any(one.dtype in (torch.float16, torch.bfloat16) for one in tensors):
                return "dtype"
            if not all(one.is_contiguous() for one in tensors):
                return "layout"
    if record.writes:
        return "state"
    return "gradient" if record.forward or record.gradient_of else "values at an edge"


def answers() -> Iterator[dict]:
    for record in functions():
        for backend in record.backends:
            entry = our_answer(record.name, backend)
            both = len(record.backends) == 2
            yield row(
                f"answers/{record.name}/{backend}",
                kind_of(record),
                False,
                "exercise",
                f"{entry.__module__}:{entry.__qualname__}",
                "float64 mathematics: the record's oracle, in all of its cases",
                second="the answer in the other of PyTorch and Triton, which agrees" if both else "",
                exercise=record.name,
                backend=backend,
            )


def by_others() -> Iterator[dict]:
    """Answers whose authors had no grader: what they say of each is its first line."""
    for file in sorted((HERE / "others").glob("*/*/*.py")):
        exercise, backend, _ = file.stem.split("__")
        text, wrong = file.read_text(encoding="utf-8").partition("\n")[0], file.parent.name == "wrong"
        record = EXERCISES[exercise]
        kind = next((kind for word, kind in WORDS.items() if word in text), "") if wrong else ""
        yield row(
            f"others/{file.parts[-3]}/{file.stem}",
            kind or (kind_of(record) if isinstance(record, Exercise) else "values at an edge"),
            wrong,
            "answer",
            file.relative_to(HERE).as_posix(),
            SOURCE[file.parts[-3]],
            place=text.removeprefix("# Wrong: ") if wrong else "",
            exercise=exercise,
            backend=backend,
        )


def wild() -> Iterator[dict]:
    for record in functions():
        for bug in record.wild:
            mathematics = f"float64 mathematics: the record's oracle, in the case '{bug.seen_by}'"
            threaded = isinstance(bug, WildBug)
            peer = "the formula as PyTorch's users write it agrees with the mathematics" if record.peer else ""
            function = bug.function
            yield row(
                f"wild/{function.__name__}/{record.name}",
                PUBLISHED.get(function.__name__) or kind_of(record, bug.seen_by),
                True,
                "exercise",
                f"{function.__module__}:{function.__qualname__}",
                f"{bug.who}: {bug.thread}" if threaded else mathematics,
                place=f"{bug.who.rstrip(',')}; seen in the case '{bug.seen_by}'",
                second=mathematics if threaded else peer,
                twin=f"answers/{record.name}/torch",
                exercise=record.name,
                backend="torch",
            )


def planted_bugs() -> Iterator[dict]:
    for bug in planted.bugs():
        entry = f"{bug.run.__module__}:{bug.name}"
        yield row(f"planted/{bug.name}", FOUND[bug.kind], True, "program", entry, AUTHOR, place=bug.title)


def faultless_programs() -> Iterator[dict]:
    for program in faultless.programs():
        theme = program.__module__.rpartition(".")[2]
        entry = f"{program.__module__}:{program.__name__}"
        kind = THEMES.get(theme, "memory")
        yield row(f"faultless/{program.__name__}", kind, False, "program", entry, AUTHOR, second=RETURNED)


def features() -> Iterator[dict]:
    for pair in pairs.PAIRS:
        name = pair.program.__name__
        for wrong in (True, False):
            yield row(
                f"pairs/{name}/{'wrong' if wrong else 'right'}",
                FOUND[pair.kind],
                wrong,
                "pair",
                f"{pair.program.__module__}:{name}",
                AUTHOR,
                place=inspect.getdoc(pair.program).removeprefix("Wrong: ") if wrong else "",
                second="" if wrong else RETURNED,
                twin=f"pairs/{name}/{'right' if wrong else 'wrong'}",
            )


def reports() -> Iterator[dict]:
    for name, kind in REPORTS.items():
        for wrong in (True, False):
            own = name if wrong else f"{name}_right"
            lines = (HERE / "reports" / f"{own}.py").read_text(encoding="utf-8").splitlines()
            text, thread = (line.partition(": ")[2] for line in lines[:2])
            referenced = (HERE / "reports" / f"{name}_reference.py").is_file()
            yield row(
                f"reports/{own}",
                kind,
                wrong,
                "file",
                f"reports/{own}.py",
                f"the report {thread}, after which it was written",
                place=text if wrong else "",
                second="PyTorch: the reference beside it" if referenced else "",
                twin=f"reports/{name}_right" if wrong else f"reports/{name}",
            )


def batches() -> Iterator[dict]:
    for name, (*_, follows) in order.WRONG.items():
        for wrong in (True, False):
            yield row(
                f"order/{name}/{'wrong' if wrong else 'right'}",
                "order",
                wrong,
                "batch",
                f"research.exam.order:{'WRONG' if wrong else 'RIGHT'}.{name}",
                "its author: the way to compute a row follows the number of rows, or does not",
                place=f"{follows} follows the number of rows" if wrong else "",
                second="the histories of each float (tests/gpu/test_history.py)",
                twin=f"order/{name}/{'right' if wrong else 'wrong'}",
            )


def of_rows() -> Iterator[dict]:
    for name, (*_, why) in {**{key: (*one, "") for key, one in invariance.RIGHT.items()}, **invariance.WRONG}.items():
        repository, commit, licence = invariance.SOURCES[name.partition("_")[0]]
        called_so = not why and name.startswith(("thinking", "sglang", "vllm"))
        yield row(
            f"invariance/{name}",
            "order",
            bool(why),
            "rows",
            name,
            "one reader of its launch, which follows the number of rows, or does not",
            f"{licence}, not copied",
            place=why,
            second="its authors, who call it batch invariant" if called_so else "",
            repository=repository,
            commit=commit,
        )


def arrays() -> Iterator[dict]:
    wrong_of = {right: wrong for wrong, (_, right) in gpuemu.WRONG.items()}
    for folder in (*gpuemu.WRONG, *gpuemu.RIGHT):
        place, right = gpuemu.WRONG.get(folder, ("", ""))
        twin = right or wrong_of.get(folder)
        yield row(
            f"gpuemu/{folder}",
            "values at an edge",
            bool(place),
            "arrays",
            folder,
            "the corpus's authors",
            "MIT or Apache-2.0, not copied",
            place=place,
            second="mathematics in float64 (gpuemu.py)",
            twin=f"gpuemu/{twin}" if twin else "",
            repository="sarkar-dipankar/gpuemu-corpus",
            commit="9f93e7f",
        )


def fixes() -> Iterator[dict]:
    for name, one in entered().items():
        for wrong in (True, False):
            yield row(
                f"fixes/{name}/{'wrong' if wrong else 'right'}",
                one.kind,
                wrong,
                "fix",
                f"{one.call.__module__}:{name}",
                f"the commit github.com/{one.repository}/commit/{one.commit}, which repairs it",
                one.licence,
                place=one.place if wrong else "",
                second="mathematics in float64, beside the call" if one.differs or not wrong else "",
                twin=f"fixes/{name}/{'right' if wrong else 'wrong'}",
                repository=one.repository,
                commit=one.commit + ("^" if wrong else ""),
            )


def repairs() -> Iterator[dict]:
    for name, one in REPAIRS.items():
        for wrong in (True, False):
            yield row(
                f"repairs/{name}/{'wrong' if wrong else 'right'}",
                one.kind,
                wrong,
                "repair",
                name,
                f"the commit github.com/{one.repository}/commit/{one.commit}, which repairs it",
                "the repository's, not copied",
                place=one.fault if wrong else "",
                twin=f"repairs/{name}/{'right' if wrong else 'wrong'}",
                repository=one.repository,
                commit=one.parent if wrong else one.commit,
            )


def releases() -> Iterator[dict]:
    for name, one in RELEASES.items():
        for wrong in (True, False)[: 1 + bool(one.right)]:
            yield row(
                f"releases/{name}/{'wrong' if wrong else 'right'}",
                one.kind,
                wrong,
                "fix",
                f"{one.call.__module__}:{name}",
                f"the report {one.thread}" if one.thread else "one reader of what this project's checkers had flagged",
                one.licence,
                place=one.place if wrong else "",
                second=one.second,
                twin=f"releases/{name}/{'right' if wrong else 'wrong'}" if one.right else "",
                repository=one.repository,
                commit=one.commit if wrong else one.right,
            )


FILES = {
    "answers": answers,
    "others": by_others,
    "wild": wild,
    "planted": planted_bugs,
    "faultless": faultless_programs,
    "pairs": features,
    "reports": reports,
    "order": batches,
    "gpuemu": arrays,
    "invariance": of_rows,
    "fixes": fixes,
    "repairs": repairs,
    "releases": releases,
}


def files() -> dict[str, str]:
    """The text of each file of rows, by its name."""
    return {f"{name}.toml": written(list(make())) for name, make in FILES.items()}


def main(folder: Path = ROWS) -> None:
    for name, text in files().items():
        (folder / name).write_text(text, encoding="utf-8")
        print(f"{name}: {text.count('[[row]]')} rows")


if __name__ == "__main__":
    main()
