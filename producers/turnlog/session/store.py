"""The store that owns live sessions: create, open, fork, import, read, flush."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from turnlog.events.errors import (
    Closed,
    NotDurable,
    OutcomeUnknown,
    OwnedElsewhere,
    PresetMismatch,
    SessionExists,
    TurnlogError,
    UnknownSession,
)
from turnlog.events.event import Draft
from turnlog.events.head import Head
from turnlog.events.header import Header, check_session_id
from turnlog.events.rows import Row
from turnlog.events.vocabulary import Registry
from turnlog.kernel.fork import child_header, plan_fork
from turnlog.kernel.log import Log
from turnlog.kernel.repair import repair as plan_repair
from turnlog.kernel.restore import Restored, restore

from .binding import Binding, Budget
from .core import clock_ms
from .imports import ImportResult, import_log
from .ports import ForkOrigin, LogStore, LogWriter, SessionInfo
from .session import Session
from .window import WriteBehind

__all__ = ["Prepared", "SessionStore"]

_WINDOW_S = 0.2
_MAX_PENDING_BYTES = 256 * 1024 * 1024
_BACKGROUND_TIMEOUT_S = 30.0


class Prepared(NamedTuple):
    """A validated new session that is registered nowhere yet."""

    session: Session


class SessionStore:
    """Owns the live sessions of one process over a LogStore; a context manager that closes it.

    One window, by default 200 ms, writes pending events of all its sessions in the background; an
    event inside it may be lost by a hard crash, and by nothing else. Thread-safe. Every blocking
    call has a coroutine twin with the prefix `a`.
    """

    def __init__(
        self,
        logs: LogStore,
        *,
        registry: Registry | None = None,
        window_s: float = _WINDOW_S,
        max_pending_bytes: int = _MAX_PENDING_BYTES,
        clock: Callable[[], int] = clock_ms,
    ) -> None:
        self._logs = logs
        self._registry = registry or Registry()
        self._clock = clock
        self._window = WriteBehind(window_s, _BACKGROUND_TIMEOUT_S)
        self._budget = Budget(max_pending_bytes)
        self._live: dict[str, tuple[Session, Binding]] = {}
        self._lock = threading.RLock()
        self._vetoes: list[Callable[[Session], object]] = []
        self._closed = False

    # --- new sessions ----------------------------------------------------------------------------

    def create(
        self,
        id: str | None = None,
        *,
        header: Any = None,
        seed: Iterable[Any] | None = None,
        strict: bool = False,
    ) -> Session:
        """Make a new session, hold it for writing, and tell the created-observers.

        Without an id one is minted. `header` is a Header or its JSON, `seed` the events (JSON) that
        the session inherits. `prepare`, `enter` and `announce` in one: nothing stays registered
        where one of them raises.

        Raises BadSessionId, RestoreRefused, SessionExists, and what an observer vetoes with.
        """
        prepared = self.prepare(id, header=header, seed=seed, strict=strict)
        detach = self.enter(prepared)
        try:
            return self.announce(prepared)
        except BaseException:
            detach()
            raise

    def prepare(
        self,
        id: str | None = None,
        *,
        header: Any = None,
        seed: Iterable[Any] | None = None,
        strict: bool = False,
    ) -> Prepared:
        """Build a new session, registered nowhere. Raises BadSessionId, RestoreRefused."""
        self._check_open()
        if id is None:
            id = header.id if isinstance(header, Header) else uuid.uuid4().hex
        session = Session.create(
            id, seed, header, registry=self._registry, strict=strict, clock=self._clock
        )
        return Prepared(session)

    def enter(self, prepared: Prepared) -> Callable[[], None]:
        """Hold the new session's log and register the session; gives the session's detach.

        Raises SessionExists where the id was taken since `prepare`.
        """
        session = prepared.session
        with self._lock:
            self._check_open()
            self._check_not_live(session.id)
            writer = self._logs.create(session.header, None)
            self._register(session, writer)
        if session.next_seq:
            session.flush()
        return session.detach

    def announce(self, prepared: Prepared) -> Session:
        """Tell the created-observers in order; one that raises vetoes, and the caller detaches."""
        for veto in tuple(self._vetoes):
            veto(prepared.session)
        return prepared.session

    def observe_created(self, callback: Callable[[Session], object]) -> Callable[[], None]:
        """Hear of each created session; raising vetoes it. The result takes the observer off."""
        self._vetoes.append(callback)
        return lambda: self._vetoes.remove(callback) if callback in self._vetoes else None

    # --- stored sessions -------------------------------------------------------------------------

    def open(
        self,
        id: str,
        *,
        take_over: bool = False,
        repair: bool = True,
        preset: str | None = None,
        strict: bool = False,
    ) -> Session:
        """Resume a stored session: hold it, restore, repair its open turn, end its seed, flush.

        `preset` names the agent preset to resume under, which must be the recorded one; None takes
        the recorded one. Nothing is appended to a log that restore refuses.

        Raises BadSessionId, NotDurable, UnknownSession, OwnedElsewhere, Conflict, RestoreRefused,
        UnknownRequiredType, PresetMismatch.
        """
        self._check_open()
        check_session_id(id)
        if not self._logs.durable:
            raise NotDurable(id)
        with self._lock:
            live = self._live.get(id)
            if live is not None:
                raise OwnedElsewhere(self._logs.writer, None, None)
            stored, writer = self._logs.claim(id, take_over=take_over)
            try:
                restored = restore(stored.header, stored.rows, self._registry, id=id)
                recorded = restored.header.agent_preset
                if preset is not None and preset != recorded:
                    raise PresetMismatch(recorded, preset)
                closers = plan_repair(restored.log) if repair else []
            except TurnlogError:
                writer.release()
                raise
            session = self._session(restored, strict=strict)
            self._register(session, writer)
        return self._recover(session, closers)

    def fork(
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
        """Make a child that inherits the events up to and including `boundary` (default: the last).

        The parent is untouched; it may be live here, live elsewhere or closed. A repeated fork of
        the same parent and boundary under the same `child_id` goes on where a crash stopped it.
        `boundary="last-closed-turn"` trims to the last closed turn. The child's header names the
        last inherited seq as `seedLength` - 1.

        Raises UnknownSession, InvalidBoundary, OpenTurn, SessionExists, BadSessionId, DataError.
        """
        self._check_open()
        source_id = source.id if isinstance(source, Session) else check_session_id(source)
        with self._lock:
            live = self._live.get(source_id)
        if live is not None:
            live[0].flush()
        stored = self._logs.read(source_id)
        plan = plan_fork(Log(stored.header, tuple(stored.rows)), boundary)
        header = child_header(
            plan,
            check_session_id(child_id or uuid.uuid4().hex),
            self._clock(),
            origin=origin,
            agent_preset=agent_preset,
            delegation_depth=delegation_depth,
        )
        born_of = ForkOrigin(source_id, plan.boundary, stored.hash_at(plan.boundary))
        with self._lock:
            self._check_not_live(header.id)
            writer = self._logs.create(header, born_of)
            restored = restore(header, plan.rows)
            session = self._session(restored, strict=strict)
            binding = self._register(session, writer)
        try:
            session.end_seed()
            session.flush()
            binding.born()
        except BaseException:
            writer.abandon()
            self._unregister(header.id)
            raise
        return session

    def import_log(self, header: Any, rows: Iterable[Row]) -> ImportResult:
        """Store a log bit for bit and release it; of a stored session only add what is missing.

        Checks what restore checks; unknown required types and empty replaces are kept. Nothing is
        appended of its own.

        Raises RestoreRefused, ImportConflict naming the first seq that differs (nothing is then
        changed), OwnedElsewhere.
        """
        self._check_open()
        return import_log(self._logs, restore(header, rows))

    # --- reading ---------------------------------------------------------------------------------

    def read(self, id: str, *, wait: Head | None = None, timeout_s: float = 30.0) -> Log:
        """Read what is durable of a session; never claims. With `wait`, at least up to that head.

        Raises UnknownSession, DataError, OutcomeUnknown when the time is up.
        """
        check_session_id(id)
        deadline = time.monotonic() + timeout_s
        while True:
            stored = self._logs.read(id)
            if wait is None or stored.head.next_seq >= wait.next_seq:
                return Log(stored.header, tuple(stored.rows))
            if time.monotonic() > deadline:
                raise OutcomeUnknown(stored.head.next_seq)
            time.sleep(0.01)

    def sessions(self) -> Iterator[SessionInfo]:
        """The stored sessions, in no set order; an unborn child is not shown."""
        return self._logs.sessions()

    def live(self) -> list[Session]:
        """The sessions that are open here."""
        with self._lock:
            return [session for session, _ in self._live.values()]

    # --- durability and end ----------------------------------------------------------------------

    def flush(self, session: Session, *, timeout_s: float = 30.0) -> Head:
        """The barrier: return when all that was appended to the session before is durable.

        Raises UnknownSession for a session of another store; else as Session.flush.
        """
        with self._lock:
            live = self._live.get(session.id)
        if session.closed:
            return session.flush(timeout_s=timeout_s)
        if live is None or live[0] is not session:
            raise UnknownSession(session.id)
        return session.flush(timeout_s=timeout_s)

    def close(self) -> None:
        """Detach every live session and stop; once. Raises the first failure, at the end."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            sessions = self.live()
        failures = []
        for session in sessions:
            try:
                session.detach()
            except TurnlogError as error:
                failures.append(error)
        self._window.close()
        self._logs.close()
        if failures:
            raise failures[0]

    async def acreate(self, id: str | None = None, **options: Any) -> Session:
        """As `create`, without blocking the event loop."""
        return await asyncio.to_thread(self.create, id, **options)

    async def aopen(self, id: str, **options: Any) -> Session:
        """As `open`, without blocking the event loop."""
        return await asyncio.to_thread(self.open, id, **options)

    async def afork(self, source: str | Session, **options: Any) -> Session:
        """As `fork`, without blocking the event loop."""
        return await asyncio.to_thread(self.fork, source, **options)

    async def aimport_log(self, header: Any, rows: Iterable[Row]) -> ImportResult:
        """As `import_log`, without blocking the event loop."""
        return await asyncio.to_thread(self.import_log, header, rows)

    async def aread(self, id: str, **options: Any) -> Log:
        """As `read`, without blocking the event loop."""
        return await asyncio.to_thread(self.read, id, **options)

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

    def _recover(self, session: Session, closers: list[Draft]) -> Session:
        """Append what ends the interrupted turn and the seed, and make it durable."""
        try:
            for closer in closers:
                session.append_all([closer])
            session.end_seed()
            session.flush()
        except BaseException:
            session.detach()
            raise
        return session

    def _session(self, restored: Restored, *, strict: bool) -> Session:
        return Session(restored, registry=self._registry, strict=strict, clock=self._clock)

    def _register(self, session: Session, writer: LogWriter) -> Binding:
        id = session.id
        binding = Binding(session, writer, self._window, self._budget, lambda: self._unregister(id))
        session.attach(binding)
        self._live[id] = (session, binding)
        return binding

    def _unregister(self, id: str) -> None:
        with self._lock:
            self._live.pop(id, None)

    def _check_not_live(self, id: str) -> None:
        if id in self._live:
            raise SessionExists(id)

    def _check_open(self) -> None:
        if self._closed:
            raise Closed("the store")
