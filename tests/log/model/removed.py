"""The protocol with one rule taken away each: what stands in its place, and why it looks right."""

from __future__ import annotations

import msgspec

from turnlog.events.commit import Commit, Kind
from turnlog.events.head import Head
from turnlog.kernel.ledger import Ledger, Verdict
from turnlog.log.ownership import Ownership, Phase

from .scope import Rules

__all__ = [
    "ANSWERED_BY_REPORT",
    "NO_FIRST_SEQ",
    "NO_NONCE",
    "NO_PREV_HASH",
    "NO_SEAL",
    "NO_SEAL_SAME_BYTES",
    "SEAL_BY_REPORT",
]


class _NoSeal(Ownership):
    """Sends what is in doubt again at once, in one commit, as it would be cut now."""

    def doubt(self) -> None:
        if self.phase is not Phase.OWNING or not self._in_flight:
            super().doubt()
            return
        rows = [row for sent in self._in_flight for row in sent.rows]
        rows += [row for waiting in self._waiting for row in waiting]
        self._in_flight.clear()
        self._waiting.clear()
        self._waiting.append(rows)


class _NoSealSameBytes(Ownership):
    """Sends what is in doubt again at once, as the very commits that it was."""

    def doubt(self) -> None:
        if self.phase is not Phase.OWNING or not self._in_flight:
            super().doubt()
            return
        self._waiting.extendleft(sent.rows for sent in reversed(self._in_flight))
        self._in_flight.clear()


class _AnsweredByReport(Ownership):
    """Takes an event to be safe when its commit is reported delivered."""

    def delivered(self, commit: Commit) -> None:
        if self._in_flight and self._in_flight[0].commit.hash == commit.hash and self.head:
            self.acknowledged = Head(commit.hash, commit.next_seq, self.head.writer, False)


class _SealByReport(Ownership):
    """Takes a seal to stand when it is reported delivered."""

    def delivered(self, commit: Commit) -> None:
        if self.phase is Phase.SEALING and commit.hash in self._marks:
            super().accepted(commit, Head(commit.hash, commit.next_seq, commit.writer, False))

    def accepted(self, commit: Commit, head: Head) -> None:
        if head != self.head:
            super().accepted(commit, head)


class _NoPrevHash(Ledger):
    """Lets each record count that has the next seq, whatever it hangs on."""

    def judge(self, commit: Commit) -> Verdict:
        head = self.heads.get(commit.session_id)
        if head is None or commit.kind is Kind.OPEN:
            return super().judge(commit)
        return super().judge(msgspec.structs.replace(commit, prev_hash=head.hash))


class _NoFirstSeq(Ledger):
    """Lets each record count that hangs on the head, whatever seq it has."""

    def judge(self, commit: Commit) -> Verdict:
        head = self.heads.get(commit.session_id)
        if head is None or commit.kind is Kind.OPEN or commit.first_seq == head.next_seq:
            return super().judge(commit)
        verdict = super().judge(msgspec.structs.replace(commit, first_seq=head.next_seq))
        if verdict.accepted:
            moved = self.heads[commit.session_id]
            self.learn(commit.session_id, moved._replace(next_seq=commit.next_seq))
        return verdict


NO_SEAL = Rules(ownership=_NoSeal)
NO_SEAL_SAME_BYTES = Rules(ownership=_NoSealSameBytes)
ANSWERED_BY_REPORT = Rules(ownership=_AnsweredByReport, reports=True)
SEAL_BY_REPORT = Rules(ownership=_SealByReport, reports=True)
NO_PREV_HASH = Rules(ledger=_NoPrevHash)
NO_FIRST_SEQ = Rules(ledger=_NoFirstSeq)
NO_NONCE = Rules(fresh_nonces=False)
