"""What two platforms read of a grader's ``results.json``, as JSON schemas, for the tests of what we export.

Written after gradescope-autograders.readthedocs.io/en/latest/specs ("Output format"), and docs/externalGrading.md
("Grading results") of PrairieLearn at 06a6d5902f18. Both allow more keys than these; ours are among those they name.
"""

TEXT, NUMBER = {"type": "string"}, {"type": "number"}
FORMAT = {"enum": ["text", "html", "simple_format", "md", "ansi"]}
VISIBILITY = {"enum": ["hidden", "after_due_date", "after_published", "visible"]}


def _object(required: list[str], **properties: dict) -> dict:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


GRADESCOPE = _object(
    ["score"],  # or a score of each test
    score=NUMBER,
    execution_time=NUMBER,
    output=TEXT,
    output_format=FORMAT,
    visibility=VISIBILITY,
    stdout_visibility=VISIBILITY,
    extra_data={"type": "object"},
    tests={
        "type": "array",
        "items": _object(
            [],
            score=NUMBER,
            max_score=NUMBER,
            status={"enum": ["passed", "failed"]},
            name=TEXT,
            name_format=FORMAT,
            number=TEXT,
            output=TEXT,
            output_format=FORMAT,
            tags={"type": "array", "items": TEXT},
            visibility=VISIBILITY,
            extra_data={"type": "object"},
        ),
    },
)
PRAIRIELEARN = _object(
    ["score"],
    gradable={"type": "boolean"},
    score={"type": "number", "minimum": 0, "maximum": 1},
    message=TEXT,
    output=TEXT,
    tests={
        "type": "array",
        "items": _object([], name=TEXT, description=TEXT, points=NUMBER, max_points=NUMBER, message=TEXT, output=TEXT),
    },
)
PRAIRIELEARN_BYTES = 1_000_000
