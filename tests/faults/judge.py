"""What the diary of the writers promises, held against the log as it is read from outside."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.faults.diary import Line
from tests.support.outside import read_outside

__all__ = ["Found", "outside", "wrong"]


@dataclass(frozen=True)
class Found:
    """What `outside.py` prints."""

    sessions: dict[str, list[tuple[int, str]]]
    sizes: dict[str, int]
    forks: dict[str, tuple[str, int]]
    commits: dict[str, list[tuple[int, int]]]
    owners: dict[str, list[tuple[int, str]]]
    strangers: list[str]
    reasons: dict[str, int]
    verdicts: dict[str, int]


def outside(bootstrap: str, namespace: str) -> Found:
    """Read the events topic by code that shares nothing with the product."""
    program = Path(__file__).with_name("outside.py")
    found = read_outside(program, bootstrap, namespace, 120)
    pairs = {id: [(seq, text) for seq, text in log] for id, log in found["sessions"].items()}
    spans = {id: [(begin, end) for begin, end in log] for id, log in found["commits"].items()}
    forks = {id: (parent, seq) for id, (parent, seq) in found["forks"].items()}
    return Found(**found | {"sessions": pairs, "commits": spans, "forks": forks})


def wrong(lines: Sequence[Line], found: Found, *, settled: bool = True) -> list[str]:
    """List what is lost, doubled, out of place or not whole.

    `settled`: every request with an expected_seq was repeated until it was answered.
    """
    faults = [f"a record by a writer that did not own {each}" for each in found.strangers]
    faults += [
        f"{count} records are {verdict}"
        for verdict, count in found.verdicts.items()
        if verdict in ("broken", "newer")
    ]
    faults += _unlike_their_parents(found)
    places = _places(found)
    faults += [f"{token}: stands at {each}" for token, each in places.items() if len(each) > 1]
    acknowledged = dict[str, tuple[str, int]]()
    for line in lines:
        id, kind = line["s"], line["k"]
        if kind in ("created", "forked") and id not in found.sessions:
            faults.append(f"{id}: acknowledged as {kind}, not there")
        elif kind == "ack":
            for seq, token in line["t"]:
                if places.get(token) != [(id, seq)]:
                    where = places.get(token)
                    faults.append(f"{token}: acknowledged at {id} {seq}, stands at {where}")
                if acknowledged.setdefault(token, (id, seq)) != (id, seq):
                    faults.append(f"{token}: acknowledged at {acknowledged[token]} and {id} {seq}")
        elif kind == "unknown" and not line["a"][0] <= line["f"] <= line["a"][1]:
            faults.append(f"{id}: unknown from {line['f']} on, acknowledged up to {line['a']}")
        elif kind == "ask":
            faults += _not_as_asked(line, found, places, settled=settled)
        elif kind == "lost":
            faults += _not_either(line, places)
    return faults


def _places(found: Found) -> dict[str, list[tuple[str, int]]]:
    """Where each token stands, not counting what a child inherits."""
    places: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for id, log in found.sessions.items():
        _, boundary = found.forks.get(id, ("", -1))
        for seq, token in log:
            if seq > boundary:
                places[token].append((id, seq))
    return dict(places)


def _unlike_their_parents(found: Found) -> list[str]:
    faults = []
    for id, (parent, boundary) in found.forks.items():
        inherited = [pair for pair in found.sessions[parent] if pair[0] <= boundary]
        if [pair for pair in found.sessions[id] if pair[0] <= boundary] != inherited:
            faults.append(f"{id}: does not begin as {parent} up to {boundary}")
    return faults


def _not_as_asked(
    line: Line, found: Found, places: dict[str, list[tuple[str, int]]], *, settled: bool
) -> list[str]:
    """A request is there whole and in one commit, or not at all; a repeated one is there."""
    tokens, id = line["t"], line["s"]
    stands = [token for token in tokens if token in places]
    if line["e"] is None:  # may have been appended one by one
        return []
    if len(stands) != len(tokens) and (settled or stands):
        return [f"{tokens[0]}: asked for at {id} {line['e']}, {len(stands)} of {len(tokens)} stand"]
    if not stands or any(len(places[token]) > 1 for token in tokens):
        return []
    seqs = [places[token][0][1] for token in tokens]
    if seqs != list(range(seqs[0], seqs[0] + len(seqs))):
        return [f"{tokens[0]}: asked for as one, stands at {seqs}"]
    if not any(begin <= seqs[0] and seqs[-1] < end for begin, end in found.commits[id]):
        return [f"{tokens[0]}: asked for as one, in several commits"]
    return []


def _not_either(line: Line, places: dict[str, list[tuple[str, int]]]) -> list[str]:
    """What a superseded session had accepted is in the log, or in its `not_landed`."""
    lost = Counter[str](line["n"])
    faults = []
    for token in line["t"]:
        if (token in places) + lost[token] != 1:
            said = "not landed" if lost[token] else "landed"
            faults.append(f"{token}: said to be {said}, stands at {places.get(token)}")
    if unknown := set(line["n"]) - set(line["t"]):
        faults.append(f"{line['s']}: not landed, and never appended: {sorted(unknown)}")
    return faults
