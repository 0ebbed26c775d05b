"""Read files of recorded answers into cases, by Python's json alone."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["BadFile", "Case", "read_cases", "read_chunk_rows", "read_recorded", "read_value"]

_NEGATIVE_ZERO = re.compile(rb"-0(?![.0-9eE])")


class BadFile(Exception):
    """A file of answers that is not of the form that the README of the answers gives."""


@dataclass(frozen=True, eq=False, slots=True)
class Case:
    """One line of a file of answers: what was asked, and the answer to each op.

    `file` and `line` (from 1) say where it stands; `name` and `kind` are its own.
    """

    file: str
    line: int
    name: str
    kind: str
    inputs: dict[str, Any]
    expect: dict[str, Any]


def read_value(text: bytes) -> Any:
    """Read a JSON value; an integer -0 stays negative zero, as it does in JavaScript."""
    if _NEGATIVE_ZERO.search(text):
        return json.loads(text, parse_int=_integer)
    return json.loads(text)


def read_cases(path: Path, label: str | None = None) -> list[Case]:
    """Read a file of logs or targeted cases: `{case, kind, …inputs, expect: {op: answer}}` a line.

    The cases name their file by `label`, or by its name.
    """
    file = label or path.name
    return [_case(file, number, value) for number, value in _lines(path)]


def read_chunk_rows(path: Path, label: str | None = None) -> list[Case]:
    """Read a file of packed rows: the answer to `unpack` stands directly in `expect`."""
    file = label or path.name
    cases = []
    for number, value in _lines(path):
        expect = value.get("expect")
        if type(expect) is not dict or type(expect.get("ok")) is not bool:
            raise BadFile(f"{file}, line {number}: expected the answer of unpack as expect")
        cases.append(_case(file, number, {**value, "expect": {"unpack": expect}}))
    return cases


def read_recorded(folder: Path, label: str | None = None) -> list[Case]:
    """Read a folder of recorded sessions with its `expect.jsonl`: `{file, expect}` a line.

    The inputs are the header and the stored `records`, packed rows and events as they stand.
    """
    file = label or folder.name
    cases = []
    for number, value in _lines(folder / "expect.jsonl"):
        name = value.get("file")
        if type(name) is not str:
            raise BadFile(f"{file}/expect.jsonl, line {number}: expected a file")
        records = [record for _, record in _lines(folder / name)]
        if not records:
            raise BadFile(f"{file}/{name}: expected a header line")
        header = dict(records[0])
        if header.pop("type", None) != "session":
            raise BadFile(f"{file}/{name}: expected a line of type session first")
        inputs = {"header": header, "records": records[1:], "path": folder / name}
        case = {"case": name, "kind": "recorded", **inputs, "expect": value.get("expect")}
        cases.append(_case(file, number, case))
    return cases


def _case(file: str, number: int, value: dict[str, Any]) -> Case:
    inputs = dict(value)
    name, kind, expect = (inputs.pop(key, None) for key in ("case", "kind", "expect"))
    if type(name) is not str or type(kind) is not str or type(expect) is not dict:
        raise BadFile(f"{file}, line {number}: expected case, kind and expect")
    if not expect:
        raise BadFile(f"{file}, line {number}: case {name} has no answer")
    return Case(file, number, name, kind, inputs, expect)


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Give the objects of a JSONL file, plain or gzip, with their line numbers from 1."""
    count = 0
    for number, line in enumerate(_raw_lines(path), start=1):
        if not line.strip():
            continue
        try:
            value = read_value(line)
        except ValueError as error:
            raise BadFile(f"{path.name}, line {number}: {error}") from None
        if type(value) is not dict:
            raise BadFile(f"{path.name}, line {number}: expected an object")
        count += 1
        yield number, value
    if not count:
        raise BadFile(f"{path.name}: expected a line or more")


def _raw_lines(path: Path) -> Iterable[bytes]:
    try:
        content = path.read_bytes()
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
    except (OSError, EOFError) as error:
        raise BadFile(f"{path}: {error}") from None
    return content.split(b"\n")


def _integer(text: str) -> int | float:
    return -0.0 if text == "-0" else int(text)
