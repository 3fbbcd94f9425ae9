"""What nbgrader does again for every notebook, done once in a run: a third of the time that it takes for one.

It opens the gradebook ten times for a notebook, each time with a new engine that translates every query anew, and looks
whether each table and the course are there. It asks for each cell of a notebook by itself (`lookups`). And it checks
the schema of its cells' metadata with each cell, besides the cell.
"""

import contextlib
import functools
import json
from collections.abc import Callable, Iterator
from types import SimpleNamespace

from jsonschema import ValidationError
from jsonschema.exceptions import best_match
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for
from nbgrader import api
from nbgrader.api import Gradebook
from nbgrader.nbgraderformat import common

from .lookups import FINDING, together


@contextlib.contextmanager
def sparing() -> Iterator[None]:
    """In this process, while the context lasts. Each look at the gradebook has a connection of its own, as before."""
    engine, tables, schemas = api.create_engine, api.Base.metadata, common.jsonschema
    nbgraders = {name: getattr(Gradebook, name) for name in ("check_course", *FINDING)}
    api.create_engine = functools.cache(engine)
    tables.create_all = functools.cache(tables.create_all)
    common.jsonschema = SimpleNamespace(validate=_validate, ValidationError=ValidationError)
    Gradebook.check_course = _once(Gradebook.check_course)
    for name in FINDING:
        setattr(Gradebook, name, together(nbgraders[name]))
    try:
        yield
    finally:
        api.create_engine, common.jsonschema = engine, schemas
        del tables.create_all
        for name, method in nbgraders.items():
            setattr(Gradebook, name, method)


def _once(check: Callable) -> Callable:
    """In place of `Gradebook.check_course`: that a course is there is asked once for each database."""
    there: set[tuple[str, str]] = set()

    @functools.wraps(check)
    def checked(gradebook: Gradebook, course_id: str = "default_course", **more) -> api.Course | None:
        which = str(gradebook.engine.url), course_id
        if which in there and not more:
            return None
        course = check(gradebook, course_id, **more)
        there.add(which)
        return course

    return checked


def _validate(metadata: dict, schema: dict) -> None:
    """`jsonschema.validate`. Raises ValidationError and SchemaError."""
    if error := best_match(_validator(json.dumps(schema)).iter_errors(metadata)):
        raise error


@functools.cache
def _validator(schema: str) -> Validator:
    found = json.loads(schema)
    kind = validator_for(found)
    kind.check_schema(found)
    return kind(found)
