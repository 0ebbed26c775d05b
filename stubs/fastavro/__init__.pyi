# What turnlog uses of fastavro. The types that it ships are partly unknown to a strict checker.
# A parsed schema and a decoded value are `object` here: whoever reads one narrows it.

from typing import BinaryIO

from . import schema as schema
from .schema import Schema as _Schema
from .schema import parse_schema as parse_schema

__version__: str

def schemaless_writer(
    fo: BinaryIO,
    schema: _Schema,
    record: object,
    strict: bool = ...,
    strict_allow_default: bool = ...,
    disable_tuple_notation: bool = ...,
) -> None: ...
def schemaless_reader(
    fo: BinaryIO,
    writer_schema: _Schema,
    reader_schema: _Schema | None = ...,
    return_record_name: bool = ...,
    return_record_name_override: bool = ...,
    handle_unicode_errors: str = ...,
    return_named_type: bool = ...,
    return_named_type_override: bool = ...,
) -> object: ...
