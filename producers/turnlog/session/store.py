"""The store that owns live sessions, as an embedder uses it: with reading and coroutine twins."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from turnlog.events.errors import OutcomeUnknown
from turnlog.events.head import Head
from turnlog.events.header import check_session_id
from turnlog.events.rows import Row
from turnlog.kernel.log import Log

from .imports import ImportResult, import_log
from .ports import SessionInfo
from .session import Session
from .store_core import Prepared, StoreCore, undo

__all__ = ["Prepared", "SessionStore"]

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.01, 0.5
"""Seconds between two looks of a read that waits: each reads the whole log, so they grow."""


class SessionStore(StoreCore):
    """Owns the live sessions of one process over a LogStore; a context manager that closes it.

    One window, by default 200 ms, writes pending events of all its sessions in the background; an
    event inside it may be lost by a hard crash, and by nothing else. Thread-safe. Every blocking
    call has a coroutine twin with the prefix `a`. In a forked child it is closed: what it holds is
    the parent's.
    """

    def import_log(self, header: Any, rows: Iterable[Row]) -> ImportResult:
        """Store a log bit for bit and release it; of a stored session only add what is missing.

        Checks what restore checks; unknown required types and empty replaces are kept. Nothing is
        appended of its own. Rows that are no sequence and can be iterated again, as those of a
        file, are read twice and never kept: a log of any length takes bounded memory.

        Raises RestoreRefused, ImportConflict naming the first seq that differs (nothing is then
        changed), OwnedElsewhere, Closed.
        """
        with self._live.working():
            return import_log(self._logs, header, rows, lambda id: self._live.get(id) is not None)

    def read(self, id: str, *, wait: Head | None = None, timeout_s: float = 30.0) -> Log:
        """Read what is durable of a session; never claims. With `wait`, at least up to that head.

        Raises UnknownSession, DataError, OutcomeUnknown when the time is up.
        """
        check_session_id(id)
        deadline = time.monotonic() + timeout_s
        pause_s = _FIRST_PAUSE_S
        while True:
            stored = self._logs.read(id)
            if wait is None or stored.head.next_seq >= wait.next_seq:
                return Log(stored.header, tuple(stored.rows))
            remaining_s = deadline - time.monotonic()
            if remaining_s <= 0:
                raise OutcomeUnknown(stored.head.next_seq)
            time.sleep(min(pause_s, remaining_s))
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def sessions(self) -> Iterator[SessionInfo]:
        """The stored sessions, in no set order; an unborn child is not shown."""
        return self._logs.sessions()

    # --- coroutine twins -------------------------------------------------------------------------

    async def acreate(
        self,
        id: str | None = None,
        *,
        header: Any = None,
        seed: Iterable[Any] | None = None,
        strict: bool = False,
    ) -> Session:
        """As `create`, without blocking the event loop; cancelled, it detaches what it made."""
        return await _made(lambda: self.create(id, header=header, seed=seed, strict=strict))

    async def aenter(self, prepared: Prepared) -> Callable[[], None]:
        """As `enter`, without blocking the event loop; gives the session's `detach`, which does."""
        return await asyncio.to_thread(self.enter, prepared)

    async def aopen(
        self,
        id: str,
        *,
        take_over: bool = False,
        repair: bool = True,
        preset: str | None = None,
        strict: bool = False,
    ) -> Session:
        """As `open`, without blocking the event loop; cancelled, it detaches what it opened."""
        return await _made(
            lambda: self.open(id, take_over=take_over, repair=repair, preset=preset, strict=strict)
        )

    async def afork(
        self,
        source: str | Session,
        *,
        boundary: int | str | None = None,
        child_id: str | None = None,
        origin: str | None = None,
        agent_preset: str | None = None,
        delegation_depth: int | None = None,
        strict: bool = False,
    ) -> Session:
        """As `fork`, without blocking the event loop; cancelled, it detaches the child."""
        return await _made(
            lambda: self.fork(
                source,
                boundary=boundary,
                child_id=child_id,
                origin=origin,
                agent_preset=agent_preset,
                delegation_depth=delegation_depth,
                strict=strict,
            )
        )

    async def aimport_log(self, header: Any, rows: Iterable[Row]) -> ImportResult:
        """As `import_log`, without blocking the event loop."""
        return await asyncio.to_thread(self.import_log, header, rows)

    async def aread(self, id: str, *, wait: Head | None = None, timeout_s: float = 30.0) -> Log:
        """As `read`, without blocking the event loop."""
        return await asyncio.to_thread(self.read, id, wait=wait, timeout_s=timeout_s)

    async def asessions(self) -> list[SessionInfo]:
        """As `sessions`, without blocking the event loop."""
        return await asyncio.to_thread(lambda: list(self.sessions()))

    async def aflush(self, session: Session, *, timeout_s: float = 30.0) -> Head:
        """As `flush`, without blocking the event loop."""
        return await asyncio.to_thread(self.flush, session, timeout_s=timeout_s)

    async def aclose(self) -> None:
        """As `close`, without blocking the event loop."""
        await asyncio.to_thread(self.close)

    def __enter__(self) -> SessionStore:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    async def __aenter__(self) -> SessionStore:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()


async def _made(make: Callable[[], Session]) -> Session:
    """Make a session in a thread; where nobody waits for it any more, detach it there."""
    lock = threading.Lock()
    made: list[Session] = []
    is_given_up = False

    def run() -> Session:
        session = make()
        with lock:
            made.append(session)
        if is_given_up:
            undo(session)
        return session

    try:
        return await asyncio.to_thread(run)
    except asyncio.CancelledError:
        with lock:
            is_given_up = True
            late = tuple(made)
        for session in late:
            threading.Thread(target=undo, args=(session,), name="turnlog-give-up").start()
        raise
