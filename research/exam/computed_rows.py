"""Rows of what lies in this folder: answers by others, reports, and the tables of fixes, repairs, releases and kernels.

They are computed where they are read: a file's first lines, or a table's entry, say all of a row.
"""

from collections.abc import Iterator

import graded_kernels.autograder  # noqa: F401  before triton
from graded_kernels.autograder import EXERCISES, Exercise

from . import causal_kernels, gpuemu, invariance
from .fixes import entered
from .releases import RELEASES
from .repairs import REPAIRS
from .row import CONTRACT, HERE

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
ISSUE = "github.com/fla-org/flash-linear-attention/issues/1240, on this row"
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


def row(name: str, kind: str, wrong: bool, how: str, entry: str, source: str, licence: str = "MIT", **more) -> dict:
    """A row as its table has it; a text without a line break, and none that is empty."""
    fixed = dict(name=name, kind=kind, wrong=wrong, how=how, entry=entry)
    texts = {key: " ".join(value.split()) for key, value in more.items() if value}
    return fixed | texts | dict(source=source, licence=licence)


def kind_of_exercise(record: object) -> str:
    """What an answer to a record could be accused of, unless a case says more."""
    if not isinstance(record, Exercise):
        return "values at an edge"
    if record.writes:
        return "state"
    return "gradient" if record.forward or record.gradient_of else "values at an edge"


def by_others() -> Iterator[dict]:
    """Answers whose authors had no grader: what they say of each is its first line."""
    for file in sorted((HERE / "others").glob("*/*/*.py")):
        exercise, backend, _ = file.stem.split("__")
        text, wrong = file.read_text(encoding="utf-8").partition("\n")[0], file.parent.name == "wrong"
        kind = next((kind for word, kind in WORDS.items() if word in text), "") if wrong else ""
        yield row(
            f"others/{file.parts[-3]}/{file.stem}",
            kind or kind_of_exercise(EXERCISES[exercise]),
            wrong,
            "answer",
            file.relative_to(HERE).as_posix(),
            SOURCE[file.parts[-3]],
            place=text.removeprefix("# Wrong: ") if wrong else "",
            exercise=exercise,
            backend=backend,
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


def of_positions() -> Iterator[dict]:
    for wrong, table in ((True, causal_kernels.WRONG), (False, causal_kernels.RIGHT)):
        for name, (*_, why) in table.items():
            repository, commit, licence = causal_kernels.SOURCES[name.partition("_")[0]]
            yield row(
                f"causality/{name}",
                "causality",
                wrong,
                "positions",
                name,
                "one reader of its text, which takes a row in the middle of a block, or none",
                f"{licence}, not copied",
                place=why if wrong else "",
                second=ISSUE if wrong else "",
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


COMPUTED = {
    "others": by_others,
    "reports": reports,
    "gpuemu": arrays,
    "invariance": of_rows,
    "causality": of_positions,
    "fixes": fixes,
    "repairs": repairs,
    "releases": releases,
}
