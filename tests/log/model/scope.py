"""How far the model goes, and the names of what it tells apart."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

from turnlog.events.commit import Commit
from turnlog.kernel.ledger import Ledger
from turnlog.log.ownership import Ownership

__all__ = [
    "NAMESPACE",
    "Append",
    "Bounds",
    "HearsReports",
    "Owner",
    "Record",
    "Rules",
    "Violation",
]

NAMESPACE = "turnlog"


class Bounds(NamedTuple):
    """What may happen at most in one run, in all processes together.

    `writers` has the writer id of each process. A `crash` ends a process, and one with the same
    writer id comes in its place; `doubts` are deliveries reported failed, answers that stay out,
    and fatal errors. A `literal` run keeps in the log also what is not accepted, and has no view of
    what can't count any more; it shows that the shorter state of other runs leaves nothing out.
    """

    writers: tuple[str, ...] = ("w1", "w2")
    sessions: int = 1
    starts: int = 2
    appends: int = 2
    doubts: int = 1
    releases: int = 0
    crashes: int = 0
    literal: bool = False

    def __str__(self) -> str:
        """Say it in one line."""
        most = ", ".join(
            f"{getattr(self, name)} {name}"
            for name in ("starts", "appends", "doubts", "releases", "crashes")
        )
        mode = ", literal" if self.literal else ""
        return f"writers {'+'.join(self.writers)}, sessions {self.sessions}, {most}{mode}"


@runtime_checkable
class HearsReports(Protocol):
    """An ownership that makes something of delivery reports; the shipped one does not."""

    def delivered(self, commit: Commit) -> None:
        """Hear that a commit of its own is in the log, whether it counts or not."""
        ...


class Rules(NamedTuple):
    """The protocol's parts; the shipped ones, or some with a rule taken away.

    With `reports` the ownership is one that `HearsReports`.
    """

    ledger: type[Ledger] = Ledger
    ownership: type[Ownership] = Ownership
    fresh_nonces: bool = True
    reports: bool = False


class Owner(NamedTuple):
    """One `open` or `claim` of one process, by what it was the how-manieth of."""

    process: int
    session: int
    ordinal: int


class Append(NamedTuple):
    """One event that one owner was asked to append, and the seq that it was promised."""

    owner: Owner
    seq: int


class Record(NamedTuple):
    """A commit that was produced, by the number of its hash, and who produced it."""

    code: int
    owner: Owner


class Violation(Exception):
    """A property does not hold."""
