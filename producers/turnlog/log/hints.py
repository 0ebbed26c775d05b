"""When the hint of an open session is written, and what it says."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from turnlog.events.errors import MissingField
from turnlog.events.hint import MAX_HINT_HEADER_BYTES, MAX_TITLE, Hint
from turnlog.events.rows import Row
from turnlog.kernel.title import TitleFold, may_name

from .session_log import SessionLog

__all__ = ["HINT_COMMITS", "HINT_S", "HintKeeper", "Place"]

HINT_COMMITS = 256
"""Commits of a session after which its hint is written again."""

HINT_S = 60.0
"""Time after which the hint of a session that goes on is written again."""


class Place:
    """Where a session lives: cluster, layout, partition."""

    def __init__(self, cluster_id: str, layout: int, partition: int) -> None:
        self.cluster_id = cluster_id
        self.layout = layout
        self.partition = partition

    def unborn(self, offset: int) -> Hint:
        """The hint of a session that has no record below an offset, and maybe none at all."""
        return Hint(
            cluster_id=self.cluster_id, layout=self.layout, partition=self.partition, offset=offset
        )


class HintKeeper:
    """Follows one open session and makes its hints. `complete`: whether readers show it."""

    def __init__(self, place: Place, publish: Callable[[bytes, Hint], None]) -> None:
        self._place = place
        self._publish = publish
        self._title = TitleFold()
        self._commits = 0
        self._written_s = time.monotonic()
        self.complete = False

    @property
    def is_behind(self) -> bool:
        """Whether commits were accepted since the last hint."""
        return self._commits > 0

    def see(self, rows: Iterable[Row]) -> None:
        """Take the session's next rows, for its title."""
        for row in rows:
            if may_name(row):
                for event in row.events():
                    self._title.fold(event)

    def count(self) -> bool:
        """Count an accepted commit; tells whether a hint is due for their number."""
        self._commits += 1
        return self._commits >= HINT_COMMITS

    def is_due(self, now_s: float) -> bool:
        """Whether a hint is due for the time."""
        return self._commits > 0 and now_s >= self._written_s + HINT_S

    def write(self, log: SessionLog) -> None:
        """Write the hint as the session stands."""
        if log.open_offset is None or log.last_offset is None:
            return
        self._commits = 0
        self._written_s = time.monotonic()
        head, header, place = log.head, log.header.text, self._place
        hint = Hint(
            cluster_id=place.cluster_id,
            layout=place.layout,
            partition=place.partition,
            open_offset=log.open_offset,
            offset=log.last_offset,
            hash=head.hash,
            next_seq=head.next_seq,
            writer=head.writer,
            released=head.released,
            complete=self.complete,
            title=self._short_title(),
            header=header if len(header) <= MAX_HINT_HEADER_BYTES else None,
        )
        self._publish(log.key, hint)

    def _short_title(self) -> str | None:
        try:
            title = self._title.title
        except MissingField:
            return None
        # What UTF-8 can't hold, Avro can't.
        return None if title is None else title[:MAX_TITLE].encode("utf-8", "replace").decode()
