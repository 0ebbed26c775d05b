"""The ledger: what counts in a partition, by its records in offset order and by nothing else.

The verdicts and their reasons: docs/format.md, "Verdicts". Every reader applies this fold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from turnlog.events.avro import decode_commit
from turnlog.events.chain import hash_fits
from turnlog.events.commit import NO_HASH, Commit, Kind
from turnlog.events.errors import BadSessionId, BrokenLog, NewerThanReader
from turnlog.events.head import Head
from turnlog.events.header import check_session_id

__all__ = ["Ledger", "Verdict", "VerdictKind", "session_of"]


class VerdictKind(StrEnum):
    """What a record is to the log."""

    BROKEN = "broken"
    NEWER = "newer"
    DUPLICATE = "duplicate"
    ACCEPTED = "accepted"
    STALE = "stale"
    UNPROVEN = "unproven"


class Verdict(NamedTuple):
    """The verdict on one record.

    `session_id` is what the key names, None where it names none; `commit` is None where the value
    does not decode. `reason` is for people, and empty where the record is accepted.
    """

    kind: VerdictKind
    session_id: str | None
    commit: Commit | None
    reason: str = ""

    @property
    def accepted(self) -> bool:
        """Whether the record counts."""
        return self.kind is VerdictKind.ACCEPTED


class Ledger:
    """The fold over one partition, or any set of whole sessions; one head a session is its state.

    A ledger made from another's `heads` and `stopped` goes on where that one stood. A `partial` one
    starts inside the log: a record of a session that it doesn't know is unproven, until `learn` has
    given it the session's head there.
    """

    def __init__(
        self,
        namespace: str,
        *,
        heads: Mapping[str, Head] | None = None,
        stopped: Iterable[str] = (),
        partial: bool = False,
    ) -> None:
        self._namespace = namespace
        self._heads = dict(heads or {})
        self._stopped = set(stopped)
        self._known: set[str] | None = set(self._heads) if partial else None
        self._view = MappingProxyType(self._heads)

    @property
    def heads(self) -> Mapping[str, Head]:
        """The head of each session that has one; a live view, read-only."""
        return self._view

    @property
    def stopped(self) -> frozenset[str]:
        """The sessions that this version can't follow any further, as of now."""
        return frozenset(self._stopped)

    def learn(self, session_id: str, head: Head | None) -> None:
        """Take the head of a session as of now; None says that the log has none of it yet."""
        if head is not None:
            self._heads[session_id] = head
        if self._known is not None:
            self._known.add(session_id)

    def fold(self, key: bytes | None, value: bytes | None) -> Verdict:
        """Take the next record in offset order and judge it; never raises for what it holds."""
        session_id = session_of(key)
        if session_id is None:
            return Verdict(VerdictKind.BROKEN, None, None, "the key names no session")
        if value is None:
            return Verdict(VerdictKind.BROKEN, session_id, None, "no value")
        try:
            commit = decode_commit(value)
        except BrokenLog as error:
            return Verdict(VerdictKind.BROKEN, session_id, None, error.reason)
        except NewerThanReader as error:
            self._stopped.add(session_id)
            return Verdict(VerdictKind.NEWER, session_id, None, str(error))
        fault = self._misfit(session_id, commit)
        if fault is not None:
            return Verdict(VerdictKind.BROKEN, session_id, commit, fault)
        return self.judge(commit)

    def judge(self, commit: Commit) -> Verdict:
        """Judge the next record, where its commit is of this log and bears its hash, as `fold`."""
        session_id = commit.session_id
        if session_id in self._stopped:
            reason = "a record before it is newer than this reader"
            return Verdict(VerdictKind.NEWER, session_id, commit, reason)
        return self._judge(session_id, commit)

    def _misfit(self, session_id: str, commit: Commit) -> str | None:
        """Say why a record can't be one of this log, if so."""
        if commit.session_id != session_id:
            return f"the key names another session than the record's {commit.session_id!r}"
        if commit.namespace != self._namespace:
            return f"a record of namespace {commit.namespace[:80]!r}"
        if not hash_fits(commit):
            return "the hash is not that of the content"
        return None

    def _judge(self, session_id: str, commit: Commit) -> Verdict:
        if self._known is not None and session_id not in self._known:
            reason = "its session's head is not known at the place where reading began"
            return Verdict(VerdictKind.UNPROVEN, session_id, commit, reason)
        head = self._heads.get(session_id)
        if head is not None and commit.hash == head.hash:
            return Verdict(VerdictKind.DUPLICATE, session_id, commit, "it is the head already")
        reason = _open_refusal(commit, head) if commit.kind is Kind.OPEN else _refusal(commit, head)
        if reason:
            return Verdict(VerdictKind.STALE, session_id, commit, reason)
        self._heads[session_id] = _moved(head, commit)
        return Verdict(VerdictKind.ACCEPTED, session_id, commit)


def session_of(key: bytes | None) -> str | None:
    """Read the session id that a key is, if it is one."""
    if key is None:
        return None
    try:
        return check_session_id(key.decode("utf-8"))
    except (UnicodeDecodeError, BadSessionId):
        return None


def _open_refusal(commit: Commit, head: Head | None) -> str:
    """Say why an `open` does not count; empty where it does."""
    if head is not None:
        return "the session exists"
    if commit.prev_hash != NO_HASH or commit.first_seq != 0:
        return "an open that does not begin a session"
    return ""


def _refusal(commit: Commit, head: Head | None) -> str:
    """Say why another record does not count; empty where it does."""
    if head is None:
        return "the session is unknown"
    if commit.prev_hash != head.hash:
        return "it hangs on another record than the head"
    # No honest writer can differ here once the hash fits: a second, redundant check.
    if commit.first_seq != head.next_seq:
        return f"expected seq {head.next_seq}, found {commit.first_seq}"
    return ""


def _moved(head: Head | None, commit: Commit) -> Head:
    """Give the head after an accepted record."""
    writer = commit.writer if head is None or commit.kind is Kind.CLAIM else head.writer
    return Head(commit.hash, commit.next_seq, writer, commit.kind is Kind.RELEASE)
