"""The texts of all published Avro schemas, as `meta` and the tests hold them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from .avro import SCHEMAS
from .hint import HINT

__all__ = ["PUBLISHED_SCHEMAS"]

PUBLISHED_SCHEMAS: Mapping[bytes, str] = MappingProxyType({**SCHEMAS, HINT.fingerprint: HINT.text})
"""Each schema's text by its fingerprint: CRC-64-AVRO, 8 bytes as in a record."""
