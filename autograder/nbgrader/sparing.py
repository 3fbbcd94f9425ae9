"""What nbgrader does again for every notebook, done once in a run: a third of the time that it takes for one.

It opens the gradebook ten times for a notebook, each time with a new engine that translates every query anew, and looks
whether each table is there. And it checks the schema of its cells' metadata with each cell, besides the cell.
"""

import contextlib
import functools
import json
from collections.abc import Iterator
from types import SimpleNamespace

from jsonschema import ValidationError
from jsonschema.exceptions import best_match
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for
from nbgrader import api
from nbgrader.nbgraderformat import common


@contextlib.contextmanager
def sparing() -> Iterator[None]:
    """In this process, while the context lasts. Each look at the gradebook has a connection of its own, as before."""
    engine, tables, schemas = api.create_engine, api.Base.metadata, common.jsonschema
    api.create_engine = functools.cache(engine)
    tables.create_all = functools.cache(tables.create_all)
    common.jsonschema = SimpleNamespace(validate=_validate, ValidationError=ValidationError)
    try:
        yield
    finally:
        api.create_engine, common.jsonschema = engine, schemas
        del tables.create_all


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
