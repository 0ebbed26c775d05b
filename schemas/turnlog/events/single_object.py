"""Avro single objects of the derived topics: flat records, strict in both directions."""

from __future__ import annotations

import json
from importlib.resources import files
from io import BytesIO
from typing import Any, cast

import fastavro
from fastavro.schema import fingerprint, to_parsing_canonical_form

from .errors import BrokenLog, NewerThanReader

__all__ = ["BODY_AT", "MARKER", "SingleObject"]

MARKER = b"\xc3\x01"
"""What an Avro single object begins with."""

BODY_AT = 10
"""Where its fields begin: behind the marker and the schema's fingerprint."""


class SingleObject:
    """The codec of one schema file of this package; the schema may not be recursive."""

    def __init__(self, file: str) -> None:
        self.text = files("turnlog.events").joinpath("avsc", file).read_text("utf-8")
        self._schema = fastavro.parse_schema(json.loads(self.text))
        digest = fingerprint(to_parsing_canonical_form(self._schema), "CRC-64-AVRO")
        self.fingerprint = bytes.fromhex(digest)

    def encode(self, fields: dict[str, Any]) -> bytes:
        """Write one record: marker, fingerprint, fields."""
        out = BytesIO()
        out.write(MARKER + self.fingerprint)
        fastavro.schemaless_writer(out, self._schema, fields, strict=True)
        return out.getvalue()

    def decode(self, data: bytes) -> dict[str, Any]:
        """Read one record; exactly what `encode` writes is taken.

        Raises NewerThanReader for an unknown schema, BrokenLog for all else.
        """
        if data[:2] != MARKER or len(data) < BODY_AT:
            raise BrokenLog("no Avro single object")
        if data[2:BODY_AT] != self.fingerprint:
            raise NewerThanReader(f"Avro schema {data[2:BODY_AT].hex()}")
        try:
            read = fastavro.schemaless_reader(BytesIO(data[BODY_AT:]), self._schema, None)
            fields = cast(dict[str, Any], read)
            again = self.encode(fields)
        except Exception as error:  # noqa: BLE001 - the library raises whatever it trips over
            raise BrokenLog(f"no record of its Avro schema: {error}") from None
        if again != data:
            raise BrokenLog("not the one encoding of its Avro record")
        return fields
