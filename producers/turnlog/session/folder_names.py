"""File names of session ids: one to one, safe on every file system."""

from __future__ import annotations

from hashlib import sha256
from string import ascii_lowercase, digits

__all__ = ["SUFFIX", "file_name"]

SUFFIX = ".jsonl"

_MAX_NAME_BYTES = 255
_PLAIN = frozenset((ascii_lowercase + digits + "-_.").encode("ascii"))


def file_name(session_id: str) -> str:
    """Give the file name of a session id, at most 255 bytes, without a separator or a leading dot.

    Lower-case letters, digits, `-`, `_` and inner dots stand for themselves, every other byte of
    the UTF-8 form as `%xx`: so ids equal but for case differ on every file system. A longer name is
    `=` and the SHA-256 of the id, which no other id's name begins with; the id stands in the
    header.
    """
    data = session_id.encode("utf-8")
    name = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02x}" for byte in data)
    if name.startswith("."):
        name = "%2e" + name[1:]
    if len(name) + len(SUFFIX) > _MAX_NAME_BYTES:
        name = "=" + sha256(data).hexdigest()
    return name + SUFFIX
