from collections.abc import MutableMapping

from .types import Schema as Schema

class SchemaParseException(Exception): ...

def parse_schema(
    schema: Schema,
    named_schemas: MutableMapping[str, object] | None = ...,
    *,
    expand: bool = ...,
) -> Schema: ...
def to_parsing_canonical_form(schema: Schema) -> str: ...
def fingerprint(parsing_canonical_form: str, algorithm: str) -> str: ...
