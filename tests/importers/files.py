"""Session files to read: whole ones, and ways to break them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import zstandard

__all__ = ["compressed", "event", "frame", "header", "lines", "session_text", "write"]


def header(id: str = "s", **more: Any) -> dict[str, Any]:
    return {"type": "session", "version": 0, "id": id, "createdAt": 1, "delegationDepth": 0, **more}


def event(seq: int, text: str = "t") -> dict[str, Any]:
    data = {"title": text, "sourceSeqs": [], "source": {"kind": "user"}}
    return {"type": "session/title", "seq": seq, "time": seq, "data": data}


def lines(values: Iterable[Any]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def session_text(events: int = 5, id: str = "s") -> bytes:
    return lines([header(id), *(event(seq) for seq in range(events))])


def frame(data: bytes, *, checksum: bool = True) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=checksum).compress(data)


def compressed(text: bytes, *, checksum: bool = True) -> bytes:
    """The header alone in the first frame, a frame for each further line."""
    return b"".join(frame(line, checksum=checksum) for line in text.splitlines(keepends=True))


def write(folder: Path, data: bytes, name: str = "s.jsonl") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path
